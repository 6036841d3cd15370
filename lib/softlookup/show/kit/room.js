// Room for the tallest of some texts, in a file of its own: few figures need it.

import { el } from "./elements.js";

/**
 * A paragraph around `part`, as tall at any width as the tallest of `texts`: what stands below does
 * not jump. Those that are not shown are drawn unseen, and are no text of the page.
 */
export const room = (name, part, texts) =>
  el(
    "p",
    { class: `${name} sl-room` },
    part,
    texts.map((words) => el("span", { class: "sl-ghost", "data-words": words })),
  );
