// A streaming cache: which keys it holds, what is read from it, and how far that is from the whole.

import { softmax } from "../../kit/maths.js";

/** The positions in the cache when position i is read: the first `sinks`, and the last `width`. */
function cached(i, width, sinks) {
  const positions = [];
  for (let j = 0; j <= i; j += 1) if (j < sinks || j > i - width) positions.push(j);
  return positions;
}

/** A weighted mean of some rows. */
function read(weights, rows) {
  return rows[0].map((_, column) => weights.reduce((sum, p, k) => sum + p * rows[k][column], 0));
}

/** One step: weights by position (0 for what is not in the cache), what is read, how far off. */
export function step(scores, values, i, width, sinks) {
  const positions = cached(i, width, sinks);
  const full = softmax(scores[i]);
  const kept = softmax(positions.map((j) => scores[i][j]));
  const weights = full.map(() => 0);
  positions.forEach((j, k) => {
    weights[j] = kept[k];
  });
  const out = read(
    kept,
    positions.map((j) => values[j]),
  );
  const whole = read(full, values.slice(0, i + 1));
  const held = positions.reduce((sum, j) => sum + full[j], 0);
  const error = Math.hypot(...out.map((x, column) => x - whole[column]));
  return { positions, full, weights, out, lost: 1 - held, error };
}

/** The error at every position. */
export function errors(scores, values, width, sinks) {
  return scores.map((_, i) => step(scores, values, i, width, sinks).error);
}
