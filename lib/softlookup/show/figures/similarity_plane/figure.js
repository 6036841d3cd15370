// The similarity plane: two vectors to drag, three measures of them, and a map to try them under.

import { button, liveRegion, say, slider } from "../../kit/controls.js";
import { handle, pointed } from "../../kit/drag.js";
import { el, line, svg, text } from "../../kit/elements.js";
import { clamp, range } from "../../kit/maths.js";
import { format, listed } from "../../kit/numbers.js";
import { arrow } from "../../kit/plane.js";
import { row, table } from "../../kit/table.js";
import { mapped, measures, same } from "./maths.js";

const REACH = 6; // both planes show −6 to 6, and the tips stay inside
const SIZE = 260;
const KINDS = ["sp-x", "sp-y"];
const STILL = { across: 1, whole: 1, turn: 0, shift: 0 };
const SLIDERS = [
  { key: "turn", label: "Turn", min: -180, max: 180, step: 5, unit: "°" },
  { key: "whole", label: "Stretch all", min: 0.25, max: 3, step: 0.05, unit: "×" },
  { key: "across", label: "Stretch across only", min: 0.25, max: 3, step: 0.05, unit: "×" },
  { key: "shift", label: "Shift to the right", min: -3, max: 3, step: 0.1, unit: "" },
];
const PRESETS = [
  ["Start", null],
  [
    "One direction",
    [
      [1, 0.5],
      [3, 1.5],
    ],
  ],
  [
    "Right angle",
    [
      [2, 1],
      [-1.5, 3],
    ],
  ],
  [
    "Opposite",
    [
      [2, 1],
      [-2, -1],
    ],
  ],
  [
    "A zero vector",
    [
      [2, 1],
      [0, 0],
    ],
  ],
];
const ROWS = [
  ["cosine", "cosine"],
  ["dot", "dot product"],
  ["distance", "distance"],
];

const inside = (value) => clamp(value, -REACH, REACH);
const snap = (value, step) => Math.round(inside(value) / step) * step;
const tidy = (point) => point.map((value) => Number(value.toFixed(2)) + 0);
const shown = (value) => format(same(value, 0) ? 0 : value, 4);
const pair = (point) => `(${point.map((value) => format(value, 3)).join(", ")})`;

/** A picture of the plane from −limit to limit. */
function plane(attributes) {
  const picture = svg("svg", { class: "sp-plane", viewBox: `0 0 ${SIZE} ${SIZE}`, ...attributes });
  const [back, front] = [svg("g", { "aria-hidden": "true" }), svg("g")];
  picture.append(back, front);
  const at = ([a, b]) => [a, -b].map((c) => ((c / REACH + 1) * SIZE) / 2);
  return { picture, back, front, at };
}

/** The lines of a grid of step 1, each point sent through the map first. */
function grid(frame, move) {
  const ticks = range(2 * REACH + 1).map((k) => k - REACH);
  return ticks.flatMap((t) => [
    line(frame.at(move([t, -REACH])), frame.at(move([t, REACH])), "sp-grid"),
    line(frame.at(move([-REACH, t])), frame.at(move([REACH, t])), "sp-grid"),
  ]);
}

function axes(frame) {
  return [
    line(frame.at([-REACH, 0]), frame.at([REACH, 0]), "sp-axis"),
    line(frame.at([0, -REACH]), frame.at([0, REACH]), "sp-axis"),
    text([SIZE - 4, SIZE / 2 + 13], format(REACH), "sp-tick", "end"),
  ];
}

/** An arrow from the origin, or a dot for a vector too short to have a direction. */
function vector(frame, tip, kind) {
  const [from, to] = [frame.at([0, 0]), frame.at(tip)];
  if (Math.hypot(to[0] - from[0], to[1] - from[1]) >= 1)
    return arrow(from, to, { class: kind }, 9, 4);
  return svg("circle", { cx: from[0], cy: from[1], r: 3, class: kind });
}

/** The angle between the arrows, as an arc around the origin. */
function arc(frame, points) {
  if (points.some((point) => Math.hypot(...point) < 1e-9)) return null;
  const [from, to] = points.map(([a, b]) => Math.atan2(b, a));
  const turn = Math.atan2(Math.sin(to - from), Math.cos(to - from));
  const radius = 0.14 * REACH;
  const along = range(25)
    .map((k) => from + (turn * k) / 24)
    .map((angle) => frame.at([radius * Math.cos(angle), radius * Math.sin(angle)]).join(","));
  return svg("polyline", { class: "sp-arc", points: along.join(" ") });
}

function label(frame, tip, words, kind) {
  const [x, y] = frame.at(tip);
  const length = Math.hypot(...tip) || 1;
  const [dx, dy] = [(15 * tip[0]) / length, (-15 * tip[1]) / length];
  const place = [x + dx, y + dy + 5].map((value) => clamp(value, 8, SIZE - 8));
  return text(place, words, `sp-name ${kind}`, "middle");
}

function drawing(frame, points, names) {
  return [
    line(...points.map(frame.at), "sp-gap"),
    arc(frame, points),
    ...points.map((tip, k) => vector(frame, tip, KINDS[k])),
    ...points.map((tip, k) => label(frame, tip, names[k], KINDS[k])),
  ].filter(Boolean);
}

function tableOf() {
  const cells = Object.fromEntries(
    ROWS.map(([key]) => [
      key,
      ["before", "after", "word"].map((part) => el("td", { "data-key": `${key}:${part}` })),
    ]),
  );
  const rows = ROWS.map(([key, name]) => row(name, cells[key]));
  return { cells, numbers: table("sp-table", ["measure", "here", "after the map", ""], rows) };
}

/** Build the figure inside an empty element. */
export function mount(root, { names, start }) {
  const state = { points: start.map((point) => [...point]), map: { ...STILL } };
  const here = plane({ role: "group", "aria-label": "Two vectors, tips to move" });
  const after = plane({ role: "img", "aria-label": "The two vectors after the map" });
  const drawn = svg("g", { "aria-hidden": "true" });
  const handles = names.map((name, k) => tip(name, k));
  here.front.append(drawn, ...handles);
  const { cells, numbers } = tableOf();
  const live = liveRegion("sp-live");
  const sliders = SLIDERS.map(({ key, label: name, min, max, step }) =>
    slider(
      name,
      { min, max, step },
      (value) => {
        state.map[key] = value;
        update();
      },
      "sp-field",
    ),
  );

  function place(k, point) {
    state.points[k] = tidy(point.map(inside));
    update();
  }

  function tip(name, k) {
    return handle(
      {
        name: KINDS[k],
        reach: 18,
        "aria-roledescription": "vector",
        "aria-label": `Vector ${name}, arrow keys move its tip`,
        "aria-valuemin": -REACH,
        "aria-valuemax": REACH,
        moves: {
          drag: (event) => {
            const [right, down] = pointed(event, here.picture);
            place(
              k,
              [2 * right - 1, 1 - 2 * down].map((share) => snap(REACH * share, 0.05)),
            );
          },
          step: (by) =>
            place(
              k,
              state.points[k].map((value, c) => value + by[c]),
            ),
        },
      },
      svg("circle", { r: 6, class: "sp-dot" }),
    );
  }

  function tell(before, later, image) {
    const kept = ROWS.filter(([key]) => same(before[key], later[key])).map(([, name]) => name);
    const angle =
      before.degrees === null
        ? "A zero vector has no direction: the cosine is 0/0, and 0 by the library’s rule."
        : `The angle between ${names.join(" and ")} is ${format(before.degrees, 4)}°.`;
    const moved = Object.entries(STILL).some(([key, value]) => state.map[key] !== value);
    const verdict = moved
      ? ` The map leaves unchanged: ${listed(kept) || "none of the three"}.`
      : "";
    const out = names.filter((_, k) => Math.max(...image[k].map(Math.abs)) > REACH);
    const lost = out.length ? ` The tip of ${listed(out)} lies outside the picture.` : "";
    say(live, angle + verdict + lost);
  }

  function update() {
    const move = (point) => mapped(point, state.map);
    const image = state.points.map(move);
    const [before, later] = [measures(...state.points), measures(...image)];
    here.back.replaceChildren(...grid(here, (point) => point), ...axes(here));
    drawn.replaceChildren(...drawing(here, state.points, names));
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
      cells[key].forEach((cell, c) => {
        cell.textContent = texts[c];
      });
      cells[key][2].className = kept ? "sp-same" : "sp-changed";
    }
    SLIDERS.forEach(({ key, unit }, s) =>
      sliders[s].show(format(state.map[key], 3) + unit, state.map[key]),
    );
    tell(before, later, image);
  }

  const presets = PRESETS.map(([name, points]) =>
    button(name, () => {
      state.points = (points ?? start).map((point) => [...point]);
      update();
    }),
  );
  const still = button("Reset the map", () => {
    state.map = { ...STILL };
    update();
  });
  const box = (title, picture) =>
    el("div", { class: "sp-box" }, el("p", { class: "sp-title" }, title), picture);
  root.append(
    el("div", { class: "sl-controls", role: "group", "aria-label": "Examples" }, presets),
    el(
      "div",
      { class: "sp-planes" },
      box("Drag the tips, or use the arrow keys", here.picture),
      box("After the map", after.picture),
    ),
    el(
      "div",
      { class: "sl-controls sp-map" },
      sliders.map(({ field }) => field),
      still,
    ),
    el("div", { class: "sl-scroll" }, numbers),
    live,
  );
  update();
}
