// Products of matrices with instructions for four numbers at once, where the browser has them.
//
// Weights and gradients live in the memory that the instructions work on; what else a product needs
// is copied there, and its result copied out. Numbers are of float32, and so are the sums.

import { assembled, f32, i32, procedure, repeatWhile, v128 } from "./assembler.js";
import { addTransposedTimes, plainProducts, times, timesTransposed } from "./products.js";

const FLOAT = 4; // bytes
const VECTOR = 16; // bytes: four floats
const STRIP = 4; // rows that are computed together
const MANY = 8; // rows from which on it pays to transpose a matrix of weights

/** C += A B for some rows of A and C, `nVectors` vectors of columns at a time.
 *
 *  `blocks` says how many times so many columns there are. Row and column of A may lie at any
 *  distance (in bytes), so that A may stand transposed. */
const strip = (name, nRows, nVectors) =>
  procedure(name, 9, (variable, a, aRow, aColumn, b, bRow, c, cRow, k, blocks) => {
    const each = (n, make) => Array.from({ length: n }, (_, i) => make(i));
    const sums = each(nRows, () => each(nVectors, () => variable("v128")));
    const columns = each(nVectors, () => variable("v128"));
    const [from, to] = [0, 0].map(() => each(nRows, () => variable("i32")));
    const [row, left] = [variable("i32"), variable("i32")];
    const entry = variable("v128");
    const perTile = (make) => each(nRows, (r) => each(nVectors, (v) => make(r, v)).flat()).flat();
    const plus = (one, step) => one.set(i32.add(one.get, step));
    const minusOne = (one) => one.set(i32.subtract(one.get, i32.constant(1)));
    const below = (pointers, first, distance) =>
      pointers.flatMap((pointer, r) =>
        pointer.set(r === 0 ? first.get : i32.add(pointers[r - 1].get, distance.get)),
      );
    const addProduct = (r, v) =>
      sums[r][v].set(v128.add(sums[r][v].get, v128.multiply(entry.get, columns[v].get)));
    return [
      repeatWhile(blocks.get, [
        below(from, a, aRow),
        below(to, c, cRow),
        perTile((r, v) => sums[r][v].set(v128.load(to[r].get, v * VECTOR))),
        row.set(b.get),
        left.set(k.get),
        repeatWhile(left.get, [
          ...columns.map((column, v) => column.set(v128.load(row.get, v * VECTOR))),
          ...from.flatMap((pointer, r) => [
            entry.set(v128.loadInAllLanes(pointer.get)),
            ...columns.map((_, v) => addProduct(r, v)),
            plus(pointer, aColumn.get),
          ]),
          plus(row, bRow.get),
          minusOne(left),
        ]),
        perTile((r, v) => v128.store(to[r].get, sums[r][v].get, v * VECTOR)),
        plus(b, i32.constant(nVectors * VECTOR)),
        plus(c, i32.constant(nVectors * VECTOR)),
        minusOne(blocks),
      ]),
    ];
  });

/** y = W x for `groups` times four rows of W, with `vectors` vectors of four numbers in a row. */
const dots = procedure("dots", 6, (variable, x, w, wRow, y, vectors, groups) => {
  const sums = Array.from({ length: STRIP }, () => variable("v128"));
  const rows = sums.map(() => variable("i32"));
  const [at, left] = [variable("i32"), variable("i32")];
  const entry = variable("v128");
  const plus = (one, step) => one.set(i32.add(one.get, step));
  const minusOne = (one) => one.set(i32.subtract(one.get, i32.constant(1)));
  const lanes = (sum) => [0, 1, 2, 3].map((k) => v128.lane(sum.get, k));
  const next = (r) => (r === 0 ? w.get : i32.add(rows[r - 1].get, wRow.get));
  return [
    repeatWhile(groups.get, [
      ...rows.map((row, r) => row.set(next(r))),
      ...sums.map((sum) => sum.set(v128.zero)),
      at.set(x.get),
      left.set(vectors.get),
      repeatWhile(left.get, [
        entry.set(v128.load(at.get)),
        ...sums.flatMap((sum, r) => [
          sum.set(v128.add(sum.get, v128.multiply(entry.get, v128.load(rows[r].get)))),
          plus(rows[r], i32.constant(VECTOR)),
        ]),
        plus(at, i32.constant(VECTOR)),
        minusOne(left),
      ]),
      ...sums.map((sum, r) => f32.store(y.get, lanes(sum).reduce(f32.add), r * FLOAT)),
      w.set(rows[STRIP - 1].get), // it stands at the end of the last of the four rows
      plus(y, i32.constant(STRIP * FLOAT)),
      minusOne(groups),
    ]),
  ];
});

const KERNELS = [
  strip("four8", 4, 2),
  strip("four4", 4, 1),
  strip("one8", 1, 2),
  strip("one4", 1, 1),
];

/** The products, for a memory of some megabytes; null where the browser has no such instructions. */
export function simdProducts(megabytes = 64) {
  const pages = megabytes * 16;
  let [memory, kernels] = [null, null];
  try {
    memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const module = new WebAssembly.Module(assembled([...KERNELS, dots], pages));
    kernels = new WebAssembly.Instance(module, { host: { memory } }).exports;
  } catch {
    return null;
  }
  return new SimdProducts(memory, kernels);
}

/** The fastest products that there are here. */
export const bestProducts = (megabytes = 64) => simdProducts(megabytes) ?? plainProducts();

class SimdProducts {
  kind = Float32Array;
  name = "simd";

  constructor(memory, kernels) {
    this.memory = memory;
    this.kernels = kernels;
    this.floats = new Float32Array(memory.buffer);
    this.kept = 0; // bytes that weights and gradients take
    this.used = 0; // bytes in use, with those of the product at hand
  }

  /** An array that stays where the products can reach it; elsewhere, if there is no room. */
  weights(n) {
    this.used = this.kept;
    const at = this.room(n);
    if (at === null) return new Float32Array(n);
    this.kept = this.used;
    return new Float32Array(this.memory.buffer, at, n);
  }

  timesTransposed(a, b, n, k, m) {
    const plain = () => timesTransposed(a, b, new Float32Array(n * m), n, k, m);
    if (k % 4 !== 0 || m < 4) return plain();
    this.used = this.kept;
    const [atA, atB, atC] = [this.place(a), this.place(b), this.room(n * m)];
    if ([atA, atB, atC].includes(null)) return plain();
    if (n >= MANY) {
      const turned = this.room(k * m);
      if (turned === null) return plain();
      this.transpose(atB, turned, m, k);
      this.clear(atC, n * m);
      this.multiply(atA, k * FLOAT, FLOAT, turned, atC, n, k, m);
    } else {
      for (let i = 0; i < n; i += 1) {
        this.rowTimesTransposed(atA + i * k * FLOAT, atB, atC + i * m * FLOAT, k, m);
      }
    }
    return this.copied(atC, n * m);
  }

  times(a, b, n, k, m) {
    this.used = this.kept;
    const [atA, atB, atC] = [this.place(a), this.place(b), this.room(n * m)];
    if ([atA, atB, atC].includes(null)) return times(a, b, new Float32Array(n * m), n, k, m);
    this.clear(atC, n * m);
    this.multiply(atA, k * FLOAT, FLOAT, atB, atC, n, k, m);
    return this.copied(atC, n * m);
  }

  addTransposedTimes(a, b, out, n, k, m) {
    this.used = this.kept;
    const [atA, atB, atC] = [this.place(a), this.place(b), this.place(out)];
    if ([atA, atB, atC].includes(null)) return addTransposedTimes(a, b, out, n, k, m);
    this.multiply(atA, FLOAT, k * FLOAT, atB, atC, k, n, m);
    if (out.buffer !== this.memory.buffer) out.set(this.copied(atC, k * m));
    return out;
  }

  /** C += A B: strips of four rows, then single rows; eight columns at a time, then four, then one. */
  multiply(a, aRow, aColumn, b, c, n, k, m) {
    if (k === 0) return;
    const [eights, fours] = [Math.floor(m / 8), Math.floor((m % 8) / 4)];
    const width = m * FLOAT;
    const past = eights * 8 * FLOAT;
    for (let i = 0; i < n;) {
      const whole = n - i >= STRIP;
      const [by8, by4] = whole
        ? [this.kernels.four8, this.kernels.four4]
        : [this.kernels.one8, this.kernels.one4];
      const [from, to] = [a + i * aRow, c + i * width];
      if (eights > 0) by8(from, aRow, aColumn, b, width, to, width, k, eights);
      if (fours > 0) by4(from, aRow, aColumn, b + past, width, to + past, width, k, fours);
      i += whole ? STRIP : 1;
    }
    for (let j = m - (m % 4); j < m; j += 1) this.column(a, aRow, aColumn, b, c, n, k, m, j);
  }

  /** Column j of C += A B, number by number. */
  column(a, aRow, aColumn, b, c, n, k, m, j) {
    const { floats } = this;
    const [fromA, fromB, toC] = [a / FLOAT, b / FLOAT + j, c / FLOAT + j];
    const [down, along] = [aRow / FLOAT, aColumn / FLOAT];
    for (let i = 0; i < n; i += 1) {
      let sum = floats[toC + i * m];
      for (let l = 0; l < k; l += 1)
        sum += floats[fromA + i * down + l * along] * floats[fromB + l * m];
      floats[toC + i * m] = sum;
    }
  }

  /** One row times a matrix of weights, as it stands. */
  rowTimesTransposed(x, w, y, k, m) {
    const groups = Math.floor(m / STRIP);
    this.kernels.dots(x, w, k * FLOAT, y, k / 4, groups);
    const rest = groups * STRIP;
    const view = (at, n) => this.floats.subarray(at / FLOAT, at / FLOAT + n);
    const [row, others] = [view(x, k), view(w + rest * k * FLOAT, (m - rest) * k)];
    timesTransposed(row, others, view(y + rest * FLOAT, m - rest), 1, k, m - rest);
  }

  /** An m × k matrix written as k × m. */
  transpose(from, to, m, k) {
    const { floats } = this;
    const [source, target] = [from / FLOAT, to / FLOAT];
    for (let j = 0; j < m; j += 1) {
      for (let c = 0; c < k; c += 1) floats[target + c * m + j] = floats[source + j * k + c];
    }
  }

  /** Where n numbers have room, in bytes; null if there is none. */
  room(n) {
    const end = this.used + Math.ceil(n / 4) * VECTOR;
    if (end > this.memory.buffer.byteLength) return null;
    const at = this.used;
    this.used = end;
    return at;
  }

  /** Where an array stands: where it is, or a copy. */
  place(array) {
    if (array.buffer === this.memory.buffer) return array.byteOffset;
    const at = this.room(array.length);
    if (at !== null) this.floats.set(array, at / FLOAT);
    return at;
  }

  clear(at, n) {
    this.floats.fill(0, at / FLOAT, at / FLOAT + n);
  }

  copied(at, n) {
    return this.floats.slice(at / FLOAT, at / FLOAT + n);
  }
}
