// safetensors: named tensors in one file of plain numbers, which holds no program.
//
// Eight bytes say how long the head is. The head is JSON: for each tensor its kind of number, its
// shape, and where its bytes begin and end; beside them texts, as `__metadata__`. Then come the
// bytes of all tensors, one after the other, the lowest byte of a number first.

import { require } from "./require.js";

const WHOLE = "the file must be whole safetensors";
const LENGTH = 8; // bytes that say how long the head is
const KINDS = { F16: [2, halfNumber], F32: [4, (view, at) => view.getFloat32(at, true)] };
const WORDS = new TextDecoder("utf-8", { fatal: true });

/** What a file holds: {tensors: {name: {dtype, shape, numbers}}, metadata}, where `numbers` is a
 *  Float32Array. What is damaged or cut short is refused. */
export function readSafetensors(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  require(bytes.length >= LENGTH, WHOLE, { n_bytes: bytes.length });
  const first = LENGTH + Number(view.getBigUint64(0, true));
  require(first <= bytes.length, WHOLE, { n_bytes: bytes.length, head_ends_at: first });
  const { __metadata__: metadata = {}, ...entries } = headIn(bytes.subarray(LENGTH, first));
  const texts = Object.values(metadata).every((value) => typeof value === "string");
  require(texts, "the metadata of the file must be texts", {});
  const n = bytes.length - first;
  const order = Object.entries(entries).sort((a, b) => beginning(a) - beginning(b));
  let end = 0; // of the tensors so far: there are no gaps
  const tensors = order.map(([name, entry]) => {
    const [kind, from] = [checkedKind(name, entry), end];
    end = entry.data_offsets[1];
    const fits = entry.data_offsets[0] === from && end - from === kind[0] * sizeOf(entry.shape);
    const rule = `${name} must lie in the file as its shape says`;
    require(fits && end <= n, rule, { ...entry, expected_from: from, n_bytes: n });
    const numbers = numbersIn(view, first + from, end - from, kind);
    return [name, { dtype: entry.dtype, shape: entry.shape, numbers }];
  });
  require(end === n, WHOLE, { n_bytes: n, described: end });
  return { tensors: Object.fromEntries(tensors), metadata };
}

/** The bytes of a file with some tensors, {name: {shape, numbers}}, and texts about them; the
 *  numbers are written in single precision. */
export function writeSafetensors(tensors, metadata = {}) {
  const head = { __metadata__: metadata };
  let end = 0;
  for (const [name, { shape, numbers }] of Object.entries(tensors)) {
    const rule = `${name} must have as many numbers as its shape says`;
    require(numbers.length === sizeOf(shape), rule, { n: numbers.length, shape });
    const from = end;
    end += 4 * numbers.length;
    head[name] = { dtype: "F32", shape, data_offsets: [from, end] };
  }
  const words = new TextEncoder().encode(JSON.stringify(head));
  // filled with spaces
  const first = LENGTH + 8 * Math.ceil(words.length / 8);
  const bytes = new Uint8Array(first + end).fill(32, LENGTH, first);
  bytes.set(words, LENGTH);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(first - LENGTH), true);
  let at = first;
  for (const { numbers } of Object.values(tensors)) {
    for (let i = 0; i < numbers.length; i += 1, at += 4) view.setFloat32(at, numbers[i], true);
  }
  return bytes;
}

function headIn(bytes) {
  let head = null;
  try {
    head = JSON.parse(WORDS.decode(bytes));
  } catch {
    // what is no text or no JSON is no head either
  }
  require(isObject(head) && isObject(head.__metadata__ ?? {}), "the file must be safetensors", {});
  return head;
}

function checkedKind(name, entry) {
  const whole = (list) => Array.isArray(list) && list.every((n) => Number.isInteger(n) && n >= 0);
  const sound = isObject(entry) && whole(entry.shape) && whole(entry.data_offsets);
  require(sound && entry.data_offsets.length === 2, `${name} must be described`, { entry });
  const rule = `${name} must be of the kind ${Object.keys(KINDS).join(" or ")}`;
  require(Object.hasOwn(KINDS, entry.dtype), rule, { dtype: entry.dtype });
  return KINDS[entry.dtype];
}

function numbersIn(view, from, nBytes, [size, number]) {
  const numbers = new Float32Array(nBytes / size);
  for (let i = 0; i < numbers.length; i += 1) numbers[i] = number(view, from + i * size);
  return numbers;
}

/** A number of half precision: a sign, five bits of exponent, ten of fraction. */
function halfNumber(view, at) {
  const bits = view.getUint16(at, true);
  const sign = bits >> 15 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, (bits & 1023) / 1024];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? 2 ** -14 * fraction : 2 ** (exponent - 15) * (1 + fraction));
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const sizeOf = (shape) => shape.reduce((n, axis) => n * axis, 1);
const beginning = ([, entry]) => entry?.data_offsets?.[0] ?? 0;
