// The streaming simulator: window, sinks, and the token that is read; cache, weights, error.

import { button, controls, form, liveRegion, slider } from "../../kit/controls.js";
import { el, line, svg, text } from "../../kit/elements.js";
import { clamp, sum } from "../../kit/maths.js";
import { counted, format } from "../../kit/numbers.js";
import { errors, step } from "./maths.js";

const [WIDTH, HEIGHT, LEFT, BASE] = [400, 120, 34, 96];

class Simulator {
  constructor(root, data) {
    Object.assign(this, data);
    this.n = this.tokens.length;
    this.columns = this.tokens.map((token, j) => this.column(token, j));
    this.live = liveRegion("st-live");
    this.mean = el("p", { class: "st-mean" });
    this.chart = svg("svg", { class: "st-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    this.sliders = {};
    root.append(
      form(
        "st-form",
        controls(
          this.slider("width", "Window w", 1, this.n),
          this.slider("sinks", "Sinks s", 0, 4),
          this.slider("i", "Position read", 0, this.n - 1),
          el(
            "span",
            { class: "st-buttons" },
            button("Back", () => this.move(-1)),
            button("Next token", () => this.move(1)),
          ),
        ),
        el(
          "p",
          { class: "st-legend" },
          el("span", { class: "st-key st-sink" }, "■ sink"),
          el("span", { class: "st-key st-recent" }, "● recent"),
          el("span", { class: "st-key st-gone" }, "× evicted"),
          el(
            "span",
            { class: "st-key" },
            "frame: weight in full attention; filled: from the cache",
          ),
        ),
        el(
          "div",
          { class: "st-columns", "aria-hidden": "true" },
          this.columns.map(({ box }) => box),
        ),
        this.live,
        this.chart,
        this.mean,
      ),
    );
    this.update();
  }

  slider(key, name, min, max) {
    this.sliders[key] = slider(
      name,
      { name: key, min, max },
      (value) => this.set({ [key]: value }),
      "st-field",
    );
    return this.sliders[key].field;
  }

  set(change) {
    Object.assign(this, change);
    this.update();
  }

  move(by) {
    this.set({ i: clamp(this.i + by, 0, this.n - 1) });
  }

  column(token, j) {
    const full = el("i", { class: "st-full" });
    const weight = el("i", { class: "st-weight" });
    const mark = el("span", { class: "st-mark" });
    const box = el(
      "span",
      { class: "st-column" },
      el("span", { class: "st-bars" }, full, weight),
      el("span", { class: "st-token" }, token),
      mark,
    );
    return { j, full, weight, mark, box };
  }

  state(j, held) {
    if (j > this.i) return ["st-later", ""];
    if (!held.has(j)) return ["st-gone", "×"];
    return j < this.sinks ? ["st-sink", "■"] : ["st-recent", "●"];
  }

  update() {
    const now = step(this.scores, this.values, this.i, this.width, this.sinks);
    const held = new Set(now.positions);
    for (const { j, full, weight, mark, box } of this.columns) {
      const [state, sign] = this.state(j, held);
      box.className = `st-column ${state}${j === this.i ? " st-now" : ""}`;
      mark.textContent = sign;
      full.style.height = `${100 * (now.full[j] ?? 0)}%`;
      weight.style.height = `${100 * (now.weights[j] ?? 0)}%`;
    }
    for (const [key, { show }] of Object.entries(this.sliders)) {
      show(key === "i" ? `${this.i} (${this.tokens[this.i]})` : String(this[key]), this[key]);
    }
    this.say(now);
    this.draw(now);
  }

  say(now) {
    const gone = this.i + 1 - now.positions.length;
    const keys = counted(now.positions.length, "key");
    const left =
      gone === 0
        ? "None has left."
        : `The ${gone} evicted held ${(100 * now.lost).toFixed(0)}% of the weight.`;
    this.live.textContent =
      `Position ${this.i}, ${this.tokens[this.i]}: ${keys} in the cache. ` +
      `${left} Error: ${now.error.toFixed(2)}.`;
  }

  draw(now) {
    const all = errors(this.scores, this.values, this.width, this.sinks);
    const top = this.top;
    const x = (i) => LEFT + ((WIDTH - LEFT - 8) * i) / (this.n - 1);
    const y = (error) => BASE - (BASE - 14) * Math.min(1, error / top);
    const mean = sum(all) / this.n;
    const points = all.map((error, i) => `${x(i)},${y(error)}`).join(" ");
    const note = (at, words, anchor) => text(at, words, "st-text", anchor);
    this.chart.replaceChildren(
      line([LEFT, BASE], [WIDTH - 8, BASE], "st-axis"),
      line([LEFT, 14], [LEFT, BASE], "st-axis"),
      note([LEFT - 4, BASE + 1], "0", "end"),
      note([LEFT - 4, 20], format(top, 2), "end"),
      note([LEFT, HEIGHT - 8], "position 0", "start"),
      note([WIDTH - 8, HEIGHT - 8], String(this.n - 1), "end"),
      note([LEFT + 6, 11], "error", "start"),
      svg("polyline", { points, class: "st-line" }),
      ...all.map((error, i) => svg("circle", { cx: x(i), cy: y(error), r: 2, class: "st-dot" })),
      svg("circle", { cx: x(this.i), cy: y(now.error), r: 5, class: "st-here" }),
    );
    this.chart.setAttribute(
      "aria-label",
      `Error at each position; at ${this.i} it is ${now.error.toFixed(2)}, on average ${mean.toFixed(2)}`,
    );
    this.mean.textContent =
      `Error is the distance from what full attention reads; ` +
      `on average over all ${this.n} positions: ${mean.toFixed(2)}, ` +
      `with a cache of at most ${Math.min(this.n, this.width + this.sinks)} keys.`;
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Simulator(root, data);
}
