// What the word2vec stepper computes: one step of skip-gram, in doubles.

import { dot, softmax, sum } from "../../kit/maths.js";

const sigmoid = (score) => 1 / (1 + Math.exp(-score));

/** P(r | centre) for every word r: the softmax of u · v_r. */
const chances = (centre, U, V) => softmax(V.map((v) => dot(U[centre], v)));

/** The next k draws that are not the true context word, and the place behind them. */
export function nextNegatives(draws, place, k, context) {
  const found = [];
  let next = place;
  while (found.length < k) {
    const word = draws[next % draws.length];
    next += 1;
    if (word !== context) found.push(word);
  }
  return { negatives: found, place: next };
}

/** The rows that a step reads, each with its chance and its error, chance minus truth.
    Full softmax (no negatives) reads all rows; else the true one and the negatives. */
export function readRows({ centre, context, negatives }, U, V) {
  if (!negatives) {
    return chances(centre, U, V).map((chance, row) => ({
      row,
      chance,
      error: chance - (row === context ? 1 : 0),
    }));
  }
  return [context, ...negatives].map((row, place) => {
    const chance = sigmoid(dot(U[centre], V[row]));
    return { row, chance, error: chance - (place === 0 ? 1 : 0) };
  });
}

/** What the pair costs: −log of the true word's chance; with negatives, theirs of being noise too. */
export function lossOf(pair, U, V) {
  const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
  const scores = V.map((v) => dot(U[pair.centre], v));
  if (!pair.negatives) {
    const largest = Math.max(...scores);
    const total = sum(scores.map((score) => Math.exp(score - largest)));
    return largest + Math.log(total) - scores[pair.context];
  }
  return sum([
    softplus(-scores[pair.context]),
    ...pair.negatives.map((row) => softplus(scores[row])),
  ]);
}

/** One step downhill: u loses rate · Σ error · v, each v that was read loses rate · error · u. */
export function step(pair, U, V, rate) {
  const read = readRows(pair, U, V);
  const u = U[pair.centre];
  const pull = u.map((_, c) => sum(read.map(({ row, error }) => error * V[row][c])));
  const newU = U.map((vector) => [...vector]);
  const newV = V.map((vector) => [...vector]);
  newU[pair.centre] = u.map((value, c) => value - rate * pull[c]);
  read.forEach(({ row, error }) => {
    newV[row] = newV[row].map((value, c) => value - rate * error * u[c]);
  });
  return { U: newU, V: newV, multiplications: 3 * read.length * u.length };
}

/** The mean of −log P(context | centre) over pairs. */
export function meanLoss(pairs, U, V) {
  return sum(pairs.map(([centre, context]) => lossOf({ centre, context }, U, V))) / pairs.length;
}
