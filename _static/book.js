// The little that a page needs a script for: colour mode, the folded menu, boxes that scroll.
(() => {
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const modeNames = { auto: "as the system", light: "light", dark: "dark" };

  function showMode(mode) {
    root.dataset.mode = mode;
    const isDark = mode === "dark" || (mode === "auto" && prefersDark.matches);
    root.dataset.theme = isDark ? "dark" : "light";
    const name = document.getElementById("bk-mode-name");
    if (name) name.textContent = modeNames[mode];
  }

  function keepMode(mode) {
    try {
      localStorage.setItem("mode", mode);
    } catch {
      // Storage may be forbidden; the mode then lasts for this page.
    }
  }

  function keptMode() {
    try {
      return localStorage.getItem("mode");
    } catch {
      return null;
    }
  }

  // Only a choice is kept: what this page read when it opened may be older than a choice that was
  // made in another tab, or on the page before this one a moment ago. So it reads again once it
  // listens for choices, and when the reader comes back to it.
  function setUpMode() {
    const button = document.getElementById("bk-mode");
    const modes = Object.keys(modeNames);
    const current = () => (modes.includes(root.dataset.mode) ? root.dataset.mode : "auto");
    const readAgain = () => {
      const kept = keptMode();
      showMode(modes.includes(kept) ? kept : current());
    };
    button.hidden = false;
    button.addEventListener("click", () => {
      showMode(modes[(modes.indexOf(current()) + 1) % 3]);
      keepMode(current());
    });
    prefersDark.addEventListener("change", () => showMode(current()));
    addEventListener("storage", ({ key, newValue }) => {
      if (key === "mode" && modes.includes(newValue)) showMode(newValue);
    });
    addEventListener("pageshow", readAgain);
    readAgain();
  }

  function setUpMenu() {
    const button = document.getElementById("bk-menu");
    const sidebar = document.getElementById("bk-sidebar");
    const open = (isOpen) => {
      sidebar.classList.toggle("bk-open", isOpen);
      button.setAttribute("aria-expanded", String(isOpen));
    };
    button.addEventListener("click", () => open(!sidebar.classList.contains("bk-open")));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && sidebar.classList.contains("bk-open")) {
        open(false);
        button.focus();
      }
    });
  }

  // A box that scrolls must be reachable by keyboard; one that does not should not be a stop.
  function markScrollBox(box, isWide) {
    box.dataset.label ||= box.getAttribute("aria-label") || "Code";
    if (isWide) {
      box.tabIndex = 0;
      box.setAttribute("role", "group"); // a place for the tab key, no landmark
      box.setAttribute("aria-label", `${box.dataset.label}, scrolls sideways`);
    } else {
      ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
    }
  }

  // What lies beyond the right edge is hinted at: the style sheet lets the box fade out there.
  const isMore = (box) => box.scrollLeft + box.clientWidth < box.scrollWidth - 2;

  // All are measured before any is marked: else the page would be laid out anew for each.
  function markBoxes(boxes) {
    const found = boxes.map((box) => [box, box.scrollWidth > box.clientWidth + 1, isMore(box)]);
    found.forEach(([box, isWide, more]) => {
      if (!box.matches(".sl-scroll")) markScrollBox(box, isWide);
      box.classList.toggle("bk-more", more);
    });
  }

  function setUpScrollBoxes() {
    const boxes = document.querySelectorAll(".bk-scroll, .sl-picture, .sl-table, .cell_output pre, .highlight pre");
    const observer = new ResizeObserver((entries) => markBoxes(entries.map((one) => one.target)));
    // The interactive figures' own boxes have names already; they are made before this runs.
    [...boxes, ...document.querySelectorAll(".sl-scroll")].forEach((box) => {
      observer.observe(box);
      box.addEventListener("scroll", () => box.classList.toggle("bk-more", isMore(box)), { passive: true });
    });
    // A formula that was set may be wider than its box.
    document.addEventListener("formulas-set", ({ detail }) => {
      markBoxes([...new Set(detail.map((one) => one.closest(".bk-scroll")).filter(Boolean))]);
    });
  }

  function setUpContents() {
    const links = [...document.querySelectorAll(".bk-aside a[href^='#']")];
    const targets = new Map(links.map((a) => [document.getElementById(a.hash.slice(1)), a]));
    const observer = new IntersectionObserver((entries) => {
      const seen = entries.filter((entry) => entry.isIntersecting).pop();
      if (!seen) return;
      links.forEach((link) => link.removeAttribute("aria-current"));
      targets.get(seen.target)?.setAttribute("aria-current", "true");
    }, { rootMargin: "0px 0px -75% 0px" });
    targets.forEach((_, target) => target && observer.observe(target));
  }

  // "Slides under test": only the entries of one lecture, of one severity.
  function setUpEntries() {
    const form = document.querySelector(".bk-entries");
    if (!form) return;
    const entries = [...document.querySelectorAll("[data-severity]")];
    const parts = [...document.querySelectorAll("section:has(> h2)")];
    const show = () => {
      const { lecture, severity } = Object.fromEntries(new FormData(form));
      const fits = ({ dataset }) =>
        (!lecture || dataset.lecture.split("|").includes(lecture)) &&
        (!severity || dataset.severity === severity);
      entries.forEach((entry) => (entry.hidden = !fits(entry)));
      const isWhole = !lecture && !severity;
      const isSeen = (part) => isWhole || part.querySelector("[data-severity]:not([hidden])");
      parts.forEach((part) => (part.hidden = !isSeen(part)));
      document.querySelectorAll(".bk-aside a[href^='#']").forEach((link) => {
        const target = document.getElementById(link.hash.slice(1));
        link.parentElement.hidden = Boolean(target?.closest("section[hidden]"));
      });
      form.querySelector("output").textContent = `${entries.filter(fits).length} entries`;
    };
    form.hidden = false;
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", () => {
      const target = document.getElementById(location.hash.slice(1));
      if (!target?.closest("section[hidden]")) return;
      form.reset(); // a link leads to an entry that was left out
      show();
      target.scrollIntoView();
    });
    form.reset(); // the browser remembers what was chosen, the page does not
  }

  // A link may lead to what is folded, into it, or to an optional section: what folds it opens.
  function openTarget() {
    const target = document.getElementById(location.hash.slice(1));
    const folded = [...(target?.querySelectorAll(":scope > details.optional-rest:not([open])") ?? [])];
    for (let box = target?.closest("details"); box; box = box.parentElement.closest("details")) {
      if (!box.open) folded.push(box);
    }
    folded.forEach((box) => (box.open = true));
    if (folded.length) target.scrollIntoView();
  }

  function setUpTargets() {
    openTarget();
    addEventListener("hashchange", openTarget);
  }

  document.addEventListener("DOMContentLoaded", () => {
    setUpEntries();
    setUpTargets();
    setUpMode();
    setUpMenu();
    setUpScrollBoxes();
    setUpContents();
  });
  // Paper has no controls: print what is folded, but of a check its one line.
  window.addEventListener("beforeprint", () => {
    const boxes = document.querySelectorAll("article details:not(.check, .hint, .tag_solution details)");
    boxes.forEach((box) => (box.open = true));
  });
})();
