// A recurrent network in the browser: softlookup.layers.recurrence and its backpropagation.
// A matrix is a list of rows.

/** The matrix times a vector. */
export const times = (W, v) => W.map((row) => row.reduce((sum, w, j) => sum + w * v[j], 0));

/** The transposed matrix. */
export const transposed = (W) => W[0].map((_, j) => W.map((row) => row[j]));

/** The length of a vector. */
export const length = (v) => Math.sqrt(v.reduce((sum, value) => sum + value * value, 0));

const plus = (...vectors) => vectors[0].map((_, i) => vectors.reduce((sum, v) => sum + v[i], 0));

/** h_t = f(radius W h_{t-1}) for n steps: the lengths of all states and, on the way back, of the
 * gradients of the last state's first number by each state, both from step 0 to step n. */
export function waves(W, start, radius, n, tanh) {
  const scaled = W.map((row) => row.map((value) => radius * value));
  const back = transposed(scaled);
  const states = [start];
  for (let t = 1; t <= n; t += 1) {
    const a = times(scaled, states[t - 1]);
    states.push(tanh ? a.map(Math.tanh) : a);
  }
  let gradient = start.map((_, i) => (i === 0 ? 1 : 0));
  const gradients = [length(gradient)];
  for (let t = n; t > 0; t -= 1) {
    gradient = times(back, gradient.map((g, i) => (tanh ? (1 - states[t][i] ** 2) * g : g)));
    gradients.unshift(length(gradient));
  }
  return {states: states.map(length), gradients};
}

/** One step with all its parts, in the order in which they are computed. */
export function stepParts({x, hidden, W_hh, W_xh, b, W_hy}, tanh) {
  const [fromState, fromInput] = [times(W_hh, hidden), times(W_xh, x)];
  const a = plus(fromState, fromInput, b);
  const after = tanh ? a.map(Math.tanh) : a;
  const products = after.map((value, i) => W_hy[i] * value);
  const y = [products.reduce((sum, value) => sum + value, 0)];
  return {fromState, fromInput, a, after, products, y};
}

/** Whether four printed decimals are not those of the numbers. */
export const misprinted = (printed, values) =>
  printed.some((value, i) => Math.abs(value - values[i]) > 0.5e-4 + 1e-9);
