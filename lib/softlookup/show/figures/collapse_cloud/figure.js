// The collapse cloud: a depth, four switches, the tokens there, and how far apart they are.

import { check, choices, controls, form, liveRegion, slider } from "../../kit/controls.js";
import { el, line, svg, text } from "../../kit/elements.js";
import { counted, format } from "../../kit/numbers.js";
import {
  NOTHING,
  curveOf,
  fallOf,
  isFar,
  namesOf,
  placeWords,
  reachOf,
  runOf,
  stateOf,
} from "./maths.js";

const SIZE = 320;
const CHART = { left: 38, top: 12, width: 186, height: 236 };
const DEEP = CHART.top + CHART.height;
const TICKS = [
  [1, "1"],
  [0.1, "0.1"],
  [0.01, "0.01"],
  [1e-3, "10⁻³"],
  [1e-4, "10⁻⁴"],
];
const LINEAR_TICKS = [1, 0.75, 0.5, 0.25, 0].map((value) => [value, String(value)]);
const NORM_NAMES = [
  ["none", "none"],
  ["pre", "before (pre)"],
  ["post", "after (post)"],
];

class Cloud {
  constructor(root, { words, runs, small }) {
    Object.assign(this, { words, runs, depth: 0, skip: false, feedForward: false, norm: "none" });
    Object.assign(this, { small: false, factor: `writes × ${small}` });
    this.last = runs[0].points.length - 1;
    this.unit = (0.48 * SIZE) / Math.max(1000, reachOf(runs)); // points are in thousandths
    this.length = 1000 * this.unit;
    this.live = liveRegion("cc-live");
    this.ring = svg("circle", { class: "cc-ring", r: 0 });
    this.all = svg("text", { class: "cc-all", y: 26 }, `all ${words.length} words`);
    this.tokens = words.map((word) =>
      svg(
        "g",
        { class: "cc-token" },
        svg("path", { class: "cc-lead" }),
        svg("circle", { class: "cc-dot", r: 4 }),
        svg("text", {}, word),
      ),
    );
    const half = SIZE / 2;
    this.cloud = svg(
      "svg",
      {
        class: "cc-cloud",
        viewBox: `${-half} ${-half} ${SIZE} ${SIZE}`,
        role: "img",
        "aria-label": "The tokens around their mean",
      },
      svg("path", { class: "cc-cross", d: `M ${-half} 0 H ${half} M 0 ${-half} V ${half}` }),
      this.ring,
      this.tokens,
      this.all,
    );
    root.append(
      form(
        "cc-form",
        this.controls(),
        el(
          "div",
          { class: "cc-both" },
          el("div", { class: "cc-box" }, el("p", { class: "cc-title" }, "The tokens"), this.cloud),
          el(
            "div",
            { class: "cc-box" },
            el("p", { class: "cc-title" }, "How far apart, at each depth"),
            this.chart(),
          ),
        ),
        this.live,
      ),
    );
    this.update();
  }

  controls() {
    this.slider = slider(
      "Depth, in blocks",
      { min: 0, max: this.last, value: 0 },
      (depth) => this.set({ depth }),
      "cc-field",
    );
    const part = (key, words) => check(key, words, (on) => this.set({ [key]: on }));
    return controls(
      this.slider.field,
      el(
        "fieldset",
        { class: "sl-choices cc-parts" },
        el("legend", { class: "sl-label" }, "Besides attention"),
        part("skip", "skip"),
        part("feedForward", "feed-forward"),
      ),
      choices("Norm", "norm", NORM_NAMES, "none", (norm) => this.set({ norm })),
      el(
        "fieldset",
        { class: "sl-choices cc-parts" },
        el("legend", { class: "sl-label" }, "Size"),
        part("small", this.factor),
      ),
    );
  }

  set(change) {
    Object.assign(this, change);
    this.update();
  }

  chart() {
    const { left, width } = CHART;
    this.axis = svg("g");
    this.others = svg("g");
    this.curve = svg("g");
    this.names = svg("g");
    this.mark = svg("circle", { class: "cc-mark", r: 5.5 });
    const steps = [...new Set([0, 0.25, 0.5, 0.75, 1].map((s) => Math.round(s * this.last)))];
    return svg(
      "svg",
      {
        class: "cc-chart",
        viewBox: `0 0 ${SIZE} ${DEEP + 40}`,
        role: "img",
        "aria-label": "The rank residual against depth, for this choice among all twelve",
      },
      this.axis,
      steps.map((depth) =>
        text([left + (width * depth) / this.last, DEEP + 17], String(depth), "cc-tick", "middle"),
      ),
      text([left + width / 2, DEEP + 34], "depth, in blocks", "cc-tick", "middle"),
      this.others,
      this.names,
      this.curve,
      this.mark,
    );
  }

  /** The scale of the residuals: logarithmic, and linear where all writes are small, since there
   *  the lines with a skip lie close together. */
  drawAxis() {
    const { left, top, width, height } = CHART;
    const tick = ([value, words]) => {
      const y = top + height * fallOf(value, this.small);
      return [
        line([left, y], [left + width, y], "cc-grid"),
        text([left - 6, y + 4], words, "cc-tick", "end"),
      ];
    };
    this.axis.replaceChildren(...(this.small ? LINEAR_TICKS : TICKS).flatMap(tick));
  }

  line(values, kind) {
    return svg("polyline", {
      class: kind,
      points: curveOf(values, CHART, this.small)
        .map((point) => point.map((c) => c.toFixed(2)).join())
        .join(" "),
    });
  }

  /** The lines of all twelve choices at this size of the writes, each with its name. */
  drawOthers(chosen) {
    const first = this.small ? 12 : 0;
    const residuals = this.runs.slice(first, first + 12).map(({ residual }) => residual);
    const right = CHART.left + CHART.width;
    this.others.replaceChildren(...residuals.map((values) => this.line(values, "cc-other")));
    this.names.replaceChildren(
      ...namesOf(residuals, CHART, this.small).flatMap(({ words, end, at, runs }) => [
        svg("path", { class: "cc-lead", d: `M ${right} ${end.toFixed(1)} l 3 0 L ${right + 9} ${at.toFixed(1)}` }),
        text([right + 12, at + 3.5], words, runs.includes(chosen - first) ? "cc-name cc-now" : "cc-name"),
      ]),
    );
  }

  update() {
    const chosen = runOf(this);
    const run = this.runs[chosen];
    const [residual, cosine] = [run.residual[this.depth], run.cosine[this.depth]];
    this.slider.show(String(this.depth), this.depth, `${this.depth} of ${this.last} blocks`);
    const dots = run.points[this.depth].map(([x, y]) => [x * this.unit, -y * this.unit]);
    // First of all: what is measured below would make the tokens fly in from the middle at first.
    this.tokens.forEach((token, i) => {
      token.style.transform = `translate(${dots[i].map((c) => `${c.toFixed(2)}px`).join(", ")})`;
    });
    const corners = placeWords(
      dots,
      this.words.map((word) => (this.cloud.clientWidth < 250 ? 8 : 6) * [...word].length),
      residual * this.length,
    );
    this.tokens.forEach((token, i) => {
      token.classList.toggle("cc-mute", !corners[i]);
      const [dx, dy] = corners[i] ?? [0, 0];
      token.lastChild.setAttribute("x", dx);
      token.lastChild.setAttribute("y", dy);
      token.lastChild.setAttribute("text-anchor", dx < 0 ? "end" : dx > 0 ? "start" : "middle");
      const lead = corners[i] && isFar([dx, dy]) ? `M 0 0 L ${dx} ${dy > 0 ? dy - 9 : dy + 2}` : "";
      token.firstChild.setAttribute("d", lead);
    });
    const together = stateOf(residual).endsWith("one");
    this.cloud.classList.toggle("cc-together", together);
    this.ring.setAttribute("r", (residual * this.length).toFixed(2));
    this.drawAxis();
    this.drawOthers(chosen);
    this.curve.replaceChildren(this.line(run.residual, "cc-curve"));
    const [x, y] = curveOf(run.residual, CHART, this.small)[this.depth];
    this.mark.setAttribute("cx", x.toFixed(2));
    this.mark.setAttribute("cy", y.toFixed(2));
    this.live.textContent = this.tell(residual, cosine);
  }

  /** The parts in words, the two numbers, and what they mean. */
  tell(residual, cosine) {
    const norm = { pre: ["pre-norm"], post: ["post-norm"], none: [] }[this.norm];
    const parts = [
      "attention",
      ...(this.skip ? ["skip"] : []),
      ...(this.feedForward ? ["feed-forward"] : []),
      ...norm,
      ...(this.small ? [this.factor] : []),
    ];
    const what = parts.length > 1 ? parts.join(", ") : "attention alone";
    const size = residual < NOTHING ? "0" : format(residual, 3);
    const state = {
      one: "All tokens have become identical, up to rounding.",
      "nearly one": "The tokens are nearly identical.",
      apart: "The tokens are still apart.",
    }[stateOf(residual)];
    return `${counted(this.depth, "block")}: ${what}. Rank residual ${size}, mean cosine ${format(cosine, 3)}. ${state}`;
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Cloud(root, data);
}
