// The information flow: layer by layer in the encoder, then word by word in the decoder.

import { button, controls, form, liveRegion, slider } from "../../kit/controls.js";
import { el, line, svg, text } from "../../kit/elements.js";
import { scroller } from "../../kit/table.js";

const [COLUMN, LEVEL, LEFT, TOP, BOTTOM, GAP] = [46, 66, 30, 62, 44, 18];
const LEAST = 0.03; // a weaker line is not drawn
const PAUSE = 1300;

/** Places of the strongest weight of a row. */
const strongest = (row) => row.indexOf(Math.max(...row));

/** Who reads whom in a frame: the sentence that tells it. */
function told({ source, target, encoder, cross, own }, frame) {
  const layers = encoder.length;
  if (frame < layers) {
    const weights = encoder[frame].map((row) => Math.max(...row));
    const i = strongest(weights);
    const j = strongest(encoder[frame][i]);
    return (
      `Encoder, layer ${frame + 1} of ${layers}: all words read at once. The strongest line: ` +
      `“${source[i]}” reads “${source[j]}”, ${weights[i].toFixed(2)}.`
    );
  }
  const t = frame - layers;
  const inputs = ["the start", ...target].slice(0, t + 1);
  const [j, k] = [strongest(cross[t]), strongest(own[t].slice(0, t + 1))];
  const before =
    t === 0
      ? "Nothing is written yet but the start"
      : `Of what is written it reads mostly ${k ? `“${inputs[k]}”` : inputs[k]}, ${own[t][k].toFixed(2)}`;
  return (
    `Decoder, step ${t + 1} of ${target.length}: it writes “${target[t]}”. Of the source it ` +
    `reads mostly “${source[j]}”, ${cross[t][j].toFixed(2)}. ${before}.`
  );
}

class Flow {
  constructor(root, data) {
    Object.assign(this, { data, frame: 0, timer: null });
    this.n = data.source.length;
    this.layers = data.encoder.length;
    this.frames = this.layers + data.target.length;
    const columns = this.n + data.target.length;
    this.width = 2 * LEFT + GAP + COLUMN * (columns - 1);
    this.height = TOP + BOTTOM + LEVEL * (this.layers + 1); // the decoder stands one higher
    this.picture = svg("svg", {
      class: "if-picture",
      viewBox: `0 0 ${this.width} ${this.height}`,
      role: "img",
      "aria-label": "Dots for words, one row for each layer; lines lead to what each reads",
    });
    this.picture.style.minWidth = `${Math.min(this.width, 30 * columns + 40)}px`;
    this.live = liveRegion("if-live");
    root.append(form("if-flow", this.controls(), this.live, scroller("The layers", this.picture)));
    this.show(0);
  }

  controls() {
    this.back = button("Back", () => this.go(this.frame - 1));
    this.next = button("Next", () => this.go(this.frame + 1));
    this.player = button("Play", () => this.play());
    this.slider = slider(
      "Frame",
      { name: "frame", min: 1, max: this.frames, value: 1 },
      (frame) => this.go(frame - 1),
      "if-field",
    );
    return controls(
      el("div", { class: "if-buttons" }, this.back, this.next, this.player),
      this.slider.field,
    );
  }

  /** A step asked for by hand also ends the playing. */
  go(frame) {
    this.pause();
    this.show(frame);
  }

  play() {
    if (this.timer) {
      this.pause();
      return;
    }
    if (this.frame === this.frames - 1) this.show(0);
    this.player.textContent = "Pause";
    this.timer = setInterval(() => {
      this.show(this.frame + 1);
      if (this.frame === this.frames - 1) this.pause();
    }, PAUSE);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.player.textContent = "Play";
  }

  show(frame) {
    this.frame = Math.min(Math.max(frame, 0), this.frames - 1);
    this.back.disabled = this.frame === 0;
    this.next.disabled = this.frame === this.frames - 1;
    this.slider.show(`${this.frame + 1} of ${this.frames}`, this.frame + 1);
    this.live.textContent = told(this.data, this.frame);
    this.picture.replaceChildren(...this.lines(), ...this.dots(), ...this.labels());
  }

  sourceX(i) {
    return LEFT + COLUMN * i;
  }

  targetX(t) {
    return LEFT + GAP + COLUMN * (this.n + t);
  }

  levelY(level) {
    return this.height - BOTTOM - LEVEL * level;
  }

  lines() {
    const { encoder, cross, own, target } = this.data;
    const layers = this.layers;
    const [top, written] = [this.levelY(layers), this.levelY(layers + 1)];
    const found = encoder.flatMap((weights, k) =>
      k > this.frame
        ? []
        : weights.flatMap((row, i) =>
            row.map((weight, j) => [
              weight,
              this.sourceX(j),
              this.levelY(k),
              this.sourceX(i),
              this.levelY(k + 1),
              k === this.frame,
              "if-encoder",
            ]),
          ),
    );
    target.forEach((_, t) => {
      if (layers + t > this.frame) return;
      const now = layers + t === this.frame;
      cross[t].forEach((weight, j) =>
        found.push([weight, this.sourceX(j), top, this.targetX(t), written, now, "if-cross"]),
      );
      own[t]
        .slice(0, t + 1)
        .forEach((weight, j) =>
          found.push([
            weight,
            this.targetX(j),
            this.levelY(0),
            this.targetX(t),
            written,
            now,
            "if-own",
          ]),
        );
    });
    return found.filter(([weight]) => weight >= LEAST).map((line) => this.line(...line));
  }

  line(weight, x1, y1, x2, y2, now, kind) {
    return line([x1, y1], [x2, y2], `if-line ${kind}${now ? " if-now" : ""}`, {
      "stroke-width": (0.6 + 6 * weight).toFixed(2),
      "stroke-opacity": (now ? 0.35 + 0.65 * weight : 0.1 + 0.25 * weight).toFixed(2),
    });
  }

  dots() {
    const t = this.frame - this.layers; // the decoder's step; negative in the encoder
    const found = [];
    for (let level = 0; level <= this.layers; level += 1) {
      for (let i = 0; i < this.n; i += 1) {
        found.push([this.sourceX(i), this.levelY(level), level <= this.frame + 1]);
      }
    }
    this.data.target.forEach((_, k) => {
      const x = this.targetX(k);
      found.push([x, this.levelY(0), k <= t], [x, this.levelY(this.layers + 1), k <= t]);
    });
    return found.map(([cx, cy, done]) =>
      svg("circle", { cx, cy, r: 5, class: done ? "if-dot" : "if-dot if-empty" }),
    );
  }

  labels() {
    const t = this.frame - this.layers;
    const centred = (x, y, words, name = "") => text([x, y], words, name, "middle");
    const [up, down] = [this.levelY(this.layers + 1), this.levelY(0)];
    const words = this.data.source.map((word, i) =>
      centred(this.sourceX(i), down + 20 + 15 * (i % 2), word),
    );
    this.data.target.forEach((word, k) => {
      if (k <= t) {
        const input = k ? this.data.target[k - 1] : "start";
        words.push(centred(this.targetX(k), down + 20 + 15 * (k % 2), input, "if-input"));
        words.push(centred(this.targetX(k), up - 11 - 15 * (k % 2), word, "if-written"));
      }
    });
    const middle = this.targetX((this.data.target.length - 1) / 2);
    const halves = [
      centred(this.sourceX((this.n - 1) / 2), this.levelY(this.layers) - 22, "encoder", "if-half"),
      centred(middle, up - 44, "decoder", "if-half"), // above what it writes
    ];
    return [...words, ...halves];
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Flow(root, data);
}
