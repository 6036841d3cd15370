// Sinusoidal positions in the browser: the arithmetic of softlookup.attention.positions.

/** How far each pair turns from one position to the next: base^(−2i/d). */
export const frequencies = (d, base) =>
  Array.from({ length: d / 2 }, (_, i) => base ** ((-2 * i) / d));

/** After how many positions a pair is back where it was. */
export const periodOf = (pair, d, base) => 2 * Math.PI * base ** ((2 * pair) / d);

/** The code of one position: sine and cosine of each pair, side by side. */
export const codeOf = (t, d, base) =>
  frequencies(d, base).flatMap((omega) => [Math.sin(omega * t), Math.cos(omega * t)]);

/** Whether a value is the printed number, at the printed number's digits. */
export const agrees = (value, printed, digits) =>
  Math.abs(value - printed) <= 0.5 * 10 ** -digits + 1e-9;
