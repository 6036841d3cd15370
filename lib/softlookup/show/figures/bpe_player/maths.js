// Byte-pair encoding in the browser: the arithmetic of softlookup.tokenization.
// Ids 0 to 255 are bytes; merge number m makes id 256 + m. A chunk is a list of ids.

const BASE = 256;

// GPT-4's split pattern. JavaScript has no possessive quantifiers, which change nothing here, and
// its \s is not Unicode's white space; (?i:s) also holds the long s, ſ.
const PATTERN = new RegExp(
  [
    "'(?:[sSſdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])",
    "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+",
    "\\p{N}{1,3}",
    " ?[^\\p{White_Space}\\p{L}\\p{N}]+[\\r\\n]*",
    "\\p{White_Space}+(?![\\s\\S])",
    "\\p{White_Space}*[\\r\\n]+",
    "\\p{White_Space}+(?!\\P{White_Space})",
    "\\p{White_Space}+",
  ].join("|"),
  "gu",
);

/** The chunks of a text; no merge will cross from one into the next. */
export const splitChunks = (text) => text.match(PATTERN) ?? [];

/** The chunks as lists of byte values. */
const bytesOf = (text) =>
  splitChunks(text).map((chunk) => Array.from(new TextEncoder().encode(chunk)));

const keyOf = (left, right) => left * 65536 + right;

/** How often each pair of neighbours can be joined, in the order of first occurrence.
 *  Two joins cannot share an id: of three equal ids in a row, one pair counts. */
export function countPairs(chunks) {
  const counts = new Map();
  for (const ids of chunks) {
    let used = -1; // the place of the right half of a pair of equal ids that was counted
    for (let i = 0; i + 1 < ids.length; i += 1) {
      if (ids[i] === ids[i + 1]) {
        if (i === used) continue;
        used = i + 1;
      }
      const key = keyOf(ids[i], ids[i + 1]);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return counts;
}

/** The pairs from the most frequent down; of equals, the one that stands first in the text. */
export const ranked = (counts) =>
  [...counts]
    .sort(([, n], [, m]) => m - n)
    .map(([key, count]) => ({ pair: [Math.floor(key / 65536), key % 65536], count }));

/** Replace each occurrence of a pair by one id, from left to right. */
function mergePair(ids, [left, right], id) {
  const merged = [];
  for (let i = 0; i < ids.length; i += 1) {
    const hit = ids[i] === left && i + 1 < ids.length && ids[i + 1] === right;
    merged.push(hit ? id : ids[i]);
    if (hit) i += 1;
  }
  return merged;
}

const sizeOf = (chunks) => chunks.reduce((total, ids) => total + ids.length, 0);

/** Learn merges until no pair comes twice; lengths[k] is the number of tokens after k merges. */
export function learn(text, mostMerges) {
  let chunks = bytesOf(text);
  const steps = [];
  const lengths = [sizeOf(chunks)];
  while (steps.length < mostMerges) {
    const [best] = ranked(countPairs(chunks));
    if (!best || best.count < 2) break;
    const id = BASE + steps.length;
    chunks = chunks.map((ids) => mergePair(ids, best.pair, id));
    steps.push(best);
    lengths.push(sizeOf(chunks));
  }
  return {
    merges: steps.map(({ pair }) => pair),
    counts: steps.map(({ count }) => count),
    lengths,
  };
}

/** Number of tokens of a text after 0, 1, 2 ... of some merges, one merge after the other. */
export function replay(text, merges) {
  let chunks = bytesOf(text);
  const lengths = [sizeOf(chunks)];
  merges.forEach((pair, m) => {
    chunks = chunks.map((ids) => mergePair(ids, pair, BASE + m));
    lengths.push(sizeOf(chunks));
  });
  return lengths;
}

/** A text in ids, by the first k of some merges: in each chunk, always the earliest merge first. */
export function encode(text, merges, k = merges.length) {
  const ranks = new Map(merges.slice(0, k).map(([left, right], m) => [keyOf(left, right), m]));
  return bytesOf(text).map((chunk) => {
    let ids = chunk;
    for (;;) {
      let best = Infinity;
      for (let i = 0; i + 1 < ids.length; i += 1) {
        best = Math.min(best, ranks.get(keyOf(ids[i], ids[i + 1])) ?? Infinity);
      }
      if (best === Infinity) return ids;
      ids = mergePair(ids, merges[best], BASE + best);
    }
  });
}

/** The bytes of every id: 256 single ones, then each merge's left bytes and right bytes. */
export function tokenBytes(merges) {
  const table = Array.from({ length: BASE }, (_, byte) => [byte]);
  for (const [left, right] of merges) table.push([...table[left], ...table[right]]);
  return table;
}

/** Bytes as pieces to show: {text} where they are whole characters, {byte} where they are not. */
export function pieces(bytes) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const found = [];
  for (let i = 0; i < bytes.length;) {
    const size = bytes[i] < 0x80 ? 1 : bytes[i] < 0xe0 ? 2 : bytes[i] < 0xf0 ? 3 : 4;
    try {
      found.push({ text: decoder.decode(new Uint8Array(bytes.slice(i, i + size))) });
      i += size;
    } catch {
      found.push({ byte: bytes[i] });
      i += 1;
    }
  }
  return found;
}
