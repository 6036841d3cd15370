// Look into a model while it runs: each probe shows what passes by, and may replace it.

import { require } from "./require.js";

/** The function that the layers call at each probe, as `see(name, numbers, shape)`.
 *
 *  `hooks` maps the full name of a probe to a function of its numbers and their shape; an array
 *  that it returns is passed on in their place. `shape` is that of rows, where it is left out. */
export function seeing(hooks, rowShape, prefix = "") {
  const shapeOf = (numbers) => [...rowShape, numbers.length / (rowShape[0] * rowShape[1])];
  const see = (name, numbers, shape = null) => {
    const hook = hooks.get(prefix + name);
    if (hook === undefined) return numbers;
    return checked(hook(numbers, shape ?? shapeOf(numbers)), numbers, prefix + name);
  };
  /** The same for numbers that only a hook asks for; returns them and what passes on. */
  see.lazily = (name, make, shape) => {
    if (!hooks.has(prefix + name)) return [null, null];
    const numbers = make();
    return [numbers, see(name, numbers, shape)];
  };
  see.within = (part) => seeing(hooks, rowShape, `${prefix}${part}.`);
  return see;
}

function checked(replaced, numbers, name) {
  if (replaced === undefined) return numbers;
  const rule = `what replaces ${name} must be an array of its kind and size`;
  const fits = replaced?.constructor === numbers.constructor && replaced.length === numbers.length;
  require(fits, rule, { n_numbers: replaced?.length, expected: numbers.length });
  return replaced;
}

/** The names of all probes of a model, or of those that end in one of `names`. */
export function probesOf(model, ...names) {
  const inBlock = [
    ...["layer.weights", "layer.heads", "write", "stream"].map((one) => `self_attention.${one}`),
    ...["layer.activations", "write", "stream"].map((one) => `feed_forward.${one}`),
  ];
  const blocks = model.blocks.flatMap((_, k) => inBlock.map((one) => `blocks.${k}.${one}`));
  const last = model.norm === null ? ["norm"] : [];
  const probes = ["rows", ...blocks, ...last];
  const ends = (probe, name) => `.${probe}`.endsWith(`.${name}`);
  for (const name of names) {
    const rule = `the model has no probe of the name ${name}`;
    require(probes.some((probe) => ends(probe, name)), rule, { probes });
  }
  return probes.filter((probe) => names.length === 0 || names.some((name) => ends(probe, name)));
}

/** Run the model on ids, and return what the named probes saw: {numbers, shape} by full name. */
export function capture(model, ids, ...names) {
  const seen = {};
  const keep = (name) => (numbers, shape) => {
    seen[name] = { numbers, shape };
  };
  const hooks = new Map(probesOf(model, ...names).map((name) => [name, keep(name)]));
  model.forward(ids, { hooks });
  return seen;
}
