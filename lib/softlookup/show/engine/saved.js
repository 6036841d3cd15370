// A model as a file that Python continues: what softlookup.models.save_gpt writes and load_gpt reads.

import { GPT } from "./gpt.js";
import { require } from "./require.js";
import { readSafetensors, writeSafetensors } from "./safetensors.js";

/** The bytes of a file: the weights by their names, and as texts the config and the letters. */
export function savedModel(model, letters) {
  const named = [...model.parameters].map(([name, { shape, data }]) => {
    require(data.every(Number.isFinite), "all weights must be finite", { wrong: name });
    return [name, { shape, numbers: data }];
  });
  const texts = { softlookup: "gpt", config: JSON.stringify(model.config) };
  texts.letters = JSON.stringify(letters);
  if (model.without.size > 0) texts.without = JSON.stringify([...model.without]);
  return writeSafetensors(Object.fromEntries(named), texts);
}

/** The model in a file, and what its ids stand for. Whatever does not fit is refused in words. */
export function openedModel(bytes, products) {
  const { tensors, metadata } = readSafetensors(bytes);
  const { softlookup } = metadata;
  require(softlookup === "gpt", "the file must hold a GPT of softlookup", { softlookup });
  const letters = jsonIn(metadata, "letters");
  const lists = Array.isArray(letters) && letters.every((one) => typeof one === "string");
  require(lists, "the file's letters must be a list of strings", {});
  const model = new GPT(jsonIn(metadata, "config"), products);
  const { vocab_size } = model.config;
  const rule = "there must be one letter for each id of the model";
  require(letters.length === vocab_size, rule, { n_letters: letters.length, vocab_size });
  loadTensors(model, tensors);
  model.without = new Set(metadata.without === undefined ? [] : jsonIn(metadata, "without"));
  return { model, letters };
}

/** Give a model the tensors of a file, if they have its shapes and hold nothing but numbers. */
export function loadTensors(model, tensors) {
  for (const [name, { shape }] of model.parameters) {
    // load tells what is missing
    const found = tensors[name]?.shape ?? shape;
    const rule = `${name} must have the shape of the config`;
    require(String(found) === String(shape), rule, { shape: found, expected: shape });
  }
  const numbers = Object.entries(tensors).map(([name, tensor]) => [name, tensor.numbers]);
  require(numbers.every(([, all]) => all.every(Number.isFinite)), "all weights must be finite", {});
  return model.load(Object.fromEntries(numbers));
}

function jsonIn(metadata, name) {
  let found = null;
  try {
    found = JSON.parse(metadata[name]);
  } catch {
    // no text, or no JSON
  }
  require(found !== null, `the file must say its ${name} as JSON`, { [name]: metadata[name] });
  return found;
}
