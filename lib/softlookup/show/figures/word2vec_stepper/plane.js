// The plane of the word2vec stepper: word vectors as discs, context vectors as squares.

import { el, line, svg, text } from "../../kit/elements.js";
import { clamp } from "../../kit/maths.js";
import { around, limitFor, placeLabel } from "../../kit/plane.js";

const SIZE = 300;
const MOST_NAMES = 5;
const NEAR = [
  [8, 4, "start"],
  [-8, 4, "end"],
  [0, -8, "middle"],
  [0, 17, "middle"],
  [7, -6, "start"],
  [-7, -6, "end"],
  [7, 14, "start"],
  [-7, 14, "end"],
];
const FAR = [18, 30, 44].flatMap((r) => [
  [r, 4, "start"],
  [-r, 4, "end"],
  [0, 4 - r, "middle"],
  [0, 4 + r, "middle"],
  [0.8 * r, 4 - 0.8 * r, "start"],
  [-0.8 * r, 4 - 0.8 * r, "end"],
  [0.8 * r, 4 + 0.8 * r, "start"],
  [-0.8 * r, 4 + 0.8 * r, "end"],
]);
const PLACES = [...NEAR, ...FAR];
const ROUND = [1, 1.5, 2, 3, 4, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100];

/** A label near its point, in the first place that covers least; the place is then taken.
 *  From further away a line leads to the point. */
function label([x, y], words, kind, taken) {
  const best = placeLabel([x, y], 6.6 * words.length, { places: PLACES, taken, size: SIZE });
  const name = text([x + best.dx, y + best.dy], words, `ws-label ${kind}`, best.anchor);
  if (NEAR.some(([dx, dy]) => dx === best.dx && dy === best.dy)) return [name];
  const [left, top, right, bottom] = best.box; // the line ends where the label comes nearest
  const end = [clamp(x, left, right), clamp(y, top, bottom)];
  return [line([x, y], end, `ws-leader ${kind}`), name];
}

/** Noise words get names on their squares; all words of a softmax would cover the plane. */
const squaresToName = (pushed, context) =>
  pushed.length > MOST_NAMES ? [] : [...new Set(pushed)].filter((r) => r !== context);

/** The picture and the function that draws a state into it. */
export function makePlane(words) {
  const picture = svg("svg", { class: "ws-plane", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img" });
  const key = (shape, words) =>
    el(
      "span",
      { class: "ws-key" },
      svg("svg", { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, shape),
      words,
    );
  const box = el(
    "div",
    { class: "ws-planebox" },
    picture,
    el(
      "p",
      { class: "sl-note ws-keys" },
      key(svg("circle", { r: 4, class: "ws-disc" }), "word vector u (a row of U)"),
      key(
        svg("rect", { x: -4, y: -4, width: 8, height: 8, class: "ws-square" }),
        "context vector v (a row of U′)",
      ),
    ),
  );

  function draw({ U, V, before, centre, context, pushed }) {
    const limit = limitFor([...U, ...V], ROUND, 1.12);
    const at = ([a, b]) => [((a / limit + 1) * SIZE) / 2, ((1 - b / limit) * SIZE) / 2];
    const axis = (a, b) => line(at(a), at(b), "ws-axis");
    const trail = (from, to, kind) =>
      from.map((old, r) => {
        const [[x1, y1], [x2, y2]] = [at(old), at(to[r])];
        return Math.hypot(x2 - x1, y2 - y1) < 0.5
          ? null
          : line([x1, y1], [x2, y2], `ws-trail ${kind}`);
      });
    const squares = V.map((v, r) => {
      const [x, y] = at(v);
      const kind = r === context ? "ws-pulled" : pushed.includes(r) ? "ws-pushed" : "";
      const name = svg("title", {}, `${words[r]}′`);
      const place = { x: x - 4, y: y - 4, width: 8, height: 8 };
      return svg("rect", { ...place, class: `ws-square ${kind}` }, name);
    });
    const discs = U.map((u, r) => {
      const [cx, cy] = at(u);
      return svg("circle", {
        cx,
        cy,
        r: r === centre ? 6 : 4,
        class: `ws-disc ${r === centre ? "ws-centre" : ""}`,
      });
    });
    const taken = [...U, ...V].map((one) => around(at(one), 4));
    const named = [
      ...label(at(U[centre]), words[centre], "ws-strong", taken),
      ...label(at(V[context]), `${words[context]}′`, "ws-strong ws-orange", taken),
      ...squaresToName(pushed, context).flatMap((r) => label(at(V[r]), `${words[r]}′`, "", taken)),
      ...U.flatMap((u, r) => (r === centre ? [] : label(at(u), words[r], "", taken))),
    ];
    const corner = text([SIZE - 3, SIZE / 2 + 13], String(limit), "ws-label", "end");
    const all = [
      axis([-limit, 0], [limit, 0]),
      axis([0, -limit], [0, limit]),
      corner,
      ...(before ? [...trail(before.U, U, ""), ...trail(before.V, V, "ws-orange")] : []),
      ...squares,
      ...discs,
      ...named,
    ];
    picture.replaceChildren(...all.filter((part) => part !== null));
    picture.setAttribute(
      "aria-label",
      `All words in the plane, from minus ${limit} to ${limit}: ` +
        `${words[centre]} as a word at ${pair(U[centre])}, ${words[context]} as a context at ` +
        `${pair(V[context])}.`,
    );
  }
  return { box, draw };
}

const pair = (vector) => `(${vector.map((value) => value.toFixed(2)).join(", ")})`;
