// Numbers and lists in words.

/** A number at some significant digits, with a true minus sign; whole numbers as they are. */
export function format(number, digits = 4) {
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "−∞";
  const size = Math.abs(number);
  let text = String(size);
  if (!Number.isInteger(size) || size >= 1e6) {
    const exponent = Math.floor(Math.log10(Number(size.toPrecision(digits))));
    text =
      exponent < -4 || exponent >= Math.max(digits, 6)
        ? size
            .toExponential(digits - 1)
            .replace(/\.?0+e/, "e")
            .replace("e+", "e")
            .replace("-", "−")
        : String(Number(size.toPrecision(digits)));
  }
  return number < 0 && Number(text.replace("−", "-")) !== 0 ? `−${text}` : text;
}

/** A number with so many digits after the point, a true minus sign, and none before zeros. */
export function fixed(number, digits = 2) {
  const text = Math.abs(number).toFixed(digits);
  return number < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** "a", "a and b", "a, b and c". */
export function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** "1 token", "2 tokens", "1,000 tokens". */
export function counted(n, word) {
  return `${n.toLocaleString("en-GB")} ${word}${n === 1 ? "" : "s"}`;
}
