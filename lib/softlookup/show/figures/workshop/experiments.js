// Guided experiments: a question, the controls set for it, and an answer that is computed here.

import { button, liveRegion, say } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { fixed } from "../../kit/numbers.js";
import { byKind, mean, seen } from "./maths.js";

const OTHER = "KING RICHA"; // the text whose stream is patched in
const OWN = "ROMEO:\nA"; // ends in the same letter

export class Experiments {
  constructor(workshop) {
    this.workshop = workshop;
    this.bench = el(
      "div",
      { class: "wk-bench wk-trying" },
      this.card(
        "Find the head that looks one back. Among the maps, one has a bright line right below its " +
          "diagonal. Which? Switch it off under “Intervene”: what does the model forget?",
        () => this.readPassage("look"),
        () => this.oneBack(),
      ),
      this.card(
        "Which layer decides? At each token the last row of the table is what the model says. From " +
          "which row on does it say so already? Try some tokens, easy ones and hard ones.",
        () => this.readPassage("look"),
        () => this.decided(),
      ),
      this.card(
        `Where does the model keep what comes next? The text is “${seen(OWN)}”. Patch in the stream ` +
          `of “${seen(OTHER)}” at its last token, before layer 0, after layer 0, and so on. Both ` +
          "end in the same letter. From where on does the text go on as the other one would?",
        () => this.setPatch(),
        () => this.patched(),
      ),
      this.card(
        "Which layer would the model miss most? Each of its blocks has one attention layer and one " +
          "feed-forward layer. Switch off one of them, look at what the passage costs, take it back, " +
          "and switch off the next. Guess before: the first or the last?",
        () => this.setChange("feed-forward", { layer: 0 }),
        () => this.missed(),
      ),
      this.card(
        "Without the mask each token may read what comes after it, and so the very token that is to " +
          "be predicted. It was never trained so. Will the passage cost less, because the answer lies " +
          "open, or more? And which does it need more, the mask or the positions?",
        () => this.setChange("mask", {}),
        () => this.withoutMask(),
      ),
    );
  }

  card(question, prepare, answer) {
    const live = liveRegion("wk-words");
    const ready = button("Set the controls", () => this.workshop.later(prepare));
    const show = button("Show the answer", () =>
      this.workshop.later(async () => {
        say(live, "Computing …");
        say(live, await answer());
      }),
    );
    const row = el("div", { class: "wk-row" }, ready, show);
    return el("div", { class: "wk-experiment" }, el("p", { class: "wk-words" }, question), row, live);
  }

  async readPassage(bench) {
    await this.workshop.begin(this.workshop.passage.trimEnd());
    this.workshop.showBench(bench);
  }

  async setPatch() {
    await this.workshop.begin(OWN);
    this.setChange("patch", { from: OTHER, height: 0 });
  }

  /** Choose a change, but leave it to the reader to make it. */
  setChange(kind, values) {
    this.workshop.changes.set(kind, values);
    this.workshop.changes.list = [];
    this.workshop.showBench("change");
  }

  passage() {
    return this.workshop.model.tokenizer.encode(this.workshop.passage);
  }

  async oneBack() {
    const { workshop } = this;
    const ids = this.passage();
    const shares = await workshop.ask("oneBack", { ids });
    const all = shares.flatMap((heads, layer) => heads.map((share, head) => ({ layer, head, share })));
    const best = all.reduce((a, b) => (b.share > a.share ? b : a));
    const before = await workshop.ask("costs", { ids });
    let without = null;
    const others = [];
    for (const { layer, head } of all) {
      const costs = await workshop.ask("costs", { ids, changes: [{ kind: "head", layer, head }] });
      if (layer === best.layer && head === best.head) without = costs;
      else others.push(mean(costs));
    }
    const more = without.map((cost, i) => cost - before[i]);
    const { inside, others: rest } = byKind(
      more,
      ids.map((id) => workshop.words(id)),
    );
    const range =
      others.length === 0
        ? ""
        : ` Without any single one of the others it costs between ${fixed(Math.min(...others), 2)} and ` +
          `${fixed(Math.max(...others), 2)}.`;
    const kinds =
      Number.isNaN(inside) || Number.isNaN(rest)
        ? ""
        : ` Tokens that go on with a word cost ${fixed(inside, 2)} bits more; the others ` +
          `${fixed(rest, 2)}.`;
    return (
      `Head ${best.head} of layer ${best.layer}: on average a token gives ` +
      `${fixed(best.share, 2)} of this head’s attention to the token before. Without the head the ` +
      `passage costs ${fixed(mean(without), 2)} bits a token instead of ${fixed(mean(before), 2)}.` +
      `${range}${kinds}`
    );
  }

  async decided() {
    const shares = await this.workshop.ask("decided", { ids: this.passage() });
    const said = shares.map((share, height) =>
      height === 0 ? `${fixed(share, 2)} of them before layer 0` : `${fixed(share, 2)} after layer ${height - 1}`,
    );
    const steps = shares.slice(1).map((share, k) => share - shares[k]);
    const most = steps.indexOf(Math.max(...steps));
    return (
      "At the tokens of the passage, what the lens says is what the model says at " +
      `${said.join(", ")}. Layer ${most} decides most: ${fixed(steps[most], 2)} of the tokens ` +
      "are settled there. The lens reads each row as if it were the last, so a row may know more " +
      "than the lens can tell."
    );
  }

  async patched() {
    const { tokenizer } = this.workshop.model;
    const [ids, from] = [OWN, OTHER].map((words) => tokenizer.encode(words));
    const { token, before, shares, other } = await this.workshop.ask("patched", { ids, from });
    const list = shares.map((share, k) => `${fixed(share, 3)} ${k === 0 ? "before layer 0" : `after layer ${k - 1}`}`);
    return (
      `“${seen(OTHER)}” goes on with “${seen(this.workshop.words(token))}”, with probability ` +
      `${fixed(other, 3)}; “${seen(OWN)}” does so with ${fixed(before, 3)}. After the patch it is ` +
      `${list.join(", ")}. After the last layer the patched row is all that the next token ` +
      "depends on, so there the two must agree. Earlier, the layers above still read the other " +
      "tokens of the text."
    );
  }

  /** What a token of the passage costs on average, as the model is or with a change. */
  async cost(...changes) {
    return mean(await this.workshop.ask("costs", { ids: this.passage(), changes }));
  }

  async missed() {
    const plain = await this.cost();
    const parts = [];
    for (let layer = 0; layer < this.workshop.layers; layer += 1) {
      for (const kind of ["attention", "feed-forward"]) {
        const cost = await this.cost({ kind, layer });
        parts.push({ cost, words: `the ${kind} of layer ${layer}` });
      }
    }
    parts.sort((a, b) => b.cost - a.cost);
    const list = parts.map(({ cost, words }) => `without ${words} ${fixed(cost, 2)}`);
    return (
      `As it is, the passage costs ${fixed(plain, 2)} bits a token; ${list.join(", ")}. It misses ` +
      `${parts[0].words} most, and ${parts.at(-1).words} least.`
    );
  }

  async withoutMask() {
    const plain = await this.cost();
    const mask = await this.cost({ kind: "mask" });
    const positions = await this.cost({ kind: "positions" });
    const open =
      mask > plain
        ? "It costs more: no head has learned to look for the answer, and what comes later mixes " +
          "into rows that were never made for it."
        : "It costs less: some head reads what comes next, though it was never trained so.";
    const needed = mask > positions ? "the mask" : "the positions";
    return (
      `As it is, the passage costs ${fixed(plain, 2)} bits a token, without the mask ` +
      `${fixed(mask, 2)}, and without the positions ${fixed(positions, 2)}. ${open} It needs ` +
      `${needed} more.`
    );
  }
}
