// The next words: type a beginning, see six models' bars, draw a word with a seed.

import { button, controls, field, liveRegion } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { drawn, random } from "../../kit/maths.js";
import { meter } from "../../kit/meters.js";
import { format } from "../../kit/numbers.js";
import { idsOf, modelsOf } from "./maths.js";

const SHOWN = 5;
const LONGEST = 30;

// The ids of the most probable words.
const bestOf = (p) =>
  p
    .map((_, id) => id)
    .sort((a, b) => p[b] - p[a] || a - b)
    .slice(0, SHOWN);

function panel(name, p, words, longest) {
  const head = el("p", { class: "nw-name" }, name);
  if (p === null) {
    const why = "never seen: 0 of 0 is no probability";
    return el("section", { class: "nw-panel", "aria-label": name }, head, el("p", {}, why));
  }
  const rows = bestOf(p).map((id) => {
    const { row, show } = meter(id === words.length - 1 ? "(end)" : words[id]);
    show(p[id] / longest, p[id].toFixed(3));
    return row;
  });
  return el("section", { class: "nw-panel", "aria-label": name }, head, rows);
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  const models = modelsOf(data);
  const panels = el("div", { class: "nw-panels" });
  const live = liveRegion();
  let next = random(1);

  function state() {
    const found = idsOf(line.value, data.words);
    if (found.unknown.length > 0) return { fault: `No model has read “${found.unknown[0]}”.` };
    if (found.ids.length > LONGEST) return { fault: `At most ${LONGEST} words, please.` };
    return found;
  }

  function update(says = "") {
    const { ids, fault } = state();
    line.setAttribute("aria-invalid", String(fault !== undefined));
    draw.disabled = fault !== undefined;
    live.textContent = fault ?? says;
    if (fault !== undefined) {
      panels.replaceChildren(); // bars of another text would look like an answer
      return;
    }
    const rows = Object.entries(models).map(([name, model]) => [name, model(ids)]);
    const longest = Math.max(...rows.map(([, p]) => (p === null ? 0 : p[bestOf(p)[0]])));
    panels.replaceChildren(...rows.map(([name, p]) => panel(name, p, data.words, longest)));
  }

  function sample() {
    const { ids, fault } = state();
    if (fault !== undefined) return;
    const p = models[chosen.value](ids);
    if (p === null) {
      update(`The ${chosen.value} never saw these words and cannot go on.`);
      return;
    }
    const id = drawn(p, next());
    if (id === data.words.length - 1) {
      update(`The ${chosen.value} drew the end of the text (${format(p[id], 3)}).`);
      return;
    }
    line.value = `${line.value.trim()} ${data.words[id]}`.trim();
    update(`The ${chosen.value} drew “${data.words[id]}” (${format(p[id], 3)}).`);
  }

  function again() {
    const value = Number(seed.value);
    const right =
      seed.value.trim() !== "" && Number.isInteger(value) && value >= 0 && value < 2 ** 32;
    seed.setAttribute("aria-invalid", String(!right));
    if (right) next = random(value);
    return right;
  }

  const line = el("input", {
    type: "text",
    class: "nw-line",
    value: data.prefix,
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => update(),
  });
  const seed = el("input", {
    type: "number",
    class: "nw-seed",
    value: 1,
    min: 0,
    step: 1,
    oninput: () => {
      live.textContent = again() ? "" : "The seed must be a whole number of at least 0.";
    },
  });
  const chosen = el(
    "select",
    { class: "nw-model" },
    Object.keys(models).map((name) => el("option", { value: name }, name)),
  );
  chosen.value = "trigram, Kneser-Ney";
  const draw = button("Draw the next word", sample, { class: "sl-button nw-draw" });
  const restart = button(
    "Start again",
    () => {
      line.value = data.prefix;
      if (again()) update("Back at the beginning, with the seed's first number.");
      else update("The seed must be a whole number of at least 0.");
    },
    { class: "sl-button nw-restart" },
  );
  root.append(
    controls(field("The text so far", line, "nw-wide")),
    controls(field("Drawn by", chosen), field("Seed", seed), draw, restart),
    live,
    panels,
  );
  update();
}
