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

/** A number that lines up on its decimal point: where there is none, blanks of the same width. */
function aligned(value, digits) {
  const text = fixed(value, digits);
  return digits > 0 && !text.includes(".") ? `${text}\u2008${"\u2007".repeat(digits)}` : text;
}

function numberCell(key, value, digits, { bar, kind = "" } = {}) {
  const sign = value < 0 ? " tb-negative" : value === 0 ? " tb-zero" : "";
  const style = bar > 0 ? `--bar: ${bar.toFixed(3)}` : null;
  return el(
    "td",
    { "data-key": key, tabindex: "-1", style, class: kind + sign },
    aligned(value, digits),
  );
}

function idfCell(j, value, digits) {
  const cell = numberCell(`idf:${j}`, value, digits);
  if (value < 0) cell.prepend(el("span", { class: "sl-flag" }, flagIcon(), " negative "));
  return cell;
}

/** The rows of words: what each column's numbers are, and how many digits they need. */
function bodyRows(bench) {
  const { vocabulary, tfShown, df, idf, weights } = bench;
  const shown = vocabulary.slice(0, ROWS_SHOWN);
  const visible = (rows) => rows.flatMap((row) => row.slice(0, ROWS_SHOWN));
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
          bar: row[j] / mostTf,
          kind: i ? "tb-tf" : "tb-tf tb-first",
        }),
      ),
      numberCell(`df:${j}`, df[j], 0, { kind: "tb-first" }),
      idfCell(j, idf[j], digits.idf),
      weights.map((row, i) =>
        numberCell(`weight:${i}:${j}`, row[j], digits.weight, {
          bar: Math.abs(row[j]) / mostWeight,
          kind: i ? "tb-weight" : "tb-weight tb-first",
        }),
      ),
    ),
  );
}

function footRow(bench, label, kind, measure) {
  const cells = (rows, side) => {
    const values = rows.map(measure);
    const digits = Math.min(decimalsOf(values), kind === "sum" ? 4 : Infinity);
    return values.map((value, i) =>
      numberCell(`${kind}-${side}:${i}`, value, digits, { kind: i ? "" : "tb-first" }),
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
  table.replaceChildren(
    el("thead", null, headRows(bench)),
    el("tbody", null, bodyRows(bench)),
    el("tfoot", null, footRow(bench, "Sum", "sum", sum), footRow(bench, "Norm", "norm", norm)),
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
