// The matrix microscope: a small self-attention to take hold of, and every number's origin.

import { colourBar, shareBar, sharePaint } from "../../kit/colours.js";
import { button, check, choices, controls } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { range } from "../../kit/maths.js";
import { asymmetry, maskOf, randomMatrices, selfAttention } from "./maths.js";
import { conventions, origin } from "./panels.js";
import {
  brief,
  computed,
  diverging,
  entry,
  heatmap,
  number,
  numberField,
  rich,
  tokenTable,
} from "./parts.js";
import { queryKeyPlane, tokenPlane, valueOutputPlane } from "./planes.js";

const IDENTITY = [
  [1, 0],
  [0, 1],
];
const only = (W_Q) => ({ W_Q, W_K: IDENTITY, W_V: IDENTITY });
const PRESETS = {
  given: { label: "as given" },
  identity: { label: "W = I: the raw dot product", ...only(IDENTITY) },
  opposite: {
    label: "look at the opposite",
    ...only([
      [-1, 0],
      [0, -1],
    ]),
  },
  turn: {
    label: "look a quarter turn ahead",
    ...only([
      [0, 1],
      [-1, 0],
    ]),
  },
  first: {
    label: "compare the first coordinate only",
    ...only([
      [3, 0],
      [0, 0],
    ]),
  },
  random: { label: "random" },
  own: { label: "my own numbers" },
};

/** The parts of which a phone shows one at a time, below the tokens and the weights. */
const VIEWS = [
  ["weight", "this weight"],
  ["scores", "scores"],
  ["keys", "query and keys"],
  ["values", "values"],
  ["masks", "masks"],
];

/** The figure's state, what follows from it, and who wants to know when it changes. */
function makeApp(data) {
  const watchers = [];
  const problems = new Map();
  const id = `mm-${Math.random().toString(36).slice(2)}`; // two figures on a page are no relatives
  const app = { id, tokens: labelled(data.tokens), data, dragging: false, resets: 0 };
  app.watch = (watcher) => watchers.push(watcher);
  app.change = (changes) => {
    Object.assign(app.state, changes);
    app.update();
  };
  app.update = () => {
    app.result = compute(app.state);
    watchers.forEach((watcher) => watcher(app.state, app.result));
  };
  app.setRow = (matrix, row, values) =>
    app.change({
      [matrix]: app.state[matrix].map((old, i) => (i === row ? values : old)),
      ...(matrix === "x" ? { moved: row } : { preset: "own" }),
    });
  app.setEntry = (matrix, row, column, value) =>
    app.setRow(
      matrix,
      row,
      app.state[matrix][row].map((old, c) => (c === column ? value : old)),
    );
  app.complain = (input, problem) => {
    input.setAttribute("aria-invalid", String(Boolean(problem)));
    if (problem) problems.set(input, problem);
    else problems.delete(input);
    app.problems.textContent = [...problems.values()].join(" ");
  };
  app.reset = () => {
    app.resets += 1;
    app.state = { ...startOf(data), whole: app.state.whole };
    app.update();
  };
  app.problems = el("p", { id: `${id}-problems`, class: "sl-flag mm-problems", role: "status" });
  app.state = startOf(data);
  return app;
}

const startOf = ({ x, W_Q, W_K, W_V, start }) => ({
  x,
  W_Q,
  W_K,
  W_V,
  ...start,
  hidden: x.map(() => false),
  moved: null,
  preset: "given",
  seed: 0,
  columns: false,
  view: "weight",
  whole: false,
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
    tokens.indexOf(token) === tokens.lastIndexOf(token) ? token : token + small(i),
  );
}

export function mount(root, data) {
  const app = makeApp(data);
  const figure = el(
    "div",
    { class: "mm" },
    el(
      "div",
      { class: "mm-pictures" },
      tokenPlane(app),
      part("keys", queryKeyPlane(app)),
      part("values", valueOutputPlane(app)),
    ),
    switches(app),
    views(app),
    el("div", { class: "mm-matrices" }, weightsMap(app), part("weight", origin(app))),
    blind(app),
    theRest(app),
    el(
      "div",
      { class: "mm-rest", id: `${app.id}-rest` },
      part("scores", scoresMap(app)),
      el("div", { class: "mm-beside" }, part("masks", masks(app)), symmetry(app)),
    ),
    el(
      "details",
      { class: "mm-more" },
      el("summary", { "data-lm-suppress-shortcuts": "true" }, "The numbers, to change by hand"),
      numbers(app),
      conventions(app),
    ),
    app.problems,
  );
  app.watch(({ view, whole }) => {
    figure.dataset.view = view;
    figure.classList.toggle("mm-whole", whole);
  });
  root.replaceChildren(figure);
  app.update();
  let width = figure.clientWidth;
  new ResizeObserver(() => {
    if (figure.clientWidth !== width) app.update();
    width = figure.clientWidth;
  }).observe(figure);
}

function tick(app, name, words) {
  const box = check(name, el("span", {}, rich(words)), (on) => app.change({ [name]: on }));
  app.watch((state) => {
    box.firstChild.checked = state[name];
  });
  return box;
}

/** Mark what a phone shows in one of the views only. */
function part(view, node) {
  node.classList.add("mm-part", `mm-part-${view}`);
  return node;
}

function views(app) {
  const choose = (view) => app.change({ view });
  const row = choices("And below:", `${app.id}-view`, VIEWS, app.state.view, choose);
  row.classList.add("mm-views");
  app.watch(({ view }) => {
    for (const input of row.querySelectorAll("input")) input.checked = input.value === view;
  });
  return row;
}

/** The upper half shows the steps of one query; this opens the lower half, which shows all scores. */
function theRest(app) {
  const press = button("", () => app.change({ whole: !app.state.whole }), {
    class: "sl-button mm-open",
    "aria-controls": `${app.id}-rest`,
  });
  app.watch(({ whole }) => {
    press.textContent = `${whole ? "Hide" : "Show"} all scores, and more masks`;
    press.setAttribute("aria-expanded", String(whole));
  });
  return press;
}

function switches(app) {
  return el(
    "div",
    { class: "sl-controls mm-switches" },
    tick(app, "scale", "divide by √*d*_k"),
    tick(app, "causal", "causal mask"),
    button("Reset", app.reset, { class: "sl-button mm-reset" }),
  );
}

function masks(app) {
  const width = el("input", {
    type: "range",
    min: 0,
    max: app.tokens.length - 1,
    step: 1,
    "aria-label": "Width of the window",
    oninput: () => app.change({ width: width.valueAsNumber, window: true }),
  });
  const shown = el("span", { class: "mm-width" });
  app.watch((state) => {
    width.value = String(state.width);
    shown.replaceChildren(...rich(`|*i* − *j*| ≤ ${state.width}`));
  });
  return el(
    "div",
    { class: "sl-controls mm-masks" },
    el("div", { class: "mm-window" }, tick(app, "window", "window"), width, shown),
    hideKeys(app),
  );
}

function hideKeys(app) {
  const buttons = app.tokens.map((token, j) => {
    const flip = () =>
      app.change({ hidden: app.state.hidden.map((old, k) => (k === j ? !old : old)) });
    const press = button(token, flip, {
      class: "sl-button mm-hide",
      "aria-label": `Hide key ${token}`,
    });
    app.watch((state) => press.setAttribute("aria-pressed", String(state.hidden[j])));
    return press;
  });
  return el(
    "div",
    { class: "mm-hides", role: "group", "aria-label": "Hide keys" },
    el("span", {}, "hide keys"),
    buttons,
  );
}

// The two heatmaps

function scoresMap(app) {
  const title = el("span", {});
  const [low, high] = [el("span", {}), el("span", {})];
  const farthest = el("p", { class: "sl-note mm-farthest" });
  const largestOf = (scores) => Math.max(...scores.flat().map(Math.abs));
  app.watch((state, { scores }) => {
    const largest = largestOf(scores);
    farthest.textContent = farthestInWords(app.tokens, scores, largest);
    low.textContent = brief(-largest);
    high.textContent = brief(largest);
    title.replaceChildren(
      ...rich("*S* = *Q* *K*^⊤"),
      ...rich(state.scale ? " / √*d*_k" : ", not scaled"),
    );
  });
  const stops = [-1, 0, 1].map((value) => diverging(value, 1).background);
  const map = heatmap(app, {
    name: "scores",
    title: "",
    describe: ({ scores, mask }, i, j) => ({
      text: brief(scores[i][j]),
      label:
        `query ${app.tokens[i]}, key ${app.tokens[j]}: score ${brief(scores[i][j])}` +
        (mask[i][j] ? "" : ", masked"),
    }),
    paint: ({ scores }, i, j) => diverging(scores[i][j], largestOf(scores)),
    legend: el("div", {}, colourBar(stops, [low, high]), farthest),
  });
  map.firstChild.append("Scores ", title);
  return map;
}

/** Why the bar of the scores ends where it does. */
function farthestInWords(tokens, scores, largest) {
  if (largest === 0) return "All scores are 0.";
  const place = scores.flat().findIndex((score) => Math.abs(score) === largest);
  const [i, j] = [Math.floor(place / tokens.length), place % tokens.length];
  const pair = `query “${tokens[i]}”, key “${tokens[j]}”`;
  return `The colours end at the score farthest from 0: ${brief(scores[i][j])} (${pair}).`;
}

function weightsMap(app) {
  const text = (weights, mask, i, j) => (mask[i][j] ? weights[i][j].toFixed(3) : "0");
  return heatmap(app, {
    name: "weights",
    title: "Weights *A* = softmax of each row of *S*",
    describe: ({ weights, mask }, i, j) => ({
      text: text(weights, mask, i, j),
      label:
        `query ${app.tokens[i]}, key ${app.tokens[j]}: weight ${text(weights, mask, i, j)}` +
        (mask[i][j] ? "" : ", masked"),
    }),
    paint: ({ weights }, i, j) => sharePaint(weights[i][j]),
    legend: shareBar(),
  });
}

/** Whether scores and weights are symmetric. */
function symmetry(app) {
  const words = el("p", { class: "sl-live mm-symmetry" });
  app.watch((state, { scores, weights }) => {
    const [s, a] = [asymmetry(scores), asymmetry(weights)];
    words.replaceChildren(
      ...rich("max |*S* − *S*^⊤| = "),
      entry("asymmetry-S", number(s)),
      ...rich(" · max |*A* − *A*^⊤| = "),
      entry("asymmetry-A", number(a)),
      ` · ${symmetryInWords(s === 0, a === 0)}.`,
    );
  });
  return words;
}

/** Rows that may read nothing. */
function blind(app) {
  const empty = el("p", { class: "sl-flag mm-empty", role: "status" });
  app.watch((state, { mask }) => {
    const blind = app.tokens.filter((_, i) => !mask[i].includes(true));
    const names = blind.map((token) => `“${token}”`).join(", ");
    empty.textContent =
      blind.length === 0
        ? ""
        : `${names} may read no key: ` +
          "the row of A is all zeros, and so is the output. Not NaN.";
  });
  return empty;
}

function symmetryInWords(scores, weights) {
  if (scores === weights) return scores ? "both are symmetric" : "neither is symmetric";
  return scores
    ? "the scores are symmetric, the weights are not"
    : "the weights are symmetric, the scores are not";
}

// The numbers

function numbers(app) {
  const field = (matrix, letter) => (i, c) =>
    el("td", {}, numberField(app, matrix, i, c, `${letter}, ${app.tokens[i]}, column ${c}`));
  const group = (letter) =>
    computed(app, letter, `mm-hue-${letter}`, (result) => result[letter.toUpperCase()], 2);
  const outputs = computed(app, "z", "mm-hue-z", (result) => result.out, 2);
  return el(
    "div",
    { class: "mm-values" },
    el(
      "div",
      { class: "mm-tables" },
      tokenTable(app, "Tokens *X*", [{ letter: "x", size: 2, cell: field("x", "X") }]),
      tokenTable(app, "{q:*Q* = *X* *W*^Q} and {k:*K* = *X* *W*^K}", [group("q"), group("k")]),
      tokenTable(app, "{v:*V* = *X* *W*^V} and {z:*Z* = *A* *V*}", [group("v"), outputs]),
    ),
    weightsOf(app),
  );
}

function weightsOf(app) {
  const select = el(
    "select",
    { onchange: () => choose(app, select.value) },
    Object.entries(PRESETS).map(([value, { label }]) => el("option", { value }, label)),
  );
  app.watch((state) => {
    select.value = state.preset;
    select.options[Object.keys(PRESETS).indexOf("random")].textContent =
      state.preset === "random" ? `random, draw ${state.seed}` : "random";
  });
  const again = button("New random", () => choose(app, "random"));
  return el(
    "div",
    { class: "mm-weights" },
    el(
      "div",
      { class: "mm-choice" },
      el("label", {}, el("span", { class: "mm-title" }, rich("Matrices *W*")), select),
      controls(again, tick(app, "same", "*W*^K = *W*^Q")),
    ),
    el(
      "div",
      { class: "mm-pair" },
      smallMatrix(app, "W_Q", "{q:*W*^Q}"),
      smallMatrix(app, "W_K", "{k:*W*^K}"),
    ),
    smallMatrix(app, "W_V", "{v:*W*^V}"),
  );
}

function choose(app, preset) {
  if (preset === "own") return app.change({ preset });
  const seed = app.state.seed + (preset === "random" ? 1 : 0);
  const drawn = preset === "random" ? randomMatrices(seed, 3, 2) : null;
  const { W_Q, W_K, W_V } = drawn
    ? { W_Q: drawn[0], W_K: drawn[1], W_V: drawn[2] }
    : preset === "given"
      ? app.data
      : PRESETS[preset];
  app.resets += 1;
  return app.change({ W_Q, W_K, W_V, preset, seed });
}

function smallMatrix(app, matrix, title) {
  const name = matrix.replace("W_", "W ");
  const rows = range(2).map((r) =>
    el(
      "div",
      {},
      range(2).map((c) => {
        const field = numberField(app, matrix, r, c, `${name}, row ${r}, column ${c}`);
        if (matrix === "W_K")
          app.watch((state) => {
            field.disabled = state.same;
          });
        return field;
      }),
    ),
  );
  return el(
    "div",
    { role: "group", "aria-label": name },
    el("p", { class: "mm-title" }, rich(title)),
    el("div", { class: "mm-brackets" }, rows),
  );
}
