// The matrix microscope: a small self-attention to take hold of, and every number's origin.

import { el } from "./interactive.js";
import {
  asymmetry, columnsForm, explainWeight, maskOf, maxDifference, randomMatrices, range,
  selfAttention, transpose,
} from "./matrix_microscope_maths.js";
import {
  CIVIDIS_STOPS, brief, cividis, colourBar, computed, diverging, heatmap, number, numberField, rich,
  tokenTable,
} from "./matrix_microscope_parts.js";
import { queryKeyPlane, tokenPlane, valueOutputPlane } from "./matrix_microscope_planes.js";

const IDENTITY = [[1, 0], [0, 1]];
const PRESETS = {
  given: { label: "as given" },
  identity: { label: "W = I: the raw dot product", W_Q: IDENTITY, W_K: IDENTITY, W_V: IDENTITY },
  opposite: { label: "look at the opposite", W_Q: [[-1, 0], [0, -1]], W_K: IDENTITY, W_V: IDENTITY },
  turn: { label: "look a quarter turn ahead", W_Q: [[0, 1], [-1, 0]], W_K: IDENTITY, W_V: IDENTITY },
  stretch: { label: "compare the first coordinate only", W_Q: [[3, 0], [0, 0]], W_K: IDENTITY, W_V: IDENTITY },
  random: { label: "random" },
  own: { label: "my own numbers" },
};

/** The figure's state, what follows from it, and who wants to know when it changes. */
function makeApp(data) {
  const watchers = [];
  const problems = new Map();
  const id = `mm-${Math.random().toString(36).slice(2)}`; // two figures on a page are no relatives
  const app = { id, tokens: labelled(data.tokens), data, dragging: null, resets: 0 };
  app.watch = (watcher) => watchers.push(watcher);
  app.change = (changes) => { Object.assign(app.state, changes); app.update(); };
  app.update = () => {
    app.result = compute(app.state);
    watchers.forEach((watcher) => watcher(app.state, app.result));
  };
  app.setRow = (matrix, row, values) => app.change({
    [matrix]: app.state[matrix].map((old, i) => (i === row ? values : old)),
    ...(matrix === "x" ? {} : { preset: "own" }),
  });
  app.setEntry = (matrix, row, column, value) =>
    app.setRow(matrix, row, app.state[matrix][row].map((old, c) => (c === column ? value : old)));
  app.complain = (input, problem) => {
    input.setAttribute("aria-invalid", String(Boolean(problem)));
    if (problem) problems.set(input, problem);
    else problems.delete(input);
    app.problems.textContent = [...problems.values()].join(" ");
  };
  app.reset = () => { app.resets += 1; app.state = startOf(data); app.update(); };
  app.problems = el("p", { id: `${id}-problems`, class: "sl-flag mm-problems", role: "status" });
  app.state = startOf(data);
  return app;
}

const startOf = ({ x, W_Q, W_K, W_V, start }) => ({
  x, W_Q, W_K, W_V, ...start, hidden: x.map(() => false), preset: "given", seed: 0, columns: false,
});

function compute(state) {
  const W_K = state.same ? state.W_Q : state.W_K;
  const setting = { ...state, W_K, mask: maskOf(state) };
  return { ...selfAttention(setting), setting };
}

/** The tokens as labels; a token that comes twice gets its index: the₀, the₃. */
function labelled(tokens) {
  const small = (i) => [...String(i)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("");
  return tokens.map((token, i) =>
    (tokens.indexOf(token) === tokens.lastIndexOf(token) ? token : token + small(i)));
}

export function mount(root, data) {
  const app = makeApp(data);
  const figure = el("div", { class: "mm" },
    el("div", { class: "mm-pictures" }, tokenPlane(app), queryKeyPlane(app), valueOutputPlane(app)),
    switches(app),
    el("div", { class: "mm-matrices" }, scoresMap(app), weightsMap(app)),
    remarks(app), origin(app), numbers(app), conventions(app));
  root.replaceChildren(figure);
  app.update();
  let width = figure.clientWidth;
  new ResizeObserver(() => {
    if (figure.clientWidth !== width) app.update();
    width = figure.clientWidth;
  }).observe(figure);
}

function check(app, name, text) {
  const input = el("input", { type: "checkbox", "data-lm-suppress-shortcuts": "true",
    onchange: () => app.change({ [name]: input.checked }) });
  app.watch((state) => { input.checked = state[name]; });
  return el("label", { class: "sl-check" }, input, el("span", {}, rich(text)));
}

function switches(app) {
  const width = el("input", { type: "range", min: 0, max: app.tokens.length - 1, step: 1,
    "aria-label": "Width of the window", "data-lm-suppress-shortcuts": "true",
    oninput: () => app.change({ width: width.valueAsNumber, window: true }) });
  const shown = el("span", { class: "mm-width" });
  app.watch((state) => {
    width.value = String(state.width);
    shown.replaceChildren(...rich(`|*i* − *j*| ≤ ${state.width}`));
  });
  return el("div", { class: "sl-controls mm-switches" },
    check(app, "scale", "divide by √*d*_k"), check(app, "causal", "causal mask"),
    el("div", { class: "mm-window" }, check(app, "window", "window"), width, shown),
    hideKeys(app),
    el("button", { type: "button", class: "sl-button mm-reset", onclick: app.reset }, "Reset"));
}

function hideKeys(app) {
  const buttons = app.tokens.map((token, j) => {
    const button = el("button", { type: "button", class: "sl-button mm-hide", "aria-label": `Hide key ${token}`,
      onclick: () => app.change({ hidden: app.state.hidden.map((old, k) => (k === j ? !old : old)) }) }, token);
    app.watch((state) => button.setAttribute("aria-pressed", String(state.hidden[j])));
    return button;
  });
  return el("div", { class: "mm-hides", role: "group", "aria-label": "Hide keys" },
    el("span", {}, "hide keys"), buttons);
}

// The two heatmaps

function scoresMap(app) {
  const title = el("span", {});
  const [low, high] = [el("span", {}), el("span", {})];
  const largestOf = (scores) => Math.max(...scores.flat().map(Math.abs));
  app.watch((state, { scores }) => {
    const largest = largestOf(scores);
    low.textContent = brief(-largest);
    high.textContent = brief(largest);
    title.replaceChildren(...rich(state.scale ? "*S* = *Q* *K*^⊤ / √*d*_k" : "*S* = *Q* *K*^⊤, not scaled"));
  });
  const stops = [-1, 0, 1].map((value) => diverging(value, 1).background);
  const map = heatmap(app, {
    name: "scores",
    title: "",
    describe: ({ scores, mask }, i, j) => ({
      text: brief(scores[i][j]),
      label: `query ${app.tokens[i]}, key ${app.tokens[j]}: score ${brief(scores[i][j])}`
        + (mask[i][j] ? "" : ", masked"),
    }),
    paint: ({ scores }, i, j) => diverging(scores[i][j], largestOf(scores)),
    legend: colourBar(stops, [low, high]),
  });
  map.firstChild.append("Scores ", title);
  return map;
}

function weightsMap(app) {
  const text = (weights, mask, i, j) => (mask[i][j] ? weights[i][j].toFixed(3) : "0");
  return heatmap(app, {
    name: "weights",
    title: "Weights *A* = softmax of each row of *S*",
    describe: ({ weights, mask }, i, j) => ({
      text: text(weights, mask, i, j),
      label: `query ${app.tokens[i]}, key ${app.tokens[j]}: weight ${text(weights, mask, i, j)}`
        + (mask[i][j] ? "" : ", masked"),
    }),
    paint: ({ weights }, i, j) => cividis(weights[i][j]),
    legend: colourBar(CIVIDIS_STOPS, [el("span", {}, "0"), el("span", {}, "1")]),
  });
}

/** What to notice: symmetry of scores and weights, and rows that may read nothing. */
function remarks(app) {
  const symmetry = el("p", { class: "sl-live mm-symmetry" });
  const empty = el("p", { class: "sl-flag mm-empty", role: "status" });
  app.watch((state, { scores, weights, mask }) => {
    const [s, a] = [asymmetry(scores), asymmetry(weights)];
    symmetry.replaceChildren(...rich("max |*S* − *S*^⊤ | = "), entry("asymmetry-S", number(s)),
      ...rich(" · max |*A* − *A*^⊤ | = "), entry("asymmetry-A", number(a)),
      ` · ${symmetryInWords(s === 0, a === 0)}.`);
    const blind = app.tokens.filter((_, i) => !mask[i].includes(true));
    empty.textContent = blind.length === 0 ? "" : `${blind.map((token) => `“${token}”`).join(", ")} may read no key: `
      + "the row of A is all zeros, and so is the output. Not NaN.";
  });
  return el("div", { class: "mm-remarks" }, symmetry, empty);
}

function symmetryInWords(scores, weights) {
  if (scores === weights) return scores ? "both are symmetric" : "neither is symmetric";
  return scores ? "the scores are symmetric, the weights are not"
    : "the weights are symmetric, the scores are not";
}

const entry = (name, ...children) => el("span", { "data-entry": name }, ...children);

// Where the chosen weight comes from

function origin(app) {
  const heading = el("p", { class: "mm-title" });
  const steps = el("ol", { class: "mm-steps" });
  const summary = el("p", { class: "mm-unseen", "aria-live": "polite" });
  let pause;
  app.watch((state, result) => {
    const why = explainWeight(result, state.query, state.key);
    const [query, key] = [app.tokens[state.query], app.tokens[state.key]];
    heading.replaceChildren("Where this weight comes from: ", el("span", { class: "mm-hue-q" }, query),
      " reads ", el("span", { class: "mm-hue-k" }, key));
    steps.replaceChildren(...stepsOf(why, result.K.length).map(step));
    clearTimeout(pause); // a reader of the screen hears the end of a movement, not each step
    pause = setTimeout(() => { summary.textContent = `${query} reads ${key} with weight ${number(why.weight)}.`; }, 400);
  });
  return el("div", { class: "mm-origin" }, heading, steps,
    el("p", { class: "sl-note" }, "Choose another cell above to see where it comes from. "
      + "The largest score of the row is taken off inside exp: no weight changes, nothing overflows."),
    summary);
}

const step = ({ name, told, value, key }) => el("li", {},
  el("span", { class: "mm-step-name" }, rich(name)),
  el("span", { class: "mm-step-told" }, rich(told)),
  el("span", { class: "mm-step-value", "data-entry": `step-${key}` }, value));

const bracket = (value) => (value < 0 ? `(${number(value)})` : number(value));
const vector = (values) => `(${values.map(number).join(", ")})`;

function stepsOf(why, d_k) {
  const terms = why.terms.map(([q, k]) => `${bracket(q)} × ${bracket(k)}`).join(" + ");
  const scaled = why.divisor === 1 ? "not divided" : `${number(why.product)} / √2`;
  const product = { key: "product", name: "{q:*q*_i} · {k:*k*_j}", told: terms, value: number(why.product) };
  const score = { key: "score", name: "*S*_ij", told: scaled, value: number(why.score) };
  return [product, score, ...(why.allowed ? openSteps(why) : closedSteps(why))];
}

function openSteps(why) {
  const exponent = `exp(${number(why.score)} − ${bracket(why.largest)})`;
  return [
    { key: "exp", name: "exp", told: exponent, value: number(why.exp) },
    { key: "sum", name: "sum of the row", told: why.exps.map(number).join(" + "), value: number(why.sum) },
    { key: "weight", name: "*A*_ij", told: `${number(why.exp)} / ${number(why.sum)}`, value: number(why.weight) },
    { key: "share", name: "adds to {z:*z*_i}", told: `${number(why.weight)} × {v:${vector(why.value)}}`,
      value: vector(why.share) },
  ];
}

const closedSteps = (why) => [
  { key: "mask", name: "mask", told: "not to be read: the score counts as −∞", value: "−∞" },
  { key: "exp", name: "exp", told: "exp(−∞)", value: "0" },
  { key: "sum", name: "sum of the row", told: why.readable.length ? why.exps.map(number).join(" + ")
    : "nothing to add: this query may read no key", value: number(why.sum) },
  { key: "weight", name: "*A*_ij", told: why.readable.length ? `0 / ${number(why.sum)}` : "0 by rule, instead of 0/0",
    value: "0" },
];

// The numbers

function numbers(app) {
  const field = (matrix, letter) => (i, c) =>
    el("td", {}, numberField(app, matrix, i, c, `${letter}, ${app.tokens[i]}, column ${c}`));
  const group = (letter) =>
    computed(app, letter, `mm-hue-${letter}`, (result) => result[letter.toUpperCase()], 2);
  const outputs = computed(app, "z", "mm-hue-z", (result) => result.out, 2);
  return el("div", { class: "mm-values" },
    el("div", { class: "mm-tables" },
      tokenTable(app, "Tokens *X*", [{ letter: "x", size: 2, cell: field("x", "X") }]),
      tokenTable(app, "{q:*Q* = *X* *W*^Q} and {k:*K* = *X* *W*^K}", [group("q"), group("k")]),
      tokenTable(app, "{v:*V* = *X* *W*^V} and {z:*Z* = *A* *V*}", [group("v"), outputs])),
    weightsOf(app), app.problems);
}

function weightsOf(app) {
  const select = el("select", { "data-lm-suppress-shortcuts": "true", onchange: () => choose(app, select.value) },
    Object.entries(PRESETS).map(([value, { label }]) => el("option", { value }, label)));
  app.watch((state) => {
    select.value = state.preset;
    select.options[Object.keys(PRESETS).indexOf("random")].textContent =
      state.preset === "random" ? `random, draw ${state.seed}` : "random";
  });
  const again = el("button", { type: "button", class: "sl-button", onclick: () => choose(app, "random") }, "New random");
  return el("div", { class: "mm-weights" },
    el("div", { class: "mm-choice" },
      el("label", {}, el("span", { class: "mm-title" }, rich("Matrices *W*")), select),
      el("div", { class: "sl-controls" }, again, check(app, "same", "*W*^K = *W*^Q"))),
    el("div", { class: "mm-pair" }, smallMatrix(app, "W_Q", "{q:*W*^Q}"),
      smallMatrix(app, "W_K", "{k:*W*^K}")),
    smallMatrix(app, "W_V", "{v:*W*^V}"));
}

function choose(app, preset) {
  if (preset === "own") return app.change({ preset });
  const seed = app.state.seed + (preset === "random" ? 1 : 0);
  const drawn = preset === "random" ? randomMatrices(seed, 3, 2) : null;
  const { W_Q, W_K, W_V } = drawn ? { W_Q: drawn[0], W_K: drawn[1], W_V: drawn[2] }
    : preset === "given" ? app.data : PRESETS[preset];
  app.resets += 1;
  return app.change({ W_Q, W_K, W_V, preset, seed });
}

function smallMatrix(app, matrix, title) {
  const name = matrix.replace("W_", "W ");
  const rows = range(2).map((r) => el("div", {}, range(2).map((c) => {
    const field = numberField(app, matrix, r, c, `${name}, row ${r}, column ${c}`);
    if (matrix === "W_K") app.watch((state) => { field.disabled = state.same; });
    return field;
  })));
  return el("div", { role: "group", "aria-label": name },
    el("p", { class: "mm-title" }, rich(title)), el("div", { class: "mm-brackets" }, rows));
}

// Rows or columns

function conventions(app) {
  const choice = (columns, text) => {
    const input = el("input", { type: "radio", name: `${app.id}-tokens`, "data-lm-suppress-shortcuts": "true",
      onchange: () => app.change({ columns }) });
    app.watch((state) => { input.checked = state.columns === columns; });
    return el("label", { class: "sl-check" }, input, el("span", {}, rich(text)));
  };
  const panel = el("div", { class: "mm-panel" });
  const told = el("p", { class: "mm-unseen", role: "status" });
  const n = app.tokens.length;
  app.watch((state, result) => {
    told.textContent = state.columns ? `The rows’ formula gives 2 by 2 scores, not ${n} by ${n}.` : "";
    panel.replaceChildren(...(state.columns ? columnsPanel(app, result) : rowsPanel(n)));
  });
  return el("div", { class: "mm-conventions" },
    el("div", { class: "sl-controls", role: "group", "aria-label": "Tokens stand in" },
      el("span", { class: "mm-title" }, "Tokens stand in"), choice(false, "rows of *X*"),
      choice(true, "columns of *X*")),
    told, panel);
}

const rowsPanel = (n) => [
  formula("*S* = *Q* *K*^⊤ / √*d*_k", `(${n} × 2)(2 × ${n}) = ${n} × ${n}`, "a score for each pair of tokens"),
  formula("*Z* = *A* *V*", `(${n} × ${n})(${n} × 2) = ${n} × 2`, "an output for each token"),
];

const formula = (math, shapes, words) => el("p", { class: "mm-formula" },
  el("span", {}, rich(math)), el("span", { class: "mm-shapes" }, shapes), el("span", { class: "sl-note" }, words));

function columnsPanel(app, result) {
  const { wrong, right } = columnsForm(result.setting);
  const n = app.tokens.length;
  const features = ["feature 0", "feature 1"];
  return [el("div", { class: "mm-card mm-wrong" },
    el("p", { class: "mm-title" }, "✗ The rows’ formula, kept"),
    formula("*Q* *K*^⊤ / √*d*_k", `(2 × ${n})(${n} × 2) = 2 × 2`, `not ${n} × ${n}: features meet features, no token meets a token`),
    plainTable("wrong-scores", wrong.scores, features, features),
    el("p", {}, ...rich("It runs all the same: softmax, times *V*, is 2 × " + n + ", the shape of a right answer. Off by up to "),
      entry("wrong-by", number(maxDifference(wrong.out, right.out))), "."),
    el("p", { class: "sl-note" }, rich("With *d*_v ≠ *d*_k it would fail. "
      + "So would *W* *X* with tokens in rows: "),
    el("span", { class: "mm-shapes" }, `(2 × 2)(${n} × 2).`))),
  el("div", { class: "mm-card mm-right" },
    el("p", { class: "mm-title" }, "✓ The columns’ formula"),
    formula("*S* = *Q*^⊤ *K* / √*d*_k", `(${n} × 2)(2 × ${n}) = ${n} × ${n}`, "the same scores as with rows"),
    formula("*Z* = *V* *A*^⊤", `(2 × ${n})(${n} × ${n}) = 2 × ${n}`, "an output in each column"),
    plainTable("right-out", right.out, ["z 0", "z 1"], app.tokens),
    el("p", {}, "Largest difference from ", el("i", {}, "Z"), " above, transposed: ",
      entry("right-by", number(maxDifference(transpose(right.out), result.out))), "."))];
}

function plainTable(name, matrix, rows, columns) {
  return el("div", { class: "sl-scroll" }, el("table", { class: "mm-table", "aria-label": name.replace("-", " ") },
    el("thead", {}, el("tr", {}, el("td", {}), columns.map((column) => el("th", { scope: "col" }, column)))),
    el("tbody", {}, matrix.map((row, i) => el("tr", {}, el("th", { scope: "row" }, rows[i]),
      row.map((value, j) => el("td", { "data-entry": `${name}-${i}-${j}` }, brief(value))))))));
}
