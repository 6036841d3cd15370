// A training run that can be watched: it takes one step at a time, and says what the step did.

import { AdamW } from "./adamw.js";
import { lengthOf } from "./arrays.js";
import { randomPieces } from "./chance.js";
import { generate, sampler } from "./decoding.js";
import { Muon } from "./muon.js";
import { nextTokenLoss } from "./objectives.js";
import { require, requireInteger } from "./require.js";
import { clipGradients, matricesAndRest, recipeOptimizers, recipeRate } from "./training.js";

/** How a model can be trained: some optimizers, and the share of their rates at step `t` of n.
 *  Only the recipe has rates of its own. */
const TRAINERS = {
  adamw: (model, rate) => ({
    optimizers: [new AdamW(model.parameters.values(), { lr: rate })],
    share: () => 1,
  }),
  muon: (model, rate) => {
    const [matrices, rest] = matricesAndRest(model);
    const optimizers = [new Muon(matrices, { lr: rate }), new AdamW(rest, { lr: rate / 3 })];
    return { optimizers, share: () => 1 };
  },
  recipe: (model) => ({ optimizers: recipeOptimizers(model), share: recipeRate }),
};

export class TrainingRun {
  /** A run on random pieces of one long text. `rate` is not needed for the recipe, and `clip` null
   *  leaves the gradient as long as it is. */
  constructor(model, { ids, nSteps, length, batchSize, seed = 0, clip = null, ...how }) {
    const { optimizer = "recipe", rate = null } = how;
    const enough = length >= 2 && length <= ids.length;
    require(enough, "length must be from 2 to that of the text", { length, n: ids.length });
    requireInteger("batch_size", batchSize, 1);
    const known = Object.keys(TRAINERS);
    const rule = `optimizer must be one of ${known.join(", ")}`;
    require(known.includes(optimizer), rule, { optimizer });
    const sound = optimizer === "recipe" || (rate > 0 && rate < Infinity);
    require(sound, "rate must be positive and finite", { rate });
    requireInteger("n_steps", nSteps, 1);
    Object.assign(this, { model, nSteps, clip, t: 0 });
    Object.assign(this, TRAINERS[optimizer](model, rate));
    this.pieces = randomPieces(ids, length, batchSize, seed);
  }

  /** One step on the next pieces: its number, the loss before it, and the length of the gradient
   *  before it was clipped. Where one of them is no finite number the step is not taken; `broken`
   *  says which. */
  step(share = this.share(Math.min(this.t + 1, this.nSteps), this.nSteps)) {
    this.t += 1;
    this.model.zeroGrad();
    const [loss, backward] = nextTokenLoss(this.model, this.pieces.next().value);
    if (!Number.isFinite(loss)) return { step: this.t, loss, broken: "loss" };
    backward();
    const length = Math.hypot(...this.norms().map(({ gradient }) => gradient));
    if (!Number.isFinite(length)) return { step: this.t, loss, broken: "gradient" };
    if (this.clip !== null) clipGradients(this.model, this.clip);
    for (const optimizer of this.optimizers) optimizer.step(share);
    return { step: this.t, loss, gradient: length };
  }

  /** The same, and what it did to each tensor: how long its gradient was, and how far it moved.
   *  The gradients themselves are kept until the next step that is seen. */
  stepAndSee() {
    const before = this.model.state();
    const done = this.step();
    const all = [...this.model.parameters];
    this.gradients = new Map(all.map(([name, { grad }]) => [name, grad.slice()]));
    const tensors = this.norms().map((one) => {
      const { data } = this.model.parameters.get(one.name);
      const old = before[one.name];
      return { ...one, before: lengthOf(old), update: lengthOf(data, old) };
    });
    return { ...done, tensors };
  }

  /** How long the gradient and the weights of each tensor are. */
  norms() {
    return [...this.model.parameters].map(([name, { shape, data, grad }]) => {
      return { name, shape, gradient: lengthOf(grad), weight: lengthOf(data) };
    });
  }
}

/** The mean loss over a text that is cut into pieces of `length` tokens, which share their ends:
 *  each token but the first is foretold once, from those of its own piece before it. What is left
 *  over at the end is not counted. */
export function lossOnText(model, ids, length) {
  const n = piecesIn(ids, length);
  require(n >= 1, "the text must be as long as a piece", { n: ids.length, length });
  let total = 0;
  for (let first = 0; first < n * (length - 1); first += length - 1) {
    const [loss] = nextTokenLoss(model, [Array.from(ids.slice(first, first + length))]);
    total += loss / n;
  }
  return total;
}

/** How many whole pieces of `length` tokens, which share their ends, a text has. */
export const piecesIn = (ids, length) => Math.floor((ids.length - 1) / (length - 1));

/** What a page shows of a run now and then: the loss on a held-out text, how long the gradient and
 *  the weights of each tensor are, and how the model goes on from a prompt. */
export function reported(run, { heldOut, length, prompt, nTokens, seed = 0 }) {
  const { model } = run;
  const sample = longText(model, prompt, nTokens, sampler({ seed, temperature: 0.8 }));
  return { heldOut: lossOnText(model, heldOut, length), norms: run.norms(), sample };
}

/** A text of any length: where the context is full, the model reads on from its latter half. */
function longText(model, prompt, nTokens, pick) {
  const { context } = model.config;
  const text = [...prompt];
  for (let left = nTokens; left > 0; left = prompt.length + nTokens - text.length) {
    const begin = text.slice(-Math.ceil(context / 2));
    const room = Math.min(left, context - begin.length);
    text.push(...generate(model, begin, room, { pick }));
  }
  return text.slice(prompt.length);
}
