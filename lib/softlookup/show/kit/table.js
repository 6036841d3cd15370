// Tables of numbers.

import { el } from "./elements.js";

/** A table with named columns; "" names none. Each row is a <tr>. */
export function table(name, heads, rows) {
  const head = heads.map((words) => (words === "" ? el("td") : el("th", { scope: "col" }, words)));
  return el(
    "table",
    { class: name },
    el("thead", null, el("tr", null, head)),
    el("tbody", null, rows),
  );
}

/** A row of a table: its name, then its cells, each a <td> or what stands in one. */
export function row(name, cells, attributes) {
  const inside = cells.map((cell) => (cell instanceof Element ? cell : el("td", null, cell)));
  return el("tr", attributes, el("th", { scope: "row" }, ...[name].flat()), inside);
}

/** What scrolls sideways by itself where it is wider than the page; keys scroll it, too. */
export const scroller = (name, ...children) =>
  el("div", { class: "sl-scroll", tabindex: 0, role: "group", "aria-label": name }, ...children);
