// Rotary positions: pair i of the row at position t is turned by the angle t · 10000^(−2i/d_k).

/** Cosines and sines of the angles at some positions: one row for each position, one column for each pair. */
export function angles(positions, dK) {
  const pairs = dK / 2;
  const frequencies = Array.from({ length: pairs }, (_, i) => 10000 ** ((-2 * i) / dK));
  const [cos, sin] = [0, 0].map(() => new Float64Array(positions.length * pairs));
  positions.forEach((position, t) => {
    for (let i = 0; i < pairs; i += 1) {
      cos[t * pairs + i] = Math.cos(position * frequencies[i]);
      sin[t * pairs + i] = Math.sin(position * frequencies[i]);
    }
  });
  return { cos, sin, pairs, n: positions.length };
}

/** Turn every head of every row: (a, b) ↦ (a cos − b sin, a sin + b cos) for each pair.
 *  Texts stand one after the other, and have the same positions. */
export function rotary(rows, turn, nHeads) {
  const turned = turnedBy(rows, turn, nHeads, 1);

  // A rotation's way back is the rotation by the same angle the other way.
  const backward = (dTurned) => turnedBy(dTurned, turn, nHeads, -1);
  return [turned, backward];
}

function turnedBy(rows, { cos, sin, pairs, n }, nHeads, direction) {
  const turned = new rows.constructor(rows.length);
  const width = 2 * pairs * nHeads;
  for (let row = 0; row < rows.length / width; row += 1) {
    const t = row % n;
    for (let pair = 0; pair < pairs * nHeads; pair += 1) {
      const angle = t * pairs + (pair % pairs);
      const at = row * width + 2 * pair;
      const [c, s] = [cos[angle], direction * sin[angle]];
      const [a, b] = [rows[at], rows[at + 1]];
      turned[at] = a * c - b * s;
      turned[at + 1] = a * s + b * c;
    }
  }
  return turned;
}
