// What a model is asked to do: say the next token.

import { mapped } from "./arrays.js";
import { require } from "./require.js";

/** The mean of −log p(target) over the rows whose target is not null, and its way back. */
export function crossEntropy(scores, targets) {
  const n = targets.length;
  const vocab = scores.length / n;
  const counted = targets.filter((target) => target !== null).length;
  require(counted > 0, "at least one text must have two real tokens", {});
  const weights = new scores.constructor(scores.length);
  let loss = 0;
  targets.forEach((target, i) => {
    if (target === null) return;
    const known = Number.isInteger(target) && target >= 0 && target < vocab;
    require(known, `a target must be an integer from 0 to ${vocab - 1}`, { target });
    let [largest, total] = [-Infinity, 0];
    for (let v = i * vocab; v < (i + 1) * vocab; v += 1) largest = Math.max(largest, scores[v]);
    for (let v = i * vocab; v < (i + 1) * vocab; v += 1) {
      weights[v] = Math.exp(scores[v] - largest);
      total += weights[v];
    }
    for (let v = i * vocab; v < (i + 1) * vocab; v += 1) weights[v] /= total;
    loss += (largest + Math.log(total) - scores[i * vocab + target]) / counted;
  });

  // ∂scores = (softmax(scores) − 1 at the target) / the number of targets
  const backward = () => {
    const d = mapped(weights, (weight) => weight / counted);
    targets.forEach((target, i) => {
      if (target !== null) d[i * vocab + target] -= 1 / counted;
    });
    return d;
  };
  return [loss, backward];
}

/** How badly the next tokens of some texts were foreseen, as in the library; `lengths` says how
 *  many tokens of each are real. Returns the loss, and a function that adds up the gradients. */
export function nextTokenLoss(model, ids, lengths = ids.map((text) => text.length)) {
  const [scores, backwardModel] = model.forward(ids);
  const next = (text, i, k) => (i + 1 < lengths[k] ? text[i + 1] : null);
  const targets = ids.flatMap((text, k) => text.map((_, i) => next(text, i, k)));
  const [loss, backwardLoss] = crossEntropy(scores, targets);
  return [loss, () => backwardModel(backwardLoss())];
}
