// The parameter calculator: choose a model, see where its parameters are, and what was printed.

import { check, choices, form, liveRegion, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { menu } from "../../kit/menu.js";
import { fittingVocabularies, parts, total } from "./maths.js";

const whole = (count) => count.toLocaleString("en-US");
const millions = (count) => `${(count / 1e6).toFixed(2)} million`;
const LABELS = {
  source: "Source table",
  target: "Target table",
  output: "Output table",
  "encoder-attention": "Self-attention",
  "encoder-feed-forward": "Feed-forward",
  "encoder-norms": "Norms",
  "decoder-self": "Masked self-attention",
  "decoder-cross": "Cross-attention",
  "decoder-feed-forward": "Feed-forward",
  "decoder-norms": "Norms",
};
const STACKS = [
  ["Encoder", ["encoder-norms", "encoder-feed-forward", "encoder-attention", "source"]],
  [
    "Decoder",
    ["output", "decoder-norms", "decoder-feed-forward", "decoder-cross", "decoder-self", "target"],
  ],
];

class Calculator {
  constructor(root, { models, vocab }) {
    this.models = models;
    this.choices = { vocab, tie: "all", biases: false, finals: false };
    this.shown = "source";
    this.boxes = {};
    this.controls = {};
    this.live = liveRegion("pc-live");
    this.detail = el("p", { class: "pc-detail", "aria-live": "polite" });
    const stacks = STACKS.map(([name, keys]) =>
      el(
        "div",
        { class: "pc-stack", role: "group", "aria-label": name },
        el("p", { class: "pc-head" }, name),
        keys.map((key) => this.box(key)),
      ),
    );
    this.form = form(
      "pc-form",
      choices(
        "The paper's table 3",
        "model",
        models.map((m) => [m.name, m.name]),
        models[0].name,
        (name) => this.take(models.find((m) => m.name === name)),
      ),
      el(
        "div",
        { class: "sl-controls pc-controls" },
        this.slider("N", "Blocks N, each side", 1, 12, 1),
        this.select("d", "Width d", [128, 256, 512, 768, 1024, 2048]),
        this.select("dff", "Inner width", [512, 1024, 2048, 3072, 4096, 8192]),
        this.select("heads", "Heads", [1, 4, 8, 16, 32]),
        this.slider("vocab", "Vocabulary", 1000, 60000, 100),
        choices(
          "Tied",
          "tie",
          [
            ["all", "all three"],
            ["output", "target, output"],
            ["none", "none"],
          ],
          "all",
          (tie) => this.set({ tie }),
        ),
        check("biases", "biases in attention", (biases) => this.set({ biases })),
        check("finals", "final norms", (finals) => this.set({ finals })),
      ),
      el("div", { class: "pc-stacks" }, stacks),
      this.detail,
      this.live,
    );
    root.append(this.form);
    this.take(models[0]);
  }

  slider(key, text, min, max, step) {
    const made = slider(
      text,
      { name: key, min, max, step },
      (value) => this.set({ [key]: value }),
      "pc-field",
    );
    this.controls[key] = (value) => made.show(whole(value), value);
    return made.field;
  }

  select(key, text, values) {
    const options = values.map((value) => [value, whole(value)]);
    const made = menu(text, key, options, (value) => this.set({ [key]: Number(value) }));
    this.controls[key] = made.show;
    return made.field;
  }

  box(key) {
    const bar = el("i", { class: "pc-fill" });
    const share = el("span", { class: "pc-share" });
    const box = el(
      "button",
      {
        type: "button",
        class: "pc-box",
        name: key,
        "aria-pressed": "false",
        onclick: () => {
          this.shown = key;
          this.update();
        },
      },
      el("span", { class: "pc-name" }, LABELS[key]),
      share,
      el("span", { class: "pc-track", "aria-hidden": "true" }, bar),
    );
    this.boxes[key] = { box, bar, share };
    return box;
  }

  take({ N, d, dff, heads }) {
    this.set({ N, d, dff, heads });
  }

  set(change) {
    Object.assign(this.choices, change);
    this.update();
  }

  update() {
    const now = this.choices;
    const all = total(now);
    const found = parts(now);
    for (const [key, show] of Object.entries(this.controls)) show(now[key]);
    for (const part of found) {
      const { box, bar, share } = this.boxes[part.key];
      const percent = (100 * part.total) / all;
      bar.style.width = `${percent}%`;
      share.textContent = part.copies ? `${percent.toFixed(1)}%` : "tied";
      box.setAttribute("aria-pressed", String(part.key === this.shown));
    }
    this.detail.textContent = this.sizes(found.find((part) => part.key === this.shown));
    this.live.textContent = `${whole(all)} parameters. ${this.printed(all)}`;
  }

  /** The chosen part in words, one factor after the other. */
  sizes({ key, each, copies, total: sum }) {
    const { d, dff, vocab, biases } = this.choices;
    const name = `${LABELS[key]}: `;
    if (!copies)
      return `${name}the same matrix as the source table, counted there.`.replace(
        "the source table",
        key === "output" && this.choices.tie === "output" ? "the target table" : "the source table",
      );
    if (key.endsWith("norms")) {
      return `${name}${copies} of 2 · ${whole(d)} = ${whole(each)}, together ${whole(sum)}.`;
    }
    const bias = biases ? ` + 4 · ${whole(d)}` : "";
    const formula = key.includes("-feed-forward")
      ? `2 · ${whole(d)} · ${whole(dff)} + ${whole(dff)} + ${whole(d)}`
      : key.startsWith("encoder") || key.startsWith("decoder")
        ? `4 · ${whole(d)}²${bias}`
        : `${whole(vocab)} · ${whole(d)}`;
    const once = `${name}${formula} = ${whole(each)}`;
    return copies === 1 ? `${once}.` : `${once}, ${copies} times: ${whole(sum)}.`;
  }

  /** What the paper prints for these blocks, if it has them, and which vocabulary would fit. */
  printed(all) {
    const { N, d, dff, heads } = this.choices;
    const model = this.models.find((m) => m.N === N && m.d === d && m.dff === dff);
    for (const input of this.form.elements.model) input.checked = input.value === model?.name;
    if (!model) return "The paper has no such row.";
    const gap = all - model.printed * 1e6;
    const fits = fittingVocabularies(this.choices, model.printed);
    const same = heads === model.heads ? "" : " The number of heads changes nothing.";
    const off =
      `That is ${millions(Math.abs(gap))} ${gap > 0 ? "more" : "fewer"} than the ` +
      `${model.printed} million that the paper prints.`;
    if (!fits) return `${off} No vocabulary gives that.${same}`;
    const range = `a vocabulary of ${whole(fits[0])} to ${whole(fits[1])}`;
    const inside = fits[0] <= this.choices.vocab && this.choices.vocab <= fits[1];
    return `${off} ${
      inside ? `Rounded, it is the same, as with ${range}.` : "Would another vocabulary fit?"
    }${same}`;
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Calculator(root, data);
}
