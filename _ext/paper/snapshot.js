// Makes of an open page of the site what can stand on paper: its text with the formulas set, each
// figure as it looks, nothing to click, and the solutions apart. Run in the page, after its scripts.
({ name, root }) => {
  const article = document.querySelector(".bk-article");
  const all = (selector, where = article) => [...where.querySelectorAll(selector)];
  const make = (tag, className, ...inside) => {
    const one = document.createElement(tag);
    one.className = className;
    one.append(...inside);
    return one;
  };
  const SHORT = 250; // letters: two lines or three
  const LINES = 40; // pixels: a place of this height is held for more than a line
  const remove = (...selectors) => selectors.forEach((one) => all(one).forEach((it) => it.remove()));
  const unwrap = (one) => one.replaceWith(...one.childNodes);

  // The value of what a reader sets stays, the control goes ---------------------------------------

  function still(control) {
    if (control.matches("select")) return control.selectedOptions[0]?.textContent ?? "";
    if (control.matches("textarea, [type=text], [type=number], [type=search], :not([type])")) return control.value;
    return "";
  }

  /** What a figure prints as long as nobody has used it stands in place of what waits for a reader. */
  function takePrinted(root) {
    const printed = root.nextElementSibling;
    if (!printed?.matches(".sl-printed")) return;
    root.replaceChildren(...printed.childNodes);
    printed.remove();
  }

  /** Of the choices the one that was made stays; of pictures all do, and that one is marked. */
  function stillChoice(choice) {
    const isMade = choice.querySelector("input")?.checked;
    if (choice.querySelector("svg, img")) choice.classList.toggle("pp-chosen", Boolean(isMade));
    else if (!isMade) choice.remove();
  }

  /** Nothing sticks to the edge of a screen, and no place is held for what a reader may do. */
  function settle(part) {
    const { position, minHeight } = getComputedStyle(part);
    if (position === "sticky") Object.assign(part.style, { position: "relative", inset: "auto" });
    if (parseFloat(minHeight) > LINES) part.style.minHeight = "0px";
  }

  function stillFigure(root) {
    takePrinted(root);
    all("*", root).forEach(settle);
    all("canvas", root).forEach((canvas) => {
      const picture = make("img", canvas.className);
      picture.src = canvas.toDataURL();
      picture.alt = canvas.getAttribute("aria-label") ?? "";
      picture.style.cssText = `width: ${canvas.clientWidth}px; ${canvas.getAttribute("style") ?? ""}`;
      canvas.replaceWith(picture);
    });
    all("details:not([open])", root).forEach((fold) => fold.remove());
    all(".sl-choice", root).forEach(stillChoice);
    all(".sl-check", root).forEach((choice) => {
      if (!choice.querySelector("input")?.checked) choice.remove();
    });
    all("input, select, textarea", root).forEach((control) => {
      const value = still(control);
      if (value) control.replaceWith(make("span", "pp-value", value));
      else control.remove();
    });
    all("button", root).forEach((button) => {
      const isContent = button.matches(".ws-word") || !button.matches(".sl-button, .sq-move");
      if (!isContent) return button.remove();
      const plain = make("span", button.className, ...button.childNodes); // a cell, a token: content
      plain.style.cssText = button.style.cssText;
      button.replaceWith(plain);
    });
    all("[role=slider], [tabindex], [aria-live], [role=status]", root).forEach((one) => {
      ["role", "tabindex", "aria-live", "aria-valuenow", "aria-valuetext"].forEach((key) => one.removeAttribute(key));
    });
    root.style.minHeight = "";
  }

  // Lists and headings -------------------------------------------------------------------------------

  /** Guesses that are wrong for one reason stand in one line: "Not 2, 5, 10: because". */
  function gatherGuesses(list) {
    const lines = new Map();
    for (const item of [...list.children]) {
      const [guess, ...reason] = item.innerHTML.split(": ");
      const first = lines.get(reason.join(": "));
      if (first) {
        first.innerHTML = first.innerHTML.replace(/^([^:]*): /, `$1, ${guess.replace(/^Not /, "")}: `);
        item.remove();
      } else {
        lines.set(reason.join(": "), item);
      }
    }
  }

  /** A heading stays on the sheet of a short text below it, which Chromium forgets behind a grid. */
  function keepHeading(heading) {
    const next = heading.nextElementSibling;
    if (!next?.matches("p, .map-head") || next.textContent.length > SHORT) return;
    const box = make("div", "pp-heading");
    heading.replaceWith(box);
    box.append(heading, next);
  }

  // Folds --------------------------------------------------------------------------------------------

  /** A fold becomes a note with a title, or just what it holds. */
  function unfold(fold) {
    const title = fold.querySelector(":scope > summary");
    if (fold.matches(".check")) {
      const line = make("p", "pp-check", ...title.childNodes);
      line.id = fold.id;
      fold.replaceWith(line);
    } else if (fold.matches(".optional-rest, .hide")) {
      title.remove();
      unwrap(fold);
    } else {
      const kind = [...fold.classList].filter((one) => one !== "dropdown").join(" ");
      const head = make("p", "admonition-title", ...title.childNodes);
      title.remove();
      const note = make("div", kind, head, ...fold.childNodes);
      if (fold.id) note.id = fold.id;
      fold.replaceWith(note);
    }
  }

  // Solutions ------------------------------------------------------------------------------------------

  const IS_SOLUTION = ".cell.tag_solution, details.dropdown:not(.hint, .letters, .erratum)";

  /** What answers an exercise stands behind it, up to the next one. */
  function takeSolution(exercise) {
    const parts = [];
    for (let one = exercise.nextElementSibling; one && !one.matches(".exercise, section"); one = one.nextElementSibling) {
      if (one.matches(IS_SOLUTION)) parts.push(one);
    }
    parts.push(...all(IS_SOLUTION, exercise));
    if (parts.length === 0) return [];
    const title = exercise.querySelector(".admonition-title");
    const number = title.querySelector(".caption-number").textContent.trim();
    const words = title.textContent.trim().replace(number, "").trim().replace(/^\(|\)$/g, "");
    const back = make("a", "", number.replace("Exercise", "Solution"));
    back.href = `#${exercise.id}`;
    const head = make("h3", "pp-solution-title", back, ` ${words}`);
    const solution = make("section", "pp-solution", head, ...parts);
    solution.id = `solution-${exercise.id}`;
    const there = make("a", "pp-page", "Solution");
    there.href = `#${solution.id}`;
    exercise.append(make("p", "pp-to-solution", there));
    return [solution];
  }

  // Names --------------------------------------------------------------------------------------------

  const own = (id) => `${name}--${id}`;

  /** Where a link leads: to a place of the book, `#name--id`, or out of it; null for neither. */
  function target(link) {
    const url = new URL(link.getAttribute("href"), location.href);
    if (/^(https?|mailto):/.test(url.protocol)) return url.href;
    const path = decodeURIComponent(url.pathname);
    if (!path.startsWith(root) || !path.endsWith(".html")) return null;
    const page = path.slice(root.length, -5).split("/").pop().replace(/^\d\d_/, "");
    return `#${page}--${decodeURIComponent(url.hash.slice(1))}`;
  }

  /** No two pages of one document have an id in common. */
  function rename(part) {
    const POINTS = ["for", "aria-labelledby", "aria-describedby", "aria-controls", "headers"];
    all("a[href]", part).forEach((link) => {
      const to = target(link);
      if (to) link.setAttribute("href", to);
      else unwrap(link);
    });
    [part, ...all("*", part)].forEach((one) => {
      if (one.id) one.id = own(one.id);
      POINTS.filter((key) => one.hasAttribute(key)).forEach((key) => {
        one.setAttribute(key, one.getAttribute(key).trim().split(/\s+/).map(own).join(" "));
      });
      for (const { name: key, value } of [...one.attributes]) {
        if (value.includes("url(#")) one.setAttribute(key, value.replaceAll("url(#", `url(#${own("")}`));
        if (value.startsWith("#") && key.endsWith("href") && !one.matches("a")) one.setAttribute(key, `#${own(value.slice(1))}`);
        if (key.startsWith("data-") && !one.matches("mjx-container *")) one.removeAttribute(key);
      }
    });
  }

  // The page --------------------------------------------------------------------------------------------

  // A formula is read out as its author wrote it; its MathML stays beside it.
  for (const formula of window.MathJax?.startup?.document?.math ?? []) {
    formula.typesetRoot?.setAttribute("role", "img");
    formula.typesetRoot?.setAttribute("aria-label", formula.math.trim());
  }
  remove(".bk-cards", ".headerlink", ".copybtn", ".sl-foot", ".bk-letters", ".bk-start", ".bk-look", ".bk-paper", "form.map-filter", "form.bk-entries");
  remove(".bk-cover", ".bk-guess", ".bk-verdict", ".bk-predictions", ".bk-prediction legend", ".bk-prediction input", ".bk-prediction button");
  remove("noscript", "mjx-assistive-mml:empty");
  all(".bk-prediction :is(form, fieldset, label, .bk-item)").forEach(unwrap);
  all(".bk-guess-choice, .bk-guess-order").forEach((list) => (list.className = "pp-choices"));
  all(".bk-covered, .bk-under").forEach(unwrap);
  all(".sl-reveal ul").forEach(gatherGuesses);
  all(".sl-not-yet").forEach((line) => (line.closest(".cell_output") ?? line).remove());
  all(".sl-body").forEach(stillFigure);
  // A word of code without a colour needs no element of its own: it is half of all elements.
  const COLOURED = ".bk-line, .k, .kn, .kc, .kd, .kr, .ow, [class^=s], [class^=c], [class^=m], .nf, .nc, .nd, .gp, .go";
  all(".highlight pre span").filter((word) => !word.matches(COLOURED)).forEach(unwrap);
  all(".highlight pre").forEach((code) => code.normalize());

  const solutions = all(".exercise").flatMap(takeSolution);
  const box = make("section", "pp-solutions", ...solutions);
  // Folded code belongs to the screen: it draws the picture above it, or sets up the chapter.
  all(".cell.tag_hide-input > details.hide").forEach((code) => code.remove());
  all(".cell").forEach((cell) => cell.childElementCount || cell.remove());
  const styles = [...all("style"), ...all("style", box)].map((style) => style.textContent);
  for (const part of [article, box]) {
    all("script, style, link", part).forEach((one) => one.remove());
    all("details", part).forEach(unfold);
    all("[tabindex]", part).forEach((one) => one.removeAttribute("tabindex"));
    all("h2, h3, h4", part).forEach(keepHeading);
    rename(part);
  }
  const maths = document.getElementById("MJX-CHTML-styles")?.sheet?.cssRules ?? [];
  return {
    title: article.querySelector("h1").innerHTML,
    html: article.innerHTML,
    solutions: solutions.length ? box.innerHTML : "",
    styles: [...new Set(styles)],
    maths: [...maths].map((rule) => rule.cssText),
    sheets: [...document.querySelectorAll("link[rel=stylesheet]")].map((link) => link.href),
    fonts: [...document.querySelectorAll("script[src*='/fonts.js']")].map((script) => script.src),
  };
}
