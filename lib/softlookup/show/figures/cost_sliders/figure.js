// The cost sliders: how many tokens, how wide; what attention and a recurrence then cost.

import { controls, form, liveRegion, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { bytes, costs, counted } from "./maths.js";

const BARS = [
  ["projections", "attention: four projections", "4nd²"],
  ["core", "attention: QKᵀ and AV", "2n²d"],
  ["softmax", "attention: exponentials", "n²"],
  ["recurrent", "recurrent layer", "2nd²"],
];

class Sliders {
  constructor(root, data) {
    Object.assign(this, data);
    this.bars = BARS.map(([key, name, formula]) => this.bar(key, name, formula));
    this.live = liveRegion("cs-live");
    this.kept = el("p", { class: "cs-kept" });
    root.append(
      form(
        "cs-sliders",
        controls(
          this.slider("n", "Tokens n", this.lengths),
          this.slider("d", "Width d", this.widths),
        ),
        el(
          "div",
          { class: "cs-bars" },
          this.bars.map(({ row }) => row),
        ),
        this.live,
        this.kept,
      ),
    );
    this.update();
  }

  slider(key, text, values) {
    const made = slider(
      text,
      { name: key, min: 0, max: values.length - 1 },
      (place) => {
        this[key] = values[place];
        made.show(counted(this[key]));
        this.update();
      },
      "cs-field",
    );
    made.show(counted(this[key]), values.indexOf(this[key]));
    return made.field;
  }

  bar(key, name, formula) {
    const fill = el("i", { class: "cs-fill" });
    const count = el("span", { class: "cs-count" });
    return {
      key,
      fill,
      count,
      row: el(
        "div",
        { class: `cs-row cs-${key}` },
        el("span", { class: "cs-name" }, name, el("span", { class: "cs-formula" }, formula)),
        el("span", { class: "cs-track", "aria-hidden": "true" }, fill),
        count,
      ),
    };
  }

  update() {
    const now = costs(this.n, this.d);
    const most = Math.max(...this.bars.map(({ key }) => now[key]));
    for (const { key, fill, count } of this.bars) {
      fill.style.width = `${(100 * now[key]) / most}%`;
      count.textContent = counted(now[key]);
    }
    const core = compare(now.core, now.recurrent, "the recurrent layer");
    const own = compare(now.core, now.projections, "its own projections");
    this.live.textContent = `n ${sign(this.n, this.d)} d: the core costs ${core}, and ${own}.`;
    this.kept.textContent =
      `In float32 one head's weights take ${bytes(now.weights)}, the n states ` +
      `of the recurrence ${bytes(now.states)}. Attention takes 1 step, all tokens at once; ` +
      `the recurrence takes ${counted(this.n)}, each waiting for the one before.`;
  }
}

const sign = (a, b) => (a < b ? "<" : a > b ? ">" : "=");

/** "half as much as" in numbers: powers of two make whole ratios. */
function compare(mine, theirs, whose) {
  if (mine === theirs) return `as much as ${whose}`;
  return mine > theirs
    ? `${counted(mine / theirs)} times as much as ${whose}`
    : `1/${counted(theirs / mine)} of ${whose}`;
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Sliders(root, data);
}
