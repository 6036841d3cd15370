// What the search finds. Loaded on first use, see search.js; it loads MiniSearch and the book's
// entries (see _ext/book_site/search.py). The index is made in the browser.
(() => {
  const { load } = window.bookSearch;
  const LONG = 1.2;
  const ALSO = 0.2; // how much less another name says than a title
  const FIT = 4; // how much a name that is just what was asked says
  const STRANGE = 400; // in so many entries a word counts as standing that stands in none
  const PLAIN = 0.4; // how much less a word says that stands in no name
  const GUESS = 0.5;
  const NAMED = 0.5; // the same of a term that this section alone links
  const BOOST = { title: 7, also: 2.5, terms: 1, page: 1.5, text: 1, code: 0.7 };
  const KINDS = { chapter: 0.9, section: 1.15, definition: 1, slide: 0.7, exercise: 0.4, figure: 0.6, table: 0.6, function: 0.12 };
  const BESIDE = /^intro$|slides_under_test|notation|benchmarks|data_card|idea_ledger|library/;
  const LISTS = new Set(["Summary", "Exercises", "References"]);
  const BESIDES = 0.6; // how much less than a chapter's core says what stands beside it
  const OPTIONAL = 0.75;
  const BEFORE = 3; // so many places in the text stand before what has the word as its name in the library
  const FEW = 5; // members that stand together; of "forward" there are many

  // Words ------------------------------------------------------------------------------------

  const bare = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  /** One form for British and American spelling, for one and for many. */
  function stem(word) {
    let found = bare(word).replace(/['’]s$/, "");
    found = found.replace(/is(e[sd]?|ing|ation|ations|er|ers)$/, "iz$1").replace(/yse([sd]?)$/, "yze$1");
    found = found.replace(/^(col|fav|behavi|neighb|lab|vap)our/, "$1or").replace(/ell(ing|ed)$/, "el$1");
    if (/[^aeiou]ies$/.test(found) && found.length > 4) return found.replace(/ies$/, "y");
    if (/(?:ss|sh|ch|x)es$/.test(found)) return found.replace(/es$/, "");
    return found.length > 3 && /[^sui]s$/.test(found) ? found.slice(0, -1) : found;
  }

  /** Words that say nothing of what is asked, and those for what the whole book is about. */
  const EMPTY = new Set(`a about an and any are as at be best between by calculate calculated can code compare
    compared comparison could define defined definition did didn difference differences different do does
    doesn doing don else example examples explain explained explanation find for from get gets give go goes
    good happen happens has have help how i implement implementation in instead into intuition is isn it its
    llm llms make makes me mean meaning means my need needed needs nn of on or our please python pytorch really
    s see should show simple so some t tell than that the their them then there these they thing this to
    torch tutorial up use used uses using versus very vs want was way we were what when where which who why will with
    work works would you your`.split(/\s+/).map(stem));

  const split = (text) => text.match(/[\p{L}\p{M}\p{N}]+(?:['’]s\b)?/gu) ?? [];

  /** A word that the book writes as two: beamsearch, and skipgr, whose end is still to be typed. */
  function parted(word, counts, isBegun) {
    const cuts = [...word].map((_, at) => [stem(word.slice(0, at)), word.slice(at)])
      .filter(([first, rest]) => first.length > 2 && rest.length > 1 && counts.has(first) && isBegun(stem(rest)));
    const known = ([first, rest]) => Math.min(counts.get(first), counts.get(stem(rest)) ?? 0.5);
    return cuts.sort((a, b) => known(b) - known(a))[0]?.join(" ") ?? word;
  }

  const places = (words, part) => words.map((_, i) => i).filter((i) => part.every((word, k) => words[i + k] === word));

  /** The words of a question that say what it is about. Those of a term all do: k-means. */
  function asked(query, terms = []) {
    const words = split(query).map(stem);
    const kept = new Set(terms.flatMap((term) => places(words, term).flatMap((i) => term.map((_, k) => i + k))));
    const full = words.filter((word, i) => kept.has(i) || !EMPTY.has(word));
    return full.length ? full : words;
  }

  /** The question, and the same with other words for what it speaks of. */
  function wordings(query, synonyms, terms) {
    const own = asked(query, terms);
    const found = [own];
    for (const group of synonyms) {
      for (const { words } of group) {
        const [at = -1] = places(own, words);
        if (at < 0) continue;
        for (const other of group) {
          if (other.words === words) continue;
          found.push([...own.slice(0, at), ...other.words, ...own.slice(at + words.length)]);
        }
      }
    }
    return found.slice(0, 12);
  }

  // The engine -------------------------------------------------------------------------------

  async function build() {
    await Promise.all([load("minisearch/minisearch.js"), load("search-entries.js")]);
    const { pages, entries, synonyms } = window.bookEntries;
    const documents = entries.kind.map((_, id) => {
      const one = Object.fromEntries(Object.entries(entries).map(([field, values]) => [field, values[id]]));
      const [docname, page, number] = pages[one.page];
      return { ...one, id, text: `${one.text}\n${one.more}`, docname, page, number };
    });
    const index = new MiniSearch({
      fields: Object.keys(BOOST),
      tokenize: split,
      processTerm: stem,
      extractField: (one, field) => (field === "page" && one.kind === "chapter" ? "" : one[field]),
    });
    await index.addAllAsync(documents, { chunkSize: 25 });
    const groups = synonyms.map((group) => group.map((words) => ({ words: split(words).map(stem) })));
    const phrases = [...groups.flat().map(({ words }) => words), ...documents
      .filter(({ kind }) => kind === "definition").map(({ title }) => split(title).map(stem))]
      .filter((words) => words.length > 1 && words.some((word) => EMPTY.has(word)));
    const parts = (names) => names.split("; ").filter(Boolean);
    /** "Embeddings: lookup, similarity" is called "Embeddings", too. */
    const titles = (title) => {
      const full = title.replace(/^Optional: /, "");
      return full.includes(": ") ? [full, full.split(": ")[0]] : [full];
    };
    // What an exercise links is no name of its section: there stand all exercises of the chapter.
    const introduced = ({ title, terms }) => (LISTS.has(title) ? [] : parts(terms));
    const links = documents.flatMap(introduced);
    const name = (text, worth) => ({ words: asked(text, phrases), worth });
    const names = documents.map((one) => [
      ...titles(one.title).map((title) => name(title, 1)),
      ...(one.kind === "function" ? [] : parts(one.also)).map((other) => name(other, ALSO)),
      ...introduced(one).map((term) => name(term, NAMED / links.filter((one) => one === term).length))]);
    const counts = new Map();
    for (const { title, also, text, terms, code } of documents) {
      for (const word of new Set(split(`${title} ${also} ${text} ${terms} ${code}`).map(stem))) {
        counts.set(word, (counts.get(word) ?? 0) + 1);
      }
    }
    const field = new Set([...groups.flat(), ...names.flat()].flatMap(({ words }) => words));
    const isPlain = (word) => counts.has(word) && !field.has(word);
    // How much a word tells: much if few entries hold it, and little if none does; a word of the
    // field, which stands in some name, more than any other.
    const weight = (word) => Math.log(1 + documents.length / (counts.get(word) ?? STRANGE)) * (isPlain(word) ? PLAIN : 1);
    const members = membersOf(documents);
    const isBegun = (part) => counts.has(part) || [...counts.keys()].some((known) => known.startsWith(part));
    const isKnown = (word) => members.has(word) || isBegun(stem(word));
    /** The question, with a word that the book does not know cut in two where it knows both. */
    const cut = (query) => query.replace(/(?<!\p{L})\p{L}\p{Ll}{5,}(?!\p{L})/gu, (word) => (isKnown(word) ? word : parted(bare(word), counts, isBegun)));
    return { index, documents, groups, phrases, names, weight, isPlain, cut, members, known: (word) => counts.has(word) };
  }

  /** What the library's classes have, by its name: mix() is a method, .d_model a property, mask an
   *  attribute, dropout= a parameter. The first two have a place of their own. And what has LayerNorm~
   *  is found by what other packages call it. */
  function membersOf(documents) {
    const found = new Map();
    const kinds = ["method", "attribute", "parameter", "function"];
    for (const owner of documents) {
      for (const member of owner.members.split(" ").filter(Boolean)) {
        const [, dot, name, sign] = member.match(/^(\.?)(\w+)(.*)$/);
        const kind = kinds[["()", "", "=", "~"].indexOf(sign)];
        const anchor = dot || kind === "method" ? `${owner.anchor}.${name}` : owner.anchor;
        const [before, after] = { parameter: ["(", ")"], function: [", beside ", ""] }[kind] ?? [".", ""];
        const title = `${owner.title}${before}${name}${after}`;
        found.set(name, [...(found.get(name) ?? []), { ...owner, kind, anchor, title, owner: owner.title }]);
      }
    }
    found.forEach((all) => all.sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind)));
    return found;
  }

  let engine = null;
  const prepared = () => (engine ??= build());

  const isBeside = ({ docname, title }) => BESIDE.test(docname) || LISTS.has(title);

  const sum = (words, weight) => [...words].reduce((total, word) => total + weight(word), 0);

  /** How well a title, or another name, answers: how much it holds of the question, and says besides. */
  function nameFit(names, words, found, weight, known) {
    const question = new Set(words);
    const all = sum(question, weight);
    const fits = names.map(({ words: own, worth }) => {
      const guessed = own.some((word) => found.has(word) && !question.has(word));
      const held = [...question].filter((word) => own.includes(word) || (guessed && !known(word)));
      return 1 + FIT * worth * (sum(held, weight) / all) ** 3 * Math.min(1, held.length / own.length) ** 1.5;
    });
    return Math.max(...fits);
  }

  /** How much of what was asked was found: words that say much count for more, guesses for less. */
  function share(found, words, weight, isGuess) {
    const sure = (word) => weight(word) * (isGuess(word) ? GUESS : 1);
    return sum(new Set(found), sure) / sum(new Set(words), weight);
  }

  /** The entries that answer a question, the best first. */
  async function find(question, most) {
    const { index, documents, groups, phrases, names, weight, isPlain, cut, members, known } = await prepared();
    const query = cut(question);
    const best = new Map();
    const lines = wordings(query, groups, phrases);
    lines.forEach((words, nth) => {
      const options = {
        boost: BOOST,
        boostTerm: (word) => (isPlain(word) ? PLAIN : 1),
        prefix: (word) => word.length > 2 && !EMPTY.has(word),
        fuzzy: (word) => (word.length > 7 ? 2 : word.length > 4 ? 1 : false), // two: letters that changed places
        weights: { fuzzy: 0.25, prefix: 0.4 },
        boostDocument: (id) => KINDS[documents[id].kind] * (isBeside(documents[id]) ? BESIDES : 1) * (documents[id].title.startsWith("Optional: ") ? OPTIONAL : 1),
      };
      const found = index.search({ queries: words, combineWith: "OR", ...options });
      for (const { id, score, match, queryTerms } of found) {
        // A word of the book that is here only as the beginning of another.
        const isGuess = (word) => known(word) && !(word in match);
        const held = share(queryTerms, words, weight, isGuess);
        const fit = nameFit(names[id], words, new Set(Object.keys(match)), weight, known);
        const total = (score * held ** 3 * fit * (nth ? 0.8 : 1)) / sum(words, weight) ** LONG;
        if (held > 0.4 && total > (best.get(id)?.score ?? 0)) {
          best.set(id, { ...documents[id], score: total, fit, words: new Set(Object.keys(match)) });
        }
      }
    });
    const found = [...best.values()].sort((a, b) => b.score - a.score);
    // A term of the glossary that is asked for by its name answers before all places.
    const term = found.find(({ kind, title }) =>
      kind === "definition" && lines.some((words) => words.join(" ") === asked(title).join(" ")));
    // Before it, a function whose name is typed as code: layer_norm, nn.Linear(8), MultiHeadAttention.
    const code = query.trim().match(/^\.?(?:\w+\.)*?(?:(\w+)\.)?(\w+)(?:[(=].*)?$/);
    const isCode = code && /[_.(=]|[a-z][A-Z]/.test(code[0]);
    const typed = isCode && found.find(({ kind, title }) => kind === "function" && title === code[2]);
    const first = [typed, term].filter(Boolean);
    const others = found.filter((one) => !first.includes(one));
    // What the library calls so, a function or what a class has: mix, d_model, SoftLookup.mix. As code
    // it comes before the text, as a word behind the best places that have it in their names.
    const all = (code && members.get(code[2])) || [];
    const ofClass = all.filter(({ kind }) => kind !== "function");
    const owned = ofClass.filter(({ owner }) => owner === code[1]);
    const before = isCode ? 0 : others.slice(0, BEFORE).filter(({ fit }) => fit > 1).length;
    const called = others.slice(before).filter(({ kind, title }) => kind === "function" && title === code?.[2]);
    const words = new Set(split(code?.[2] ?? "").map(stem));
    const own = owned.length ? owned : ofClass;
    const elsewhere = isCode && !typed && !called.length && !own.length ? all : [];
    const named = [...called, ...[...own, ...elsewhere].map((one) => ({ ...one, words }))];
    const rest = others.slice(before).filter((one) => !called.includes(one));
    const answers = [...first, ...others.slice(0, before), ...named.slice(0, FEW), ...rest.slice(0, most / 2),
      ...named.slice(FEW), ...rest.slice(most / 2, most)].slice(0, most + named.length);
    // A name that the book does not know may be made of words that it knows: CosineAnnealingLR.
    const apart = query.replace(/([a-z])(?=[A-Z])/g, "$1 ");
    return answers.length === 0 && apart !== query ? find(apart, most) : answers;
  }

  window.bookFinder = { find, prepared, split, stem };
})();
