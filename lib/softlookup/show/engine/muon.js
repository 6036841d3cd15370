// Muon: momentum for matrices, made orthogonal before each step.

import { mapped } from "./arrays.js";
import { require } from "./require.js";

const QUICK = [3.4445, -4.775, 2.0315];

/** Bring all singular values of a matrix near 1, and keep the directions: UΣVᵀ → UVᵀ.
 *
 *  After a division by the length each round maps X to aX + bXXᵀX + c(XXᵀ)²X, which maps every
 *  singular value s to as + bs³ + cs⁵. */
export function orthogonalize(matrix, [rows, columns], products, nRounds = 5) {
  const [a, b, c] = QUICK;
  // the product of the short sides is the smaller one
  const tall = rows > columns;
  const [n, m] = tall ? [columns, rows] : [rows, columns];
  let total = 0;
  for (let i = 0; i < matrix.length; i += 1) total += matrix[i] * matrix[i];
  const length = Math.sqrt(total);
  let x = tall ? transposed(matrix, rows, columns) : matrix;
  x = mapped(x, (value) => value / Math.max(length, 1e-38));
  for (let round = 0; round < nRounds; round += 1) {
    const square = products.timesTransposed(x, x, n, m, n);
    const fourth = products.times(square, square, n, n, n);
    const both = mapped(square, (value, i) => b * value + c * fourth[i]);
    const change = products.times(both, x, n, n, m);
    x = mapped(x, (value, i) => a * value + change[i]);
  }
  return tall ? transposed(x, n, m) : x;
}

/** Aᵀ of an n × m matrix A. */
function transposed(matrix, n, m) {
  const turned = new matrix.constructor(matrix.length);
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j < m; j += 1) turned[j * n + i] = matrix[i * m + j];
  }
  return turned;
}

export class Muon {
  /** Optimizer of some matrices; the options are those of softlookup.training.Muon. */
  constructor(parameters, { lr = 0.02, momentum = 0.95, nesterov = true, weightDecay = 0 } = {}) {
    this.entries = [...parameters].map((parameter) => ({
      parameter,
      buffer: new parameter.products.kind(parameter.data.length),
    }));
    const matrices = this.entries.every(({ parameter }) => parameter.shape.length === 2);
    require(matrices, "Muon is for matrices", {});
    require(momentum >= 0 && momentum < 1, "momentum must be in [0, 1)", { momentum });
    Object.assign(this, { lr, momentum, nesterov, weightDecay });
  }

  /** W ← (1 − ηλ) W − η √max(1, rows/columns) orth(G), where B ← μB + (1 − μ)∂W, and
   *  G = μB + (1 − μ)∂W looks one step ahead. `share` is that of the rate. */
  step(share = 1) {
    const lr = this.lr * share;
    const toward = (a, b) => a + (1 - this.momentum) * (b - a);
    for (const { parameter, buffer } of this.entries) {
      const { data, grad, shape, products } = parameter;
      for (let i = 0; i < grad.length; i += 1) buffer[i] = toward(buffer[i], grad[i]);
      const ahead = this.nesterov ? mapped(buffer, (value, i) => toward(value, grad[i])) : buffer;
      const change = orthogonalize(ahead, shape, products);
      const stretch = Math.sqrt(Math.max(1, shape[0] / shape[1]));
      const kept = 1 - lr * this.weightDecay;
      for (let i = 0; i < data.length; i += 1) data[i] = data[i] * kept - lr * stretch * change[i];
    }
  }
}
