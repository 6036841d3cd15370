// Language models that only count, to lay beside a trained one: AddK and KneserNey of the library.
//
// A text is a list of ids. As in the library n − 1 beginnings stand before it, its end is counted
// like a token, and the vocabulary has two more than `vocabSize`: the end, and an unknown token.

import { require, requireInteger } from "./require.js";

const BEGIN = -1;
const END = -2;

/** For each run of n − 1 tokens, how often each token came after it. */
function followerCounts(ids, n) {
  const padded = [...new Array(n - 1).fill(BEGIN), ...ids, END];
  const followers = new Map();
  for (let end = n - 1; end < padded.length; end += 1) {
    count(followers, padded.slice(end - n + 1, end).join(), padded[end], 1);
  }
  return followers;
}

function count(table, history, token, times) {
  if (!table.has(history)) table.set(history, new Map());
  const counts = table.get(history);
  counts.set(token, (counts.get(token) ?? 0) + times);
}

const totals = (table) =>
  new Map([...table].map(([history, counts]) => [history, sumOf(counts.values())]));

function sumOf(numbers) {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}

/** The last n − 1 tokens before a place, with beginnings before them where they are fewer. */
const historyOf = (ids, at, n) =>
  Array.from({ length: n - 1 }, (_, k) => ids[at - n + 1 + k] ?? BEGIN);

/** P(w | h) = (C(hw) + k) / (C(h) + kV). */
export class AddK {
  constructor(ids, n, k, vocabSize) {
    requireInteger("n", n, 1);
    require(k > 0 && k < Infinity, "k must be positive and finite", { k });
    this.followers = followerCounts(ids, n);
    Object.assign(this, { n, k, size: vocabSize + 2, totals: totals(this.followers) });
  }

  /** The probability of the token at a place of a text after those before it. */
  probability(ids, at) {
    const history = historyOf(ids, at, this.n).join();
    const seen = this.followers.get(history)?.get(ids[at]) ?? 0;
    return (seen + this.k) / ((this.totals.get(history) ?? 0) + this.k * this.size);
  }
}

/** P(w | h) = max(C(hw) − D, 0)/C(h) + D N(h)/C(h) · P(w | h′): every count gives D away, and a
 *  shorter history shares it out; below the highest order C(hw) is in how many places hw occurs. */
export class KneserNey {
  constructor(ids, n, vocabSize, discount = 0.75) {
    requireInteger("n", n, 1);
    require(discount > 0 && discount < 1, "discount must be in (0, 1)", { discount });
    const tables = [followerCounts(ids, n)];
    for (let k = 1; k < n; k += 1) tables.unshift(continuations(tables[0]));
    Object.assign(this, { n, discount, size: vocabSize + 2, tables, sums: tables.map(totals) });
  }

  /** The probability of the token at a place of a text after those before it. */
  probability(ids, at) {
    const history = historyOf(ids, at, this.n);
    let p = 1 / this.size;
    this.tables.forEach((table, order) => {
      const h = history.slice(this.n - 1 - order).join();
      const counts = table.get(h);
      if (counts === undefined) return;
      const kept = Math.max((counts.get(ids[at]) ?? 0) - this.discount, 0);
      p = (kept + this.discount * counts.size * p) / this.sums[order].get(h);
    });
    return p;
  }
}

/** One order down: after how many different tokens each run occurs. */
function continuations(table) {
  const lower = new Map();
  for (const [history, counts] of table) {
    const [, ...rest] = history.split(",");
    const begins = rest[0] === String(BEGIN); // nothing but beginnings come before one
    for (const [token, times] of counts) count(lower, rest.join(), token, begins ? times : 1);
  }
  return lower;
}

/** The mean of −log P over the tokens of a text from the second one on. */
export function meanSurprise(model, ids) {
  require(ids.length >= 2, "a text must have at least two tokens", { n: ids.length });
  let sum = 0;
  for (let at = 1; at < ids.length; at += 1) sum -= Math.log(model.probability(ids, at));
  return sum / (ids.length - 1);
}
