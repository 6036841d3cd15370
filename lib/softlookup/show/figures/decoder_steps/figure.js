// The decoder step: twelve frames from the source to the next word, with scores to overwrite.

import { button, choices, form, liveRegion, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { softmax } from "../../kit/maths.js";
import { fixed } from "../../kit/numbers.js";
import { largest, stepParts, unpacked } from "./maths.js";
import {
  Bar,
  CONTEXT,
  EXPONENTIALS,
  FIRST_SCORE,
  FRAMES,
  formula,
  Grid,
  MOST,
  SCORES,
  Strip,
  WEIGHTED,
  WEIGHTS,
  WORD,
} from "./parts.js";

// Milliseconds between two frames of the running figure.
const DELAY = 2200;
const WORDS_SHOWN = 5;
const quoted = (word) => `“${word}”`;

class Steps {
  constructor(root, data) {
    Object.assign(this, unpacked(data), { t: 0, frame: 0, timer: null });
    this.own = data.scores;
    this.scores = data.scores.map((row) => [...row]);
    this.build();
    root.append(this.form);
    this.form.elements.word.value = "0";
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.still.addEventListener("change", () => this.update());
    this.update();
  }

  build() {
    this.back = button("Back", () => this.go(this.frame - 1));
    this.next = button("Next", () => this.forward());
    this.play = button("Play", () => (this.timer ? this.pause() : this.run()));
    this.slider = slider(
      "",
      { min: 1, max: FRAMES.length, "aria-label": "Frame" },
      (frame) => this.go(frame - 1),
      "ds-field",
    );
    this.title = el("p", { class: "ds-title" });
    this.says = el("p", { class: "ds-says" });
    this.live = liveRegion("ds-live");
    this.reset = button("The model's own scores", () => this.set([...this.own[this.t]]));
    this.equal = button("All equal", () => this.set(this.source.map(() => 0)));
    this.numbers = el("p", {
      class: "ds-numbers",
      tabindex: 0,
      role: "group",
      "aria-label": "The numbers of this frame",
    });
    this.grid = new Grid(this.source, this.target);
    this.form = form(
      "ds-steps",
      choices(
        "The word to write",
        "word",
        this.target.map((word, t) => [String(t), word]),
        null,
        (value) => this.choose(Number(value)),
      ),
      el("div", { class: "ds-text" }, this.title, this.says),
      this.sourceRows(),
      el("div", { class: "ds-below" }, this.decoderRows(), this.matrix()),
      el(
        "div",
        { class: "ds-controls" },
        this.live,
        el("div", { class: "ds-buttons" }, this.back, this.next, this.play),
        this.slider.field,
      ),
      el(
        "details",
        { class: "ds-details" },
        el("summary", null, "The numbers of this frame"),
        this.numbers,
      ),
      el(
        "p",
        { class: "ds-legend" },
        `A strip is a row of numbers, up to the first ${MOST}: `,
        el("b", { class: "ds-blue" }, "blue"),
        " above 0, ",
        el("b", { class: "ds-orange" }, "orange"),
        " below, full colour from 1 up. The words before are given, whatever you make of a step.",
      ),
    );
  }

  sourceRows() {
    this.rows = this.source.map((word, j) => this.sourceRow(word, j));
    this.heads = ["strip", "score", "weight"].map((name) =>
      el("span", { class: `ds-head-${name}` }),
    );
    return el(
      "div",
      { class: "ds-source" },
      el(
        "div",
        { class: "ds-row ds-head", "aria-hidden": "true" },
        el("span", null, "source"),
        this.heads,
      ),
      el(
        "div",
        { role: "list", "aria-label": "Source words" },
        this.rows.map(({ row }) => row),
      ),
      el("div", { class: "ds-buttons ds-presets" }, this.reset, this.equal),
    );
  }

  sourceRow(word, j) {
    const [strip, weighted] = [new Strip(this.d_context), new Strip(this.d_context)];
    const [bar, number] = [new Bar(), el("output", { class: "ds-number" })];
    const score = el("input", {
      type: "range",
      min: -this.bound,
      max: this.bound,
      step: 0.1,
      class: "sl-slider",
      "aria-label": `Score of ${quoted(word)}`,
      oninput: () => this.overwrite(j, score.valueAsNumber),
    });
    const cell = el("span", { class: "ds-score" }, score, number);
    const row = el(
      "div",
      { class: "ds-row", role: "listitem" },
      el("span", { class: "ds-word" }, word),
      el("span", { class: "ds-strips" }, strip.node, weighted.node),
      cell,
      bar.node,
    );
    strip.show(this.keys[j]);
    return { row, weighted, bar, number, score, cell };
  }

  decoderRows() {
    const named = (key, name, strips) => {
      const note = el("span", { class: "ds-name" }, name);
      const row = el(
        "div",
        { class: "ds-part", "data-part": key },
        note,
        el(
          "span",
          { class: "ds-strips" },
          strips.map((strip) => strip.node),
        ),
      );
      return { row, note, strips };
    };
    const [wide, narrow] = [() => new Strip(this.d_context), () => new Strip(this.d_hidden)];
    this.parts = {
      before: named("before", "", [narrow()]),
      state: named("state", "", [narrow()]),
      context: named("context", "", [wide()]),
      joined: named("joined", "", [wide(), narrow()]),
      mixed: named("mixed", "", [narrow()]),
    };
    this.likely = Array.from({ length: WORDS_SHOWN }, () => {
      const [word, bar] = [el("span", { class: "ds-word" }), new Bar()];
      return { word, bar, row: el("div", { class: "ds-guess", role: "listitem" }, word, bar.node) };
    });
    this.guesses = el(
      "div",
      { class: "ds-guesses", role: "list", "aria-label": "The likeliest words" },
      this.likely.map(({ row }) => row),
    );
    this.parts.joined.row.lastChild.style.gridTemplateColumns = `${this.d_context}fr ${this.d_hidden}fr`;
    return el(
      "div",
      { class: "ds-decoder" },
      el("p", { class: "ds-caption" }, "The decoder"),
      Object.values(this.parts).map(({ row }) => row),
      this.guesses,
    );
  }

  matrix() {
    return el(
      "div",
      { class: "ds-matrix" },
      el("p", { class: "ds-caption" }, "A, all steps at once"),
      this.grid.node,
    );
  }

  /** To another frame of this step. */
  go(frame) {
    this.pause();
    this.show(frame);
  }

  show(frame) {
    this.frame = Math.max(0, Math.min(frame, WORD));
    this.update();
  }

  forward() {
    if (this.frame < WORD) return this.go(this.frame + 1);
    this.choose(this.t + 1);
    // The source has been read: the next step begins at the word before.
    return this.show(1);
  }

  choose(t) {
    this.pause();
    this.t = t;
    this.form.elements.word.value = String(t);
    this.update();
  }

  overwrite(j, score) {
    this.pause();
    this.scores[this.t][j] = score;
    this.update();
  }

  set(scores) {
    this.pause();
    this.scores[this.t] = scores;
    this.update();
  }

  run() {
    this.timer = setInterval(() => {
      this.show(this.frame + 1);
      if (this.frame === WORD) this.pause();
    }, DELAY);
    this.show(this.frame === WORD ? 0 : this.frame + 1);
    if (this.frame === WORD) this.pause();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "Play";
  }

  update() {
    if (this.still?.matches) this.pause();
    this.now = stepParts(this, this.t, this.scores[this.t]);
    this.mine = stepParts(this, this.t, this.own[this.t]);
    this.changed = this.scores[this.t].some((score, j) => score !== this.own[this.t][j]);
    this.showControls();
    this.showFrame();
    this.rows.forEach((row, j) => this.showRow(row, j));
    this.showDecoder();
    this.grid.show(this.scores.map(softmax), this.t, this.frame >= WEIGHTS);
    this.live.textContent = this.finding();
    this.numbers.textContent = this.listed();
  }

  showControls() {
    const last = this.t === this.target.length - 1;
    this.play.textContent = this.timer ? "Pause" : "Play";
    this.play.hidden = Boolean(this.still?.matches);
    this.back.disabled = this.frame === 0;
    this.next.disabled = this.frame === WORD && last;
    this.next.textContent = this.frame === WORD && !last ? "Next word" : "Next";
    const [title] = FRAMES[this.frame];
    const place = this.frame + 1;
    this.slider.show(`${place} of ${FRAMES.length}: ${title}`, place, `${place}, ${title}`);
    this.reset.disabled = !this.changed;
    for (const node of [this.reset, this.equal])
      node.classList.toggle("ds-later", this.frame < SCORES);
  }

  showFrame() {
    const [title, formulaText, says] = FRAMES[this.frame];
    const text = formulaText
      .replace("{score0}", this.score.replace("k_j", "k_0"))
      .replace("{score}", this.score);
    this.title.replaceChildren(el("b", null, `${this.frame + 1}. ${title}`), " ", formula(text));
    this.says.textContent = says;
    const bar = this.frame >= WEIGHTS ? "weight a" : "exponential e";
    const heads = [
      `its row k${this.frame < WEIGHTED ? "" : "; below it a · k"}`,
      this.frame < FIRST_SCORE ? "" : "score s",
      this.frame < EXPONENTIALS ? "" : bar,
    ];
    this.heads.forEach((head, i) => {
      head.textContent = heads[i];
    });
  }

  showRow({ row, weighted, bar, number, score, cell }, j) {
    const value = this.scores[this.t][j];
    const isOpen = this.frame >= SCORES || (this.frame === FIRST_SCORE && j === 0);
    const isOwn = value === this.own[this.t][j];
    cell.classList.toggle("ds-later", !isOpen);
    score.disabled = this.frame < SCORES;
    score.value = value;
    score.setAttribute("aria-valuetext", `${fixed(value)}${isOwn ? "" : ", overwritten"}`);
    number.textContent = fixed(value);
    number.classList.toggle("ds-over", !isOwn);
    bar.show(this.frame >= WEIGHTS ? this.now.weights[j] : this.now.exponentials[j]);
    bar.node.classList.toggle("ds-later", this.frame < EXPONENTIALS);
    weighted.show(this.now.weighted[j]);
    weighted.node.classList.toggle("ds-later", this.frame < WEIGHTED);
    row.classList.toggle("ds-asked", this.frame === FIRST_SCORE && j === 0);
  }

  showDecoder() {
    const { t, frame, now } = this;
    const seen = { before: 1, state: 2, context: CONTEXT, joined: CONTEXT + 1, mixed: WORD - 1 };
    const names = {
      before: "old state h_{t−1}",
      state: "new state h_t",
      context: "context c_t",
      joined: "side by side [c_t; h_t]",
      mixed: "mixed m_t",
    };
    const values = {
      before: [this.states[t]],
      state: [this.states[t + 1]],
      context: [now.context],
      joined: [now.context, this.states[t + 1]],
      mixed: [now.mixed],
    };
    const keys = Object.keys(seen);
    for (const [key, { row, note, strips }] of Object.entries(this.parts)) {
      note.replaceChildren(
        formula(names[key]),
        key === "before" ? `, and the word before: ${this.before[t]}` : "",
      );
      strips.forEach((strip, k) => strip.show(values[key][k]));
      row.classList.toggle("ds-later", frame < seen[key]);
      row.classList.toggle("ds-now", frame === seen[key]);
      const next = seen[keys[keys.indexOf(key) + 1]] ?? WORD;
      row.classList.toggle("ds-past", frame >= next);
    }
    const places = largest(now.probabilities, WORDS_SHOWN);
    this.likely.forEach(({ word, bar, row }, k) => {
      row.hidden = k >= places.length;
      if (row.hidden) return;
      word.textContent = this.words[places[k]];
      bar.show(now.probabilities[places[k]]);
    });
    this.guesses.classList.toggle("ds-later", frame < WORD);
    this.guesses.classList.toggle("ds-now", frame === WORD);
  }

  /** What this frame shows, in words. */
  finding() {
    const { frame, t, now } = this;
    const [top] = largest(this.scores[t], 1);
    const [word, weight] = [quoted(this.source[top]), now.weights[top].toFixed(3)];
    const count = `${this.d_hidden} numbers`;
    const begin = t === 0 ? "Nothing is written yet." : `Just written: ${quoted(this.before[t])}.`;
    const read = now.weights
      .map((a, j) => [a, j])
      .filter(([a]) => a >= 0.01)
      .map(([a, j]) => `${a.toFixed(2)} · ${quoted(this.source[j])}`)
      .join(" + ");
    const sum = now.exponentials.reduce((a, b) => a + b, 0).toFixed(3);
    const told = [
      `${this.source.length} words, ${this.d_context} numbers each.`,
      `${begin} The old state has ${count}.`,
      `${count}, from the word before and the old state.`,
      `${quoted(this.source[0])} gets the score ${fixed(this.scores[t][0])}.`,
      `The largest score is that of ${word}: ${fixed(this.scores[t][top])}.`,
      `${word} has 1; all together have ${sum}.`,
      `${word} gets ${weight}; all together get 1.`,
      `The brightest row is that of ${word}, with ${weight}.`,
      `What was read: ${read}${read.includes("+") ? "" : ", and next to nothing else"}.`,
      `${this.d_context} numbers that were read, and ${this.d_hidden} of the state.`,
      `${count} between −1 and 1.`,
      `It writes ${this.written(now, ", with probability ")}.`,
    ][frame];
    return this.changed && frame >= SCORES ? `${told} ${this.compared()}` : told;
  }

  /** The word with the largest probability. */
  written({ probabilities }, between = ", ") {
    const [first] = largest(probabilities, 1);
    return `${quoted(this.words[first])}${between}${probabilities[first].toFixed(3)}`;
  }

  compared() {
    const own = this.written(this.mine);
    return this.frame === WORD
      ? `With its own scores: ${own}.`
      : `You make it write ${this.written(this.now)}; by itself ${own}.`;
  }

  /** All numbers of this frame. */
  listed() {
    const { frame, t, now } = this;
    const row = (values) => values.map((value) => fixed(value, 3)).join("  ");
    const named = (values) =>
      values
        .map((value, j) => `${this.source[j]}: ${Array.isArray(value) ? row(value) : row([value])}`)
        .join("\n");
    const words = largest(now.probabilities, 20)
      .map((w) => `${this.words[w]}: ${now.probabilities[w].toFixed(3)}`)
      .join("\n");
    const state = this.states[t + 1];
    return [
      named(this.keys),
      row(this.states[t]),
      row(state),
      row([this.scores[t][0]]),
      named(this.scores[t]),
      named(now.exponentials),
      named(now.weights),
      named(now.weighted),
      row(now.context),
      row(now.joined),
      row(now.mixed),
      words,
    ][frame];
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Steps(root, data);
}
