// The window's reach: one slider puts phrases between subject and verb, one widens the window.

import { controls, liveRegion, say, slider } from "../../kit/controls.js";
import { el } from "../../kit/elements.js";
import { distance, isInside, wordsBefore } from "./maths.js";

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Build the figure inside an empty element. */
export function mount(root, data) {
  const sentence = el("p", { class: "wr-sentence" });
  const live = liveRegion();
  const at = { count: data.start, n: data.n };

  function chip(word, place, words) {
    const isSubject = place === 1;
    const kinds = ["wr-word", isInside(words, place, at.n) ? "wr-inside" : "wr-outside"];
    return el("span", { class: [...kinds, ...(isSubject ? ["wr-subject"] : [])].join(" ") }, word);
  }

  function update() {
    phrases.show(String(at.count), at.count, plural(at.count, "phrase"));
    n.show(String(at.n), at.n, `n = ${at.n}`);
    const words = wordsBefore(data, at.count);
    const chips = words.map((word, place) => chip(word, place, words));
    const verb = el("span", { class: "wr-word wr-verb" }, `${data.verb}?`);
    sentence.replaceChildren(...[...chips, verb].flatMap((one) => [one, " "]));
    const back = distance(words);
    const read = `The subject stands ${plural(back, "word")} before the verb; with n = ${at.n} the model reads ${at.n - 1}.`;
    const verdict =
      back <= at.n - 1
        ? `It sees “${data.subject}”.`
        : `“${data.subject}” is outside, and nothing in the window tells which form the verb takes.`;
    say(live, `${read} ${verdict}`);
  }

  const phrases = slider(
    "Phrases between subject and verb",
    { min: 0, max: data.phrases.length },
    (value) => {
      at.count = value;
      update();
    },
    "wr-field",
  );
  const [min, max] = data.sizes;
  const n = slider(
    "Words in an n-gram, n",
    { min, max },
    (value) => {
      at.n = value;
      update();
    },
    "wr-field",
  );
  root.append(controls(phrases.field, n.field), sentence, live);
  update();
}
