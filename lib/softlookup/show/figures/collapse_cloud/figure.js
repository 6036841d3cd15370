// The collapse cloud: a depth, three switches, the tokens there, and how far apart they are.

import { choices } from "../../kit/controls.js";
import { el, svg } from "../../kit/elements.js";
import { format } from "../../kit/numbers.js";
import { FLOOR, curveOf, fallOf, placeWords, reachOf, runOf, stateOf } from "./maths.js";

const SIZE = 320;
const CHART = {left: 44, top: 12, width: 268, height: 236};
const DEEP = CHART.top + CHART.height;
const TICKS = [[1, "1"], [1e-4, "10⁻⁴"], [1e-8, "10⁻⁸"], [1e-12, "10⁻¹²"], [1e-16, "10⁻¹⁶"]];
const NORM_NAMES = [["none", "none"], ["pre", "before (pre)"], ["post", "after (post)"]];

class Cloud {
  constructor(root, {words, runs}) {
    Object.assign(this, {words, runs, depth: 0, skip: false, feedForward: false, norm: "none"});
    this.last = runs[0].points.length - 1;
    this.unit = 0.48 * SIZE / Math.max(1, reachOf(runs));
    this.live = liveRegion("cc-live");
    this.ring = svg("circle", {class: "cc-ring", r: 0});
    this.all = svg("text", {class: "cc-all", y: 26}, `all ${words.length} words`);
    this.tokens = words.map((word) => svg("g", {class: "cc-token"},
      svg("circle", {class: "cc-dot", r: 4}), svg("text", {}, word)));
    const half = SIZE / 2;
    this.cloud = svg("svg", {class: "cc-cloud", viewBox: `${-half} ${-half} ${SIZE} ${SIZE}`,
      role: "img", "aria-label": "The tokens around their mean"},
    svg("path", {class: "cc-cross", d: `M ${-half} 0 H ${half} M 0 ${-half} V ${half}`}),
    this.ring, this.tokens, this.all);
    root.append(form("cc-form",
      this.controls(), el("div", {class: "cc-both"},
        el("div", {class: "cc-box"}, el("p", {class: "cc-title"}, "The tokens"), this.cloud),
        el("div", {class: "cc-box"},
          el("p", {class: "cc-title"}, "How far apart, at each depth"), this.chart())),
      this.live));
    this.update();
  }

  controls() {
    this.number = el("span", {class: "cc-number"});
    this.slider = el("input", {type: "range", class: "cc-slider", min: 0, max: this.last, step: 1,
      value: 0, oninput: () => { this.depth = this.slider.valueAsNumber; this.update(); }});
    const check = (key, text) => el("label", {class: "sl-check"},
      el("input", {type: "checkbox", name: key, onchange: (event) => { this[key] = event.target.checked; this.update(); }}), text);
    return controls(
      el("label", {class: "sl-field cc-field"},
        label( "Depth, in blocks: ", this.number), this.slider),
      el("fieldset", {class: "sl-choices cc-parts"}, el("legend", {class: "sl-label"},
        "Beside attention"), check("skip", "skip"), check("feedForward", "feed-forward")),
      choices("Norm", "norm", NORM_NAMES, "none", (value) => { this.norm = value; this.update(); }));
  }

  chart() {
    const {left, top, width} = CHART;
    const tick = ([value, text]) => {
      const y = top + CHART.height * fallOf(value);
      return [svg("line", {class: "cc-grid", x1: left, x2: left + width, y1: y, y2: y}),
        svg("text", {class: "cc-tick", x: left - 6, y: y + 4, "text-anchor": "end"}, text)];
    };
    const line = (values, kind) => svg("polyline", {class: kind,
      points: curveOf(values, CHART).map((point) => point.map((c) => c.toFixed(2)).join())
        .join(" ")});
    this.line = line;
    this.curve = svg("g");
    this.mark = svg("circle", {class: "cc-mark", r: 5.5});
    const steps = [...new Set([0, 0.25, 0.5, 0.75, 1].map((s) => Math.round(s * this.last)))];
    return svg("svg", {class: "cc-chart", viewBox: `0 0 ${SIZE} ${DEEP + 40}`, role: "img",
      "aria-label": "Residual on a logarithmic scale against depth, this choice among all twelve"},
    TICKS.flatMap(tick),
    steps.map((depth) => svg("text", {class: "cc-tick", "text-anchor": "middle", y: DEEP + 17,
      x: left + width * depth / this.last}, String(depth))),
    svg("text", {class: "cc-tick", "text-anchor": "middle", y: DEEP + 34, x: left + width / 2},
      "depth, in blocks"),
    this.runs.map(({residual}) => line(residual, "cc-other")), this.curve, this.mark);
  }

  update() {
    const run = this.runs[runOf(this)];
    const [residual, cosine] = [run.residual[this.depth], run.cosine[this.depth]];
    this.number.textContent = String(this.depth);
    this.slider.setAttribute("aria-valuetext", `${this.depth} of ${this.last} blocks`);
    const dots = run.points[this.depth].map(([x, y]) => [x * this.unit, -y * this.unit]);
    const corners = placeWords(dots, this.words.map((word) => 6 * [...word].length));
    this.tokens.forEach((token, i) => {
      token.style.transform = `translate(${dots[i].map((c) => `${c.toFixed(2)}px`).join(", ")})`;
      token.classList.toggle("cc-mute", !corners[i]);
      const [dx, dy] = corners[i] ?? [0, 0];
      token.lastChild.setAttribute("x", dx);
      token.lastChild.setAttribute("y", dy);
      token.lastChild.setAttribute("text-anchor", dx < 0 ? "end" : "start");
    });
    const together = stateOf(residual) !== "apart";
    this.cloud.classList.toggle("cc-together", together);
    this.ring.setAttribute("r", (residual * this.unit).toFixed(2));
    this.curve.replaceChildren(this.line(run.residual, "cc-curve"));
    const [x, y] = curveOf(run.residual, CHART)[this.depth];
    this.mark.setAttribute("cx", x.toFixed(2));
    this.mark.setAttribute("cy", y.toFixed(2));
    this.live.textContent = this.tell(residual, cosine);
  }

  /** The parts in words, the two numbers, and what they mean. */
  tell(residual, cosine) {
    const norm = {pre: ["norm before"], post: ["norm after"], none: []}[this.norm];
    const parts = [...(this.skip ? ["skip"] : []), ...(this.feedForward ? ["feed-forward"] : []),
      ...norm];
    const what = parts.length ? `attention with ${parts.join(", ")}` : "attention alone";
    const size = residual < FLOOR ? "0" : format(residual, 3);
    const state = {one: "All tokens are one.", "nearly one": "The tokens are nearly one.",
      apart: "The tokens are apart."}[stateOf(residual)];
    const blocks = this.depth === 1 ? "1 block" : `${this.depth} blocks`;
    return `${blocks} of ${what}: residual ${size}, mean cosine ${format(cosine, 3)}. ${state}`;
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Cloud(root, data);
}
