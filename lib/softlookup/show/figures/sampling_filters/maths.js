// Temperature and filters: the arithmetic of softlookup.language_models.sampling_weights.

import { ranked, softmax } from "../../kit/maths.js";

/** Which tokens are among the k largest. */
function topK(scores, k) {
  const best = new Set(ranked(scores).slice(0, k));
  return scores.map((_, id) => best.has(id));
}

/** Which tokens make up probability p, the most probable first. */
function topP(scores, p) {
  if (p === 1) return scores.map(() => true);
  const weights = softmax(scores);
  const kept = scores.map(() => false);
  let before = 0;
  for (const id of ranked(scores)) {
    if (before >= p) break;
    kept[id] = true;
    before += weights[id];
  }
  return kept;
}

/** Which tokens are at least p times as probable as the best. */
function minP(scores, p) {
  const least = Math.max(...scores) + Math.log(p);
  return scores.map((score) => score >= least);
}

/** The probabilities to draw from: temperature, then each filter on what the one before left. */
export function samplingWeights(scores, { temperature, k, p, least }) {
  const largest = Math.max(...scores);
  let heated = scores.map((score) => (score - largest) / temperature);
  for (const [cut, limit] of [
    [topK, k],
    [topP, p],
    [minP, least],
  ]) {
    if (limit !== null) {
      const kept = cut(heated, limit);
      heated = heated.map((score, id) => (kept[id] ? score : -Infinity));
    }
  }
  return softmax(heated);
}
