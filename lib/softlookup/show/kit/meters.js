// A meter: a name, a bar, and a number.

import { el } from "./elements.js";

/** The row of a meter, and a function that shows a share of the whole track, and its number. */
export function meter(name, kind = "") {
  const fill = el("span", { class: `sl-fill ${kind}`.trim() });
  const number = el("span", { class: "sl-number" });
  const row = el(
    "div",
    { class: "sl-meter" },
    el("span", { class: "sl-meter-name" }, name),
    el("span", { class: "sl-track", "aria-hidden": "true" }, fill),
    number,
  );
  const show = (share, text) => {
    fill.style.width = `${100 * share}%`;
    number.textContent = text;
  };
  return { row, show };
}
