// A list to choose from, in a file of its own: a figure carries what it imports, and few have lists.

import { field } from "./controls.js";
import { el } from "./elements.js";

/**
 * A list to choose from, with its name: menu("Heads", "heads", [[1, "one"]], (value) => ...).
 * show(value) chooses without telling.
 */
export function menu(name, key, options, onChange) {
  const select = el(
    "select",
    { name: key, onchange: () => onChange(select.value) },
    options.map(([value, words]) => el("option", { value }, words)),
  );
  const show = (value) => {
    select.value = value;
  };
  return { show, field: field(name, select) };
}
