// What the collapse cloud reckons: which run the switches choose, and where numbers are drawn.

const NORMS = ["none", "pre", "post"];
const FLOOR = 1e-4; // what is smaller, zero too, is drawn here
export const NOTHING = 1e-17; // what is smaller is called 0
const GAP = 13; // pixels from one name to the next
const TOUCH = 6; // square pixels
const NEAR = [
  [6, -4],
  [6, 12],
  [-6, -4],
  [-6, 12],
  [0, -7],
  [0, 16],
];
const FAR = [
  [20, -20],
  [20, 28],
  [-20, -20],
  [-20, 28],
  [0, -24],
  [0, 32],
];
const PLACES = [...NEAR, ...FAR];

/** The number of the run that has these parts: the size first, then norm, feed-forward, skip. */
export function runOf({ norm, feedForward, skip, small = false }) {
  return 12 * Number(small) + 4 * NORMS.indexOf(norm) + 2 * Number(feedForward) + Number(skip);
}

/** What the line of a run is called, by its number. */
export function nameOf(run) {
  const norm = NORMS[Math.floor((run % 12) / 4)];
  const parts = [run % 2 && "skip", run % 4 > 1 && "FFN", norm !== "none" && norm].filter(Boolean);
  return parts.join(", ") || "attention";
}

/** The names of twelve lines, each as near to the line's end as there is room, one below the other:
 *  what it says, where the line ends, where the name stands, and which of the lines it names. Lines
 *  that end at the floor share one name. */
export function namesOf(residuals, { top, height }, isLinear = false) {
  const ends = residuals.map((values) => values.at(-1));
  const lines = ends.map((_, run) => run);
  const high = lines.filter((run) => ends[run] > FLOOR).sort((a, b) => ends[b] - ends[a]);
  const low = lines.filter((run) => ends[run] <= FLOOR);
  const names = high.map((run) => ({ words: nameOf(run), end: top + height * fallOf(ends[run], isLinear), runs: [run] }));
  if (low.length > 1) {
    const isAll = low.every((run) => run % 2 === 0) && low.length === residuals.length / 2;
    const words = isAll ? "without skip" : `${low.length} choices`;
    names.push({ words, end: top + height, runs: low });
  } else low.forEach((run) => names.push({ words: nameOf(run), end: top + height, runs: low }));
  names.forEach((name, k) => (name.at = Math.max(name.end, k ? names[k - 1].at + GAP : top)));
  let least = top + height;
  for (const name of names.toReversed()) {
    name.at = Math.min(name.at, least);
    least = name.at - GAP;
  }
  return names;
}

/** Where a residual stands on the axis, 0 for the top and 1 for the bottom. The top is 1; the bottom
 *  of the logarithmic axis is the floor, that of the linear one is 0. */
export function fallOf(residual, isLinear = false) {
  if (isLinear) return 1 - Math.min(1, residual);
  return Math.log(Math.min(1, Math.max(residual, FLOOR))) / Math.log(FLOOR);
}

/** The points of a curve in a box: one value per depth, from left to right. */
export function curveOf(residuals, { left, top, width, height }, isLinear = false) {
  const step = width / (residuals.length - 1);
  return residuals.map((value, depth) => [left + step * depth, top + height * fallOf(value, isLinear)]);
}

/** The largest distance from the centre, over all depths of all runs. */
export function reachOf(runs) {
  return Math.max(...runs.flatMap(({ points }) => points.flat().map(([x, y]) => Math.hypot(x, y))));
}

/** What a residual means, in words. */
export function stateOf(residual) {
  if (residual < 1e-14) return "one"; // rounding errors
  return residual < 0.05 ? "nearly one" : "apart";
}

/** A place for each word near its dot, so that words overlap as little as can be, one by one, and
 *  where there is a choice, off the ring around the origin. Dots, widths and the ring's radius are in
 *  pixels; the answer is where a word begins, or ends if to the left, or has its middle if straight
 *  above or below; and null where it would cover more than a touch of what is there already. */
export function placeWords(dots, widths, ring = 0) {
  const placed = dots.map(([x, y]) => [x - 4, y - 4, x + 4, y + 4]);
  return dots.map((dot, i) => {
    const boxes = PLACES.map((place) => boxOf(dot, place, widths[i]));
    const covers = boxes.map((box) => placed.reduce((sum, other) => sum + overlap(box, other), 0));
    const costs = covers.map((cover, k) => cover + (isCrossed(boxes[k], ring) ? TOUCH : 0));
    const best = costs.indexOf(Math.min(...costs));
    if (covers[best] > TOUCH) return null;
    placed.push(boxes[best]);
    return PLACES[best];
  });
}

/** Whether a word stands so far from its dot that a line must lead to it. */
export function isFar([dx, dy]) {
  return FAR.some(([x, y]) => x === dx && y === dy);
}

function boxOf([x, y], [dx, dy], width) {
  const left = x + dx - (dx < 0 ? width : dx > 0 ? 0 : width / 2);
  return [left, y + dy - 9, left + width, y + dy + 2];
}

/** Whether a circle around the origin passes through a box. */
function isCrossed([left, top, right, bottom], radius) {
  const near = Math.hypot(Math.max(left, 0, -right), Math.max(top, 0, -bottom));
  const far = Math.hypot(Math.max(-left, right), Math.max(-top, bottom));
  return near < radius && radius < far;
}

function overlap(a, b) {
  const wide = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
  const high = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  return Math.max(0, wide) * Math.max(0, high);
}
