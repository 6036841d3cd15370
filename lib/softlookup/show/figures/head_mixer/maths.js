// A layer of heads and its readout in the browser: softlookup.attention.multi_head.
// A matrix is a list of rows; the weights come one block per head.

import { dot, softmax, sum } from "../../kit/maths.js";
import { multiply } from "../../kit/matrices.js";

function project(X, W, b) {
  return multiply(X, W).map((row) => row.map((value, c) => value + b[c]));
}

/** One head's weights: the softmax of QKᵀ/√d_k over the keys that the mask allows. */
export function weightsOf(Q, K, mask) {
  return Q.map((q, i) => {
    if (!mask[i].some(Boolean)) return K.map(() => 0);
    return softmax(K.map((k, j) => (mask[i][j] ? dot(q, k) / Math.sqrt(q.length) : -Infinity)));
  });
}

/** What each head does with one text: its weights, and what it adds to every score. */
export function readText(X, model, mask) {
  return model.W_Q.map((_, h) => {
    const [Q, K, V] = ["Q", "K", "V"].map((letter) =>
      project(X, model[`W_${letter}`][h], model[`b_${letter}`][h]),
    );
    const weights = weightsOf(Q, K, mask);
    const adds = multiply(multiply(multiply(weights, V), model.W_O[h]), model.R);
    return { weights, adds };
  });
}

/** The scores of a text: what all words get without any head, and what each head that speaks adds. */
export function scoresOf(heads, model, speaks) {
  const [silent] = project([model.b_O], model.R, model.b);
  return heads[0].adds.map((row, i) =>
    row.map((_, c) =>
      heads.reduce((sum, { adds }, h) => (speaks[h] ? sum + adds[i][c] : sum), silent[c]),
    ),
  );
}

/** The scores of one question at one word. */
function scoresOfQuestion(row, q, n) {
  return row.slice(q * n, (q + 1) * n);
}

/** The answer with the largest score to each question at each word. */
export function named(scores, nAnswers) {
  return scores.map((row) =>
    Array.from({ length: row.length / nAnswers }, (_, q) => {
      const own = scoresOfQuestion(row, q, nAnswers);
      return own.indexOf(Math.max(...own));
    }),
  );
}

/** Over all texts: the share of right answers to each question, and the mean cross-entropy. */
export function judge(allScores, targets, nAnswers) {
  const nQuestions = targets[0][0].length;
  const right = Array(nQuestions).fill(0);
  const asked = Array(nQuestions).fill(0);
  let loss = 0;
  allScores.forEach((scores, t) =>
    scores.forEach((row, i) => {
      named([row], nAnswers)[0].forEach((answer, q) => {
        const target = targets[t][i][q];
        if (target < 0) return;
        asked[q] += 1;
        right[q] += Number(answer === target);
        loss -= logSoftmax(scoresOfQuestion(row, q, nAnswers), target);
      });
    }),
  );
  const all = sum(asked);
  return { shares: right.map((count, q) => count / asked[q]), loss: loss / all };
}

function logSoftmax(scores, target) {
  const largest = Math.max(...scores);
  return scores[target] - largest - Math.log(sum(scores.map((score) => Math.exp(score - largest))));
}

/** The numbers that divide d, from 1 to d. */
export function divisors(d) {
  return Array.from({ length: d }, (_, k) => k + 1).filter((h) => d % h === 0);
}

/** The parameters of h heads of width d/h and W^O, without biases: h·3·d·(d/h) + h·(d/h)·d. */
export function parametersOf(d, h) {
  const width = d / h;
  return h * 3 * d * width + h * width * d;
}
