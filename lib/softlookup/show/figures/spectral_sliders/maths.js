// Forward and back through time in the browser: softlookup.layers.backpropagation.
// A matrix is a list of rows.

import { times, transpose } from "../../kit/matrices.js";

/** The length of a vector. */
const length = (v) => Math.sqrt(v.reduce((sum, value) => sum + value * value, 0));

/** h_t = f(radius W h_{t-1}) for n steps: the lengths of all states and, on the way back, of the
 * gradients of the last state's first number by each state, both from step 0 to step n. */
export function waves(W, start, radius, n, tanh) {
  const scaled = W.map((row) => row.map((value) => radius * value));
  const back = transpose(scaled);
  const states = [start];
  for (let t = 1; t <= n; t += 1) {
    const a = times(scaled, states[t - 1]);
    states.push(tanh ? a.map(Math.tanh) : a);
  }
  let gradient = start.map((_, i) => (i === 0 ? 1 : 0));
  const gradients = [length(gradient)];
  for (let t = n; t > 0; t -= 1) {
    gradient = times(
      back,
      gradient.map((g, i) => (tanh ? (1 - states[t][i] ** 2) * g : g)),
    );
    gradients.unshift(length(gradient));
  }
  return { states: states.map(length), gradients };
}
