// How uncertain a distribution is.

import { sum } from "./maths.js";

/** The entropy in bits. */
export const bits = (weights) => sum(weights.map((p) => (p > 0 ? -p * Math.log2(p) : 0)));
