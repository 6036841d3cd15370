// The search: a dialog that answers while one types, and the page search.html.
//
// MiniSearch and the book's entries (see _ext/book_site/search.py) are loaded on first use, as
// classic scripts, which a page opened from a disk may load. The index is made in the browser.
(() => {
  const LONG = 1.2;
  const ALSO = 0.2; // how much less another name says than a title
  const MOST = 30; // results that are shown
  const CONTEXT = 150; // letters of an entry's text
  const BOOST = { title: 7, also: 2.5, page: 1.5, text: 1 };
  const KINDS = { chapter: 1.25, section: 1.15, definition: 1, slide: 0.7, exercise: 0.4, figure: 0.6, table: 0.6, function: 0.12 };
  const BESIDE = /^intro$|slides_under_test|notation|benchmarks|data_card|idea_ledger|library/;
  const LISTS = new Set(["Summary", "Exercises", "References"]);
  const NAMES = { chapter: "Chapter", section: "Section", definition: "Glossary", slide: "Slide under test", exercise: "Exercise", figure: "Figure", table: "Table", function: "Function" };
  const EMPTY = new Set(`a an and are as at be between by calculate calculated can compare compared comparison could define
    defined definition did didn difference differences different do does doesn don example
    examples explain explained explanation for from give has have how i in instead into intuition
    is isn it its me mean meaning means my of on or really s should simple so t tell than that the
    their them then there these they this to use used uses using versus vs was we what when where
    which who why will with work works would you your`.split(/\s+/));

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

  const split = (text) => text.match(/[\p{L}\p{M}\p{N}]+(?:['’]s\b)?/gu) ?? [];

  /** The words of a question that say what it is about. */
  function asked(query) {
    const words = split(query).map(stem);
    const full = words.filter((word) => !EMPTY.has(word));
    return full.length ? full : words;
  }

  /** The question, and the same with other words for what it speaks of. */
  function wordings(query, synonyms) {
    const own = asked(query);
    const found = [own];
    for (const group of synonyms) {
      for (const { words } of group) {
        const at = own.findIndex((_, i) => words.every((word, k) => own[i + k] === word));
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
    const documents = entries.map(([kind, nth, anchor, title, also, text], id) => {
      const [page, name, number] = pages[nth];
      return { id, kind, anchor, title, also, text, docname: page, page: name, number };
    });
    const index = new MiniSearch({
      fields: Object.keys(BOOST),
      tokenize: split,
      processTerm: stem,
      extractField: (one, field) => (field === "page" && one.kind === "chapter" ? "" : one[field]),
    });
    await index.addAllAsync(documents, { chunkSize: 100 });
    const groups = synonyms.map((group) => group.map((words) => ({ words: split(words).map(stem) })));
    const names = documents.map(({ title, also, kind }) => [title, ...(kind === "function" ? [] : also.split(";"))]
      .map((name, nth) => ({ words: asked(name.replace(/^Optional: /, "")), worth: nth ? ALSO : 1 })));
    const counts = new Map();
    for (const { title, also, text } of documents) {
      for (const word of new Set(split(`${title} ${also} ${text}`).map(stem))) {
        counts.set(word, (counts.get(word) ?? 0) + 1);
      }
    }
    // How much a word tells: much if few entries hold it.
    const weight = (word) => Math.log(1 + documents.length / (counts.get(word) ?? 20));
    return { index, documents, groups, names, weight };
  }

  let engine = null;
  const prepared = () => (engine ??= build());

  /** How well a title, or another name, answers: it is just that, it holds all the words, or some. */
  function nameFit(names, size, found) {
    const fits = names.map(({ words: own, worth }) => {
      const held = own.filter((word) => found.has(word)).length;
      return held < size ? 1 : 1 + 2.5 * worth * (size / own.length) ** 1.5;
    });
    return Math.max(...fits);
  }

  const sum = (words, weight) => [...words].reduce((total, word) => total + weight(word), 0);

  /** How much of what was asked was found: words that say much count for more. */
  function share(found, words, weight) {
    return sum(new Set(found), weight) / sum(new Set(words), weight);
  }

  /** The entries that answer a question, the best first. */
  async function find(query, most = MOST) {
    const { index, documents, groups, names, weight } = await prepared();
    const best = new Map();
    const lines = wordings(query, groups);
    lines.forEach((words, nth) => {
      const options = {
        boost: BOOST,
        prefix: (word) => word.length > 2,
        fuzzy: (word) => (word.length > 7 ? 2 : word.length > 4 ? 1 : false), // two: letters that changed places
        weights: { fuzzy: 0.25, prefix: 0.4 },
        boostDocument: (id) => KINDS[documents[id].kind] * (BESIDE.test(documents[id].docname) || LISTS.has(documents[id].title) ? 0.6 : 1),
      };
      const found = index.search({ queries: words, combineWith: "OR", ...options });
      for (const { id, score, match, queryTerms } of found) {
        const held = share(queryTerms, words, weight);
        const total = (score * held ** 3 * nameFit(names[id], new Set(words).size, new Set(Object.keys(match))) * (nth ? 0.8 : 1)) / sum(words, weight) ** LONG;
        if (held > 0.4 && total > (best.get(id)?.score ?? 0)) {
          best.set(id, { ...documents[id], score: total, words: new Set(Object.keys(match)) });
        }
      }
    });
    const found = [...best.values()].sort((a, b) => b.score - a.score);
    // A term of the glossary that is asked for by its name answers before all places.
    const term = found.find(({ kind, title }) =>
      kind === "definition" && lines.some((words) => words.join(" ") === asked(title).join(" ")));
    const others = found.filter((one) => one !== term);
    return (term ? [term, ...others] : others).slice(0, most);
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

  function line(one) {
    const where = one.number ? `${one.number}\u2002${one.page}` : one.page;
    const head = make("span", { class: "bk-found-title" }, ...marked(one.kind === "function" ? `${one.title}()` : one.title, one.words));
    const kind = make("span", { class: "bk-found-kind" }, NAMES[one.kind]);
    const place = ["chapter", "definition"].includes(one.kind) ? [] : [make("span", { class: "bk-found-place" }, where)];
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
      status.textContent = found.length ? `${found.length === MOST ? "The first " : ""}${found.length} ${found.length === 1 ? "place" : "places"}`
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

  function setUpDialog() {
    const field = make("input", { type: "search", id: "bk-dialog-words", autocomplete: "off", spellcheck: "false", enterkeyhint: "go" });
    const close = make("button", { type: "button", class: "bk-button" }, "Close");
    const results = make("div", { class: "bk-found-box" });
    const form = make("form", { method: "dialog", role: "search", class: "bk-dialog-form" },
      make("label", { for: "bk-dialog-words" }, "Search the book"),
      make("div", { class: "bk-search-row" }, field, close));
    const dialog = make("dialog", { class: "bk-dialog", "aria-label": "Search the book" }, form, results);
    document.body.append(dialog);
    const { answer, first } = connect(field, results);
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
