// The training ground: a text and a model, training that is watched, files, and a race.

import { startWorker } from "../../engine/worker.js";
import { button, controls, field, form, liveRegion, say } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { counted, format } from "../../kit/numbers.js";
import { row, scroller, table } from "../../kit/table.js";
import { Gradients } from "./gradients.js";
import { loss, lossChart, sparkline } from "./charts.js";
import { RaceTrack } from "./race_track.js";
import {
  CHOICES,
  configOf,
  inWords,
  PRESETS,
  SILENCE,
  USUAL,
  withoutOf,
  workOf,
} from "./settings.js";
import { ownName, partName, pieces, prepared } from "./text.js";

const OWN = "own";
const PAUSE = 150; // milliseconds between two pictures
const [LOOKS, WRITTEN, SAMPLES] = [25, 90, 4]; // reports in a run, letters in a sample, samples shown
const SPACE = { " ": "␣", "\n": "↵" };

class Ground {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.usual = { ...USUAL, ...data.usual };
    this.chosen = { ...this.usual };
    this.text = Object.keys(data.texts)[0];
    this.ways = PRESETS.filter(({ key }) => data.presets.includes(key));
    Object.assign(this, { preset: this.ways[0], engine: null, busy: null, run: null, loaded: null });
    this.kept = new Map(); // the reports of each run, by its text and its settings
    this.changes = 0;
    this.spoken = -Infinity;
    this.makeParts();
    this.race = new RaceTrack(this);
    root.append(this.layout());
    this.choosePreset(this.preset);
  }

  // the parts

  makeParts() {
    const names = Object.keys(this.data.texts);
    const texts = [...names.map((name) => [name, name]), [OWN, "your own text"]];
    this.texts = this.select("text", texts, this.text, (value) => this.chooseText(value));
    this.own = el("textarea", {
      name: "own",
      rows: 5,
      oninput: () => this.changed(),
      placeholder: "Paste a text of at least 200 letters.",
    });
    this.ownField = field("Your text, which stays in this browser", this.own, "tg-own");
    this.selects = new Map(
      CHOICES.map(([key, , options]) => {
        const choose = (value) => this.choose({ [key]: value });
        return [key, this.select(key, options, this.chosen[key], choose)];
      }),
    );
    this.presets = this.ways.map((preset) => button(preset.name, () => this.choosePreset(preset)));
    this.question = el("p", { class: "tg-question" });
    this.answer = el("p", { class: "tg-answer" });
    const asked = (act) => (event) => event.isTrusted && act(); // a link sets up; it trains nothing
    this.train = button(
      "Train",
      asked(() => this.toggle()),
      { class: "sl-button tg-go" },
    );
    this.once = button(
      "One step",
      asked(() => this.while("step", () => this.step())),
    );
    this.anew = button("New start", () => this.startAnew());
    this.live = liveRegion("tg-status");
    this.facts = el("p", { class: "sl-note tg-facts" });
    this.picture = lossChart("Losses by steps of training");
    this.samples = el("ol", { class: "tg-samples" });
    this.layers = el("tbody");
    this.tensors = el("div", { class: "tg-tensors" });
    this.gradients = new Gradients((name) => this.ask("gradient", { name }));
    this.save = button("Save the model", () => this.while("save", () => this.saveModel()));
    this.saveText = button("Save the text", () => this.saveTextFile());
    this.open = button(
      "Load a model",
      asked(() => this.chooseFile()),
    );
  }

  select(name, options, chosen, onChange) {
    const items = options.map((one) => (Array.isArray(one) ? one : [String(one), String(one)]));
    const parts = items.map(([value, words]) =>
      el("option", { value, selected: value === String(chosen) }, words),
    );
    const select = el("select", { name, onchange: () => onChange(select.value) }, parts);
    return select;
  }

  layout() {
    const heads = ["", "gradient", "", "weights", ""];
    const layers = table("tg-layers", heads, []);
    layers.tBodies[0].replaceWith(this.layers);
    const given = this.data.choices;
    const offered = CHOICES.filter(([key]) => given === null || given.includes(key));
    const choices = offered.map(([key, name]) => field(name, this.selects.get(key)));
    if (given !== null) return this.smallLayout(choices);
    return form(
      "tg-form",
      controls(field("Text", this.texts)),
      this.ownField,
      this.facts,
      this.waysToTrain(),
      this.question,
      el(
        "details",
        { class: "tg-more" },
        el("summary", null, "Choose the model and how it is trained"),
        el("div", { class: "tg-choices" }, choices),
      ),
      el("div", { class: "tg-buttons" }, this.train, this.once, this.anew),
      this.live,
      this.picture.chart,
      this.legend(),
      this.answer,
      el("p", { class: "tg-head" }, "What the model writes on its way"),
      this.samples,
      el("p", { class: "tg-head" }, "How long gradients and weights are"),
      scroller("Lengths of gradients and weights in each layer", layers),
      el(
        "details",
        { class: "tg-more tg-step" },
        el("summary", null, "Every tensor of the last single step"),
        this.tensors,
        this.gradients.node,
      ),
      el("p", { class: "tg-head" }, "Save, load, go on in Python"),
      el("div", { class: "tg-buttons" }, this.save, this.saveText, this.open),
      el(
        "details",
        { class: "tg-more" },
        el("summary", null, "Go on in Python, and come back"),
        el(
          "p",
          { class: "sl-note" },
          "With both files in one folder, these lines load the model, " +
            "cut the text into pieces, train on, and save: the file can be loaded here again. The " +
            "optimizer's memory is not in the file, and begins anew.",
        ),
        scroller("Python code", el("pre", { class: "tg-python" }, this.data.python)),
      ),
      this.race.node,
    );
  }

  /** One text, some ways to train it, and what comes of it. */
  smallLayout(choices) {
    return form(
      "tg-form",
      this.facts,
      this.waysToTrain(),
      this.question,
      el("div", { class: "tg-choices" }, choices),
      el("div", { class: "tg-buttons" }, this.train, this.once, this.anew),
      this.live,
      this.picture.chart,
      this.legend(),
      this.answer,
      el("p", { class: "tg-head" }, "What the model writes on its way"),
      this.samples,
    );
  }

  waysToTrain() {
    const attributes = { class: "tg-presets", role: "group", "aria-label": "Ways to train" };
    return el("div", attributes, this.presets);
  }

  legend() {
    return el(
      "p",
      { class: "tg-legend" },
      el("span", { class: "tg-key tg-training" }, "training text"),
      el("span", { class: "tg-key tg-heldout" }, "held-out text"),
      el("span", { class: "tg-key tg-bigram" }, "bigram"),
      el("span", { class: "tg-key tg-kneserney" }, "Kneser–Ney"),
    );
  }

  // what the reader chooses

  choosePreset(preset) {
    this.preset = preset;
    this.loaded = null;
    const names = Object.keys(this.data.texts);
    if (preset.text !== undefined) this.text = names.at(preset.text);
    this.chosen = { ...this.usual, ...preset.change };
    this.changed();
  }

  choose(change) {
    Object.assign(this.chosen, change);
    this.changed();
  }

  chooseText(name) {
    this.text = name;
    this.changed();
  }

  /** The next training begins anew; a model that was loaded keeps its weights. */
  changed() {
    this.run = null;
    this.changes += 1;
    if (this.busy === "train") this.engine.stop();
    this.texts.value = this.text;
    for (const [key, select] of this.selects) {
      select.value = this.chosen[key];
      const fixed = ["d_model", "n_layers", "n_heads", "context", "positions", "norm_first"];
      const parts = [...fixed, "mask", "residual"];
      const given = this.loaded !== null && parts.includes(key);
      select.disabled = given || (key === "rate" && this.chosen.optimizer === "recipe");
    }
    this.ownField.hidden = this.text !== OWN;
    this.ways.forEach((preset, k) => {
      this.presets[k].setAttribute("aria-pressed", String(preset === this.preset));
    });
    this.question.textContent = this.preset.question;
    this.answer.textContent = "";
    this.samples.replaceChildren(el("li", null, "Nothing yet."));
    this.tensors.replaceChildren(el("p", { class: "sl-note" }, "Press “One step”."));
    this.gradients.show([]);
    this.drawLayers([]);
    const text = this.chosenText();
    this.facts.textContent = text.problem ?? this.factsOf(text);
    this.draw();
    say(this.live, text.problem ?? `Ready: ${this.modelWords()}. Press Train.`);
    this.showButtons();
  }

  modelWords() {
    if (this.loaded === null) return inWords(this.chosen);
    const { file, config } = this.loaded;
    return `the model of ${file}, width ${config.d_model}, ${counted(config.n_layers, "block")}`;
  }

  factsOf({ letters, ids, heldOut, notes }) {
    const some = `${counted(ids.length, "letter")} to learn from, ${counted(letters.length, "different letter")}; `;
    return [
      `${some}losses on the first ${counted(heldOut.length, "letter")} of what is held out.`,
      ...notes,
    ].join(" ");
  }

  /** The text as it is to be trained on, or {problem}. */
  chosenText() {
    let text = this.text === OWN ? this.own.value : this.data.texts[this.text];
    if (this.chosen.amount !== "all") text = text.slice(0, Number(this.chosen.amount));
    return prepared(text, this.loaded?.letters ?? null);
  }

  preparedText() {
    const text = this.chosenText();
    if (text.problem) throw new Error(text.problem);
    return text;
  }

  textName() {
    const name = this.text === OWN ? ownName(this.own.value) : this.text;
    return partName(name, this.chosen.amount, this.loaded?.file);
  }

  // training

  /** Do one thing at a time; what goes wrong is said, and the page goes on. */
  async while(what, act) {
    if (this.busy !== null) return;
    this.busy = what;
    const held = document.activeElement;
    this.showButtons();
    try {
      await act();
    } catch (error) {
      if (this.alive()) say(this.live, error.message);
    }
    this.busy = null;
    if (!this.alive()) return;
    this.showButtons();
    // a button that is disabled while it works loses the keyboard
    if (![document.body, held].includes(document.activeElement)) return;
    held?.blur(); // Firefox still calls it active
    held?.focus({ preventScroll: true }); // the reader may look at something else meanwhile
  }

  /** Whether the figure was not reset meanwhile. */
  alive() {
    return this.live.isConnected;
  }

  ask(what, data, onPart = () => {}) {
    if (this.engine === null) {
      try {
        this.engine = startWorker(this.data.engine);
      } catch {
        throw new Error("This browser starts no worker for a page, so it cannot train here.");
      }
    }
    return this.engine.ask(what, data, (part) => this.alive() && onPart(part));
  }

  async toggle() {
    if (this.busy === "train") this.engine.stop();
    else await this.while("train", () => this.trainOn());
  }

  /** A model, a text and the lines to beat, unless a run is under way; returns its work, once. */
  async begin() {
    if (this.run !== null && !this.run.broken) return {};
    if (this.run?.broken) this.loaded = null;
    const { changes } = this;
    const text = this.preparedText();
    const config = this.loaded?.config ?? configOf(this.chosen, text.letters.length);
    if (this.loaded === null) {
      say(this.live, "The model is made, and the letters are counted.");
      await this.ask("load", { config, without: withoutOf(this.chosen), seed: 1 });
    }
    const { length, heldOut } = pieces(text.heldOut, config.context);
    const { ids, letters } = text;
    const lines = await this.ask("count", { ids, heldOut, vocabSize: letters.length });
    if (changes !== this.changes) throw new Error("The settings have changed: press Train again.");
    const nSteps = Number(this.chosen.nSteps);
    const prompt = heldOut.slice(0, Math.min(4, config.context - 1));
    const every = Math.max(1, Math.round(nSteps / LOOKS));
    const watch = { every, heldOut, length, prompt, nTokens: WRITTEN };
    this.run = { letters, lines, watch, nSteps, step: 0, losses: [], reports: [], broken: false };
    this.run.preset = this.preset;
    this.draw();
    const pieceLength = Math.min(config.context, ids.length);
    return { ...workOf(this.chosen), ids, nSteps, length: pieceLength };
  }

  async trainOn() {
    const work = await this.begin();
    const { run } = this;
    const more = run.step >= run.nSteps ? Number(this.chosen.nSteps) : 0;
    run.nSteps += more;
    const { watch } = run;
    await this.ask("train", { ...work, more, watch }, (part) => this.take(part, run));
    if (run === this.run) this.finish();
  }

  async step() {
    const work = await this.begin();
    const { run } = this;
    const part = await this.ask("step", { ...work, watch: run.watch });
    if (run !== this.run) return;
    this.take(part, run);
    this.drawTensors(part.tensors, part.step);
    this.finish();
  }

  take(part, run) {
    if (run !== this.run) return; // its settings have changed
    run.step = part.step;
    run.nSteps = Math.max(run.nSteps, part.step);
    if (part.broken) {
      run.broken = part.broken;
      return;
    }
    run.losses.push([part.step, part.loss]);
    if (part.heldOut !== undefined) {
      run.reports.push(part);
      if (performance.now() - this.spoken > SILENCE) this.speak();
    }
    this.drawSoon();
  }

  /** What came out so far, in a sentence or two. */
  finish() {
    const { run } = this;
    this.spoken = -Infinity;
    if (run.broken) {
      const what = run.broken === "loss" ? "The loss" : "The gradient";
      const advice = "Choose a lower rate, and press Train: it begins anew.";
      say(
        this.live,
        `${what} of step ${run.step} is no number any more. Training stopped. ${advice}`,
      );
    } else this.speak();
    this.kept.set(this.keyOf(this.chosen), run.reports);
    const some = run.broken || (run.reports.length > 0 && run.step > 1);
    const answers = some && this.loaded === null && this.presetHolds();
    this.answer.textContent = answers ? run.preset.answer(this.outcome()) : "";
    this.draw();
  }

  keyOf(chosen) {
    return `${this.textName()} ${chosen.context} ${inWords(chosen)}`;
  }

  /** Whether the settings are still those that the preset's question is about. */
  presetHolds() {
    const [preset, { chosen }] = [this.run.preset, this];
    const whole = { ...this.usual, ...preset.change };
    const same = (key) => chosen[key] === whole[key];
    return [...Object.keys(preset.change), "mask", "residual", "positions"]
      .filter((key) => key !== "nSteps")
      .every(same);
  }

  /** What the words about a preset are made of. */
  outcome() {
    const { reports, lines, step, broken, losses } = this.run;
    const last = reports.at(-1) ?? {};
    const lowest = reports.reduce((a, b) => (b.heldOut < a.heldOut ? b : a), reports[0] ?? {});
    const passed = reports.find(({ heldOut }) => heldOut < lines.bigram)?.step ?? null;
    const usualKey = this.keyOf({ ...this.chosen, positions: this.usual.positions });
    const same = this.kept.get(usualKey) ?? [];
    const usual = same.find((report) => report.step === last.step)?.heldOut ?? null;
    const recent = losses.slice(-10).map(([, value]) => value);
    const train = recent.reduce((sum, value) => sum + value / recent.length, 0);
    return { step, broken, lines, train, heldOut: last.heldOut, lowest, passed, usual };
  }

  speak() {
    const { step, nSteps, losses, reports, lines } = this.run;
    const last = reports.at(-1);
    if (!last) {
      say(this.live, `Step ${step} of ${nSteps}.`);
      return;
    }
    this.spoken = performance.now();
    const both = `loss ${loss(losses.at(-1)[1])} on the training text, ${loss(last.heldOut)} held out`;
    const levels = `Bigram ${loss(lines.bigram)}, Kneser–Ney ${loss(lines.kneserNey)}`;
    say(this.live, `Step ${step} of ${nSteps}: ${both}. ${levels}.`);
  }

  startAnew() {
    this.loaded = null;
    this.changed();
  }

  // pictures

  drawSoon() {
    if (this.waiting) return;
    this.waiting = true;
    setTimeout(() => {
      this.waiting = false;
      if (this.alive()) this.draw();
    }, PAUSE);
  }

  draw() {
    const { run } = this;
    const end = run?.nSteps ?? Number(this.chosen.nSteps);
    if (run === null) {
      this.picture.draw({ most: 5, end, unit: "steps", curves: [], levels: [] });
      return;
    }
    const { losses, reports, lines, letters } = run;
    const curves = [
      { name: "training", points: losses },
      { name: "heldout", points: reports.map(({ step, heldOut }) => [step, heldOut]) },
    ];
    const levels = [
      { name: "bigram", value: lines.bigram },
      { name: "kneserney", value: lines.kneserNey },
    ];
    const most = Math.log(letters.length) * 1.15;
    this.picture.draw({ most, end, unit: "steps", curves, levels });
    if (reports.length === 0) return;
    this.drawLayers(reports);
    this.samples.replaceChildren(...this.sampleItems());
  }

  sampleItems() {
    const { reports, letters, watch } = this.run;
    const words = (ids) => ids.map((id) => SPACE[letters[id]] ?? letters[id]).join("");
    return reports
      .slice(-SAMPLES)
      .reverse()
      .map(({ step, sample }) =>
        el(
          "li",
          null,
          el("span", { class: "tg-when" }, `step ${step}`),
          el("span", { class: "tg-written" }, el("b", null, words(watch.prompt)), words(sample)),
        ),
      );
  }

  /** A row for each layer: how long its gradient and its weights were, from the first report on. */
  drawLayers(reports) {
    const histories = new Map();
    reports.forEach(({ norms }) => {
      for (const [layer, lengths] of byLayer(norms)) {
        if (!histories.has(layer)) histories.set(layer, { gradient: [], weight: [] });
        histories.get(layer).gradient.push(lengths.gradient);
        histories.get(layer).weight.push(lengths.weight);
      }
    });
    const all = (kind) => [...histories.values()].flatMap((history) => history[kind]);
    const range = (kind) => [Math.max(1e-9, Math.min(...all(kind))), Math.max(1e-9, ...all(kind))];
    const cell = (history, kind) => [
      format(history[kind].at(-1), 3),
      el("td", { class: "tg-small" }, sparkline(history[kind], range(kind), kind)),
    ];
    const rows = [...histories].map(([layer, history]) =>
      row(layer, [...cell(history, "gradient"), ...cell(history, "weight")]),
    );
    const none = row("all layers", ["", "", "", ""]);
    this.layers.replaceChildren(...(rows.length > 0 ? rows : [none]));
  }

  drawTensors(tensors, step) {
    const heads = ["tensor", "shape", "gradient", "weights", "update", "update / weights"];
    const rows = tensors.map(({ name, shape, gradient, before, update }) =>
      row(
        name,
        [
          shape.join(" × "),
          ...[gradient, before, update].map((x) => format(x, 3)),
          before > 0 ? format(update / before, 3) : "from 0",
        ],
        { onclick: () => this.gradients.open(name) },
      ),
    );
    this.tensors.replaceChildren(
      el(
        "p",
        { class: "sl-note" },
        `Step ${step}: the length of each tensor's gradient, of the ` +
          "tensor before the step, and of what the step added to it. Choose a tensor, below or in " +
          "its row, and each entry of its gradient is seen.",
      ),
      scroller("Every tensor of the step", table("tg-all", heads, rows)),
    );
    const letters = this.run.letters.map((letter) => SPACE[letter] ?? letter);
    this.gradients.show(tensors, letters, step);
  }

  showButtons() {
    const { busy, run } = this;
    const racing = busy === "race";
    const goesOn = run?.step > 0 && !run.broken;
    this.train.textContent = busy === "train" ? "Pause" : goesOn ? "Train on" : "Train";
    this.race.start.textContent = racing ? "Stop the race" : "Race";
    const idle = busy === null;
    this.train.disabled = !idle && busy !== "train";
    this.race.start.disabled = !idle && !racing;
    this.once.disabled = this.open.disabled = !idle;
    this.anew.disabled = !idle && busy !== "train";
    this.save.disabled = !idle || run === null || run.step === 0 || Boolean(run.broken);
  }

  // files

  async saveModel() {
    const bytes = await this.ask("save", { letters: this.run.letters });
    hand(bytes, "model.safetensors");
    say(this.live, `Saved as model.safetensors: ${counted(bytes.length, "byte")}.`);
  }

  saveTextFile() {
    const text = this.chosenText();
    if (text.problem) {
      say(this.live, text.problem);
      return;
    }
    const ids = [...text.ids];
    hand(ids.map((id) => text.letters[id]).join(""), "text.txt");
    say(this.live, "Saved as text.txt: what there is to learn from, without what is held out.");
  }

  /** The field of a file stands in no page: a link cannot fill it. */
  chooseFile() {
    const input = document.createElement("input");
    Object.assign(input, { type: "file", accept: ".safetensors" });
    input.onchange = () =>
      input.files[0] && this.while("open", () => this.openFile(input.files[0]));
    input.click();
  }

  async openFile(file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let model = null;
    try {
      model = await this.ask("open", { bytes });
    } catch (error) {
      throw new Error(`${file.name} was not loaded, and nothing has changed: ${error.message}.`);
    }
    this.loaded = { ...model, file: file.name };
    this.changed();
    say(this.live, `Loaded: ${this.modelWords()}. Press Train, and it goes on from there.`);
  }
}

/** The tensors of each layer together: blocks one by one, the tables, the last norm. */
function byLayer(norms) {
  const layers = new Map();
  for (const { name, gradient, weight } of norms) {
    const block = /^blocks\.(\d+)\./.exec(name);
    const layer = block ? `block ${block[1]}` : name.startsWith("norm") ? "last norm" : "tables";
    const before = layers.get(layer) ?? { gradient: 0, weight: 0 };
    layers.set(layer, {
      gradient: Math.hypot(before.gradient, gradient),
      weight: Math.hypot(before.weight, weight),
    });
  }
  return layers;
}

/** Give the reader a file. */
function hand(content, name) {
  const address = URL.createObjectURL(new Blob([content]));
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const grounds = new WeakMap(); // what was mounted before a reset has a worker, perhaps

/** Build the figure inside an empty element. */
export function mount(root, data) {
  grounds.get(root)?.engine?.close();
  grounds.set(root, new Ground(root, data));
}
