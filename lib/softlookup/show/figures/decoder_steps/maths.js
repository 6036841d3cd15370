// One step of softlookup.translation.Decoder in the browser, from the scores on.

import { softmax } from "../../kit/maths.js";

/** Rows of a matrix of 32-bit numbers, from the base64 of its bytes. */
function rowsOf(text, width) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const flat = Array.from(new Float32Array(bytes.buffer));
  return Array.from({ length: flat.length / width }, (_, i) =>
    flat.slice(i * width, (i + 1) * width),
  );
}

/** The data that Python handed over, with its matrices unpacked. */
export function unpacked(data) {
  const widths = {
    keys: data.d_context,
    states: data.d_hidden,
    from_keys: data.d_hidden,
    from_states: data.d_hidden,
    W_out: data.d_hidden,
    b_out: data.words.length,
  };
  const matrices = Object.entries(widths).map(([name, width]) => [name, rowsOf(data[name], width)]);
  return { ...data, ...Object.fromEntries(matrices) };
}

/** exp(s - max s): the softmax before its division. */
export function exponentials(scores) {
  const largest = Math.max(...scores);
  return scores.map((score) => Math.exp(score - largest));
}

/** Σ_j a_j row_j. */
function mean(weights, rows) {
  return rows[0].map((_, d) => weights.reduce((sum, weight, j) => sum + weight * rows[j][d], 0));
}

/**
 * All parts of step t with these scores.
 *
 * W_c [c; h] + b is a part of c and a part of h; and the part of c = Σ a_j k_j is the same mean of
 * the parts of the k_j. So Python hands over those parts in place of W_c, which is far larger.
 */
export function stepParts({ keys, states, from_keys, from_states, W_out, b_out }, t, scores) {
  const weights = softmax(scores);
  const context = mean(weights, keys);
  const mixed = mean(weights, from_keys).map((part, d) => Math.tanh(part + from_states[t][d]));
  const out = W_out.map((row, w) => row.reduce((sum, x, d) => sum + x * mixed[d], b_out[0][w]));
  return {
    exponentials: exponentials(scores),
    weights,
    weighted: keys.map((row, j) => row.map((value) => weights[j] * value)),
    context,
    joined: [...context, ...states[t + 1]],
    mixed,
    probabilities: softmax(out),
  };
}

/** The places of the n largest numbers, the largest first. */
export function largest(numbers, n) {
  return numbers
    .map((_, i) => i)
    .sort((a, b) => numbers[b] - numbers[a])
    .slice(0, n);
}
