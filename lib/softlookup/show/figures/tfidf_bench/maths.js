// TF-IDF in the browser: the arithmetic of softlookup.words.text and softlookup.words.counting.
// A matrix is a list of rows, one row per document, one column per word.

import { dot, sum } from "../../kit/maths.js";

const WORD = /[\p{L}\p{M}\p{N}_]+(?:['’][\p{L}\p{M}\p{N}_]+)*/gu;
const LOGARITHMS = { 10: Math.log10, 2: Math.log2, e: Math.log };

/** The words of a text, in order. */
export function wordTokens(text, lowercase) {
  const words = text.match(WORD) ?? [];
  return lowercase ? words.map((word) => word.toLowerCase()) : words;
}

/** Every run of n tokens, joined by a space: max(T − n + 1, 0) of them. */
export function ngrams(tokens, n) {
  return tokens.slice(n - 1).map((_, start) => tokens.slice(start, start + n).join(" "));
}

/** The distinct words of all documents, in the order in which they first appear. */
function vocabularyOf(documents) {
  return [...new Set(documents.flat())];
}

/** How often each word occurs in each document. */
function countMatrix(documents, vocabulary) {
  const column = new Map(vocabulary.map((word, j) => [word, j]));
  return documents.map((document) => {
    const counts = new Array(vocabulary.length).fill(0);
    for (const word of document) counts[column.get(word)] += 1;
    return counts;
  });
}

/** The counts, rescaled: "count", "relative", "unique", "binary" or "log". */
export function termFrequency(counts, variant) {
  return counts.map((row) => {
    const length = variant === "unique" ? row.filter((n) => n > 0).length : sum(row);
    const rescale = {
      count: (n) => n,
      relative: (n) => (length ? n / length : 0),
      unique: (n) => (length ? n / length : 0),
      binary: (n) => (n > 0 ? 1 : 0),
      log: Math.log1p,
    }[variant];
    return row.map((n) => rescale(n));
  });
}

/** N_j: in how many documents each word occurs. */
export function documentFrequency(counts) {
  return counts[0].map((_, j) => counts.filter((row) => row[j] > 0).length);
}

/** How rare each word is; base is "10", "e" or "2" and matters to the logarithms only. */
export function inverseDocumentFrequency(frequency, nDocuments, variant, base) {
  const log = LOGARITHMS[base];
  const rarity = {
    inverse: (df) => 1 / df,
    ratio: (df) => nDocuments / df,
    log: (df) => log(nDocuments / df),
    log_plus_one: (df) => log(nDocuments / (df + 1)),
    smooth: (df) => log((1 + nDocuments) / (1 + df)) + 1,
  }[variant];
  return frequency.map((df) => rarity(df));
}

/** Term frequency times inverse document frequency; a zero is +0, never −0. */
export function tfIdf(tf, idf) {
  return tf.map((row) => row.map((value, j) => value * idf[j] + 0));
}

/** The cosine of two vectors; null where one of them is zero and the cosine is 0/0. */
export function cosine(x, y) {
  const lengths = norm(x) * norm(y);
  return lengths > 0 ? dot(x, y) / lengths : null;
}

export function norm(values) {
  return Math.sqrt(dot(values, values));
}

/** All that the table shows, from the texts and the settings; tfShown has shares in percent. */
export function analyse(texts, { lowercase, n, tf, idf, base }) {
  const documents = texts.map((text) => ngrams(wordTokens(text, lowercase), n));
  const vocabulary = vocabularyOf(documents);
  const counts = countMatrix(documents, vocabulary);
  const frequency = documentFrequency(counts);
  const rarity = inverseDocumentFrequency(frequency, texts.length, idf, base);
  const terms = termFrequency(counts, tf);
  const weights = tfIdf(terms, rarity);
  return {
    vocabulary,
    counts,
    tf: terms,
    df: frequency,
    idf: rarity,
    weights,
    tfShown: tf === "relative" ? terms.map((row) => row.map((share) => 100 * share)) : terms,
    settings: { lowercase, n, tf, idf, base },
    nDocuments: texts.length,
  };
}

/** Digits after the point that show these values: exactly if three do, else four that count. */
export function decimalsOf(values) {
  for (let digits = 0; digits <= 3; digits += 1) {
    if (values.every((value) => isExact(value, digits))) return digits;
  }
  const sizes = values.filter((value) => value !== 0).map(Math.abs);
  const smallest = sizes.reduce((least, size) => Math.min(least, size));
  return Math.min(Math.max(3 - Math.floor(Math.log10(smallest)), 4), 12);
}

/** Does the value lose nothing when it is printed with so many digits after the point? */
export function isExact(value, digits) {
  return Math.abs(Number(value.toFixed(digits)) - value) <= 1e-12 * Math.abs(value);
}
