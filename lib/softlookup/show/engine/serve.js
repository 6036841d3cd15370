// The engine as a worker serves it: a model, a tokenizer's ids, and what a page asks for.
//
// A page sends {id, ask, data}. It gets {id, part} for each step or token as soon as it is there,
// and at the end {id, result} or {id, error}. While one task runs, "stop" ends it after its step.

import { generate, sampler } from "./decoding.js";
import { GPT } from "./gpt.js";
import { capture } from "./probes.js";
import { require } from "./require.js";
import { bestProducts } from "./simd_products.js";
import { countedLines, race } from "./race.js";
import { reported, TrainingRun } from "./run.js";
import { loadTensors, openedModel, savedModel } from "./saved.js";
import { changedScores, costs, decided, inspect, oneBack, patched, story, toil } from "./workshop.js";

/** What a page may ask for; each task is a generator of parts, and returns the result. */
class Tasks {
  model = null;
  run = null;
  stopped = false;

  /** A new model: of the tensors of a file, or started by a seed; `without` lists what it must
   *  miss. */
  *load({ config, tensors = null, seed = 0, without = [], megabytes = 64 }) {
    const model = new GPT(config, bestProducts(megabytes));
    model.without = new Set(without);
    this.model = tensors === null ? model.startWeights(seed) : loadTensors(model, tensors);
    this.run = null;
    return { products: model.products.name };
  }

  /** Train on pieces of one long text, by the book's recipe unless `optimizer` says another way. A
   *  part is a step and its loss; after every `watch.every` steps also what `reported` says. The
   *  work is that of a TrainingRun; without any the run before goes on where it stopped, by `more`
   *  steps after its end. */
  *train({ watch = null, more = 0, ...work }) {
    if (work.ids !== undefined) this.run = new TrainingRun(this.#loaded(), work);
    const run = this.#begun();
    run.nSteps += more;
    while (run.t < run.nSteps && !this.stopped) {
      const part = run.step();
      const looks = watch !== null && (run.t % watch.every === 0 || run.t === run.nSteps);
      yield looks && !part.broken ? { ...part, ...reported(run, watch) } : part;
      if (part.broken) return { finished: false, broken: part.broken };
    }
    return { finished: run.t >= run.nSteps };
  }

  /** One step of the run, or the first of a new one, with what it did to each tensor. */
  *step({ watch, ...work }) {
    if (work.ids !== undefined) this.run = new TrainingRun(this.#loaded(), work);
    const done = this.#begun().stepAndSee();
    return done.broken ? done : { ...done, ...reported(this.run, watch) };
  }

  /** The gradient of one tensor in the last such step, as the optimizer got it. */
  *gradient({ name }) {
    const found = this.#begun().gradients?.get(name);
    require(found !== undefined, "a step of this tensor must have been seen", { name });
    return found;
  }

  /** Take up a model from a file; what is not its weights is returned. */
  *open({ bytes, megabytes = 64 }) {
    const { model, letters } = openedModel(bytes, bestProducts(megabytes));
    Object.assign(this, { model, run: null });
    return { config: model.config, letters, without: [...model.without] };
  }

  /** The model as the bytes of a file. */
  *save({ letters }) {
    return savedModel(this.#loaded(), letters);
  }

  /** The losses on `heldOut` of models that only count in `ids`. */
  *count(texts) {
    return countedLines(texts);
  }

  /** Two ways of training at equal seconds; a part is a step of one of them. */
  *race(rules) {
    yield* race(rules, () => this.stopped);
    return { finished: !this.stopped };
  }

  /** A text that goes on from a prompt; a part is a token. `sampling` null: the most probable. */
  *write({ prompt, nTokens, sampling = null, eos = null }) {
    const pick = sampling === null ? undefined : sampler(sampling);
    const tokens = generate(this.#loaded(), prompt, nTokens, { pick, eos });
    return yield* this.#each(tokens, (token) => ({ token }));
  }

  /** The scores of the next token after each token. */
  *scores({ ids }) {
    return this.#loaded().forward(ids)[0];
  }

  /** What the named probes see, as in `capture`. */
  *look({ ids, names = [] }) {
    return capture(this.#loaded(), ids, ...names);
  }

  // what workshop.js has, each under its own name

  *story(asked) {
    return yield* this.#each(story(this.#loaded(), asked));
  }

  *toil(asked) {
    return yield* this.#each(toil(this.#loaded(), asked));
  }

  *changed({ ids, changes = [] }) {
    return changedScores(this.#loaded(), ids, changes);
  }

  *costs({ ids, changes = [] }) {
    return costs(this.#loaded(), ids, changes);
  }

  *inspect(asked) {
    return inspect(this.#loaded(), asked);
  }

  *oneBack({ ids }) {
    return oneBack(this.#loaded(), ids);
  }

  *decided({ ids }) {
    return decided(this.#loaded(), ids);
  }

  *patched({ ids, from }) {
    return patched(this.#loaded(), ids, from);
  }

  /** All weights. */
  *state() {
    return this.#loaded().state();
  }

  *#each(parts, written = (part) => part) {
    for (const part of parts) {
      if (this.stopped) break;
      yield written(part);
    }
    return { finished: !this.stopped };
  }

  #begun() {
    require(this.run !== null, "a run must be begun first", {});
    return this.run;
  }

  #loaded() {
    require(this.model !== null, "a model must be loaded first", {});
    return this.model;
  }
}

/** What there is to ask for: the tasks, by their names. */
const KNOWN = Object.getOwnPropertyNames(Tasks.prototype).filter((name) => name !== "constructor");

/** Answer what comes to a worker, one task after the other. */
export function serve(scope) {
  const tasks = new Tasks();
  // between two steps a message may come in: "stop"
  const breath = new MessageChannel();
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
