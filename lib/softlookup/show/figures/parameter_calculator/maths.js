// How many parameters an encoder–decoder has, and where: the arithmetic of parameter_counts.

import { sum } from "../../kit/maths.js";

/** Its parts, each with the size of one, how many there are, and both multiplied. */
export function parts({ N, d, dff, vocab, tie, biases, finals }) {
  const table = vocab * d;
  const attention = 4 * d * d + (biases ? 4 * d : 0);
  const feedForward = 2 * d * dff + dff + d;
  const norm = 2 * d;
  return [
    ["source", table, 1],
    ["target", table, tie === "all" ? 0 : 1],
    ["output", table, tie === "none" ? 1 : 0],
    ["encoder-attention", attention, N],
    ["encoder-feed-forward", feedForward, N],
    ["encoder-norms", norm, 2 * N + (finals ? 1 : 0)],
    ["decoder-self", attention, N],
    ["decoder-cross", attention, N],
    ["decoder-feed-forward", feedForward, N],
    ["decoder-norms", norm, 3 * N + (finals ? 1 : 0)],
  ].map(([key, each, copies]) => ({ key, each, copies, total: each * copies }));
}

/** All parameters together. */
export function total(choices) {
  return sum(parts(choices).map((part) => part.total));
}

/** The smallest and the largest vocabulary whose total rounds to some millions; null if none. */
export function fittingVocabularies(choices, millions) {
  const core = total({ ...choices, vocab: 0 });
  const perToken = total({ ...choices, vocab: 1 }) - core;
  const low = Math.max(Math.ceil(((millions - 0.5) * 1e6 - core) / perToken), 1);
  const high = Math.ceil(((millions + 0.5) * 1e6 - core) / perToken) - 1;
  return low <= high ? [low, high] : null;
}
