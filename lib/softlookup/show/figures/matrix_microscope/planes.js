// The three pictures of the matrix microscope: tokens, queries and keys, values and outputs.

import { draggable } from "../../kit/drag.js";
import { el, svg } from "../../kit/elements.js";
import { convexHull, dot, range } from "./maths.js";
import { LARGEST, number, rich, roles } from "./parts.js";

const STEPS = [3, 4, 6, 8, 10, 15, 20, 30, 40, 60, 80];

/** Half the width of a picture that holds all points: a round number, at least 3. */
export function limitFor(points) {
  const largest = 1.06 * Math.max(...points.flat().map(Math.abs));
  let unit = 1;
  while (STEPS.at(-1) * unit < largest) unit *= 10;
  return unit * STEPS.find((step) => step * unit >= largest);
}

/** A square picture of the plane around the origin, with a title above it and a note below. */
function plane(title, note, attributes) {
  const picture = svg("svg", { class: "mm-plane", ...attributes });
  const [back, front] = [svg("g", { "aria-hidden": "true" }), svg("g")];
  picture.append(back, front);
  const frame = { picture, back, front, size: 240, limit: 3 };
  frame.at = ([a, b]) => [
    ((a / frame.limit + 1) * frame.size) / 2,
    ((1 - b / frame.limit) * frame.size) / 2,
  ];
  frame.box = el("div", {}, el("p", { class: "mm-title" }, rich(title)), picture,
    el("p", { class: "sl-note" }, note));
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
  const line = (a, b, name) => {
    const [[x1, y1], [x2, y2]] = [frame.at(a), frame.at(b)];
    return svg("line", { x1, y1, x2, y2, class: name });
  };
  const lines = ticks.flatMap((t) => {
    const name = t === 0 ? "mm-axis" : "mm-grid";
    return [line([t, -limit], [t, limit], name), line([-limit, t], [limit, t], name)];
  });
  const end = { class: "mm-tick", x: frame.size - 3, y: frame.size / 2 + 12, "text-anchor": "end" };
  frame.back.replaceChildren(...lines, svg("text", end, number(limit)));
}

function arrow(frame, tip, attributes) {
  const [[x0, y0], [x1, y1]] = [frame.at([0, 0]), frame.at(tip)];
  const length = Math.hypot(x1 - x0, y1 - y0);
  const [ux, uy] = length ? [(x1 - x0) / length, (y1 - y0) / length] : [0, 0];
  const head = Math.min(8, length);
  const [hx, hy] = [x1 - head * ux, y1 - head * uy];
  const corners = [[x1, y1], [hx - 3.5 * uy, hy + 3.5 * ux], [hx + 3.5 * uy, hy - 3.5 * ux]];
  return svg("g", attributes,
    svg("line", { x1: x0, y1: y0, x2: hx, y2: hy }),
    svg("polygon", { points: corners.map((corner) => corner.join(",")).join(" ") }));
}

const PLACES = [[9, 4, "start"], [-9, 4, "end"], [0, -10, "middle"], [0, 19, "middle"],
  [7, -7, "start"], [-7, -7, "end"], [7, 15, "start"], [-7, 15, "end"]];

/** Labels beside their points, each in the first place where it covers nothing. */
function labels(frame, items) {
  const taken = items.map(({ at }) => frame.at(at)).map(([x, y]) => [x - 5, y - 5, x + 5, y + 5]);
  return items.map(({ at, text, kind, outward }) => {
    const [x, y] = frame.at(at);
    const width = 7 * text.length;
    const candidates = PLACES.map(([dx, dy, anchor], rank) => {
      const left = x + dx - { start: 0, end: width, middle: width / 2 }[anchor];
      const box = [left, y + dy - 11, left + width, y + dy + 3];
      const hits = taken.filter((other) => overlap(box, other)).length;
      const outside = box[0] < 0 || box[1] < 0 || box[2] > frame.size || box[3] > frame.size;
      const inward = outward && dx * at[0] - (dy - 4) * at[1] < 0;
      const cost = hits + (outside ? 9 : 0) + (inward ? 0.5 : 0) + rank / 100;
      return { dx, dy, anchor, box, cost };
    });
    const best = candidates.reduce((a, b) => (b.cost < a.cost ? b : a));
    taken.push(best.box);
    const place = { x: x + best.dx, y: y + best.dy, "text-anchor": best.anchor };
    return svg("text", { class: `mm-label ${kind ?? ""}`, ...place }, text);
  });
}

const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
const pair = (vector) => `(${vector.map((value) => number(value)).join(", ")})`;

/** The tokens' vectors, points to drag or to move with the arrow keys. */
export function tokenPlane(app) {
  const frame = plane("Tokens *X*", "Drag them, or use the arrow keys.",
    { role: "group", "aria-label": "Tokens, points to move" });
  const texts = svg("g", { "aria-hidden": "true" });
  const handles = app.tokens.map((_, i) => tokenHandle(app, frame, i));
  frame.front.append(texts, ...handles);
  app.watch(({ x, ...state }) => {
    ground(frame, app.dragging ? frame.limit : limitFor(x));
    texts.replaceChildren(...labels(frame, x.map((at, i) => ({ at, text: app.tokens[i] }))));
    handles.forEach((handle, i) => {
      handle.setAttribute("transform", `translate(${frame.at(x[i]).join(" ")})`);
      handle.setAttribute("class", `sl-handle ${roles(state, i)}`);
      handle.setAttribute("aria-valuenow", x[i][0]);
      handle.setAttribute("aria-valuetext", pair(x[i]));
    });
  });
  return frame.box;
}

function tokenHandle(app, frame, i) {
  return svg("g", {
    role: "slider",
    tabindex: "0",
    "aria-roledescription": "point",
    "aria-label": `Token ${app.tokens[i]}, arrow keys move it`,
    "aria-valuemin": -LARGEST,
    "aria-valuemax": LARGEST,
    ...draggable({
      grab: () => { app.dragging = true; },
      drag: (event) => app.setRow("x", i, dragged(frame, event)),
      drop: () => { app.dragging = false; app.update(); },
      step: (by) => app.setRow("x", i, app.state.x[i].map((value, c) => {
        const moved = Math.round(100 * (value + by[c])) / 100;
        return Math.min(LARGEST, Math.max(-LARGEST, moved));
      })),
    }),
  }, svg("circle", { r: 16, class: "sl-reach" }), svg("circle", { r: 6, class: "mm-dot" }));
}

/** Where the pointer is, on a grid fine enough for the eye and short enough to compute with. */
function dragged(frame, event) {
  const box = frame.picture.getBoundingClientRect();
  const right = (event.clientX - box.left) / box.width;
  const up = 1 - (event.clientY - box.top) / box.height;
  return [right, up].map((share) => {
    const value = (2 * Math.min(1, Math.max(0, share)) - 1) * frame.limit;
    return frame.limit <= 10 ? Math.round(20 * value) / 20 : Number(value.toPrecision(2));
  });
}

/** One query against all keys, with the shadow of the chosen key on the query's line. */
export function queryKeyPlane(app) {
  const note = "Shaded: the key’s shadow on the query.";
  const frame = plane("One {q:query}, all {k:keys}", note, { role: "img" });
  app.watch((state, { Q, K, mask, products }) => {
    const [i, j] = [state.query, state.key];
    ground(frame, limitFor([...Q, ...K]));
    const keys = K.map((tip, key) => {
      const name = key === j ? "mm-key mm-chosen" : mask[i][key] ? "mm-key" : "mm-key mm-masked";
      return arrow(frame, tip, { class: name });
    });
    const texts = [{ at: Q[i], text: app.tokens[i], kind: "mm-query-text", outward: true },
      ...K.map((at, key) => ({ at, text: app.tokens[key], kind: "mm-key-text", outward: true }))];
    frame.front.replaceChildren(...shadow(frame, Q[i], K[j]), ...keys,
      arrow(frame, Q[i], { class: "mm-query mm-chosen" }), ...labels(frame, texts));
    frame.picture.setAttribute("aria-label", `Query ${app.tokens[i]} ${pair(Q[i])} and the keys. `
      + `With key ${app.tokens[j]} ${pair(K[j])} the dot product is ${number(products[i][j])}.`);
  });
  return frame.box;
}

function shadow(frame, query, key) {
  const size = dot(query, query);
  if (size === 0) return [];
  const foot = query.map((value) => (value * dot(query, key)) / size);
  const [[x1, y1], [x2, y2], [x0, y0]] = [frame.at(key), frame.at(foot), frame.at([0, 0])];
  return [svg("line", { x1, y1, x2, y2, class: "mm-drop" }),
    svg("line", { x1: x0, y1: y0, x2, y2, class: "mm-shadow" })];
}

/** The values, their hull, and the outputs inside it; the chosen query's mixture as lines. */
export function valueOutputPlane(app) {
  const note = "The wider the line, the larger the weight.";
  const frame = plane("{v:Values} and {z:outputs}", note, { role: "img" });
  app.watch((state, { V, weights, out }) => {
    const i = state.query;
    ground(frame, limitFor(V));
    const hull = convexHull(V).map((corner) => frame.at(corner).join(",")).join(" ");
    const lines = V.map((value, j) => mixLine(frame, out[i], value, weights[i][j]));
    const texts = [{ at: out[i], text: app.tokens[i], kind: "mm-output-text" },
      ...V.map((at, j) => ({ at, text: app.tokens[j], kind: "mm-value-text" }))];
    frame.front.replaceChildren(svg("polygon", { points: hull, class: "mm-hull" }), ...lines,
      ...V.map((at) => mark(frame, at, "mm-value")),
      ...range(out.length).filter((q) => q !== i).map((q) => mark(frame, out[q], "mm-output")),
      mark(frame, out[i], "mm-output mm-chosen"), ...labels(frame, texts));
    frame.picture.setAttribute("aria-label", `Values, and the outputs between them. `
      + `The output of ${app.tokens[i]} is ${pair(out[i])}.`);
  });
  return frame.box;
}

function mixLine(frame, from, to, weight) {
  const [[x1, y1], [x2, y2]] = [frame.at(from), frame.at(to)];
  return svg("line", { x1, y1, x2, y2, class: "mm-mix", "stroke-width": 7 * weight });
}

function mark(frame, at, name) {
  const [x, y] = frame.at(at);
  const r = name.includes("mm-chosen") ? 6 : 4;
  const transform = name.startsWith("mm-output") ? `rotate(45 ${x} ${y})` : null;
  const size = { x: x - r, y: y - r, width: 2 * r, height: 2 * r };
  return svg("rect", { ...size, class: name, transform });
}
