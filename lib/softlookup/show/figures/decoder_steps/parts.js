// What the decoder step draws: its twelve frames, rows of numbers as strips, bars, the grid of A.

import { shareColour } from "../../kit/colours.js";
import { el, svg } from "../../kit/elements.js";

// Counted from 0, as all frames here.
export const FIRST_SCORE = 3;
export const SCORES = 4;
export const EXPONENTIALS = 5;
export const WEIGHTS = 6;
export const WEIGHTED = 7;
export const CONTEXT = 8;
export const WORD = 11;

/** Title, formula, and what happens; {score} and {score0} stand for the model's own kind of score. */
export const FRAMES = [
  [
    "The source",
    "k_0, k_1, …",
    "The encoder has read the source, once for all steps. Each " +
      "word has left one row of numbers.",
  ],
  [
    "The step before",
    "y_{t−1}, h_{t−1}",
    "The decoder comes with two things: the word before, and " + "its old state.",
  ],
  [
    "The new state",
    "h_t = GRU(E y_{t−1}, h_{t−1})",
    "The recurrence makes one state of both. This " + "state will ask the source.",
  ],
  [
    "One score",
    "s_{t0} = {score0}",
    "How well does the state fit the first source word? One number " + "says it.",
  ],
  [
    "All scores",
    "s_{tj} = {score}",
    "The same question to every source word. From here on you can " + "overwrite the answers.",
  ],
  [
    "Exponentials",
    "e_{tj} = exp(s_{tj} − max s_t)",
    "The exponential makes every score positive. " +
      "The largest score is taken off first: it changes no weight, and its exponential is 1.",
  ],
  [
    "Weights",
    "a_{tj} = e_{tj} / Σ e_t",
    "Divided by their sum they add up to 1. This is the " + "softmax, and row t of the matrix A.",
  ],
  [
    "Weighted rows",
    "a_{tj} k_j",
    "Each source row times its weight. What has little weight " + "fades.",
  ],
  [
    "The context",
    "c_t = Σ_j a_{tj} k_j",
    "The faded rows, added up: one row, as wide as a " + "source row.",
  ],
  ["Side by side", "[c_t; h_t]", "What was read stands beside what the decoder knows by itself."],
  ["Mixed", "m_t = tanh(W_c [c_t; h_t] + b_c)", "One layer mixes the two."],
  [
    "The word",
    "p_t = softmax(W_{out} m_t + b_{out})",
    "Every word of the vocabulary gets a " + "probability. The largest is written.",
  ],
];

/** A formula: what stands after _ goes below the line, after ^ above it; {} holds it together. */
export function formula(text) {
  const parts = text
    .split(/([_^](?:\{[^}]*\}|.))/)
    .filter(Boolean)
    .map((part) => {
      const words = part.replace(/^[_^]\{?|\}$/g, "");
      return /^[_^]/.test(part) ? el(part[0] === "_" ? "sub" : "sup", null, words) : part;
    });
  return el("span", { class: "ds-formula" }, parts);
}

// Cells of a strip: more cannot be told apart.
export const MOST = 24;

/** A row of numbers as a strip of cells: blue above 0, orange below, full colour from 1 up. */
export class Strip {
  constructor(length) {
    const n = Math.min(length, MOST);
    this.cells = Array.from({ length: n }, (_, i) =>
      svg("rect", { x: i, y: 0, width: 1, height: 1 }),
    );
    this.node = svg(
      "svg",
      {
        class: "ds-strip",
        viewBox: `0 0 ${n} 1`,
        preserveAspectRatio: "none",
        "shape-rendering": "crispEdges",
        "aria-hidden": "true",
      },
      this.cells,
    );
  }

  show(values) {
    this.cells.forEach((cell, i) => {
      cell.setAttribute("class", values[i] < 0 ? "ds-minus" : "ds-plus");
      cell.setAttribute("fill-opacity", Math.min(1, Math.abs(values[i])).toFixed(3));
    });
  }
}

/** A bar from 0 to 1 with its number. */
export class Bar {
  constructor() {
    this.fill = el("i", { class: "ds-fill" });
    this.number = el("span", { class: "ds-number" });
    this.node = el(
      "span",
      { class: "ds-bar" },
      el("span", { class: "ds-track", "aria-hidden": "true" }, this.fill),
      this.number,
    );
  }

  show(value) {
    this.fill.style.width = `${100 * value}%`;
    this.number.textContent = value.toFixed(3);
  }
}

const CELL = 22;
const LEFT = 92;
const TOP = 74;

/** Paint a cell with its weight; one that is not known yet stays open. */
function fillCell(cell, weight) {
  cell.setAttribute("fill", weight === null ? "none" : shareColour(weight));
  cell.setAttribute("data-weight", weight === null ? 0 : weight.toFixed(3));
}

/** The matrix A, a row per step and a column per source word, with the step's row framed. */
export class Grid {
  constructor(source, target) {
    const high = TOP + CELL * target.length + 2;
    const cell = (t, j) =>
      svg("rect", {
        class: "ds-cell",
        x: LEFT + CELL * j,
        y: TOP + CELL * t,
        width: CELL - 2,
        height: CELL - 2,
      });
    const label = (word, t) =>
      svg("text", { x: LEFT - 6, y: TOP + CELL * (t + 0.66), "text-anchor": "end" }, word);
    const head = (word, j) =>
      svg(
        "text",
        {
          transform: `translate(${LEFT + CELL * (j + 0.65)} ${TOP - 6}) rotate(-55)`,
        },
        word,
      );
    this.rows = target.map((_, t) => source.map((_, j) => cell(t, j)));
    this.frame = svg("rect", {
      class: "ds-frame",
      x: LEFT - 2,
      width: CELL * source.length + 2,
      height: CELL + 2,
    });
    const wide = LEFT + CELL * source.length + 44;
    this.node = svg(
      "svg",
      { class: "ds-grid", viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img" },
      target.map(label),
      source.map(head),
      this.rows.flat(),
      this.frame,
    );
  }

  /** Fill every row but that of step t, which waits until its weights are known. */
  show(A, t, isKnown) {
    this.rows.forEach((cells, row) =>
      cells.forEach((cell, j) =>
        fillCell(cell, row === t && !isKnown ? null : A[row][j]),
      ),
    );
    this.frame.setAttribute("y", TOP + CELL * t - 2);
    this.node.setAttribute(
      "aria-label",
      `The matrix A, ${A.length} steps by ${A[0].length} ` +
        `source words; row ${t} is ${isKnown ? A[t].map((a) => a.toFixed(2)).join(", ") : "open"}.`,
    );
  }
}
