// What a reader chooses before a training, and the ways to fail that are one click away.

/** Each choice: its name, its words, its values with theirs, and where it stands at first. */
export const CHOICES = [
  ["d_model", "Width", [16, 32, 48, 64, 96, 128], 32],
  ["n_layers", "Blocks", [1, 2, 3, 4, 6], 2],
  ["n_heads", "Heads", [1, 2, 4, 8], 4],
  ["context", "Context window", [8, 16, 32, 64, 128], 32],
  ["positions", "Positions", ["learned", "rotary", "none"], "learned"],
  [
    "norm_first",
    "Norm",
    [
      ["pre", "pre-norm"],
      ["post", "post-norm"],
    ],
    "pre",
  ],
  [
    "mask",
    "Mask",
    [
      ["yes", "causal"],
      ["no", "none"],
    ],
    "yes",
  ],
  [
    "residual",
    "Residual connections",
    [
      ["yes", "yes"],
      ["no", "none"],
    ],
    "yes",
  ],
  [
    "optimizer",
    "Optimizer",
    [
      ["muon", "Muon"],
      ["adamw", "AdamW"],
      ["recipe", "the book's recipe"],
    ],
    "muon",
  ],
  ["rate", "Rate", [0.0003, 0.001, 0.003, 0.01, 0.02, 0.03, 0.1, 3, 300], 0.02],
  ["batchSize", "Pieces in a batch", [1, 4, 8, 16, 32, 64], 16],
  [
    "clip",
    "Clip the gradient",
    [
      ["none", "no"],
      ["1", "to 1"],
      ["0.1", "to 0.1"],
    ],
    "none",
  ],
  ["nSteps", "Steps", [50, 100, 250, 500, 1000, 3000], 250],
  [
    "amount",
    "Text used",
    [
      ["all", "all"],
      ["1000", "1,000 letters"],
    ],
    "all",
  ],
];

export const USUAL = Object.fromEntries(CHOICES.map(([key, , , usual]) => [key, String(usual)]));

/** The options of a GPTConfig. */
export function configOf(chosen, vocabSize) {
  const { positions, norm_first: norm } = chosen;
  const sizes = ["d_model", "n_layers", "n_heads", "context"].map((key) => [
    key,
    Number(chosen[key]),
  ]);
  return {
    ...Object.fromEntries(sizes),
    vocab_size: vocabSize,
    positions,
    norm_first: norm === "pre",
  };
}

/** The book's recipe, as GPTConfig.quick has it, in a size for a page. */
export function bookConfig(vocabSize) {
  const sizes = { vocab_size: vocabSize, context: 32, d_model: 48, n_heads: 4, n_layers: 2 };
  const today = { positions: "rotary", norm: "rms", activation: "silu", gated: true, bias: false };
  return { ...sizes, ...today, d_ff: 128, qk_norm: true, window: 4, n_kv_heads: 1, tie: false };
}

export const withoutOf = ({ mask, residual }) => [
  ...(mask === "no" ? ["mask"] : []),
  ...(residual === "no" ? ["residual"] : []),
];

export const SILENCE = 5000; // milliseconds between two sentences about a run

/** How a run is trained; without the number of its steps. */
export function workOf({ optimizer, rate, batchSize, clip }) {
  return {
    optimizer,
    rate: Number(rate),
    batchSize: Number(batchSize),
    clip: clip === "none" ? null : Number(clip),
    seed: 1,
  };
}

/** A recipe in a few words. */
export function inWords(chosen) {
  const { d_model: width, n_layers: blocks, n_heads: heads, positions, optimizer, rate } = chosen;
  const how = {
    muon: `Muon at ${rate}`,
    adamw: `AdamW at ${rate}`,
    recipe: "the book's optimizers",
  };
  const parts = [
    `width ${width}`,
    `${blocks} ${blocks === "1" ? "block" : "blocks"}`,
    `${heads} ${heads === "1" ? "head" : "heads"}`,
    positions === "none" ? "no positions" : `${positions} positions`,
    ...(chosen.norm_first === "post" ? ["post-norm"] : []),
    ...withoutOf(chosen).map((part) => (part === "mask" ? "no mask" : "no residual connections")),
    how[optimizer],
    `batches of ${chosen.batchSize}`,
  ];
  return parts.join(", ");
}

const n3 = (x) => x.toFixed(3);

/** A preset: its button, what it changes, the question before, and what to say of what came out. */
export const PRESETS = [
  {
    key: "usual",
    name: "As usual",
    change: {},
    question:
      "The bigram knows one letter back, Kneser–Ney four. Which of their lines will the model " +
      "pass, and after how many steps?",
    answer: ({ heldOut, lines, passed, step }) =>
      passed === null
        ? `After ${step} steps the model has not yet passed the bigram's ${n3(lines.bigram)}.`
        : `The model was better than the bigram from about step ${passed} on` +
          (heldOut < lines.kneserNey
            ? ", and in the end better than Kneser–Ney, too."
            : ". Kneser–Ney has counted each run of five letters in the training text, and is still " +
              "ahead: on a small text counting is hard to beat."),
  },
  {
    key: "mask",
    name: "No mask",
    change: { mask: "no" },
    question:
      "Each letter may read all letters of its piece, the next one too. What will the loss do, and " +
      "what will the samples look like?",
    answer: ({ heldOut, lines }) =>
      heldOut < lines.kneserNey
        ? `The loss on held-out text fell to ${n3(heldOut)}, and the samples are rubbish. The next ` +
          "letter stood among those that the model could read: it learned to copy it. When it " +
          "writes, there is no next letter to copy. A loss means nothing where the answer can be seen."
        : `The loss on held-out text is ${n3(heldOut)}, and not yet below Kneser–Ney's line: the ` +
          "model has not found out yet that the answer can be seen. Train on.",
  },
  {
    key: "positions",
    name: "No positions",
    change: { positions: "none" },
    question:
      "Nothing says where a letter stands. The mask alone tells the first from the last: each reads " +
      "those before it. Can the model still beat the bigram?",
    answer: ({ heldOut, lines, usual }) =>
      `The loss on held-out text is ${n3(heldOut)}, ` +
      (heldOut < lines.bigram
        ? `below the bigram's ${n3(lines.bigram)}: how many letters a row has averaged tells the ` +
          "model something about its place. "
        : `above the bigram's ${n3(lines.bigram)}: which letter came last is hard to find out. `) +
      (usual === null
        ? "Train as usual for as many steps, and compare."
        : `With positions it was ${n3(usual)}.`),
  },
  {
    key: "rate",
    name: "Too high a rate",
    change: { optimizer: "adamw", rate: "300" },
    question:
      "AdamW moves each weight by about the rate. What does a rate of 300 make of the loss?",
    answer: ({ step, broken, train }) =>
      broken
        ? `At step ${step} there was no number any more. AdamW's decay multiplies each weight by ` +
          "1 − 300 · 0.01 = −2 at each step, and its update adds some 300: the weights grew until " +
          "a product no longer fit into single precision. Infinity less infinity is NaN, and stays. " +
          "At a rate of 3 nothing overflows, but the loss goes up to hundreds."
        : `The loss is ${n3(train)}; it has not overflowed.`,
  },
  {
    key: "residual",
    name: "No residual connections",
    change: { residual: "no", n_layers: "4", nSteps: "100" },
    question:
      "Four blocks, and nothing carries a row past a layer. Where will the loss come to rest: near " +
      "the bigram's line, above it, or below?",
    answer: ({ heldOut, lines }) =>
      heldOut < lines.bigram
        ? `The loss on held-out text is ${n3(heldOut)}: here the model learned in spite of it.`
        : `The loss on held-out text rests at ${n3(heldOut)}. Who knows only how often each letter ` +
          `occurs has ${n3(lines.unigram)}: what a letter is does not reach the end any more. Eight ` +
          "layers one behind the other, each of which begins as almost nothing, pass on neither the " +
          "rows nor the gradient.",
  },
  {
    key: "little",
    name: "Too little text",
    change: { amount: "1000" },
    text: -1, // the last one: prose

    question: "Of 1,000 letters the model learns from 900. What will the two losses do, early and late?",
    answer: ({ train, heldOut, lowest }) =>
      heldOut > lowest.heldOut + 0.05
        ? `The loss on the training text fell to ${n3(train)}, and on held-out text it rose again, ` +
          `from ${n3(lowest.heldOut)} at step ${lowest.step} to ${n3(heldOut)}. The model learned ` +
          "its text by heart, and grew surer where it is wrong: overfitting."
        : `The loss on the training text is ${n3(train)}, on held-out text ${n3(heldOut)}: it has ` +
          "not risen yet. Train on.",
  },
];
