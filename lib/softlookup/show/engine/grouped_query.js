// The layer of attention: projections, shared keys, norms of queries and keys, positions, a cache.

import { sum } from "./arrays.js";
import { attention } from "./attention.js";
import { linear, linearPair } from "./linear.js";
import { Norm } from "./normalization.js";
import { rotary } from "./rotary.js";

const HEAD_EPS = 1e-5; // of the norms of queries and keys, whatever that of the blocks is

export class GroupedQueryAttention {
  constructor(dModel, nHeads, { n_kv_heads: nKvHeads, bias, qk_norm: qkNorm }, add) {
    const dK = dModel / nHeads;
    const norm = (name) =>
      new Norm("rms", dK, { eps: HEAD_EPS }, (part, ...shape) => add(`${name}.${part}`, ...shape));
    this.nHeads = nHeads;
    this.nKvHeads = nKvHeads;
    this.W_Q = linearPair(add, "W_Q", dModel, dModel, bias);
    this.W_K = linearPair(add, "W_K", nKvHeads * dK, dModel, bias);
    this.W_V = linearPair(add, "W_V", nKvHeads * dK, dModel, bias);
    this.W_O = linearPair(add, "W_O", dModel, dModel, bias);
    this.queryNorm = qkNorm ? norm("query_norm") : null;
    this.keyNorm = qkNorm ? norm("key_norm") : null;
  }

  /** Each token reads from those that `reading.reads` lists, in many ways; W_O mixes the results. */
  forward(x, reading, cache, see) {
    const { batch, reads, nKeys } = reading;
    const [query, backwardQuery] = this.projected(x, this.W_Q, this.queryNorm);
    const [newKey, backwardKey] = this.projected(x, this.W_K, this.keyNorm);
    const [newValue, backwardValue] = linear(x, ...this.W_V);
    const [key, value] = cache ? cache.extend(newKey, newValue, batch) : [newKey, newValue];
    const [turnedQuery, unturnQuery] = turned(query, reading.queryTurn, this.nHeads);
    const [turnedKey, unturnKey] = turned(key, reading.keyTurn, this.nKvHeads);
    const shape = { batch, nHeads: this.nHeads, nKvHeads: this.nKvHeads, reads, nKeys, see };
    const [read, backwardRead] = attention(turnedQuery, turnedKey, value, shape);
    const seen = seenByHead(read, see, batch, reads.length, this.nHeads);
    const [y, backwardMix] = linear(seen, ...this.W_O);

    // X goes three ways, so that its gradient is the sum of three
    const backward = (dy) => {
      const [dQuery, dKey, dValue] = backwardRead(backwardMix(dy));
      const ways = [backwardQuery(unturnQuery(dQuery)), backwardKey(unturnKey(dKey))];
      return sum(sum(...ways), backwardValue(dValue));
    };
    return [y, backward];
  }

  /** A projection, and the norm of each head's part where there is one. */
  projected(x, pair, norm) {
    const [rows, backwardLinear] = linear(x, ...pair);
    if (norm === null) return [rows, backwardLinear];
    const [normed, backwardNorm] = norm.forward(rows);
    return [normed, (d) => backwardLinear(backwardNorm(d))];
  }
}

/** Rows turned by their positions, or as they are where positions are not rotary. */
function turned(rows, turn, nHeads) {
  return turn === null ? [rows, (d) => d] : rotary(rows, turn, nHeads);
}

/** What each head read, shown as (batch, heads, n, d_v): the probe has the library's axes. */
function seenByHead(read, see, batch, n, nHeads) {
  const dV = read.length / (batch * n * nHeads);
  const heads = () => moved(read, [batch, n, nHeads, dV]);
  const [own, found] = see.lazily("heads", heads, [batch, nHeads, n, dV]);
  return found === own ? read : moved(found, [batch, nHeads, n, dV]);
}

/** The two axes in the middle of four change places. */
function moved(rows, [batch, a, b, d]) {
  const out = new rows.constructor(rows.length);
  for (let text = 0; text < batch; text += 1) {
    for (let i = 0; i < a; i += 1) {
      for (let j = 0; j < b; j += 1) {
        const from = ((text * a + i) * b + j) * d;
        out.set(rows.subarray(from, from + d), ((text * b + j) * a + i) * d);
      }
    }
  }
  return out;
}
