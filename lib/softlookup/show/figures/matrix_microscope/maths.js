// What the matrix microscope computes: pure functions on matrices, arrays of rows, in doubles.

import { random, range, sum } from "../../kit/maths.js";
import { multiply, transpose } from "../../kit/matrices.js";

/** The largest |a_ij - b_ij|. */
export function maxDifference(a, b) {
  return Math.max(...a.flatMap((row, i) => row.map((value, j) => Math.abs(value - b[i][j]))));
}

/** How far a square matrix is from its own transpose. */
export const asymmetry = (matrix) => maxDifference(matrix, transpose(matrix));

// Masks: true = may read. A query stands on a row, a key on a column.

const square = (n, allows) => range(n).map((i) => range(n).map((j) => allows(i, j)));
export const causalMask = (n) => square(n, (i, j) => j <= i);
export const windowMask = (n, width) => square(n, (i, j) => Math.abs(i - j) <= width);
export const hiddenKeysMask = (hidden) => square(hidden.length, (i, j) => !hidden[j]);

/** The mask of a setting {causal, window, width, hidden}: a key is read if every part allows it. */
export function maskOf({ causal, window, width, hidden }) {
  const n = hidden.length;
  const parts = [hiddenKeysMask(hidden)];
  if (causal) parts.push(causalMask(n));
  if (window) parts.push(windowMask(n, width));
  return square(n, (i, j) => parts.every((part) => part[i][j]));
}

/** Softmax of each row over the keys that the mask allows; a row that allows none is all zeros. */
export function maskedSoftmax(scores, mask) {
  return scores.map((row, i) => {
    const largest = Math.max(...row.filter((_, j) => mask[i][j]));
    const exps = row.map((score, j) => (mask[i][j] ? Math.exp(score - largest) : 0));
    const total = sum(exps);
    return exps.map((value) => (total > 0 ? value / total : 0));
  });
}

/** Self-attention with rows as tokens, every step of it: softmax(Q K^T / sqrt(d_k)) V. */
export function selfAttention({ x, W_Q, W_K, W_V, mask, scale = true }) {
  const [Q, K, V] = [W_Q, W_K, W_V].map((weight) => multiply(x, weight));
  const products = multiply(Q, transpose(K));
  const divisor = scale ? Math.sqrt(Q[0].length) : 1;
  const scores = products.map((row) => row.map((product) => product / divisor));
  const weights = maskedSoftmax(scores, mask);
  return { Q, K, V, products, divisor, scores, mask, weights, out: multiply(weights, V) };
}

/** How one weight came about: every number between q_i, k_j and A_ij. */
export function explainWeight({ Q, K, V, products, divisor, scores, mask, weights }, i, j) {
  const allowed = mask[i][j];
  const readable = range(K.length).filter((key) => mask[i][key]);
  const largest = Math.max(...readable.map((key) => scores[i][key]));
  const exps = readable.map((key) => Math.exp(scores[i][key] - largest));
  return {
    terms: Q[i].map((value, d) => [value, K[j][d]]),
    product: products[i][j],
    divisor,
    score: scores[i][j],
    allowed,
    readable,
    largest,
    exps,
    exp: allowed ? Math.exp(scores[i][j] - largest) : 0,
    sum: sum(exps),
    weight: weights[i][j],
    value: V[j],
    share: V[j].map((value) => weights[i][j] * value),
  };
}

/**
 * The same tokens as columns: X^T, and the projections' matrices transposed with it.
 * `wrong` carries the rows' formula over, softmax(Q K^T / sqrt(d_k)) V: d_k x d_k scores.
 * `right` is softmax(Q^T K / sqrt(d_k)) with V A^T: n x n scores, the rows' result transposed.
 */
export function columnsForm({ x, W_Q, W_K, W_V, mask, scale = true }) {
  const columns = transpose(x);
  const [Q, K, V] = [W_Q, W_K, W_V].map((weight) => multiply(transpose(weight), columns));
  const divisor = scale ? Math.sqrt(Q.length) : 1;
  const scaled = (matrix) => matrix.map((row) => row.map((value) => value / divisor));
  const features = scaled(multiply(Q, transpose(K)));
  const everything = features.map((row) => row.map(() => true));
  const wrong = { scores: features, out: multiply(maskedSoftmax(features, everything), V) };
  const scores = scaled(multiply(transpose(Q), K));
  const weights = maskedSoftmax(scores, mask);
  return { Q, K, V, wrong, right: { scores, weights, out: multiply(V, transpose(weights)) } };
}

/** The corners of the smallest convex polygon around 2-D points, anticlockwise. */
export function convexHull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const chain = (list) => {
    const corners = [];
    for (const point of list) {
      while (corners.length > 1 && turn(corners.at(-2), corners.at(-1), point) <= 0) corners.pop();
      corners.push(point);
    }
    return corners.slice(0, -1);
  };
  return sorted.length < 2 ? sorted : [...chain(sorted), ...chain(sorted.reverse())];
}

/** Small random matrices, the same for the same seed, to one decimal. */
export function randomMatrices(seed, count, size) {
  const uniform = random(seed);
  const entry = () => Math.round(30 * uniform() - 15) / 10;
  return range(count).map(() => range(size).map(() => range(size).map(entry)));
}
