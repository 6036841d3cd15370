// Normalization of each row: LayerNorm, and RMSNorm, which leaves the mean alone.

import { rowsOf } from "./require.js";

/** γ ⊙ (x − μ)/√(σ² + ε) + b for each row; `bias` may be null. */
export function layerNorm(x, weight, bias, eps) {
  const d = weight.data.length;
  const n = rowsOf(x, d);
  const [y, unit] = [new x.constructor(x.length), new x.constructor(x.length)];
  const scales = new Float64Array(n);
  for (let i = 0, at = 0; i < n; i += 1, at += d) {
    let [mean, variance] = [0, 0];
    for (let c = at; c < at + d; c += 1) mean += x[c] / d;
    for (let c = at; c < at + d; c += 1) variance += (x[c] - mean) ** 2 / d;
    scales[i] = 1 / Math.sqrt(variance + eps);
    for (let c = 0; c < d; c += 1) {
      unit[at + c] = (x[at + c] - mean) * scales[i];
      y[at + c] = weight.data[c] * unit[at + c] + (bias === null ? 0 : bias.data[c]);
    }
  }

  // With u = (x − μ)/√(σ² + ε) and g = γ ⊙ ∂y, the mean and the length of a row cannot change:
  // ∂x = (g − mean(g) − u · mean(g ⊙ u)) / √(σ² + ε)
  const backward = (dy) => {
    const dx = new x.constructor(x.length);
    for (let i = 0, at = 0; i < n; i += 1, at += d) {
      let [mean, along] = [0, 0];
      for (let c = 0; c < d; c += 1) {
        const g = weight.data[c] * dy[at + c];
        mean += g / d;
        along += (g * unit[at + c]) / d;
        weight.grad[c] += dy[at + c] * unit[at + c];
        if (bias !== null) bias.grad[c] += dy[at + c];
      }
      for (let c = 0; c < d; c += 1) {
        const g = weight.data[c] * dy[at + c];
        dx[at + c] = (g - mean - unit[at + c] * along) * scales[i];
      }
    }
    return dx;
  };
  return [y, backward];
}

/** γ ⊙ x/√(mean(x²) + ε) for each row. */
export function rmsNorm(x, weight, eps) {
  const d = weight.data.length;
  const n = rowsOf(x, d);
  const y = new x.constructor(x.length);
  const scales = new Float64Array(n);
  for (let i = 0, at = 0; i < n; i += 1, at += d) {
    let square = 0;
    for (let c = at; c < at + d; c += 1) square += (x[c] * x[c]) / d;
    scales[i] = 1 / Math.sqrt(square + eps);
    for (let c = 0; c < d; c += 1) y[at + c] = weight.data[c] * x[at + c] * scales[i];
  }

  // With u = x/√(mean(x²) + ε) and g = γ ⊙ ∂y:  ∂x = (g − u · mean(g ⊙ u)) / √(mean(x²) + ε)
  const backward = (dy) => {
    const dx = new x.constructor(x.length);
    for (let i = 0, at = 0; i < n; i += 1, at += d) {
      let along = 0;
      for (let c = 0; c < d; c += 1) {
        const u = x[at + c] * scales[i];
        along += (weight.data[c] * dy[at + c] * u) / d;
        weight.grad[c] += dy[at + c] * u;
      }
      for (let c = 0; c < d; c += 1) {
        const u = x[at + c] * scales[i];
        dx[at + c] = (weight.data[c] * dy[at + c] - u * along) * scales[i];
      }
    }
    return dx;
  };
  return [y, backward];
}

/** A norm of the model: "layer" or "rms", with its parameters. */
export class Norm {
  constructor(norm, d, { eps, bias }, add) {
    this.eps = eps;
    this.weight = add("weight", d);
    this.weight.data.fill(1);
    this.bias = norm === "layer" && bias ? add("bias", d) : null;
    this.isLayer = norm === "layer";
  }

  forward(x) {
    if (this.isLayer) return layerNorm(x, this.weight, this.bias, this.eps);
    return rmsNorm(x, this.weight, this.eps);
  }
}
