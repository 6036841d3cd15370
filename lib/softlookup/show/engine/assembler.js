// An assembler for WebAssembly: lines that can be read become the bytes of a module.
//
// An expression is a list of bytes that leaves one value, a statement one that leaves none; both
// are written from the outside in, as v128.add(a, b). The numbers are those of the specification.

/** A whole number in groups of seven bits, the lowest first. */
function unsigned(n) {
  const low = n & 0x7f;
  return n < 0x80 ? [low] : [low | 0x80, ...unsigned(n >>> 7)];
}

/** The same for numbers with a sign. */
function signed(n) {
  const low = n & 0x7f;
  const done = (n >> 7 === 0 && low < 0x40) || (n >> 7 === -1 && low >= 0x40);
  return done ? [low] : [low | 0x80, ...signed(n >> 7)];
}

const sized = (bytes) => [...unsigned(bytes.length), ...bytes];
const list = (items) => [...unsigned(items.length), ...items.flat()];
const named = (text) => sized([...new TextEncoder().encode(text)]);
const simd = (number) => [0xfd, ...unsigned(number)];
const ALIGNED = 2; // addresses are multiples of 2² bytes
const TYPES = { i32: 0x7f, v128: 0x7b };
const NO_RESULT = 0x40;

export const i32 = {
  constant: (n) => [0x41, ...signed(n)],
  add: (a, b) => [...a, ...b, 0x6a],
  subtract: (a, b) => [...a, ...b, 0x6b],
};

export const f32 = {
  add: (a, b) => [...a, ...b, 0x92],
  store: (address, value, offset = 0) => [...address, ...value, 0x38, ALIGNED, ...unsigned(offset)],
};

/** Four numbers of float32 side by side. */
export const v128 = {
  zero: [...simd(0x0c), ...Array(16).fill(0)],
  load: (address, offset = 0) => [...address, ...simd(0x00), ALIGNED, ...unsigned(offset)],
  loadInAllLanes: (address) => [...address, ...simd(0x09), ALIGNED, 0],
  store: (address, value, offset = 0) => [
    ...address,
    ...value,
    ...simd(0x0b),
    ALIGNED,
    ...unsigned(offset),
  ],
  add: (a, b) => [...a, ...b, ...simd(0xe4)],
  multiply: (a, b) => [...a, ...b, ...simd(0xe6)],
  lane: (a, k) => [...a, ...simd(0x1f), k],
};

/** Statements again and again, until the expression is 0; they run once at least. */
export const repeatWhile = (expression, statements) => [
  ...[0x03, NO_RESULT, ...statements.flat(), ...expression],
  ...[0x0d, 0, 0x0b],
];

/** A function of i32 parameters without a result. `write` is handed `variable(type)`, which makes
 *  one more, and the parameters; each variable has `get` and `set(expression)`. */
export function procedure(name, nParameters, write) {
  const types = [];
  const at = (k) => ({
    get: [0x20, ...unsigned(k)],
    set: (expression) => [...expression, 0x21, ...unsigned(k)],
  });
  const variable = (type) => at(nParameters + types.push(TYPES[type]) - 1);
  const parameters = Array.from({ length: nParameters }, (_, k) => at(k));
  const body = write(variable, ...parameters).flat();
  return { name, nParameters, types, body };
}

/** The bytes of a module of some procedures, which share the memory "memory" of the module "host". */
export function assembled(procedures, pages) {
  const section = (id, bytes) => [id, ...sized(bytes)];
  const type = ({ nParameters }) => [0x60, ...list(Array(nParameters).fill([TYPES.i32])), 0];
  const code = ({ types, body }) => sized([...list(types.map((one) => [1, one])), ...body, 0x0b]);
  const memory = [...named("host"), ...named("memory"), 0x02, 0x01, ...unsigned(pages)];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(procedures.map(type))),
    ...section(2, list([[...memory, ...unsigned(pages)]])),
    ...section(3, list(procedures.map((_, k) => unsigned(k)))),
    ...section(7, list(procedures.map(({ name }, k) => [...named(name), 0x00, ...unsigned(k)]))),
    ...section(10, list(procedures.map(code))),
  ]);
}
