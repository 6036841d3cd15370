// Every gradient of a step: of one tensor at a time, each entry as a colour and as a number.

import { colourBar } from "../../kit/colours.js";
import { field, liveRegion, say, slider } from "../../kit/controls.js";
import { pointed } from "../../kit/drag.js";
import { el } from "../../kit/elements.js";
import { clamp } from "../../kit/maths.js";
import { fixed, format } from "../../kit/numbers.js";
import { scroller } from "../../kit/table.js";

const DIGITS = 7; // what single precision tells apart
const WIDTH = 560; // pixels that a picture takes, if its entries can be seen then
const [SMALL, LARGE, LINE] = [3, 14, 15]; // pixels of an entry, and of a row with a letter
const HUES = ["var(--sl-blue, #0072b2)", "var(--sl-red, #b34700)"];

/** The largest entry in size and its place, and how many entries are 0 and no numbers at all. */
export function factsOf(numbers) {
  const facts = { largest: 0, at: 0, zeros: 0, broken: 0 };
  numbers.forEach((x, k) => {
    if (x === 0) facts.zeros += 1;
    if (!Number.isFinite(x)) facts.broken += 1;
    else if (Math.abs(x) > Math.abs(facts.largest)) Object.assign(facts, { largest: x, at: k });
  });
  return facts;
}

/** The gradients of the last single step; `ask(name)` promises those of one tensor. */
export class Gradients {
  constructor(ask) {
    Object.assign(this, { ask, tensors: [], letters: [], step: 0, numbers: null, at: [0, 0] });
    this.names = el("select", { name: "gradient", onchange: () => this.fetch() });
    this.facts = liveRegion("tg-facts-of");
    this.canvas = el("canvas", { class: "tg-pixels", "aria-hidden": "true" });
    this.labels = el("div", { class: "tg-letters", "aria-hidden": "true" });
    this.mark = el("span", { class: "tg-mark", "aria-hidden": "true" });
    const onpointer = (event) => this.point(event);
    const events = { onpointermove: onpointer, onpointerdown: onpointer };
    const picture = el("div", { class: "tg-picture", ...events }, this.canvas, this.mark);
    this.box = scroller("The gradient, a colour for each entry", this.labels, picture);
    this.box.classList.add("tg-box");
    this.bar = el("div");
    this.here = el("p", { class: "tg-here" });
    const move = (axis) => (value) => this.choose(this.at.map((old, k) => (k === axis ? value : old)));
    this.sliders = ["Row", "Column"].map((name, axis) =>
      slider(name, { name: name.toLowerCase(), min: 0, max: 0 }, move(axis)),
    );
    const sliders = el("div", { class: "tg-choices" }, this.sliders.map((one) => one.field));
    this.seen = el("div", { hidden: true }, this.box, this.bar, this.here, sliders);
    this.node = el("div", { hidden: true }, field("See the gradient of", this.names), this.facts, this.seen);
  }

  /** Another step, or none yet: the tensor that was looked at is fetched anew. */
  show(tensors, letters = [], step = 0) {
    const { value } = this.names;
    Object.assign(this, { tensors, letters, step, numbers: null });
    const options = tensors.map(({ name }) => el("option", { value: name, selected: name === value }, name));
    const none = el("option", { value: "" }, "choose a tensor");
    this.names.replaceChildren(none, ...options);
    this.node.hidden = tensors.length === 0;
    this.seen.hidden = true;
    say(this.facts, "");
    if (this.names.value !== "") this.fetch();
  }

  /** Look at a tensor whose row in the table was touched. */
  async open(name) {
    this.names.value = name;
    await this.fetch();
    this.node.scrollIntoView({ block: "nearest" });
  }

  async fetch() {
    const { value: name } = this.names;
    const { step, tensors } = this;
    if (name === "") {
      this.seen.hidden = true;
      say(this.facts, "");
      return;
    }
    say(this.facts, "It comes as soon as the model pauses.");
    let numbers = null;
    try {
      numbers = await this.ask(name);
    } catch (error) {
      say(this.facts, error.message);
      return;
    }
    // meanwhile another one was chosen, or another step was made
    if (name !== this.names.value || tensors !== this.tensors) return;
    const { shape } = tensors.find((one) => one.name === name);
    const [rows, columns] = shape.length === 1 ? [1, ...shape] : shape;
    const facts = factsOf(numbers);
    Object.assign(this, { name, shape, rows, columns, numbers, largest: Math.abs(facts.largest) });
    this.seen.hidden = false;
    this.paint();
    this.choose([Math.floor(facts.at / columns), facts.at % columns]);
    say(this.facts, this.inWords(facts, step));
  }

  inWords({ largest, zeros, broken }, step) {
    const { name, shape, numbers, at } = this;
    const size = `Step ${step}, ${name}, ${shape.join(" × ")}: `;
    const share = `${zeros.toLocaleString("en-GB")} of ${numbers.length.toLocaleString("en-GB")} entries ` +
      `${zeros === 1 ? "is" : "are"} 0, a share of ${fixed(zeros / numbers.length, 3)}.`;
    const none = broken > 0 ? ` ${broken.toLocaleString("en-GB")} are no numbers.` : "";
    const most = largest === 0 ? "no entry differs from 0" : `the largest entry is ${format(largest, DIGITS)}, in ${this.place(...at)}`;
    return `${size}${most}. ${share}${none}`;
  }

  /** Where an entry stands, in words. */
  place(i, j) {
    if (this.shape.length === 1) return `place ${j}`;
    return `row ${this.rowName(i)}, column ${j}`;
  }

  rowName(i) {
    return this.isTable() ? `${i}, letter “${this.letters[i]}”` : String(i);
  }

  /** Whether each row is that of a letter. */
  isTable() {
    return ["embedding.weight", "unembedding.weight"].includes(this.name);
  }

  paint() {
    const { canvas, rows, columns, numbers, largest } = this;
    Object.assign(canvas, { width: columns, height: rows });
    const image = canvas.getContext("2d").createImageData(columns, rows);
    const hues = HUES.map((hue) => {
      this.bar.style.color = hue;
      return getComputedStyle(this.bar).color.match(/\d+/g).map(Number);
    });
    this.bar.style.color = "";
    numbers.forEach((x, k) => {
      const depth = largest > 0 && Number.isFinite(x) ? Math.round((255 * Math.abs(x)) / largest) : 0;
      image.data.set([...hues[x > 0 ? 1 : 0].slice(0, 3), depth], 4 * k);
    });
    canvas.getContext("2d").putImageData(image, 0, 0);
    this.wide = clamp(Math.floor(WIDTH / columns), SMALL, LARGE);
    this.tall = this.isTable() ? LINE : rows === 1 ? 2 * LARGE : this.wide;
    canvas.style.width = `${columns * this.wide}px`;
    canvas.style.height = `${rows * this.tall}px`;
    const letters = this.isTable() ? this.letters : [];
    this.labels.replaceChildren(...letters.map((letter) => el("span", { style: `height: ${LINE}px` }, letter)));
    const stops = [HUES[0], "transparent", HUES[1]];
    const ends = largest === 0 ? ["0", "0"] : [format(-largest, 3), format(largest, 3)];
    this.bar.replaceChildren(colourBar(stops, ends));
    [rows, columns].forEach((n, axis) => {
      this.sliders[axis].input.max = n - 1;
      this.sliders[axis].field.hidden = n === 1;
    });
  }

  point(event) {
    if (this.numbers === null) return;
    const [across, down] = pointed(event, this.canvas);
    if (across < 0 || across >= 1 || down < 0 || down >= 1) return;
    this.choose([Math.floor(down * this.rows), Math.floor(across * this.columns)], true);
  }

  /** The entry whose number is told. */
  choose(at, pointing = false) {
    if (this.numbers === null) return;
    const [i, j] = [clamp(at[0], 0, this.rows - 1), clamp(at[1], 0, this.columns - 1)];
    this.at = [i, j];
    const told = `${this.place(i, j)}: ${format(this.numbers[i * this.columns + j], DIGITS)}`;
    this.sliders[0].show(this.rowName(i), i, told);
    this.sliders[1].show(String(j), j, told);
    this.here.textContent = `Gradient in ${told}`;
    const [left, top] = [j * this.wide, i * this.tall];
    const size = { left, top, width: this.wide, height: this.tall };
    for (const [side, pixels] of Object.entries(size)) this.mark.style[side] = `${pixels}px`;
    if (pointing) return;
    const { box } = this; // keys move what is out of sight into it
    box.scrollLeft = clamp(box.scrollLeft, left + 60 - box.clientWidth, left - 30);
    box.scrollTop = clamp(box.scrollTop, top + 40 - box.clientHeight, top - 20);
  }
}
