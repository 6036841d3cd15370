// One step of a recurrent network in the browser: softlookup.layers.recurrence.
// A matrix is a list of rows.

import { times } from "../../kit/matrices.js";

const plus = (...vectors) => vectors[0].map((_, i) => vectors.reduce((sum, v) => sum + v[i], 0));

/** One step with all its parts, in the order in which they are computed. */
export function stepParts({ x, hidden, W_hh, W_xh, b, W_hy }, tanh) {
  const [fromState, fromInput] = [times(W_hh, hidden), times(W_xh, x)];
  const a = plus(fromState, fromInput, b);
  const after = tanh ? a.map(Math.tanh) : a;
  const products = after.map((value, i) => W_hy[i] * value);
  const y = [products.reduce((sum, value) => sum + value, 0)];
  return { fromState, fromInput, a, after, products, y };
}

/** Whether four printed decimals are not those of the numbers. */
export const misprinted = (printed, values) =>
  printed.some((value, i) => Math.abs(value - values[i]) > 0.5e-4 + 1e-9);
