// The BPE player: a text, a list of merges, and a place in that list to move to.

import { button, field, form, label, liveRegion, slider } from "../../kit/controls.js";
import { el, svg } from "../../kit/elements.js";
import { room } from "../../kit/room.js";
import { counted, format } from "../../kit/numbers.js";
import { countPairs, encode, learn, pieces, ranked, replay, tokenBytes } from "./maths.js";

const MOST_CHARACTERS = 2000;
const MOST_MERGES = 300;
const SHOWN = 5;
const IDS_SHOWN = 120;
const HUES = 6;
const DELAY = 700; // milliseconds between two merges of the running player
const SIGNS = { " ": "_", "\n": "↵", "\t": "⇥" };
const INVISIBLE = /[\p{White_Space}\p{C}]/u;
const MARK = /\p{M}/u;

/** A character as something to see: signs for spaces, a code point for what has no shape. */
const visible = (character, first = false) =>
  SIGNS[character] ??
  (INVISIBLE.test(character) || (first && MARK.test(character))
    ? `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`
    : character);

const hex = (byte) => byte.toString(16).toUpperCase().padStart(2, "0");

/** Bytes as one line of text, for names and for a screen reader. */
const nameOf = (bytes) =>
  pieces(bytes)
    .map(({ text, byte }, place) =>
      text === undefined ? `[${hex(byte)}]` : visible(text, place === 0),
    )
    .join("");

/** Bytes as elements: characters as they are, a lone byte as a small box with its hex value. */
const shapes = (bytes) =>
  pieces(bytes).map(({ text, byte }, place) => {
    if (text === undefined) return el("code", { class: "bp-byte" }, hex(byte));
    const shown = visible(text, place === 0);
    if (shown === text) return text;
    return el("span", { class: shown.length > 1 ? "bp-byte" : "bp-space" }, shown);
  });

const times = (n) => (n === 1 ? "once" : `${n} times`);

class Player {
  constructor(root, { examples, merges, source }) {
    this.trained = merges;
    this.source = source;
    this.build(examples);
    root.append(this.form);
    this.take(examples[0]);
  }

  build(examples) {
    this.form = form("bp-player");
    this.hint = el("span");
    this.area = el("textarea", {
      rows: 3,
      dir: "auto",
      spellcheck: "false",
      autocomplete: "off",
      oninput: () => this.edit(),
    });
    this.warning = el("p", { class: "sl-flag bp-warning", role: "status" });
    this.start = button("Start", () => this.go(0));
    this.back = button("Back", () => this.go(this.k - 1));
    this.play = button("Play", () => (this.timer ? this.pause() : this.run()));
    this.step = button("Step", () => this.go(this.k + 1));
    this.merges = slider("Merges", { min: 0 }, (k) => this.go(k), "bp-field");
    this.line = liveRegion("bp-line");
    this.tokens = el("div", {
      class: "bp-tokens",
      role: "region",
      tabindex: "0",
      "aria-label": "The text in tokens",
    });
    this.ids = el("p", { class: "sl-note bp-ids" });
    this.counter = el("dl", { class: "bp-counter" });
    this.curve = el("div", { class: "bp-curve" });
    this.lists = el("div", { class: "bp-lists" });
    this.form.append(
      el(
        "div",
        { class: "bp-examples", role: "group", "aria-label": "Examples" },
        examples.map((example) => button(example.label, () => this.take(example))),
      ),
      room(
        "sl-note bp-hint",
        this.hint,
        examples.map(({ hint = "" }) => hint),
      ),
      field("Your text", this.area),
      this.warning,
      this.modes(),
      el(
        "div",
        { class: "bp-controls" },
        this.start,
        this.back,
        this.play,
        this.step,
        this.merges.field,
      ),
      this.line,
      this.tokens,
      this.counter,
      el("div", { class: "bp-below" }, this.curve, this.lists),
      this.ids,
    );
  }

  modes() {
    const choice = (value, label) =>
      el(
        "label",
        { class: "sl-check" },
        el("input", { type: "radio", name: "mode", value, onchange: () => this.choose(value) }),
        label,
      );
    return el(
      "div",
      {
        class: "bp-modes",
        role: "radiogroup",
        "aria-label": "Merges",
        hidden: this.trained.length === 0,
      },
      label("Merges:"),
      choice("learn", "learned from this text"),
      choice("trained", `learned from ${this.source}`),
    );
  }

  /** Start from an example: its text, its mode, the first merge still to come. */
  take({ text, hint, mode = "learn" }) {
    this.area.value = text;
    this.choose(mode, hint);
  }

  choose(mode, hint = "") {
    this.mode = mode;
    this.hint.textContent = hint;
    this.form.elements.mode.value = mode;
    this.refresh(mode === "learn" ? 0 : this.trained.length);
  }

  /** The text is the reader's own now: the example's hint does not speak of it. */
  edit() {
    this.hint.textContent = "";
    this.refresh(this.mode === "learn" ? 0 : this.k);
  }

  /** Find the merges for this text, and go to a place in their list. */
  refresh(k) {
    const characters = [...this.area.value];
    this.text = characters.slice(0, MOST_CHARACTERS).join("");
    this.warning.textContent =
      characters.length > MOST_CHARACTERS
        ? `Only the first ${counted(MOST_CHARACTERS, "character")} are used.`
        : "";
    this.course =
      this.mode === "learn"
        ? learn(this.text, MOST_MERGES)
        : { merges: this.trained, lengths: replay(this.text, this.trained) };
    this.table = tokenBytes(this.course.merges);
    this.merges.input.max = this.course.merges.length;
    this.go(k);
  }

  go(k) {
    const last = this.course.merges.length;
    this.k = Math.max(0, Math.min(k, last));
    if (this.k === last) this.pause();
    this.chunks = encode(this.text, this.course.merges, this.k);
    const size = (256 + this.k).toLocaleString("en-GB");
    const spoken = `${this.k} merges, vocabulary of ${size}`;
    this.merges.show(`${this.k} of ${last} · vocabulary: ${size}`, this.k, spoken);
    for (const control of [this.start, this.back]) control.disabled = this.k === 0;
    for (const control of [this.play, this.step]) control.disabled = this.k === last;
    this.line.textContent = this.says();
    this.showTokens();
    this.showCounter();
    this.showCurve();
    this.showLists();
  }

  run() {
    this.play.textContent = "Pause";
    this.timer = setInterval(() => this.go(this.k + 1), DELAY);
    this.go(this.k + 1);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "Play";
  }

  /** What the last merge did, and what comes next. */
  says() {
    if (this.text === "") return "No text yet: type some.";
    const { merges, lengths, counts } = this.course;
    const pair = (m) => merges[m].map((id) => nameOf(this.table[id])).join(" + ");
    const saved = (m) => lengths[m] - lengths[m + 1];
    const parts = [];
    if (this.k > 0) {
      const m = this.k - 1;
      const made = nameOf(this.table[256 + m]);
      const told = saved(m) === 0 ? "does not occur here" : `saves ${counted(saved(m), "token")}`;
      parts.push(`${pair(m)} becomes ${made}, id ${256 + m}; ${told}.`);
    }
    if (this.k < merges.length) {
      const often = counts ? `, ${times(counts[this.k])}` : "";
      parts.push(`Next: ${pair(this.k)}${often}.`);
    } else if (counts) {
      parts.push(
        this.k === MOST_MERGES
          ? `The player stops at ${MOST_MERGES}.`
          : "No pair occurs twice any more.",
      );
    }
    return parts.join(" ");
  }

  showTokens() {
    const newest = this.k > 0 ? 255 + this.k : null;
    const token = (id) =>
      el(
        "span",
        { "data-id": id, class: `bp-token bp-hue-${id % HUES}${id === newest ? " bp-new" : ""}` },
        shapes(this.table[id]),
      );
    this.tokens.replaceChildren(
      ...this.chunks.map((ids) => el("span", { class: "bp-chunk" }, ids.map(token))),
    );
    const ids = this.chunks.flat();
    const more = ids.length > IDS_SHOWN ? ` … and ${ids.length - IDS_SHOWN} more` : "";
    this.ids.textContent = ids.length ? `Ids: ${ids.slice(0, IDS_SHOWN).join(" ")}${more}` : "";
  }

  showCounter() {
    const { lengths } = this.course;
    const tokens = lengths[this.k];
    const share = tokens ? format(lengths[0] / tokens, 3) : "–";
    const rows = [
      ["characters", [...this.text].length],
      ["bytes", lengths[0]],
      ["tokens", tokens],
      ["bytes per token", share],
    ];
    this.counter.replaceChildren(
      ...rows.map(([name, value]) =>
        el(
          "div",
          { class: name === "tokens" ? "bp-main" : null },
          el("dt", null, name),
          el("dd", null, value.toLocaleString("en-GB")),
        ),
      ),
    );
  }

  /** Tokens against merges, with the place where we are. */
  showCurve() {
    const { lengths } = this.course;
    const [wide, high, top] = [260, 96, Math.max(lengths[0], 1)];
    const x = (k) => 6 + ((wide - 12) * k) / Math.max(lengths.length - 1, 1);
    const y = (n) => 6 + (high - 12) * (1 - n / top);
    const place = (n, k) => `${x(k).toFixed(1)},${y(n).toFixed(1)}`;
    const name =
      `Tokens fall from ${lengths[0]} to ${lengths.at(-1)} over ` +
      `${counted(lengths.length - 1, "merge")}; here ${lengths[this.k]}.`;
    this.curve.replaceChildren(
      el("p", { class: "sl-label" }, "Tokens, merge by merge"),
      svg(
        "svg",
        { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": name },
        svg("path", { d: `M6,${y(0)}H${wide - 6}`, class: "bp-axis" }),
        svg("polyline", { points: lengths.map(place).join(" "), class: "bp-path" }),
        svg("circle", { cx: x(this.k), cy: y(lengths[this.k]), r: 5, class: "bp-dot" }),
      ),
    );
  }

  showLists() {
    const name = (id) =>
      el("span", { class: `bp-token bp-hue-${id % HUES}` }, shapes(this.table[id]));
    const row = (pair, note) =>
      el(
        "li",
        null,
        name(pair[0]),
        " + ",
        name(pair[1]),
        " ",
        el("span", { class: "bp-note" }, note),
      );
    const list = (label, rows, empty) =>
      el(
        "div",
        null,
        el("p", { class: "sl-label" }, label),
        rows.length ? el("ol", { class: "bp-list" }, rows) : el("p", { class: "sl-note" }, empty),
      );
    const latest = this.course.merges
      .slice(0, this.k)
      .map((pair, m) => row(pair, `→ id ${256 + m}`));
    const candidates = ranked(countPairs(this.chunks))
      .slice(0, SHOWN)
      .map(({ pair, count }) => row(pair, times(count)));
    this.lists.replaceChildren(
      list("Most frequent pairs now", candidates, "No pair is left."),
      list("Latest merges", latest.slice(-SHOWN).reverse(), "None yet."),
    );
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  return new Player(root, data);
}
