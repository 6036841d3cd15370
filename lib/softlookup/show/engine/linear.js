// The linear map of rows, and its way back.
//
// Every function of the engine that has a way back returns two things: its result, and a function
// from the gradient of the loss with respect to the result to that with respect to the input. On
// its way it adds to `.grad` of each parameter. What it needs, it remembers from the way forward.

import { rowsOf } from "./require.js";

/** Y = X Wᵀ + b, where W has a row for each column of Y, as in nn.Linear. */
export function linear(x, weight, bias) {
  const [m, k] = weight.shape;
  const { products } = weight;
  const n = rowsOf(x, k);
  const y = products.timesTransposed(x, weight.data, n, k, m);
  if (bias !== null) addToRows(y, bias.data);

  // ∂W = ∂Yᵀ X,  ∂b = the sum of the rows of ∂Y,  ∂X = ∂Y W
  const backward = (dy) => {
    products.addTransposedTimes(dy, x, weight.grad, n, m, k);
    if (bias !== null) addRowsTo(bias.grad, dy);
    return products.times(dy, weight.data, n, m, k);
  };
  return [y, backward];
}

function addToRows(rows, row) {
  const m = row.length;
  for (let at = 0; at < rows.length; at += m) {
    for (let j = 0; j < m; j += 1) rows[at + j] += row[j];
  }
}

function addRowsTo(row, rows) {
  const m = row.length;
  for (let at = 0; at < rows.length; at += m) {
    for (let j = 0; j < m; j += 1) row[j] += rows[at + j];
  }
}

/** A matrix and its bias, which is null where there is none. */
export function linearPair(add, name, rows, columns, bias) {
  const weight = add(`${name}.weight`, rows, columns);
  return [weight, bias ? add(`${name}.bias`, rows) : null];
}
