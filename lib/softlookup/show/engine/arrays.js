// Arrays entry by entry. A loop is many times as fast as the arrays' own `map`.

/** f(x_i, i) for each entry. */
export function mapped(x, f) {
  const y = new x.constructor(x.length);
  for (let i = 0; i < x.length; i += 1) y[i] = f(x[i], i);
  return y;
}

/** a_i + b_i for each entry: a residual connection, forward and back. */
export function sum(a, b) {
  const y = new a.constructor(a.length);
  for (let i = 0; i < a.length; i += 1) y[i] = a[i] + b[i];
  return y;
}

/** The length of a vector, or of its difference from another one. */
export function lengthOf(x, from = null) {
  let square = 0;
  for (let i = 0; i < x.length; i += 1) square += (x[i] - (from === null ? 0 : from[i])) ** 2;
  return Math.sqrt(square);
}

/** a_i b_i for each entry: a gate. */
export function times(a, b) {
  const y = new a.constructor(a.length);
  for (let i = 0; i < a.length; i += 1) y[i] = a[i] * b[i];
  return y;
}
