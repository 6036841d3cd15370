// What a model keeps of the tokens it has read, so that the next one costs a single step.

import { readable } from "./attention.js";
import { require } from "./require.js";

/** One layer's part: keys, before they are turned, and values of all slots, text after text. */
class LayerCache {
  constructor() {
    this.key = null;
    this.value = null;
  }

  /** Put new rows behind the others of each text; returns all keys and all values. */
  extend(key, value, batch) {
    this.key = this.key === null ? key : joined(this.key, key, batch);
    this.value = this.value === null ? value : joined(this.value, value, batch);
    return [this.key, this.value];
  }
}

function joined(kept, rows, batch) {
  const [old, fresh] = [kept.length / batch, rows.length / batch];
  const both = new kept.constructor(kept.length + rows.length);
  for (let text = 0; text < batch; text += 1) {
    both.set(kept.subarray(text * old, (text + 1) * old), text * (old + fresh));
    both.set(rows.subarray(text * fresh, (text + 1) * fresh), text * (old + fresh) + old);
  }
  return both;
}

/** Keys and values of all layers, for texts that are equally long. */
export class KeyValueCache {
  constructor(nLayers, { window = null, n_sinks = 0 } = {}) {
    this.rule = { window, n_sinks };
    this.layers = Array.from({ length: nLayers }, () => new LayerCache());
    this.positions = []; // where the token of each slot stands in its text
    this.length = 0; // how many tokens each text has read, dropped ones included
    this.batch = 0; // how many texts it holds; 0 before the first token
  }

  /** Open n new slots, and say where their tokens stand. */
  begin(batch, n) {
    const rule = "there must be as many texts as the cache holds";
    require(this.batch === 0 || this.batch === batch, rule, { batch, held: this.batch });
    this.batch = batch;
    const places = Array.from({ length: n }, (_, i) => this.length + i);
    this.positions = [...this.positions, ...places];
    this.length += n;
    return places;
  }

  /** Drop the slots that no query will ever read again. */
  forget() {
    const [kept] = readable([this.length], this.positions, this.rule);
    const n = this.positions.length;
    if (kept.length === n) return;
    this.positions = Array.from(kept, (slot) => this.positions[slot]);
    for (const layer of this.layers) {
      layer.key = chosen(layer.key, kept, n, this.batch);
      layer.value = chosen(layer.value, kept, n, this.batch);
    }
  }

  /** A cache that can go on in another way; the arrays are shared, for none is ever changed. */
  copy() {
    const other = new KeyValueCache(this.layers.length, this.rule);
    Object.assign(other, { positions: this.positions, length: this.length, batch: this.batch });
    other.layers.forEach((layer, k) => Object.assign(layer, this.layers[k]));
    return other;
  }
}

function chosen(rows, slots, n, batch) {
  const width = rows.length / (batch * n);
  const kept = new rows.constructor(batch * slots.length * width);
  for (let text = 0; text < batch; text += 1) {
    slots.forEach((slot, k) => {
      const from = (text * n + slot) * width;
      kept.set(rows.subarray(from, from + width), (text * slots.length + k) * width);
    });
  }
  return kept;
}
