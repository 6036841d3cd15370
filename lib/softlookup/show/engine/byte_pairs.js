// Byte-pair encoding as a tokenizer: the ids are those of softlookup.tokenization.

import { require } from "./require.js";

const BYTES = 256;
const FORMAT = "softlookup byte-pair tokenizer";
const SHORT_FORMS = "(?:[sSſdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])";

/** The library's split pattern in JavaScript's words, whose \s is not Unicode's white space, and
 *  which cannot ignore case in a part; ignoring case, s is also the long s, ſ. */
export function splitPattern(pattern) {
  const words = pattern
    .replaceAll("(?i:[sdmt]|ll|ve|re)", SHORT_FORMS)
    .replaceAll("[\\s\\S]", "[^]")
    .replaceAll("\\s", "\\p{White_Space}")
    .replaceAll("\\S", "\\P{White_Space}");
  require(!words.includes("(?i"), "the pattern must be one of the library's", { pattern });
  return new RegExp(words, "gu");
}

export class BytePairTokenizer {
  /** Ids 0 to 255 are bytes, the next ones the merges in their order, the last ones special. */
  constructor({ merges, pattern, special_tokens: specialTokens = [] }) {
    this.pattern = splitPattern(pattern);
    this.tokenBytes = Array.from({ length: BYTES }, (_, byte) => [byte]);
    this.newIds = new Map();
    merges.forEach(([left, right], k) => {
      const known = [left, right].every((id) => Number.isInteger(id) && id >= 0 && id < BYTES + k);
      const rule = `merge ${k} must be a pair of ids from 0 to ${BYTES + k - 1}`;
      require(known, rule, { merge: [left, right] });
      this.newIds.set(keyOf(left, right), BYTES + k);
      this.tokenBytes.push([...this.tokenBytes[left], ...this.tokenBytes[right]]);
    });
    const first = this.tokenBytes.length;
    this.specialTokens = new Map(specialTokens.map((name, i) => [name, first + i]));
    for (const name of specialTokens) this.tokenBytes.push([...new TextEncoder().encode(name)]);
  }

  /** The tokenizer of a file that the library's `save` wrote, as an object. */
  static from(saved) {
    const known = saved.format === FORMAT && saved.version === 1;
    const rule = "the file must be a tokenizer of the library";
    require(known, rule, { format: saved.format, version: saved.version });
    return new BytePairTokenizer(saved);
  }

  get size() {
    return this.tokenBytes.length;
  }

  /** The ids of a text. `allowedSpecial` names the special tokens that are read as such, or is
   *  "all"; any other is ordinary text. */
  encode(text, { allowedSpecial = [] } = {}) {
    const lone = text.search(/\p{Surrogate}/u);
    require(lone < 0, "text must hold no lone surrogate", { position: lone });
    const names = allowedSpecial === "all" ? [...this.specialTokens.keys()] : [...allowedSpecial];
    const unknown = names.filter((name) => !this.specialTokens.has(name));
    const rule = "allowed_special must name special tokens of this tokenizer";
    require(unknown.length === 0, rule, { unknown });
    if (names.length === 0) return this.encodeOrdinary(text);
    const longestFirst = names
      .sort((a, b) => b.length - a.length)
      .map(quoted)
      .join("|");
    // text, token, text, ..., text
    const parts = text.split(new RegExp(`(${longestFirst})`, "u"));
    return parts.flatMap((part, i) =>
      i % 2 === 1 ? [this.specialTokens.get(part)] : this.encodeOrdinary(part),
    );
  }

  encodeOrdinary(text) {
    const chunks = text.match(this.pattern) ?? [];
    const whole = chunks.reduce((n, chunk) => n + chunk.length, 0) === text.length;
    require(whole, "pattern must match every part of the text", { text });
    return chunks.flatMap((chunk) =>
      applyMerges([...new TextEncoder().encode(chunk)], this.newIds),
    );
  }

  /** The bytes of some ids as text; bytes that are no UTF-8 become U+FFFD. */
  decode(ids) {
    for (const id of ids) {
      const known = Number.isInteger(id) && id >= 0 && id < this.size;
      require(known, `an id must be an integer from 0 to ${this.size - 1}`, { id });
    }
    const bytes = Uint8Array.from(Array.from(ids).flatMap((id) => this.tokenBytes[id]));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  }
}

/** The ids of one chunk: of all pairs that can be joined, the one learned first, from the left. */
function applyMerges(ids, newIds) {
  const made = (i) => newIds.get(keyOf(ids[i], ids[i + 1])) ?? Infinity;
  for (;;) {
    let best = Infinity;
    for (let i = 0; i + 1 < ids.length; i += 1) best = Math.min(best, made(i));
    if (best === Infinity) return ids;
    const joined = [];
    for (let i = 0; i < ids.length; i += 1) {
      const joins = i + 1 < ids.length && made(i) === best;
      joined.push(joins ? best : ids[i]);
      if (joins) i += 1;
    }
    ids = joined;
  }
}

const keyOf = (left, right) => left * 2 ** 24 + right;
const quoted = (name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
