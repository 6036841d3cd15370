// The card calculator: choose a model and how it is trained; see what it takes, and of which card.

import { check, choices, controls, form, liveRegion, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { menu } from "../../kit/menu.js";
import { counted, fits, gigabytes, parameters, parts, remedies, total } from "./maths.js";

const whole = (count) => count.toLocaleString("en-US");
const PARTS = [
  ["weights", "weights"],
  ["gradients", "gradients"],
  ["optimizer", "the optimizer’s memory"],
  ["activations", "activations"],
  ["scores", "scores, all words"],
  ["cache", "keys and values"],
];
const LAYERS = [1, 96];

class Calculator {
  constructor(root, data) {
    this.data = data;
    this.shows = {};
    this.choices = {
      use: "train",
      n: 1024,
      batch: data.batch,
      precision: "float32",
      bits: 16,
      optimizer: "adam",
      kept: false,
      checkpointing: false,
      card: data.card,
    };
    this.bars = PARTS.map(([key, name]) => this.bar(key, name));
    this.sum = this.bar("total", "together");
    this.live = liveRegion("cf-live");
    this.learns = el(
      "div",
      { class: "cf-learns" },
      this.chips("Precision", "precision", [
        ["float32", "float32"],
        ["mixed", "mixed"],
        ["bfloat16", "bfloat16"],
      ]),
      this.chips("Optimizer", "optimizer", [
        ["adam", "Adam"],
        ["momentum", "momentum"],
        ["sgd", "plain"],
      ]),
      controls(
        check("checkpointing", "checkpointing", (on) => this.set({ checkpointing: on })),
        check("kept", "attention’s weights are kept", (on) => this.set({ kept: on })),
      ),
    );
    this.writes = el(
      "div",
      { class: "cf-writes" },
      this.chips(
        "Bits of a weight",
        "bits",
        data.bits.map((bits) => [bits, String(bits)]),
      ),
    );
    this.form = form(
      "cf-form",
      this.chips(
        "Model",
        "model",
        data.models.map(({ name }) => [name, name]),
        data.model,
        (name) => this.take(name),
      ),
      this.chips("It is to", "use", [
        ["train", "learn"],
        ["write", "write"],
      ]),
      el(
        "details",
        { class: "cf-model" },
        el("summary", null, "The model in numbers"),
        this.chips("Blocks like those of", "kind", [
          ["gpt2", "GPT-2"],
          ["llama", "Llama"],
        ]),
        controls(
          this.slider("d", "Width", data.widths),
          this.slider("layers", "Blocks", null),
          this.select("vocab", "Vocabulary", data.vocabularies),
          this.select("inside", "Feed-forward width, in widths", data.insides),
          this.select("head", "Columns of a head", data.headWidths),
          this.select("share", "Queries per head of keys", data.shared),
        ),
      ),
      controls(
        this.slider("n", "Tokens of a text", data.lengths),
        this.slider("batch", "Texts at once", data.batches),
      ),
      this.learns,
      this.writes,
      this.chips(
        "Card, gigabytes",
        "card",
        data.cards.map((card) => [card, String(card)]),
      ),
      el(
        "div",
        { class: "cf-bars" },
        [...this.bars, this.sum].map(({ row }) => row),
      ),
      this.live,
    );
    root.append(this.form);
    this.take(data.model);
  }

  chips(name, key, options, chosen = this.choices[key], onChange = null) {
    const change = onChange ?? ((value) => this.set({ [key]: value }));
    return choices(name, key, options, chosen, change);
  }

  slider(key, text, values) {
    const ends = values ? { min: 0, max: values.length - 1 } : { min: LAYERS[0], max: LAYERS[1] };
    const made = slider(
      text,
      { name: key, ...ends },
      (place) => this.set({ [key]: values ? values[place] : place }),
      "cf-field",
    );
    this.shows[key] = (value) => made.show(whole(value), values ? values.indexOf(value) : value);
    return made.field;
  }

  select(key, text, values) {
    const options = values.map((value) => [value, whole(value)]);
    const chosen = (text) => values.find((value) => String(value) === text);
    const made = menu(text, key, options, (text) => this.set({ [key]: chosen(text) }));
    this.shows[key] = made.show;
    return made.field;
  }

  bar(key, name) {
    const fill = el("i", { class: "cf-fill" });
    const edge = el("i", { class: "cf-edge" });
    const count = el("span", { class: "cf-count" });
    const track = el("span", { class: "cf-track", "aria-hidden": "true" }, fill, edge);
    const row = el(
      "div",
      { class: `cf-row cf-${key}` },
      el("span", { class: "cf-name" }, name),
      track,
      count,
    );
    return { key, fill, edge, count, row };
  }

  take(name) {
    const { name: _, ...model } = this.data.models.find((model) => model.name === name);
    this.set(model);
  }

  set(change) {
    Object.assign(this.choices, change);
    const now = this.choices;
    if (now.d % now.head) now.head = 64; // which divides every width
    if ((now.d / now.head) % now.share) now.share = 1;
    this.update();
  }

  update() {
    const now = this.choices;
    const { models, spare } = this.data;
    for (const [key, show] of Object.entries(this.shows)) show(now[key]);
    const model = models.find(({ name, ...rest }) => {
      return Object.entries(rest).every(([key, value]) => now[key] === value);
    });
    for (const input of this.form.elements.model) input.checked = input.value === model?.name;
    for (const input of this.form.elements.kind) input.checked = input.value === now.kind;
    this.learns.hidden = now.use === "write";
    this.writes.hidden = now.use === "train";
    const found = parts(now, this.data);
    const all = total(now, this.data);
    const card = now.card * 2 ** 30;
    const scale = Math.max(all, card);
    for (const { key, fill, edge, count, row } of [...this.bars, this.sum]) {
      const bytes = key === "total" ? all : found[key];
      row.hidden = bytes === undefined;
      fill.style.width = `${(100 * (bytes ?? 0)) / scale}%`;
      edge.style.left = `${(100 * card) / scale}%`;
      count.textContent = bytes === undefined ? "" : gigabytes(bytes);
    }
    const good = fits(all, now.card, spare);
    this.sum.row.dataset.fits = String(good);
    this.live.textContent = `${counted(parameters(now))} parameters. ${this.verdict(good, all)}`;
  }

  /** Whether it fits, and if not, which single changes would make it fit. */
  verdict(good, all) {
    const { card } = this.choices;
    const took = `${gigabytes(all)} of ${card}`;
    const { use, precision } = this.choices;
    const loses = use === "train" && precision === "bfloat16";
    if (good && loses) return `${took}: it fits, but weights in bfloat16 lose small steps.`;
    if (good) return `${took}: it fits.`;
    const small = all <= card * 2 ** 30;
    const said = small
      ? `${took}: too close. A tenth of a card is needed for CUDA itself and for gaps.`
      : `${took}: it does not fit.`;
    const found = remedies(this.choices, this.data);
    if (found.length === 0) return `${said} No single change would do.`;
    const last = found.at(-1);
    const listed = found.length > 1 ? `${found.slice(0, -1).join(", ")}, or ${last}` : last;
    return `${said} ${found.length > 1 ? "Any one of these would do" : "This would do"}: ${listed}.`;
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Calculator(root, data);
}
