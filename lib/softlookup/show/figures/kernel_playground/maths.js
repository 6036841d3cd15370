// Nadaraya-Watson for numbers on a line: scores of each kernel, their softmax, the prediction.
// The arithmetic of softlookup.attention; cosine and bilinear scores see a number x as (1, x).

import { dot, softmax } from "../../kit/maths.js";

const features = (x) => [1, x];

const SCORES = {
  laplace: (q, x, width) => -Math.abs(q - x) / width,
  gaussian: (q, x, width) => -(((q - x) / width) ** 2) / 2,
  printed: (q, x, width) => ((q - x) / width) ** 2,
  cosine: (q, x, width) => {
    const [a, b] = [features(q), features(x)];
    return dot(a, b) / (Math.hypot(...a) * Math.hypot(...b)) / width;
  },
  bilinear: (q, x, width, W) =>
    dot(
      features(q),
      W.map((row) => dot(row, features(x))),
    ) / width,
};

/** The score of each known point; width is the bandwidth, or the temperature. */
export function scoresOf(kernel, query, xs, width, W) {
  return xs.map((x) => SCORES[kernel](query, x, width, W) + 0); // a zero is +0, never −0
}

/** The weight of each known point, and the prediction that they mix. */
export function smooth(kernel, query, xs, ys, width, W) {
  const scores = scoresOf(kernel, query, xs, width, W);
  const weights = softmax(scores);
  return { scores, weights, prediction: dot(weights, ys) };
}

/** The predictions along a line from one end to the other, as [query, prediction]. */
export function curve(kernel, from, to, steps, xs, ys, width, W) {
  return Array.from({ length: steps + 1 }, (_, i) => {
    const query = from + ((to - from) * i) / steps;
    return [query, smooth(kernel, query, xs, ys, width, W).prediction];
  });
}
