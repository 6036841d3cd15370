// What a trained model is measured against: models that only count, and another way of training.

import { GPT } from "./gpt.js";
import { AddK, KneserNey, meanSurprise } from "./ngrams.js";
import { recipeRate } from "./training.js";
import { lossOnText, TrainingRun } from "./run.js";
import { bestProducts } from "./simd_products.js";

const BIGRAM = { n: 2, k: 0.1 };
const ORDER = 5; // of Kneser–Ney: four letters before
const TIMES = 1000; // the recipe's rates are asked for so many moments of a race
const LOOKS = 20; // at the held-out text, in a race

/** The losses on a held-out text of models that count in another: which letters there are, which
 *  follow one, and which follow four. */
export function countedLines({ ids, heldOut, vocabSize }) {
  return {
    unigram: meanSurprise(new AddK(ids, 1, BIGRAM.k, vocabSize), heldOut),
    bigram: meanSurprise(new AddK(ids, BIGRAM.n, BIGRAM.k, vocabSize), heldOut),
    kneserNey: meanSurprise(new KneserNey(ids, ORDER, vocabSize), heldOut),
  };
}

/** Train several models, each for as many seconds as the others; whoever has used least goes on.
 *
 *  Only steps take time, looks at the held-out text do not. The recipe's rates follow the seconds
 *  in place of the steps. Each part is {racer, step, loss, seconds}, some with `heldOut`; a run
 *  that breaks is over, and its last part says so. */
export function* race({ racers, seconds, heldOut, length }, stopped) {
  const all = racers.map(({ config, work, without = [], seed = 0 }, racer) => {
    const model = new GPT(config, bestProducts()).startWeights(seed);
    model.without = new Set(without);
    const run = new TrainingRun(model, { ...work, nSteps: TIMES });
    return { racer, model, run, used: 0, looks: 0, over: false };
  });
  while (!stopped()) {
    const [one] = all.filter(({ over }) => !over).sort((a, b) => a.used - b.used);
    if (one === undefined) return;
    const moment = Math.min(TIMES, 1 + Math.floor((TIMES * one.used) / seconds));
    const begin = performance.now();
    const done = one.run.step(one.run.share === recipeRate ? recipeRate(moment, TIMES) : 1);
    one.used += (performance.now() - begin) / 1000;
    one.over = one.used >= seconds || done.broken !== undefined;
    const part = { racer: one.racer, ...done, seconds: one.used, over: one.over };
    if (one.over || one.used >= (one.looks * seconds) / LOOKS) {
      one.looks += 1;
      part.heldOut = done.broken ? null : lossOnText(one.model, heldOut, length);
    }
    yield part;
  }
}
