// Count: what a token takes, with the cache and without it, and with another window.

import { button, choices, liveRegion, say } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { counted } from "../../kit/numbers.js";
import { row, scroller, table } from "../../kit/table.js";

const KEPT = 6; // rows of the table
const number = (n) => n.toLocaleString("en-GB");
const digits = (n) => n.toLocaleString("en-GB", { maximumSignificantDigits: 4 });
const millions = (n) => `${digits(n / 1e6)} million`;

export class Ledger {
  constructor(workshop) {
    this.workshop = workshop;
    this.runs = [];
    this.cached = true;
    this.window = workshop.window;
    const ways = [["cache", "from the cache"], ["anew", "anew for each token"]]; // prettier-ignore
    const windows = [workshop.window, 16, null].map((w, k) => [
      String(w),
      w === null ? "all tokens" : `the last ${w}${k === 0 ? ", as trained" : ""}`,
    ]);
    const options = workshop.window === null ? windows.slice(1).reverse() : windows;
    this.live = liveRegion("wk-words");
    this.made = scroller("What the tokens took");
    this.bench = el(
      "div",
      { class: "wk-bench wk-counting" },
      choices("The text before a token is read", "cached", ways, "cache", (value) => {
        this.cached = value === "cache";
      }),
      choices("A token reads", "window", options, String(this.window), (value) => {
        this.window = value === "null" ? null : Number(value);
      }),
      el(
        "div",
        { class: "wk-row" },
        button(`Write ${workshop.counted} tokens`, () => workshop.later(() => this.write())),
      ),
      this.live,
      this.made,
      el(
        "p",
        { class: "sl-note wk-words" },
        "Counted are the multiplications of the blocks, weights and attention together, for the " +
          "first and for the last of the tokens written, and for all; and the numbers that the " +
          "cache holds at the end.",
      ),
    );
    this.show();
  }

  /** The beginning again, and how it goes on. */
  async write() {
    const { workshop, cached, window } = this;
    const prompt = workshop.ids.slice(0, workshop.made);
    const tokens = [];
    const took = [];
    let kept = 0;
    say(this.live, "Writing …");
    const asked = { prompt, nTokens: workshop.counted, cached, window };
    await workshop.ask("toil", asked, (part) => {
      tokens.push(part.token);
      took.push(part.products);
      kept = part.kept;
    });
    if (tokens.length === 0) return;
    workshop.ids = [...prompt, ...tokens];
    await workshop.fill();
    await workshop.select(workshop.ids.length - 1);
    const all = took.reduce((a, b) => a + b, 0);
    this.runs.push({ cached, window, text: workshop.ids.join(), took, all, kept });
    this.runs = this.runs.slice(-KEPT);
    this.show();
  }

  forget() {
    this.runs = [];
    this.show();
  }

  show() {
    const name = ({ cached, window }) =>
      `${cached ? "cache" : "anew"}, ${window === null ? "all tokens" : `last ${window}`}`;
    const rows = this.runs.map((run) =>
      row(name(run), [
        millions(run.took[0]),
        millions(run.took.at(-1)),
        millions(run.all),
        number(run.kept),
      ]),
    );
    const heads = ["", "First token", "Last token", "All", "In the cache"];
    this.made.replaceChildren(table("wk-stages", heads, rows));
    this.made.hidden = rows.length === 0;
    say(this.live, this.said());
  }

  said() {
    const run = this.runs.at(-1);
    if (run === undefined) return "Nothing is counted yet.";
    const n = run.took.length;
    const own = `${counted(n, "token")} took ${millions(run.all)} multiplications.`;
    const other = this.runs.findLast((one) => one !== run && one.took.length === n);
    if (other === undefined) return own;
    const [most, least] = [Math.max(run.all, other.all), Math.min(run.all, other.all)];
    const times = (most / least).toLocaleString("en-GB", { maximumSignificantDigits: 3 });
    const compared =
      run.all > other.all
        ? `That is ${times} times as many as in the run before.`
        : `The run before took ${times} times as many.`;
    const same = run.text === other.text ? "The text is the same." : "The text is another one.";
    return `${own} ${compared} ${same}`;
  }
}
