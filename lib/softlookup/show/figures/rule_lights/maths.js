// The three rules in the browser: softlookup.words.rules, and the lecture's own version of them.
// The patterns come from Python as they are; here they are rewritten so that they mean the same.

const CLASSES = {
  w: "\\p{L}\\p{N}_",
  d: "\\p{Nd}",
  s: "\\t-\\r\\x1c-\\x1f \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000",
};
const WORD = `[${CLASSES.w}]`;
const EDGE = `(?:(?<=${WORD})(?!${WORD})|(?<!${WORD})(?=${WORD}))`;
// What Python's IGNORECASE takes for these letters, beside their capitals.
const MORE_CASES = { i: "İı", s: "ſ", k: "\u212a" };

export const RULES = ["medicine", "capitals", "money"];

/** A pattern of Python's re, with what \w, \d, \s and \b and "ignore case" mean there. */
export function translated(pattern, ignoreCase) {
  let inside = false;
  return pattern.replace(/\\(.)|[[\]]|[a-z]/gsu, (token, escaped) => {
    if (token === "[" || token === "]") inside = token === "[";
    if (escaped === "b") return EDGE;
    if (escaped in CLASSES) return inside ? CLASSES[escaped] : `[${CLASSES[escaped]}]`;
    if (escaped || !/[a-z]/.test(token) || !ignoreCase) return token;
    return `[${token}${token.toUpperCase()}${MORE_CASES[token] ?? ""}]`;
  });
}

/** All places where a pattern matches; with "match" only one that starts the text. */
function places(pattern, text, { ignoreCase = false, call = "search" } = {}) {
  const source = translated(pattern, ignoreCase);
  const regex = new RegExp(call === "match" ? `^(?:${source})` : source, "gu");
  return [...text.matchAll(regex)].map((found) => [found.index, found.index + found[0].length]);
}

/** How many letters a text has, and how many of them are capitals. */
export function letterCounts(text) {
  const count = (pattern) => (text.match(pattern) ?? []).length;
  return { letters: count(/\p{L}/gu), capitals: count(/\p{Lu}/gu) };
}

function shouted(text) {
  const { letters, capitals } = letterCounts(text);
  if (letters === 0 || capitals / letters <= 0.5) return [];
  return [...text.matchAll(/\p{Lu}+/gu)].map((run) => [run.index, run.index + run[0].length]);
}

function occurrences(word, text) {
  const starts = [];
  for (let i = text.indexOf(word); i >= 0; i = text.indexOf(word, i + word.length)) starts.push(i);
  return starts.map((start) => [start, start + word.length]);
}

const rule = (spans) => ({ fires: spans.length > 0, spans });

const VERSIONS = {
  repaired: (text, { repaired }, call) => ({
    medicine: rule(places(repaired.medicine, text, { ignoreCase: true })),
    capitals: rule(shouted(text)),
    money: rule(places(repaired.money, text, { ignoreCase: true, call })),
  }),
  printed: (text, { printed }, call) => ({
    medicine: rule(
      printed.medicines.flatMap((name) => occurrences(name, text)).sort(([a], [b]) => a - b),
    ),
    capitals: { fires: text.toUpperCase() === text, spans: [] },
    money: rule(places(printed.money, text, { call })),
  }),
};

/** What each rule finds; version is "repaired" or "printed", call is "search" or "match". */
export function ruleSpans(text, patterns, { version, call }) {
  return VERSIONS[version](text, patterns, call);
}

export function isSpam(found) {
  return RULES.some((name) => found[name].fires);
}

/** How well a version of the filter does on messages, pairs of a text and whether it is spam. */
export function scores(messages, patterns, settings) {
  const called = messages.map(([text]) => isSpam(ruleSpans(text, patterns, settings)));
  const count = (verdict, label) =>
    messages.filter(([, spam], i) => called[i] === verdict && spam === label).length;
  const [tp, fp, fn] = [count(true, true), count(true, false), count(false, true)];
  const share = (part, whole) => (whole > 0 ? part / whole : 0);
  return {
    tp,
    fp,
    fn,
    precision: share(tp, tp + fp),
    recall: share(tp, tp + fn),
    f1: share(2 * tp, 2 * tp + fp + fn),
  };
}

/** The text in pieces, each with the names of the rules that found it. */
export function pieces(text, found) {
  const spans = RULES.flatMap((name) => found[name].spans.map((span) => [name, ...span]));
  const edges = [
    ...new Set([0, text.length, ...spans.flatMap(([, start, end]) => [start, end])]),
  ].sort((a, b) => a - b);
  return edges.slice(1).map((end, k) => ({
    text: text.slice(edges[k], end),
    rules: RULES.filter((name) =>
      spans.some(([rule, start, stop]) => rule === name && start <= edges[k] && end <= stop),
    ),
  }));
}
