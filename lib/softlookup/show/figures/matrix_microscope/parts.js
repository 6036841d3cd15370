// The tables of the matrix microscope: fields for numbers, plain matrices, heatmaps.

import { el } from "../../kit/elements.js";
import { range } from "../../kit/maths.js";
import { format } from "../../kit/numbers.js";

/** No field takes a number larger than this: scores stay far from overflow. */
export const LARGEST = 1000;

/** Four significant digits; zero without a sign. */
export const number = (value) => format(value === 0 ? 0 : value, 4);

/** Two decimals where there is room, fewer for large numbers: what fits into a cell. */
export function brief(value) {
  const size = Math.abs(value);
  const digits = size < 99.995 ? 2 : size < 99999.5 ? 0 : null;
  const text = digits === null ? size.toExponential(1).replace("e+", "e") : size.toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** *X* is a variable, ^T stands above, _k below, {q:words} have the queries' colour. */
export function rich(text) {
  const pattern = /\*([^*]+)\*|\^(⊤|\w+)|_(\w+)|\{(\w):([^}]+)\}/g;
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(pattern)) {
    const [all, variable, above, below, hue, words] = found;
    nodes.push(text.slice(end, found.index));
    if (variable) nodes.push(el("i", {}, variable));
    else if (above) nodes.push(el("sup", {}, above));
    else if (below) nodes.push(el("sub", {}, below));
    else nodes.push(el("span", { class: `mm-hue-${hue}` }, rich(words)));
    end = found.index + all.length;
  }
  return [...nodes, text.slice(end)];
}

/** A number that can be found in the page by its name. */
export const entry = (name, ...children) => el("span", { "data-entry": name }, ...children);

/** The classes of a token: whether it is the chosen query, the chosen key, both or neither. */
export const roles = (state, i) =>
  [state.query === i && "mm-is-query", state.key === i && "mm-is-key"].filter(Boolean).join(" ");

/** A field for one entry of a matrix of the state; a bad number leaves the last good one. */
export function numberField(app, matrix, row, column, label) {
  const input = el("input", {
    type: "number",
    step: "0.1",
    "aria-label": label,
    "aria-describedby": app.problems.id,
    oninput: () => {
      const value = input.valueAsNumber;
      const good = Number.isFinite(value) && Math.abs(value) <= LARGEST;
      app.complain(
        input,
        good
          ? null
          : `${label}: type a number from −${LARGEST} to ${LARGEST}. ` +
              `${number(app.state[matrix][row][column])} stays in use.`,
      );
      if (good) app.setEntry(matrix, row, column, value);
    },
  });
  let shown = [];
  app.watch((state) => {
    const source = state.same && matrix === "W_K" ? "W_Q" : matrix;
    const value = state[source][row][column];
    if (shown[0] !== value || shown[1] !== app.resets) {
      if (input.valueAsNumber !== value || input.value === "") input.value = String(value);
      app.complain(input, null);
    }
    shown = [value, app.resets];
  });
  return input;
}

/** A table with a row per token; `groups` are matrices side by side, each of so many columns. */
export function tokenTable(app, title, groups) {
  const letters = groups.flatMap(({ letter, hue, size }) =>
    range(size).map((c) =>
      el("th", { scope: "col", class: hue }, el("i", {}, letter), el("sub", {}, String(c))),
    ),
  );
  const rows = app.tokens.map((token, i) => {
    const cells = groups.flatMap(({ cell, size }) => range(size).map((c) => cell(i, c)));
    return el("tr", {}, el("th", { scope: "row" }, token), ...cells);
  });
  app.watch((state) => rows.forEach((row, i) => row.setAttribute("class", roles(state, i))));
  return el(
    "div",
    { class: "mm-numbers" },
    el("p", { class: "mm-title" }, rich(title)),
    el(
      "div",
      { class: "sl-scroll" },
      el(
        "table",
        { class: "mm-table" },
        el("thead", {}, el("tr", {}, el("td", {}), ...letters)),
        el("tbody", {}, rows),
      ),
    ),
  );
}

/** A group of a token table whose numbers follow from the state: `pick` finds them. */
export function computed(app, letter, hue, pick, size) {
  const cell = (i, c) => {
    const place = el("td", { class: hue, "data-entry": `${letter}-${i}-${c}` });
    app.watch((_, result) => {
      place.textContent = brief(pick(result)[i][c]);
    });
    return place;
  };
  return { letter, hue, size, cell };
}

// Heatmaps

/** Red above 0, blue below, the page itself at 0; never too deep for the page's ink. */
export function diverging(value, largest) {
  const depth = largest > 0 ? Math.round((45 * Math.abs(value)) / largest) : 0;
  const hue = value > 0 ? "var(--sl-red, #d55e00)" : "var(--sl-blue, #0072b2)";
  return { background: `color-mix(in srgb, ${hue} ${depth}%, transparent)`, color: "inherit" };
}

const MASKED = { background: "transparent", color: "inherit" };

/** A table of cells to choose: queries on rows, keys on columns; arrow keys move, Enter chooses. */
export function heatmap(app, { name, title, describe, paint, legend }) {
  const n = app.tokens.length;
  const cells = range(n).map((i) => range(n).map((j) => heatmapCell(app, name, i, j)));
  const heads = app.tokens.map((token) => el("th", { scope: "col" }, token));
  const rows = cells.map((row, i) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, app.tokens[i]),
      row.map((button) => el("td", {}, button)),
    ),
  );
  app.watch((state, result) => {
    heads.forEach((head, j) => head.classList.toggle("mm-is-key", j === state.key));
    rows.forEach((row, i) => row.classList.toggle("mm-is-query", i === state.query));
    cells.forEach((row, i) =>
      row.forEach((button, j) => {
        const { text, label } = describe(result, i, j);
        const chosen = state.query === i && state.key === j;
        button.textContent = text;
        button.setAttribute("aria-label", label);
        button.setAttribute("aria-pressed", String(chosen));
        button.tabIndex = chosen ? 0 : -1;
        button.parentNode.className = cellMarks(state, result, i, j);
        const { background, color } = result.mask[i][j] ? paint(result, i, j) : MASKED;
        Object.assign(button.style, { backgroundColor: background, color });
      }),
    );
  });
  const corner = el(
    "td",
    { class: "mm-corner" },
    el("span", {}, "query ↓"),
    el("span", {}, "key →"),
  );
  const table = el(
    "table",
    { class: "mm-heatmap", "aria-label": name, onkeydown: (event) => moveFocus(cells, event) },
    el("thead", {}, el("tr", {}, corner, heads)),
    el("tbody", {}, rows),
  );
  return el(
    "div",
    { class: "mm-matrix" },
    el("p", { class: "mm-title" }, rich(title)),
    el("div", { class: "sl-scroll" }, table),
    legend,
  );
}

function heatmapCell(app, name, i, j) {
  return el("button", {
    type: "button",
    class: "mm-cell",
    "data-entry": `${name}-${i}-${j}`,
    onclick: () => app.change({ query: i, key: j }),
  });
}

function cellMarks(state, { mask }, i, j) {
  return [
    !mask[i][j] && "mm-masked",
    state.query === i && "mm-in-row",
    state.key === j && "mm-in-column",
  ]
    .filter(Boolean)
    .join(" ");
}

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function moveFocus(cells, event) {
  const move = MOVES[event.key];
  const i = cells.findIndex((row) => row.includes(event.target));
  if (!move || i < 0) return;
  event.preventDefault();
  const j = cells[i].indexOf(event.target);
  cells[i + move[0]]?.[j + move[1]]?.focus();
}
