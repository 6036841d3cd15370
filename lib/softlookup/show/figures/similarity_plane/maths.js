// Three measures of two vectors of the plane, and the maps that they are tried under.
// The arithmetic of softlookup.words.similarity, for one pair.

import { dot } from "../../kit/maths.js";

/** Cosine, dot product and distance; degrees is null where a vector is zero and has no angle. */
export function measures(x, y) {
  const [a, b] = [Math.hypot(...x), Math.hypot(...y)];
  const product = dot(x, y) + 0; // a zero is +0, never −0
  const distance = Math.hypot(x[0] - y[0], x[1] - y[1]);
  if (a === 0 || b === 0) return { cosine: 0, dot: product, distance, degrees: null };
  const [u, v] = [x.map((c) => c / a), y.map((c) => c / b)];
  const degrees = (Math.atan2(Math.abs(u[0] * v[1] - u[1] * v[0]), dot(u, v)) * 180) / Math.PI;
  return { cosine: dot(u, v) + 0, dot: product, distance, degrees };
}

/** A point after the map: stretched across, stretched as a whole, turned (degrees), shifted. */
export function mapped([a, b], { across, whole, turn, shift }) {
  const [x, y] = [across * whole * a, whole * b];
  const angle = (turn * Math.PI) / 180;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return [cos * x - sin * y + shift, sin * x + cos * y];
}

/** Are two values equal, up to the rounding of the arithmetic? */
export function same(a, b) {
  return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
}
