// What the TF-IDF bench says: how each number came about, and what to beware of.
// A text is a list of parts: strings, and {sub: "10"} for what stands below the line.

import {decimalsOf, isExact, norm, sum} from "./tfidf_bench_maths.js";

const TERMS_SHOWN = 8;

/** A number with so many digits after the point and a true minus sign; zero is "0". */
export function fixed(value, digits) {
  if (value === 0) return "0";
  return value.toFixed(digits).replace("-", "−");
}

/** A number by itself: exact if three digits after the point do, else four that count. */
export function plain(value) {
  return fixed(value, decimalsOf([value]));
}

/** "= 0.25" where the print is exact, "≈ 0.3010" where it is rounded. */
function result(value, digits = decimalsOf([value])) {
  return `${isExact(value, digits) ? "=" : "≈"} ${fixed(value, digits)}`;
}

/** The name of document i: x with its number, from 1. */
export function documentName(i) {
  return ["x", {sub: String(i + 1)}];
}

/** The logarithm as the reader chose it: ln, or log with its base. */
export function logName(base) {
  return base === "e" ? ["ln"] : ["log", {sub: base}];
}

/** "x1", "x1 and x2", "x1, x2 and x3". */
function list(items) {
  const joint = (k) => (k === 0 ? [] : [k === items.length - 1 ? " and " : ", "]);
  return items.flatMap((item, k) => [...joint(k), ...item]);
}

function documentsWhere(bench, condition) {
  return bench.counts.map((_, i) => i).filter(condition).map(documentName);
}

/** The formula of the term frequency with the numbers of word j in document i. */
function tfExpression({settings, counts}, i, j) {
  const row = counts[i];
  const count = row[j];
  return {
    count: [String(count)],
    binary: [count > 0 ? "1" : "0"],
    relative: [`${count}/${sum(row)}`],
    unique: [`${count}/${row.filter((n) => n > 0).length}`],
    log: [`ln(1 + ${count})`],
  }[settings.tf];
}

/** The formula of the inverse document frequency with the numbers of word j. */
function idfExpression({settings, df, nDocuments: N}, j) {
  const log = logName(settings.base);
  return {
    inverse: [`1/${df[j]}`],
    ratio: [`${N}/${df[j]}`],
    log: [...log, `(${N}/${df[j]})`],
    log_plus_one: [...log, `(${N}/(${df[j]} + 1))`],
    smooth: [...log, `((1 + ${N})/(1 + ${df[j]})) + 1`],
  }[settings.idf];
}

function explainTf(bench, i, j) {
  const {tf, counts, settings} = bench;
  const said = [`“${bench.vocabulary[j]}” in `, ...documentName(i), ": "];
  const times = counts[i][j] === 1 ? "once" : `${counts[i][j]} times`;
  const empty = sum(counts[i]) === 0;
  if (counts[i][j] === 0) return [...said, empty ? "the document is empty, 0" : "not there, 0"];
  if (settings.tf === "count") return [...said, times];
  if (settings.tf === "binary") return [...said, "it is there, 1"];
  const percent = settings.tf === "relative" ? ` = ${percentOf(tf[i][j])} %` : "";
  const value = percent || ` ${result(tf[i][j])}`;
  return [...said, ...tfExpression(bench, i, j), value.replace("=", exactSign(tf[i][j], percent))];
}

function percentOf(share) {
  return plain(100 * share);
}

function exactSign(share, percent) {
  return percent && !isExact(100 * share, decimalsOf([100 * share])) ? "≈" : "=";
}

function explainDf(bench, j) {
  const holders = documentsWhere(bench, (i) => bench.counts[i][j] > 0);
  return [`“${bench.vocabulary[j]}” is in `, ...list(holders), ": N", {sub: "j"},
    ` = ${bench.df[j]} of N = ${bench.nDocuments}`];
}

function explainIdf(bench, j) {
  const value = bench.idf[j];
  const flag = value < 0 ? ", negative" : "";
  return [`IDF of “${bench.vocabulary[j]}”: `, ...idfExpression(bench, j), ` ${result(value)}${flag}`];
}

function explainWeight(bench, i, j) {
  const [tf, idf, weight] = [bench.tf[i][j], bench.idf[j], bench.weights[i][j]];
  const formula = idfExpression(bench, j);
  const second = bench.settings.idf === "smooth" ? ["(", ...formula, ")"] : formula;
  const factors = `${plain(tf)} × ${plain(idf)}`;
  const rounded = !isExact(tf, decimalsOf([tf])) || !isExact(idf, decimalsOf([idf]));
  return [`“${bench.vocabulary[j]}” in `, ...documentName(i), ": ",
    ...tfExpression(bench, i, j), " × ", ...second,
    ` ${rounded ? "≈" : "="} ${factors} ${result(weight)}`];
}

/** The sum of a column, or its length as a vector, with the numbers that went in. */
function explainColumn(values, what, heading) {
  const used = values.filter((value) => value !== 0);
  const square = what === "length" ? "²" : "";
  const bracket = (value) => (value < 0 ? `(${plain(value)})` : plain(value));
  const shown = used.slice(0, TERMS_SHOWN).map((value) => bracket(value) + square);
  if (used.length > TERMS_SHOWN) shown.push("…");
  const terms = shown.join(" + ") || "0";
  const total = what === "length" ? norm(values) : sum(values);
  const formula = what === "length" ? `√(${terms})` : terms;
  return [...heading, ": ", formula, used.length > 1 || square ? ` ${result(total)}` : ""];
}

/** How the number in a cell came about; the key is the cell's, "weight:1:5" for x2, word 5. */
export function explain(bench, key) {
  const [kind, first, second] = key.split(":");
  const [i, j] = [Number(first), Number(second)];
  if (kind === "tf") return explainTf(bench, i, j);
  if (kind === "df") return explainDf(bench, i);
  if (kind === "idf") return explainIdf(bench, i);
  if (kind === "weight") return explainWeight(bench, i, j);
  const [what, side] = kind.split("-");
  const values = side === "tf" ? bench.tf[i] : bench.weights[i];
  const name = side === "tf" ? "TF" : "TF-IDF";
  return explainColumn(values, what, [`${what === "sum" ? "Sum" : "Length"} of ${name} of `,
    ...documentName(i)]);
}
