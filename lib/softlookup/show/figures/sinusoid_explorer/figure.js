// The sinusoid explorer: four columns of the codes as curves, four positions, and their table.

import { choices, controls, form, liveRegion, slider } from "../../kit/controls.js";
import { el, line, svg, text } from "../../kit/elements.js";
import { fixed, format } from "../../kit/numbers.js";
import { agrees, codeOf, frequencies, periodOf } from "./maths.js";

const [WIDTH, LEFT, RIGHT, TOP, PANEL, GAP, BOTTOM] = [340, 26, 8, 64, 84, 26, 32];
const HEIGHT = TOP + 2 * PANEL + GAP + BOTTOM;
const BASES = [2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];
const MOST = 512; // columns
const SHAPES = [
  // each fits in a box of 9 by 9 around (0, 0)
  () => svg("circle", { r: 3.8 }),
  () => svg("rect", { x: -3.4, y: -3.4, width: 6.8, height: 6.8 }),
  () => svg("path", { d: "M 0 -4.8 L 4.8 0 L 0 4.8 L -4.8 0 z" }),
  () => svg("path", { d: "M 0 -4.6 L 4.4 3.4 L -4.4 3.4 z" }),
];

const thousands = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

class Explorer {
  constructor(root, { tables, longest }) {
    Object.assign(this, { tables, longest, sliders: {} });
    this.chart = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: "se-chart",
      role: "img",
      "aria-label": "Four columns of the codes over the positions, with four positions marked",
    });
    this.table = el("table", { class: "se-table" });
    this.live = liveRegion();
    const positions = [0, 1, 2, 3].map((k) =>
      this.slider(
        `p${k}`,
        { min: 0, max: longest, step: 1 },
        (value) => {
          this.positions[k] = value;
        },
        k,
      ),
    );
    root.append(
      form(
        "se-explorer",
        controls(
          choices(
            "From lecture 003",
            "table",
            tables.map(({ name }, k) => [k, name]),
            0,
            (k) => this.open(k),
          ),
        ),
        controls(
          this.slider("Width d", { min: 4, max: MOST, step: 2 }, (value) => {
            this.d = value;
            this.first = Math.min(this.first, value - 4);
          }),
          this.slider("Base", { min: 0, max: BASES.length - 1, step: 1 }, (value) => {
            this.base = BASES[value];
          }),
          this.slider("Columns", { min: 0, max: MOST - 4, step: 2 }, (value) => {
            this.first = value;
          }),
        ),
        el(
          "div",
          { class: "se-both" },
          el("div", { class: "se-left" }, this.legend(), this.chart),
          el(
            "div",
            { class: "se-right" },
            el(
              "div",
              { class: "se-positions", role: "group", "aria-label": "Positions" },
              positions,
            ),
            el("div", { class: "sl-scroll" }, this.table),
          ),
        ),
        this.live,
      ),
    );
    this.open(0);
  }

  slider(name, ends, change, mark) {
    const made = slider(
      name,
      ends,
      (value) => {
        change(value);
        this.update();
      },
      "se-field",
    );
    this.sliders[name] = made;
    if (mark !== undefined) made.field.firstChild.prepend(this.mark(mark));
    return made.field;
  }

  mark(k) {
    return svg(
      "svg",
      { class: "se-mark", viewBox: "-6 -6 12 12", "aria-hidden": "true" },
      SHAPES[k](),
    );
  }

  legend() {
    const sample = (kind) =>
      svg(
        "svg",
        { class: "se-key", viewBox: "0 0 26 10", "aria-hidden": "true" },
        line([0, 5], [26, 5], `se-curve ${kind}`),
      );
    return el(
      "p",
      { class: "se-legend" },
      el("span", null, sample("se-sine"), " sine, the even column"),
      el("span", null, sample("se-cosine"), " cosine, the odd one"),
    );
  }

  /** Set all as one of the slide's pictures has it. */
  open(k) {
    const { d, base, first, positions } = this.tables[k];
    Object.assign(this, { k, d, base, first, positions: [...positions] });
    this.update();
  }

  update() {
    const codes = this.positions.map((t) =>
      codeOf(t, this.d, this.base).slice(this.first, this.first + 4),
    );
    this.show(codes);
    this.draw(codes);
    this.tell(codes);
  }

  show() {
    const { sliders, d, base, first } = this;
    sliders["Width d"].show(String(d), d);
    sliders.Base.show(thousands(base), BASES.indexOf(base));
    sliders.Columns.input.max = d - 4;
    sliders.Columns.show(`${first} to ${first + 3}`, first);
    this.positions.forEach((t, k) => sliders[`p${k}`].show(String(t), t));
  }

  xOf(t) {
    return LEFT + ((WIDTH - LEFT - RIGHT) * t) / this.longest;
  }

  draw(codes) {
    const omega = frequencies(this.d, this.base);
    const marks = this.positions.map((t, k) =>
      svg(
        "g",
        { class: "se-position" },
        line([this.xOf(t), 10 + 11 * k], [this.xOf(t), HEIGHT - BOTTOM]),
        this.flag(t, k),
      ),
    );
    const panels = [0, 1].flatMap((row) => {
      const pair = this.first / 2 + row;
      const yOf = (value) => TOP + row * (PANEL + GAP) + (PANEL * (1 - value)) / 2;
      const curve = (f, kind) =>
        svg("polyline", {
          class: `se-curve ${kind}`,
          points: this.samples(omega[pair])
            .map((t) => `${this.xOf(t).toFixed(2)},${yOf(f(omega[pair] * t)).toFixed(2)}`)
            .join(" "),
        });
      const dots = codes.flatMap((code, k) =>
        [0, 1].map((c) =>
          svg(
            "g",
            {
              class: c ? "se-dot se-cosine" : "se-dot se-sine",
              transform: `translate(${this.xOf(this.positions[k])} ${yOf(code[2 * row + c])})`,
            },
            SHAPES[k](),
          ),
        ),
      );
      return [
        ...this.axes(yOf, pair),
        curve(Math.sin, "se-sine"),
        curve(Math.cos, "se-cosine"),
        ...dots,
      ];
    });
    const ticks = [0, 10, 20, 30, 40, 50]
      .filter((t) => t <= this.longest)
      .map((t) => text([this.xOf(t), HEIGHT - BOTTOM + 15], String(t), null, "middle"));
    this.chart.replaceChildren(
      ...marks,
      ...panels,
      ...ticks,
      text([(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 3], "position t", null, "middle"),
    );
  }

  /** The name of a position, each on a line of its own, so that neighbours do not collide. */
  flag(t, k) {
    const end = this.xOf(t) > WIDTH - 30;
    return text([this.xOf(t) + (end ? -3 : 3), 12 + 11 * k], `p${k}`, null, end ? "end" : "start");
  }

  samples(omega) {
    const n = Math.min(Math.max(120, Math.ceil((40 * omega * this.longest) / (2 * Math.PI))), 400);
    return Array.from({ length: n + 1 }, (_, k) => (this.longest * k) / n);
  }

  axes(yOf, pair) {
    const lines = [1, 0, -1].flatMap((value) => [
      line([LEFT, yOf(value)], [WIDTH - RIGHT, yOf(value)], "se-grid"),
      text([LEFT - 5, yOf(value) + 4], value < 0 ? "−1" : String(value), null, "end"),
    ]);
    const name = `columns ${2 * pair} and ${2 * pair + 1}: pair ${pair}`;
    return [...lines, text([WIDTH - RIGHT, yOf(1) - 7], name, "se-name", "end")];
  }

  tell(codes) {
    const { printed, digits } = this.tables[this.k];
    const head = el(
      "tr",
      null,
      el("td", null),
      [0, 1, 2, 3].map((k) => el("th", { scope: "col" }, this.mark(k), `p${k}`)),
    );
    let hits = 0;
    const rows = [0, 1, 2, 3].map((c) => {
      const column = this.first + c;
      const cells = codes.map((code, k) => {
        if (!printed) return el("td", null, fixed(code[c], digits));
        const hit = agrees(code[c], printed[c][k], digits);
        hits += hit;
        return el(
          "td",
          { class: hit ? "se-hit" : null },
          fixed(code[c], digits),
          el(
            "span",
            { class: "se-slide" },
            el("span", { class: "se-said" }, hit ? "slide, equal: " : "slide: "),
            `${fixed(printed[c][k], digits)} `,
            el("span", { "aria-hidden": "true" }, hit ? "✓" : "·"),
          ),
        );
      });
      return el(
        "tr",
        null,
        el(
          "th",
          { scope: "row" },
          String(column),
          el("span", { class: "se-slide" }, c % 2 ? "cosine" : "sine"),
        ),
        cells,
      );
    });
    this.table.replaceChildren(
      el(
        "caption",
        null,
        printed ? "The four codes; below each number the slide’s" : "The four codes",
      ),
      el("thead", null, head),
      el("tbody", null, rows),
    );
    const periods = [0, 1]
      .map((row) => this.first / 2 + row)
      .map(
        (pair) => `pair ${pair} every ${this.length(periodOf(pair, this.d, this.base))} positions`,
      );
    const verdict = printed ? ` ${hits} of the slide’s 16 numbers agree.` : "";
    this.live.textContent = `It repeats: ${periods.join(", ")}.${verdict}`;
  }

  length(period) {
    return period < 1000 ? format(period, 4) : thousands(Math.round(period));
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Explorer(root, data);
}
