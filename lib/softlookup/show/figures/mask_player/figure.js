// The mask player: hide words and guess them, or shift the text and guess what comes next.

import { button, choices, field, form, liveRegion, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { random, sum } from "../../kit/maths.js";
import { row, scroller, table } from "../../kit/table.js";
import { corrupted, expectedShares, fate, leaks, targets, visible } from "./maths.js";

const MOST = 24;
const MANY = 1000;
const KINDS = [
  ["free", "left alone"],
  ["hidden", "hidden"],
  ["replaced", "replaced"],
  ["kept", "kept"],
];
const NAMES = Object.fromEntries(KINDS);

const percent = (share) => `${(100 * share).toFixed(1)}%`;

class Player {
  constructor(root, data) {
    Object.assign(this, data, { task: "gaps", shift: 1, causal: true, reader: 0 });
    this.shares = { share: data.share, hidden: data.hidden, replaced: data.replaced };
    this.next = random(data.seed);
    this.live = liveRegion("mp-live");
    this.cards = el("div", { class: "mp-cards", role: "list" });
    this.line = el("input", {
      type: "text",
      class: "mp-line",
      value: data.text,
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.type(),
    });
    this.gaps = this.gapControls();
    this.shifts = this.shiftControls();
    this.form = form(
      "mp-player",
      el(
        "div",
        { class: "sl-controls mp-first" },
        choices(
          "The task",
          "task",
          [
            ["gaps", "fill the gaps (BERT)"],
            ["next", "say the next (GPT)"],
          ],
          this.task,
          (value) => {
            this.task = value;
            this.update();
          },
        ),
        field("The text", this.line, "mp-wide"),
      ),
      this.gaps,
      this.shifts,
      this.live,
      this.cards,
      this.table(),
    );
    root.append(this.form);
    this.type();
  }

  slider(key, text) {
    const made = slider(
      text,
      { name: key, min: 0, max: 100 },
      (value) => this.move(key, value / 100),
      "mp-field",
    );
    this.sliders = { ...this.sliders, [key]: made };
    return made.field;
  }

  gapControls() {
    return el(
      "div",
      { class: "sl-controls mp-gaps" },
      this.slider("share", "chosen, of all words"),
      this.slider("hidden", "hidden, of the chosen"),
      this.slider("replaced", "replaced, of the chosen"),
      el(
        "div",
        { class: "mp-buttons" },
        button("Draw again", () => this.draw(1), { class: "sl-button mp-draw" }),
        button(`Draw ${MANY} times`, () => this.draw(MANY), { class: "sl-button mp-many" }),
      ),
    );
  }

  shiftControls() {
    return el(
      "div",
      { class: "sl-controls mp-shifts" },
      choices(
        "Each word says the word",
        "shift",
        [
          ["0", "at its place"],
          ["1", "one on"],
          ["2", "two on"],
        ],
        "1",
        (value) => {
          this.shift = Number(value);
          this.update();
        },
      ),
      choices(
        "Each word may read",
        "reads",
        [
          ["past", "itself and the past"],
          ["all", "all words"],
        ],
        "past",
        (value) => {
          this.causal = value === "past";
          this.update();
        },
      ),
    );
  }

  table() {
    this.cells = Object.fromEntries(KINDS.map(([kind]) => [kind, [el("td"), el("td"), el("td")]]));
    const heads = ["a word is", "drawn", "share", "in the long run"];
    const rows = KINDS.map(([kind, name]) => row(name, this.cells[kind]));
    this.counts = scroller("Counts of all draws", table("mp-table", heads, rows));
    this.counts.classList.add("mp-counts");
    return this.counts;
  }

  words() {
    return this.line.value
      .trim()
      .split(/\s+/u)
      .filter((word) => word !== "");
  }

  type() {
    const n = this.words().length;
    this.fault =
      n < 2 ? "Two words at least, please." : n > MOST ? `At most ${MOST} words, please.` : null;
    this.line.setAttribute("aria-invalid", String(this.fault !== null));
    for (const button of this.gaps.querySelectorAll("button"))
      button.disabled = this.fault !== null;
    if (this.fault !== null) {
      this.live.textContent = this.fault;
      return;
    }
    this.reader = Math.min(this.reader, n - 1);
    this.restart();
    this.draw(1);
  }

  move(key, value) {
    this.shares[key] = value;
    const other = { hidden: "replaced", replaced: "hidden" }[key];
    if (other && value + this.shares[other] > 1) {
      // together they are at most all of the chosen
      this.shares[other] = Math.round(100 * (1 - value)) / 100;
    }
    this.restart();
    this.draw(1);
  }

  restart() {
    this.tally = { free: 0, hidden: 0, replaced: 0, kept: 0 };
  }

  draw(times) {
    if (this.fault !== null) return;
    const words = this.words();
    for (let k = 0; k < times; k += 1) {
      this.draws = words.map(() => [this.next(), this.next(), this.next()]);
      for (const [u, v] of this.draws) this.tally[fate(u, v, this.shares)] += 1;
    }
    this.update();
  }

  update() {
    const gaps = this.task === "gaps";
    this.gaps.hidden = this.counts.hidden = !gaps;
    this.shifts.hidden = gaps;
    for (const [key, { show }] of Object.entries(this.sliders)) {
      const share = Math.round(100 * this.shares[key]);
      show(`${share}%`, share);
    }
    if (this.fault !== null) return;
    const words = this.words();
    const read = gaps
      ? corrupted(words, this.draws, this.shares, this.vocabulary, this.mask)
      : words.map((word) => ({ kind: "next", reads: word }));
    const says = gaps
      ? read.map(({ kind }, i) => (kind === "free" ? null : words[i]))
      : targets(words, this.shift);
    const sees = visible(this.reader, words.length, !gaps && this.causal);
    this.cards.replaceChildren(...read.map((part, i) => this.card(i, part, says[i], sees[i])));
    this.live.textContent = gaps ? this.gapStory(read, says) : this.shiftStory(words, says);
    this.showCounts();
  }

  card(i, { kind, reads }, says, seen) {
    const under = kind === "next" ? "" : NAMES[kind];
    const button = el(
      "button",
      {
        type: "button",
        class: "mp-reads",
        "aria-pressed": String(i === this.reader),
        onclick: () => {
          this.reader = i;
          this.update();
          this.cards.querySelectorAll(".mp-reads")[i].focus();
        },
      },
      reads,
    );
    return el(
      "div",
      { class: `mp-card mp-${kind}${seen ? "" : " mp-unseen"}`, role: "listitem" },
      button,
      el("span", { class: "mp-kind" }, seen ? under : "not read"),
      el(
        "span",
        { class: "mp-says" },
        el("span", { class: "mp-arrow" }, says === null ? "" : "says "),
        says === null ? "–" : says,
      ),
    );
  }

  gapStory(read, says) {
    const chosen = read.filter(({ kind }) => kind !== "free");
    if (chosen.length === 0) return "No word was chosen: from this draw nothing can be learned.";
    const seen = read.filter(({ kind, reads }, i) => kind !== "free" && reads === says[i]).length;
    const words = `${chosen.length} of ${read.length} words ${chosen.length === 1 ? "is" : "are"}`;
    return (
      `${words} in the loss, and every word is read. ` +
      (seen === 0
        ? "None of the answers can be seen."
        : `${seen} of the answers can be seen; the model does not know which.`)
    );
  }

  shiftStory(words, says) {
    const n = says.filter((word) => word !== null).length;
    const seen = leaks(words.length, this.shift, this.causal);
    const reader =
      `“${words[this.reader]}” reads ${this.causal ? this.reader + 1 : words.length} ` +
      `of ${words.length} words`;
    const answer = says[this.reader];
    const own =
      answer === null
        ? `${reader} and has nothing to say.`
        : `${reader} and should say “${answer}”.`;
    const all = `${n} ${n === 1 ? "word is" : "words are"} in the loss, `;
    return (
      `${own} ${all}` +
      (seen === 0
        ? "and no answer can be seen."
        : `and ${seen} of the answers can be seen: copying is enough, ` +
          "and nothing about the language need be learned.")
    );
  }

  showCounts() {
    const all = sum(Object.values(this.tally));
    const expected = expectedShares(this.shares);
    for (const [kind, [count, share, limit]] of Object.entries(this.cells)) {
      count.textContent = String(this.tally[kind]);
      share.textContent = percent(this.tally[kind] / all);
      limit.textContent = percent(expected[kind]);
    }
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Player(root, data);
}
