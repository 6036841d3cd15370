// Attention, a soft lookup: scores, weights, and the weighted mean of the values.

/** softmax(Q Kᵀ/√d_k) V for every head of every text.
 *
 *  A row of Q is a token with its heads side by side, and the texts stand one after the other.
 *  Neighbouring heads share keys and values where there are fewer of those. `reads[i]` lists the
 *  keys that query i may read, the same in all texts. `see` is shown A, and may replace it. */
export function attention(query, key, value, { batch, nHeads, nKvHeads, reads, nKeys, see }) {
  const nQueries = reads.length;
  const width = query.length / (batch * nQueries);
  const dK = width / nHeads;
  const place = { nQueries, nKeys, nHeads, dK, share: nHeads / nKvHeads, width };
  const kvWidth = nKvHeads * dK;
  const scale = 1 / Math.sqrt(dK);
  const own = weightsOf(query, key, { ...place, kvWidth, batch, reads, scale });
  const weights = see("weights", own, [batch, nHeads, nQueries, nKeys]);
  // a replaced A may read anything
  const read = weights === own ? reads : everything(nQueries, nKeys);
  const each = { ...place, kvWidth, batch, reads: read };
  const out = new query.constructor(query.length);
  forEachQuery(each, (i, a, q, k) => {
    const slots = read[i];
    for (let s = 0; s < slots.length; s += 1) {
      const j = slots[s];
      const [weight, v] = [weights[a + j], k + j * kvWidth];
      for (let c = 0; c < dK; c += 1) out[q + c] += weight * value[v + c];
    }
  });

  // ∂V = Aᵀ ∂Z,  ∂A = ∂Z Vᵀ,  ∂S = A ⊙ (∂A − the sum of A ⊙ ∂A along the row),
  // ∂Q = ∂S K/√d_k,  ∂K = ∂Sᵀ Q/√d_k
  const backward = (dOut) => {
    const [dQuery, dKey, dValue] = [query, key, value].map((x) => new x.constructor(x.length));
    const dWeights = new Float64Array(nKeys);
    forEachQuery(each, (i, a, q, k) => {
      const slots = read[i];
      let mean = 0;
      for (let s = 0; s < slots.length; s += 1) {
        const j = slots[s];
        const [weight, v] = [weights[a + j], k + j * kvWidth];
        let dWeight = 0;
        for (let c = 0; c < dK; c += 1) {
          dValue[v + c] += weight * dOut[q + c];
          dWeight += dOut[q + c] * value[v + c];
        }
        dWeights[j] = dWeight;
        mean += weight * dWeight;
      }
      for (let s = 0; s < slots.length; s += 1) {
        const j = slots[s];
        const dScore = weights[a + j] * (dWeights[j] - mean) * scale;
        const at = k + j * kvWidth;
        for (let c = 0; c < dK; c += 1) {
          dQuery[q + c] += dScore * key[at + c];
          dKey[at + c] += dScore * query[q + c];
        }
      }
    });
    return [dQuery, dKey, dValue];
  };
  return [out, backward];
}

/** A = softmax(Q Kᵀ/√d_k) along each row; a query that may read nothing has a row of zeros. */
function weightsOf(query, key, place) {
  const { batch, nHeads, nQueries, nKeys, kvWidth, dK, reads, scale } = place;
  const weights = new query.constructor(batch * nHeads * nQueries * nKeys);
  forEachQuery(place, (i, a, q, k) => {
    const slots = reads[i];
    let largest = -Infinity;
    for (let s = 0; s < slots.length; s += 1) {
      const at = k + slots[s] * kvWidth;
      let score = 0;
      for (let c = 0; c < dK; c += 1) score += query[q + c] * key[at + c];
      weights[a + slots[s]] = score * scale;
      largest = Math.max(largest, weights[a + slots[s]]); // as it was rounded
    }
    let total = 0;
    for (let s = 0; s < slots.length; s += 1) {
      weights[a + slots[s]] = Math.exp(weights[a + slots[s]] - largest);
      total += weights[a + slots[s]];
    }
    for (let s = 0; s < slots.length; s += 1) weights[a + slots[s]] /= total;
  });
  return weights;
}

/** Calls `visit` for each query of each head of each text: its number, and where its row of A, its
 *  own numbers and the first of the keys that it reads begin. */
function forEachQuery({ batch, nHeads, nQueries, nKeys, dK, share, width, kvWidth }, visit) {
  for (let text = 0; text < batch; text += 1) {
    for (let head = 0; head < nHeads; head += 1) {
      const k = text * nKeys * kvWidth + Math.floor(head / share) * dK;
      for (let i = 0; i < nQueries; i += 1) {
        const a = ((text * nHeads + head) * nQueries + i) * nKeys;
        visit(i, a, (text * nQueries + i) * width + head * dK, k);
      }
    }
  }
}

/** Without a mask each query reads each key. */
export const everything = (nQueries, nKeys) => {
  const all = Int32Array.from({ length: nKeys }, (_, j) => j);
  return Array.from({ length: nQueries }, () => all);
};

/** Which keys each query may read, from their positions alone: 0 ≤ j ≤ i, and with a window w
 *  also j > i − w or j < n_sinks. */
export function readable(queries, keys, { window = null, n_sinks: nSinks = 0 } = {}) {
  const reads = (i, j) => j <= i && (window === null || j > i - window || j < nSinks);
  return queries.map((i) => {
    const slots = [];
    keys.forEach((j, slot) => {
      if (reads(i, j)) slots.push(slot);
    });
    return Int32Array.from(slots);
  });
}
