// The search: a dialog that answers while one types, and the page search.html.
//
// MiniSearch and the book's entries (see _ext/book_site/search.py) are loaded on first use, as
// classic scripts, which a page opened from a disk may load. The index is made in the browser.
(() => {
  const LONG = 1.2;
  const ALSO = 0.2; // how much less another name says than a title
  const FIT = 4; // how much a name that is just what was asked says
  const STRANGE = 400; // in so many entries a word counts as standing that stands in none
  const PLAIN = 0.4; // how much less a word says that stands in no name
  const GUESS = 0.5;
  const MOST = 30; // results that are shown
  const CONTEXT = 150; // letters of an entry's text
  const NAMED = 0.5; // the same of a term that this section alone links
  const BOOST = { title: 7, also: 2.5, terms: 1, page: 1.5, text: 1, code: 0.7 };
  const KINDS = { chapter: 0.9, section: 1.15, definition: 1, slide: 0.7, exercise: 0.4, figure: 0.6, table: 0.6, function: 0.12 };
  const BESIDE = /^intro$|slides_under_test|notation|benchmarks|data_card|idea_ledger|library/;
  const LISTS = new Set(["Summary", "Exercises", "References"]);
  const BESIDES = 0.6; // how much less than a chapter's core says what stands beside it
  const OPTIONAL = 0.75;
  const NAMES = { chapter: "Chapter", section: "Section", definition: "Glossary", slide: "Slide under test", exercise: "Exercise", figure: "Figure", table: "Table", function: "Function", method: "Method", attribute: "Attribute", parameter: "Parameter" };
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

  const root = () => document.documentElement.dataset.content_root || "./";

  const load = (file) => new Promise((done, failed) => {
    const script = document.createElement("script");
    Object.assign(script, { src: `${root()}_static/${file}`, onload: done, onerror: failed });
    document.head.append(script);
  });

  async function build() {
    await Promise.all([load("minisearch/minisearch.js"), load("search-entries.js")]);
    const { pages, entries, synonyms } = window.bookEntries;
    const documents = entries.map(([kind, nth, anchor, title, also, text, terms, code, members = ""], id) => {
      const [page, name, number] = pages[nth];
      return { id, kind, anchor, title, also, text, terms, code, members, docname: page, page: name, number };
    });
    const index = new MiniSearch({
      fields: Object.keys(BOOST),
      tokenize: split,
      processTerm: stem,
      extractField: (one, field) => (field === "page" && one.kind === "chapter" ? "" : one[field]),
    });
    await index.addAllAsync(documents, { chunkSize: 100 });
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
    const links = documents.flatMap(({ terms }) => parts(terms));
    const name = (text, worth) => ({ words: asked(text, phrases), worth });
    const names = documents.map(({ title, also, terms, kind }) => [
      ...titles(title).map((one) => name(one, 1)),
      ...(kind === "function" ? [] : parts(also)).map((other) => name(other, ALSO)),
      ...parts(terms).map((term) => name(term, NAMED / links.filter((one) => one === term).length))]);
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
    return { index, documents, groups, phrases, names, weight, isPlain, members: membersOf(documents), known: (word) => counts.has(word) };
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
  async function find(query, most = MOST) {
    const { index, documents, groups, phrases, names, weight, isPlain, members, known } = await prepared();
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
    const answers = [...first, ...others.slice(0, before), ...named.slice(0, FEW), ...rest.slice(0, MOST / 2),
      ...named.slice(FEW), ...rest.slice(MOST / 2, MOST)].slice(0, most + named.length);
    // A name that the book does not know may be made of words that it knows: CosineAnnealingLR.
    const apart = query.replace(/([a-z])(?=[A-Z])/g, "$1 ");
    return answers.length === 0 && apart !== query ? find(apart, most) : answers;
  }

  const address = ({ docname, anchor }) => `${root()}${docname}.html${anchor && `#${anchor}`}`;

  // What is shown ----------------------------------------------------------------------------

  const make = (name, attributes = {}, ...children) => {
    const node = document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    node.append(...children);
    return node;
  };

  /** A text with the words that were found marked. */
  function marked(text, words) {
    const parts = [];
    let end = 0;
    for (const { 0: word, index } of text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
      if (!words.has(stem(word))) continue;
      parts.push(text.slice(end, index), make("mark", {}, word));
      end = index + word.length;
    }
    return [...parts, text.slice(end)];
  }

  /** The stretch of a text in which most of the words stand. */
  function context(text, words) {
    if (text.length <= CONTEXT) return text;
    const places = [...text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)]
      .map(({ 0: word, index }) => ({ word: stem(word), index }))
      .filter(({ word }) => words.has(word));
    const count = (from) => new Set(places
      .filter(({ index }) => index >= from && index < from + CONTEXT - 30)
      .map(({ word }) => word)).size;
    const first = places.reduce((best, { index }) => (count(index) > count(best) ? index : best), places[0]?.index ?? 0);
    const sentence = text.lastIndexOf(". ", first) + 2;
    const from = sentence > 1 && first - sentence < 60 ? sentence : first < 60 ? 0 : text.indexOf(" ", first - 30) + 1;
    const cut = text.lastIndexOf(" ", from + CONTEXT);
    const to = from + CONTEXT >= text.length ? text.length : cut;
    return `${from ? "… " : ""}${text.slice(from, to)}${to < text.length ? " …" : ""}`;
  }

  /** The lectures' name for a section, if the question is more like it than like the title. */
  function lectureName({ kind, title, also, words }) {
    if (!/section|slide/.test(kind)) return "";
    const held = (text) => new Set(split(text).map(stem).filter((word) => words.has(word))).size;
    const [best] = also.split("; ").sort((a, b) => held(b) - held(a) || a.length - b.length);
    return held(best) > held(title) ? best : "";
  }

  function line(one) {
    const where = one.number ? `${one.number}\u2002${one.page}` : one.page;
    const head = make("span", { class: "bk-found-title" }, ...marked(/function|method/.test(one.kind) ? `${one.title}()` : one.title, one.words));
    const kind = make("span", { class: "bk-found-kind" }, NAMES[one.kind]);
    const place = ["chapter", "definition"].includes(one.kind) ? [] : [make("span", { class: "bk-found-place" }, where)];
    const name = lectureName(one);
    if (name) place.push(make("span", { class: "bk-found-place" }, "In the lectures: ", ...marked(name, one.words)));
    const said = one.text.split("\n")[0]; // behind it stand words without their sentences
    const text = one.kind === "definition" ? said : context(said, one.words);
    const words = text ? [make("span", { class: "bk-found-text" }, ...marked(text, one.words))] : [];
    if (one.kind === "chapter" && one.number) head.prepend(`${one.number}\u2002`);
    return make("li", { class: `bk-found bk-found-${one.kind}` },
      make("a", { href: address(one) }, head, kind, ...place, ...words));
  }

  /** A list of results below a field; it answers while one types, and arrow keys walk through it. */
  function connect(field, box, after = () => {}) {
    const list = make("ol", { class: "bk-found-list" });
    const status = make("p", { role: "status", class: "bk-found-count" });
    box.append(status, list);
    let asking = 0;
    const answer = async () => {
      const query = field.value.trim();
      const turn = (asking += 1);
      after(query);
      if (!query) {
        list.replaceChildren();
        status.textContent = "";
        return;
      }
      if (!list.children.length) status.textContent = "Searching …";
      let found;
      try {
        found = await find(query);
      } catch {
        status.textContent = "The search cannot read its list: search-entries.js does not load.";
        return;
      }
      if (turn !== asking) return; // something else was typed meanwhile
      list.replaceChildren(...found.map(line));
      status.textContent = found.length ? `${found.length >= MOST ? "The first " : ""}${found.length} ${found.length === 1 ? "place" : "places"}`
        : `Nothing in the book fits “${query}”. Try other words, or fewer.`;
    };
    field.addEventListener("input", answer);
    field.addEventListener("focus", prepared, { once: true });
    box.closest("dialog, main").addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || event.isComposing) return;
      const stops = [field, ...list.querySelectorAll("a")];
      const here = stops.indexOf(document.activeElement);
      if (here < 0 || !stops[here + step]) return;
      event.preventDefault();
      stops[here + step].focus();
    });
    return { answer, first: () => list.querySelector("a") };
  }

  // The dialog -------------------------------------------------------------------------------

  /** The lists in which everything of a kind stands, as links: where one looks who cannot name it. */
  function lists() {
    const link = (docname, words) => make("a", { href: address({ docname, anchor: "" }) }, words);
    return ["the ", link("chapters/lecture_map", "slides of the lectures"), ", the ", link("chapters/glossary", "words"),
      " or the ", link("chapters/library", "functions"), "."];
  }

  function setUpDialog() {
    const field = make("input", { type: "search", id: "bk-dialog-words", autocomplete: "off", spellcheck: "false", enterkeyhint: "go" });
    const close = make("button", { type: "button", class: "bk-button" }, "Close");
    const results = make("div", { class: "bk-found-box" });
    const form = make("form", { method: "dialog", role: "search", class: "bk-dialog-form" },
      make("label", { for: "bk-dialog-words" }, "Search the book"),
      make("div", { class: "bk-search-row" }, field, close));
    const dialog = make("dialog", { class: "bk-dialog", "aria-label": "Search the book" }, form, results);
    document.body.append(dialog);
    const look = make("p", { class: "bk-lists" }, "Or browse ", ...lists());
    results.append(look);
    const { answer, first } = connect(field, results, (query) => { look.hidden = Boolean(query); });
    const open = (words = "") => {
      if (dialog.open) return;
      if (words) field.value = words;
      dialog.showModal();
      field.focus();
      field.select();
      if (words) {
        field.setSelectionRange(words.length, words.length);
        answer();
      }
    };
    close.addEventListener("click", () => dialog.close());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      await answer();
      first()?.click();
    });
    dialog.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault(); // which would empty the field first
      dialog.close();
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog || event.target.closest("a")) dialog.close();
    });
    return open;
  }

  function setUpPage(form) {
    const field = form.querySelector("input");
    const results = make("div", { class: "bk-found-box" });
    form.after(results);
    const { answer } = connect(field, results, (query) => {
      const words = new URLSearchParams(query ? { q: query } : {});
      try {
        history.replaceState(null, "", `?${words}`);
      } catch {
        // A page opened from a disk may not always change its address.
      }
    });
    form.addEventListener("submit", (event) => event.preventDefault() || answer());
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    field.focus();
    answer();
  }

  document.addEventListener("DOMContentLoaded", () => {
    const page = document.getElementById("bk-search-page");
    if (page) return setUpPage(page);
    let opened = null;
    const open = (words) => (opened ??= setUpDialog())(words);
    const field = document.getElementById("bk-search-field");
    field.addEventListener("input", () => {
      open(field.value);
      field.value = "";
    });
    document.querySelectorAll("[data-search]").forEach((link) => link.addEventListener("click", (event) => {
      event.preventDefault();
      open();
    }));
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input, textarea, select, [contenteditable], [data-lm-suppress-shortcuts]");
      const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !typing;
      const letter = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey;
      if (!slash && !letter) return;
      event.preventDefault();
      event.stopImmediatePropagation(); // Sphinx's doctools.js would go into the sidebar's field
      open();
    }, { capture: true });
  });

  window.bookSearch = { find, address };
})();
