// The search: a dialog that answers while one types, and the page search.html.
//
// What finds is loaded on first use (search-find.js), as classic scripts, which a page opened from a
// disk may load.
(() => {
  const MOST = 30; // results that are shown
  const CONTEXT = 150; // letters of an entry's text
  const NAMES = { chapter: "Chapter", section: "Section", definition: "Glossary", slide: "Slide under test", exercise: "Exercise", figure: "Figure", table: "Table", function: "Function", method: "Method", attribute: "Attribute", parameter: "Parameter" };

  const root = () => document.documentElement.dataset.content_root || "./";

  const load = (file) => new Promise((done, failed) => {
    const script = document.createElement("script");
    Object.assign(script, { src: `${root()}_static/${file}`, onload: done, onerror: failed });
    document.head.append(script);
  });

  let finder = null;
  const finding = () => (finder ??= load("search-find.js").then(() => window.bookFinder));

  const stem = (word) => window.bookFinder.stem(word); // what was found is there to be shown
  const split = (text) => window.bookFinder.split(text);

  /** The entries that answer a question, the best first. */
  const find = async (query, most = MOST) => (await finding()).find(query, most);

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

  /** Where an entry's other names come from: from slides, or from a table of symptoms. */
  const origin = ({ docname }) => (docname.endsWith("my_numbers_differ") ? "What you see: " : "In the lectures: ");

  function line(one) {
    const where = one.number ? `${one.number}\u2002${one.page}` : one.page;
    const head = make("span", { class: "bk-found-title" }, ...marked(/function|method/.test(one.kind) ? `${one.title}()` : one.title, one.words));
    const kind = make("span", { class: "bk-found-kind" }, NAMES[one.kind]);
    const place = ["chapter", "definition"].includes(one.kind) ? [] : [make("span", { class: "bk-found-place" }, where)];
    const name = lectureName(one);
    if (name) place.push(make("span", { class: "bk-found-place" }, origin(one), ...marked(name, one.words)));
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
    field.addEventListener("focus", async () => (await finding()).prepared(), { once: true });
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

  window.bookSearch = { find, address, load };
})();
