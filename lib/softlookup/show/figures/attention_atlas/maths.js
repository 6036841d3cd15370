// What the attention atlas computes from maps of weights; rows are queries, columns keys.

/** Whole numbers back to weights, each row scaled to sum to 1. */
export function weightsOf(map, unit) {
  return map.map((row) => {
    const sum = row.reduce((a, b) => a + b, 0) || unit;
    return row.map((value) => value / sum);
  });
}

/** The mean of several maps. */
function meanMap(maps) {
  return maps[0].map((row, i) =>
    row.map((_, j) => maps.reduce((sum, map) => sum + map[i][j], 0) / maps.length),
  );
}

/** The rollout of some layers, each a list of maps: half of each row stays where it is. */
export function rollout(layers, residual = 0.5) {
  const steps = layers.map((maps) =>
    meanMap(maps).map((row, i) =>
      row.map((weight, j) => (1 - residual) * weight + (i === j ? residual : 0)),
    ),
  );
  return steps.slice(1).reduce((reached, step) => product(step, reached), steps[0]);
}

function product(a, b) {
  return a.map((row) =>
    b[0].map((_, j) => row.reduce((sum, value, k) => sum + value * b[k][j], 0)),
  );
}

/** Which keys each query may read. */
function readable(n, causal) {
  return Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => !causal || j <= i),
  );
}

/** A head that reads evenly what it may read. */
export function evenMap(n, causal) {
  return readable(n, causal).map((row) => {
    const count = row.filter(Boolean).length;
    return row.map((may) => (may ? 1 / count : 0));
  });
}

/** The patterns that the atlas knows: where each wants a query to look. */
export const PATTERNS = {
  "the token before": (tokens, i, j) => j === i - 1,
  itself: (tokens, i, j) => j === i,
  "the first token": (tokens, i, j) => j === 0,
  "what followed the same token": (tokens, i, j) => j > 0 && j <= i && tokens[j - 1] === tokens[i],
};

/** The share of a map's attention that follows a pattern: the mean over the rows with a choice. */
export function patternScore(map, tokens, wants, causal) {
  const shares = [];
  readable(tokens.length, causal).forEach((may, i) => {
    const keys = map[i].map((_, j) => j).filter((j) => may[j]);
    const wanted = keys.filter((j) => wants(tokens, i, j));
    if (wanted.length && wanted.length < keys.length) {
      shares.push(wanted.reduce((sum, j) => sum + map[i][j], 0));
    }
  });
  return shares.length ? shares.reduce((a, b) => a + b, 0) / shares.length : null;
}

/** The keys that a row reads most, the largest weight first. */
export function mostRead(row, count) {
  return row
    .map((weight, j) => ({ j, weight }))
    .sort((a, b) => b.weight - a.weight || a.j - b.j)
    .slice(0, count);
}
