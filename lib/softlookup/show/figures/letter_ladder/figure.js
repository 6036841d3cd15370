// The letter ladder: a slider for n, what the model writes, and bars for what that costs.

import { controls, liveRegion, say, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { room } from "../../kit/room.js";
import { meter } from "../../kit/meters.js";
import { cut, least } from "./maths.js";

const BITS = [
  ["bits_counted", "counted text, ratios"],
  ["bits_add", "new text, add 0.01"],
  ["bits_kneser_ney", "new text, Kneser-Ney"],
];

/** A meter for numbers up to the most, with its number beside the end of the bar. */
function bar(words, most, kind) {
  const { row, show } = meter(words, kind);
  return {
    row,
    show: (number) => {
      row.style.setProperty("--share", number / most);
      show(number / most, number.toFixed(2));
    },
  };
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  const most = Math.max(...data.rows.flatMap((row) => BITS.map(([key]) => row[key])));
  const bits = BITS.map(([key, words]) => ({ key, ...bar(words, most) }));
  const copied = bar("written by the ratios", 1, "ll-copied");
  const control = bar("real new speeches", 1, "ll-copied");
  const sample = el("span");
  const samples = data.rows.map((row) => row.sample);
  const live = liveRegion();
  const best = least(data.rows.map((row) => row.bits_kneser_ney));

  function update(place) {
    const row = data.rows[place];
    n.show(String(row.n), place, `n = ${row.n}`);
    const [before, run, behind] = cut(row.sample, row.longest_copy);
    sample.replaceChildren(before, el("mark", { class: "ll-mark" }, run), behind);
    bits.forEach(({ key, show }) => show(row[key]));
    copied.show(row.copied);
    control.show(data.control);
    const more = row.bits_kneser_ney - data.rows[best].bits_kneser_ney;
    const price =
      place === best
        ? "no other n needs fewer bits with Kneser-Ney"
        : `Kneser-Ney needs ${more.toFixed(2)} bits more than with n = ${data.rows[best].n}`;
    say(live, `n = ${row.n}: the longest copied run has ${run.length} letters; ${price}.`);
  }

  const last = data.rows.length - 1;
  const n = slider("Letters in an n-gram, n", { min: 0, max: last }, update, "ll-field");
  root.append(
    controls(n.field),
    room("ll-sample", sample, samples),
    el("p", { class: "ll-head" }, "Bits for a letter"),
    el("div", { class: "ll-bars" }, bits.map(({ row }) => row)),
    el("p", { class: "ll-head" }, "Runs of ten letters that stand in the counted text"),
    el("div", { class: "ll-bars" }, copied.row, control.row),
    live,
  );
  update(data.start);
}
