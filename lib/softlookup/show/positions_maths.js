// Sinusoidal positions in the browser: the arithmetic of softlookup.attention.positions.

/** How far each pair turns from one position to the next: base^(−2i/d). */
export const frequencies = (d, base) =>
  Array.from({length: d / 2}, (_, i) => base ** (-2 * i / d));

/** After how many positions a pair is back where it was. */
export const periodOf = (pair, d, base) => 2 * Math.PI * base ** (2 * pair / d);

/** The code of one position: sine and cosine of each pair, side by side. */
export const codeOf = (t, d, base) =>
  frequencies(d, base).flatMap((omega) => [Math.sin(omega * t), Math.cos(omega * t)]);

/** One pair (sine, cosine), moved on by an angle. */
export function turned([sine, cosine], angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return [c * sine + s * cosine, -s * sine + c * cosine];
}

/** Every hand at position t, where the matrix of the shift sends it, where it should be, the angle
 * of its turn, and how far it misses. The slide's matrix turns every hand by the offset itself. */
export function hands(t, offset, d, base, slide) {
  return frequencies(d, base).map((omega) => {
    const at = (position) => [Math.sin(omega * position), Math.cos(omega * position)];
    const [angle, target] = [slide ? offset : omega * offset, at(t + offset)];
    const moved = turned(at(t), angle);
    const miss = Math.hypot(moved[0] - target[0], moved[1] - target[1]);
    return {omega, angle, before: at(t), moved, target, miss};
  });
}

/** Whether a value is the printed number, at the printed number's digits. */
export const agrees = (value, printed, digits) =>
  Math.abs(value - printed) <= 0.5 * 10 ** -digits + 1e-9;
