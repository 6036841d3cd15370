// Intervene: parts switched off or changed, and what comes of it beside what was.

import { button, controls, field, liveRegion, say, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { meter } from "../../kit/meters.js";
import { counted, fixed } from "../../kit/numbers.js";
import { ByHand, cellsIn } from "./by_hand.js";
import { mean, seen } from "./maths.js";

const WRITTEN = 30; // tokens
const [LONGEST, READ, NAMED] = [300, 100, 40]; // letters and tokens of another text, letters shown
const KINDS = [
  ["head", "switch off a head"],
  ["attention", "switch off a layer’s attention"],
  ["feed-forward", "switch off a feed-forward layer"],
  ["positions", "leave out the positions"],
  ["mask", "take away the mask"],
  ["weights", "set a head’s attention by hand"],
  ["patch", "patch in the stream of another text"],
  ["steer", "steer by the difference of two texts"],
];
const PATTERNS = [
  ["own", "as it does"],
  ["one back", "the token before"],
  ["itself", "itself"],
  ["first", "the first token"],
  ["even", "all alike"],
];
/** Which controls a kind needs. */
const NEEDS = {
  head: ["layer", "head"],
  attention: ["layer"],
  "feed-forward": ["layer"],
  positions: [],
  mask: [],
  weights: ["layer", "head", "pattern"],
  patch: ["height", "from"],
  steer: ["height", "toward", "away", "strength"],
};

const TEXTS = ["from", "toward", "away"];
const OWN_TEXT = "of the text, up to the chosen one and as you have set its rows,";

const CONTINUED = "of the continuation under “As it is”";

/** Whether two changes set the attention of one head. */
const sameHead = (a, b) =>
  [a, b].every(({ kind }) => kind === "weights") && a.layer === b.layer && a.head === b.head;

/** A text of the reader, or the end of a long one. */
function named(words) {
  const letters = Array.from(words);
  return letters.length > NAMED ? `… ${letters.slice(-NAMED).join("")}` : words;
}

export class Changes {
  constructor(workshop) {
    this.workshop = workshop;
    this.list = [];
    const numbers = (n) => Array.from({ length: n }, (_, k) => [k, String(k)]);
    const heights = Array.from({ length: workshop.layers + 1 }, (_, k) => [
      k,
      k === 0 ? "before layer 0" : `after layer ${k - 1}`,
    ]);
    this.kind = this.select("kind", KINDS);
    this.hand = new ByHand(workshop, (ids) => this.attention(ids));
    this.inputs = {
      layer: this.select("layer", numbers(workshop.layers)),
      head: this.select("head", numbers(workshop.heads)),
      pattern: this.select("pattern", PATTERNS),
      height: this.select("height", heights),
      from: this.words("from", "ROMEO:"),
      toward: this.words("toward", "What is it?"),
      away: this.words("away", "It is so."),
    };
    this.strength = slider("strength", { name: "strength", min: -8, max: 8 }, (value) =>
      this.strength.show(fixed(value / 2, 1), value),
    );
    this.strength.show("1.0", 2);
    const names = {
      ...{ layer: "layer", head: "head", pattern: "at the start it reads", height: "where" },
      ...{ from: "the other text", toward: "toward", away: "away from" },
    };
    this.fields = Object.fromEntries(
      Object.entries(this.inputs).map(([name, input]) => [name, field(names[name], input)]),
    );
    this.fields.strength = this.strength.field;
    this.kind.addEventListener("input", () => this.fit());
    for (const name of NEEDS.weights)
      this.inputs[name].addEventListener("input", () => workshop.later(() => this.renderHand()));
    this.made = el("p", { class: "wk-words" });
    this.live = liveRegion("wk-words");
    this.judged = el("p", { class: "wk-words" });
    this.meters = [meter("as it is"), meter("changed")];
    this.sides = ["As it is", "Changed"].map((title) => [title, el("p", { class: "wk-side" })]);
    const sides = this.sides.map(([title, text]) =>
      el("div", null, el("span", { class: "sl-label" }, title), text),
    );
    this.bench = el(
      "div",
      { class: "wk-bench wk-changing" },
      controls(field("The change", this.kind), ...Object.values(this.fields)),
      this.hand.bench,
      el(
        "div",
        { class: "wk-row" },
        button("Make this change", () => this.make()),
        button("Take the last back", () => workshop.later(() => this.back())),
        button("All as it was", () => workshop.later(() => this.clear())),
      ),
      this.made,
      this.live,
      this.judged,
      ...this.meters.map(({ row }) => row),
      el("div", { class: "wk-pair" }, sides),
      el("details", null, el("summary", null, "The passage"), el("p", { class: "wk-side" }, workshop.passage)),
    );
    this.fit();
  }

  select(name, options) {
    return el(
      "select",
      { name },
      options.map(([value, words]) => el("option", { value }, words)),
    );
  }

  words(name, value) {
    return el("input", { type: "text", name, value });
  }

  /** Show the controls that the chosen kind needs. */
  fit() {
    for (const [name, shown] of Object.entries(this.fields))
      shown.hidden = !NEEDS[this.kind.value].includes(name);
    this.hand.bench.hidden = this.kind.value !== "weights";
    this.workshop.later(() => this.renderHand());
  }

  /** Put a kind and its values into the controls. */
  set(kind, values) {
    this.kind.value = kind;
    for (const [name, value] of Object.entries(values)) this.inputs[name].value = value;
    this.fit();
  }

  /** The change that the controls describe; texts are still in letters. */
  chosen() {
    const kind = this.kind.value;
    const change = { kind };
    for (const name of NEEDS[kind]) {
      const value = this.inputs[name]?.value;
      if (["layer", "head", "height"].includes(name)) change[name] = Number(value);
      else if (name === "strength") change[name] = this.strength.input.valueAsNumber / 2;
      else change[name] = value;
    }
    if (kind === "weights") change.hand = { cells: this.hand.cells };
    return [change, this.described(kind)];
  }

  /** The same for the engine, which reads tokens. */
  encoded(change) {
    const { tokenizer } = this.workshop.model;
    for (const name of NEEDS[change.kind].filter((one) => TEXTS.includes(one))) {
      const words = change[name].slice(-LONGEST);
      change[name] = tokenizer.encode(words.toWellFormed?.() ?? words).slice(-READ);
      if (change[name].length === 0) throw new Error("the other text is empty");
    }
    if (change.hand?.cells.length === 0 && change.pattern === "own")
      throw new Error("no cell is set yet, and the head reads as it does");
    if (change.hand) change.hand.text = this.hand.text;
    return change;
  }

  described(kind) {
    const value = (name) => this.inputs[name].selectedOptions?.[0].textContent ?? named(this.inputs[name].value);
    const head = () => `head ${value("head")} of layer ${value("layer")}`;
    return {
      head: () => `${head()} is off`,
      attention: () => `the attention of layer ${value("layer")} is off`,
      "feed-forward": () => `the feed-forward layer ${value("layer")} is off`,
      positions: () => "there are no positions",
      mask: () => "there is no mask",
      weights: () => {
        const rows = new Set(this.hand.cells.map(([i]) => i)).size;
        const reads = `${head()} reads ${value("pattern")}`;
        return rows === 0 ? reads : `${reads}, with ${counted(rows, "row")} set by hand`;
      },
      patch: () => `the last token’s stream ${value("height")} is that of “${value("from")}”`,
      steer: () =>
        `the stream ${value("height")} moves from “${value("away")}” toward “${value("toward")}”, ` +
        `times ${fixed(this.strength.input.valueAsNumber / 2, 1)}`,
    }[kind]();
  }

  /** The change as it is chosen now, made when all before it is done. */
  make() {
    const [change, words] = this.chosen();
    this.workshop.later(async () => {
      this.list = [...this.list.filter(([other]) => !sameHead(other, change)), [this.encoded(change), words]];
      await this.workshop.render();
    });
  }

  /** What the chosen head reads in a text before the reader sets it by hand. */
  async attention(ids) {
    const [own] = this.chosen();
    const others = this.list.map(([change]) => change).filter((change) => !sameHead(change, own));
    const changes = [...this.forEngine(others, ids), { ...own, hand: null }];
    const asked = { ids, at: ids.length - 1, changes, most: 0 };
    const { weights } = await this.workshop.ask("inspect", asked);
    const n = ids.length;
    return weights[own.layer].subarray(own.head * n * n, (own.head + 1) * n * n);
  }

  async renderHand() {
    if (this.workshop.bench === "change" && this.kind.value === "weights") await this.hand.render();
  }

  /** Changes as they concern the end of the text. */
  forEngine(changes, prompt) {
    const { ids, at } = this.workshop;
    const begin = at + 1 - prompt.length;
    return changes.map(({ hand, ...change }) => ({
      ...change,
      at: prompt.length - 1,
      cells: hand ? cellsIn(hand, ids, begin) : [],
    }));
  }

  async back() {
    this.list.pop();
    await this.workshop.render();
  }

  async clear() {
    this.list = [];
    await this.workshop.render();
  }

  async render() {
    const { workshop } = this;
    const { tokenizer } = workshop.model;
    this.made.textContent =
      this.list.length === 0
        ? "Nothing is changed yet."
        : `Changed: ${this.list.map(([, words]) => words).join("; ")}.`;
    // what stands here is of the change before, and must not stand under this one's name
    for (const meter of this.meters) meter.show(0, "…");
    say(this.live, "Computing …");
    await this.renderHand();
    const prompt = workshop.prompt();
    const all = this.list.map(([change]) => change);
    const changes = this.forEngine(all, prompt);
    const byHand = changes.some(({ cells }) => cells.length > 0) && prompt.length > 1;
    const patched = changes.some(({ kind }) => kind === "patch");
    const sampling = workshop.chances();
    const stories = [];
    for (const [k, made] of [[], changes].entries()) {
      const text = this.sides[k][1];
      text.textContent = tokenizer.decode(prompt.slice(-20));
      const ids = [];
      const asked = { prompt, nTokens: WRITTEN, sampling, changes: made };
      await workshop.ask("story", asked, ({ token }) => {
        ids.push(token);
        text.textContent = tokenizer.decode([...prompt.slice(-20), ...ids]);
      });
      stories.push(ids);
    }
    const next = stories.map(([id]) => seen(workshop.words(id ?? prompt.at(-1))));
    // A patch concerns what is written after it alone: there it is judged by how the text went on.
    const [own] = stories;
    const lasting = patched || byHand ? changes : changes.map((one) => ({ ...one, cells: [] }));
    let [which, judged, last] = ["of the passage", tokenizer.encode(workshop.passage), Infinity];
    if (patched) [which, judged, last] = [CONTINUED, [...prompt, ...own], own.length];
    else if (byHand) [which, judged] = [OWN_TEXT, prompt];
    const cost = async (made) => {
      const bits = await workshop.ask("costs", { ids: judged, changes: made });
      return mean(bits.slice(-Math.min(last, bits.length)));
    };
    const [before, after] = [await cost([]), await cost(lasting)];
    this.judged.textContent = `Bits that a token ${which} costs, on average:`;
    const most = Math.max(before, after);
    this.meters[0].show(before / most, fixed(before, 2));
    this.meters[1].show(after / most, fixed(after, 2));
    const costly = patched ? "How the text goes on as it is" : byHand ? "The text" : "The passage";
    const resting = all.some(({ hand }, k) => hand?.cells.length > 0 && changes[k].cells.length === 0);
    const rest = resting ? " The rows that were set for another text rest." : "";
    const same = next[0] === next[1] ? `“${next[0]}” comes next in both` : `“${next[1]}” comes next instead of “${next[0]}”`;
    say(
      this.live,
      `${same}. ${costly} costs ${fixed(after, 2)} bits a token` +
        `${patched ? " with the change" : ""}, ${fixed(before, 2)} ` +
        `${patched ? "without it" : "as it is"}.${rest}`,
    );
  }
}
