// The head mixer: which head is needed for which question?

import { shareColour } from "../../kit/colours.js";
import { button, choices, form, label, liveRegion } from "../../kit/controls.js";
import { el, svg, text } from "../../kit/elements.js";
import { range } from "../../kit/maths.js";
import { format, listed } from "../../kit/numbers.js";
import { divisors, judge, named, parametersOf, readText, scoresOf } from "./maths.js";

const CELL = 16;
const EDGE = 20;

class Mixer {
  constructor(root, data) {
    Object.assign(this, data, { text: 0, speaks: data.labels.map(() => true) });
    this.heads = data.x.map((X) => readText(X, data.model, data.mask));
    this.whole = this.judged(data.labels.map(() => true));
    this.strips = data.labels.map((label, h) => this.strip(h, label));
    this.sheet = el("table", { class: "hm-sheet" });
    this.meters = el("div", { class: "hm-meters" });
    this.live = liveRegion("hm-live");
    this.form = form(
      "hm-mixer",
      this.chooser(),
      el(
        "div",
        { class: "hm-board" },
        this.strips.map(({ strip }) => strip),
      ),
      this.live,
      this.meters,
      el("div", { class: "sl-scroll" }, this.sheet),
      this.splitter(),
    );
    root.append(this.form);
    this.form.elements.text.value = "0";
    this.update();
    this.split(Math.max(0, divisors(this.width).indexOf(8)));
  }

  chooser() {
    const options = this.texts.slice(0, this.shown).map((words, t) => [String(t), words.join(" ")]);
    return el(
      "div",
      { class: "hm-top" },
      choices("Text", "text", options, null, (value) => {
        this.text = Number(value);
        this.update();
      }),
      button("All heads speak", () => this.hear(() => true)),
    );
  }

  strip(h, label) {
    const mute = button(
      "Mute",
      () => this.hear((other) => (other === h ? !this.speaks[h] : this.speaks[other])),
      { "aria-label": `Mute head ${h}` },
    );
    const solo = button(
      "Only",
      () => this.hear(this.alone(h) ? () => true : (other) => other === h),
      { "aria-label": `Only head ${h}` },
    );
    const map = el("div", { class: "hm-map" });
    const name = el(
      "p",
      { class: "hm-name" },
      `Head ${h}`,
      label ? el("span", { class: "hm-label" }, label) : null,
    );
    return {
      mute,
      solo,
      map,
      strip: el(
        "section",
        { class: "hm-strip", "aria-label": `Head ${h}` },
        name,
        map,
        el("div", { class: "hm-buttons" }, mute, solo),
      ),
    };
  }

  splitter() {
    const many = divisors(this.width);
    this.range = el("input", {
      type: "range",
      min: 0,
      max: many.length - 1,
      step: 1,
      oninput: () => this.split(Number(this.range.value)),
    });
    this.bar = svg("svg", {
      class: "hm-bar",
      viewBox: "0 0 512 24",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    this.cost = liveRegion("hm-cost");
    return el(
      "div",
      { class: "hm-split" },
      el("label", { class: "hm-range" }, label(`Heads at the width d = ${this.width}`), this.range),
      this.bar,
      this.cost,
    );
  }

  /** How many heads share the width: their own width falls, the sum of all stays. */
  split(k) {
    const h = divisors(this.width)[k];
    const count = parametersOf(this.width, h);
    this.range.value = k;
    this.range.setAttribute("aria-valuetext", `${h} heads`);
    const step = 512 / h;
    this.bar.replaceChildren(
      ...range(h).map((i) =>
        svg("rect", {
          x: i * step,
          y: 0,
          width: step,
          height: 24,
          class: i % 2 ? "hm-odd" : "hm-even",
        }),
      ),
    );
    this.cost.textContent =
      `${h} ${h === 1 ? "head" : "heads"} of width ${this.width} / ${h} = ` +
      `${this.width / h}: ${count.toLocaleString("en")} parameters.`;
  }

  alone(h) {
    return this.speaks.every((speaks, other) => speaks === (other === h));
  }

  hear(speaks) {
    this.speaks = this.labels.map((_, h) => speaks(h));
    this.update();
  }

  judged(speaks) {
    const scores = this.heads.map((heads) => scoresOf(heads, this.model, speaks));
    return { ...judge(scores, this.targets, this.answers.length), scores };
  }

  update() {
    const now = this.judged(this.speaks);
    this.strips.forEach(({ mute, solo, map, strip }, h) => {
      mute.setAttribute("aria-pressed", String(!this.speaks[h]));
      solo.setAttribute("aria-pressed", String(this.alone(h)));
      strip.classList.toggle("hm-muted", !this.speaks[h]);
      map.replaceChildren(this.heat(h));
    });
    this.showMeters(now);
    this.showSheet(now.scores[this.text]);
    this.live.textContent = this.summary(now);
  }

  /** The map of one head: the darker, the more the word of the row reads the word of the column. */
  heat(h) {
    const words = this.texts[this.text];
    const side = EDGE + CELL * words.length + 1;
    const { weights } = this.heads[this.text][h];
    const name = (word, x, y) => text([x, y], word.slice(0, 2), "hm-word");
    return svg(
      "svg",
      {
        viewBox: `0 0 ${side} ${side}`,
        role: "img",
        "aria-label": `Head ${h}: ${this.reads(weights, words)}`,
      },
      words
        .map((word, k) => [
          name(word, EDGE + CELL * (k + 0.5), EDGE - 6),
          name(word, EDGE - 10, EDGE + CELL * (k + 0.5) + 4),
        ])
        .flat(),
      weights.flatMap((row, i) =>
        row.map((weight, j) =>
          svg("rect", {
            x: EDGE + CELL * j,
            y: EDGE + CELL * i,
            width: CELL,
            height: CELL,
            class: this.mask[i][j] ? "hm-cell" : "hm-hidden",
            fill: this.mask[i][j] ? shareColour(weight) : "none",
            "data-weight": weight.toFixed(4),
          }),
        ),
      ),
    );
  }

  reads(weights, words) {
    return weights
      .map((row, i) => {
        const most = Math.max(...row);
        const j = row.indexOf(most);
        return `${words[i]} reads ${words[j]} at place ${j} (${most.toFixed(2)})`;
      })
      .join("; ");
  }

  showMeters({ shares, loss }) {
    this.meters.replaceChildren(
      ...this.questions.map((question, q) =>
        el(
          "div",
          { class: "hm-meter" },
          el("span", null, question),
          el(
            "span",
            { class: "hm-track", "aria-hidden": "true" },
            el("i", { class: "hm-fill", style: `width: ${100 * shares[q]}%` }),
            el("i", { class: "hm-tick", style: `left: ${100 * this.whole.shares[q]}%` }),
          ),
          el("span", { class: "hm-number" }, `${(100 * shares[q]).toFixed(1)}%`),
        ),
      ),
      el(
        "p",
        { class: "hm-loss" },
        "Loss ",
        el("b", null, format(loss, 3)),
        `; with all heads ${format(this.whole.loss, 3)}. The marks: all heads.`,
      ),
    );
  }

  /** The chosen text: at each word, what is named, and whether it is right. */
  showSheet(scores) {
    const found = named(scores, this.answers.length);
    const words = this.texts[this.text];
    const cells = (q) =>
      words.map((_, i) => {
        const [target, answer] = [this.targets[this.text][i][q], found[i][q]];
        if (target < 0) return el("td", { class: "hm-unasked" }, "·");
        const right = answer === target;
        return el(
          "td",
          { class: right ? "hm-right" : "hm-wrong" },
          this.answers[answer],
          el("span", { "aria-hidden": "true" }, right ? "✓" : "✗"),
          el("span", { class: "hm-spoken" }, right ? " right" : `, not ${this.answers[target]}`),
        );
      });
    this.sheet.replaceChildren(
      el("caption", null, "What the heads that speak name at each word of the text"),
      el(
        "tr",
        null,
        el("th", { scope: "row" }, "word"),
        words.map((word) => el("th", { scope: "col" }, word)),
      ),
      ...this.questions.map((question, q) =>
        el("tr", null, el("th", { scope: "row" }, question), cells(q)),
      ),
    );
  }

  summary({ shares }) {
    const heads = this.speaks.flatMap((speaks, h) => (speaks ? [String(h)] : []));
    const who =
      heads.length === 0
        ? "No head speaks"
        : heads.length === this.speaks.length
          ? "All heads speak"
          : heads.length === 1
            ? `Only head ${heads[0]} speaks`
            : `Heads ${listed(heads)} speak`;
    const what = this.questions.map(
      (question, q) => `${question} ${(100 * shares[q]).toFixed(1)}%`,
    );
    return `${who}. Right in ${this.texts.length} texts: ${listed(what)}.`;
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Mixer(root, data);
}
