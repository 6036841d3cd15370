// A model that the page asks: its weights from a script or from the page itself, its arithmetic in
// a worker, or, where a browser has none, here.

import { startWorker } from "../../engine/worker.js";

/** The weights as letters: those in the page, or those of a script that is loaded now. */
export function fetched({ file, address, weights }) {
  if (weights !== null) return Promise.resolve(weights);
  const kept = globalThis.slModels?.[file];
  if (kept !== undefined) return Promise.resolve(kept);
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => {
      const found = globalThis.slModels?.[file];
      if (found === undefined) reject(new Error("the file of the weights holds no model"));
      else resolve(found);
    };
    script.onerror = () => {
      script.remove();
      reject(new Error("the file of the weights could not be loaded"));
    };
    document.head.append(script);
  });
}

/** The bytes that base64 stands for. */
export function bytesOf(letters) {
  try {
    return Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  } catch {
    throw new Error("the file of the weights is damaged");
  }
}

/** A model of a file: {tokenizer, config, ask, stop, close}. The figure has controls for so many
 *  layers and heads, and room for so many tokens; a model of other sizes is refused. */
export async function opened({ engine: source, layers, heads, room }, bytes) {
  const { engine } = new Function(`return ${source};`)();
  const { tensors, metadata } = wholeFile(engine, bytes);
  if (metadata.softlookup !== "gpt" || metadata.tokenizer === undefined)
    throw new Error("the file holds no model with byte pairs");
  const config = jsonIn(metadata, "config");
  const tokenizer = engine.BytePairTokenizer.from(jsonIn(metadata, "tokenizer"));
  const sizes = config.n_layers === layers && config.n_heads === heads && config.context >= room;
  if (!sizes || config.vocab_size !== tokenizer.size)
    throw new Error("the file holds a model of other sizes than those of this figure");
  const there = startSomewhere(source, engine);
  try {
    await there.ask("load", { config, tensors });
  } catch (error) {
    there.close();
    throw error;
  }
  return { tokenizer, config, ...there };
}

function jsonIn(metadata, name) {
  try {
    return Object(JSON.parse(metadata[name]));
  } catch {
    throw new Error(`the file does not say its ${name}`);
  }
}

function wholeFile({ readSafetensors }, bytes) {
  try {
    return readSafetensors(bytes);
  } catch {
    throw new Error("the file of the weights is cut short or damaged");
  }
}

function startSomewhere(source, engine) {
  try {
    return startWorker(source);
  } catch {
    return startHere(engine);
  }
}

/** What a worker does, in the page itself: slower to answer, and the same numbers. */
function startHere({ serve }) {
  const waiting = new Map();
  let asked = 0;
  const scope = {
    postMessage({ id, part, result, error }) {
      const { onPart, resolve, reject } = waiting.get(id) ?? {};
      if (part !== undefined) {
        onPart?.(part);
        return;
      }
      waiting.delete(id);
      if (error === undefined) resolve?.(result);
      else reject?.(new Error(error));
    },
  };
  serve(scope);
  const ask = (what, data = {}, onPart = () => {}) =>
    new Promise((resolve, reject) => {
      const id = asked;
      asked += 1;
      waiting.set(id, { onPart, resolve, reject });
      scope.onmessage({ data: { id, ask: what, data } });
    });
  const stop = () => scope.onmessage({ data: { ask: "stop" } });
  return { ask, stop, close: stop };
}
