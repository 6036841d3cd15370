// AdamW: the mean of the gradients over the root of the mean of their squares, and decay apart.

import { require } from "./require.js";

export class AdamW {
  /** Optimizer of some parameters; the options are those of torch.optim.AdamW. */
  constructor(
    parameters,
    { lr = 1e-3, betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0.01 } = {},
  ) {
    require(lr >= 0 && lr < Infinity, "lr must be at least 0", { lr });
    require(betas.every((b) => b >= 0 && b < 1), "betas must be in [0, 1)", { betas });
    Object.assign(this, { lr, betas, eps, weightDecay, n: 0 });
    this.entries = [...parameters].map((parameter) => ({
      parameter,
      mean: new parameter.data.constructor(parameter.data.length),
      square: new parameter.data.constructor(parameter.data.length),
    }));
  }

  /** W ← (1 − ηλ) W − η m̂/(√v̂ + ε), where m and v are running means of ∂W and ∂W², and the hats
   *  divide by 1 − βᵗ, since both begin at 0. `share` is that of the rate. */
  step(share = 1) {
    this.n += 1;
    const lr = this.lr * share;
    const [first, second] = this.betas;
    const size = lr / (1 - first ** this.n);
    const root = Math.sqrt(1 - second ** this.n);
    for (const { parameter, mean, square } of this.entries) {
      const { data, grad } = parameter;
      for (let i = 0; i < data.length; i += 1) {
        mean[i] += (1 - first) * (grad[i] - mean[i]);
        square[i] = second * square[i] + (1 - second) * grad[i] * grad[i];
        const change = (size * mean[i]) / (Math.sqrt(square[i]) / root + this.eps);
        data[i] = data[i] * (1 - lr * this.weightDecay) - change;
      }
    }
  }
}
