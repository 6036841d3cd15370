// What a GPT takes, in bytes: the arithmetic of parameter_count, training_memory, writing_memory.
// Its blocks are GPT-2's or Llama's: rotary positions, RMSNorm, gates, no biases, two tables.

import { sum } from "../../kit/maths.js";

const GIB = 2 ** 30;

/** The width inside a feed-forward layer. */
function insideOf({ d, inside }) {
  return inside === "8/3" ? 256 * Math.ceil((8 * d) / 3 / 256) : Number(inside) * d;
}

/** The parameters: tables, blocks, the last norm. */
export function parameters(choices) {
  const { kind, d, layers, n, vocab } = choices;
  const isLlama = kind === "llama";
  const inside = insideOf(choices);
  const norm = isLlama ? d : 2 * d;
  const biases = isLlama ? 0 : projected(choices) + inside + d;
  const tables = isLlama ? 2 * vocab : vocab + n;
  return tables * d + layers * (matrices(choices) + biases + 2 * norm) + norm;
}

/** The columns of queries and outputs, of keys and values. */
const projected = ({ d, share }) => 2 * (d + d / share);

/** The weights in the matrices of a block. */
function matrices(choices) {
  const { kind, d } = choices;
  return d * projected(choices) + (kind === "llama" ? 3 : 2) * d * insideOf(choices);
}

/** The parts of one training step, in bytes. */
function training(choices, precisions, remembered) {
  const { kind, d, layers, n, batch, vocab, head, share } = choices;
  const { precision, optimizer, kept, checkpointing } = choices;
  const size = precisions[precision];
  const weights = parameters(choices);
  const tokens = batch * n;
  const pairs = kept ? (d / head) * n * size.weight : 0;
  const inner = 3 * d + (2 * d) / share + d + (kind === "llama" ? 4 : 2) * insideOf(choices);
  const block = tokens * (2 * d * size.stream + inner * size.inner + pairs);
  const blocks = checkpointing ? layers * tokens * d * size.stream + block : layers * block;
  return {
    weights: weights * size.weight,
    gradients: weights * size.gradient,
    optimizer: weights * remembered[optimizer] * size.state,
    activations: blocks + tokens * d * (size.stream + size.inner),
    scores: 3 * tokens * vocab * size.score,
  };
}

/** The parts of a model that writes, in bytes. Fewer than 16 bits have the blocks' matrices alone. */
function writing(choices) {
  const { d, layers, n, batch, share, bits } = choices;
  const each = Math.max(bits, 16) / 8;
  return {
    weights: parameters(choices) * each - layers * matrices(choices) * (each - bits / 8),
    cache: ((batch * 2 * layers * d) / share) * n * each,
  };
}

/** All parts of what the model is to do. */
export function parts(choices, { precisions, remembered }) {
  return choices.use === "write" ? writing(choices) : training(choices, precisions, remembered);
}

/** All of them together. */
export const total = (choices, data) => sum(Object.values(parts(choices, data)));

/** Whether some bytes fit on a card, of which a share is left free. */
export const fits = (bytes, card, spare) => bytes <= card * GIB * (1 - spare);

/** The single changes after which it fits, each with what it is called. */
export function remedies(choices, data) {
  const { batch, n, precision, optimizer, kept, checkpointing, bits, use } = choices;
  const trains = use === "train";
  const fewer = data.bits.filter((count) => !trains && count < bits);
  const fitting = (key, values) => {
    return values.findLast((value) => {
      return value < choices[key] && fits(total({ ...choices, [key]: value }, data), choices.card, data.spare);
    });
  };
  const [texts, tokens] = [fitting("batch", data.batches), fitting("n", data.lengths)];
  const changes = [
    [texts, { batch: texts }, `${texts} ${texts === 1 ? "text" : "texts"} at once`],
    [tokens, { n: tokens }, `${tokens} tokens`],
    [precision === "float32" && trains, { precision: "mixed" }, "mixed precision"],
    [kept && trains, { kept: false }, "a fused kernel"],
    [!checkpointing && trains, { checkpointing: true }, "checkpointing"],
    [optimizer === "adam" && trains, { optimizer: "momentum" }, "momentum in place of Adam"],
    ...fewer.map((count) => [true, { bits: count }, `${count} bits for a weight`]),
  ];
  return changes
    .filter(([open, change]) => {
      return open && fits(total({ ...choices, ...change }, data), choices.card, data.spare);
    })
    .map(([, , words]) => words);
}

/** 11811160064 bytes as "11.0 GB"; a card's gigabyte is 2 to the 30th. */
export function gigabytes(bytes) {
  const count = bytes / GIB;
  const digits = count >= 100 ? 0 : count >= 0.95 ? 1 : count >= 0.095 ? 2 : 3;
  return `${count.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })} GB`;
}

/** 124439808 as "124 million". */
export function counted(count) {
  const units = [
    [1e9, "billion"],
    [1e6, "million"],
    [1e3, "thousand"],
  ];
  const [unit, word] = units.find(([size]) => count >= size) ?? [1, ""];
  return `${Number((count / unit).toPrecision(3))} ${word}`.trim();
}
