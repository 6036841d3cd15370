// Bad input is refused in words, as softlookup.checks does.

/** Throws an error that says the rule, and every value that broke it. */
export function require(holds, rule, got) {
  if (holds) return;
  const values = Object.entries(got).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  throw new Error(values.length ? `${rule}; got ${values.join(", ")}` : rule);
}

/** Throws unless the value is an integer of at least `least`. */
export function requireInteger(name, value, least) {
  const rule = `${name} must be an integer of at least ${least}`;
  require(Number.isInteger(value) && value >= least, rule, { [name]: value });
}

/** How many rows of `width` numbers stand in a flat array. */
export function rowsOf(x, width) {
  const rule = "the numbers must be whole rows";
  require(x.length % width === 0, rule, { n_numbers: x.length, width });
  return x.length / width;
}
