// What was read, and where reading stopped. This browser alone keeps it, until one says "forget".
(() => {
  const KEY = "soft-lookup-reading";
  const LEAST = 30_000; // milliseconds on a page; who was here for less has only looked

  const nothing = () => ({ read: [], last: null });

  function load() {
    try {
      const { read, last } = JSON.parse(localStorage.getItem(KEY)) ?? nothing();
      const place = last && typeof last.page === "string" && typeof last.title === "string";
      return { read: Array.isArray(read) ? read : [], last: place ? last : null };
    } catch {
      return nothing(); // storage may be forbidden, or hold what is not ours
    }
  }

  function keep(change) {
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...load(), ...change }));
    } catch {
      // Then nothing is remembered.
    }
  }

  const rootAddress = () => new URL(document.documentElement.dataset.content_root || "./", location.href).href;
  const page = () => document.querySelector(".bk-page[data-chapter]")?.dataset.page;
  const isAhead = (heading) => heading.getBoundingClientRect().top > innerHeight / 3;

  function section() {
    const behind = [...document.querySelectorAll("article section > h2, article section > h3")].filter((h) => !isAhead(h));
    const heading = behind.at(-1);
    return heading ? { anchor: heading.parentElement.id, section: heading.firstChild.textContent } : {};
  }

  function notePlace() {
    const title = document.querySelector("article h1");
    keep({ last: { page: page(), title: title.textContent.replace(/#$/, "").trim(), ...section() } });
  }

  // A chapter was read when its end was seen and some time was spent on it.
  function watchChapter() {
    const came = Date.now();
    const atEnd = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting) || Date.now() - came < LEAST) return;
      keep({ read: [...new Set([...load().read, page()])] });
      markRead();
    });
    atEnd.observe(document.querySelector(".bk-footer"));
    document.addEventListener("visibilitychange", () => document.hidden && notePlace());
    addEventListener("pagehide", notePlace);
  }

  function markRead() {
    const read = new Set(load().read.map((name) => `${rootAddress()}${name}.html`));
    document.querySelectorAll(".bk-contents a, .bk-chapters a").forEach((link) => {
      const has = link.querySelector(".bk-was-read");
      const is = read.has(link.href.split("#")[0]);
      if (has && !is) has.remove();
      if (!has && is) link.insertAdjacentHTML("beforeend", '<span class="bk-was-read"> ✓<span class="visually-hidden"> read</span></span>');
    });
  }

  function offerToGoOn() {
    const start = document.querySelector(".bk-start");
    const { last, read } = load();
    if (!start || !(last || read.length)) return;
    const line = document.createElement("span");
    line.className = "bk-go-on";
    if (last && /^[\w/]+$/.test(last.page)) {
      const link = document.createElement("a");
      link.href = `${rootAddress()}${last.page}.html${last.anchor ? `#${encodeURIComponent(last.anchor)}` : ""}`;
      link.textContent = `Go on: ${last.title}${last.section ? `, ${last.section}` : ""}`;
      line.append(link);
    }
    const forget = document.createElement("button");
    forget.type = "button";
    forget.className = "bk-button";
    forget.textContent = "Forget what I have read";
    forget.addEventListener("click", () => {
      keep(nothing());
      markRead();
      line.remove();
      start.querySelector("a").focus();
    });
    line.append(forget);
    start.append(line);
  }

  // The contents open where one is, not at the first chapter.
  function showHere() {
    const contents = document.querySelector(".bk-contents");
    const here = contents?.querySelector("li.current > a");
    if (!here) return;
    const place = here.getBoundingClientRect().top - contents.getBoundingClientRect().top;
    if (place > contents.clientHeight - 80) contents.scrollTop = place - contents.clientHeight / 2;
  }

  document.addEventListener("DOMContentLoaded", () => {
    showHere();
    markRead();
    offerToGoOn();
    if (page()) watchChapter();
  });
})();
