// The rotation dial: one clock hand a pair, and a shift of position as a turn of each hand.

import { choices, controls, form, liveRegion, slider } from "../../kit/controls.js";
import { el, line, svg } from "../../kit/elements.js";
import { range } from "../../kit/maths.js";
import { fixed, format } from "../../kit/numbers.js";
import { hands } from "./maths.js";

const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
const REACH = 1.2; // half the side of a dial whose circle has radius 1

class Dial {
  constructor(root, { d, base, t, offset, longest }) {
    Object.assign(this, { d, base, t, offset, slide: false, sliders: {} });
    this.faces = range(d / 2).map((i) => {
      const picture = svg("svg", {
        class: "rd-face",
        role: "img",
        viewBox: `${-REACH} ${-REACH} ${2 * REACH} ${2 * REACH}`,
      });
      const notes = el("p", { class: "rd-notes" });
      return {
        picture,
        notes,
        box: el(
          "div",
          { class: "rd-dial" },
          el("p", { class: "rd-title" }, `Pair ${i}`),
          picture,
          notes,
        ),
      };
    });
    this.live = liveRegion("rd-live");
    root.append(
      form(
        "rd-rotation",
        controls(
          this.slider("Position t", "t", { min: 0, max: longest, step: 1 }),
          this.slider("Offset Δ", "offset", { min: -longest, max: longest, step: 1 }),
        ),
        controls(
          choices(
            "Turn each hand by",
            "turn",
            [
              ["own", "its own angle ωᵢΔ"],
              ["slide", "Δ, as the slide prints"],
            ],
            "own",
            (value) => {
              this.slide = value === "slide";
              this.update();
            },
          ),
        ),
        this.legend(),
        el(
          "div",
          { class: "rd-dials" },
          this.faces.map(({ box }) => box),
        ),
        this.live,
      ),
    );
    this.update();
  }

  slider(name, key, ends) {
    this.sliders[key] = slider(
      name,
      { ...ends, value: this[key] },
      (value) => {
        this[key] = value;
        this.update();
      },
      "rd-field",
    );
    return this.sliders[key].field;
  }

  legend() {
    const key = (part) =>
      svg("svg", { class: "rd-key", viewBox: "-13 -5 26 10", "aria-hidden": "true" }, part);
    const hand = (kind) => key(line([-13, 0], [13, 0], kind));
    return el(
      "p",
      { class: "rd-legend" },
      el("span", null, hand("rd-before"), " PE(t)"),
      el("span", null, hand("rd-moved"), " after the turn"),
      el("span", null, key(svg("circle", { r: 3.6, class: "rd-target" })), " PE(t + Δ)"),
    );
  }

  update() {
    const found = hands(this.t, this.offset, this.d, this.base, this.slide);
    this.sliders.t.show(String(this.t));
    this.sliders.offset.show(format(this.offset));
    found.forEach((hand, i) => this.draw(this.faces[i], hand, i));
    const missing = found.filter(({ miss }) => miss > 1e-9);
    const [from, to] = [`PE(${this.t})`, `PE(${format(this.t + this.offset)})`];
    const largest = Math.max(...missing.map(({ miss }) => miss));
    this.live.textContent =
      missing.length === 0
        ? `R(${format(this.offset)}) ${from} = ${to}: every hand lands on its ring.`
        : `${missing.length} of ${found.length} hands miss ${to}, the worst by ${fixed(largest, 3)}.`;
  }

  draw({ picture, notes }, { omega, angle, before, moved, target, miss }, i) {
    const at = ([sine, cosine], radius = 1) => [radius * sine, -radius * cosine];
    const hand = (to, name) => line([0, 0], at(to), name);
    const dot = (to, name, r) => {
      const [cx, cy] = at(to);
      return svg("circle", { cx, cy, r, class: name });
    };
    const ticks = range(12).map((k) => {
      const hour = [Math.sin((k * Math.PI) / 6), Math.cos((k * Math.PI) / 6)];
      return line(at(hour, 0.92), at(hour), "rd-tick");
    });
    picture.replaceChildren(
      svg("circle", { r: 1, class: "rd-circle" }),
      ...ticks,
      this.arc(before, angle),
      hand(before, "rd-before"),
      hand(moved, "rd-moved"),
      dot(moved, "rd-tip", 0.07),
      dot(target, "rd-target", 0.16),
    );
    picture.setAttribute(
      "aria-label",
      `Pair ${i}: the hand turns by ${fixed(angle, 3)} radians ` +
        (miss > 1e-9 ? `and misses by ${fixed(miss, 3)}` : "and lands on its ring"),
    );
    const name = `ω${[...String(i)].map((digit) => SUBSCRIPTS[digit]).join("")}`;
    notes.replaceChildren(
      el("span", null, `${name} = ${format(omega, 4)}`),
      el("span", null, `turn ${fixed(angle, 3)} rad`),
      el(
        "span",
        { class: miss > 1e-9 ? "sl-flag" : "rd-ok" },
        miss > 1e-9 ? `misses by ${fixed(miss, 3)}` : "hits",
      ),
    );
  }

  /** The way of the turn: a spiral, so that more than one round can be seen. */
  arc([sine, cosine], angle) {
    const start = Math.atan2(sine, cosine);
    const n = Math.max(2, Math.ceil(Math.abs(angle) / 0.1));
    const rounds = Math.abs(angle) / (2 * Math.PI);
    const points = range(n + 1).map((k) => {
      const radius = 0.34 + 0.46 * (k / n) * Math.min(1, rounds / 2);
      const at = start + (angle * k) / n;
      return `${(radius * Math.sin(at)).toFixed(4)},${(-radius * Math.cos(at)).toFixed(4)}`;
    });
    return svg("polyline", { points: points.join(" "), class: "rd-arc" });
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Dial(root, data);
}
