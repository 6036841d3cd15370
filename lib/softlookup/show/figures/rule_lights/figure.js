// The rule lights: a message goes in, three rules light up, what they found is underlined.

import { button, choices, form, liveRegion } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { format } from "../../kit/numbers.js";
import { isSpam, letterCounts, pieces, RULES, ruleSpans, scores } from "./maths.js";

const LONGEST = 2000;
const NAMES = { medicine: "Medicine", capitals: "Capitals", money: "Money" };
const SWITCHES = [
  {
    key: "version",
    label: "Rules",
    options: [
      ["printed", "as printed"],
      ["repaired", "repaired"],
    ],
  },
  {
    key: "call",
    label: "Money pattern by",
    options: [
      ["match", "re.match"],
      ["search", "re.search"],
    ],
  },
];
const quoted = (texts) => texts.map((text) => `“${text.trim()}”`).join(", ");

/** Why the capitals rule fires or not: the numbers that decide. */
function capitalsReason(text, version) {
  if (version === "printed") {
    return text.toUpperCase() === text ? "no small letter in it" : "a small letter in it";
  }
  const { letters, capitals } = letterCounts(text);
  if (letters === 0) return "no letters, so the share is 0";
  const share = capitals / letters;
  return `${capitals} of ${letters} letters, a share of ${format(share, 2)}`;
}

function reason(name, text, found, settings) {
  if (name === "capitals") return capitalsReason(text, settings.version);
  const { fires, spans } = found[name];
  if (fires) return quoted(spans.map(([start, end]) => text.slice(start, end)));
  return name === "medicine" ? "no name from its list" : "its pattern does not match";
}

/** Text in nested marks, one for each rule that found it. */
function marked({ text, rules }) {
  return rules.reduce((inner, name) => el("mark", { class: `rl-mark rl-${name}` }, inner), text);
}

function lamp(name) {
  const state = el("b", { class: "rl-state" });
  const why = el("span", { class: "rl-why" });
  const row = el(
    "li",
    { class: `rl-lamp rl-${name}`, "data-rule": name },
    el("span", { class: "rl-bulb", "aria-hidden": "true" }),
    el("span", { class: "rl-name" }, NAMES[name], " ", state),
    why,
  );
  return { row, state, why };
}

/** One figure: what the reader has typed and chosen, and the elements that show it. */
class Lights {
  constructor(root, { patterns, messages, examples, text }) {
    Object.assign(this, { patterns, messages, next: 0 });
    this.settings = { version: "repaired", call: "search" };
    this.area = el("textarea", {
      rows: 3,
      maxlength: LONGEST,
      dir: "auto",
      spellcheck: "false",
      autocomplete: "off",
      "aria-label": "Your message",
      oninput: () => this.refresh(),
    });
    this.reading = el("p", { class: "rl-reading", dir: "auto" });
    this.lamps = Object.fromEntries(RULES.map((name) => [name, lamp(name)]));
    this.verdict = liveRegion("rl-verdict");
    this.score = el("p", { class: "rl-score" });
    this.form = form(
      "rl-lights",
      this.buttons(examples),
      el(
        "div",
        { class: "sl-field" },
        el("span", { class: "sl-label", "aria-hidden": "true" }, "Your message"),
        this.area,
      ),
      el(
        "div",
        { class: "sl-controls rl-switches" },
        SWITCHES.map(({ label: name, key, options }) =>
          choices(name, key, options, this.settings[key], (value) => this.choose(key, value)),
        ),
      ),
      this.reading,
      el(
        "ul",
        { class: "rl-lamps" },
        RULES.map((name) => this.lamps[name].row),
      ),
      this.verdict,
      this.score,
    );
    root.append(this.form);
    this.write(text);
  }

  buttons(examples) {
    const own = examples.map(({ label: name, text }) => button(name, () => this.write(text)));
    return el(
      "div",
      { class: "rl-examples", role: "group", "aria-label": "Examples" },
      own,
      button("A training message", () => this.writeNext()),
    );
  }

  /** The next message of the training set; after the last comes the first. */
  writeNext() {
    const [text] = this.messages[this.next];
    this.next = (this.next + 1) % this.messages.length;
    this.write(text);
  }

  write(text) {
    this.area.value = text;
    this.refresh();
  }

  /** The program as printed calls re.match, the repaired one re.search; the other may be tried. */
  choose(key, value) {
    this.settings[key] = value;
    if (key === "version") {
      this.settings.call = value === "printed" ? "match" : "search";
      this.form.querySelector(`input[name="call"][value="${this.settings.call}"]`).checked = true;
    }
    this.refresh();
  }

  refresh() {
    const text = this.area.value;
    const found = ruleSpans(text, this.patterns, this.settings);
    this.reading.replaceChildren(...pieces(text, found).map(marked));
    this.reading.hidden = text === "";
    for (const name of RULES) {
      const { row, state, why } = this.lamps[name];
      row.classList.toggle("rl-on", found[name].fires);
      state.textContent = found[name].fires ? "fires" : "does not fire";
      why.textContent = reason(name, text, found, this.settings);
    }
    this.say(text, found);
  }

  say(text, found) {
    const fired = RULES.filter((name) => found[name].fires).map((name) => NAMES[name]);
    const said = isSpam(found)
      ? `Spam: ${fired.join(" and ")} ${fired.length === 1 ? "fires" : "fire"}.`
      : "Ham: no rule fires.";
    const known = this.messages.find(([message]) => message === text);
    const verdict = known
      ? ` The label is ${known[1] ? "spam" : "ham"}: ${
          known[1] === isSpam(found) ? "right" : "wrong"
        }.`
      : "";
    const empty = text === "" ? " Nothing is written yet." : "";
    this.verdict.textContent = said + verdict + empty;
    const { tp, fp, fn, precision, recall, f1 } = scores(
      this.messages,
      this.patterns,
      this.settings,
    );
    this.score.textContent =
      `With these switches, on the ${this.messages.length} training messages: ` +
      `${tp} of ${tp + fn} spam found, ${fp} ham called spam; precision ${format(precision, 3)}, ` +
      `recall ${format(recall, 3)}, F1 ${format(f1, 3)}.`;
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  return new Lights(root, data);
}
