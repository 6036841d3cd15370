// Arithmetic that several figures and the engine need; matrices.js has that of matrices.

export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Each weight as a share of their sum; where that is 0, all are 0. */
export function shares(weights) {
  const total = sum(weights);
  return weights.map((weight) => (total > 0 ? weight / total : 0));
}

export const dot = (a, b) => a.reduce((total, value, i) => total + value * b[i], 0);
export const range = (n) => Array.from({ length: n }, (_, i) => i);
export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** The softmax of some scores, with the largest subtracted first. */
export function softmax(scores) {
  const largest = Math.max(...scores);
  const exps = scores.map((score) => Math.exp(score - largest));
  const total = sum(exps);
  return exps.map((value) => value / total);
}

/** The places by falling value, the first of equals first. */
export const ranked = (values) =>
  Array.from(values, (_, place) => place).sort((a, b) => values[b] - values[a] || a - b);

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The index at which the running sum of the probabilities passes u; never one of probability 0. */
export function drawn(weights, u) {
  let [total, last] = [0, -1];
  for (let id = 0; id < weights.length; id += 1) {
    if (weights[id] > 0) last = id;
    total += weights[id];
    if (u < total) return id;
  }
  return last;
}
