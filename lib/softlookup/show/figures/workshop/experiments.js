// Guided experiments: a question, the controls set for it, and an answer that is computed here.

import { button, liveRegion, say } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { fixed } from "../../kit/numbers.js";
import { byKind, mean, seen } from "./maths.js";

const OTHER = "ROMEO:"; // the text whose stream is patched in
const OWN = "My lord";

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
        `Where does the model keep what comes next? The text is “${OWN}”. Patch in the stream of ` +
          `“${OTHER}” at its last token, before layer 1, behind layer 1, and so on. From where on ` +
          "does the text go on as the other one would?",
        () => this.setPatch(),
        () => this.patched(),
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
    this.workshop.changes.set("patch", { from: OTHER, height: 0 });
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
      ids.slice(1).map((id) => workshop.words(id)),
    );
    const range =
      others.length === 0
        ? ""
        : ` Without one other head it costs from ${fixed(Math.min(...others), 2)} to ` +
          `${fixed(Math.max(...others), 2)}.`;
    return (
      `Head ${best.head + 1} of layer ${best.layer + 1}: on average a token gives ` +
      `${fixed(best.share, 2)} of this head’s attention to the token before. Without the head the ` +
      `passage costs ${fixed(mean(without), 2)} bits a token instead of ${fixed(mean(before), 2)}.` +
      `${range} Tokens that begin with a letter (most of them go on with a word) cost ` +
      `${fixed(inside, 2)} bits more; the others ${fixed(rest, 2)}.`
    );
  }

  async decided() {
    const shares = await this.workshop.ask("decided", { ids: this.passage() });
    const said = shares.map((share, height) =>
      height === 0 ? `${fixed(share, 2)} of them before layer 1` : `${fixed(share, 2)} behind layer ${height}`,
    );
    const steps = shares.slice(1).map((share, k) => share - shares[k]);
    const most = steps.indexOf(Math.max(...steps)) + 1;
    return (
      "At the tokens of the passage, what the lens says is what the model says at " +
      `${said.join(", ")}. Layer ${most} decides most: ${fixed(steps[most - 1], 2)} of the tokens ` +
      "are settled there. The lens reads each row as if it were the last, so a row may know more " +
      "than the lens can tell."
    );
  }

  async patched() {
    const { tokenizer } = this.workshop.model;
    const [ids, from] = [OWN, OTHER].map((words) => tokenizer.encode(words));
    const { token, before, shares, other } = await this.workshop.ask("patched", { ids, from });
    const list = shares.map((share, k) => `${fixed(share, 3)} ${k === 0 ? "before layer 1" : `behind layer ${k}`}`);
    return (
      `“${OTHER}” goes on with “${seen(this.workshop.words(token))}”, with probability ` +
      `${fixed(other, 3)}; “${OWN}” does so with ${fixed(before, 3)}. After the patch it is ` +
      `${list.join(", ")}. Behind the last layer the patched row is all that the next token ` +
      "depends on, so there the two must agree. Earlier, the layers above still read the other " +
      "tokens of the text."
    );
  }
}
