// The engine as a worker serves it: a model, a tokenizer's ids, and what a page asks for.
//
// A page sends {id, ask, data}. It gets {id, part} for each step or token as soon as it is there,
// and at the end {id, result} or {id, error}. While one task runs, "stop" ends it after its step.

import { randomPieces } from "./chance.js";
import { generate, sampler } from "./decoding.js";
import { GPT } from "./gpt.js";
import { capture } from "./probes.js";
import { require } from "./require.js";
import { bestProducts } from "./simd_products.js";
import { recipeOptimizers, recipeRate, trainStep } from "./training.js";
import { changedScores, costs, decided, inspect, oneBack, patched, story } from "./workshop.js";

/** What a page may ask for; each task is a generator of parts, and returns the result. */
class Tasks {
  model = null;
  stopped = false;

  /** A new model: of given weights, or started by a seed. */
  *load({ config, state = null, seed = 0, megabytes = 64 }) {
    const model = new GPT(config, bestProducts(megabytes));
    this.model = state === null ? model.startWeights(seed) : model.load(state);
    return { products: model.products.name };
  }

  /** The book's recipe on pieces of one long text; a part is a step and its loss. */
  *train({ ids, nSteps, length, batchSize, seed = 0, clip = null }) {
    const enough = length >= 2 && length <= ids.length;
    require(enough, "length must be from 2 to that of the text", { length, n: ids.length });
    const optimizers = recipeOptimizers(this.loaded());
    const pieces = randomPieces(ids, length, batchSize, seed);
    for (let step = 1; step <= nSteps && !this.stopped; step += 1) {
      const share = recipeRate(step, nSteps);
      const loss = trainStep(this.model, optimizers, pieces.next().value, { share, clip });
      yield { step, loss };
    }
    return { finished: !this.stopped };
  }

  /** A text that goes on from a prompt; a part is a token. `sampling` null: the most probable. */
  *write({ prompt, nTokens, sampling = null, eos = null }) {
    const pick = sampling === null ? undefined : sampler(sampling);
    for (const token of generate(this.loaded(), prompt, nTokens, { pick, eos })) {
      if (this.stopped) break;
      yield { token };
    }
    return { finished: !this.stopped };
  }

  /** The scores of the next token after each token. */
  *scores({ ids }) {
    return this.loaded().forward(ids)[0];
  }

  /** What the named probes see, as in `capture`. */
  *look({ ids, names = [] }) {
    return capture(this.loaded(), ids, ...names);
  }

  // what workshop.js has, each under its own name

  *story(asked) {
    for (const part of story(this.loaded(), asked)) {
      if (this.stopped) break;
      yield part;
    }
    return { finished: !this.stopped };
  }

  *changed({ ids, changes = [] }) {
    return changedScores(this.loaded(), ids, changes);
  }

  *costs({ ids, changes = [] }) {
    return costs(this.loaded(), ids, changes);
  }

  *inspect(asked) {
    return inspect(this.loaded(), asked);
  }

  *oneBack({ ids }) {
    return oneBack(this.loaded(), ids);
  }

  *decided({ ids }) {
    return decided(this.loaded(), ids);
  }

  *patched({ ids, from }) {
    return patched(this.loaded(), ids, from);
  }

  /** All weights. */
  *state() {
    return this.loaded().state();
  }

  loaded() {
    require(this.model !== null, "a model must be loaded first", {});
    return this.model;
  }
}

const KNOWN = [
  ...["load", "train", "write", "scores", "look", "state"],
  ...["story", "changed", "costs", "inspect", "oneBack", "decided", "patched"],
];

/** Answer what comes to a worker, one task after the other. */
export function serve(scope) {
  const tasks = new Tasks();
  const breath = new MessageChannel(); // between two steps a message may come in: "stop"
  const pause = () =>
    new Promise((go) => {
      breath.port1.onmessage = go;
      breath.port2.postMessage(null);
    });
  const run = async ({ id, ask, data }) => {
    try {
      require(KNOWN.includes(ask), `ask must be one of ${KNOWN.join(", ")}`, { ask });
      tasks.stopped = false;
      const task = tasks[ask](data ?? {});
      for (let next = task.next(); ; next = task.next()) {
        if (next.done) {
          scope.postMessage({ id, result: next.value });
          return;
        }
        scope.postMessage({ id, part: next.value });
        await pause();
      }
    } catch (error) {
      scope.postMessage({ id, error: error.message });
    }
  };
  let last = Promise.resolve();
  scope.onmessage = ({ data: message }) => {
    if (message.ask === "stop") tasks.stopped = true;
    else last = last.then(() => run(message));
  };
}
