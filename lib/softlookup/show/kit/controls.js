// What a reader moves, presses and chooses, and where the page answers in words.

import { el } from "./elements.js";

/** The figure's form: it keeps the names of its radio buttons from other figures, and sends nothing. */
export function form(name, ...children) {
  const attributes = { class: `sl-form ${name}`, onsubmit: (event) => event.preventDefault() };
  return el("form", attributes, ...children);
}

/** A row of controls. */
export const controls = (...children) => el("div", { class: "sl-controls" }, ...children);

/** A button: button("Reset", () => this.reset()). */
export function button(label, onclick, attributes) {
  return el("button", { type: "button", class: "sl-button", onclick, ...attributes }, label);
}

/** The words that name a control or a part. */
export const label = (...words) => el("span", { class: "sl-label" }, ...words);

/** A control with its name above it. */
export function field(name, control, kind = "") {
  return el("label", { class: `sl-field ${kind}`.trim() }, label(...[name].flat()), control);
}

/**
 * A slider with its name and its number: slider("Width", { min: 1, max: 9 }, (value) => ...).
 * show(words, value, spoken) moves it and says where it stands; without a name, the words are all.
 * The number is no <output>: that would take the label from the input.
 */
export function slider(name, attributes, onMove, kind = "") {
  const number = el("span", { class: "sl-number" });
  const input = el("input", {
    type: "range",
    step: 1,
    class: "sl-slider",
    ...attributes,
    oninput: () => onMove(input.valueAsNumber),
  });
  const show = (words, value = input.value, spoken = words) => {
    input.value = value;
    number.textContent = words;
    input.setAttribute("aria-valuetext", spoken);
  };
  return { input, show, field: field(name ? [`${name}: `, number] : number, input, kind) };
}

/** A box to tick, with its name behind it. */
export function check(name, words, onChange) {
  const input = el("input", { type: "checkbox", name, onchange: () => onChange(input.checked) });
  return el("label", { class: "sl-check" }, input, ...[words].flat());
}

/** A named row of radio buttons that look like chips; the figure's form keeps its names apart. */
export function choices(name, key, options, chosen, onChange) {
  return el(
    "fieldset",
    { class: "sl-choices" },
    el("legend", { class: "sl-label" }, name),
    options.map(([value, words]) => choice(key, value, value === chosen, onChange, words)),
  );
}

/** One radio button that looks like a chip: choice("mask", "causal", true, f, "only the past"). */
export function choice(key, value, checked, onChange, ...words) {
  const attributes = { type: "radio", name: key, value, checked, onchange: () => onChange(value) };
  return el("label", { class: "sl-choice" }, el("input", attributes), el("span", null, ...words));
}

/** Where the page says what came out; a screen reader reads it aloud when it changes. */
export const liveRegion = (name = "") =>
  el("p", { class: `sl-live ${name}`.trim(), "aria-live": "polite" });

/** Put words into a region, unless it says so already: a screen reader then keeps quiet. */
export function say(region, words) {
  if (region.textContent !== words) region.textContent = words;
}
