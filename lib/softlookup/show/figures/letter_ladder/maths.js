// The letter ladder: a text around a run of it, and the place of the least number.

/** What stands before a run of a text, the run, and what stands behind it. */
export function cut(text, run) {
  const start = text.indexOf(run);
  return [text.slice(0, start), run, text.slice(start + run.length)];
}

/** The place of the least number, the first of several. */
export const least = (numbers) => numbers.indexOf(Math.min(...numbers));
