// A small GPT in the browser, forward and backward, to be read beside the library: each file has
// the name of the concept, and the names and formulas are those of softlookup.
//
// Read linear.js first, which says how a way back is written; then normalization, activations,
// feed_forward, rotary, attention, grouped_query, block and gpt; then objectives, adamw, muon and
// training; cache and decoding; byte_pairs; probes; safetensors and saved; ngrams, run and race; and
// at last products, simd_products and worker.

import { ACTIVATIONS, normalShare } from "./activations.js";
import { AdamW } from "./adamw.js";
import { attention, readable } from "./attention.js";
import { BytePairTokenizer, splitPattern } from "./byte_pairs.js";
import { KeyValueCache } from "./cache.js";
import { normalNumbers, randomPieces } from "./chance.js";
import { gptConfig } from "./configuration.js";
import { generate, generateAnew, greedy, sampler } from "./decoding.js";
import { GPT } from "./gpt.js";
import { linear } from "./linear.js";
import { Muon, orthogonalize } from "./muon.js";
import { layerNorm, rmsNorm } from "./normalization.js";
import { AddK, KneserNey, meanSurprise } from "./ngrams.js";
import { crossEntropy, nextTokenLoss } from "./objectives.js";
import { Parameter } from "./parameter.js";
import { capture, probesOf } from "./probes.js";
import { plainProducts } from "./products.js";
import { openedModel, savedModel } from "./saved.js";
import { serve } from "./serve.js";
import { lossOnText, piecesIn, TrainingRun } from "./run.js";
import { readSafetensors, writeSafetensors } from "./safetensors.js";
import { bestProducts, simdProducts } from "./simd_products.js";
import {
  clipGradients,
  matricesAndRest,
  recipeOptimizers,
  recipeRate,
  trainStep,
} from "./training.js";
import {
  changedScores,
  costs,
  decided,
  inspect,
  oneBack,
  patched,
  story,
  toil,
} from "./workshop.js";

/** All that the engine hands on. */
export const engine = {
  ...{ ACTIVATIONS, normalShare, AdamW, attention, readable, BytePairTokenizer, splitPattern },
  ...{ KeyValueCache, normalNumbers, randomPieces, gptConfig, generate, generateAnew, greedy },
  ...{ sampler, GPT, linear, Muon, orthogonalize, layerNorm, rmsNorm, crossEntropy, nextTokenLoss },
  ...{ Parameter, capture, probesOf, plainProducts, clipGradients, matricesAndRest },
  ...{ recipeOptimizers, recipeRate, trainStep },
  ...{ readSafetensors, writeSafetensors, AddK, KneserNey, meanSurprise },
  ...{ lossOnText, piecesIn, TrainingRun, openedModel, savedModel },
  ...{ changedScores, costs, decided, inspect, oneBack, patched, story, toil },
  ...{ serve, bestProducts, simdProducts },
};
