// The soft lookup: a query among keys in the plane, to drag; weights and answer follow at once.

import { button, liveRegion, say, slider } from "../../kit/controls.js";
import { handle, pointed } from "../../kit/drag.js";
import { el, line, svg, text } from "../../kit/elements.js";
import { clamp, range } from "../../kit/maths.js";
import { format, listed } from "../../kit/numbers.js";
import { lookup, temperatureOf } from "./maths.js";

const UNIT = 100; // of the picture, for 1 in the plane
const BEAM = { left: 40, right: 460, top: 78, thick: 12, largest: 30 };
const PIXELS = 50; // of the shade, for 1 in the plane
const WARM = [230, 159, 0];
const PLACES = [
  [0, "Hard: one key"],
  [50, "Softmax"],
  [100, "All alike"],
];

const one = (value) => format(Number(value.toFixed(1)), 4);
const two = (weight) => weight.toFixed(2);
const opacity = (value) => 0.03 + 0.042 * value;

/** Weights times values, with as many digits as a pencil needs to get the rounded answer. */
function sumOf(weights, values, answer) {
  const parts = (digits) =>
    values.map((value, j) => [weights[j].toFixed(digits), Number(value.toFixed(1))]);
  const adds = (digits) => {
    const sum = parts(digits).reduce((before, [weight, value]) => before + weight * value, 0);
    return Math.abs(sum - Number(answer.toFixed(1))) < 0.0499; // a half rounds up, or down
  };
  const digits = [2, 3, 4, 5].find(adds) ?? 6;
  return parts(digits)
    .map(([weight, value]) => `${weight} × ${one(value)}`)
    .join(" + ");
}

/** The finding in one sentence, from the words, the weights and the answer. */
function sentence({ words, reader, quality }, { weights, answer }, temperature) {
  const most = Math.max(...weights);
  const best = words.filter((_, j) => weights[j] === most);
  const found = `${quality} ${one(answer)}.`;
  if (temperature === 0) return `${reader} takes all of ${best[0]}, nothing else: ${found}`;
  if (best.length === words.length && best.length > 1) {
    return `${reader} takes from ${listed(best)} alike (${two(most)} each): ${found}`;
  }
  const share = best.length > 1 ? `${two(most)} each` : two(most);
  return `${reader} is most like ${listed(best)} (${share}): ${found}`;
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  const { words, values, reader, quality, axes, x, y } = data;
  const [width, height] = [UNIT * (x[1] - x[0]), UNIT * (y[1] - y[0])];
  const at = ([a, b]) => [UNIT * (a - x[0]), UNIT * (y[1] - b)];
  const start = () => ({ place: 50, points: [data.query, ...data.keys] });
  const state = start();
  let painted = null;
  const names = [reader, ...words];

  // The plane -----------------------------------------------------------------------------------
  const shade = el("canvas", {
    class: "so-shade",
    width: PIXELS * (x[1] - x[0]),
    height: PIXELS * (y[1] - y[0]),
    "aria-hidden": "true",
  });
  const plane = svg("svg", {
    class: "so-plane",
    viewBox: `0 0 ${width} ${height}`,
    role: "group",
    "aria-label": `${reader} and ${listed(words)} in the plane, to move`,
  });
  const [zx, zy] = at([0, 0]);
  const back = svg(
    "g",
    { "aria-hidden": "true" },
    line([0, zy], [width, zy], "so-axis"),
    line([zx, 0], [zx, height], "so-axis"),
    text([width - 8, zy + 22], `${axes[0]} →`, "so-tick", "end"),
    text([zx + 8, 20], `↑ ${axes[1]}`, "so-tick"),
  );
  const beams = words.map(() => svg("line", { class: "so-line" }));
  const labels = names.map((_, k) => svg("text", { class: k ? "so-word" : "so-word so-asks" }));
  const handles = names.map(grip);
  plane.append(
    back,
    svg("g", { "aria-hidden": "true" }, beams),
    ...handles,
    svg("g", { "aria-hidden": "true", class: "so-words" }, labels),
  );

  function place(k, point) {
    const inside = [clamp(point[0], ...x), clamp(point[1], ...y)];
    const tidy = inside.map((c) => Number(c.toFixed(2)) + 0);
    state.points = state.points.map((old, j) => (j === k ? tidy : old));
    update();
  }

  /** Where the pointer is, in the plane. */
  function placeOf(event) {
    const [right, down] = pointed(event, plane);
    return [x[0] + (x[1] - x[0]) * right, y[1] - (y[1] - y[0]) * down];
  }

  function nearest(point) {
    const far = state.points.map((other) => Math.hypot(other[0] - point[0], other[1] - point[1]));
    return far.indexOf(Math.min(...far));
  }

  function grip(name, k) {
    let taken = k;
    return handle(
      {
        name: k ? "" : "so-query",
        reach: 25,
        "aria-roledescription": k ? "key" : "query",
        "aria-label": `${name}, arrow keys move it`,
        "aria-valuemin": x[0],
        "aria-valuemax": x[1],
        moves: {
          grab: (event) => {
            taken = nearest(placeOf(event));
          }, // reaches may overlap
          drag: (event) => place(taken, placeOf(event)),
          step: (by) =>
            place(
              k,
              state.points[k].map((value, c) => value + by[c]),
            ),
        },
      },
      svg("circle", { r: k ? 7 : 11, class: "so-dot" }),
    );
  }

  /** The answer for a query at each place of the plane, as a shade: the query moves over it. */
  function paint(keys, temperature) {
    const now = [...keys.flat(), temperature].join();
    if (now === painted) return;
    painted = now;
    const pen = shade.getContext("2d");
    const image = pen.createImageData(shade.width, shade.height);
    for (let row = 0, i = 0; row < shade.height; row += 1) {
      for (let column = 0; column < shade.width; column += 1, i += 4) {
        const query = [x[0] + (column + 0.5) / PIXELS, y[1] - (row + 0.5) / PIXELS];
        const { answer } = lookup(query, keys, values, temperature);
        image.data.set([...WARM, 255 * opacity(answer)], i);
      }
    }
    pen.putImageData(image, 0, 0);
  }

  function drawPlane(keys, { weights, answer }) {
    const [query, ...ends] = state.points.map(at);
    beams.forEach((one, j) => {
      const [[x1, y1], [x2, y2]] = [query, ends[j]];
      Object.entries({ x1, y1, x2, y2 }).forEach(([key, value]) => one.setAttribute(key, value));
      one.style.strokeWidth = 1 + 15 * weights[j];
      one.classList.toggle("so-none", weights[j] < 0.005);
    });
    [query, ...ends].forEach(([px, py], k) => {
      handles[k].setAttribute("transform", `translate(${px} ${py})`);
      handles[k].setAttribute("aria-valuenow", state.points[k][0]);
      const where = axes.map((axis, c) => `${axis} ${format(state.points[k][c], 3)}`).join(", ");
      handles[k].setAttribute("aria-valuetext", where);
      const left = k ? px < query[0] : px > width / 2; // away from the lines, and inside
      const room = 24 + 10 * names[k].length; // a word never leaves the picture
      const end = left ? px > room + 40 : px > width - room - 40;
      labels[k].setAttribute("x", px + (end ? -1 : 1) * (k ? 14 : 18));
      labels[k].setAttribute("y", Math.min(height - 10, Math.max(24, k ? py + 6 : py - 16)));
      labels[k].setAttribute("text-anchor", end ? "end" : "start");
      labels[k].replaceChildren(
        names[k],
        " ",
        svg("tspan", { class: "so-value" }, one(k ? values[k - 1] : answer)),
      );
    });
  }

  // The table and the beam ----------------------------------------------------------------------
  const rows = words.map((word, j) => {
    const [score, weight] = [el("td"), el("td", { class: "so-weight" })];
    const fill = el("span", { class: "so-fill" });
    const bar = el("td", { class: "so-track", "aria-hidden": "true" }, fill);
    return {
      score,
      weight,
      fill,
      row: el(
        "tr",
        {},
        el("th", { scope: "row" }, word),
        score,
        bar,
        weight,
        el("td", {}, one(values[j])),
      ),
    };
  });
  const head = el(
    "tr",
    {},
    el("td"),
    el("th", { scope: "col" }, "score"),
    el("th", { scope: "colgroup", colspan: 2 }, "weight"),
    el("th", { scope: "col" }, quality),
  );
  const table = el(
    "table",
    { class: "so-table" },
    el("thead", {}, head),
    el(
      "tbody",
      {},
      rows.map(({ row }) => row),
    ),
  );
  const beam = svg("svg", { class: "so-beam", viewBox: "0 0 500 134", role: "img" });
  const sum = el("p", { class: "so-sum" });

  const along = (value) => BEAM.left + ((BEAM.right - BEAM.left) * value) / 10;

  function drawBeam({ weights, answer }) {
    const { left, right, top, thick, largest } = BEAM;
    const cells = range(40).map((c) =>
      svg("rect", {
        x: along(c / 4),
        y: top,
        width: (right - left) / 40,
        height: thick,
        class: "so-cell",
        "fill-opacity": opacity((c + 0.5) / 4),
      }),
    );
    const discs = words.flatMap((word, j) => {
      const r = largest * Math.sqrt(weights[j]);
      return [
        svg("circle", { cx: along(values[j]), cy: top - r, r, class: "so-disc" }),
        text([along(values[j]), top - 2 * r - 6], word, "so-name", "middle"),
      ];
    });
    const [px, py] = [along(answer), top + thick];
    const ends = [0, 10]
      .filter((end) => Math.abs(end - answer) > 1)
      .map((end) => text([along(end), py + 19], String(end), "so-name", "middle"));
    beam.replaceChildren(
      ...cells,
      svg("rect", { x: left, y: top, width: right - left, height: thick, class: "so-frame" }),
      ...discs,
      ...ends,
      svg("polygon", {
        points: `${px},${py} ${px - 10},${py + 16} ${px + 10},${py + 16}`,
        class: "so-pivot",
      }),
      text([px, py + 40], one(answer), "so-answer", "middle"),
    );
    beam.setAttribute(
      "aria-label",
      `A beam from 0 to 10: the weights stand on their values, and it balances at ${one(answer)}.`,
    );
  }

  // Controls ------------------------------------------------------------------------------------
  const live = liveRegion("so-live");
  const softness = slider(
    "From hard to soft",
    { min: 0, max: 100 },
    (value) => {
      state.place = value;
      update();
    },
    "so-field",
  );
  const buttons = PLACES.map(([value, name]) =>
    button(name, () => {
      state.place = value;
      update();
    }),
  );
  const again = button(
    "Start again",
    () => {
      Object.assign(state, start());
      update();
    },
    { class: "sl-button so-again" },
  );

  function update() {
    const temperature = temperatureOf(state.place / 100);
    const [query, ...keys] = state.points;
    const found = lookup(query, keys, values, temperature);
    paint(keys, temperature);
    drawPlane(keys, found);
    drawBeam(found);
    rows.forEach(({ score, weight, fill }, j) => {
      score.textContent = format(Number(found.scores[j].toFixed(2)), 4);
      weight.textContent = two(found.weights[j]);
      fill.style.width = `${100 * found.weights[j]}%`;
    });
    const written = sumOf(found.weights, values, found.answer);
    sum.replaceChildren(`${written} = `, el("b", {}, one(found.answer)));
    softness.show(`temperature ${format(temperature, 2)}`, state.place);
    buttons.forEach((node, b) => node.setAttribute("aria-pressed", state.place === PLACES[b][0]));
    say(live, sentence(data, found, temperature));
  }

  root.append(
    live,
    el(
      "div",
      { class: "so-sides" },
      el(
        "div",
        { class: "so-left" },
        el("p", { class: "so-title" }, `Drag ${reader}. Drag the others, too.`),
        el("div", { class: "so-picture" }, shade, plane),
        el(
          "div",
          { class: "so-below" },
          el(
            "p",
            { class: "sl-note" },
            `Turn ${reader} about the ` +
              "crossing of the axes, and another key fits best. Pull it out, and the choice gets firmer.",
          ),
          again,
        ),
      ),
      el(
        "div",
        { class: "so-right" },
        softness.field,
        el("div", { class: "so-places" }, buttons),
        el("div", { class: "sl-scroll" }, table),
        el("p", { class: "so-title" }, `Where the weights balance: the ${quality} of ${reader}`),
        beam,
        sum,
      ),
    ),
  );
  update();
}
