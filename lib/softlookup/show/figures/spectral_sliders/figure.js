// The spectral sliders: a state on its way forward and a gradient on its way back.

import { choices, controls, form, liveRegion, slider } from "../../kit/controls.js";
import { el, line, svg, text } from "../../kit/elements.js";
import { format } from "../../kit/numbers.js";
import { waves } from "./maths.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [340, 220, 54, 34, 8];
const REACH = 8; // the chart goes from 10^-8 to 10^8
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸";

const power = (k) => `10${k < 0 ? "⁻" : ""}${SUPERSCRIPTS[Math.abs(k)]}`;
const yOf = (value) => {
  const clipped = Math.min(Math.max(Math.log10(value), -REACH), REACH);
  return TOP + ((HEIGHT - TOP - BOTTOM) * (REACH - clipped)) / (2 * REACH);
};

class Sliders {
  constructor(root, data) {
    Object.assign(this, { data, radius: 1, n: 50, tanh: false, matrix: 0 });
    this.chart = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: "sc-chart",
      role: "img",
      "aria-label": "Lengths of states and of gradients, step by step, on a logarithmic scale",
    });
    this.live = liveRegion();
    root.append(
      form(
        "sc-sliders",
        controls(
          this.slider("Spectral radius ρ", "radius", { min: 0.5, max: 1.5, step: 0.01 }, 2),
          this.slider("Steps n", "n", { min: 1, max: 100, step: 1 }, 0),
          choices(
            "Activation",
            "activation",
            [
              ["none", "none"],
              ["tanh", "tanh"],
            ],
            "none",
            (value) => {
              this.tanh = value === "tanh";
              this.update();
            },
          ),
          choices(
            "Matrix",
            "matrix",
            data.matrices.map(({ name }, k) => [k, name]),
            0,
            (k) => {
              this.matrix = k;
              this.update();
            },
          ),
        ),
        el(
          "p",
          { class: "sc-legend", "aria-hidden": "true" },
          el("span", { class: "sc-forward" }, "● state, forward →"),
          el("span", { class: "sc-backward" }, "◆ gradient, ← back"),
        ),
        this.chart,
        this.live,
      ),
    );
    this.update();
  }

  slider(name, key, ends, digits) {
    const made = slider(
      name,
      { ...ends, name: key },
      (value) => {
        this[key] = value;
        made.show(value.toFixed(digits));
        this.update();
      },
      "sc-field",
    );
    made.show(this[key].toFixed(digits), this[key]);
    return made.field;
  }

  update() {
    const { states, gradients } = waves(
      this.data.matrices[this.matrix].W,
      this.data.start,
      this.radius,
      this.n,
      this.tanh,
    );
    this.chart.replaceChildren(
      ...this.axes(),
      ...this.line(states, "sc-forward", "circle"),
      ...this.line(gradients, "sc-backward", "path"),
    );
    const outside = [...states, ...gradients].some((v) => Math.abs(Math.log10(v)) > REACH);
    this.live.textContent =
      `After ${this.n} steps the state has length ` +
      `${format(states[this.n], 3)}, of ${format(states[0], 3)} at the start. ` +
      `The gradient that comes back to step 0 has length ${format(gradients[0], 3)}, of 1.` +
      (outside ? " What leaves the chart is drawn at its edge." : "");
  }

  xOf(t) {
    return LEFT + ((WIDTH - LEFT - 10) * t) / this.n;
  }

  axes() {
    const marks = [-8, -4, 0, 4, 8].flatMap((k) => [
      line([LEFT, yOf(10 ** k)], [WIDTH - 10, yOf(10 ** k)], "sc-grid"),
      text([LEFT - 6, yOf(10 ** k) + 4], power(k), null, "end"),
    ]);
    const steps = [...new Set([0, Math.round(this.n / 2), this.n])].map((t) =>
      text([this.xOf(t), HEIGHT - BOTTOM + 16], String(t), null, "middle"),
    );
    const name = svg(
      "text",
      {
        transform: `translate(11 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)`,
        "text-anchor": "middle",
      },
      "length (log scale)",
    );
    return [
      name,
      ...marks,
      ...steps,
      text([(LEFT + WIDTH) / 2, HEIGHT - 4], "step", null, "middle"),
    ];
  }

  line(lengths, name, shape) {
    const places = lengths.map((value, t) => [this.xOf(t), yOf(value)]);
    const every = Math.ceil(lengths.length / 20);
    const dots = places
      .filter((_, t) => t % every === 0 || t === this.n)
      .map(([x, y]) =>
        shape === "circle"
          ? svg("circle", { cx: x, cy: y, r: 2.6, class: `${name} sc-dot` })
          : svg("path", {
              d: `M ${x} ${y - 3.6} l 3.6 3.6 l -3.6 3.6 l -3.6 -3.6 z`,
              class: `${name} sc-dot`,
            }),
      );
    const points = places.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(" ");
    return [svg("polyline", { points, class: `${name} sc-line` }), ...dots];
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Sliders(root, data);
}
