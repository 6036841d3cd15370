// The streaming simulator: window, sinks, and the token that is read; cache, weights, error.

import { el, svg } from "../../kit/elements.js";
import { format } from "../../kit/numbers.js";
import { errors, step } from "./maths.js";

const WIDTH = 400, HEIGHT = 120, LEFT = 34, BASE = 96;

class Simulator {
  constructor(root, data) {
    Object.assign(this, data);
    this.n = this.tokens.length;
    this.columns = this.tokens.map((token, j) => this.column(token, j));
    this.live = liveRegion("st-live");
    this.mean = el("p", {class: "st-mean"});
    this.chart = svg("svg", {class: "st-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img"});
    this.sliders = {};
    root.append(form("st-form",
      controls(
        this.slider("width", "Window w", 1, this.n), this.slider("sinks", "Sinks s", 0, 4),
        this.slider("i", "Position read", 0, this.n - 1),
        el("span", {class: "st-buttons"}, this.button("Back", -1), this.button("Next token", 1))),
      el("p", {class: "st-legend"},
        el("span", {class: "st-key st-sink"}, "■ sink"), el("span", {class: "st-key st-recent"}, "● recent"),
        el("span", {class: "st-key st-gone"}, "× evicted"),
        el("span", {class: "st-key"}, "frame: weight in full attention; filled: from the cache")),
      el("div", {class: "st-columns", "aria-hidden": "true"}, this.columns.map(({box}) => box)),
      this.live, this.chart, this.mean));
    this.update();
  }

  slider(key, text, min, max) {
    const number = el("output", {class: "st-number"});
    const input = el("input", {type: "range", min, max, step: 1, value: this[key], name: key,
      class: "st-slider", oninput: () => {
        this[key] = input.valueAsNumber;
        this.update();
      }});
    this.sliders[key] = {input, number};
    return el("label", {class: "sl-field st-field"},
      label( `${text}: `, number), input);
  }

  button(text, by) {
    return el("button", {type: "button", class: "sl-button", onclick: () => {
      this.i = Math.min(this.n - 1, Math.max(0, this.i + by));
      this.update();
    }}, text);
  }

  column(token, j) {
    const full = el("i", {class: "st-full"}), weight = el("i", {class: "st-weight"});
    const mark = el("span", {class: "st-mark"});
    const box = el("span", {class: "st-column"}, el("span", {class: "st-bars"}, full, weight),
      el("span", {class: "st-token"}, token), mark);
    return {j, full, weight, mark, box};
  }

  state(j, held) {
    if (j > this.i) return ["st-later", ""];
    if (!held.has(j)) return ["st-gone", "×"];
    return j < this.sinks ? ["st-sink", "■"] : ["st-recent", "●"];
  }

  update() {
    const now = step(this.scores, this.values, this.i, this.width, this.sinks);
    const held = new Set(now.positions);
    for (const {j, full, weight, mark, box} of this.columns) {
      const [state, sign] = this.state(j, held);
      box.className = `st-column ${state}${j === this.i ? " st-now" : ""}`;
      mark.textContent = sign;
      full.style.height = `${100 * (now.full[j] ?? 0)}%`;
      weight.style.height = `${100 * (now.weights[j] ?? 0)}%`;
    }
    for (const [key, {input, number}] of Object.entries(this.sliders)) {
      input.value = this[key];
      const text = key === "i" ? `${this.i} (${this.tokens[this.i]})` : String(this[key]);
      number.textContent = text;
      input.setAttribute("aria-valuetext", text);
    }
    this.say(now);
    this.draw(now);
  }

  say(now) {
    const many = now.positions.length, gone = this.i + 1 - many;
    const keys = many === 1 ? "1 key" : `${many} keys`;
    const left = gone === 0 ? "None has left."
      : `The ${gone} evicted held ${(100 * now.lost).toFixed(0)}% of the weight.`;
    this.live.textContent = `Position ${this.i}, ${this.tokens[this.i]}: ${keys} in the cache. `
      + `${left} Error: ${now.error.toFixed(2)}.`;
  }

  draw(now) {
    const all = errors(this.scores, this.values, this.width, this.sinks);
    const top = this.top;
    const x = (i) => LEFT + ((WIDTH - LEFT - 8) * i) / (this.n - 1);
    const y = (error) => BASE - (BASE - 14) * Math.min(1, error / top);
    const mean = all.reduce((a, b) => a + b, 0) / this.n;
    const line = all.map((error, i) => `${x(i)},${y(error)}`).join(" ");
    const text = (at, height, words, anchor) => svg("text",
      {x: at, y: height, class: "st-text", "text-anchor": anchor}, words);
    this.chart.replaceChildren(
      svg("line", {x1: LEFT, x2: WIDTH - 8, y1: BASE, y2: BASE, class: "st-axis"}),
      svg("line", {x1: LEFT, x2: LEFT, y1: 14, y2: BASE, class: "st-axis"}),
      text(LEFT - 4, BASE + 1, "0", "end"), text(LEFT - 4, 20, format(top, 2), "end"),
      text(LEFT, HEIGHT - 8, "position 0", "start"),
      text(WIDTH - 8, HEIGHT - 8, String(this.n - 1), "end"), text(LEFT + 6, 11, "error", "start"),
      svg("polyline", {points: line, class: "st-line"}),
      all.map((error, i) => svg("circle", {cx: x(i), cy: y(error), r: 2, class: "st-dot"})),
      svg("circle", {cx: x(this.i), cy: y(now.error), r: 5, class: "st-here"}));
    this.chart.setAttribute("aria-label",
      `Error at each position; at ${this.i} it is ${now.error.toFixed(2)}, on average ${mean.toFixed(2)}`);
    this.mean.textContent = `Error is the distance from what full attention reads; `
      + `on average over all ${this.n} positions: ${mean.toFixed(2)}, `
      + `with a cache of at most ${Math.min(this.n, this.width + this.sinks)} keys.`;
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Simulator(root, data);
}
