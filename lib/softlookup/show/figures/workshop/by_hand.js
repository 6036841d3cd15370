// A head's attention set by hand: a row for each query, a cell for each key that it may read.
//
// A cell that nobody has set keeps its weight. A row in which some are set is divided by its sum, as
// the engine does it too; a row of zeros reads nothing.

import { shareBar, sharePaint } from "../../kit/colours.js";
import { button, liveRegion, say, slider } from "../../kit/controls.js";
import { modified } from "../../kit/drag.js";
import { el } from "../../kit/elements.js";
import { clamp, range, ranked, shares, sum } from "../../kit/maths.js";
import { fixed, format } from "../../kit/numbers.js";
import { scroller } from "../../kit/table.js";
import { seen } from "./maths.js";

const ROWS = 16; // queries, the last up to the chosen one
const TENTHS = 10; // a weight is set in tenths, from 0 to 1
const WAYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Cells as a link carries them. A cell is [query, key, tenths]; the key null is the whole row. */
export const written = (cells) => cells.map(([i, j, tenths]) => `${i}.${j ?? ""}.${tenths}`).join("_");

/** And back: what is no cell is passed over. */
export function read(words) {
  return words.split("_").flatMap((one) => {
    const found = /^(\d{1,4})\.(\d{0,4})\.(\d{1,2})$/.exec(one);
    if (found === null) return [];
    const [i, j, tenths] = found.slice(1).map((part) => (part === "" ? null : Number(part)));
    return (j ?? 0) <= i && tenths <= TENTHS ? [[i, j, tenths]] : [];
  });
}

/** The cells that fit a text, as the engine takes them; positions are counted from `begin`. A row
 *  that was set for other tokens than those up to it rests. */
export function cellsIn({ cells, text }, ids, begin) {
  const differs = text.findIndex((id, k) => id !== ids[k]);
  const fits = ([i, j]) => i < (differs < 0 ? text.length : differs) && (j ?? i) >= begin;
  const kept = cells.filter(fits);
  return kept.map(([i, j, tenths]) => [i - begin, j === null ? null : j - begin, tenths / TENTHS]);
}

/** The weights of row i when some cells were set, before the row is divided by its sum. */
export function weightsOf(base, cells, i) {
  const row = Array.from(base);
  for (const [query, j, weight] of cells)
    if (query === i) row.fill(weight, j ?? 0, (j ?? i) + 1);
  return row;
}

/** Which cell of the table an element is. */
const placeOf = ({ dataset }) => (dataset?.key === undefined ? null : [Number(dataset.query), Number(dataset.key)]);

export class ByHand {
  /** `baseOf(ids)` promises the weights of the head over a text, as they are before the reader's. */
  constructor(workshop, baseOf) {
    Object.assign(this, { workshop, baseOf, cells: [], text: [], begin: 0, base: null, at: null });
    this.pressed = false; // by a mouse or a pen, before the click
    this.painting = null; // the tenths that the pointer gives to each cell that it passes
    this.grid = el("table", {
      class: "wk-grid",
      role: "grid",
      "aria-label": "Attention by hand: queries in rows, keys in columns",
      "data-lm-suppress-shortcuts": "true",
      onkeydown: (event) => this.press(event),
      onpointerdown: (event) => this.point(event),
      onpointerover: (event) => this.pass(event),
      onclick: (event) => this.pressed || this.touch(placeOf(event.target)),
      onfocusin: (event) => this.choose(placeOf(event.target)),
    });
    this.box = scroller("The attention of the head, to be set", this.grid);
    this.weight = slider("Weight of the chosen cell", { name: "cell", min: 0, max: TENTHS }, (tenths) => {
      if (this.at !== null) this.put([...this.at, tenths]);
    });
    this.weight.show("choose one first", 0);
    // what a link carries: no reader types here
    this.state = el("input", { type: "hidden", name: "cells", oninput: () => this.take() });
    this.here = el("p", { class: "wk-words wk-here" });
    this.live = liveRegion("wk-words");
    const inRow = (words, act) => button(words, () => this.at !== null && act(...this.at));
    this.bench = el(
      "div",
      { class: "wk-hand" },
      el(
        "p",
        { class: "wk-words" },
        `A row for each token of the text, the last ${ROWS} up to the chosen one; a column for each ` +
          "token that it may read. Touch a cell, and its weight is 1; touch it again, and it is 0. A " +
          "mouse can be drawn over several. With keys, arrows move, Enter touches, and + and − change " +
          "the weight by a tenth. Each row that you change is divided by its sum: the colours are " +
          "these shares, and a row of zeros reads nothing. A dot marks what you have set. Masked " +
          "cells cannot be set. Tokens written later have no row yet: they read as the start says.",
      ),
      this.box,
      shareBar(),
      this.here,
      this.weight.field,
      el(
        "div",
        { class: "wk-row" },
        inRow("This cell alone", (i, j) => this.put([i, null, 0], [i, j, TENTHS])),
        inRow("The row all zeros", (i) => this.put([i, null, 0])),
        inRow("The row as it was", (i) => this.forget(i)),
        button("All rows as they were", () => this.forget()),
      ),
      this.live,
      this.state,
    );
  }

  // what is set: positions are those of the whole text in `cells`, and those of the table elsewhere

  /** The cells that fit the table. */
  fitting() {
    // those of a link fit when the text is there that they were set for
    return this.text === null ? [] : cellsIn(this, this.workshop.ids, this.begin);
  }

  /** What a link has put into the field. */
  take() {
    if (this.state.value === written(this.cells)) return;
    Object.assign(this, { cells: read(this.state.value), text: null });
    this.workshop.later(() => {
      this.text ??= this.workshop.ids;
      return this.workshop.changes.renderHand();
    });
  }

  /** Set some cells; what stood there before is forgotten. */
  put(...cells) {
    const { begin } = this;
    for (const [i, j, tenths] of cells) {
      const other = ([row, key]) => row !== i + begin || (j !== null && key !== j + begin);
      this.cells = [...this.cells.filter(other), [i + begin, j === null ? null : j + begin, tenths]];
    }
    this.text = this.workshop.ids;
    this.changed(cells[0][0]);
  }

  /** A row, or all of them, as before. */
  forget(i = null) {
    this.cells = i === null ? [] : this.cells.filter(([row]) => row !== i + this.begin);
    this.changed(i);
  }

  changed(i) {
    this.state.value = written(this.cells);
    this.state.dispatchEvent(new Event("input", { bubbles: true }));
    if (this.base === null) return;
    for (const row of i === null ? range(this.n) : [i]) this.paintRow(row);
    if (this.at !== null) this.choose(this.at);
    say(this.live, i === null ? "All rows are as they were." : this.rowInWords(i));
  }

  // the pointer and the keys

  point(event) {
    this.pressed = event.pointerType !== "touch"; // a finger scrolls, until there is a click
    const place = placeOf(event.target);
    if (!this.pressed || place === null || event.button !== 0) return;
    this.painting = this.other(...place);
    this.touch(place);
  }

  pass({ target, buttons }) {
    if (buttons !== 1) this.painting = null;
    else if (this.painting !== null) this.touch(placeOf(target), this.painting);
  }

  touch(place, tenths = null) {
    if (place === null) return;
    this.choose(place);
    this.put([...place, tenths ?? this.other(...place)]);
  }

  /** What a touch makes of a cell. */
  other(i, j) {
    return this.weights(i)[j] === 1 ? 0 : TENTHS;
  }

  press(event) {
    if (this.at === null || modified(event)) return;
    const [i, j] = this.at;
    const own = this.weights(i)[j] * TENTHS;
    const [more, less] = [Math.floor(own + 1e-6) + 1, Math.ceil(own - 1e-6) - 1];
    const [key, touched] = [event.key, this.other(i, j)];
    const tenths = { "+": more, "=": more, "-": less, "−": less, Enter: touched, " ": touched }[key];
    if (WAYS[key] === undefined && tenths === undefined) return;
    event.preventDefault();
    if (tenths !== undefined) {
      this.put([i, j, clamp(tenths, 0, TENTHS)]);
      return;
    }
    const row = clamp(i + WAYS[key][0], this.first, this.n - 1);
    this.cell(row, clamp(j + WAYS[key][1], 0, row)).focus();
  }

  /** The cell that the slider and the buttons speak of. */
  choose(place) {
    if (place === null) return;
    if (this.at !== null) this.cell(...this.at).tabIndex = -1;
    this.at = place;
    this.cell(...place).tabIndex = 0;
    const weight = this.weights(place[0])[place[1]];
    this.weight.show(format(weight, 2), Math.round(weight * TENTHS));
    this.here.textContent = this.cellInWords(...place);
  }

  // the table

  /** As it is now: at once where the reader acts, and after all that was asked before. */
  async render() {
    const { workshop } = this;
    const prompt = workshop.prompt();
    this.base = await this.baseOf(prompt);
    this.begin = workshop.at + 1 - prompt.length;
    this.n = prompt.length;
    this.first = Math.max(0, this.n - ROWS);
    this.names = prompt.map((id) => seen(workshop.words(id)));
    const last = this.at ?? [this.n - 1, this.n - 1];
    this.at = null;
    const head = el("tr", null, el("td"), this.names.map((name) => el("th", { scope: "col" }, name)));
    const rows = range(this.n).slice(this.first).map((i) => this.row(i));
    this.grid.replaceChildren(el("thead", null, head), el("tbody", null, rows));
    for (let i = this.first; i < this.n; i += 1) this.paintRow(i);
    const row = clamp(last[0], this.first, this.n - 1);
    this.choose([row, clamp(last[1], 0, row)]);
    this.box.scrollLeft = this.box.scrollWidth;
  }

  row(i) {
    const cells = this.names.map((_, j) =>
      j <= i
        ? el("td", { role: "gridcell", tabindex: -1, "data-query": i, "data-key": j })
        : el("td", { role: "gridcell", class: "wk-masked", "aria-label": "masked" }),
    );
    return el("tr", null, el("th", { scope: "row" }, this.names[i]), cells);
  }

  cell(i, j) {
    return this.grid.tBodies[0].rows[i - this.first].cells[j + 1];
  }

  paintRow(i) {
    if (i < this.first) return;
    const isSet = new Set(this.fitting().flatMap(([row, j]) => (row === i ? [j] : [])));
    this.shares(i).forEach((share, j) => {
      const cell = this.cell(i, j);
      Object.assign(cell.style, sharePaint(share));
      cell.textContent = isSet.has(j) || isSet.has(null) ? "•" : "";
      cell.setAttribute("aria-label", this.cellInWords(i, j));
    });
  }

  weights(i) {
    return weightsOf(this.base.subarray(i * this.n, i * this.n + i + 1), this.fitting(), i);
  }

  shares(i) {
    const weights = this.weights(i);
    return this.fitting().some(([row]) => row === i) ? shares(weights) : weights;
  }

  cellInWords(i, j) {
    const [weight, share] = [this.weights(i)[j], this.shares(i)[j]];
    return (
      `“${this.names[i]}”, token ${this.begin + i + 1}, reads “${this.names[j]}”, token ` +
      `${this.begin + j + 1}: weight ${format(weight, 3)}, share ${fixed(share, 3)}`
    );
  }

  rowInWords(i) {
    const [weights, own] = [this.weights(i), this.shares(i)];
    const name = `“${this.names[i]}”, token ${this.begin + i + 1},`;
    if (sum(weights) === 0) return `${name} reads nothing: its row is all zeros.`;
    const most = ranked(own).slice(0, 3).filter((j) => own[j] > 0);
    const parts = most.map((j) => `“${this.names[j]}” ${fixed(own[j], 3)}`);
    return `${name} reads ${parts.join(", ")}. The weights of its row add up to ${format(sum(weights), 3)}.`;
  }
}
