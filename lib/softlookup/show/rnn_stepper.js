// The stepper: one step of a recurrent network, part by part, with tanh or without.

import {choices, el} from "./interactive.js";
import {misprinted, stepParts} from "./recurrence_maths.js";

const PARTS = [
  ["fromState", "W_hh h", "what the old state brings"],
  ["fromInput", "W_xh x", "what the input brings"],
  ["a", "a", "both and the bias"],
  ["after", "h", "through the activation: the new state"],
  ["products", "W_hy ⊙ h", "weighed for the output"],
  ["y", "y", "and added up"],
];
const shown = (values) => `(${values.map((v) => v.toFixed(4).replace("-", "−")).join(", ")})`;

class Stepper {
  constructor(root, data) {
    Object.assign(this, {data, at: 0, tanh: true});
    const button = (text, by) => el("button", {type: "button", class: "sl-button",
      "data-lm-suppress-shortcuts": "true", onclick: () => this.move(by)}, text);
    [this.back, this.next] = [button("Back", -1), button("Next", 1)];
    this.rows = PARTS.map(([key, name, what]) => this.row(key, name, what));
    this.live = el("p", {class: "sl-live", "aria-live": "polite"});
    const heads = ["part", "value", ...(data.printed ? ["the slide prints"] : [])];
    const table = el("table", {class: "rn-table"},
      el("thead", null, el("tr", null, heads.map((text) => el("th", {scope: "col"}, text)))),
      el("tbody", null, this.rows.map(({row}) => row)));
    root.append(el("form", {class: "rn-stepper", onsubmit: (event) => event.preventDefault()},
      el("div", {class: "sl-controls"}, choices("Activation", "activation",
        [["tanh", "tanh"], ["none", "none"]], "tanh",
        (value) => { this.tanh = value === "tanh"; this.update(); }), el("div", {class: "rn-buttons"}, this.back, this.next)),
      el("p", {class: "rn-given"}, `x = ${shown(data.x)}, old h = ${shown(data.hidden)}`),
      el("div", {class: "sl-scroll", tabindex: 0, role: "group", "aria-label": "The parts"}, table),
      this.live));
    this.update();
  }

  row(key, name, what) {
    const value = el("td", {class: "rn-value"});
    const printed = this.data.printed ? el("td", {class: "rn-printed"}) : null;
    const head = el("th", {scope: "row"}, name, el("span", {class: "rn-what"}, what));
    return {key, name, what, value, printed, row: el("tr", null, head, value, printed)};
  }

  move(by) {
    this.at = Math.min(Math.max(this.at + by, 0), PARTS.length - 1);
    this.update();
  }

  update() {
    const parts = stepParts(this.data, this.tanh);
    const wrong = this.rows.map((row, k) => this.show(row, k, parts));
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at === PARTS.length - 1;
    const {name, what, key} = this.rows[this.at];
    const first = wrong.findIndex(Boolean);
    const note = first < 0 ? "" : ` The slide's first wrong digit is in ${this.rows[first].name}.`;
    this.live.textContent = `${name}, ${what}: ${shown(parts[key])}.${note}`;
  }

  /** Fill a row if it has been reached; true if the slide prints other digits. */
  show({key, row, value, printed}, k, parts) {
    const seen = k <= this.at;
    row.classList.toggle("rn-now", k === this.at);
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
