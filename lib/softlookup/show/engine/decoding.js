// From a model to a text: greedily, or by chance.

import { samplingWeights } from "../figures/sampling_filters/maths.js";
import { drawn, random } from "../kit/maths.js";
import { require, requireInteger } from "./require.js";

/** The id of the largest score; of equals the first. */
function argmax(scores) {
  let best = 0;
  for (let id = 1; id < scores.length; id += 1) if (scores[id] > scores[best]) best = id;
  return best;
}

/** What `generate` picks with: the most probable token. */
export const greedy = () => argmax;

/** What `generate` picks with: a token drawn by chance, after temperature and filters; as in the
 *  library first top_k, then top_p, then min_p, null for no filter. */
export function sampler({ seed, temperature = 1, topK = null, topP = null, minP = null }) {
  const hot = temperature > 0 && temperature < Infinity;
  require(hot, "temperature must be positive and finite", { temperature });
  if (topK !== null) requireInteger("top_k", topK, 1);
  require(topP === null || (topP > 0 && topP <= 1), "top_p must be in (0, 1]", { top_p: topP });
  require(minP === null || (minP >= 0 && minP <= 1), "min_p must be in [0, 1]", { min_p: minP });
  const chance = random(seed);
  const limits = { temperature, k: topK, p: topP, least: minP };
  return (scores) => drawn(samplingWeights(Array.from(scores), limits), chance());
}

/** Write on after a prompt with the cache, token by token; each is handed out as soon as it is
 *  there. `eos` ends the text, and is handed out too; null: nothing ends it. */
export function* generate(model, prompt, nTokens, { pick = argmax, eos = null } = {}) {
  require(prompt.length > 0, "a prompt must have at least one token", {});
  let cache = model.start([prompt.slice(0, -1)]);
  let token = prompt.at(-1);
  for (let k = 0; k < nTokens; k += 1) {
    const [scores, next] = model.step([token], cache);
    cache = next;
    token = pick(scores);
    yield token;
    if (token === eos) return;
  }
}

/** The same text without a cache, reading everything anew for each token: slow, to compare with. */
export function* generateAnew(model, prompt, nTokens, { pick = argmax, eos = null } = {}) {
  const ids = [...prompt];
  for (let k = 0; k < nTokens; k += 1) {
    const [scores] = model.forward([ids]);
    const token = pick(scores.subarray(scores.length - model.config.vocab_size));
    ids.push(token);
    yield token;
    if (token === eos) return;
  }
}
