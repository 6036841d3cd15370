// The query bars: two sliders make a query, one bar for each word's weight follows.

import { controls, liveRegion, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { dot, softmax, sum } from "../../kit/maths.js";
import { meter } from "../../kit/meters.js";
import { fixed, format } from "../../kit/numbers.js";

/** softmax of q · k_j / √2 over all keys. */
export function weightsOf(query, keys) {
  return softmax(keys.map((key) => dot(query, key) / Math.SQRT2));
}

/** Places of the largest weights, the largest first. */
const ranking = (weights) => weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]);

/** Build the figure inside an empty element. */
export function mount(root, data) {
  const bars = data.words.map((word) => meter(word));
  const live = liveRegion();
  const query = [...data.query];

  function update() {
    const weights = weightsOf(query, data.keys);
    bars.forEach(({ show }, j) => show(weights[j], weights[j].toFixed(4)));
    const [first, second] = ranking(weights);
    const [one, other] = [first, second].map((j) => data.words[j]);
    const [most, next] = [first, second].map((j) => format(weights[j], 2));
    const total = format(sum(weights));
    const says =
      weights[first] === weights[second]
        ? `takes as much from ${one} as from ${other} (${most})`
        : `takes most from ${one} (${most}), then from ${other} (${next})`;
    live.textContent = `${data.reader} ${says}. The weights sum to ${total}.`;
  }

  const sliders = data.names.map((name, c) => {
    const made = slider(
      `q, ${name}`,
      { min: -4, max: 4, step: 0.1 },
      (value) => {
        query[c] = value;
        made.show(fixed(value, 1));
        update();
      },
      "qb-field",
    );
    made.show(fixed(query[c], 1), query[c]);
    return made.field;
  });
  root.append(
    controls(sliders),
    el(
      "div",
      { class: "qb-bars" },
      bars.map(({ row }) => row),
    ),
    live,
  );
  update();
}
