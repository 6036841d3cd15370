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

  function read(section) {
    return [...section.querySelectorAll(".map-rows > li")].map((row) => ({
      row, words: wordsOf(row), lectures: row.dataset.lectures.split(" "),
    }));
  }

  function setUp(form) {
    const views = Object.entries(VIEWS).map(([order, [id, kind]]) => {
      const section = document.getElementById(id);
      return { order, kind, section, rows: read(section), groups: [...section.querySelectorAll("section")] };
    });

    const chosen = () => Object.fromEntries(new FormData(form));

    function hideEmpty({ section, groups }, isShown, isWhole) {
      section.hidden = !isShown;
      section.querySelector("p").hidden = !isWhole; // how to read it: known to who has asked
      groups.forEach((group) => (group.hidden = !group.querySelector(".map-rows > li:not([hidden])")));
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
      const { words, lecture, order } = chosen();
      const wanted = plain(words).split(" ");
      views.forEach((view) => {
        view.rows.forEach(({ row, words: own, lectures }) => {
          const fits = wanted.every((word) => own.includes(word));
          row.hidden = !fits || Boolean(lecture && !lectures.includes(lecture));
        });
        hideEmpty(view, view.order === order, !words && !lecture);
        if (view.order === order) tell(view);
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
