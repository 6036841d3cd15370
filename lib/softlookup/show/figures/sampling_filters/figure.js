// Sampling filters: a real model's scores, a temperature, and three ways to cut the tail.

import { button, choices, controls, form, liveRegion, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { bits } from "../../kit/entropy.js";
import { drawn, random, ranked, softmax, sum } from "../../kit/maths.js";
import { samplingWeights } from "./maths.js";

const SHOWN = 12;
const MANY = 100;
const KS = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, null];

class Filters {
  constructor(root, data) {
    Object.assign(this, data, { prompt: 0, counts: null });
    this.setting = { temperature: 1, k: null, p: 1, least: 0 };
    this.next = random(data.seed);
    this.live = liveRegion("sf-live");
    this.bars = el("div", { class: "sf-bars", role: "list" });
    this.rest = el("p", { class: "sf-rest" });
    const names = data.prompts.map((_, i) => [String(i), `…${data.tails[i]}`]);
    this.form = form(
      "sf-filters",
      choices("The text so far ends with", "prompt", names, "0", (value) => {
        this.prompt = Number(value);
        this.change();
      }),
      (this.quote = el("p", { class: "sf-quote" })),
      controls(
        this.slider(
          "temperature",
          "temperature",
          5,
          200,
          100,
          (i) => i / 100,
          (v) => v.toFixed(2),
        ),
        this.slider(
          "k",
          "top-k",
          0,
          KS.length - 1,
          KS.length - 1,
          (i) => KS[i],
          (v) => (v === null ? "off" : String(v)),
        ),
        this.slider(
          "p",
          "top-p",
          1,
          100,
          100,
          (i) => i / 100,
          (v) => (v === 1 ? "off" : v.toFixed(2)),
        ),
        this.slider(
          "least",
          "min-p",
          0,
          100,
          0,
          (i) => i / 100,
          (v) => (v === 0 ? "off" : v.toFixed(2)),
        ),
      ),
      el(
        "div",
        { class: "sf-buttons" },
        button(`Draw ${MANY} tokens`, () => this.draw(), { class: "sl-button sf-draw" }),
        button("All filters off", () => this.reset(), { class: "sl-button sf-reset" }),
      ),
      this.live,
      this.bars,
      this.rest,
    );
    root.append(this.form);
    this.change();
  }

  slider(key, text, min, max, first, read, write) {
    const made = slider(
      text,
      { name: key, min, max },
      (place) => {
        move(place);
        this.change();
      },
      "sf-field",
    );
    const move = (place) => {
      this.setting[key] = read(place);
      made.show(write(this.setting[key]), place);
    };
    move(first);
    this.sliders = { ...this.sliders, [key]: { reset: () => move(first) } };
    return made.field;
  }

  reset() {
    for (const key of ["k", "p", "least"]) this.sliders[key].reset();
    this.change();
  }

  change() {
    this.counts = null; // other weights: what was drawn before says nothing about them
    this.update();
  }

  draw() {
    const weights = this.weights();
    this.counts = weights.map(() => 0);
    for (let i = 0; i < MANY; i += 1) this.counts[drawn(weights, this.next())] += 1;
    this.update();
  }

  weights() {
    const { k, p, least } = this.setting;
    const limits = { k, p: p === 1 ? null : p, least: least === 0 ? null : least };
    return samplingWeights(this.scores[this.prompt], { ...this.setting, ...limits });
  }

  update() {
    const scores = this.scores[this.prompt];
    const [plain, now, order] = [softmax(scores), this.weights(), ranked(scores)];
    this.quote.textContent = `${this.prompts[this.prompt]} …`;
    const most = Math.max(plain[order[0]], now[order[0]]);
    this.bars.replaceChildren(
      ...order.slice(0, SHOWN).map((id) => this.bar(id, plain[id], now[id], most)),
    );
    const tail = order.slice(SHOWN);
    const rest = (weights) => sum(tail.map((id) => weights[id]));
    const left = tail.filter((id) => now[id] > 0).length;
    const counted = this.counts === null || left === 0 ? "" : `, drawn ${rest(this.counts)}×`;
    this.rest.hidden = tail.length === 0; // a short row is shown whole
    this.rest.textContent =
      `The other ${tail.length}: ${rest(plain).toFixed(3)} before, ` +
      `${rest(now).toFixed(3)} now; ${left} of them left${counted}.`;
    const n = now.filter((weight) => weight > 0).length;
    const held = sum(plain.filter((_, id) => now[id] > 0));
    this.live.textContent =
      `${n} of ${now.length} tokens left; the model gave them ` +
      `${held.toFixed(3)}. Uncertainty: ${bits(plain).toFixed(2)} bits before, ` +
      `${bits(now).toFixed(2)} now.`;
  }

  bar(id, before, now, most) {
    const cut = now === 0;
    const times = this.counts === null || cut ? "" : ` · ${this.counts[id]}×`;
    return el(
      "div",
      { class: `sf-row${cut ? " sf-cut" : ""}`, role: "listitem" },
      el("span", { class: "sf-token" }, this.tokens[id]),
      el(
        "span",
        { class: "sf-track", "aria-hidden": "true" },
        el("i", { class: "sf-before", style: `width: ${(100 * before) / most}%` }),
        el("i", { class: "sf-now", style: `width: ${(100 * now) / most}%` }),
      ),
      el("span", { class: "sf-value" }, cut ? `cut (${before.toFixed(3)})` : now.toFixed(3), times),
    );
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Filters(root, data);
}
