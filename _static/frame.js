// What was read, and where reading stopped. This browser alone keeps it, until one says "forget".
(() => {
  // Two keys: a page that is left writes its place, and must not undo what another one noted as read.
  const READ = "soft-lookup-read";
  const PLACE = "soft-lookup-place";
  const LEAST = 30_000; // milliseconds on a page; who was here for less has only looked

  function load(key) {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null; // storage may be forbidden, or hold what is not ours
    }
  }

  function keep(key, value) {
    try {
      localStorage.setItem(key, JSON.stringify(value));
    } catch {
      // Then nothing is remembered.
    }
  }

  function wasRead() {
    const names = load(READ);
    return Array.isArray(names) ? names : [];
  }

  function lastPlace() {
    const last = load(PLACE);
    return typeof last?.page === "string" && typeof last.title === "string" ? last : null;
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
    keep(PLACE, { page: page(), title: title.textContent.replace(/#$/, "").trim(), ...section() });
  }

  // A chapter was read when its end was seen and some time was spent on it.
  function watchChapter() {
    const came = Date.now();
    const atEnd = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting) || Date.now() - came < LEAST) return;
      keep(READ, [...new Set([...wasRead(), page()])]);
      markRead();
    });
    atEnd.observe(document.querySelector(".bk-footer"));
    document.addEventListener("visibilitychange", () => document.hidden && notePlace());
    addEventListener("pagehide", notePlace);
  }

  function markRead() {
    const read = new Set(wasRead().map((name) => `${rootAddress()}${name}.html`));
    document.querySelectorAll(".bk-contents a, .bk-chapters a").forEach((link) => {
      const has = link.querySelector(".bk-was-read");
      const is = read.has(link.href.split("#")[0]);
      if (has && !is) has.remove();
      if (!has && is) link.insertAdjacentHTML("beforeend", '<span class="bk-was-read"> ✓<span class="visually-hidden"> read</span></span>');
    });
  }

  function offerToGoOn() {
    const start = document.querySelector(".bk-start");
    const last = lastPlace();
    if (!start || !(last || wasRead().length)) return;
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
      keep(READ, []);
      keep(PLACE, null);
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
    addEventListener("storage", markRead); // another tab, or the page before this one, a moment late
    if (page()) watchChapter();
  });
})();
