// The stepper: one step of a recurrent network, part by part, with tanh or without.

import { button, choices, controls, form, liveRegion } from "../../kit/controls.js";
import { el, line, svg, text } from "../../kit/elements.js";
import { fixed } from "../../kit/numbers.js";
import { row, scroller, table } from "../../kit/table.js";
import { misprinted, stepParts } from "./maths.js";

const PARTS = [
  ["fromState", "W_hh h", "what the old state brings"],
  ["fromInput", "W_xh x", "what the input brings"],
  ["a", "a", "both and the bias"],
  ["after", "h", "through the activation: the new state"],
  ["products", "W_hy ⊙ h", "weighed for the output"],
  ["y", "y", "and added up"],
];
const [COLUMN, BOX, LINE, MIDDLE] = [57, 47, 13, 74]; // the picture of the flow, in its own units
const FLOW = [
  ["hidden", "old h", 0, -1],
  ["x", "x", 0, 1],
  ["fromState", "W_hh h", 1, -1],
  ["fromInput", "W_xh x", 1, 1],
  ["a", "a, with b", 2, 0],
  ["after", "h", 3, 0],
  ["products", "W_hy ⊙ h", 4, 0],
  ["y", "y", 5, 0],
];
const ARROWS = [
  ["hidden", "fromState"],
  ["x", "fromInput"],
  ["fromState", "a"],
  ["fromInput", "a"],
  ["a", "after"],
  ["after", "products"],
  ["products", "y"],
];
const decimals = (value) => fixed(value, 4);
const shown = (values) => `(${values.map(decimals).join(", ")})`;

class Stepper {
  constructor(root, data) {
    Object.assign(this, { data, at: 0, tanh: true });
    this.back = button("Back", () => this.move(-1));
    this.next = button("Next", () => this.move(1));
    this.rows = PARTS.map(([key, name, what]) => this.part(key, name, what));
    this.flow = svg("svg", { class: "rn-flow", "aria-hidden": "true" }); // the table says the same
    this.live = liveRegion();
    const heads = ["part", "value", ...(data.printed ? ["the slide prints"] : [])];
    const parts = table(
      "rn-table",
      heads,
      this.rows.map(({ node }) => node),
    );
    root.append(
      form(
        "rn-stepper",
        controls(
          choices(
            "Activation",
            "activation",
            [
              ["tanh", "tanh"],
              ["none", "none"],
            ],
            "tanh",
            (value) => {
              this.tanh = value === "tanh";
              this.update();
            },
          ),
          el("div", { class: "rn-buttons" }, this.back, this.next),
        ),
        el("p", { class: "rn-given" }, `x = ${shown(data.x)}, old h = ${shown(data.hidden)}`),
        this.flow,
        scroller("The parts", parts),
        this.live,
      ),
    );
    this.update();
  }

  part(key, name, what) {
    const value = el("td", { class: "rn-value" });
    const printed = this.data.printed ? el("td", { class: "rn-printed" }) : null;
    const node = row(
      [name, el("span", { class: "rn-what" }, what)],
      printed ? [value, printed] : [value],
    );
    return { key, name, what, value, printed, node };
  }

  move(by) {
    this.at = Math.min(Math.max(this.at + by, 0), PARTS.length - 1);
    this.update();
  }

  update() {
    const parts = stepParts(this.data, this.tanh);
    const wrong = this.rows.map((one, k) => this.show(one, k, parts));
    this.draw({ ...parts, x: this.data.x, hidden: this.data.hidden }, wrong);
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at === PARTS.length - 1;
    const { name, what, key } = this.rows[this.at];
    const first = wrong.findIndex(Boolean);
    const note =
      first < 0
        ? ""
        : " Dashed: the slide prints other digits. " +
          `The slide's first wrong digit is in ${this.rows[first].name}.`;
    this.live.textContent = `${name}, ${what}: ${shown(parts[key])}.${note}`;
  }

  /** The boxes from left to right, each with its numbers once it has been reached. */
  draw(parts, wrong) {
    const order = PARTS.map(([key]) => key);
    const place = Object.fromEntries(
      FLOW.map(([key, , column, side]) => {
        const height = LINE * parts[key].length + 6;
        return [key, { x: column * COLUMN + 1, y: MIDDLE + 44 * side - height / 2, height }];
      }),
    );
    const arrows = ARROWS.map(([from, to]) =>
      line(
        [place[from].x + BOX, place[from].y + place[from].height / 2],
        [place[to].x, place[to].y + place[to].height / 2],
        "rn-arrow",
      ),
    );
    const boxes = FLOW.map(([key, name]) => {
      const [{ x, y, height }, k] = [place[key], order.indexOf(key)];
      const written = (words, dy) => text([x + BOX / 2, y + dy], words);
      const numbers = k <= this.at ? parts[key].map(decimals) : parts[key].map(() => "…");
      const state = `${k === this.at ? " rn-here" : ""}${wrong[k] ? " rn-wrong" : ""}`;
      return svg(
        "g",
        { class: `rn-box${state}`, "data-part": key },
        svg("rect", { x, y, width: BOX, height, rx: 3 }),
        written(name, -4),
        ...numbers.map((number, i) => written(number, LINE * (i + 1))),
      );
    });
    this.flow.setAttribute("viewBox", `0 0 ${5 * COLUMN + BOX + 2} ${2 * MIDDLE}`);
    this.flow.replaceChildren(...arrows, ...boxes);
  }

  /** Fill a row if it has been reached; true if the slide prints other digits. */
  show({ key, node, value, printed }, k, parts) {
    const seen = k <= this.at;
    node.classList.toggle("rn-now", k === this.at);
    value.textContent = seen ? shown(parts[key]) : "…";
    if (!printed) return false;
    const slide = seen && this.tanh ? this.data.printed[key] : null;
    const wrong = Boolean(slide) && misprinted(slide, parts[key]);
    printed.textContent = slide ? `${shown(slide)}${wrong ? " ✗" : " ✓"}` : "";
    printed.classList.toggle("sl-flag", wrong);
    return wrong;
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Stepper(root, data);
}
