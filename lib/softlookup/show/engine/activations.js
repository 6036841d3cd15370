// The nonlinearities of the feed-forward layer: each a function, and its slope.

const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const bell = (x) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);

// The normal distribution's Φ has no formula. Here it stands in a table at every 64th from −9 to 9,
// from the series Φ(x) = 1/2 + φ(x)(x + x³/3 + x⁵/(3·5) + ...); between, five terms of Taylor's.
const STEPS = 64;
const FAR = 9;
const PHI = Float64Array.from({ length: 2 * FAR * STEPS + 1 }, (_, i) => series(i / STEPS - FAR));

function series(x) {
  let [term, total] = [x, 0];
  for (let k = 3; Math.abs(term) > 1e-18 * Math.abs(total); k += 2) {
    total += term;
    term *= (x * x) / k;
  }
  return 0.5 + bell(x) * total;
}

/** Φ(x), to about 15 digits. */
export function normalShare(x) {
  if (x <= -FAR) return 0;
  if (!(x < FAR)) return x >= FAR ? 1 : NaN;
  const at = Math.round(x * STEPS);
  const [a, d] = [at / STEPS, x - at / STEPS];
  const third = (a * a - 1) / 6;
  const fourth = (a * (3 - a * a)) / 24;
  const fifth = (a ** 4 - 6 * a * a + 3) / 120;
  const factor = 1 + d * (-a / 2 + d * (third + d * (fourth + d * fifth)));
  return PHI[at + FAR * STEPS] + bell(a) * d * factor;
}

const ROOT = Math.sqrt(2 / Math.PI);
const CUBE = 0.044715;

export const ACTIVATIONS = {
  relu: [(x) => (x > 0 ? x : 0), (x) => (x > 0 ? 1 : 0)],
  relu2: [(x) => (x > 0 ? x * x : 0), (x) => (x > 0 ? 2 * x : 0)],
  gelu: [(x) => x * normalShare(x), (x) => normalShare(x) + x * bell(x)],
  gelu_tanh: [
    (x) => (x / 2) * (1 + Math.tanh(ROOT * (x + CUBE * x ** 3))),
    (x) => {
      const t = Math.tanh(ROOT * (x + CUBE * x ** 3));
      return (1 + t) / 2 + (x / 2) * (1 - t * t) * ROOT * (1 + 3 * CUBE * x * x);
    },
  ],
  silu: [(x) => x * sigmoid(x), (x) => sigmoid(x) * (1 + x * (1 - sigmoid(x)))],
  sigmoid: [sigmoid, (x) => sigmoid(x) * (1 - sigmoid(x))],
  identity: [(x) => x, () => 1],
};
