// Numbers by chance that a seed determines.

import { random } from "../kit/maths.js";

/** Normal numbers of mean 0 and variance 1, by the method of Box and Muller. */
export function normalNumbers(seed) {
  const draw = random(seed);
  return () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

/** Pieces of one long text, each beginning anywhere, batch after batch. */
export function* randomPieces(ids, length, batchSize, seed) {
  const draw = random(seed);
  const piece = () => {
    const first = Math.floor(draw() * (ids.length - length + 1));
    return Array.from(ids.slice(first, first + length));
  };
  for (;;) yield Array.from({ length: batchSize }, piece);
}
