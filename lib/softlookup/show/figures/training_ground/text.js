// From a text to what a model trains on: its letters, their ids, and a tenth that is held out.

const [FEWEST, MOST, KINDS] = [200, 100000, 300]; // letters, and different letters
const FIRST = 24; // letters that name a text
const OTHER = "\uFFFD"; // stands for each letter that is too rare, and for half a letter
const HELD_OUT = 2049; // letters that the losses are measured on, at most
const number = (n) => n.toLocaleString("en-GB");

/** {letters, ids, heldOut, notes}, or {problem} in words. With `letters` given, those of a model
 *  that was loaded, what it does not know is left out. */
export function prepared(text, letters = null) {
  const notes = [];
  let all = Array.from(text.replaceAll("\r\n", "\n").replace(/\p{Surrogate}/gu, OTHER));
  if (all.length > MOST) {
    notes.push(`Only the first ${number(MOST)} of ${number(all.length)} letters are used.`);
    all = all.slice(0, MOST);
  }
  if (letters !== null) all = known(all, letters, notes);
  if (all.length < FEWEST) {
    const needed = `at least ${FEWEST} are needed, so that some can be held out`;
    return { problem: `The text has ${counted(all.length)}; ${needed}.` };
  }
  const kinds = letters ?? kindsOf(all, notes);
  if (new Set(all).size < 2) {
    return {
      problem: "The text has one letter only, over and over: there is nothing to foretell.",
    };
  }
  const places = new Map(kinds.map((letter, id) => [letter, id]));
  const ids = all.map((letter) => places.get(letter) ?? places.get(OTHER));
  const split = ids.length - Math.floor(ids.length / 10);
  const heldOut = ids.slice(split, split + HELD_OUT);
  return { letters: kinds, ids: ids.slice(0, split), heldOut, notes };
}

/** What tells the reader's own text from others. */
export function ownName(text) {
  const first = Array.from(text.slice(0, 1000).replace(/\s+/g, " ").trim()).slice(0, FIRST);
  return `your text of ${counted(text.length)}, “${first.join("")} …”`;
}

/** The part of a text that is used: losses on two different ones are not to be compared. */
export function partName(name, amount, file = null) {
  const part = amount === "all" ? name : `the first ${counted(Number(amount))} of ${name}`;
  return file === null ? part : `${part}, in the letters of ${file}`;
}

const counted = (n) => (n === 1 ? "one letter" : n === 0 ? "no letter" : `${number(n)} letters`);

/** The different letters in order; where they are too many, the rarest share one sign. */
function kindsOf(all, notes) {
  const counts = new Map();
  for (const letter of all) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  let kinds = [...counts.keys()];
  if (kinds.length > KINDS) {
    const few = `the ${KINDS - 1} most frequent are kept, ${OTHER} stands for the others`;
    notes.push(`The text has ${number(kinds.length)} different letters: ${few}.`);
    kinds = kinds.filter((one) => one !== OTHER).sort((a, b) => counts.get(b) - counts.get(a));
    kinds = [...kinds.slice(0, KINDS - 1), OTHER];
  }
  return kinds.sort();
}

function known(all, letters, notes) {
  const kept = new Set(letters);
  const unknown = new Set(all.filter((letter) => !kept.has(letter)));
  if (unknown.size === 0) return all;
  const some = [...unknown].slice(0, 8).map((one) => JSON.stringify(one).slice(1, -1));
  const list = `${some.join(" ")}${unknown.size > 8 ? " …" : ""}`;
  notes.push(`Letters that the loaded model does not know are left out: ${list}`);
  return all.filter((letter) => kept.has(letter));
}

/** Where a held-out text ends, so that it is cut into whole pieces, and how long these are. */
export function pieces(heldOut, context) {
  const length = Math.min(context, heldOut.length);
  const n = Math.floor((heldOut.length - 1) / (length - 1));
  return { length, heldOut: heldOut.slice(0, n * (length - 1) + 1) };
}
