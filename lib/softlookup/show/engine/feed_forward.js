// The feed-forward layer: what a token does on its own, plain and gated.

import { ACTIVATIONS } from "./activations.js";
import { mapped, sum, times } from "./arrays.js";
import { linear, linearPair } from "./linear.js";

/** f(X W₁ + b₁) W₂ + b₂. */
export class FeedForward {
  constructor(dModel, dFf, { activation, bias }, add) {
    this.activation = activation;
    this.W_1 = linearPair(add, "W_1", dFf, dModel, bias);
    this.W_2 = linearPair(add, "W_2", dModel, dFf, bias);
  }

  forward(x, see) {
    const [value, slope] = ACTIVATIONS[this.activation];
    const [inside, backward1] = linear(x, ...this.W_1);
    const activations = see("activations", mapped(inside, value));
    const [y, backward2] = linear(activations, ...this.W_2);

    // ∂inside = f′(inside) ⊙ ∂activations
    const backward = (dy) => {
      const dActivations = backward2(dy);
      return backward1(mapped(dActivations, (d, i) => d * slope(inside[i])));
    };
    return [y, backward];
  }
}

/** (f(X W_g) ⊙ X W₁) W₂: with "silu" it is SwiGLU. */
export class GatedFeedForward {
  constructor(dModel, dFf, { activation, bias }, add) {
    this.activation = activation;
    this.W_gate = linearPair(add, "W_gate", dFf, dModel, bias);
    this.W_1 = linearPair(add, "W_1", dFf, dModel, bias);
    this.W_2 = linearPair(add, "W_2", dModel, dFf, bias);
  }

  forward(x, see) {
    const [value, slope] = ACTIVATIONS[this.activation];
    const [bent, backwardGate] = linear(x, ...this.W_gate);
    const [content, backward1] = linear(x, ...this.W_1);
    const gate = mapped(bent, value);
    const activations = see("activations", times(gate, content));
    const [y, backward2] = linear(activations, ...this.W_2);

    // a product: each factor's gradient is the other factor times that of the product
    const backward = (dy) => {
      const d = backward2(dy);
      const dGate = times(d, content);
      const dBent = mapped(dGate, (dg, i) => dg * slope(bent[i]));
      return sum(backwardGate(dBent), backward1(times(d, gate)));
    };
    return [y, backward];
  }
}
