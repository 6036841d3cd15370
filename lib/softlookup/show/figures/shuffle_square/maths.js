// Two ways around the permutation square: the arithmetic of softlookup.attention and masks.
// A matrix is a list of rows; a row is a word. order[i] says which word stands at place i.

import { attentionWeights, multiply } from "../../kit/matrices.js";

/** softmax(QKᵀ/√d_k) V and its weights; causal: place i reads the places 0 to i, and no other. */
export function attend({ Q, K, V }, causal) {
  const weights = attentionWeights(Q, K, causal);
  return { weights, out: multiply(weights, V) };
}

/** The words' queries, keys and values in some order; a code is added to the place, not the word. */
function placed(parts, codes, order) {
  return Object.fromEntries(
    ["Q", "K", "V"].map((name) => [
      name,
      order.map((word, i) =>
        parts[name][word].map((value, c) => value + (codes ? codes[name][i][c] : 0)),
      ),
    ]),
  );
}

/** The sentence attended as it stands, and both results for the words in another order. */
export function bothWays(parts, codes, order, causal) {
  const start = attend(
    placed(
      parts,
      codes,
      order.map((_, i) => i),
    ),
    causal,
  );
  const shuffled = attend(placed(parts, codes, order), causal);
  const moved = {
    weights: order.map((i) => order.map((j) => start.weights[i][j])),
    out: order.map((i) => start.out[i]),
  };
  return { start, shuffled, moved, difference: largest(shuffled.out, moved.out) };
}

/** The largest difference between two matrices. */
export function largest(A, B) {
  return Math.max(...A.flatMap((row, i) => row.map((value, c) => Math.abs(value - B[i][c]))));
}

/** The words in a random order that differs from the one at hand; the next seed comes with it. */
export function shuffle(order, seed) {
  let state = seed;
  const next = order.slice();
  do {
    for (let i = next.length - 1; i > 0; i -= 1) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const j = Math.floor((state / 2 ** 32) * (i + 1));
      [next[i], next[j]] = [next[j], next[i]];
    }
  } while (next.every((word, i) => word === order[i]));
  return { order: next, seed: state };
}

/** The order with the words at places i and j exchanged. */
export function swapped(order, i, j) {
  const next = order.slice();
  [next[i], next[j]] = [next[j], next[i]];
  return next;
}
