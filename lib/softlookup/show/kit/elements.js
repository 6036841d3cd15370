// Elements of a page. Text reaches it as text nodes only.

const SVG = "http://www.w3.org/2000/svg";
const CONTROLS = ["button", "input", "select", "textarea"];

/** An HTML element: el("p", { class: "sl-note" }, "Nothing yet."). */
export function el(tag, attributes, ...children) {
  // without this attribute, a notebook takes the keys that are pressed in a control
  const quiet = CONTROLS.includes(tag) ? { "data-lm-suppress-shortcuts": "true" } : {};
  return build(document.createElement(tag), { ...quiet, ...attributes }, children);
}

/** An SVG element, made alike. */
export function svg(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes ?? {}, children);
}

/** A straight line from a point to another. */
export function line([x1, y1], [x2, y2], name, attributes) {
  return svg("line", { x1, y1, x2, y2, class: name, ...attributes });
}

/** Words in a picture, at a point. */
export function text([x, y], words, name, anchor = null) {
  return svg("text", { x, y, class: name, "text-anchor": anchor }, words);
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}
