// What a GPT takes, in bytes: the arithmetic of parameter_count, training_memory, writing_memory.

import { sum } from "../../kit/maths.js";

const GIB = 2 ** 30;

/** The parameters of a GPT with GPT-2's block: tables, blocks, the last norm. */
export function parameters({ d, layers, n, vocab }) {
  const block = 12 * d * d + 13 * d; // 4 and 8 matrices of d by d; 9 d of biases, 4 d of norms
  return (vocab + n) * d + layers * block + 2 * d;
}

/** The parts of one training step, in bytes. */
function training(choices, precisions, remembered) {
  const { d, layers, n, batch, vocab, head, precision, optimizer, kept, checkpointing } = choices;
  const size = precisions[precision];
  const weights = parameters(choices);
  const tokens = batch * n;
  const pairs = kept ? (d / head) * n * size.weight : 0;
  const block = tokens * (d * (4 - 2) * size.stream + (6 + 8) * d * size.inner + pairs);
  const blocks = checkpointing ? layers * tokens * d * size.stream + block : layers * block;
  return {
    weights: weights * size.weight,
    gradients: weights * size.gradient,
    optimizer: weights * remembered[optimizer] * size.state,
    activations: blocks + tokens * d * (size.stream + size.inner),
    scores: 3 * tokens * vocab * size.score,
  };
}

/** The parts of a model that writes, in bytes: mixed precision has no use there. */
function writing(choices) {
  const { d, layers, n, batch, precision } = choices;
  const each = precision === "float32" ? 4 : 2;
  return { weights: parameters(choices) * each, cache: batch * 2 * layers * d * n * each };
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
  const { batch, n, precision, optimizer, kept, checkpointing, use } = choices;
  const trains = use === "train";
  const changes = [
    [batch > 1, { batch: batch / 2 }, `${batch / 2} texts at once`],
    [n > data.lengths[0], { n: n / 2 }, `${n / 2} tokens`],
    [precision === "float32" && trains, { precision: "mixed" }, "mixed precision"],
    [precision !== "bfloat16", { precision: "bfloat16" }, "all in bfloat16"],
    [kept && trains, { kept: false }, "a fused kernel"],
    [!checkpointing && trains, { checkpointing: true }, "checkpointing"],
    [optimizer === "adam" && trains, { optimizer: "momentum" }, "momentum in place of Adam"],
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
