// The attention atlas: leaf through the heads of several models.

import { shareBar, shareColour } from "../../kit/colours.js";
import { choice, choices, controls, form, liveRegion } from "../../kit/controls.js";
import { el, svg } from "../../kit/elements.js";
import { row, table } from "../../kit/table.js";
import { evenMap, mostRead, PATTERNS, patternScore, rollout, weightsOf } from "./maths.js";

const ROLLOUT = "rollout";
const SMALLEST = 0.01; // what is less looks like 0

class Atlas {
  constructor(root, { models, unit }) {
    this.models = models.map((model) => ({
      ...model,
      texts: model.texts.map(({ tokens, maps }) => ({
        tokens,
        layers: maps.map((heads) => heads.map((map) => weightsOf(map, unit))),
      })),
    }));
    this.model = 0;
    this.text = 0;
    this.head = "0.0";
    this.token = null;
    this.textBox = el("div", { class: "aa-texts" });
    this.heads = el("fieldset", { class: "sl-choices aa-heads" });
    this.map = el("div", { class: "aa-map" });
    this.words = el("div", {
      class: "aa-words",
      role: "group",
      "aria-label": "The token that reads",
    });
    this.live = liveRegion("aa-live");
    this.scores = el("div", { class: "sl-scroll" });
    this.form = form(
      "aa-atlas",
      controls(this.chooser(), this.textBox),
      el("div", { class: "aa-board" }, this.heads, el("div", { class: "aa-page" }, this.map, shareBar())),
      el("p", { class: "sl-label aa-ask" }, "Which token reads?"),
      this.words,
      this.live,
      this.scores,
    );
    root.append(this.form);
    this.open(0);
  }

  chooser() {
    return choices(
      "Model",
      "model",
      this.models.map(({ name }, m) => [String(m), name]),
      "0",
      (value) => this.open(Number(value)),
    );
  }

  /** Another model: its texts, and its first text. */
  open(model) {
    this.model = model;
    const { texts, name } = this.models[model];
    const options = texts.map(({ tokens }, t) => [String(t), this.title(tokens)]);
    this.textBox.replaceChildren(
      choices("Text", "text", options, "0", (value) => this.read(Number(value))),
    );
    const layers = texts[0].layers;
    const [layer, head] = this.head.split(".").map(Number);
    const still = this.head === ROLLOUT || (layer < layers.length && head < layers[0].length);
    this.head = still ? this.head : "0.0";
    this.heads.setAttribute("aria-label", `Heads of ${name}`);
    this.read(0);
  }

  title(tokens) {
    const text = tokens.join(tokens.every((token) => token.length === 1) ? "" : " ");
    return text.length > 30 ? `${text.slice(0, 29)}…` : text;
  }

  /** Another text: new small maps, and the last token reads. */
  read(text) {
    this.text = text;
    const { tokens, layers } = this.models[this.model].texts[text];
    Object.assign(this, { tokens, layers, token: tokens.length - 1 });
    const thumb = (value, name, map) =>
      choice(
        "head",
        value,
        value === this.head,
        (chosen) => {
          this.head = chosen;
          this.update();
        },
        el("span", { class: "aa-name" }, name),
        this.drawing(map, 64),
      );
    const rows = layers.map((heads, l) =>
      el(
        "div",
        { class: "aa-layer" },
        heads.map((map, h) => thumb(`${l}.${h}`, `${l}.${h}`, map)),
      ),
    );
    this.heads.replaceChildren(
      el("legend", { class: "sl-label" }, "Head (layer.head)"),
      ...rows,
      el("div", { class: "aa-layer" }, thumb(ROLLOUT, "rollout", rollout(layers))),
    );
    this.words.replaceChildren(
      ...tokens.map((token, i) =>
        el(
          "button",
          {
            type: "button",
            class: "aa-word",
            "aria-label": `${token}, place ${i}`,
            onclick: () => this.ask(i),
          },
          el("span", { class: "aa-shade", "aria-hidden": "true" }),
          el("span", { class: "aa-token" }, token),
        ),
      ),
    );
    this.update();
  }

  ask(i) {
    this.token = i;
    this.update();
  }

  current() {
    if (this.head === ROLLOUT) return rollout(this.layers);
    const [layer, head] = this.head.split(".").map(Number);
    return this.layers[layer][head];
  }

  /** The cells of a map that can be seen, in a square of some pixels. */
  drawing(map, side) {
    const cell = side / map.length;
    return svg(
      "svg",
      { viewBox: `0 0 ${side} ${side}`, class: "aa-small", "aria-hidden": "true" },
      svg("rect", { x: 0, y: 0, width: side, height: side, class: "aa-frame", fill: shareColour(0) }),
      this.cells(map, cell, 0),
    );
  }

  cells(map, cell, edge) {
    return map.flatMap((row, i) =>
      row
        .map((weight, j) =>
          weight < SMALLEST
            ? null
            : svg("rect", {
                x: edge + cell * j,
                y: edge + cell * i,
                width: cell,
                height: cell,
                class: "aa-cell",
                fill: shareColour(weight),
                "data-weight": weight.toFixed(3),
                "data-at": `${i},${j}`,
              }),
        )
        .filter((part) => part),
    );
  }

  update() {
    const map = this.current();
    const row = map[this.token];
    this.map.replaceChildren(this.large(map));
    [...this.words.children].forEach((word, j) => {
      word.firstChild.style.width = `${(100 * row[j]).toFixed(2)}%`;
      word.setAttribute("aria-pressed", String(j === this.token));
    });
    const name = this.head === ROLLOUT ? "Rollout" : `Layer ${this.head.replace(".", ", head ")}`;
    const reads = mostRead(row, 3)
      .filter(({ weight }) => weight >= 0.005)
      .map(({ j, weight }) => `${this.tokens[j]} at place ${j} (${weight.toFixed(2)})`);
    this.live.textContent =
      `${name}: ${this.tokens[this.token]} at place ${this.token} reads ` + `${reads.join(", ")}.`;
    this.showScores(map);
  }

  /** The chosen map; the row of the token that reads has a frame. */
  large(map) {
    const n = map.length;
    const edge = 12 + 6 * Math.min(6, Math.max(...this.tokens.map((token) => token.length)));
    const cell = Math.min(24, 330 / n);
    const side = edge + cell * n + 2;
    const size = Math.min(11, cell * 0.8).toFixed(1);
    const short = (token) => (token.length > 6 ? `${token.slice(0, 5)}…` : token);
    const label = (token, x, y, turned) =>
      svg(
        "text",
        {
          x,
          y,
          class: "aa-label",
          "font-size": size,
          "text-anchor": turned ? "start" : "end",
          transform: turned ? `rotate(-90 ${x} ${y})` : null,
        },
        short(token),
      );
    return svg(
      "svg",
      {
        viewBox: `0 0 ${side} ${side}`,
        role: "img",
        "aria-label": "The chosen map; queries down, keys across",
        onclick: (event) => this.point(event, edge, cell, n),
      },
      this.tokens
        .map((token, k) => [
          label(token, edge - 5, edge + cell * (k + 0.5) + 3.5, false),
          label(token, edge + cell * (k + 0.5) + 3.5, edge - 5, true),
        ])
        .flat(),
      svg("rect", { x: edge, y: edge, width: cell * n, height: cell * n, class: "aa-frame", fill: shareColour(0) }),
      this.cells(map, cell, edge),
      svg("rect", {
        x: edge - 1,
        y: edge + cell * this.token,
        width: cell * n + 2,
        height: cell,
        class: "aa-row",
      }),
    );
  }

  point(event, edge, cell, n) {
    const box = event.currentTarget.getBoundingClientRect();
    const scale = (edge + cell * n + 2) / box.height;
    const i = Math.floor(((event.clientY - box.top) * scale - edge) / cell);
    if (i >= 0 && i < n) this.ask(i);
  }

  showScores(map) {
    const { causal } = this.models[this.model];
    const even = evenMap(map.length, causal);
    const said = (score) => (score === null ? "–" : score.toFixed(2));
    const scores = (one) =>
      Object.values(PATTERNS).map((wants) => said(patternScore(one, this.tokens, wants, causal)));
    this.scores.replaceChildren(
      table(
        "aa-scores",
        ["share that goes to", ...Object.keys(PATTERNS)],
        [
          row(this.head === ROLLOUT ? "the rollout" : "this head", scores(map)),
          row("even reading", scores(even)),
        ],
      ),
    );
  }
}

export function mount(root, data) {
  return new Atlas(root, data);
}
