// The word2vec stepper: choose a centre word and a context word, and take one step of training.

import { button, controls, field, form, liveRegion, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { dot } from "../../kit/maths.js";
import { counted, format } from "../../kit/numbers.js";
import { lossOf, meanLoss, nextNegatives, readRows, step } from "./maths.js";
import { makePlane } from "./plane.js";

const SOFTMAX = "full softmax";
const METHODS = [
  [SOFTMAX, "Full softmax"],
  ["negative sampling", "Negative sampling"],
];

/** One bar: its button names the context word to pull. */
function bar(word, onchoose) {
  const fill = el("span", { class: "ws-fill" });
  const ghost = el("span", { class: "ws-ghost" });
  const value = el("span", { class: "ws-value" });
  const press = button(word, onchoose, { class: "sl-button ws-word" });
  const row = el(
    "div",
    { class: "ws-row" },
    press,
    el("span", { class: "ws-track", "aria-hidden": "true" }, fill, ghost),
    value,
  );
  return { row, fill, ghost, value, press };
}

/** One stepper: the two tables, what the reader chose, and the elements that show them. */
class Stepper {
  constructor(root, data) {
    this.data = data;
    this.plane = makePlane(data.words);
    this.bars = data.words.map((word, row) => bar(word, () => this.choose({ context: row })));
    this.title = el("p", { class: "ws-title" });
    this.line = liveRegion("ws-line");
    this.counter = el("p", { class: "ws-counter" });
    const bars = el(
      "div",
      { class: "ws-bars", role: "group", "aria-label": "Context words" },
      this.title,
      this.bars.map(({ row }) => row),
    );
    root.append(
      el(
        "div",
        { class: "ws-stepper" },
        this.controls(),
        el("div", { class: "ws-panels" }, bars, this.plane.box),
        this.line,
        this.counter,
      ),
    );
    this.choice = { centre: data.centre, context: data.context, method: SOFTMAX };
    this.reset();
  }

  controls() {
    this.select = el(
      "select",
      { onchange: () => this.choose({ centre: Number(this.select.value) }) },
      this.data.words.map((word, row) => el("option", { value: row }, word)),
    );
    const attributes = {
      min: 0.1,
      max: 3,
      step: 0.1,
      class: "sl-slider ws-slider",
      "aria-label": "Learning rate",
    };
    this.rate = slider("", attributes, (rate) => this.showRate(rate));
    const radio = ([method, words]) =>
      el(
        "label",
        { class: "sl-check" },
        el("input", {
          type: "radio",
          name: "method",
          value: method,
          checked: method === SOFTMAX,
          onchange: () => this.choose({ method }),
        }),
        words,
      );
    // a form of its own, so that the radio buttons of two figures do not belong together
    return form(
      "",
      controls(
        field("Centre word", this.select),
        el(
          "div",
          { class: "sl-field", role: "radiogroup", "aria-label": "Method" },
          el("span", { class: "sl-label", "aria-hidden": "true" }, "Method"),
          el("div", { class: "ws-methods" }, METHODS.map(radio)),
        ),
        this.rate.field,
      ),
      controls(
        button("One step", () => this.oneStep()),
        button("100 steps through the text", () => this.readText(100)),
        button("Reset", () => this.reset()),
      ),
    );
  }

  /** Back to the first tables; what the reader chose stays. */
  reset() {
    const copy = (table) => table.map((row) => [...row]);
    Object.assign(this, {
      U: copy(this.data.U),
      V: copy(this.data.V),
      before: null,
      place: 0,
      reader: 0,
      steps: 0,
      multiplications: 0,
    });
    this.showRate(this.data.rate);
    this.line.textContent = "Choose a word on the left to pull, then press “One step”.";
    this.show();
  }

  showRate(rate) {
    this.rate.show(`Learning rate ${rate.toFixed(1)}`, rate, rate.toFixed(1));
  }

  choose(choice) {
    Object.assign(this.choice, choice);
    this.before = null;
    this.show();
  }

  /** The pair to train on, with the negatives that are drawn for it, if any. */
  pair(centre, context) {
    if (this.choice.method === SOFTMAX) return { centre, context, place: this.place };
    const { draws, k } = this.data;
    return { centre, context, ...nextNegatives(draws, this.place, k, context) };
  }

  /** Train on one pair. */
  train(pair) {
    const { multiplications, ...tables } = step(
      pair,
      this.U,
      this.V,
      this.rate.input.valueAsNumber,
    );
    Object.assign(this, tables, { place: pair.place });
    this.steps += 1;
    this.multiplications += multiplications;
  }

  oneStep() {
    const { words } = this.data;
    const pair = this.pair(this.choice.centre, this.choice.context);
    const loss = lossOf(pair, this.U, this.V);
    this.before = { U: this.U, V: this.V, pair };
    this.train(pair);
    const pushed = pair.negatives
      ? pair.negatives.map((row) => words[row]).join(", ")
      : "all other words";
    this.line.textContent =
      `Pulled ${words[pair.context]}, pushed ${pushed}. The loss of this ` +
      `pair went from ${format(loss, 4)} to ${format(lossOf(pair, this.U, this.V), 4)}.`;
    this.show();
  }

  readText(n) {
    const { pairs } = this.data;
    const loss = meanLoss(pairs, this.U, this.V);
    this.before = null;
    for (let i = 0; i < n; i += 1) {
      this.train(this.pair(...pairs[this.reader % pairs.length]));
      this.reader += 1;
    }
    this.line.textContent =
      `${n} pairs of the text read. The mean softmax loss of all its pairs ` +
      `went from ${format(loss, 4)} to ${format(meanLoss(pairs, this.U, this.V), 4)}.`;
    this.show();
  }

  show() {
    const { words, k } = this.data;
    const { centre, context, method } = this.choice;
    const full = method === SOFTMAX;
    const now = this.pair(centre, context);
    const last = this.before?.pair ?? now; // after a step: what was read in it
    const was =
      this.before &&
      new Map(readRows(last, this.before.U, this.before.V).map(({ row, chance }) => [row, chance]));
    const read = new Map(readRows(last, this.U, this.V).map(({ row, chance }) => [row, chance]));
    this.select.value = centre;
    this.title.textContent = full
      ? `P(context | ${words[centre]}), over all ${words.length} words`
      : `σ(u · v) beside ${words[centre]}: one true word, ${k} of noise`;
    this.bars.forEach((one, row) => this.showBar(one, read.get(row), was?.get(row), row));
    this.plane.draw({
      U: this.U,
      V: this.V,
      before: this.before,
      centre,
      context,
      pushed: last.negatives ?? [],
    });
    const each = 3 * (full ? words.length : k + 1) * this.U[0].length;
    const total = this.multiplications.toLocaleString("en-GB");
    this.counter.textContent =
      `${counted(this.steps, "step")}, ${total} multiplications; the next step ` +
      `makes ${each} more. Dot product of the pair: ` +
      `${format(dot(this.U[centre], this.V[context]), 4)}.`;
  }

  showBar({ row, fill, ghost, value, press }, chance, was, place) {
    const pulled = place === this.choice.context;
    row.classList.toggle("ws-pulled", pulled);
    press.setAttribute("aria-pressed", pulled);
    row.classList.toggle("ws-unread", chance === undefined);
    fill.style.width = `${100 * (chance ?? 0)}%`;
    ghost.hidden = was === undefined || chance === undefined;
    if (!ghost.hidden) ghost.style.left = `${100 * was}%`;
    value.textContent = chance === undefined ? "not read" : chance.toFixed(4);
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  return new Stepper(root, data);
}
