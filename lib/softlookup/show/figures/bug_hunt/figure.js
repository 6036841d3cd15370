// The bug hunt: press the wrong line; the tests tell what breaks.

import { button, choices, form, liveRegion } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { counted } from "../../kit/numbers.js";

/** One figure: the function that is shown, and for each what was pressed and asked. */
class Hunt {
  constructor(root, { bugs }) {
    this.bugs = bugs;
    this.states = bugs.map(() => ({ tried: [], found: false, asked: false }));
    this.at = 0;
    this.picker = choices(
      "Function",
      "function",
      bugs.map(({ name }, k) => [String(k), name]),
      "0",
      (value) => this.go(Number(value)),
    );
    this.names = [...this.picker.querySelectorAll("span")];
    this.code = el("ol", { class: "bh-code", "aria-label": "The function, line by line" });
    this.live = liveRegion("bh-live");
    this.ask = button(
      "Run the tests",
      () => {
        this.state.asked = !this.state.asked;
        this.update();
      },
      { class: "sl-button bh-ask" },
    );
    this.next = button("Next function", () => this.goOn(), { class: "sl-button bh-next" });
    this.tests = el("ul", { class: "bh-tests", "aria-label": "The tests" });
    this.score = el("p", { class: "bh-score" });
    root.append(
      form(
        "bh-hunt",
        this.picker,
        this.code,
        this.live,
        el("div", { class: "sl-controls bh-buttons" }, this.ask, this.next),
        this.tests,
        this.score,
      ),
    );
    this.update();
  }

  get state() {
    return this.states[this.at];
  }

  go(k) {
    this.at = k;
    this.update();
  }

  goOn() {
    this.at = (this.at + 1) % this.bugs.length;
    this.picker.querySelectorAll("input")[this.at].checked = true;
    this.update();
  }

  press(line) {
    const { found, tried } = this.state;
    if (found) return;
    if (line === this.bugs[this.at].wrong) this.state.found = true;
    else if (!tried.includes(line)) tried.push(line);
    this.update();
    this.code.querySelectorAll("button")[line].focus();
  }

  line(text, k) {
    const { wrong, right } = this.bugs[this.at];
    const { found, tried } = this.state;
    const isWrong = found && k === wrong;
    const kind = isWrong ? " bh-wrong" : tried.includes(k) ? " bh-tried" : "";
    const mark = isWrong ? "✗" : tried.includes(k) ? "✓" : "";
    const indent = text.match(/^ */u)[0];
    return el(
      "li",
      null,
      el(
        "button",
        { type: "button", class: `bh-line${kind}`, onclick: () => this.press(k) },
        el("span", { class: "bh-mark", "aria-hidden": "true" }, mark),
        el("code", null, text),
      ),
      isWrong
        ? el(
            "p",
            { class: "bh-right" },
            el("span", { class: "bh-mark", "aria-hidden": "true" }, "→"),
            el("code", null, indent + right),
          )
        : null,
    );
  }

  update() {
    const bug = this.bugs[this.at];
    const { found, asked, tried } = this.state;
    const shown = found || asked;
    this.code.replaceChildren(...bug.lines.map((text, k) => this.line(text, k)));
    const seen = bug.where === "" ? "" : ` Seen in ${bug.where}.`;
    this.live.textContent = found
      ? `Found. ${bug.why}${seen}`
      : tried.length > 0
        ? "That line is right. Look on, or ask the tests."
        : "One of these lines is wrong. Which?";
    this.ask.disabled = found;
    this.ask.setAttribute("aria-pressed", String(shown));
    this.tests.hidden = !shown;
    this.tests.replaceChildren(
      ...bug.tests.map(([name, fault]) =>
        el(
          "li",
          { class: `bh-test ${fault === null ? "bh-passes" : "bh-fails"}` },
          el("span", { class: "bh-lamp", "aria-hidden": "true" }, fault === null ? "○" : "●"),
          el("b", null, name),
          el("span", { class: "bh-said" }, fault === null ? "passes" : `fails: ${fault}`),
        ),
      ),
    );
    this.states.forEach((state, k) => {
      this.names[k].textContent = `${state.found ? "✓ " : ""}${this.bugs[k].name}`;
    });
    const n = this.states.filter((state) => state.found).length;
    const misses = this.states.reduce((sum, state) => sum + state.tried.length, 0);
    this.score.textContent =
      `${n} of ${this.bugs.length} found, ` + `with ${counted(misses, "right line")} suspected.`;
  }
}

/** Build the figure inside an empty element. */
export function mount(root, data) {
  new Hunt(root, data);
}
