// The curves: losses by steps or seconds, and small ones for the lengths of gradients and weights.

import { line, svg, text } from "../../kit/elements.js";
import { fixed } from "../../kit/numbers.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BASE] = [400, 200, 30, 392, 10, 176];
const MOST_POINTS = 200;

/** A chart whose curves and level lines are given anew each time: draw({most, least, end, unit,
 *  curves: [{name, points}], levels: [{name, value}]}), where a point is [across, up]. */
export function lossChart(name) {
  const chart = svg("svg", {
    class: "tg-chart",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": name,
  });
  const draw = ({ most, end, unit, curves, levels }) => {
    const across = (x) => LEFT + ((RIGHT - LEFT) * Math.min(x, end)) / end;
    const up = (y) => BASE - ((BASE - TOP) * Math.min(Math.max(y, 0), most)) / most;
    const rungs = [0, 1, 2, 3, 4, 5, 6].filter((value) => value <= most);
    const path = ({ name: kind, points }) => {
      const shown = thinned(points.filter(([, y]) => Number.isFinite(y)));
      const places = shown.map(([x, y]) => `${across(x).toFixed(1)},${up(y).toFixed(1)}`);
      return svg("polyline", { class: `tg-curve tg-${kind}`, points: places.join(" ") });
    };
    chart.replaceChildren(
      ...rungs.map((value) => line([LEFT, up(value)], [RIGHT, up(value)], "tg-rung")),
      ...rungs.map((value) => text([LEFT - 6, up(value) + 4], String(value), "tg-tick", "end")),
      text([LEFT, HEIGHT - 6], "0", "tg-tick", "middle"),
      text([RIGHT, HEIGHT - 6], `${end.toLocaleString("en-GB")} ${unit}`, "tg-tick", "end"),
      ...levels.map(({ name: kind, value }) =>
        line([LEFT, up(value)], [RIGHT, up(value)], `tg-level tg-${kind}`),
      ),
      ...curves.map(path),
    );
  };
  return { chart, draw };
}

/** So many points that a curve looks the same: each the mean of its neighbours. */
function thinned(points) {
  const each = Math.ceil(points.length / MOST_POINTS);
  if (each <= 1) return points;
  return Array.from({ length: Math.ceil(points.length / each) }, (_, k) => {
    const some = points.slice(k * each, (k + 1) * each);
    const mean = (axis) => some.reduce((sum, point) => sum + point[axis], 0) / some.length;
    return [mean(0), mean(1)];
  });
}

/** A small curve of positive numbers, by their logarithms, from the least to the largest of `range`. */
export function sparkline(values, [least, largest], kind) {
  const [low, high] = [Math.log(least), Math.log(Math.max(largest, least * 1.01))];
  const points = values.map((value, k) => {
    const share = (Math.log(Math.max(value, least)) - low) / (high - low);
    const across = 2 + (76 * k) / Math.max(1, values.length - 1);
    return `${across.toFixed(1)},${(20 - 18 * share).toFixed(1)}`;
  });
  const curve = svg("polyline", { class: `tg-curve tg-${kind}`, points: points.join(" ") });
  return svg("svg", { class: "tg-spark", viewBox: "0 0 80 22", "aria-hidden": "true" }, curve);
}

/** Three digits after the point; what is no number as such. */
export const loss = (value) => {
  if (!Number.isFinite(value)) return "no number";
  return value < 1e6 ? fixed(value, 3) : value.toExponential(1).replace("+", "");
};
