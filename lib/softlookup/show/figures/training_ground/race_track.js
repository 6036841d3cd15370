// The race: the reader's recipe and the book's at equal seconds, and the best that is kept.

import { button, field, liveRegion, say } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { counted, fixed } from "../../kit/numbers.js";
import { loss, lossChart } from "./charts.js";
import { bookConfig, configOf, inWords, SILENCE, withoutOf, workOf } from "./settings.js";
import { pieces } from "./text.js";

const KEPT = "softlookup.race";
const LEVEL = 0.005; // losses as close as that are called level

/** What is kept in this browser: for each text and time the best loss, and how it was reached. */
function keptBest() {
  try {
    const found = JSON.parse(localStorage.getItem(KEPT));
    return typeof found === "object" && found !== null && !Array.isArray(found) ? found : {};
  } catch {
    return {}; // nothing, or what is none of ours; some browsers keep nothing for a file
  }
}

function keep(best) {
  try {
    if (Object.keys(best).length === 0) localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, JSON.stringify(best));
  } catch {
    // it is shown all the same, until the page is closed
  }
}

/** Which is better, in words; a loss of null is that of a run that broke. */
export function verdict([yours, books]) {
  if (yours.heldOut === null) {
    return `Your recipe broke at step ${yours.step}: its loss is no number. The book's stays.`;
  }
  const [own, other] = [yours.heldOut, books.heldOut];
  const both =
    `On held-out text your recipe reached ${loss(own)} in ${yours.step} steps, ` +
    `the book's ${loss(other)} in ${books.step}`;
  if (Math.abs(own - other) < LEVEL) return `${both}: they are level.`;
  const whose = own < other ? "yours" : "the book's";
  return `${both}: ${whose} is better by ${fixed(Math.abs(own - other), 3)}.`;
}

/** How a race stands, in words, from both curves of [seconds, loss]; null while one is empty. */
function standing([yours, books]) {
  if (yours.length === 0 || books.length === 0) return null;
  const [[used, own], [, other]] = [yours.at(-1), books.at(-1)];
  return (
    `After ${counted(Math.round(used), "second")} of training your recipe stands at ${loss(own)} ` +
    `on held-out text, the book's at ${loss(other)}.`
  );
}

/** The part of the figure with the race. `ground` trains, and lends its worker and its text. */
export class RaceTrack {
  constructor(ground) {
    this.ground = ground;
    this.best = keptBest();
    this.seconds = el(
      "select",
      { name: "seconds" },
      [5, 15, 30, 60].map((n) => {
        return el("option", { value: n, selected: n === 15 }, `${n} seconds each`);
      }),
    );
    this.start = button("Race", (event) => event.isTrusted && this.toggle());
    this.forget = button("Forget the best", () => this.clear());
    this.words = liveRegion("tg-verdict");
    this.table = el("ul", { class: "tg-best" });
    this.picture = lossChart("Held-out loss of both recipes by seconds of training");
    this.node = el(
      "section",
      { class: "tg-race" },
      el("p", { class: "tg-head" }, "Race against the book's recipe"),
      el(
        "p",
        { class: "sl-note" },
        "Your settings above against the book's: the block of today with a window of four letters, " +
          "Muon for its matrices, AdamW for the rest. Both train in turns, each for as many " +
          "seconds; looking at the held-out text takes none of them.",
      ),
      el("div", { class: "sl-controls" }, field("Time", this.seconds), this.start, this.forget),
      this.picture.chart,
      el(
        "p",
        { class: "tg-legend" },
        el("span", { class: "tg-key tg-heldout" }, "your recipe"),
        el("span", { class: "tg-key tg-kneserney" }, "the book's"),
      ),
      this.words,
      this.table,
    );
    this.draw(5, [[], []], 15);
    this.list();
    say(this.words, "No race has been run yet.");
    addEventListener("storage", ({ key }) => {
      if (key !== KEPT && key !== null) return; // null: another page has cleared everything
      this.best = keptBest();
      this.list();
    });
  }

  async toggle() {
    const { ground } = this;
    if (ground.busy === "race") ground.engine.stop();
    else await ground.while("race", () => this.run());
  }

  async run() {
    const { ground } = this;
    const text = ground.preparedText();
    const seconds = Number(this.seconds.value);
    const most = Math.log(text.letters.length) * 1.15;
    const config = configOf(ground.chosen, text.letters.length);
    const { length, heldOut } = pieces(text.heldOut, Math.min(config.context, 32));
    const { ids } = text;
    const size = (context) => Math.min(context, ids.length);
    const own = { ...workOf(ground.chosen), ids, length: size(config.context) };
    const books = { ids, length: size(32), batchSize: 16, optimizer: "recipe", seed: 1 };
    const racers = [
      { config, work: own, without: withoutOf(ground.chosen), seed: 1 },
      { config: bookConfig(text.letters.length), work: books, seed: 1 },
    ];
    const curves = [[], []];
    const last = [null, null];
    let spoken = performance.now();
    const onPart = (part) => {
      last[part.racer] = part;
      if (part.heldOut != null) curves[part.racer].push([part.seconds, part.heldOut]);
      if (part.heldOut === undefined) return;
      this.draw(most, curves, seconds);
      const broken = last[0]?.heldOut === null;
      const words = broken ? verdict(last) : standing(curves);
      if (words === null || performance.now() - spoken <= SILENCE) return;
      spoken = performance.now();
      say(this.words, words);
    };
    const race = { racers, seconds, heldOut, length };
    const running = ground.ask("race", race, onPart); // throws where no worker can be had
    say(this.words, "The race is on.");
    const { finished } = await running.catch((error) => {
      say(this.words, "The race broke off; nobody has won.");
      throw error;
    });
    if (!finished) {
      say(this.words, "The race was stopped; nobody has won.");
      return;
    }
    say(this.words, verdict(last));
    this.remember(last[0].heldOut, seconds);
  }

  /** Keep the reader's loss if it is the best on this text in this time. */
  remember(heldOut, seconds) {
    if (heldOut === null) return;
    const { chosen } = this.ground;
    const key = `${this.ground.textName()}, ${seconds} seconds`;
    if (this.best[key] !== undefined && this.best[key].loss <= heldOut) return;
    this.best[key] = { loss: heldOut, how: inWords(chosen) };
    keep(this.best);
    this.list();
  }

  clear() {
    this.best = {};
    keep(this.best);
    this.list();
    say(this.words, "Nothing is kept in this browser any more.");
  }

  list() {
    const all = Object.entries(this.best).filter(([, one]) => typeof one?.loss === "number");
    const items = all.map(([key, one]) =>
      el("li", null, `Your best on ${key}: ${loss(one.loss)}, with ${String(one.how)}`),
    );
    const none = el("li", null, "Your best is kept in this browser, and nowhere else.");
    this.table.replaceChildren(...(items.length > 0 ? items : [none]));
    this.forget.disabled = items.length === 0;
  }

  draw(most, [yours, books], seconds) {
    const curves = [
      { name: "heldout", points: yours },
      { name: "kneserney", points: books },
    ];
    this.picture.draw({ most, end: seconds, unit: "seconds", curves, levels: [] });
  }
}
