// The referent switch: one word at the end changes; whom does "it" read now?

import { choices, form, liveRegion } from "../../kit/controls.js";
import { el, svg } from "../../kit/elements.js";
import { range } from "../../kit/maths.js";
import { chosen, largestDifference, readings } from "./maths.js";

const ROW = 34; // pixels, as in the style sheet
const WIDE = 56;

/** One step's bar, its number, and a tick where it stood with the ending before. */
function meter(step) {
  const fill = el("i", { class: "rs-fill" });
  const tick = el("i", { class: "rs-tick" });
  const number = el("span", { class: "rs-number" });
  return {
    fill,
    tick,
    number,
    cell: el(
      "span",
      { class: "rs-meter", "data-step": step },
      el("span", { class: "rs-track", "aria-hidden": "true" }, fill, tick),
      number,
    ),
  };
}

class Switch {
  constructor(root, data) {
    Object.assign(this, data, {
      ending: 0,
      before: null, // the ending that was answered last, if it is another one
      causal: false,
      reader: data.pronoun,
      answer: null,
    });
    this.n = data.words.length + 1;
    this.live = liveRegion("rs-live");
    this.verdict = el("p", { class: "sl-live rs-verdict", role: "status" });
    this.arcs = svg("svg", {
      class: "rs-arcs",
      width: WIDE,
      height: ROW * this.n,
      viewBox: `0 0 ${WIDE} ${ROW * this.n}`,
      "aria-hidden": "true",
    });
    this.rows = range(this.n).map((j) => this.row(j));
    this.board = el(
      "div",
      { class: "rs-board" },
      this.head(),
      el(
        "div",
        { class: "rs-grid" },
        this.arcs,
        el(
          "div",
          { class: "rs-rows", role: "list" },
          this.rows.map(({ row }) => row),
        ),
      ),
    );
    this.form = form("rs-switch", this.controls(), this.verdict, this.board, this.live);
    root.append(this.form);
    this.form.elements.ending.value = "0";
    this.form.elements.mask.value = "both";
    this.update();
  }

  head() {
    return el(
      "div",
      { class: "rs-head", "aria-hidden": "true" },
      el("span", { class: "rs-what" }),
      el("span", null, "step 1"),
      el("span", null, "step 2"),
    );
  }

  controls() {
    const words = this.endings.map(({ word }, k) => [String(k), word]);
    const referents = this.referents.map((j) => [String(j), `the ${this.words[j]}`]);
    return el(
      "div",
      { class: "rs-controls" },
      choices("The sentence ends with", "ending", words, null, (value) => this.end(Number(value))),
      choices(
        "A word may read",
        "mask",
        [
          ["both", "all words"],
          ["causal", "only what came before"],
        ],
        null,
        (value) => {
          this.causal = value === "causal";
          this.update();
        },
      ),
      choices(
        `You: what is “${this.words[this.pronoun]}”?`,
        "answer",
        [...referents, ["none", "cannot tell"]],
        null,
        (value) => {
          this.answer = value;
          this.update();
        },
      ),
    );
  }

  row(j) {
    const steps = [meter(1), meter(2)];
    const name = el("button", {
      type: "button",
      class: "rs-word",
      onclick: () => {
        this.reader = j;
        this.update();
      },
    });
    return {
      name,
      steps,
      row: el(
        "div",
        { class: "rs-row", role: "listitem" },
        name,
        steps.map(({ cell }) => cell),
      ),
    };
  }

  end(k) {
    if (k === this.ending) return;
    if (this.answer !== null) this.before = this.ending;
    this.ending = k;
    this.answer = null; // another sentence is another question
    for (const input of this.form.elements.answer) input.checked = false;
    this.update();
  }

  sentence(k) {
    return [...this.words, this.endings[k].word];
  }

  readAll(k) {
    return readings([...this.x, this.endings[k].x], this.steps, this.causal);
  }

  update() {
    const now = this.readAll(this.ending);
    const known = this.before !== null && this.before !== this.ending;
    const then = known ? this.readAll(this.before) : now;
    const sees = this.answer !== null;
    this.board.hidden = !sees;
    this.live.hidden = !sees;
    this.sentence(this.ending).forEach((word, j) => this.showRow(j, word, now, then));
    this.form.querySelector(".rs-what").textContent = `“${this.name()}” reads`;
    this.drawArcs(now.weights[1][this.reader]);
    this.verdict.textContent = this.judgement(now.weights[1][this.pronoun], sees);
    this.live.textContent = sees && known ? this.change(now, then) : "";
  }

  name() {
    return this.sentence(this.ending)[this.reader];
  }

  showRow(j, word, now, then) {
    const { name, steps, row } = this.rows[j];
    if (name.textContent !== word) name.textContent = word;
    name.setAttribute("aria-pressed", String(j === this.reader));
    name.setAttribute("aria-label", `${word}: let this word read`);
    const unread = this.causal && j > this.reader;
    row.classList.toggle("rs-unread", unread);
    steps.forEach(({ fill, tick, number }, s) => {
      const [weight, old] = [now, then].map(({ weights }) => weights[s][this.reader][j]);
      fill.style.width = `${100 * weight}%`;
      tick.style.left = `${100 * old}%`;
      tick.hidden = Math.abs(weight - old) < 5e-3;
      number.textContent = weight.toFixed(3);
    });
  }

  drawArcs(weights) {
    const at = (j) => ROW * (j + 0.5);
    const from = at(this.reader);
    this.arcs.replaceChildren(
      ...weights.flatMap((weight, j) => {
        if (weight < 0.005) return [];
        const reach = j === this.reader ? 16 : 8 + 5.5 * Math.min(Math.abs(j - this.reader), 11);
        const [y, bend] = j === this.reader ? [from - 9, 9] : [at(j), 0];
        const left = WIDE - reach;
        const d = `M ${WIDE} ${from + bend} C ${left} ${from + bend} ${left} ${y} ${WIDE} ${y}`;
        return [
          svg("path", {
            d,
            class: "rs-arc",
            "stroke-width": (1 + 9 * weight).toFixed(2),
            "stroke-opacity": (0.25 + 0.75 * weight).toFixed(2),
          }),
        ];
      }),
    );
  }

  /** What the head takes "it" for, beside what the reader said. */
  judgement(weights, sees) {
    if (!sees) return "Answer first; then you see what two steps of attention make of it.";
    const name = (j) => (j === null ? "cannot tell" : `the ${this.words[j]}`);
    const place = chosen(weights, this.referents);
    const pair = this.referents.map((j) => `${this.words[j]} ${weights[j].toFixed(3)}`).join(", ");
    const head = `The head: ${name(place)} (${pair}).`;
    const yours = this.answer === "none" ? null : Number(this.answer);
    return `You: ${name(yours)}. ${head} ${yours === place ? "You agree." : "You differ."}`;
  }

  /** How far the reader's row moved since the ending that was answered before. */
  change(now, then) {
    const moved = Math.max(
      ...now.weights.map((A, s) => largestDifference(A[this.reader], then.weights[s][this.reader])),
    );
    const [word, old] = [this.ending, this.before].map((k) => this.endings[k].word);
    const what = `From “${old}” to “${word}”, the weights of “${this.name()}”`;
    return moved === 0
      ? `${what} did not change: largest difference 0.`
      : `${what} changed by up to ${moved.toFixed(3)}; a tick shows where each stood.`;
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Switch(root, data);
}
