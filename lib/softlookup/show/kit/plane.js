// Pictures of the plane: arrows, and labels that keep out of each other's way.

import { line, svg } from "./elements.js";

/** Half the width of a picture that holds all points: one of some round numbers, times 1, 10, ... */
export function limitFor(points, rounds, room) {
  const largest = room * Math.max(...points.flat().map(Math.abs));
  let unit = 1;
  while (rounds.at(-1) * unit < largest) unit *= 10;
  return unit * rounds.find((round) => round * unit >= largest);
}

/** An arrow between two points of the picture; its head is at most so long, and twice `half` wide. */
export function arrow([x0, y0], [x1, y1], attributes, head, half) {
  const length = Math.hypot(x1 - x0, y1 - y0);
  const [ux, uy] = length ? [(x1 - x0) / length, (y1 - y0) / length] : [0, 0];
  const size = Math.min(head, length);
  const [hx, hy] = [x1 - size * ux, y1 - size * uy];
  const [dx, dy] = [-half * uy, half * ux];
  const corners = [
    [x1, y1],
    [hx + dx, hy + dy],
    [hx - dx, hy - dy],
  ];
  const points = corners.map((corner) => corner.join(",")).join(" ");
  return svg("g", attributes, line([x0, y0], [hx, hy]), svg("polygon", { points }));
}

/**
 * The place that covers least of what is taken, for a label of some width; it is then taken, too.
 * `extra` is what else a place costs, from its shift [dx, dy]: covering one label costs 1.
 */
export function placeLabel([x, y], width, { places, taken, size, extra = () => 0 }) {
  const candidates = places.map(([dx, dy, anchor], rank) => {
    const left = x + dx - { start: 0, end: width, middle: width / 2 }[anchor];
    const box = [left, y + dy - 11, left + width, y + dy + 3];
    const hits = taken.filter((other) => overlap(box, other)).length;
    const outside = box[0] < 0 || box[1] < 0 || box[2] > size || box[3] > size;
    return { dx, dy, anchor, box, cost: hits + (outside ? 9 : 0) + extra([dx, dy]) + rank / 100 };
  });
  const best = candidates.reduce((a, b) => (b.cost < a.cost ? b : a));
  taken.push(best.box);
  return best;
}

/** A box around a point, to be kept free. */
export const around = ([x, y], reach) => [x - reach, y - reach, x + reach, y + reach];

const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
