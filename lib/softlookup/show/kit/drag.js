// What a pointer drags and the arrow keys move.

import { svg } from "./elements.js";

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };

/** Whether a key belongs to the browser or the notebook: it was pressed with another. */
export const modified = (event) => event.ctrlKey || event.metaKey || event.altKey;

/** Where the pointer is in an element, as shares of its width and of its height, from the top left. */
export function pointed(event, element) {
  const box = element.getBoundingClientRect();
  return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
}

/**
 * A handle in a picture, around the parts that are drawn: grab(event), drag(event) and drop()
 * follow the pointer; step([right, up]) is by `fine`, or by 0.5 with Shift. A circle of the radius
 * `reach` is where it can be taken, and its ring of focus. `keys` says what other keys do.
 */
export function handle({ name, reach, moves, ...attributes }, ...parts) {
  return svg(
    "g",
    {
      class: `sl-handle ${name}`.trim(),
      role: "slider",
      tabindex: "0",
      ...listeners(moves),
      ...attributes,
    },
    svg("circle", { r: reach, class: "sl-reach" }),
    ...parts,
  );
}

function listeners({ grab, drag, drop, step, keys = {}, fine = 0.1 }) {
  let held = false;
  const release = () => {
    held = false;
    drop?.();
  };
  return {
    "data-lm-suppress-shortcuts": "true",
    onkeydown: (event) => {
      const way = DIRECTIONS[event.key];
      const other = keys[event.key];
      if (modified(event) || (!way && !other)) return;
      event.preventDefault();
      if (way) step(way.map((sign) => sign * (event.shiftKey ? 0.5 : fine)));
      else other();
    },
    // A finger drags; it does not scroll.
    ontouchstart: (event) => event.preventDefault(),
    onpointerdown: (event) => {
      if (event.isTrusted) event.currentTarget.setPointerCapture(event.pointerId);
      held = true;
      grab?.(event);
    },
    onpointermove: (event) => {
      if (held) drag(event);
    },
    onpointerup: release,
    onpointercancel: release,
  };
}
