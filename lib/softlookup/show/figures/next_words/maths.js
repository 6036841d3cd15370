// Next words: count ratios, Kneser-Ney, a window of vectors, a state: softlookup.language_models.

import { softmax } from "../../kit/maths.js";

const key = (ids) => ids.join(" ");

/** For each history of n - 1 ids the counts of the ids after it; bos stands before each text. */
function followers(texts, n, size) {
  const [bos, eos, table] = [size, size - 1, new Map()];
  for (const text of texts) {
    const padded = [...Array(n - 1).fill(bos), ...text, eos];
    for (let end = n - 1; end < padded.length; end += 1) {
      const history = key(padded.slice(end - n + 1, end));
      if (!table.has(history)) table.set(history, new Map());
      const row = table.get(history);
      row.set(padded[end], (row.get(padded[end]) ?? 0) + 1);
    }
  }
  return table;
}

/** One order down: after how many words a run occurs; after bos, how often. */
function continuations(table, bos) {
  const lower = new Map();
  for (const [history, row] of table) {
    const shorter = history.split(" ").slice(1);
    if (!lower.has(key(shorter))) lower.set(key(shorter), new Map());
    const sums = lower.get(key(shorter));
    for (const [id, count] of row) {
      sums.set(id, (sums.get(id) ?? 0) + (Number(shorter[0] ?? -1) === bos ? count : 1));
    }
  }
  return lower;
}

const lastWords = (ids, n, bos) => {
  const padded = [...Array(n).fill(bos), ...ids];
  return padded.slice(padded.length - n);
};

const total = (row) => [...row.values()].reduce((a, b) => a + b, 0);

/** C(hw) / C(h), or null where h was never seen. */
function ratios(table, ids, n, size) {
  const row = table.get(key(lastWords(ids, n - 1, size)));
  if (row === undefined) return null;
  return Array.from({ length: size }, (_, id) => (row.get(id) ?? 0) / total(row));
}

/** Interpolated Kneser-Ney, from single words up to the highest order. */
function kneserNey(tables, ids, size, discount) {
  const history = lastWords(ids, tables.length - 1, size);
  let p = Array(size).fill(1 / size);
  tables.forEach((table, order) => {
    const row = table.get(key(history.slice(history.length - order)));
    if (row === undefined) return;
    const sum = total(row);
    p = p.map(
      (below, id) =>
        (Math.max((row.get(id) ?? 0) - discount, 0) + discount * row.size * below) / sum,
    );
  });
  return p;
}

const linear = (weight, bias, x) =>
  weight.map((row, i) => row.reduce((sum, w, j) => sum + w * x[j], bias[i]));

/** Bengio's network: vectors side by side, tanh, softmax. */
function feedForward(network, ids, n, size) {
  const x = lastWords(ids, n - 1, size).flatMap((id) => network["embedding.weight"][id]);
  const hidden = linear(network["hidden.weight"], network["hidden.bias"], x).map(Math.tanh);
  const logits = linear(network["output.weight"], network["output.bias"], hidden);
  return softmax(logits);
}

const sigmoid = (v) => 1 / (1 + Math.exp(-v));

/** One step of the gated recurrent unit; the rows of its maps are reset, update, candidate. */
function gruStep(network, x, state) {
  const d = state.length;
  const fromX = linear(network["cell.W_xh.weight"], network["cell.W_xh.bias"], x);
  const fromState = linear(network["cell.W_hh.weight"], network["cell.W_hh.bias"], state);
  return state.map((old, i) => {
    const reset = sigmoid(fromX[i] + fromState[i]);
    const update = sigmoid(fromX[d + i] + fromState[d + i]);
    const candidate = Math.tanh(fromX[2 * d + i] + reset * fromState[2 * d + i]);
    return candidate + update * (old - candidate);
  });
}

/** A recurrent model: bos and all words, one after the other; a softmax over the last state. */
function recurrent(network, ids, size) {
  let state = Array(network["cell.W_hh.weight"][0].length).fill(0);
  for (const id of [size, ...ids]) {
    state = gruStep(network, network["embedding.weight"][id], state);
  }
  return softmax(linear(network["output.weight"], network["output.bias"], state));
}

/** All models, by name: each gives a row of probabilities for the ids so far, or null. */
export function modelsOf({ texts, words, discount, window, n, state }) {
  const size = words.length;
  const tables = [1, 2, 3].map((order) => followers(texts, order, size));
  const orders = [tables[2]];
  for (let order = 2; order > 0; order -= 1) orders.unshift(continuations(orders[0], size));
  return {
    unigram: (ids) => ratios(tables[0], ids, 1, size),
    bigram: (ids) => ratios(tables[1], ids, 2, size),
    trigram: (ids) => ratios(tables[2], ids, 3, size),
    "trigram, Kneser-Ney": (ids) => kneserNey(orders, ids, size, discount),
    "window of vectors": (ids) => feedForward(window, ids, n, size),
    "recurrent state": (ids) => recurrent(state, ids, size),
  };
}

/** The ids of a line's words, and the words that have none. */
export function idsOf(line, words) {
  const typed = line
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== "");
  const ids = typed.map((word) => words.slice(0, -1).indexOf(word));
  return { ids, unknown: typed.filter((_, i) => ids[i] < 0) };
}
