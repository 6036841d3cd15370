// The engine beside the page: in a worker made of its own source, so that nothing is loaded.

/** A worker that runs the engine. `source` is the engine as an expression, `engine_source()`.
 *
 *  `ask(what, data, onPart)` promises the result; serve.js says what there is to ask for. `stop()`
 *  ends the task that runs after its step, `close()` the worker. */
export function startWorker(source) {
  const code = `(${source}).engine.serve(self);`;
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const worker = new Worker(address);
  URL.revokeObjectURL(address);
  const waiting = new Map();
  let asked = 0;
  const finish = (error) => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  worker.onmessage = ({ data: { id, part, result, error } }) => {
    const { onPart, resolve, reject } = waiting.get(id);
    if (part !== undefined) {
      onPart(part);
      return;
    }
    waiting.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  };
  worker.onerror = (event) => finish(new Error(`the worker failed: ${event.message}`));
  const ask = (what, data = {}, onPart = () => {}) =>
    new Promise((resolve, reject) => {
      const id = asked;
      asked += 1;
      waiting.set(id, { onPart, resolve, reject });
      worker.postMessage({ id, ask: what, data });
    });
  const stop = () => worker.postMessage({ ask: "stop" });
  const close = () => {
    worker.terminate();
    finish(new Error("the worker was closed"));
  };
  return { ask, stop, close };
}
