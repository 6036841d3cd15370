// The workshop: a trained model writes, is looked into, and is changed.

import {
  button,
  choices,
  controls,
  field,
  form,
  liveRegion,
  say,
  slider,
} from "../../kit/controls.js";
import { sharePaint, shareBar, shareColour } from "../../kit/colours.js";
import { el } from "../../kit/elements.js";
import { bits } from "../../kit/entropy.js";
import { ranked, softmax } from "../../kit/maths.js";
import { counted, fixed } from "../../kit/numbers.js";
import { row, scroller, table } from "../../kit/table.js";
import { samplingWeights } from "../sampling_filters/maths.js";
import { Changes } from "./changes.js";
import { Experiments } from "./experiments.js";
import { Ledger } from "./ledger.js";
import { seen, unknownLetters, written } from "./maths.js";
import { bytesOf, fetched, opened } from "./model.js";

const SHOWN = 8; // bars
const MAPPED = 48; // tokens in a map of attention: a pixel and a half each, on a phone
const TRIED = 121; // tokens that a change is tried on
const LONGEST = 2000; // letters of a beginning
const STORIES = 8;
const PANELS = {
  write: "Write",
  look: "Look",
  change: "Intervene",
  count: "Count",
  try: "Experiments",
};
const FULL = "The page keeps no longer text. Begin anew, or fork the story earlier.";
const KS = [1, 2, 3, 4, 5, 8, 10, 20, 50, 100, null];

class Workshop {
  constructor(root, data) {
    Object.assign(this, data, { root, ids: [], rows: [], at: 0, stories: [[]], story: 0 });
    this.model = null;
    this.line = Promise.resolve(); // what the reader asked for, one after the other
    this.waiting = null; // of it, what a later move of a slider may still replace
    this.head = [0, 0];
    this.byChance = data.chance !== null;
    this.sampling = { temperature: 1, k: null, p: 1, least: 0, ...data.chance };
    this.luck = 0; // how many texts were begun
    this.live = liveRegion("wk-live");
    this.stillText = el("p", { class: "wk-still" }, data.still.trim());
    const size = `${data.megabytes} MB`;
    this.fetch = button(`Fetch the model, ${size}`, () => this.open(), {
      class: "sl-button wk-fetch",
    });
    const all = { write: this.writing(), look: this.looking() };
    this.changes = new Changes(this);
    this.ledger = new Ledger(this);
    const others = { change: this.changes, count: this.ledger, try: new Experiments(this) };
    for (const [name, { bench }] of Object.entries(others)) all[name] = bench;
    this.benches = Object.fromEntries(data.panels.map((name) => [name, all[name]]));
    const [first] = data.panels;
    const names = data.panels.map((name) => [name, PANELS[name]]);
    this.picker = choices("What to do", "bench", names, first, (name) => this.turnTo(name));
    this.picker.hidden = names.length === 1;
    this.text = el("p", { class: "wk-text" });
    this.place = slider("Look behind token", { name: "token", min: 0, max: data.room - 1 }, (at) =>
      this.latest(() => this.select(at)),
    );
    const group = { role: "group", "aria-label": "The model and its text", tabindex: -1 };
    const parts = [this.picker, this.beginnings(), this.text];
    this.inside = el("div", { class: "wk-inside", hidden: true, ...group }, ...parts);
    const benches = Object.values(this.benches);
    this.below = el("div", { hidden: true }, this.place.field, this.writers, ...benches);
    root.append(
      form("wk-workshop", this.stillText, this.fetch, this.inside, this.live, this.below),
    );
    this.turnTo(first);
    say(
      this.live,
      "The model waits. Nothing is loaded until you ask for it; then all is computed in this page.",
    );
  }

  // Opening the model

  open() {
    if (this.asked) return;
    this.asked = true;
    say(this.live, "Fetching the model …");
    this.line = this.loading().catch((error) => {
      this.asked = false;
      say(this.live, `The model did not come: ${error.message}. Ask again, or reload the page.`);
      throw error;
    });
    this.line.catch(() => {});
  }

  async loading() {
    this.model = await opened(this, bytesOf(await fetched(this)));
    if (!this.root.contains(this.inside)) {
      this.model.close(); // the figure was reset meanwhile
      return;
    }
    this.root.workshopModel = this.model;
    this.known = knownTokens(this.model, this.seen);
    this.inside.hidden = false;
    this.below.hidden = false;
    this.stillText.hidden = true;
    const held = document.activeElement === this.fetch;
    this.fetch.hidden = true;
    if (held) this.inside.focus({ preventScroll: true }); // a keyboard goes on from here
    await this.begin(this.prompts[0]);
  }

  /** Do something when all that was asked before is done. */
  later(action) {
    this.waiting = null;
    this.line = this.line.then(async () => {
      if (this.model === null || !this.root.contains(this.inside)) return;
      try {
        await action();
      } catch (error) {
        say(this.live, `That did not work: ${error.message}.`);
      }
    });
    this.line.catch(() => {});
  }

  /** The same, but of several in a row, as a slider makes them, the last one alone. */
  latest(action) {
    if (this.waiting !== null) {
      this.waiting.action = action;
      return;
    }
    const one = { action };
    this.later(() => {
      if (this.waiting === one) this.waiting = null;
      return one.action();
    });
    this.waiting = one;
  }

  ask(what, data, onPart) {
    return this.model.ask(what, data, onPart);
  }

  words(id) {
    return this.model.tokenizer.decode([id]);
  }

  /** The text up to the chosen token, of a long one its end: what a change is tried on. */
  prompt() {
    return this.ids.slice(Math.max(0, this.at + 1 - TRIED), this.at + 1);
  }

  // The text

  beginnings() {
    this.beginning = el("textarea", { name: "beginning", rows: 2 });
    this.beginning.value = this.prompts[0];
    const own = button("Begin with this", () => this.later(() => this.begin(this.beginning.value)));
    const given = this.prompts.map((prompt) =>
      button(seen(prompt), () => {
        this.beginning.value = prompt;
        this.later(() => this.begin(prompt));
      }),
    );
    return el(
      "div",
      null,
      field("The beginning, yours or one of these", this.beginning),
      el("div", { class: "wk-row" }, own, ...given),
    );
  }

  async begin(words) {
    const cut = words.slice(-LONGEST).replace(/[ \t]+$/u, "");
    if (cut === "") {
      say(this.live, "Type a beginning first: one letter is enough.");
      return;
    }
    const ids = this.model.tokenizer.encode(cut.toWellFormed?.() ?? cut);
    const room = this.room - this.many;
    const notes = [];
    if (words.length > LONGEST || ids.length > room)
      notes.push(`Only the last ${counted(Math.min(ids.length, room), "token")} were taken.`);
    const unknown = unknownLetters(cut, this.seen);
    if (unknown.length > 0)
      notes.push(`The model has never read ${unknown.slice(0, 5).join(" ")}: expect anything.`);
    this.ids = ids.slice(-room);
    this.made = this.ids.length;
    this.stories = [this.ids];
    this.story = 0;
    this.luck += 1;
    this.ledger.forget();
    await this.fill();
    await this.select(this.ids.length - 1, notes.join(" "));
  }

  /** The scores after each token of the text. */
  async fill() {
    const size = this.model.config.vocab_size;
    const scores = await this.ask("changed", { ids: this.ids });
    this.rows = this.ids.map((_, i) => scores.subarray(i * size, (i + 1) * size));
  }

  async write(nTokens) {
    const room = this.room - this.ids.length;
    if (room <= 0) {
      say(this.live, FULL);
      return;
    }
    this.stop.disabled = false;
    const prompt = this.ids.slice();
    const asked = { prompt, nTokens: Math.min(nTokens, room), sampling: this.chances() };
    await this.ask("story", asked, ({ token }) => {
      this.ids.push(token);
      this.text.append(this.span(this.ids.length - 1));
      this.text.scrollTop = this.text.scrollHeight;
    });
    const held = document.activeElement === this.stop;
    this.stop.disabled = true;
    if (held) this.writers.firstChild.focus({ preventScroll: true });
    this.stories[this.story] = this.ids;
    await this.fill();
    const added = this.model.tokenizer.decode(this.ids.slice(prompt.length));
    await this.select(this.ids.length - 1, `Written: “${added.trim()}”.`);
  }

  /** What the worker draws with; null for the most probable token. */
  chances() {
    if (!this.byChance) return null;
    const { temperature, k, p, least } = this.sampling;
    const [topP, minP] = [p === 1 ? null : p, least === 0 ? null : least];
    return { seed: 1000 * (this.seed + this.luck), temperature, topK: k, topP, minP };
  }

  async select(at, note = "") {
    this.at = Math.max(0, Math.min(at, this.ids.length - 1));
    await this.render(note);
  }

  span(i) {
    const made = i >= this.made ? " wk-made" : "";
    const onclick = () => this.later(() => this.select(i));
    const words = written(this.ids, i, (ids) => this.model.tokenizer.decode(ids));
    return el("span", { class: `wk-token${made}`, onclick }, words);
  }

  async render(note = "") {
    this.text.replaceChildren(...this.ids.map((_, i) => this.span(i)));
    this.text.children[this.at].classList.add("wk-at");
    this.place.input.max = this.ids.length - 1;
    const here = seen(this.words(this.ids[this.at]));
    this.place.show(`${this.at + 1} of ${this.ids.length}, “${here}”`, this.at);
    this.renderBars();
    this.renderStories();
    const ends = this.at === this.ids.length - 1;
    this.stop.disabled = true;
    if (this.bench === "look") await this.renderLook();
    if (this.bench === "change") await this.changes.render();
    const weights = softmax(Array.from(this.rows[this.at]));
    const taken = ends ? null : this.ids[this.at + 1];
    const said = ends
      ? `Most probable next: “${seen(this.words(ranked(weights)[0]))}”.`
      : `Next came “${seen(this.words(taken))}”, with probability ${fixed(weights[taken], 3)}.`;
    say(this.live, `${note} ${said} Uncertainty: ${fixed(bits(weights), 2)} bits.`.trim());
  }

  turnTo(name) {
    this.bench = name;
    for (const [key, bench] of Object.entries(this.benches)) bench.hidden = key !== name;
    this.place.field.hidden = name === "count";
    this.writers.hidden = name !== "write" && name !== "look";
    this.root.dispatchEvent(new Event("toggle")); // the page may become shorter
    this.later(() => this.render());
  }

  showBench(name) {
    const held = this.below.contains(document.activeElement); // by what is hidden at once
    for (const input of this.picker.querySelectorAll("input")) {
      input.checked = input.value === name;
      if (held && input.checked) input.focus();
    }
    this.turnTo(name);
  }

  // Writing

  writing() {
    this.stop = button("Stop", () => this.model?.stop(), { disabled: true });
    this.writers = el(
      "div",
      { class: "wk-row wk-writers" },
      button("One token", () => this.later(() => this.write(1))),
      button(`${this.many} tokens`, () => this.later(() => this.write(this.many))),
      this.stop,
    );
    const first = [["best", "the most probable"], ["chance", "by chance"]]; // prettier-ignore
    const now = this.byChance ? "chance" : "best";
    const pick = choices("Take the next token", "pick", first, now, (value) => {
      this.byChance = value === "chance";
      this.later(() => this.render());
    });
    this.bars = Array.from({ length: SHOWN }, (_, k) =>
      // Hidden until it has a name: the first probabilities come after the model.
      button("", () => this.later(() => this.take(this.shown[k])), { class: "wk-bar", hidden: true }),
    );
    this.shown = [];
    this.kept = el("select", {
      name: "story",
      onchange: () => {
        const k = this.kept.selectedIndex;
        this.later(() => this.goTo(k));
      },
    });
    const filter = (key, name, last, first, read, shown) => {
      const made = slider(name, { name: key, min: 0, max: last }, (place) => {
        this.sampling[key] = read(place);
        made.show(shown(read(place)), place);
        this.latest(() => this.render());
      });
      made.show(shown(read(first)), first);
      return made.field;
    };
    const { temperature: tau, least } = this.sampling;
    const share = (p, off) => (p === off ? "off" : fixed(p, 2));
    const filters = controls(
      filter("temperature", "temperature", 19, Math.round(10 * tau) - 1, (i) => (i + 1) / 10, (t) => fixed(t, 1)),
      filter("k", "top-k", KS.length - 1, KS.length - 1, (i) => KS[i], (k) => String(k ?? "off")),
      filter("p", "top-p", 19, 19, (i) => (i + 1) / 20, (p) => share(p, 1)),
      filter("least", "min-p", 20, Math.round(20 * least), (i) => i / 20, (p) => share(p, 0)),
    ); // prettier-ignore
    return el(
      "div",
      { class: "wk-bench wk-writing" },
      el("div", { class: "wk-bars" }, this.bars),
      el(
        "p",
        { class: "sl-note wk-words" },
        "Outline: what the model says; bar: what is drawn from. Touch a token, and the story takes it.",
      ),
      pick,
      el("details", null, el("summary", null, "Temperature and filters"), filters),
      field("Stories", this.kept),
    );
  }

  renderBars() {
    const scores = Array.from(this.rows[this.at]);
    const plain = softmax(scores);
    const { temperature, k, p, least } = this.sampling;
    const limits = { k, p: p === 1 ? null : p, least: least === 0 ? null : least };
    const now = this.byChance
      ? samplingWeights(scores, { temperature, ...limits, p: limits.p ?? 1 })
      : plain.map((_, id) => (id === ranked(plain)[0] ? 1 : 0));
    const drawn = this.byChance ? now : plain;
    const taken = this.ids[this.at + 1];
    this.shown = ranked(plain).slice(0, SHOWN);
    if (taken !== undefined && !this.shown.includes(taken)) this.shown[SHOWN - 1] = taken;
    const most = Math.max(plain[this.shown[0]], ...this.shown.map((id) => drawn[id]));
    this.bars.forEach((bar, k_) => {
      const id = this.shown[k_];
      bar.hidden = id === undefined;
      if (bar.hidden) return;
      bar.className = `wk-bar${id === taken ? " wk-taken" : ""}`;
      const width = (share) => `width: ${(100 * share) / most}%`;
      bar.replaceChildren(
        el("span", { class: "wk-name" }, seen(this.words(id))),
        el(
          "span",
          { class: "wk-track", "aria-hidden": "true" },
          el("i", { class: "wk-before", style: width(plain[id]) }),
          el("i", { class: "wk-now", style: width(drawn[id]) }),
        ),
        el("span", { class: "wk-share" }, drawn[id] === 0 ? "cut" : fixed(drawn[id], 3)),
      );
    });
  }

  /** Go on with a token behind the place that is looked at; if another stands there, fork. */
  async take(id) {
    if (id === undefined) return;
    const taken = this.ids[this.at + 1];
    if (taken === id) {
      await this.select(this.at + 1);
      return;
    }
    if (this.at + 2 > this.room) {
      say(this.live, FULL);
      return;
    }
    let note = "";
    if (taken !== undefined) {
      note = `The story forks: “${seen(this.words(id))}” in place of “${seen(this.words(taken))}”.`;
      this.stories[this.story] = this.ids;
      if (this.stories.length === STORIES) this.stories.shift();
      this.story = this.stories.length;
    }
    this.ids = [...this.ids.slice(0, this.at + 1), id];
    this.made = Math.min(this.made, this.ids.length - 1);
    this.stories[this.story] = this.ids;
    await this.fill();
    await this.select(this.ids.length - 1, note);
  }

  async goTo(story) {
    if (this.stories[story] === undefined) return;
    this.story = story;
    this.ids = this.stories[story];
    await this.fill();
    await this.select(this.ids.length - 1, `Story ${story + 1}.`);
  }

  renderStories() {
    const options = this.stories.map((ids, k) => {
      const end = this.model.tokenizer.decode(ids.slice(-12)).replaceAll("\n", " ");
      return el("option", { selected: k === this.story }, `${k + 1}: … ${end}`);
    });
    this.kept.replaceChildren(...options);
  }

  // Looking

  looking() {
    this.maps = [];
    for (let layer = 0; layer < this.layers; layer += 1) {
      for (let head = 0; head < this.heads; head += 1) {
        const map = el("canvas", { class: "wk-map", width: 1, height: 1, "aria-hidden": "true" });
        const chosen = () => {
          this.head = [layer, head];
          this.later(() => this.render());
        };
        const one = button("", chosen, { class: "wk-head", "aria-pressed": "false" });
        one.append(map, `${layer}.${head}`);
        one.setAttribute("aria-label", `Layer ${layer}, head ${head}`);
        this.maps.push({ layer, head, map, one });
      }
    }
    const grid = el("div", { class: "wk-heads", style: `--heads: ${this.heads}` });
    grid.append(...this.maps.map(({ one }) => one));
    this.reads = el("p", { class: "wk-words" });
    this.stages = scroller("The stream on its way up");
    return el(
      "div",
      { class: "wk-bench wk-looking" },
      el(
        "p",
        { class: "wk-words" },
        `The attention of each head, layer by layer: a row for each token, a column for each that it reads; of a long text, for the last ${MAPPED} up to the chosen one. Layers and heads are counted from 0: map 2.3 is that of head 3 of layer 2. Choose a head, and the text above is painted with what the chosen token reads.`,
      ),
      grid,
      shareBar(),
      this.reads,
      this.stages,
      el(
        "p",
        { class: "sl-note wk-words" },
        "The stream of the chosen token, from the embedding up to the last layer. Says: what would come next if the model ended here, and how probably. Most like: the tokens whose embeddings have the largest cosine with the stream. Written: the length of what a part adds to the stream; beside it, the length of the stream.",
      ),
    );
  }

  async renderLook() {
    const [n, at] = [this.ids.length, this.at];
    const asked = { ids: this.ids, at, most: 2, among: this.known };
    const { weights, stages } = await this.ask("inspect", asked);
    const end = Math.max(at + 1, Math.min(n, MAPPED));
    const begin = Math.max(0, end - MAPPED);
    for (const { layer, head, map, one } of this.maps) {
      const from = head * n * n;
      paintMap(map, part(weights[layer].subarray(from, from + n * n), n, begin, end));
      const chosen = this.head[0] === layer && this.head[1] === head;
      one.setAttribute("aria-pressed", String(chosen));
    }
    const [layer, head] = this.head;
    const own = weights[layer].subarray((head * n + at) * n, (head * n + at + 1) * n);
    [...this.text.children].forEach((span, j) => {
      if (j <= at) Object.assign(span.style, sharePaint(own[j]));
    });
    const most = ranked(own).slice(0, 3);
    const read = most.map((j) => `“${seen(this.words(this.ids[j]))}” ${fixed(own[j], 2)}`);
    this.reads.textContent =
      `Head ${head} of layer ${layer} reads, from “${seen(this.words(this.ids[at]))}”: ` +
      `${read.join(", ")}.`;
    const pairs = (list) => list.map(([id, p]) => `${seen(this.words(id))} ${fixed(p, 2)}`).join("  ");
    const rows = stages.map(({ name, write, stream, says, like }) =>
      row(stageName(name), [pairs(says), pairs(like), fixed(write, 1), fixed(stream, 1)]),
    );
    const heads = ["", "Says", "Most like", "Written", "Stream"];
    this.stages.replaceChildren(table("wk-stages", heads, rows));
  }
}

function stageName(name) {
  const [part, layer] = name.split(" ");
  if (layer === undefined) return "embedding";
  return `${part === "self_attention" ? "attention" : "feed-forward"} ${layer}`;
}

/** The colours of 256 shares from 0 to 1: red, green, blue, and no transparency. */
const COLOURS = Array.from({ length: 256 }, (_, k) =>
  Number.parseInt(`${shareColour(k / 256).slice(1)}ff`, 16),
);

/** The rows and columns of a matrix from one token to another. */
const part = (shares, n, begin, end) =>
  Array.from({ length: end - begin }, (_, i) =>
    shares.subarray((begin + i) * n + begin, (begin + i) * n + end),
  );

/** The tokens that are made of letters which the model has read; null: nobody knows. */
function knownTokens({ tokenizer, config }, letters) {
  if (letters === null) return null;
  const ids = Array.from({ length: config.vocab_size }, (_, id) => id);
  return new Set(ids.filter((id) => unknownLetters(tokenizer.decode([id]), letters).length === 0));
}

/** A matrix of shares, a pixel each. */
function paintMap(canvas, rows) {
  const n = rows.length;
  Object.assign(canvas, { width: n, height: n });
  const context = canvas.getContext("2d");
  const image = context.createImageData(n, n);
  const pixels = new DataView(image.data.buffer);
  rows.forEach((row, i) =>
    row.forEach((share, j) =>
      pixels.setUint32(4 * (i * n + j), COLOURS[Math.min(255, Math.floor(256 * share))]),
    ),
  );
  context.putImageData(image, 0, 0);
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  root.workshopModel?.close();
  root.workshopModel = null;
  new Workshop(root, data);
}
