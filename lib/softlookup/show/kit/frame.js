// What every figure has beside itself: a reset, a link that carries its state, a height that holds.
// It is a script of its own, beside the figure's, and so imports nothing.

const CONTROLS = "input, select, textarea, button, summary, [role=slider]";
const OWN_RESETS = ["Reset", "Start again"];
// Characters of a state; a link that is longer may be cut on its way.
const LONGEST = 4000;

/** Open a figure in its root: mount(root) draws it, now and after each reset. */
export function open(root, mount) {
  const log = [];
  printStill(root);
  let base = [];
  const start = (steps) => {
    base = steps;
    log.length = 0;
    root.style.minHeight = "";
    root.replaceChildren();
    mount(root);
    for (const step of steps) replay(root, step);
  };
  const reset = foot("Reset", () => start([]));
  const link = foot("Link to this state", () => share(root, link, [...base, ...log]));
  start(stepsOf(stateIn(location.search, nameOf(root))));
  record(root, log);
  holdHeight(root);
  const buttons = [!hasReset(root) && reset, root.closest(".bk-article") && link].filter(Boolean);
  if (buttons.length === 0) return;
  const row = document.createElement("div");
  row.className = "sl-foot";
  row.append(...buttons);
  root.after(row);
}

/** On paper a figure that nobody has used shows its still, where it has a picture of one. */
function printStill(root) {
  const words = root.querySelector("noscript")?.textContent ?? "";
  const still = new DOMParser().parseFromString(words, "text/html").body;
  if (still.querySelector("svg") === null) return;
  // What the figure shows, in words: its label says it.
  still.firstChild.remove();
  const printed = Object.assign(document.createElement("div"), { className: "sl-printed" });
  printed.append(...still.childNodes);
  root.after(printed);
  const used = ({ isTrusted }) => isTrusted && printed.remove();
  for (const kind of ["click", "input"]) root.addEventListener(kind, used, true);
}

function foot(words, onclick) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "sl-foot-button", textContent: words });
  // A notebook leaves the keys to it.
  button.dataset.lmSuppressShortcuts = "true";
  button.addEventListener("click", onclick);
  return button;
}

const nameOf = (root) => root.closest("figure").id;
const hasReset = (root) =>
  [...root.querySelectorAll("button")].some((one) => OWN_RESETS.includes(one.textContent));

// The state of a figure is what its reader did, step by step: "i3:0.5" is a value put into control
// 3, "b4" a button pressed, "k2:ArrowUp" a key on a handle, "d2:0.31:0.7" a handle dragged to a
// place, in shares of the picture. A "*5" behind a step repeats it.

const places = (root) => [...root.querySelectorAll(CONTROLS)];

function record(root, log) {
  const add = (kind, one, value, { merge = false } = {}) => {
    const at = places(root).indexOf(one);
    if (at < 0) return;
    const last = log.at(-1);
    const same = last && last.kind === kind && last.at === at;
    if (same && merge) last.value = value;
    else if (same && last.value === value) last.count += 1;
    else log.push({ kind, at, value, count: 1 });
  };
  const moved = ({ isTrusted, target }) => {
    const ticks = target.matches("[type=radio], [type=checkbox]");
    // a hidden field tells what a reader did elsewhere in the figure
    if (isTrusted || target.type === "hidden") add("i", target, ticks ? "" : target.value, { merge: !ticks });
  };
  const clicked = ({ isTrusted, target }) => {
    const one = target.closest("button, summary");
    if (isTrusted && one) add("b", one, "");
  };
  // Before the figure answers, and changes its parts.
  root.addEventListener("input", moved, true);
  root.addEventListener("click", clicked, true);
  root.addEventListener("keydown", (event) => {
    const { isTrusted, defaultPrevented, target, key, shiftKey } = event;
    if (!isTrusted || !defaultPrevented || !target.matches("[role=slider]")) return;
    add("k", target, (shiftKey ? "Shift+" : "") + key);
  });
  root.addEventListener("pointermove", ({ isTrusted, buttons, target, clientX, clientY }) => {
    const one = target.closest?.("[role=slider]");
    if (!isTrusted || !one || !buttons) return;
    const box = one.ownerSVGElement.getBoundingClientRect();
    const shares = [(clientX - box.left) / box.width, (clientY - box.top) / box.height];
    add("d", one, shares.map((share) => share.toFixed(3)).join(":"), { merge: true });
  });
}

/** Do again what a reader did; what is no longer there is passed over. */
function replay(root, { kind, at, value, count }) {
  for (let k = 0; k < count; k += 1) {
    const one = places(root)[at];
    if (!one) return;
    if (kind === "b" || one.matches("[type=radio], [type=checkbox]")) one.click();
    else if (kind === "i") put(one, value);
    else if (kind === "k") press(one, value);
    else if (one.matches("[role=slider]")) drag(one, value.split(":").map(Number));
  }
}

function put(one, value) {
  one.value = value;
  for (const name of ["input", "change"]) one.dispatchEvent(new Event(name, { bubbles: true }));
}

function press(one, value) {
  const key = value.replace("Shift+", "");
  const shiftKey = value !== key;
  one.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true, cancelable: true }));
}

function drag(one, [across, down]) {
  if (!Number.isFinite(across + down)) return;
  const box = one.ownerSVGElement.getBoundingClientRect();
  const clientX = box.left + across * box.width;
  const clientY = box.top + down * box.height;
  for (const name of ["pointerdown", "pointermove", "pointerup"]) {
    one.dispatchEvent(new PointerEvent(name, { clientX, clientY, bubbles: true }));
  }
}

const written = (steps) =>
  steps
    .map(({ kind, at, value, count }) => {
      const safe = encodeURIComponent(value).replaceAll("~", "%7E").replaceAll("*", "%2A");
      return `${kind}${at}${safe && `:${safe}`}${count > 1 ? `*${count}` : ""}`;
    })
    .join("~");

const stateIn = (search, name) =>
  search
    .slice(1)
    .split("&")
    .find((part) => part.startsWith(`${name}=`))
    ?.slice(name.length + 1) ?? "";

/** The steps that a link names; what is no step is passed over. */
function stepsOf(text) {
  return text.split("~").flatMap((step) => {
    const found = /^([ibkd])(\d{1,4})(?::([^*]*))?(?:\*(\d{1,3}))?$/.exec(step);
    if (!found) return [];
    const [, kind, at, value = "", count = 1] = found;
    try {
      return [{ kind, at: Number(at), value: decodeURIComponent(value), count: Number(count) }];
    } catch {
      return [];
    }
  });
}

/** Put the link into the address bar and the clipboard, and say so on the button. */
async function share(root, button, steps) {
  const words = button.textContent;
  const state = written(steps);
  const url = new URL(location.href);
  url.search = `?${nameOf(root)}=${state}`;
  url.hash = nameOf(root);
  let said = "Too many steps for a link";
  if (state.length <= LONGEST) {
    said = "The link is in the address bar";
    try {
      history.replaceState(null, "", url);
      await navigator.clipboard.writeText(url.href);
      said = "Link copied";
    } catch {
      // A browser may forbid either; the address bar is the usual place.
    }
  }
  button.textContent = said;
  setTimeout(() => (button.textContent = words), 2500);
}

/** A figure that grew stays as tall, so that what stands below does not jump. */
function holdHeight(root) {
  let width = 0;
  new ResizeObserver(() => {
    if (root.clientWidth !== width) root.style.minHeight = "";
    width = root.clientWidth;
    const tallest = Math.max(root.offsetHeight, parseFloat(root.style.minHeight) || 0);
    root.style.minHeight = `${tallest}px`;
  }).observe(root);
  // what is folded away gives its room back
  root.addEventListener("toggle", () => (root.style.minHeight = ""), true);
}
