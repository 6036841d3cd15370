// The training loop and the book's recipe: which optimizer takes which weights, at which rate.

import { AdamW } from "./adamw.js";
import { Muon } from "./muon.js";
import { nextTokenLoss } from "./objectives.js";
import { require } from "./require.js";

/** The matrices that map rows to rows, and every other parameter: norms, biases, embeddings. */
export function matricesAndRest(model) {
  const [matrices, rest] = [[], []];
  for (const [name, parameter] of model.parameters) {
    const isMatrix = parameter.shape.length === 2 && !name.includes("embedding");
    (isMatrix ? matrices : rest).push(parameter);
  }
  return [matrices, rest];
}

/** The library's `recipe_optimizers`: Muon for the matrices, AdamW for the tables and norms. */
export function recipeOptimizers(model) {
  const [matrices, rest] = matricesAndRest(model);
  return [
    new Muon(matrices, { lr: 0.03, momentum: 0.75 }),
    new AdamW(rest, { lr: 0.01, betas: [0.9, 0.95], weightDecay: 0 }),
  ];
}

/** The share of the peak rates: up within a fifteenth of the steps, level, then down to 0. */
export function recipeRate(step, nSteps) {
  const nDecay = Math.max(1, halfToEven(0.7 * nSteps));
  const nWarmup = Math.min(Math.floor(nSteps / 15), nSteps - nDecay);
  if (step < nWarmup) return step / nWarmup;
  return 1 - Math.max(step - (nSteps - nDecay), 0) / nDecay;
}

/** Rounded as Python does it: a half goes to the even neighbour. */
function halfToEven(x) {
  const below = Math.floor(x);
  if (x - below !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
}

/** Shorten the gradient of all parameters together to `maxNorm`, if it is longer; returns its
 *  length before. */
export function clipGradients(model, maxNorm) {
  require(maxNorm > 0, "max_norm must be above 0", { max_norm: maxNorm });
  let square = 0;
  for (const { grad } of model.parameters.values()) {
    for (let i = 0; i < grad.length; i += 1) square += grad[i] * grad[i];
  }
  const norm = Math.sqrt(square);
  require(Number.isFinite(norm), "the norm of the gradient must be finite", { norm });
  if (norm > maxNorm) {
    for (const { grad } of model.parameters.values()) {
      for (let i = 0; i < grad.length; i += 1) grad[i] *= maxNorm / norm;
    }
  }
  return norm;
}

/** One step down the gradient; returns the loss from before the step. */
export function trainStep(model, optimizers, ids, { share = 1, clip = null } = {}) {
  model.zeroGrad();
  const [loss, backward] = nextTokenLoss(model, ids);
  require(Number.isFinite(loss), "the loss must be finite", { loss });
  backward();
  if (clip !== null) clipGradients(model, clip);
  for (const optimizer of optimizers) optimizer.step(share);
  return loss;
}
