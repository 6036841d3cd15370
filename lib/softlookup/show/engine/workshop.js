// What the workshop asks of a model: what comes next, why, and what if a part of it were changed.
//
// A change is an object: {kind: "head", layer, head} switches a head off; CHANGES has the others.
// Layers and heads count from 0. A height is a place in the stream: 0 before the first block, k
// behind block k.

import { dot, ranked, shares, softmax, sum } from "../kit/maths.js";
import { lengthOf } from "./arrays.js";
import { readable } from "./attention.js";
import { greedy, sampler } from "./decoding.js";
import { PARTS } from "./gpt.js";
import { linear } from "./linear.js";
import { crossEntropy } from "./objectives.js";
import { require } from "./require.js";

const nothing = (numbers) => new numbers.constructor(numbers.length);
const streamAt = (height) => (height === 0 ? "rows" : `blocks.${height - 1}.feed_forward.stream`);

/** Where the attention of a head that is set by hand may begin; otherwise with its own. */
const PATTERNS = {
  itself: (i, j) => (i === j ? 1 : 0),
  "one back": (i, j) => (j === Math.max(0, i - 1) ? 1 : 0),
  first: (i, j) => (j === 0 ? 1 : 0),
  even: (i, j) => (j <= i ? 1 / (i + 1) : 0),
};

/** From a change to the probe that it hooks, and the hook. */
const CHANGES = {
  head: (model, { layer, head }) => [
    `blocks.${layer}.self_attention.layer.heads`,
    (numbers, [, nHeads, n, d]) =>
      numbers.map((x, k) => (Math.floor(k / (n * d)) % nHeads === head ? 0 : x)),
  ],
  attention: (model, { layer }) => [`blocks.${layer}.self_attention.write`, nothing],
  "feed-forward": (model, { layer }) => [`blocks.${layer}.feed_forward.write`, nothing],
  /** A head's attention as a pattern, or as it is; then some of its cells, each [query, key,
   *  weight], the key null for all of the row; then each such row is divided by its sum. */
  weights: (model, { layer, head, pattern, cells = [] }) => {
    const rule = "a weight must be finite, at least 0, and that of a key up to its query";
    for (const [i, j, weight] of cells) {
      const reads = (j ?? 0) >= 0 && (j ?? 0) <= i;
      require(reads && weight >= 0 && weight < Infinity, rule, { i, j, weight });
    }
    const hook = (numbers, [, , n]) => {
      const changed = numbers.slice();
      const rowOf = (i) => changed.subarray((head * n + i) * n, (head * n + i + 1) * n);
      if (pattern in PATTERNS) {
        for (let i = 0; i < n; i += 1) rowOf(i).set(rowOf(i).map((_, j) => PATTERNS[pattern](i, j)));
      }
      const there = cells.filter(([i]) => i < n);
      for (const [i, j, weight] of there) rowOf(i).fill(weight, j ?? 0, (j ?? i) + 1);
      for (const i of new Set(there.map(([query]) => query))) rowOf(i).set(shares(rowOf(i)));
      return changed;
    };
    return [`blocks.${layer}.self_attention.layer.weights`, hook];
  },
  /** The stream of token `at` becomes that of the last token of another text. */
  patch: (model, { height, at, from }) => {
    const row = lastRow(model, from, height);
    return [
      streamAt(height),
      (numbers) => {
        const changed = numbers.slice();
        changed.set(row, at * row.length);
        return changed;
      },
    ];
  },
  /** All streams move by a multiple of the difference of two texts' last rows. */
  steer: (model, { height, toward, away, strength }) => {
    const [a, b] = [lastRow(model, toward, height), lastRow(model, away, height)];
    const d = a.length;
    return [streamAt(height), (numbers) => numbers.map((x, k) => x + strength * (a[k % d] - b[k % d]))];
  },
};

/** The row of a text's last token at a height of the stream. */
function lastRow(model, ids, height) {
  let row = null;
  const keep = (numbers, [, , d]) => {
    row = numbers.slice(numbers.length - d);
  };
  model.forward([ids], { hooks: new Map([[streamAt(height), keep]]) });
  return row;
}

/** The scores after each token of a text, of a model with some changes; of two at one probe the
 *  second sees what the first has made. `see` is called with what each probe of its names passes on. */
export function changedScores(model, ids, changes, see = new Map()) {
  const hooks = new Map();
  const add = (probe, hook) => {
    const before = hooks.get(probe) ?? ((numbers) => numbers);
    hooks.set(probe, (numbers, shape) => hook(before(numbers, shape), shape));
  };
  const kinds = changes.map(({ kind }) => kind);
  for (const change of changes) {
    if (PARTS.includes(change.kind)) continue;
    require(change.kind in CHANGES, "a change must be of a known kind", { kind: change.kind });
    add(...CHANGES[change.kind](model, change));
  }
  for (const [probe, show] of see) {
    add(probe, (numbers, shape) => {
      show(numbers, shape);
      return numbers;
    });
  }
  const kept = model.without;
  model.without = new Set(PARTS.filter((part) => kinds.includes(part)));
  try {
    return model.forward([ids], { hooks })[0];
  } finally {
    model.without = kept;
  }
}

/** A text that goes on; each part is a token and the scores it was picked from. The chance of a
 *  token depends on the seed and on its place, so that step by step and at once are one text. */
export function* story(model, { prompt, nTokens, sampling = null, changes = [] }) {
  require(prompt.length > 0, "a prompt must have at least one token", {});
  const ids = [...prompt];
  const size = model.config.vocab_size;
  let cache = changes.length === 0 ? model.start([ids.slice(0, -1)]) : null;
  const last = (scores) => scores.slice(scores.length - size);
  for (let k = 0; k < nTokens && ids.length < model.config.context; k += 1) {
    let scores;
    if (cache === null) scores = last(changedScores(model, ids, changes));
    else [scores, cache] = model.step([ids.at(-1)], cache);
    const seed = sampling === null ? 0 : sampling.seed + ids.length;
    const pick = sampling === null ? greedy() : sampler({ ...sampling, seed });
    const token = pick(scores);
    ids.push(token);
    yield { token, scores };
  }
}

/** A text that goes on with the most probable tokens, and what each took: how many numbers the
 *  blocks multiplied, and how many the cache holds after it. Not `cached`, everything is read anew;
 *  `window` takes the place of the model's own. */
export function* toil(model, { prompt, nTokens, cached, window }) {
  require(prompt.length > 0, "a prompt must have at least one token", {});
  const { config } = model;
  const { vocab_size: size, d_model: d, n_layers: nLayers } = config;
  const width = (2 * nLayers * d * config.n_kv_heads) / config.n_heads;
  const ids = [...prompt];
  model.config = { ...config, window };
  try {
    let cache = cached && model.start([ids.slice(0, -1)]);
    for (let k = 0; k < nTokens && ids.length < config.context; k += 1) {
      const places = [...ids.keys()];
      const now = cached ? places.slice(-1) : places;
      const keys = cached ? [...cache.positions, ...now] : places;
      const read = () => (cached ? model.step(ids.slice(-1), cache) : model.forward([ids]));
      const [[scores, next], inMatrices] = countProducts(model, read);
      if (cached) cache = next;
      // a score and a share of the value for each pair, in all heads of all layers
      const pairs = sum(readable(now, keys, model.config).map((slots) => slots.length));
      const token = greedy()(scores.slice(-size));
      ids.push(token);
      const products = inMatrices + 2 * nLayers * d * pairs;
      yield { token, products, kept: cached ? width * cache.positions.length : 0 };
    }
  } finally {
    model.config = config;
  }
}

/** What a function of the model returns, and how many numbers the matrices of the blocks multiply
 *  meanwhile; the table that scores the tokens is left out. */
function countProducts({ products, unembedding, embedding }, run) {
  const own = products.timesTransposed;
  const table = (unembedding ?? embedding).data;
  let total = 0;
  products.timesTransposed = (a, b, n, k, m) => {
    if (b !== table) total += n * k * m;
    return own.call(products, a, b, n, k, m);
  };
  try {
    return [run(), total];
  } finally {
    products.timesTransposed = own;
  }
}

/** What each token of a text costs in bits, told from those before it. */
export function costs(model, ids, changes = []) {
  const scores = changedScores(model, ids, changes);
  const size = model.config.vocab_size;
  return ids.slice(1).map((id, i) => {
    const [loss] = crossEntropy(scores.subarray(i * size, (i + 1) * size), [id]);
    return loss / Math.LN2;
  });
}

/** What happened inside: the attention of all heads, and the stream of token `at` on its way up.
 *
 *  Each stage has the norm of what was written, and that of the stream; what the model would say
 *  next if this were the end (the logit lens); and the tokens (of those `among`) most like it. */
export function inspect(model, { ids, at, changes = [], most = 3, among = null }) {
  const d = model.config.d_model;
  const weights = [];
  const stages = [];
  const row = (numbers) => numbers.slice(at * d, (at + 1) * d);
  const stage = (name) => {
    let write = null;
    const onWrite = (numbers) => {
      write = row(numbers);
    };
    const onStream = (numbers) => {
      const stream = row(numbers);
      const says = told(model, stream, most);
      const like = neighbours(model.embedding, stream, most, among);
      const written = lengthOf(write ?? stream);
      stages.push({ name, write: written, stream: lengthOf(stream), says, like });
    };
    return [onWrite, onStream];
  };
  const see = new Map([["rows", stage("embedding")[1]]]);
  model.blocks.forEach((_, k) => {
    const within = `blocks.${k}`;
    see.set(`${within}.self_attention.layer.weights`, (numbers) => weights.push(numbers.slice()));
    for (const part of ["self_attention", "feed_forward"]) {
      const [onWrite, onStream] = stage(`${part} ${k}`);
      see.set(`${within}.${part}.write`, onWrite).set(`${within}.${part}.stream`, onStream);
    }
  });
  changedScores(model, ids, changes, see);
  return { weights, stages };
}

/** What a row of the stream says if it is taken for the last: [id, probability], best first. */
function told(model, stream, most) {
  const normed = model.norm === null ? stream : model.norm.forward(stream)[0];
  const [scores] = linear(normed, model.unembedding ?? model.embedding, null);
  const weights = softmax(Array.from(scores));
  return ranked(weights).slice(0, most).map((id) => [id, weights[id]]);
}

/** The rows of a table whose cosine with a vector is largest: [id, cosine], best first. */
function neighbours({ data, shape: [n, d] }, vector, most, among) {
  const length = lengthOf(vector);
  const cosines = Array.from({ length: n }, (_, id) => {
    const other = data.subarray(id * d, (id + 1) * d);
    return dot(vector, other) / (length * lengthOf(other) || 1);
  });
  return ranked(cosines)
    .filter((id) => among?.has(id) ?? true)
    .slice(0, most)
    .map((id) => [id, cosines[id]]);
}

/** For each layer and head, the mean weight that a token gives to the one before it. */
export function oneBack(model, ids) {
  const { weights } = inspect(model, { ids, at: 0, most: 0 });
  const [n, { n_heads: nHeads }] = [ids.length, model.config];
  return weights.map((layer) =>
    Array.from({ length: nHeads }, (_, head) => {
      let total = 0;
      for (let i = 1; i < n; i += 1) total += layer[(head * n + i) * n + i - 1];
      return total / (n - 1);
    }),
  );
}

/** At each height, in what share of a text's places the lens already says what the model says. */
export function decided(model, ids) {
  const { d_model: d, n_layers: nLayers } = model.config;
  const saying = [];
  const see = new Map();
  for (let height = 0; height <= nLayers; height += 1) {
    see.set(streamAt(height), (numbers) => {
      saying.push(ids.map((_, i) => told(model, numbers.slice(i * d, (i + 1) * d), 1)[0][0]));
    });
  }
  changedScores(model, ids, [], see);
  const last = saying.at(-1);
  return saying.map((said) => said.filter((id, i) => id === last[i]).length / ids.length);
}

/** The probability of what another text would go on with, after its last row was put in the place
 *  of this one's at each height; before them that without a patch, and at last that of the other. */
export function patched(model, ids, from) {
  const size = model.config.vocab_size;
  const after = (text, changes) => {
    const scores = changedScores(model, text, changes);
    return softmax(Array.from(scores.subarray(scores.length - size)));
  };
  const other = after(from, []);
  const [token] = ranked(other);
  const shares = Array.from({ length: model.config.n_layers + 1 }, (_, height) => {
    const patch = { kind: "patch", height, at: ids.length - 1, from };
    return after(ids, [patch])[token];
  });
  return { token, before: after(ids, [])[token], shares, other: other[token] };
}
