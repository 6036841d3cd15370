// Two panels of the matrix microscope: where a weight comes from, and tokens in rows or in columns.

import { el } from "../../kit/elements.js";
import { transpose } from "../../kit/matrices.js";
import { columnsForm, explainWeight, maxDifference } from "./maths.js";
import { brief, entry, number, rich } from "./parts.js";

// Where the chosen weight comes from

export function origin(app) {
  const heading = el("p", { class: "mm-title" });
  const steps = el("ol", { class: "mm-steps" });
  const summary = el("p", { class: "mm-unseen", "aria-live": "polite" });
  let pause;
  app.watch((state, result) => {
    const why = explainWeight(result, state.query, state.key);
    const [query, key] = [app.tokens[state.query], app.tokens[state.key]];
    heading.replaceChildren(
      "Where this weight comes from: ",
      el("span", { class: "mm-hue-q" }, query),
      " reads ",
      el("span", { class: "mm-hue-k" }, key),
    );
    steps.replaceChildren(...stepsOf(why).map(step));
    clearTimeout(pause); // a reader of the screen hears the end of a movement, not each step
    const told = `${query} reads ${key} with weight ${number(why.weight)}.`;
    pause = setTimeout(() => {
      summary.textContent = told;
    }, 400);
  });
  return el(
    "div",
    { class: "mm-origin" },
    heading,
    steps,
    el(
      "p",
      { class: "sl-note" },
      "Choose another cell above to see where it comes from. " +
        "The row’s largest score is taken off inside exp: no weight changes, nothing overflows.",
    ),
    summary,
  );
}

const step = ({ name, told, value, key }) =>
  el(
    "li",
    {},
    el("span", { class: "mm-step-name" }, rich(name)),
    el("span", { class: "mm-step-told" }, rich(told)),
    el("span", { class: "mm-step-value", "data-entry": `step-${key}` }, value),
  );

const bracket = (value) => (value < 0 ? `(${number(value)})` : number(value));
const vector = (values) => `(${values.map(number).join(", ")})`;

function stepsOf(why) {
  const terms = why.terms.map(([q, k]) => `${bracket(q)} × ${bracket(k)}`).join(" + ");
  const scaled = why.divisor === 1 ? "not divided" : `${number(why.product)} / √2`;
  const name = "{q:*q*_i} · {k:*k*_j}";
  const product = { key: "product", name, told: terms, value: number(why.product) };
  const score = { key: "score", name: "*S*_ij", told: scaled, value: number(why.score) };
  return [product, score, ...(why.allowed ? openSteps(why) : closedSteps(why))];
}

function openSteps(why) {
  const [exp, sum, weight] = [why.exp, why.sum, why.weight].map(number);
  return [
    {
      key: "exp",
      name: "exp",
      value: exp,
      told: `exp(${number(why.score)} − ${bracket(why.largest)})`,
    },
    sumStep(why),
    { key: "weight", name: "*A*_ij", told: `${exp} / ${sum}`, value: weight },
    {
      key: "share",
      name: "adds to {z:*z*_i}",
      told: `${weight} × {v:${vector(why.value)}}`,
      value: vector(why.share),
    },
  ];
}

function closedSteps(why) {
  const quotient = why.readable.length ? `0 / ${number(why.sum)}` : "0 by rule, instead of 0/0";
  return [
    { key: "mask", name: "mask", told: "not to be read: the score counts as −∞", value: "−∞" },
    { key: "exp", name: "exp", told: "exp(−∞)", value: "0" },
    sumStep(why),
    { key: "weight", name: "*A*_ij", told: quotient, value: "0" },
  ];
}

function sumStep({ exps, sum }) {
  const told = exps.map(number).join(" + ") || "nothing to add: this query may read no key";
  return { key: "sum", name: "sum of the row", told, value: number(sum) };
}

// Rows or columns

export function conventions(app) {
  const choice = (columns, text) => {
    const input = el("input", {
      type: "radio",
      name: `${app.id}-tokens`,
      onchange: () => app.change({ columns }),
    });
    app.watch((state) => {
      input.checked = state.columns === columns;
    });
    return el("label", { class: "sl-check" }, input, el("span", {}, rich(text)));
  };
  const panel = el("div", { class: "mm-panel" });
  const told = el("p", { class: "mm-unseen", role: "status" });
  const n = app.tokens.length;
  app.watch((state, result) => {
    const wrong = `The rows’ formula gives 2 by 2 scores, not ${n} by ${n}.`;
    told.textContent = state.columns ? wrong : "";
    panel.replaceChildren(...(state.columns ? columnsPanel(app, result) : rowsPanel(n)));
  });
  return el(
    "div",
    { class: "mm-conventions" },
    el(
      "div",
      { class: "sl-controls", role: "group", "aria-label": "Tokens stand in" },
      el("span", { class: "mm-title" }, "Tokens stand in"),
      choice(false, "rows of *X*"),
      choice(true, "columns of *X*"),
    ),
    told,
    panel,
  );
}

const rowsPanel = (n) => [
  formula(
    "*S* = *Q* *K*^⊤ / √*d*_k",
    `(${n} × 2)(2 × ${n}) = ${n} × ${n}`,
    "a score for each pair of tokens",
  ),
  formula("*Z* = *A* *V*", `(${n} × ${n})(${n} × 2) = ${n} × 2`, "an output for each token"),
];

const formula = (math, shapes, words) =>
  el(
    "p",
    { class: "mm-formula" },
    el("span", {}, rich(math)),
    el("span", { class: "mm-shapes" }, shapes),
    el("span", { class: "sl-note" }, words),
  );

function columnsPanel(app, result) {
  const { wrong, right } = columnsForm(result.setting);
  return [
    wrongCard(app.tokens.length, wrong, maxDifference(wrong.out, right.out)),
    rightCard(app.tokens, right, maxDifference(transpose(right.out), result.out)),
  ];
}

function wrongCard(n, wrong, difference) {
  const features = ["feature 0", "feature 1"];
  return el(
    "div",
    { class: "mm-card mm-wrong" },
    el("p", { class: "mm-title" }, "✗ The rows’ formula, kept"),
    formula(
      "*Q* *K*^⊤ / √*d*_k",
      `(2 × ${n})(${n} × 2) = 2 × 2`,
      `not ${n} × ${n}: features meet features, no token meets a token`,
    ),
    plainTable("wrong-scores", wrong.scores, features, features),
    el(
      "p",
      {},
      ...rich("It runs all the same: softmax, times *V*, has the shape of a right answer, "),
      el("span", { class: "mm-shapes" }, `2 × ${n}`),
      ". Off by up to ",
      entry("wrong-by", number(difference)),
      ".",
    ),
    el(
      "p",
      { class: "sl-note" },
      ...rich("With *d*_v ≠ *d*_k it would fail. So would *W* *X* with tokens in rows: "),
      el("span", { class: "mm-shapes" }, `(2 × 2)(${n} × 2).`),
    ),
  );
}

function rightCard(tokens, right, difference) {
  const n = tokens.length;
  return el(
    "div",
    { class: "mm-card mm-right" },
    el("p", { class: "mm-title" }, "✓ The columns’ formula"),
    formula(
      "*S* = *Q*^⊤ *K* / √*d*_k",
      `(${n} × 2)(2 × ${n}) = ${n} × ${n}`,
      "the same scores as with rows",
    ),
    formula("*Z* = *V* *A*^⊤", `(2 × ${n})(${n} × ${n}) = 2 × ${n}`, "an output in each column"),
    plainTable("right-out", right.out, ["z 0", "z 1"], tokens),
    el(
      "p",
      {},
      "Largest difference from ",
      el("i", {}, "Z"),
      " above, transposed: ",
      entry("right-by", number(difference)),
      ".",
    ),
  );
}

function plainTable(name, matrix, rows, columns) {
  const heads = columns.map((column) => el("th", { scope: "col" }, column));
  const lines = matrix.map((row, i) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, rows[i]),
      row.map((value, j) => el("td", { "data-entry": `${name}-${i}-${j}` }, brief(value))),
    ),
  );
  return el(
    "div",
    { class: "sl-scroll" },
    el(
      "table",
      { class: "mm-table", "aria-label": name.replace("-", " ") },
      el("thead", {}, el("tr", {}, el("td", {}), heads)),
      el("tbody", {}, lines),
    ),
  );
}
