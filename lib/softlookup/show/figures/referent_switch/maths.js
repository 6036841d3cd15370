// Two steps of attention in the browser: the arithmetic of softlookup.attention and masks.
// A matrix is a list of rows; a row is a word.

import { attentionWeights, multiply } from "../../kit/matrices.js";

/** Each step reads and adds what it read: X + AV. The weights of every step, and the last X. */
export function readings(X, steps, causal) {
  let x = X;
  const weights = steps.map(({ W_Q, W_K, W_V }) => {
    const A = attentionWeights(multiply(x, W_Q), multiply(x, W_K), causal);
    const Z = multiply(A, multiply(x, W_V));
    x = x.map((row, i) => row.map((value, c) => value + Z[i][c]));
    return A;
  });
  return { weights, x };
}

/** The largest difference between two rows. */
export function largestDifference(row, other) {
  return row.reduce((most, value, j) => Math.max(most, Math.abs(value - other[j])), 0);
}

/** Which of the places has the largest weight; null if the two largest are equal. */
export function chosen(weights, places) {
  const [first, second] = [...places].sort((a, b) => weights[b] - weights[a]);
  return weights[first] - weights[second] > 1e-9 ? first : null;
}
