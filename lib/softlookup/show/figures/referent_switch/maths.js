// Two steps of attention in the browser: the arithmetic of softlookup.attention and masks.
// A matrix is a list of rows; a row is a word.

import { softmax } from "../../kit/maths.js";

/** The matrix product of A and B. */
export function multiply(A, B) {
  return A.map((row) => B[0].map((_, c) => row.reduce((sum, a, k) => sum + a * B[k][c], 0)));
}

/** softmax(QKᵀ/√d_k) along each row; causal: word i reads the words 0 to i, and no other. */
export function attentionWeights(Q, K, causal) {
  return Q.map((q, i) => {
    const read = causal ? K.slice(0, i + 1) : K;
    const scores = read.map((k) => q.reduce((sum, a, c) => sum + a * k[c], 0) / Math.sqrt(q.length));
    const weights = softmax(scores);
    return K.map((_, j) => weights[j] ?? 0);
  });
}

/** Each step reads and adds what it read: X + AV. The weights of every step, and the last X. */
export function readings(X, steps, causal) {
  let x = X;
  const weights = steps.map(({W_Q, W_K, W_V}) => {
    const A = attentionWeights(multiply(x, W_Q), multiply(x, W_K), causal);
    const Z = multiply(A, multiply(x, W_V));
    x = x.map((row, i) => row.map((value, c) => value + Z[i][c]));
    return A;
  });
  return {weights, x};
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
