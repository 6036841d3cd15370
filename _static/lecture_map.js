// The lecture map's filter: words, a lecture, and which of the two views is shown.
(() => {
  const VIEWS = { chapter: ["by-chapter", "concepts"], lecture: ["by-lecture", "slides"] };

  const plain = (text) =>
    text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

  // What a row is found by: its id, and all that it says but the tests, which are whole sentences.
  function wordsOf(row) {
    const parts = [...row.querySelectorAll(".map-name, .map-name ~ div > :not(.map-tests, .map-label)")];
    return plain([row.id, ...parts.map((part) => part.textContent)].join(" "));
  }

  // What a row is called: its name, and the slides of a concept, with a remark in brackets or without.
  function titlesOf(row) {
    const slides = [...row.querySelectorAll(".map-name, .map-name + div:not(:last-child) > p")];
    const titles = slides.flatMap((line) => [...line.childNodes]
      .filter((node) => !node.classList?.contains("map-of"))
      .map((node) => node.textContent).join("").split("; "));
    return titles.flatMap((title) => [title, title.replace(/ \([^()]*\)$/, "")]).map(plain);
  }

  // How well a title answers: it is what was asked, it holds that, or the row has the words elsewhere.
  function rank(titles, phrase) {
    if (!phrase || titles.includes(phrase)) return 0;
    return titles.some((title) => title.includes(phrase)) ? 1 : 2;
  }

  function read(section) {
    return [...section.querySelectorAll(".map-rows > li")].map((row) => ({
      row, words: wordsOf(row), titles: titlesOf(row), lectures: row.dataset.lectures.split(" "),
    }));
  }

  // Put nodes of one parent into an order, if they do not stand in it.
  function arrange(nodes) {
    if (nodes.some((node, i) => i && !(nodes[i - 1].compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING))) {
      nodes[0].parentElement.append(...nodes);
    }
  }

  function setUp(form) {
    const views = Object.entries(VIEWS).map(([order, [id, kind]]) => {
      const section = document.getElementById(id);
      const rows = read(section);
      const groups = [...section.querySelectorAll("section")];
      const inGroup = groups.map((group) => rows.map(({ row }) => row).filter((row) => group.contains(row)));
      return { order, kind, section, rows, groups, inGroup };
    });

    const chosen = () => Object.fromEntries(new FormData(form));

    function hideEmpty({ section, groups }, isShown, isWhole) {
      section.hidden = !isShown;
      section.classList.toggle("map-asked", !isWhole);
      section.querySelector("p").hidden = !isWhole; // how to read it: known to who has asked
      groups.forEach((group) => (group.hidden = !group.querySelector(".map-rows > li:not([hidden])")));
    }

    // The slide or the concept that is called so stands above those that only say it, and its group
    // above the others; within a group the order stays, and without a question everywhere.
    function arrangeAll({ rows, groups, inGroup }, phrase) {
      const worth = new Map(rows.map(({ row, titles }) => [row, row.hidden ? 3 : rank(titles, phrase)]));
      const best = new Map(groups.map((group, i) => [group, Math.min(...inGroup[i].map((row) => worth.get(row)))]));
      const sorted = (nodes, values) => [...nodes].sort((a, b) => values.get(a) - values.get(b));
      inGroup.forEach((own) => arrange(sorted(own, worth)));
      arrange(sorted(groups, best));
    }

    function hideLinks() {
      document.querySelectorAll(".bk-onpage a[href^='#']").forEach((link) => {
        const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
        const isView = views.some(({ section }) => section === target); // its link shows it
        link.parentElement.hidden = !isView && Boolean(target?.closest("section[hidden]"));
      });
    }

    function tell({ kind, rows }) {
      const n = rows.filter(({ row }) => !row.hidden).length;
      const none = n ? "" : ": try fewer words, or the search of the book";
      form.querySelector("output").textContent = `${n} of ${rows.length} ${kind}${none}`;
    }

    function show() {
      const { words, lecture, order: shown } = chosen();
      const phrase = plain(words);
      const wanted = phrase.split(" ");
      views.forEach((view) => {
        view.rows.forEach(({ row, words: own, lectures }) => {
          const fits = wanted.every((word) => own.includes(word));
          row.hidden = !fits || Boolean(lecture && !lectures.includes(lecture));
        });
        arrangeAll(view, phrase);
        hideEmpty(view, view.order === shown, !words && !lecture);
        if (view.order === shown) tell(view);
      });
      hideLinks();
    }

    // The address keeps what was asked: who comes back from a chapter finds it again.
    function remember() {
      const asked = Object.entries(chosen()).filter(([name, value]) => value && value !== "chapter");
      const query = new URLSearchParams(asked).toString();
      history.replaceState(null, "", `${query ? `?${query}` : location.pathname}${location.hash}`);
    }

    function ask(order, isAnew) {
      if (isAnew) form.reset();
      form.elements.order.value = order;
      show();
      remember();
    }

    // A link may lead to a row that is left out, or to the view that is not shown.
    function openTarget() {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!target?.closest("section[hidden], li[hidden]")) return;
      const { order } = views.find(({ section }) => section.contains(target));
      ask(order, false);
      if (target.closest("[hidden]")) ask(order, true);
      target.scrollIntoView();
    }

    form.hidden = false;
    form.reset(); // what was asked stands in the address, not in the browser's memory
    new URLSearchParams(location.search).forEach((value, name) => {
      if (form.elements[name]) form.elements[name].value = value;
    });
    form.elements.order.value ||= "chapter"; // the address may say what there is not
    form.addEventListener("input", () => {
      show();
      remember();
    });
    form.querySelector("button").addEventListener("click", () => {
      ask("chapter", true);
      form.elements.words.focus();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", openTarget);
    show();
    openTarget();
  }

  document.addEventListener("DOMContentLoaded", () => {
    const form = document.querySelector(".map-filter");
    if (form) setUp(form);
  });
})();
