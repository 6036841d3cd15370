// What the page itself computes: probabilities, what they become, and how tokens are written.

import { sum } from "../../kit/maths.js";

/** The ids by falling probability, the first of equals first. */
export const ranked = (weights) =>
  Array.from(weights, (_, id) => id).sort((a, b) => weights[b] - weights[a] || a - b);

export const mean = (values) => (values.length === 0 ? NaN : sum(values) / values.length);

/** The entropy in bits. */
export const bits = (weights) => sum(weights.map((p) => (p > 0 ? -p * Math.log2(p) : 0)));

/** A token as a reader can see it: its spaces and line breaks, or its bytes. */
export function seen(words) {
  if (words.includes("\uFFFD")) return "part of a letter";
  return words.replaceAll(" ", "␣").replaceAll("\n", "↵");
}

/** The letters of a text that are none of some others, each once. */
export function unknownLetters(text, known) {
  if (known === null) return [];
  const others = new Set(known);
  return [...new Set(text)].filter((letter) => !others.has(letter));
}

/** Whether a token goes on with a word: it begins with a letter. */
export const continues = (words) => /^\p{Letter}/u.test(words);

/** The mean of what each token costs more, of those that go on with a word and of the others. */
export function byKind(more, words) {
  const kinds = words.map(continues);
  const of = (kind) => mean(more.filter((_, i) => kinds[i] === kind));
  return { inside: of(true), others: of(false) };
}
