// The similarity plane: two vectors to drag, three measures of them, and a map to try them under.

import { draggable } from "../../kit/drag.js";
import { el, svg } from "../../kit/elements.js";
import { format } from "../../kit/numbers.js";
import { mapped, measures, same } from "./maths.js";

const REACH = 4; // the plane shows −4 to 4, and vectors stay inside
const SIZE = 260;
const KINDS = ["sp-x", "sp-y"];
const STILL = { across: 1, whole: 1, turn: 0, shift: 0 };
const FIRST = { ...STILL, turn: 40, whole: 1.5 };
const SLIDERS = [
  { key: "turn", label: "Turn", min: -180, max: 180, step: 5, unit: "°" },
  { key: "whole", label: "Stretch all", min: 0.25, max: 3, step: 0.05, unit: "×" },
  { key: "across", label: "Stretch across only", min: 0.25, max: 3, step: 0.05, unit: "×" },
  { key: "shift", label: "Shift to the right", min: -3, max: 3, step: 0.1, unit: "" },
];
const PRESETS = [
  ["Start", null],
  ["One direction", [[1, 0.5], [3, 1.5]]],
  ["Right angle", [[2, 1], [-1.5, 3]]],
  ["Opposite", [[2, 1], [-2, -1]]],
  ["A zero vector", [[2, 1], [0, 0]]],
];
const ROWS = [["cosine", "cosine"], ["dot", "dot product"], ["distance", "distance"]];

const clamp = (value) => Math.min(REACH, Math.max(-REACH, value));
const snap = (value, step) => Math.round(clamp(value) / step) * step;
const tidy = (point) => point.map((value) => Number(value.toFixed(2)) + 0);
const shown = (value) => format(same(value, 0) ? 0 : value, 4);
const pair = (point) => `(${point.map((value) => format(value, 3)).join(", ")})`;

/** A picture of the plane from −limit to limit. */
function plane(attributes) {
  const picture = svg("svg", { class: "sp-plane", viewBox: `0 0 ${SIZE} ${SIZE}`, ...attributes });
  const [back, front] = [svg("g", { "aria-hidden": "true" }), svg("g")];
  picture.append(back, front);
  const frame = { picture, back, front, limit: REACH };
  frame.at = ([a, b]) => [a, -b].map((c) => ((c / frame.limit + 1) * SIZE) / 2);
  return frame;
}

function line(frame, from, to, name) {
  const [[x1, y1], [x2, y2]] = [frame.at(from), frame.at(to)];
  return svg("line", { x1, y1, x2, y2, class: name });
}

/** The lines of a grid of step 1, each point sent through the map first. */
function grid(frame, move) {
  const ticks = Array.from({ length: 2 * REACH + 1 }, (_, k) => k - REACH);
  return ticks.flatMap((t) => [
    line(frame, move([t, -REACH]), move([t, REACH]), "sp-grid"),
    line(frame, move([-REACH, t]), move([REACH, t]), "sp-grid"),
  ]);
}

function axes(frame) {
  const [m, end] = [frame.limit, SIZE - 4];
  return [line(frame, [-m, 0], [m, 0], "sp-axis"), line(frame, [0, -m], [0, m], "sp-axis"),
    svg("text", { class: "sp-tick", x: end, y: SIZE / 2 + 13, "text-anchor": "end" }, format(m))];
}

function arrow(frame, tip, kind) {
  const [[x0, y0], [x1, y1]] = [frame.at([0, 0]), frame.at(tip)];
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (length < 1) return svg("circle", { cx: x0, cy: y0, r: 3, class: kind });
  const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
  const head = Math.min(9, length);
  const [hx, hy] = [x1 - head * ux, y1 - head * uy];
  const corners = [[x1, y1], [hx - 4 * uy, hy + 4 * ux], [hx + 4 * uy, hy - 4 * ux]];
  return svg("g", { class: kind }, svg("line", { x1: x0, y1: y0, x2: hx, y2: hy }),
    svg("polygon", { points: corners.map((corner) => corner.join(",")).join(" ") }));
}

/** The angle between the arrows, as an arc around the origin. */
function arc(frame, points) {
  if (points.some((point) => Math.hypot(...point) < 1e-9)) return null;
  const [from, to] = points.map(([a, b]) => Math.atan2(b, a));
  const turn = Math.atan2(Math.sin(to - from), Math.cos(to - from));
  const radius = 0.18 * frame.limit;
  const along = Array.from({ length: 25 }, (_, k) => from + (turn * k) / 24)
    .map((angle) => frame.at([radius * Math.cos(angle), radius * Math.sin(angle)]).join(","));
  return svg("polyline", { class: "sp-arc", points: along.join(" ") });
}

function label(frame, tip, text, kind) {
  const [x, y] = frame.at(tip);
  const length = Math.hypot(...tip) || 1;
  const [dx, dy] = [(15 * tip[0]) / length, (-15 * tip[1]) / length];
  const inside = (value) => Math.min(SIZE - 8, Math.max(8, value));
  const place = { x: inside(x + dx), y: inside(y + dy + 5), "text-anchor": "middle" };
  return svg("text", { class: `sp-name ${kind}`, ...place }, text);
}

function drawing(frame, points, names) {
  return [line(frame, ...points, "sp-gap"), arc(frame, points),
    ...points.map((tip, k) => arrow(frame, tip, KINDS[k])),
    ...points.map((tip, k) => label(frame, tip, names[k], KINDS[k]))].filter(Boolean);
}

function slider({ key, label: text, min, max, step, unit }, onChange) {
  const output = el("span", { class: "sp-number" }); // an <output> would take the label
  const input = el("input", { type: "range", min, max, step, class: "sp-slider",
    oninput: () => onChange(key, input.valueAsNumber) });
  const set = (value) => {
    input.value = value;
    output.textContent = format(value, 3) + unit;
  };
  return { set, field: el("label", { class: "sl-field sp-field" },
    label( `${text}: `, output), input) };
}

function tableOf() {
  const cells = Object.fromEntries(ROWS.map(([key]) => [key,
    ["before", "after", "word"].map((part) => el("td", { "data-key": `${key}:${part}` }))]));
  const heads = ["measure", "here", "after the map", ""].map((text) =>
    (text ? el("th", { scope: "col" }, text) : el("td", {})));
  const rows = ROWS.map(([key, name]) =>
    el("tr", {}, el("th", { scope: "row" }, name), cells[key]));
  return { cells, table: el("table", { class: "sp-table" }, el("thead", {}, el("tr", {}, heads)),
    el("tbody", {}, rows)) };
}

/** Build the figure inside an empty element. */
export function mount(root, { names, start }) {
  const state = { points: start.map((point) => [...point]), map: { ...FIRST } };
  const here = plane({ role: "group", "aria-label": "Two vectors, tips to move" });
  const after = plane({ role: "img", "aria-label": "The two vectors after the map" });
  const drawn = svg("g", { "aria-hidden": "true" });
  const handles = names.map((name, k) => handle(name, k));
  here.front.append(drawn, ...handles);
  const { cells, table } = tableOf();
  const live = liveRegion("sp-live");
  const sliders = SLIDERS.map((one) => slider(one, (key, value) => {
    state.map[key] = value;
    update();
  }));

  function place(k, point) {
    state.points[k] = tidy(point.map(clamp));
    update();
  }

  function handle(name, k) {
    return svg("g", { class: `sl-handle ${KINDS[k]}`, role: "slider", tabindex: "0",
      "aria-roledescription": "vector", "aria-label": `Vector ${name}, arrow keys move its tip`,
      "aria-valuemin": -REACH, "aria-valuemax": REACH,
      ...draggable({
        drag: (event) => {
          const box = here.picture.getBoundingClientRect();
          const right = (2 * (event.clientX - box.left)) / box.width - 1;
          const up = 1 - (2 * (event.clientY - box.top)) / box.height;
          place(k, [right, up].map((share) => snap(REACH * share, 0.05)));
        },
        step: (by) => place(k, state.points[k].map((value, c) => value + by[c])),
      }),
    }, svg("circle", { r: 18, class: "sl-reach" }), svg("circle", { r: 6, class: "sp-dot" }));
  }

  function say(before, later) {
    const kept = ROWS.filter(([key]) => same(before[key], later[key])).map(([, name]) => name);
    const angle = before.degrees === null
      ? "A zero vector has no direction: the cosine is 0/0, and 0 by the library’s rule."
      : `The angle between ${names.join(" and ")} is ${format(before.degrees, 4)}°.`;
    const moved = Object.entries(STILL).some(([key, value]) => state.map[key] !== value);
    const list = kept.join(", ").replace(/, ([^,]*)$/, " and $1");
    const verdict = moved ? ` The map leaves ${list || "none of the three"} as before.` : "";
    if (live.textContent !== angle + verdict) live.textContent = angle + verdict;
  }

  function update() {
    const move = (point) => mapped(point, state.map);
    const image = state.points.map(move);
    const [before, later] = [measures(...state.points), measures(...image)];
    here.back.replaceChildren(...grid(here, (point) => point), ...axes(here));
    drawn.replaceChildren(...drawing(here, state.points, names));
    const largest = Math.max(...image.flat().map(Math.abs));
    after.limit = [4, 6, 8, 12, 16, 24, 40, 60].find((limit) => limit >= 1.08 * largest);
    after.back.replaceChildren(...grid(after, move), ...axes(after));
    after.front.replaceChildren(...drawing(after, image, names));
    handles.forEach((node, k) => {
      node.setAttribute("transform", `translate(${here.at(state.points[k]).join(" ")})`);
      node.setAttribute("aria-valuenow", state.points[k][0]);
      node.setAttribute("aria-valuetext", pair(state.points[k]));
    });
    for (const [key] of ROWS) {
      const kept = same(before[key], later[key]);
      const texts = [shown(before[key]), shown(later[key]), kept ? "= the same" : "≠ changed"];
      cells[key].forEach((cell, c) => { cell.textContent = texts[c]; });
      cells[key][2].className = kept ? "sp-same" : "sp-changed";
    }
    SLIDERS.forEach(({ key }, s) => sliders[s].set(state.map[key]));
    say(before, later);
  }

  const button = (text, onclick) =>
    el("button", { type: "button", class: "sl-button", onclick }, text);
  const presets = PRESETS.map(([text, points]) => button(text, () => {
    state.points = (points ?? start).map((point) => [...point]);
    update();
  }));
  const still = button("Reset the map", () => {
    state.map = { ...STILL };
    update();
  });
  const box = (title, picture) => el("div", { class: "sp-box" },
    el("p", { class: "sp-title" }, title), picture);
  root.append(el("div", { class: "sl-controls", role: "group", "aria-label": "Examples" }, presets),
    el("div", { class: "sp-planes" }, box("Drag the tips, or use the arrow keys", here.picture),
      box("After the map", after.picture)),
    el("div", { class: "sl-controls sp-map" }, sliders.map(({ field }) => field), still),
    el("div", { class: "sl-scroll" }, table), live);
  update();
}
