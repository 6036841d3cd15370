// The patch cutter: one slider for the side of a patch, one that walks along the sequence.

import { controls, form, liveRegion, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { counted } from "../../kit/numbers.js";
import { patchify, placeOf, sidesFor } from "./maths.js";

const PICTURE = 448; // pixels of the drawing, whatever the image has
const STRIP = 9; // patches shown of the sequence, the chosen one in the middle
const NUMBERS = 4;

const count = (n) => n.toLocaleString("en-GB");

/** The image as a canvas with one pixel per pixel; numbers from 0 to 255. */
function canvasOf(image) {
  const [height, width] = [image[0].length, image[0][0].length];
  const canvas = el("canvas", { width, height });
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(width, height);
  const channel = (c) => image[Math.min(c, image.length - 1)];
  for (let p = 0; p < height * width; p += 1) {
    const [y, x] = placeOf(p, width);
    const colour = [0, 1, 2].map((c) => channel(c)[y][x]);
    pixels.data.set([...colour, 255], 4 * p);
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

class Cutter {
  constructor(root, { image, size }) {
    this.image = image;
    this.source = canvasOf(image);
    this.sides = sidesFor(this.source.height, this.source.width);
    this.build();
    root.append(this.form);
    this.sizer.input.value = this.sides.indexOf(size);
    this.cut();
  }

  build() {
    this.sizer = slider(
      "Side of a patch",
      { min: 0, max: this.sides.length - 1 },
      () => this.cut(),
      "pt-field",
    );
    this.walker = slider("", { min: 0, "aria-label": "Patch" }, () => this.walk(), "pt-field");
    const scale = PICTURE / Math.max(this.source.width, this.source.height);
    this.picture = el("canvas", {
      width: this.source.width * scale,
      height: this.source.height * scale,
      role: "img",
      class: "pt-picture",
    });
    this.strip = el("ol", { class: "pt-strip", "aria-hidden": "true" });
    this.line = liveRegion("pt-line");
    this.sums = el("p", { class: "pt-sums" });
    this.form = form(
      "pt-cutter",
      controls(this.sizer.field, this.walker.field),
      el(
        "div",
        { class: "pt-body" },
        this.picture,
        el(
          "div",
          { class: "pt-side" },
          this.sums,
          el("p", { class: "sl-label" }, "The sequence, around the chosen patch"),
          this.strip,
          this.line,
        ),
      ),
    );
  }

  /** Cut anew; the walk starts where it stood, as a share of the way. */
  cut() {
    const way = this.rows
      ? this.walker.input.valueAsNumber / Math.max(this.rows.length - 1, 1)
      : 0.4;
    this.size = this.sides[this.sizer.input.valueAsNumber];
    this.rows = patchify(this.image, this.size);
    this.columns = this.source.width / this.size;
    const down = this.rows.length / this.columns;
    this.walker.input.max = this.rows.length - 1;
    this.walker.input.value = Math.round(way * (this.rows.length - 1));
    this.walker.input.disabled = this.rows.length === 1;
    this.sizer.show(counted(this.size, "pixel"), undefined, `${this.size} pixels`);
    const n = this.rows.length;
    this.sums.replaceChildren(
      el("b", null, counted(n, "token")),
      ` = ${count(down)} × ${count(this.columns)} patches, each a row of `,
      el("b", null, count(this.rows[0].length)),
      ` numbers (${this.image.length} × ${this.size}²).` +
        ` If every token reads every token: ${counted(n * n, "pair")}.`,
    );
    this.picture.setAttribute(
      "aria-label",
      `The image, cut into ${count(n)} patches of ${this.size} by ${this.size} pixels`,
    );
    this.walk();
  }

  walk() {
    const i = this.walker.input.valueAsNumber;
    const [row, column] = placeOf(i, this.columns);
    this.walker.show(
      `Patch ${count(i)} of 0 to ${count(this.rows.length - 1)}`,
      i,
      `patch ${i}, row ${row}, column ${column}`,
    );
    const numbers = this.rows[i].slice(0, NUMBERS).map((value) => (value / 255).toFixed(2));
    const more = this.rows[i].length > NUMBERS ? " …" : "";
    this.line.textContent = `Patch ${i}: row ${row}, column ${column}. Its numbers: ${numbers.join(" ")}${more}`;
    this.draw(row, column);
    this.drawStrip(i);
  }

  /** The picture with a gap around each patch, and a frame around the chosen one. */
  draw(row, column) {
    const context = this.picture.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.clearRect(0, 0, this.picture.width, this.picture.height);
    const side = this.picture.width / this.columns;
    const gap = this.rows.length === 1 ? 0 : Math.max(1, Math.min(side / 8, 5));
    this.rows.forEach((_, i) => {
      const [y, x] = placeOf(i, this.columns);
      context.drawImage(
        this.source,
        x * this.size,
        y * this.size,
        this.size,
        this.size,
        x * side + gap / 2,
        y * side + gap / 2,
        side - gap,
        side - gap,
      );
    });
    const frame = (colour, width) => {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect(column * side + 1.5, row * side + 1.5, side - 3, side - 3);
    };
    frame("#fff", 6);
    frame("#b5450b", 3);
  }

  drawStrip(i) {
    const first = Math.max(0, Math.min(i - (STRIP - 1) / 2, this.rows.length - STRIP));
    const shown = [...this.rows.keys()].slice(first, first + STRIP);
    this.strip.replaceChildren(
      ...shown.map((place) => {
        const [row, column] = placeOf(place, this.columns);
        const patch = el("canvas", { width: this.size, height: this.size });
        patch.getContext("2d").drawImage(this.source, -column * this.size, -row * this.size);
        return el(
          "li",
          { class: place === i ? "pt-chosen" : null },
          patch,
          el("span", null, place),
        );
      }),
    );
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  return new Cutter(root, data);
}
