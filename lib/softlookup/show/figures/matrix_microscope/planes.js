// The three pictures of the matrix microscope: tokens, queries and keys, values and outputs.

import { handle, pointed } from "../../kit/drag.js";
import { el, line, svg, text } from "../../kit/elements.js";
import { clamp, dot, range } from "../../kit/maths.js";
import { around, arrow, limitFor, placeLabel } from "../../kit/plane.js";
import { convexHull } from "./maths.js";
import { LARGEST, number, rich, roles } from "./parts.js";

const STEPS = [3, 4, 6, 8, 10, 15, 20, 30, 40, 60, 80];

/** Half the width of a picture that holds all points: a round number, at least 3. */
const roomFor = (points) => limitFor(points, STEPS, 1.06);

/** A square picture of the plane around the origin, with a title above it and a note below.
 * `names` say what lies along its two axes. */
function plane(title, note, names, attributes) {
  const picture = svg("svg", { class: "mm-plane", ...attributes });
  const [back, front] = [svg("g", { "aria-hidden": "true" }), svg("g")];
  picture.append(back, front);
  const frame = { picture, back, front, names, size: 240, limit: 3 };
  frame.at = ([a, b]) => [
    ((a / frame.limit + 1) * frame.size) / 2,
    ((1 - b / frame.limit) * frame.size) / 2,
  ];
  frame.note = el("p", { class: "sl-note" }, note);
  frame.box = el("div", {}, el("p", { class: "mm-title" }, rich(title)), picture, frame.note);
  return frame;
}

/** Fit the picture to its place in the page and to its points; draw grid and axes anew. */
function ground(frame, limit) {
  frame.size = Math.round(frame.picture.clientWidth) || frame.size;
  frame.limit = limit;
  frame.picture.setAttribute("viewBox", `0 0 ${frame.size} ${frame.size}`);
  const step = limit > 10 ? limit / 5 : 1;
  const most = Math.floor(limit / step);
  const ticks = range(2 * most + 1).map((k) => (k - most) * step);
  const across = (a, b, name) => line(frame.at(a), frame.at(b), name);
  const lines = ticks.flatMap((t) => {
    const name = t === 0 ? "mm-axis" : "mm-grid";
    return [across([t, -limit], [t, limit], name), across([-limit, t], [limit, t], name)];
  });
  const end = text([frame.size - 3, frame.size / 2 + 12], number(limit), "mm-tick", "end");
  frame.back.replaceChildren(...lines, end, ...axisNames(frame));
}

/** The name of the first axis at the lower right, that of the second at the upper left. */
function axisNames({ names: [first, second], size }) {
  return [
    text([size - 5, size - 6], `${first} →`, "mm-axis-name", "end"),
    text([5, 13], `${second} ↑`, "mm-axis-name", "start"),
  ];
}

/** Where these names stand: labels leave them free. */
const namesPlaces = ({ names: [first, second], size }) => [
  [size - 18 - 6.5 * first.length, size - 18, size, size],
  [0, 0, 18 + 6.5 * second.length, 17],
];

const vector = (frame, tip, name) =>
  arrow(frame.at([0, 0]), frame.at(tip), { class: name }, 8, 3.5);

const PLACES = [
  [9, 4, "start"],
  [-9, 4, "end"],
  [0, -10, "middle"],
  [0, 19, "middle"],
  [7, -7, "start"],
  [-7, -7, "end"],
  [7, 15, "start"],
  [-7, 15, "end"],
  [12, -18, "start"],
  [-12, -18, "end"],
  [12, 27, "start"],
  [-12, 27, "end"],
  [0, -24, "middle"],
  [0, 33, "middle"],
];

/** Labels beside their points, each in the first place where it covers nothing, `others` neither. */
function labels(frame, items, others = []) {
  const taken = [...items.map(({ at }) => at), ...others].map((at) => around(frame.at(at), 5));
  taken.push(...namesPlaces(frame));
  return items.map(({ at, words, kind, outward }) => {
    const [x, y] = frame.at(at);
    const extra = ([dx, dy]) => (outward && dx * at[0] - (dy - 4) * at[1] < 0 ? 0.5 : 0);
    const options = { places: PLACES, taken, size: frame.size, extra };
    const { dx, dy, anchor } = placeLabel([x, y], 7 * words.length, options);
    return text([x + dx, y + dy], words, `mm-label ${kind ?? ""}`, anchor);
  });
}

/** Points along an arrow from the origin, which labels should not cover. */
const along = (tip) => [0.3, 0.5, 0.7, 0.85].map((share) => tip.map((value) => share * value));

const pair = (vector) => `(${vector.map((value) => number(value)).join(", ")})`;

/** The tokens' vectors, points to drag or to move with the arrow keys. */
export function tokenPlane(app) {
  const note = "Drag them, or press arrow keys: a step is 0.1, with Shift 0.5.";
  const frame = plane("Tokens *X*", note, app.data.axes, {
    role: "group",
    "aria-label": "Tokens, points to move",
  });
  const texts = svg("g", { "aria-hidden": "true" });
  const handles = app.tokens.map((_, i) => tokenHandle(app, frame, i));
  frame.front.append(texts, ...handles);
  app.watch(({ x, ...state }) => {
    ground(frame, app.dragging ? frame.limit : roomFor(x));
    const { moved } = state;
    frame.note.textContent =
      moved === null ? note : `${app.tokens[moved]} is at ${pair(x[moved])}.`;
    texts.replaceChildren(
      ...labels(
        frame,
        x.map((at, i) => ({ at, words: app.tokens[i] })),
      ),
    );
    handles.forEach((one, i) => {
      one.setAttribute("transform", `translate(${frame.at(x[i]).join(" ")})`);
      one.setAttribute("class", `sl-handle ${roles(state, i)}`);
      one.setAttribute("aria-valuenow", x[i][0]);
      one.setAttribute("aria-valuetext", pair(x[i]));
    });
  });
  return frame.box;
}

function tokenHandle(app, frame, i) {
  return handle(
    {
      name: "",
      reach: 16,
      "aria-roledescription": "point",
      "aria-label": `Token ${app.tokens[i]}, arrow keys move it`,
      "aria-valuemin": -LARGEST,
      "aria-valuemax": LARGEST,
      moves: {
        grab: () => {
          app.dragging = true;
        },
        drag: (event) => app.setRow("x", i, dragged(frame, event)),
        drop: () => {
          app.dragging = false;
          app.update();
        },
        step: (by) =>
          app.setRow(
            "x",
            i,
            app.state.x[i].map((value, c) => {
              const moved = Math.round(100 * (value + by[c])) / 100;
              return clamp(moved, -LARGEST, LARGEST);
            }),
          ),
      },
    },
    svg("circle", { r: 6, class: "mm-dot" }),
  );
}

/** Where the pointer is, on a grid fine enough for the eye and short enough to compute with. */
function dragged(frame, event) {
  const [right, down] = pointed(event, frame.picture);
  return [right, 1 - down].map((share) => {
    const value = (2 * clamp(share, 0, 1) - 1) * frame.limit;
    return frame.limit <= 10 ? Math.round(20 * value) / 20 : Number(value.toPrecision(2));
  });
}

/** One query against all keys, with the shadow of the chosen key on the query's line. */
export function queryKeyPlane(app) {
  const note = "Shaded: the key’s shadow on the query.";
  const names = ["q₀, k₀", "q₁, k₁"];
  const frame = plane("One {q:query}, all {k:keys}", note, names, { role: "img" });
  app.watch((state, { Q, K, mask, products }) => {
    const [i, j] = [state.query, state.key];
    ground(frame, roomFor([...Q, ...K]));
    const keys = K.map((tip, key) => {
      const name = key === j ? "mm-key mm-chosen" : mask[i][key] ? "mm-key" : "mm-key mm-masked";
      return vector(frame, tip, name);
    });
    const texts = [
      { at: Q[i], words: app.tokens[i], kind: "mm-query-text", outward: true },
      ...K.map((at, key) => ({ at, words: app.tokens[key], kind: "mm-key-text", outward: true })),
    ];
    frame.front.replaceChildren(
      ...shadow(frame, Q[i], K[j]),
      ...keys,
      vector(frame, Q[i], "mm-query mm-chosen"),
      ...labels(frame, texts, [Q[i], ...K].flatMap(along)),
    );
    frame.picture.setAttribute(
      "aria-label",
      `Query ${app.tokens[i]} ${pair(Q[i])} and the keys. ` +
        `With key ${app.tokens[j]} ${pair(K[j])} the dot product is ${number(products[i][j])}.`,
    );
  });
  return frame.box;
}

function shadow(frame, query, key) {
  const size = dot(query, query);
  if (size === 0) return [];
  const foot = query.map((value) => (value * dot(query, key)) / size);
  return [
    line(frame.at(key), frame.at(foot), "mm-drop"),
    line(frame.at([0, 0]), frame.at(foot), "mm-shadow"),
  ];
}

/** The values, their hull, and the outputs inside it; the chosen query's mixture as lines. */
export function valueOutputPlane(app) {
  const note = "The wider the line, the larger the weight.";
  const frame = plane("{v:Values} and {z:outputs}", note, ["v₀, z₀", "v₁, z₁"], { role: "img" });
  app.watch((state, { V, weights, out }) => {
    const i = state.query;
    ground(frame, roomFor(V));
    const hull = convexHull(V)
      .map((corner) => frame.at(corner).join(","))
      .join(" ");
    const lines = V.map((value, j) => mixLine(frame, out[i], value, weights[i][j]));
    const texts = [
      { at: out[i], words: app.tokens[i], kind: "mm-output-text" },
      ...V.map((at, j) => ({ at, words: app.tokens[j], kind: "mm-value-text" })),
    ];
    frame.front.replaceChildren(
      svg("polygon", { points: hull, class: "mm-hull" }),
      ...lines,
      ...V.map((at) => mark(frame, at, "mm-value")),
      ...range(out.length)
        .filter((q) => q !== i)
        .map((q) => mark(frame, out[q], "mm-output")),
      mark(frame, out[i], "mm-output mm-chosen"),
      ...labels(frame, texts, out),
    );
    frame.picture.setAttribute(
      "aria-label",
      `Values, and the outputs between them. ` +
        `The output of ${app.tokens[i]} is ${pair(out[i])}.`,
    );
  });
  return frame.box;
}

function mixLine(frame, from, to, weight) {
  return line(frame.at(from), frame.at(to), "mm-mix", { "stroke-width": 7 * weight });
}

function mark(frame, at, name) {
  const [x, y] = frame.at(at);
  const r = name.includes("mm-chosen") ? 6 : 4;
  const transform = name.startsWith("mm-output") ? `rotate(45 ${x} ${y})` : null;
  const size = { x: x - r, y: y - r, width: 2 * r, height: 2 * r };
  return svg("rect", { ...size, class: name, transform });
}
