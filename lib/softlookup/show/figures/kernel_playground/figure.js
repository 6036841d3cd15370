// The kernel playground: points and a query to drag, a kernel to choose; weights and curve follow.

import { button, choices, controls, form, liveRegion, say, slider } from "../../kit/controls.js";
import { handle, pointed } from "../../kit/drag.js";
import { el, line, svg, text } from "../../kit/elements.js";
import { clamp, range, sum } from "../../kit/maths.js";
import { fixed, format } from "../../kit/numbers.js";
import { row, table } from "../../kit/table.js";
import { curve, smooth } from "./maths.js";

const END = 8; // x runs from 0 to 8, y from −4 to 4
const TALL = 4;
const FEW = 6; // so many points have a row and a tab stop each
const STEPS = 160;
const WIDE = 320;
const LEFT = 26;
const RIGHT = 12;
const PLOT = { height: 216, top: 34, bottom: 20 };
const STRIP = { height: 84, top: 18, bottom: 6 };
const KERNELS = [
  ["laplace", "Laplace"],
  ["gaussian", "Gaussian"],
  ["printed", "Gaussian, sign as printed"],
  ["cosine", "cosine"],
  ["bilinear", "bilinear"],
];
const FORMULAS = {
  laplace: "score = −|q − x| / b",
  gaussian: "score = −(q − x)² / (2σ²)",
  printed: "score = +(q − x)² / σ², as the slide prints it: it grows with the distance",
  cosine:
    "A number x is read as the vector (1, x), for a bare number has only two directions. " +
    "score = cos ∠ of (1, q) and (1, x), divided by τ",
  bilinear:
    "A number x is read as the vector (1, x). score = (1, q) W (1, x)ᵀ / τ; " +
    "with the W of the start it is 1 + q · x, a dot product",
};
const WIDTHS = {
  laplace: "Bandwidth b",
  gaussian: "Bandwidth σ",
  printed: "Bandwidth σ",
  cosine: "Temperature τ",
  bilinear: "Temperature τ",
};
const IDENTITY = [
  [1, 0],
  [0, 1],
];

const tidy = (value) => Number(value.toFixed(2)) + 0;
const across = (x) => LEFT + (x / END) * (WIDE - LEFT - RIGHT);
const up = (y) => PLOT.top + ((TALL - y) / (2 * TALL)) * (PLOT.height - PLOT.top - PLOT.bottom);
const tick = (place, words, anchor) => text(place, words, "kp-tick", anchor);

/** The empty plot: a grid, its numbers, and what the axes are. */
function backdrop() {
  const floor = up(-TALL);
  const columns = [0, 2, 4, 6, 8].flatMap((x) => [
    line([across(x), up(TALL)], [across(x), floor], "kp-grid"),
    tick([across(x), floor + 13], format(x), "middle"),
  ]);
  const rows = [-4, -2, 0, 2, 4].flatMap((y) => [
    line([LEFT, up(y)], [across(END), up(y)], y ? "kp-grid" : "kp-axis"),
    tick([LEFT - 4, up(y) + 3.5], format(y), "end"),
  ]);
  return [
    ...columns,
    ...rows,
    tick([across(7), floor + 13], "x", "middle"),
    tick([LEFT - 4, up(3) + 3.5], "y", "end"),
  ];
}

/**
 * Where the scale of the bars ends: at 1, or with many points at a weight that no query exceeds. It
 * does not depend on the query, so no bar jumps while the query is dragged.
 */
function top(state, xs, ys) {
  if (xs.length <= FEW) return 1;
  const { kernel, width, W } = state;
  const queries = [...range(STEPS + 1).map((i) => (END * i) / STEPS), ...xs];
  const most = Math.max(...queries.flatMap((q) => smooth(kernel, q, xs, ys, width, W).weights));
  return [0.05, 0.1, 0.2, 0.5, 1].find((end) => end >= most - 1e-9) ?? 1;
}

/** The weights as bars under the points they belong to; close neighbours share one number. */
function bars(xs, weights, end) {
  const floor = STRIP.height - STRIP.bottom;
  const most = Math.max(end, ...weights);
  const height = (weight) => (weight / most) * (floor - STRIP.top);
  const half = xs.length > FEW ? 2 : 5;
  const named = [];
  const order = weights.map((_, i) => i).sort((i, j) => weights[j] - weights[i]);
  for (const i of xs.length > FEW ? [] : order) {
    if (named.every((j) => Math.abs(across(xs[j]) - across(xs[i])) > 30)) named.push(i);
  }
  const floorLine = line([LEFT, floor], [across(END), floor], "kp-axis");
  return [
    line([LEFT, STRIP.top], [across(END), STRIP.top], "kp-grid"),
    floorLine,
    tick([LEFT - 4, STRIP.top + 3.5], format(most), "end"),
    tick([LEFT - 4, floor], "0", "end"),
    ...weights.map((weight, i) =>
      svg("rect", {
        class: "kp-bar",
        x: across(xs[i]) - half,
        y: floor - height(weight),
        width: 2 * half,
        height: height(weight),
      }),
    ),
    ...named.map((i) =>
      text(
        [across(xs[i]), floor - height(weights[i]) - 3],
        fixed(weights[i], 2),
        "kp-weight",
        "middle",
      ),
    ),
  ];
}

/** One row for each point, or for the `n` heaviest; the rest together; and their sum. */
function rowsOf(xs, ys, { scores, weights, prediction }, n) {
  const order = weights.map((_, i) => i);
  if (xs.length > FEW) order.sort((i, j) => weights[j] - weights[i]);
  const [shown, rest] = [order.slice(0, n), order.slice(n)];
  const rows = shown.map((i) => [
    fixed(xs[i], 2),
    fixed(ys[i], 2),
    fixed(scores[i], 3),
    fixed(weights[i], 4),
    fixed(weights[i] * ys[i], 4),
  ]);
  if (rest.length) {
    const others = [sum(rest.map((i) => weights[i])), sum(rest.map((i) => weights[i] * ys[i]))];
    rows.push([`${rest.length} others`, "", "", ...others.map((value) => fixed(value, 4))]);
  }
  return [...rows, ["together", "", "", fixed(sum(weights), 4), fixed(prediction, 4)]];
}

/** Four numbers to type: the matrix W of the bilinear score. */
function matrix(W, onChange) {
  const inputs = W.map((row, r) =>
    row.map((_, c) => {
      const input = el("input", {
        type: "number",
        min: -5,
        max: 5,
        step: 0.25,
        class: "kp-entry",
        "aria-label": `W, row ${r + 1}, column ${c + 1}`,
        oninput: () => {
          const value = input.valueAsNumber;
          const fits = Number.isFinite(value) && Math.abs(value) <= 5;
          input.setAttribute("aria-invalid", String(!fits));
          if (fits) onChange(r, c, value);
        },
        onchange: () => {
          if (input.getAttribute("aria-invalid") !== "true") return;
          input.value = clamp(input.valueAsNumber || 0, -5, 5);
          input.dispatchEvent(new Event("input"));
        },
      });
      return input;
    }),
  );
  const fill = (values) =>
    inputs.forEach((row, r) =>
      row.forEach((input, c) => {
        input.value = values[r][c];
        input.removeAttribute("aria-invalid");
      }),
    );
  const field = el(
    "fieldset",
    { class: "sl-field kp-matrix" },
    el("legend", {}, "W, from −5 to 5"),
    inputs.map((row) => el("div", { class: "kp-row" }, row)),
  );
  return { field, fill };
}

/** Build the figure inside an empty element. */
export function mount(root, { points, query, noisy, bandwidth }) {
  const copy = (all) => all.map((point) => [...point]);
  const state = {
    points: copy(points),
    query,
    kernel: "laplace",
    width: bandwidth,
    W: copy(IDENTITY),
    at: 0,
  };
  const drawn = svg("g", { "aria-hidden": "true" });
  const handles = svg("g");
  const star = svg("path", {
    class: "kp-star",
    "aria-hidden": "true",
    d: "M0,-7 L6,0 L0,7 L-6,0 Z",
  });
  const plot = svg(
    "svg",
    {
      class: "kp-plot",
      viewBox: `0 0 ${WIDE} ${PLOT.height}`,
      role: "group",
      "aria-label": "Points and query to move, and the curve of predictions",
    },
    svg("g", { "aria-hidden": "true" }, backdrop()),
    drawn,
    handles,
    star,
  );
  const strip = svg("svg", {
    class: "kp-plot",
    viewBox: `0 0 ${WIDE} ${STRIP.height}`,
    "aria-hidden": "true",
  });
  const live = liveRegion("kp-live");
  const formula = el("p", { class: "kp-formula" });
  const numbers = table("kp-table", ["x", "y", "score", "weight", "weight × y"], []);
  const body = numbers.lastChild;
  // Of many points the table shows as many as it has room for at the start, and the others.
  const most = Math.max(3, points.length);
  let nodes = [];

  const place = (event) => {
    const [right, down] = pointed(event, plot);
    return [
      ((right * WIDE - LEFT) / (across(END) - LEFT)) * END,
      TALL - ((down * PLOT.height - PLOT.top) / (up(-TALL) - PLOT.top)) * 2 * TALL,
    ];
  };
  const ask = (x) => {
    state.query = tidy(clamp(x, 0, END));
    update();
  };
  const put = (i, [x, y]) => {
    state.points[i] = [tidy(clamp(x, 0, END)), tidy(clamp(y, -TALL, TALL))];
    state.at = i;
    update();
  };
  const pin = handle(
    {
      name: "kp-query",
      reach: 13,
      "aria-label": "Query q, arrow keys move it",
      moves: {
        drag: (event) => ask(place(event)[0]),
        step: ([right]) => ask(state.query + right),
        fine: 0.05,
      },
    },
    svg("path", { d: "M-7,-7 H7 L0,7 Z" }),
  );

  /** A new set of points gets new handles; of many, only one is a tab stop. */
  function stage(all) {
    state.points = copy(all);
    state.at = 0;
    const many = all.length > FEW;
    const hint = many
      ? "arrow keys move it, Page Up and Page Down choose another"
      : "arrow keys move it";
    const turn = (i, by) => {
      state.at = (i + by + nodes.length) % nodes.length;
      update();
      nodes[state.at].focus();
    };
    nodes = all.map((_, i) =>
      handle(
        {
          name: "kp-point",
          reach: 13,
          "aria-label": `Point ${i + 1}, ${hint}`,
          moves: {
            drag: (event) => put(i, place(event)),
            step: (by) =>
              put(
                i,
                state.points[i].map((value, c) => value + by[c]),
              ),
            keys: many ? { PageDown: () => turn(i, 1), PageUp: () => turn(i, -1) } : {},
            fine: 0.05,
          },
        },
        svg("circle", { class: "kp-dot" }),
      ),
    );
    handles.replaceChildren(...nodes, pin);
    update();
  }

  function draw(found, xs, ys) {
    const path = curve(state.kernel, 0, END, STEPS, xs, ys, state.width, state.W).map(
      ([x, y]) => `${across(x).toFixed(2)},${up(y).toFixed(2)}`,
    );
    const [x, y] = [across(state.query), up(found.prediction)];
    const anchor = state.query > END / 2 ? "end" : "start";
    const side = anchor === "end" ? -12 : 12;
    drawn.replaceChildren(
      line([x, PLOT.top - 12], [x, PLOT.height], "kp-ask"),
      svg("polyline", { class: "kp-curve", points: path.join(" ") }),
      text([x + side, 16], `q = ${format(state.query, 3)}`, "kp-name", anchor),
    );
    strip.replaceChildren(
      line([x, 0], [x, STRIP.height - STRIP.bottom], "kp-ask"),
      ...bars(xs, found.weights, top(state, xs, ys)),
    );
    star.setAttribute("transform", `translate(${x} ${y})`);
    pin.setAttribute("transform", `translate(${x} 13)`);
    pin.setAttribute("tabindex", "0");
    nodes.forEach((node, i) => {
      node.setAttribute("transform", `translate(${across(xs[i])} ${up(ys[i])})`);
      node.setAttribute("tabindex", nodes.length <= FEW || i === state.at ? "0" : "-1");
      node.lastChild.setAttribute("r", (3 + 5 * Math.sqrt(found.weights[i])).toFixed(2));
    });
  }

  function speak(found, xs, ys) {
    const said = { "aria-valuemin": 0, "aria-valuemax": END };
    const tell = (node, now, words) =>
      Object.entries({ ...said, "aria-valuenow": now, "aria-valuetext": words }).forEach(
        ([key, value]) => node.setAttribute(key, value),
      );
    tell(pin, state.query, format(state.query, 4));
    nodes.forEach((node, i) => tell(node, xs[i], `x ${format(xs[i], 4)}, y ${format(ys[i], 4)}`));
    const first = found.weights.indexOf(Math.max(...found.weights));
    const distances = xs.map((x) => Math.abs(x - state.query));
    const where =
      distances[first] === Math.min(...distances)
        ? ", the nearest,"
        : distances[first] === Math.max(...distances)
          ? ", the farthest,"
          : "";
    const words =
      `At q = ${format(state.query, 4)} the prediction is ` +
      `${fixed(found.prediction, 4)}. The point at x = ${format(xs[first], 4)}${where} gets the ` +
      `most weight, ${fixed(found.weights[first], 4)}.`;
    say(live, words);
  }

  function update() {
    const [xs, ys] = [0, 1].map((c) => state.points.map((point) => point[c]));
    const found = smooth(state.kernel, state.query, xs, ys, state.width, state.W);
    draw(found, xs, ys);
    speak(found, xs, ys);
    body.replaceChildren(...rowsOf(xs, ys, found, most).map(([name, ...cells]) => row(name, cells)));
    formula.textContent = FORMULAS[state.kernel];
    entries.field.hidden = state.kernel !== "bilinear";
    const width = format(state.width, 3);
    bandwidths.show(`${WIDTHS[state.kernel]}: ${width}`, Math.log10(state.width), width);
  }

  const entries = matrix(state.W, (r, c, value) => {
    state.W[r][c] = value;
    update();
  });
  entries.fill(IDENTITY);
  const bandwidths = slider(
    "",
    { min: -1.3, max: 1.3, step: 0.02 },
    (value) => {
      state.width = Number((10 ** value).toPrecision(3));
      update();
    },
    "kp-field",
  );
  const start = button("Start again", () => {
    Object.assign(state, { query, width: bandwidth, W: copy(IDENTITY) });
    entries.fill(IDENTITY);
    stage(points);
  });
  const many = button(`${noisy.length} noisy points`, () => stage(noisy));
  root.append(
    form(
      "kp-form",
      controls(
        choices("Kernel", "kernel", KERNELS, state.kernel, (one) => {
          // A bandwidth for one kernel is no temperature for the next: each begins as at the start.
          Object.assign(state, { kernel: one, width: bandwidth });
          update();
        }),
      ),
      el("div", { class: "kp-said" }, formula, entries.field),
      controls(bandwidths.field, start, many),
      el(
        "div",
        { class: "kp-sides" },
        el(
          "div",
          { class: "kp-pictures" },
          el(
            "p",
            { class: "kp-title" },
            "Drag the points and the query q; the line is the prediction",
          ),
          plot,
          el("p", { class: "kp-title" }, "Weight of each point for this query"),
          strip,
        ),
        el(
          "div",
          { class: "kp-numbers" },
          live,
          el("div", { class: "sl-scroll kp-room", style: `--rows: ${most + 3}` }, numbers),
        ),
      ),
    ),
  );
  stage(points);
}
