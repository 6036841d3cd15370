// Gaps and shifts, with the chance handed in: softlookup.language_models.objectives.

/** What happens to a token: two numbers from 0 to 1 decide whether it is chosen, and its fate. */
export function fate(u, v, { share, hidden, replaced }) {
  if (!(u < share)) return "free";
  if (v < hidden) return "hidden";
  return v < hidden + replaced ? "replaced" : "kept";
}

/** A text with gaps: for each word its fate and what the model reads; draws are triples. */
export function corrupted(words, draws, shares, vocabulary, mask) {
  return words.map((word, i) => {
    const [u, v, which] = draws[i];
    const kind = fate(u, v, shares);
    const other =
      vocabulary[Math.min(Math.floor(which * vocabulary.length), vocabulary.length - 1)];
    return { kind, reads: kind === "hidden" ? mask : kind === "replaced" ? other : word };
  });
}

/** Which share of all tokens each fate has in the long run. */
export function expectedShares({ share, hidden, replaced }) {
  return {
    free: 1 - share,
    hidden: share * hidden,
    replaced: share * replaced,
    kept: share * (1 - hidden - replaced),
  };
}

/** What each word should say: the word `shift` places on, or null past the end. */
export function targets(words, shift) {
  return words.map((_, i) => words[i + shift] ?? null);
}

/** Which words word i may read: all, or those up to itself. */
export function visible(i, n, causal) {
  return Array.from({ length: n }, (_, j) => !causal || j <= i);
}

/** How many of the answers stand in front of the word that must give them. */
export function leaks(n, shift, causal) {
  let seen = 0;
  for (let i = 0; i + shift < n; i += 1) seen += visible(i, n, causal)[i + shift];
  return seen;
}
