// What the TF-IDF bench says: how each number came about, and what to beware of.
// A text is a list of parts: strings, and {sub: "10"} for what stands below the line.

import { sum } from "../../kit/maths.js";
import { cosine, decimalsOf, isExact, norm } from "./maths.js";

const TERMS_SHOWN = 8;

export const N_J = ["N", { sub: "j" }];

/** The choices of each switch, as the reader sees them, in the order in which they stand. */
export const FORMULAS = {
  n: { 1: ["words"], 2: ["pairs"] },
  tf: {
    count: ["count"],
    relative: ["percent"],
    unique: ["per distinct word"],
    binary: ["0 or 1"],
    log: ["ln(1 + count)"],
  },
  idf: {
    inverse: ["1/", ...N_J],
    ratio: ["N/", ...N_J],
    log: ["log", "(N/", ...N_J, ")"],
    log_plus_one: ["log", "(N/(", ...N_J, " + 1))"],
    smooth: ["log", "((1 + N)/(1 + ", ...N_J, ")) + 1"],
  },
  base: { 2: ["2"], 10: ["10"], e: ["e"] },
};

/** A number with so many digits after the point and a true minus sign; zero is "0". */
export function fixed(value, digits) {
  if (value === 0) return "0";
  return value.toFixed(digits).replace("-", "−");
}

/** A number by itself: exact if three digits after the point do, else four that count. */
function plain(value) {
  return fixed(value, decimalsOf([value]));
}

/** "= 0.25" where the print is exact, "≈ 0.3010" where it is rounded. */
function result(value, digits = decimalsOf([value])) {
  return `${isExact(value, digits) ? "=" : "≈"} ${fixed(value, digits)}`;
}

/** The name of document i: x with its number, from 1. */
export function documentName(i) {
  return ["x", { sub: String(i + 1) }];
}

/** The logarithm as the reader chose it: ln, or log with its base. */
export function logName(base) {
  return base === "e" ? ["ln"] : ["log", { sub: base }];
}

/** "x1", "x1 and x2", "x1, x2 and x3". */
function list(items) {
  const joint = (k) => (k === 0 ? [] : [k === items.length - 1 ? " and " : ", "]);
  return items.flatMap((item, k) => [...joint(k), ...item]);
}

function documentsWhere(bench, condition) {
  return bench.counts
    .map((_, i) => i)
    .filter(condition)
    .map(documentName);
}

/** The formula of the term frequency with the numbers of word j in document i. */
function tfExpression({ settings, counts }, i, j) {
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
function idfExpression({ settings, df, nDocuments: N }, j) {
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
  const { counts, settings, tfShown } = bench;
  const said = [`“${bench.vocabulary[j]}” in `, ...documentName(i), ": "];
  const count = counts[i][j];
  if (sum(counts[i]) === 0) return [...said, "nothing to count, 0"];
  if (count === 0) return [...said, "not there, 0"];
  if (settings.tf === "count") return [...said, count === 1 ? "once" : `${count} times`];
  if (settings.tf === "binary") return [...said, "it is there, 1"];
  const percent = settings.tf === "relative" ? " %" : "";
  return [...said, ...tfExpression(bench, i, j), ` ${result(tfShown[i][j])}${percent}`];
}

function explainDf(bench, j) {
  const holders = documentsWhere(bench, (i) => bench.counts[i][j] > 0);
  return [
    `“${bench.vocabulary[j]}” is in `,
    ...list(holders),
    ": N",
    { sub: "j" },
    ` = ${bench.df[j]} of N = ${bench.nDocuments}`,
  ];
}

function explainIdf(bench, j) {
  const value = bench.idf[j];
  const flag = value < 0 ? ", negative" : "";
  return [
    `IDF of “${bench.vocabulary[j]}”: `,
    ...idfExpression(bench, j),
    ` ${result(value)}${flag}`,
  ];
}

function explainWeight(bench, i, j) {
  const [tf, idf, weight] = [bench.tf[i][j], bench.idf[j], bench.weights[i][j]];
  const formula = idfExpression(bench, j);
  const second = bench.settings.idf === "smooth" ? ["(", ...formula, ")"] : formula;
  const exact = [tf, idf].every((value) => isExact(value, decimalsOf([value])));
  return [
    `“${bench.vocabulary[j]}” in `,
    ...documentName(i),
    ": ",
    ...tfExpression(bench, i, j),
    " × ",
    ...second,
    ` ${exact ? "=" : "≈"} ${plain(tf)} × ${bracketed(idf)} ${result(weight)}`,
  ];
}

/** The sum or the norm of a column, with the numbers that went in. */
function explainColumn(kind, values, heading) {
  const square = kind === "norm" ? "²" : "";
  const used = values.filter((value) => value !== 0);
  const shown = used.slice(0, TERMS_SHOWN).map((value) => bracketed(value) + square);
  const terms = [...shown, ...(used.length > TERMS_SHOWN ? ["…"] : [])].join(" + ") || "0";
  const total = kind === "norm" ? norm(values) : sum(values);
  return [...heading, kind === "norm" ? `√(${terms}) ` : `${terms} `, result(total)];
}

function bracketed(value) {
  return value < 0 ? `(${plain(value)})` : plain(value);
}

/** How the number in a cell came about. The key names the cell: "weight:1:5" is x2, word 5. */
export function explain(bench, key) {
  const [kind, ...numbers] = key.split(":");
  const [i, j] = numbers.map(Number);
  if (kind === "tf") return explainTf(bench, i, j);
  if (kind === "df") return explainDf(bench, i);
  if (kind === "idf") return explainIdf(bench, i);
  if (kind === "weight") return explainWeight(bench, i, j);
  const [what, side] = kind.split("-");
  const name = `${what === "norm" ? "Norm" : "Sum"} of ${side === "tf" ? "TF" : "TF-IDF"} in `;
  const values = side === "tf" ? bench.tfShown[i] : bench.weights[i];
  return explainColumn(what, values, [name, ...documentName(i), ": "]);
}

/** The cosines of all pairs of documents, under TF alone and under TF-IDF; null is 0/0. */
export function cosines(bench) {
  const pairs = bench.tf.flatMap((_, i) => bench.tf.slice(i + 1).map((_, k) => [i, i + 1 + k]));
  return pairs.map(([i, j]) => ({
    i,
    j,
    tf: cosine(bench.tf[i], bench.tf[j]),
    weights: cosine(bench.weights[i], bench.weights[j]),
  }));
}

/** What the reader should beware of: parts, and whether it is a red flag. */
export function notes(bench) {
  if (bench.vocabulary.length === 0) return [{ parts: [nothingToCount(bench)] }];
  const found = [...negativeNotes(bench), ...documentNotes(bench), ...logarithmNotes(bench)];
  const calm = ["No IDF is negative, and no document has lost all its weight."];
  return found.length ? found : [{ parts: calm }];
}

function nothingToCount({ settings }) {
  return settings.n === 1
    ? "No words yet: type into a document."
    : "No pairs yet: a document needs two words to have one.";
}

function negativeNotes(bench) {
  const { idf, df, nDocuments: N, settings } = bench;
  const negative = idf.filter((value) => value < 0).length;
  if (settings.idf !== "log_plus_one" || negative === 0) return [];
  const j = idf.findIndex((value) => value < 0);
  const silent = df.filter((frequency) => frequency === N - 1).length;
  const flag = [
    `${negative} of ${idf.length} IDFs negative: `,
    ...idfExpression(bench, j),
    ` ${result(idf[j])} for what is in ${N === 2 ? "both" : `all ${N}`} documents.`,
  ];
  if (silent > 0) flag.push(` And ${silent} in all but one get exactly 0.`);
  return [{ flag: true, parts: flag }];
}

function documentNotes(bench) {
  const isEmpty = (i) => sum(bench.counts[i]) === 0;
  const isZero = (i) => !isEmpty(i) && bench.weights[i].every((value) => value === 0);
  const [empty, zero] = [documentsWhere(bench, isEmpty), documentsWhere(bench, isZero)];
  const unit = bench.settings.n === 1 ? "word" : "pair";
  const found = [];
  if (zero.length) {
    found.push({
      parts: [
        "Every TF-IDF weight of ",
        ...list(zero),
        ` is 0: each ${unit} there `,
        "has IDF 0. The cosine with a vector of zeros is 0/0, undefined.",
      ],
    });
  }
  if (empty.length) {
    found.push({
      parts: [
        ...list(empty),
        ` ${empty.length > 1 ? "have" : "has"} no ${unit}s, `,
        `only zeros, and the cosine is 0/0. N = ${bench.nDocuments} counts it all the same.`,
      ],
    });
  }
  return found;
}

function logarithmNotes({ counts, settings }) {
  const found = [];
  if (settings.tf === "log") {
    const cells = counts.flat();
    const [absent, once] = [0, 1].map((count) => cells.filter((n) => n === count).length);
    found.push({
      parts: [
        `Without the 1 +, ln(count) would be −∞ in ${absent} cells (count 0) `,
        `and 0 in ${once} (count 1).`,
      ],
    });
  }
  if (settings.idf === "smooth") {
    found.push({
      parts: [
        "scikit-learn takes this IDF with ln, then divides each document by its ",
        "norm. That changes no cosine.",
      ],
    });
  }
  return found;
}
