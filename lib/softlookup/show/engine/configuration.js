// Every choice that makes a GPT: the fields of softlookup.models.GPTConfig, by the same names.

import { ACTIVATIONS } from "./activations.js";
import { require, requireInteger } from "./require.js";

const DEFAULTS = {
  d_ff: null,
  n_kv_heads: null,
  positions: "learned",
  window: null,
  n_sinks: 0,
  norm_first: true,
  norm: "layer",
  activation: "gelu",
  gated: false,
  bias: true,
  qk_norm: false,
  dropout: 0,
  tie: true,
  zero_writes: false,
  eps: 1e-5,
};
const SIZES = ["vocab_size", "context", "d_model", "n_heads", "n_layers"];
const CHOICES = {
  positions: ["learned", "rotary", "none"],
  norm: ["layer", "rms"],
  activation: Object.keys(ACTIVATIONS),
};
const SWITCHES = ["norm_first", "gated", "bias", "qk_norm", "tie", "zero_writes"];

/** The options with every default filled in, checked as the library checks them. */
export function gptConfig(options) {
  const config = { ...DEFAULTS, ...options };
  const known = new Set([...SIZES, ...Object.keys(DEFAULTS)]);
  const unknown = Object.keys(options).filter((name) => !known.has(name));
  require(unknown.length === 0, "an option must be one of a GPTConfig", { unknown });
  for (const name of SIZES) requireInteger(name, config[name], 1);
  config.d_ff ??= 4 * config.d_model;
  config.n_kv_heads ??= config.n_heads;
  for (const name of ["d_ff", "n_kv_heads"]) requireInteger(name, config[name], 1);
  requireInteger("n_sinks", config.n_sinks, 0);
  if (config.window !== null) requireInteger("window", config.window, 1);
  for (const [name, choices] of Object.entries(CHOICES)) {
    const rule = `${name} must be one of ${choices.join(", ")}`;
    require(choices.includes(config[name]), rule, { [name]: config[name] });
  }
  for (const name of SWITCHES) {
    const rule = `${name} must be true or false`;
    require(typeof config[name] === "boolean", rule, { [name]: config[name] });
  }
  checkTogether(config);
  return Object.freeze(config);
}

/** What depends on two options. */
function checkTogether({ d_model, n_heads, n_kv_heads, positions, window, n_sinks, ...config }) {
  require(d_model % n_heads === 0, "n_heads must divide d_model", { d_model, n_heads });
  require(n_heads % n_kv_heads === 0, "n_kv_heads must divide n_heads", { n_heads, n_kv_heads });
  const even = positions !== "rotary" || (d_model / n_heads) % 2 === 0;
  const rule = "with rotary positions the width of a head must be even";
  require(even, rule, { d_model, n_heads });
  const sinks = "sinks need a window: without one, all tokens are read";
  require(window !== null || n_sinks === 0, sinks, { n_sinks });
  require(config.eps > 0 && config.eps < Infinity, "eps must be positive", { eps: config.eps });
  const none = "dropout must be 0: the engine has none";
  require(config.dropout === 0, none, { dropout: config.dropout });
}
