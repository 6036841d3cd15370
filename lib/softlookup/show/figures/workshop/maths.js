// What the page itself computes: probabilities, what they become, and how tokens are written.

import { sum } from "../../kit/maths.js";

export const mean = (values) => (values.length === 0 ? NaN : sum(values) / values.length);

/** A token as a reader can see it: its spaces and line breaks, or its bytes. */
export function seen(words) {
  if (words.includes("\uFFFD")) return "part of a letter";
  return words.replaceAll(" ", "␣").replaceAll("\n", "↵");
}

/** What stands in the text for token i: a letter of several tokens stands at the last of them. */
export function written(ids, i, decode) {
  const own = decode([ids[i]]);
  if (!own.includes("\uFFFD")) return own;
  for (let first = i - 1; first >= Math.max(0, i - 3); first -= 1) {
    const letter = decode(ids.slice(first, i + 1));
    if (!letter.includes("\uFFFD") && [...letter].length === 1) return letter;
  }
  const after = [1, 2, 3].map((n) => decode(ids.slice(i, i + n + 1)));
  return after.some((words) => !words.startsWith("\uFFFD")) ? "" : own;
}

/** The letters of a text that are none of some others, each once. */
export function unknownLetters(text, known) {
  if (known === null) return [];
  const others = new Set(known);
  return [...new Set(text)].filter((letter) => !others.has(letter));
}

/** Whether a token goes on with a word: it begins with a letter, and stands behind one. */
const continues = (words, before) => /\p{Letter}$/u.test(before) && /^\p{Letter}/u.test(words);

/** The mean of what each token but the first costs more, of those that go on with a word and of
 *  the others. `words` are all tokens. */
export function byKind(more, words) {
  const kinds = more.map((_, i) => continues(words[i + 1], words[i]));
  const of = (kind) => mean(more.filter((_, i) => kinds[i] === kind));
  return { inside: of(true), others: of(false) };
}
