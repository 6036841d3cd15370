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

/** A model of a file: {tokenizer, config, ask, stop, close}. */
export async function opened(source, bytes) {
  const { engine } = new Function(`return ${source};`)();
  const { tensors, metadata } = wholeFile(engine, bytes);
  if (metadata.softlookup !== "gpt" || metadata.tokenizer === undefined)
    throw new Error("the file holds no model with byte pairs");
  const config = JSON.parse(metadata.config);
  const tokenizer = engine.BytePairTokenizer.from(JSON.parse(metadata.tokenizer));
  const entries = Object.entries(tensors).map(([name, { numbers }]) => [name, numbers]);
  const there = startSomewhere(source, engine);
  await there.ask("load", { config, state: Object.fromEntries(entries) });
  return { tokenizer, config, ...there };
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
