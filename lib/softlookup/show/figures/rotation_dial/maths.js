// A shift of position as a turn of each pair of softlookup.attention.positions' codes.

import { frequencies } from "../sinusoid_explorer/maths.js";

/** One pair (sine, cosine), moved on by an angle. */
function turned([sine, cosine], angle) {
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
    return { omega, angle, before: at(t), moved, target, miss };
  });
}
