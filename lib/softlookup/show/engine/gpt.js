// The model: a table of tokens, blocks that read backwards, and the table again.

import { sum } from "./arrays.js";
import { everything, readable } from "./attention.js";
import { Block } from "./block.js";
import { KeyValueCache } from "./cache.js";
import { gptConfig } from "./configuration.js";
import { embedding } from "./embedding.js";
import { linear } from "./linear.js";
import { Norm } from "./normalization.js";
import { Parameter } from "./parameter.js";
import { seeing } from "./probes.js";
import { plainProducts } from "./products.js";
import { require, requireInteger } from "./require.js";
import { angles } from "./rotary.js";
import { normalNumbers } from "./chance.js";

/** What a model can do without, badly. No mask: each token reads all there are, later ones too. */
export const PARTS = ["mask", "residual", "positions"];

export class GPT {
  /** A model of some options. Its weights are named as in the library's `state_dict`. */
  constructor(options, products = plainProducts()) {
    const config = gptConfig(options);
    this.config = config;
    this.products = products;
    // what is left out, to see what it was for: some of PARTS
    this.without = new Set();
    this.parameters = new Map();
    const add = (name, ...shape) => {
      this.parameters.set(name, new Parameter(shape, products));
      return this.parameters.get(name);
    };
    const within =
      (name) =>
      (part, ...shape) =>
        add(`${name}.${part}`, ...shape);
    const { vocab_size: vocabSize, context, d_model: dModel, n_layers: nLayers } = config;
    const learned = config.positions === "learned";
    this.embedding = add("embedding.weight", vocabSize, dModel);
    this.positions = learned ? add("position_embedding.embedding.weight", context, dModel) : null;
    this.blocks = Array.from(
      { length: nLayers },
      (_, k) => new Block(config, within(`blocks.${k}`)),
    );
    this.norm = config.norm_first ? new Norm(config.norm, dModel, config, within("norm")) : null;
    this.unembedding = config.tie ? null : add("unembedding.weight", vocabSize, dModel);
  }

  /** The scores of the next token after each token of some texts, which are equally long.
   *
   *  With a cache the texts go on where it ends; then there is no way back. */
  forward(ids, { cache = null, hooks = new Map() } = {}) {
    const [batch, n] = this.checkedSize(ids, cache);
    const see = seeing(hooks, [batch, n]);
    const reading = this.reading(batch, n, cache);
    let [x, backwardRows] = this.embed(ids.flat(), reading);
    x = see("rows", x);
    const backwards = [];
    this.blocks.forEach((block, k) => {
      const layer = cache === null ? null : cache.layers[k];
      const [y, backward] = block.forward(x, reading, layer, see.within(`blocks.${k}`));
      x = y;
      backwards.push(backward);
    });
    if (cache !== null) cache.forget();
    const [normed, backwardNorm] =
      this.norm === null ? [see("norm", x), (d) => d] : this.norm.forward(x);
    const [scores, backwardScores] = linear(normed, this.unembedding ?? this.embedding, null);

    // the same steps, from the last to the first
    const backward = (dScores) => {
      require(cache === null, "there is no way back through a cache", {});
      let d = backwardNorm(backwardScores(dScores));
      for (const step of backwards.reverse()) d = step(d);
      backwardRows(d);
    };
    return [scores, backward];
  }

  /** One row per token: the token's own and, where positions are learned, its place's. */
  embed(ids, { batch, places }) {
    const [rows, backwardTokens] = embedding(ids, this.embedding);
    if (this.positions === null || this.without.has("positions")) return [rows, backwardTokens];
    const everywhere = Array.from({ length: batch }, () => places).flat();
    const [place, backwardPlaces] = embedding(everywhere, this.positions);
    const backward = (d) => {
      backwardTokens(d);
      backwardPlaces(d);
    };
    return [sum(rows, place), backward];
  }

  /** Where the tokens stand, which they may read, and how far queries and keys are turned. */
  reading(batch, n, cache) {
    const { config, without } = this;
    const unknown = [...without].filter((part) => !PARTS.includes(part));
    require(unknown.length === 0, `without must be some of ${PARTS.join(", ")}`, { unknown });
    const dK = config.d_model / config.n_heads;
    const places = cache === null ? Array.from({ length: n }, (_, i) => i) : cache.begin(batch, n);
    const slots = cache === null ? places : cache.positions;
    const reads = without.has("mask")
      ? everything(places.length, slots.length)
      : readable(places, slots, cache === null ? config : cache.rule);
    const turns = config.positions === "rotary" && !without.has("positions");
    const turn = (positions) => (turns ? angles(positions, dK) : null);
    const [queryTurn, keyTurn] = [turn(places), turn(slots)];
    const residual = !without.has("residual");
    return { batch, places, reads, nKeys: slots.length, queryTurn, keyTurn, residual };
  }

  /** An empty cache that knows the config's window and sinks; without a mask there are none. */
  newCache() {
    return new KeyValueCache(this.config.n_layers, this.without.has("mask") ? {} : this.config);
  }

  /** Read the beginnings of texts, so that `step` can go on; no token at all is a beginning too. */
  start(prompts) {
    const cache = this.newCache();
    if (prompts[0].length > 0) this.forward(prompts, { cache });
    return cache;
  }

  /** One more token each: the scores of the next, and the cache after; `cache` stays as it is. */
  step(tokens, cache) {
    const next = cache.copy();
    const [scores] = this.forward(
      tokens.map((token) => [token]),
      { cache: next },
    );
    return [scores, next];
  }

  /** Forget all gradients. */
  zeroGrad() {
    for (const parameter of this.parameters.values()) parameter.grad.fill(0);
  }

  /** Take weights from an object of flat arrays, each by its name. */
  load(state) {
    const missing = [...this.parameters.keys()].filter((name) => !(name in state));
    const unknown = Object.keys(state).filter((name) => !this.parameters.has(name));
    const rule = "the weights must be those of the config";
    require(missing.length + unknown.length === 0, rule, { missing, unknown });
    for (const [name, { data }] of this.parameters) {
      const size = `${name} must have as many numbers as the config says`;
      require(state[name].length === data.length, size, { n: state[name].length, of: data.length });
      data.set(state[name]);
    }
    return this;
  }

  /** All weights as an object of flat arrays, by their names. */
  state() {
    return Object.fromEntries([...this.parameters].map(([name, { data }]) => [name, data.slice()]));
  }

  /** Where training begins, as in the library: normal with standard deviation 0.02, what writes to
   *  the stream divided by √(2L) or 0, biases 0 and gains 1. The numbers are others than PyTorch's. */
  startWeights(seed) {
    const draw = normalNumbers(seed);
    for (const [name, { shape, data }] of this.parameters) {
      const writes = /W_[O2]\.weight$/.test(name);
      const share = this.config.zero_writes ? 0 : (2 * this.config.n_layers) ** -0.5;
      if (shape.length === 2)
        data.forEach((_, i) => (data[i] = 0.02 * (writes ? share : 1) * draw()));
      else data.fill(name.endsWith("bias") ? 0 : 1);
    }
    return this;
  }

  checkedSize(ids, cache) {
    const rule = "ids must be a list of texts, each a list of ids";
    require(Array.isArray(ids) && ids.length > 0 && ids.every(Array.isArray), rule, {});
    const lengths = ids.map((text) => text.length);
    const n = lengths[0];
    requireInteger("the number of tokens", n, 1);
    require(lengths.every((length) => length === n), "texts must be equally long", { lengths });
    const { config } = this;
    const end = n + (cache === null ? 0 : cache.length);
    const slides = cache !== null && cache.rule.window !== null && config.positions !== "learned";
    const room = "a text must have at most as many tokens as the context";
    require(slides || end <= config.context, room, { n: end, context: config.context });
    return [ids.length, n];
  }
}
