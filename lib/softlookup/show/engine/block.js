// The Transformer block: reading and thinking, each of them added to a stream and normalized.

import { sum } from "./arrays.js";
import { FeedForward, GatedFeedForward } from "./feed_forward.js";
import { GroupedQueryAttention } from "./grouped_query.js";
import { Norm } from "./normalization.js";

/** A residual connection with a norm: x + F(norm(x)) in pre-norm, norm(x + F(x)) in post-norm;
 *  without the residual connection F(norm(x)) and norm(F(x)). */
class Sublayer {
  constructor(layer, norm, normFirst) {
    this.layer = layer;
    this.norm = norm;
    this.normFirst = normFirst;
  }

  /** `run` calls the layer on rows; the probes `write` and `stream` are those of the library. */
  forward(x, run, see, residual) {
    const added = residual ? sum : (_, made) => made;
    return this.normFirst ? this.preNorm(x, run, see, added) : this.postNorm(x, run, see, added);
  }

  preNorm(x, run, see, added) {
    const [read, backwardNorm] = this.norm.forward(x);
    const [made, backwardLayer] = run(read);
    const stream = see("stream", added(x, see("write", made)));

    // the stream goes on as it is, and through the layer
    const backward = (d) => added(d, backwardNorm(backwardLayer(d)));
    return [stream, backward];
  }

  postNorm(x, run, see, added) {
    const [made, backwardLayer] = run(x);
    const [normed, backwardNorm] = this.norm.forward(added(x, see("write", made)));

    const backward = (d) => {
      const dSum = backwardNorm(d);
      return added(dSum, backwardLayer(dSum));
    };
    return [see("stream", normed), backward];
  }
}

/** Tokens read each other, then each thinks alone. */
export class Block {
  constructor(config, add) {
    const within =
      (name) =>
      (part, ...shape) =>
        add(`${name}.${part}`, ...shape);
    const wrapped = (name, make) => {
      const layer = make(within(`${name}.layer`));
      const norm = new Norm(config.norm, config.d_model, config, within(`${name}.norm`));
      return new Sublayer(layer, norm, config.norm_first);
    };
    const kind = config.gated ? GatedFeedForward : FeedForward;
    const { d_model: dModel, n_heads: nHeads, d_ff: dFf } = config;
    this.selfAttention = wrapped(
      "self_attention",
      (inside) => new GroupedQueryAttention(dModel, nHeads, config, inside),
    );
    this.feedForward = wrapped("feed_forward", (inside) => new kind(dModel, dFf, config, inside));
  }

  forward(x, reading, cache, see) {
    const seeRead = see.within("self_attention");
    const seeThink = see.within("feed_forward");
    const read = (rows) =>
      this.selfAttention.layer.forward(rows, reading, cache, seeRead.within("layer"));
    const think = (rows) => this.feedForward.layer.forward(rows, seeThink.within("layer"));
    const [y, backwardRead] = this.selfAttention.forward(x, read, seeRead, reading.residual);
    const [z, backwardThink] = this.feedForward.forward(y, think, seeThink, reading.residual);
    return [z, (d) => backwardRead(backwardThink(d))];
  }
}
