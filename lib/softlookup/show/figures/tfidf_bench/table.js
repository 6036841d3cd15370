// The table of the TF-IDF bench: words down, term frequency, rarity and weight across.

import { el, svg } from "../../kit/elements.js";
import { sum } from "../../kit/maths.js";
import { decimalsOf, norm } from "./maths.js";
import { documentName, fixed, FORMULAS, logName, N_J } from "./words.js";

export const ROWS_SHOWN = 40;

/** Text with what stands below the line, as nodes. */
export function rich(parts) {
  return parts.map((part) => (typeof part === "string" ? part : el("sub", null, part.sub)));
}

export function flagIcon() {
  return svg(
    "svg",
    { viewBox: "0 0 12 12", width: "0.8em", height: "0.8em", "aria-hidden": "true" },
    svg("path", {
      d: "M2 0v12M2 1h8l-2.5 3L10 7H2z",
      fill: "currentColor",
      stroke: "currentColor",
      "stroke-width": "1.2",
    }),
  );
}

/** A number that lines up on its decimal point: for the decimals it lacks, blanks of their width. */
function aligned(value, digits, widest) {
  const text = fixed(value, digits);
  const [, decimals = ""] = text.split(".");
  const point = widest > 0 && decimals === "" ? "\u2008" : "";
  return text + point + "\u2007".repeat(Math.max(widest - decimals.length, 0));
}

function numberCell(key, value, digits, { bar, kind = "", widest = digits } = {}) {
  const sign = value < 0 ? " tb-negative" : value === 0 ? " tb-zero" : "";
  const style = bar > 0 ? `--bar: ${bar.toFixed(3)}` : null;
  return el(
    "td",
    { "data-key": key, tabindex: "-1", style, class: kind + sign },
    aligned(value, digits, widest),
  );
}

function idfCell(j, value, digits) {
  const cell = numberCell(`idf:${j}`, value, digits);
  if (value < 0) cell.prepend(el("span", { class: "sl-flag" }, flagIcon(), " negative "));
  return cell;
}

/** The decimals that a sum or a norm is shown with. */
function footDecimals(rows, kind, measure) {
  return Math.min(decimalsOf(rows.map(measure)), kind === "sum" ? 4 : Infinity);
}

/** The numbers of the rows of words that are shown. */
const visible = (rows) => rows.flatMap((row) => row.slice(0, ROWS_SHOWN));

/** The most decimals of any number in the columns of a side, so that all points line up. */
function widestOf(rows) {
  const feet = [footDecimals(rows, "sum", sum), footDecimals(rows, "norm", norm)];
  return Math.max(decimalsOf(visible(rows)), ...feet);
}

/** The rows of words: what each column's numbers are, and how many digits they need. */
function bodyRows(bench, widest) {
  const { vocabulary, tfShown, df, idf, weights } = bench;
  const shown = vocabulary.slice(0, ROWS_SHOWN);
  const digits = {
    tf: decimalsOf(visible(tfShown)),
    weight: decimalsOf(visible(weights)),
    idf: decimalsOf(idf.slice(0, ROWS_SHOWN)),
  };
  const most = (rows) => Math.max(...visible(rows).map(Math.abs)) || 1;
  const [mostTf, mostWeight] = [most(tfShown), most(weights)];
  return shown.map((word, j) =>
    el(
      "tr",
      null,
      el("th", { scope: "row", title: word }, el("bdi", null, word)),
      tfShown.map((row, i) =>
        numberCell(`tf:${i}:${j}`, row[j], digits.tf, {
          widest: widest.tf,
          bar: row[j] / mostTf,
          kind: i ? "tb-tf" : "tb-tf tb-first",
        }),
      ),
      numberCell(`df:${j}`, df[j], 0, { kind: "tb-first" }),
      idfCell(j, idf[j], digits.idf),
      weights.map((row, i) =>
        numberCell(`weight:${i}:${j}`, row[j], digits.weight, {
          widest: widest.weight,
          bar: Math.abs(row[j]) / mostWeight,
          kind: i ? "tb-weight" : "tb-weight tb-first",
        }),
      ),
    ),
  );
}

function footRow(bench, widest, label, kind, measure) {
  const cells = (rows, side) => {
    const digits = footDecimals(rows, kind, measure);
    return rows.map((row, i) =>
      numberCell(`${kind}-${side}:${i}`, measure(row), digits, {
        kind: i ? "" : "tb-first",
        widest: widest[side],
      }),
    );
  };
  return el(
    "tr",
    null,
    el("th", { scope: "row" }, label),
    cells(bench.tfShown, "tf"),
    el("td", { class: "tb-first" }),
    el("td"),
    cells(bench.weights, "weight"),
  );
}

function headRows({ settings, nDocuments }) {
  const idf = FORMULAS.idf[settings.idf];
  const withBase = idf[0] === "log" ? [...logName(settings.base), ...idf.slice(1)] : idf;
  const group = (name, parts) =>
    el(
      "th",
      { scope: "colgroup", colspan: nDocuments, class: "tb-first" },
      name,
      el("small", null, ...rich(parts)),
    );
  const single = (name, parts, kind) =>
    el(
      "th",
      { scope: "col", rowspan: 2, class: kind },
      ...rich(name),
      el("small", null, ...rich(parts)),
    );
  const names = () =>
    Array.from({ length: nDocuments }, (_, i) =>
      el("th", { scope: "col", class: i ? "" : "tb-first" }, ...rich(documentName(i))),
    );
  return [
    el(
      "tr",
      null,
      el("th", { scope: "col", rowspan: 2 }, settings.n === 1 ? "Word" : "Pair"),
      group("TF", FORMULAS.tf[settings.tf]),
      single(N_J, ["documents"], "tb-first"),
      single(["IDF"], withBase, ""),
      group("TF-IDF", ["TF × IDF"]),
    ),
    el("tr", null, names(), names()),
  ];
}

export function drawTable(table, bench) {
  const widest = { tf: widestOf(bench.tfShown), weight: widestOf(bench.weights) };
  table.replaceChildren(
    el("thead", null, headRows(bench)),
    el("tbody", null, bodyRows(bench, widest)),
    el(
      "tfoot",
      null,
      footRow(bench, widest, "Sum", "sum", sum),
      footRow(bench, widest, "Norm", "norm", norm),
    ),
  );
}

/** The cell to explain first: the one with the largest weight. */
export function heaviest({ weights }) {
  const cells = weights.flatMap((row, i) =>
    row.slice(0, ROWS_SHOWN).map((value, j) => [Math.abs(value), i, j]),
  );
  const [, i, j] = cells.reduce((best, cell) => (cell[0] > best[0] ? cell : best));
  return `weight:${i}:${j}`;
}
