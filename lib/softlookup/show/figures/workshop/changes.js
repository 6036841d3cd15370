// Intervene: parts switched off or changed, and what comes of it beside what was.

import { button, controls, field, liveRegion, say, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { meter } from "../../kit/meters.js";
import { fixed } from "../../kit/numbers.js";
import { mean, seen } from "./maths.js";

const WRITTEN = 30; // tokens
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

export class Changes {
  constructor(workshop) {
    this.workshop = workshop;
    this.list = [];
    const numbers = (n, first) => Array.from({ length: n }, (_, k) => [k, String(k + first)]);
    const heights = Array.from({ length: workshop.layers + 1 }, (_, k) => [
      k,
      k === 0 ? "before layer 1" : `behind layer ${k}`,
    ]);
    this.kind = this.select("kind", KINDS);
    this.inputs = {
      layer: this.select("layer", numbers(workshop.layers, 1)),
      head: this.select("head", numbers(workshop.heads, 1)),
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
      ...{ layer: "layer", head: "head", pattern: "it reads", height: "where" },
      ...{ from: "the other text", toward: "toward", away: "away from" },
    };
    this.fields = Object.fromEntries(
      Object.entries(this.inputs).map(([name, input]) => [name, field(names[name], input)]),
    );
    this.fields.strength = this.strength.field;
    this.kind.addEventListener("input", () => this.fit());
    this.made = el("p", { class: "wk-words" });
    this.live = liveRegion("wk-words");
    this.meters = [meter("as it is"), meter("changed")];
    this.sides = ["As it is", "Changed"].map((title) => [title, el("p", { class: "wk-side" })]);
    const sides = this.sides.map(([title, text]) =>
      el("div", null, el("span", { class: "sl-label" }, title), text),
    );
    this.bench = el(
      "div",
      { class: "wk-bench wk-changing" },
      controls(field("The change", this.kind), ...Object.values(this.fields)),
      el(
        "div",
        { class: "wk-row" },
        button("Make this change", () => workshop.later(() => this.add())),
        button("Take the last back", () => workshop.later(() => this.back())),
        button("All as it was", () => workshop.later(() => this.clear())),
      ),
      this.made,
      this.live,
      el("p", { class: "wk-words" }, "Bits that a token of the passage costs, on average:"),
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
  }

  /** Put a kind and its values into the controls. */
  set(kind, values) {
    this.kind.value = kind;
    for (const [name, value] of Object.entries(values)) this.inputs[name].value = value;
    this.fit();
  }

  /** The change that the controls describe. */
  chosen() {
    const { tokenizer } = this.workshop.model;
    const kind = this.kind.value;
    const change = { kind };
    for (const name of NEEDS[kind]) {
      const value = this.inputs[name]?.value;
      if (["layer", "head", "height"].includes(name)) change[name] = Number(value);
      else if (name === "pattern") change[name] = value;
      else if (name === "strength") change[name] = this.strength.input.valueAsNumber / 2;
      else {
        change[name] = tokenizer.encode(value.slice(0, 300)).slice(0, 100);
        if (change[name].length === 0) throw new Error("the other text is empty");
      }
    }
    return [change, this.described(kind)];
  }

  described(kind) {
    const value = (name) => this.inputs[name].selectedOptions?.[0].textContent ?? this.inputs[name].value;
    const head = () => `head ${value("head")} of layer ${value("layer")}`;
    return {
      head: () => `${head()} is off`,
      attention: () => `the attention of layer ${value("layer")} is off`,
      "feed-forward": () => `the feed-forward layer ${value("layer")} is off`,
      positions: () => "there are no positions",
      mask: () => "there is no mask",
      weights: () => `${head()} reads ${value("pattern")}`,
      patch: () => `the last token’s stream ${value("height")} is that of “${value("from")}”`,
      steer: () =>
        `the stream ${value("height")} moves from “${value("away")}” toward “${value("toward")}”, ` +
        `times ${fixed(this.strength.input.valueAsNumber / 2, 1)}`,
    }[kind]();
  }

  async add() {
    this.list.push(this.chosen());
    await this.workshop.render();
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
    const prompt = workshop.ids.slice(Math.max(0, workshop.at - 120), workshop.at + 1);
    const changes = this.list.map(([change]) => ({ ...change, at: prompt.length - 1 }));
    const passage = tokenizer.encode(workshop.passage);
    const lasting = changes.filter(({ kind }) => kind !== "patch");
    const before = mean(await workshop.ask("costs", { ids: passage }));
    const after = mean(await workshop.ask("costs", { ids: passage, changes: lasting }));
    const most = Math.max(before, after);
    this.meters[0].show(before / most, fixed(before, 2));
    this.meters[1].show(after / most, fixed(after, 2));
    const sampling = workshop.chances();
    const next = [];
    for (const [k, made] of [[], changes].entries()) {
      const text = this.sides[k][1];
      text.textContent = tokenizer.decode(prompt.slice(-20));
      const ids = [];
      const asked = { prompt, nTokens: WRITTEN, sampling, changes: made };
      await workshop.ask("story", asked, ({ token }) => {
        ids.push(token);
        text.textContent = tokenizer.decode([...prompt.slice(-20), ...ids]);
      });
      next.push(seen(workshop.words(ids[0] ?? prompt.at(-1))));
    }
    const patch = lasting.length < changes.length ? " A patch concerns the text alone." : "";
    const same = next[0] === next[1] ? `“${next[0]}” comes next in both` : `“${next[1]}” comes next instead of “${next[0]}”`;
    say(
      this.live,
      `${same}. The passage costs ${fixed(after, 2)} bits a token, ${fixed(before, 2)} as it is.${patch}`,
    );
  }
}
