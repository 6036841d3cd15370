// Helpers that the interactive figures share. Text reaches the page as text nodes only.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

/** An HTML element: el("button", {class: "sl-button", onclick: f}, "Reset"). */
export function el(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** An SVG element, made alike. */
export function svg(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

/** A number at some significant digits, with a true minus sign; whole numbers as they are. */
export function format(number, digits = 4) {
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "−∞";
  const size = Math.abs(number);
  let text = String(size);
  if (!Number.isInteger(size) || size >= 1e6) {
    const exponent = Math.floor(Math.log10(Number(size.toPrecision(digits))));
    text = exponent < -4 || exponent >= Math.max(digits, 6)
      ? size.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e").replace("-", "−")
      : String(Number(size.toPrecision(digits)));
  }
  return number < 0 && Number(text.replace("−", "-")) !== 0 ? `−${text}` : text;
}

/** A named row of radio buttons that look like chips; the figure's form keeps its names apart. */
export function choices(label, name, options, chosen, onChange) {
  return el("fieldset", {class: "sl-choices"}, el("legend", {class: "sl-label"}, label),
    options.map(([value, text]) => choice(name, value, value === chosen, onChange, text)));
}

/** One radio button that looks like a chip: choice("mask", "causal", true, f, "only the past"). */
export function choice(name, value, checked, onChange, ...parts) {
  return el("label", {class: "sl-choice"},
    el("input", {type: "radio", name, value, checked, "data-lm-suppress-shortcuts": "true",
      onchange: () => onChange(value)}), el("span", null, ...parts));
}

const DIRECTIONS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1]};

/** Whether a key belongs to the browser or the notebook: it was pressed with another. */
export const modified = (event) => event.ctrlKey || event.metaKey || event.altKey;

/**
 * The attributes of what a pointer drags and the arrow keys move: grab(event), drag(event) and
 * drop() follow the pointer; step([right, up]) is by `fine`, or by 0.5 with Shift.
 * Of the class sl-handle; a circle sl-reach in it is where it can be taken, and its ring of focus.
 */
export function draggable({grab, drag, drop, step, fine = 0.1}) {
  let held = false;
  const release = () => {
    held = false;
    drop?.();
  };
  return {"data-lm-suppress-shortcuts": "true",
    onkeydown: (event) => {
      const way = DIRECTIONS[event.key];
      if (!way || modified(event)) return;
      event.preventDefault();
      step(way.map((sign) => sign * (event.shiftKey ? 0.5 : fine)));
    },
    ontouchstart: (event) => event.preventDefault(), // a finger drags; it does not scroll
    onpointerdown: (event) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      held = true;
      grab?.(event);
    },
    onpointermove: (event) => { if (held) drag(event); },
    onpointerup: release, onpointercancel: release};
}

/** The softmax of some scores, with the largest subtracted first. */
export function softmax(scores) {
  const largest = Math.max(...scores);
  const exps = scores.map((score) => Math.exp(score - largest));
  const sum = exps.reduce((a, b) => a + b, 0);
  return exps.map((value) => value / sum);
}

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The index at which the running sum of the probabilities passes u; never one of probability 0. */
export function drawn(weights, u) {
  let [sum, last] = [0, -1];
  for (let id = 0; id < weights.length; id += 1) {
    if (weights[id] > 0) last = id;
    sum += weights[id];
    if (u < sum) return id;
  }
  return last;
}
