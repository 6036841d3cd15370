// The permutation square: shuffle and then attend, or attend and then shuffle.

import { sharePaint } from "../../kit/colours.js";
import { button, choices, controls, form } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { range } from "../../kit/maths.js";
import { fixed, format } from "../../kit/numbers.js";
import { scroller } from "../../kit/table.js";
import { bothWays, shuffle, swapped } from "./maths.js";

const SEEN = 0.005; // a smaller difference does not show in two decimals
const ROUNDING = 1e-9;

/** One result: a row a word, its weights over all words, and its output. */
class Result {
  constructor(name, title, what, n, d) {
    this.heads = range(n).map(() => el("th", { scope: "col", class: "sq-key" }, el("span")));
    const names = range(d).map((c) =>
      el("th", { scope: "col", class: "sq-out" }, "z", el("sub", null, String(c))),
    );
    this.rows = range(n).map(() => this.row(n, d));
    const corner = el("td", null, el("span", { class: "sq-hint" }, "reads →"));
    const table = el(
      "table",
      { class: "sq-table" },
      el("thead", null, el("tr", null, corner, this.heads, names)),
      el(
        "tbody",
        null,
        this.rows.map(({ row }) => row),
      ),
    );
    this.node = el(
      "section",
      { class: `sq-result sq-${name}` },
      el("p", { class: "sq-title" }, title),
      el("p", { class: "sq-what" }, what),
      scroller(title, table),
    );
  }

  row(n, d) {
    const word = el("th", { scope: "row" });
    const weights = range(n).map(() => el("td", { class: "sq-weight" }));
    const out = range(d).map(() => el("td", { class: "sq-out" }));
    return { word, weights, out, row: el("tr", null, word, weights, out) };
  }

  show(words, { weights, out }, other) {
    words.forEach((word, i) => {
      this.heads[i].firstChild.textContent = word;
      this.rows[i].word.textContent = word;
      this.rows[i].weights.forEach((cell, j) => {
        cell.textContent = weights[i][j] === 0 ? "0" : fixed(weights[i][j]);
        Object.assign(cell.style, sharePaint(weights[i][j]));
        cell.classList.toggle("sq-off", differs(weights[i][j], other?.weights[i][j]));
      });
      this.rows[i].out.forEach((cell, c) => {
        cell.textContent = fixed(out[i][c]);
        cell.classList.toggle("sq-off", differs(out[i][c], other?.out[i][c]));
      });
    });
  }
}

const differs = (value, other) => other !== undefined && Math.abs(value - other) >= SEEN;

class Square {
  constructor(root, data) {
    Object.assign(this, data, { n: data.words.length, causal: false, coded: false });
    const d = this.parts.V[0].length;
    this.start = new Result("start", "The sentence, attended", "as it stands", this.n, d);
    this.shuffled = new Result(
      "shuffled",
      "Path 1: reorder, then attend",
      "down, then right",
      this.n,
      d,
    );
    this.moved = new Result("moved", "Path 2: attend, then reorder", "right, then down", this.n, d);
    this.verdict = el("p", { class: "sl-live sq-verdict", role: "status" });
    this.sign = el("span", { class: "sq-sign", "aria-hidden": "true" });
    this.places = range(this.n).map((i) => this.place(i));
    root.append(form("sq-square", this.controls(), this.verdict, this.board()));
    this.update();
  }

  controls() {
    const switches = [
      choices(
        "A word may read",
        "mask",
        [
          ["all", "all words"],
          ["causal", "only what came before"],
        ],
        "all",
        (value) => {
          this.causal = value === "causal";
          this.update();
        },
      ),
    ];
    if (this.codes) {
      switches.push(
        choices(
          "A code for each place",
          "code",
          [
            ["off", "none"],
            ["on", "added"],
          ],
          "off",
          (value) => {
            this.coded = value === "on";
            this.update();
          },
        ),
      );
    }
    return controls(
      el(
        "div",
        { class: "sq-buttons" },
        button("Shuffle", () => this.shuffle()),
        button("Back in order", () => this.reorder(this.order.map((_, i) => i))),
      ),
      switches,
    );
  }

  board() {
    const words = this.words.map((word) => el("li", null, word));
    const arrow = (name, sign, text) =>
      el("span", { class: `sq-arrow ${name}`, "aria-hidden": "true" }, text, el("b", null, sign));
    return el(
      "div",
      { class: "sq-board" },
      el(
        "div",
        { class: "sq-words sq-given" },
        el("p", { class: "sq-title" }, "The sentence"),
        el("ol", { class: "sq-list", "aria-label": "The sentence" }, words),
      ),
      arrow("sq-long", "", "attend"),
      this.start.node,
      arrow("sq-left", "↓", "reorder"),
      arrow("sq-right", "↓", "reorder"),
      el(
        "div",
        { class: "sq-words sq-mine" },
        el("p", { class: "sq-title" }, "Another order"),
        el(
          "ol",
          { class: "sq-list", "aria-label": "Another order" },
          this.places.map(({ item }) => item),
        ),
      ),
      arrow("sq-short", "", "attend"),
      this.shuffled.node,
      this.sign,
      this.moved.node,
    );
  }

  place(i) {
    const word = el("span", { class: "sq-word" });
    const [up, down] = [-1, 1].map((by) =>
      el(
        "button",
        {
          type: "button",
          class: "sq-move",
          disabled: i + by < 0 || i + by >= this.n,
          onclick: () => this.move(i, by),
          onkeydown: (event) => this.key(event, i),
        },
        by < 0 ? "▲" : "▼",
      ),
    );
    return { word, up, down, item: el("li", null, word, up, down) };
  }

  key(event, i) {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.move(i, by);
  }

  /** Move the word at place i; the focus goes along with it. */
  move(i, by) {
    const j = i + by;
    if (j < 0 || j >= this.n) return;
    this.reorder(swapped(this.order, i, j));
    const { up, down } = this.places[j];
    const wanted = by < 0 ? up : down;
    (wanted.disabled ? (by < 0 ? down : up) : wanted).focus();
  }

  shuffle() {
    const { order, seed } = shuffle(this.order, this.seed);
    this.seed = seed;
    this.reorder(order);
  }

  reorder(order) {
    this.order = order;
    this.update();
  }

  update() {
    const result = bothWays(this.parts, this.coded ? this.codes : null, this.order, this.causal);
    const words = this.order.map((k) => this.words[k]);
    this.places.forEach(({ word, up, down }, i) => {
      word.textContent = words[i];
      up.setAttribute("aria-label", `Move ${words[i]} up`);
      down.setAttribute("aria-label", `Move ${words[i]} down`);
    });
    this.start.show(this.words, result.start);
    this.shuffled.show(words, result.shuffled, result.moved);
    this.moved.show(words, result.moved, result.shuffled);
    const closes = result.difference < ROUNDING;
    this.sign.textContent = closes ? "=" : "≠";
    this.sign.classList.toggle("sl-flag", !closes);
    this.verdict.textContent = this.judgement(result.difference, closes);
  }

  judgement(difference, closes) {
    const inOrder = this.order.every((word, i) => word === i);
    if (inOrder) return "The order is the sentence's own: both paths are the same. Move a word.";
    const size = `largest difference of the outputs ${format(difference, 2)}`;
    if (closes) return `The square closes: ${size}${difference ? ", mere rounding" : ""}.`;
    const why = [this.causal && "the mask", this.coded && "the code"].filter(Boolean);
    const verb = why.length > 1 ? "stay" : "stays";
    return (
      `The square is broken: ${size}. The words moved, ` +
      `${why.join(" and ")} ${verb} with the places.`
    );
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Square(root, data);
}
