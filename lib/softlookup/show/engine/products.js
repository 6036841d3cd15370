// Products of matrices in plain JavaScript. A matrix is a flat array, one row after the other.
// `kind` is Float32Array or Float64Array: the sums are of double precision in both, and rounded
// once. `simd_products.js` computes the same with the processor's instructions for four numbers.

/** The products that a model computes with, for arrays of one kind. */
export function plainProducts(kind = Float32Array) {
  return {
    kind,
    name: "plain",
    weights: (n) => new kind(n),
    timesTransposed: (a, b, n, k, m) => timesTransposed(a, b, new kind(n * m), n, k, m),
    times: (a, b, n, k, m) => times(a, b, new kind(n * m), n, k, m),
    addTransposedTimes,
  };
}

/** A Bᵀ into `out`: A is n × k, B is m × k; each entry is the product of two rows. */
export function timesTransposed(a, b, out, n, k, m) {
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j < m; j += 1) {
      let sum = 0;
      for (let c = 0; c < k; c += 1) sum += a[i * k + c] * b[j * k + c];
      out[i * m + j] = sum;
    }
  }
  return out;
}

/** A B added to `out`: A is n × k, B is k × m; row i collects the rows of B, a_ic times each. */
export function times(a, b, out, n, k, m) {
  for (let i = 0; i < n; i += 1) {
    for (let c = 0; c < k; c += 1) addTimes(out, i * m, a[i * k + c], b, c * m, m);
  }
  return out;
}

/** Aᵀ B added to `out`: A is n × k, B is n × m; row c collects the rows of B, a_ic times each. */
export function addTransposedTimes(a, b, out, n, k, m) {
  for (let i = 0; i < n; i += 1) {
    for (let c = 0; c < k; c += 1) addTimes(out, c * m, a[i * k + c], b, i * m, m);
  }
  return out;
}

/** out[from + j] += factor · b[at + j] for a row of m numbers. */
function addTimes(out, from, factor, b, at, m) {
  for (let j = 0; j < m; j += 1) out[from + j] += factor * b[at + j];
}
