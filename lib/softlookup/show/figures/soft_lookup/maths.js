// A lookup from hard to soft, as softlookup.attention.hard_lookup and soft_lookup compute it.

import { dot, softmax } from "../../kit/maths.js";

/** The temperature at a place of the slider, from 0 to 1: 0 is hard, 1/2 is 1, 1 is infinite. */
export const temperatureOf = (place) => (place >= 1 ? Infinity : place / (1 - place));

/** The dot product of the query with each key. */
export const scoresOf = (query, keys) => keys.map((key) => dot(query, key) + 0); // a zero is +0, never −0

/** Weights that sum to 1. At temperature 0 the first of the best keys has it all. */
export function weightsOf(scores, temperature) {
  const best = Math.max(...scores);
  if (temperature === 0) {
    const first = scores.indexOf(best);
    return scores.map((_, j) => Number(j === first));
  }
  return softmax(scores.map((score) => (score - best) / temperature));
}

/** Scores, weights and the answer, the weighted mean of the values. */
export function lookup(query, keys, values, temperature) {
  const scores = scoresOf(query, keys);
  const weights = weightsOf(scores, temperature);
  return { scores, weights, answer: dot(weights, values) };
}
