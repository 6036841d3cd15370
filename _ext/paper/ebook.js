// Makes of an open document of stills what can stand in an e-book: well-formed text without the
// site's styles, formulas in MathML or as pictures, figures of many parts as pictures.
window.ebook = (() => {
  const all = (selector, where = document) => [...where.querySelectorAll(selector)];
  // A reader's page may be white, black or brown, and no style sheet knows: these colours are as far
  // from white as from black, and what is text or line has the text's own colour.
  const COLOURS = {
    blue: "#007bc0", accent: "#007bc0", sky: "#2d7da7", orange: "#ab6400", green: "#008662",
    red: "#ca4d0c", purple: "#b6528d", grey: "#78756e", soft: "#78756e", line: "#78756e",
    hair: "#78756e", edge: "#78756e", paper: "transparent", shade: "transparent",
  };
  const VARIABLE = /var\(--(?:sl-)?([\w-]+)(?:,\s*([^()]*))?\)/g;
  const images = [];

  const colour = (_, name, other) => COLOURS[name] ?? (name === "ink" || name === "strong" ? "currentColor" : other ?? "inherit");

  /** Marks each figure that is more than one drawing, to be photographed; what it is called. The map
   * of the book is a list of links, and remains one. */
  function figures() {
    return all(".sl-picture > .sl-body:not(.bm-map)").map((figure, k) => {
      figure.dataset.figure = k;
      if (figure.scrollWidth > figure.clientWidth) figure.style.zoom = figure.clientWidth / figure.scrollWidth;
      const named = figure.closest(".sl-picture[aria-label]") ?? figure;
      return named.getAttribute("aria-label") ?? figure.textContent.trim().replace(/\s+/g, " ");
    });
  }

  function img(src, alt, width) {
    const picture = document.createElement("img");
    picture.src = src;
    picture.alt = alt;
    if (width) picture.style.width = `${width}px`;
    return picture;
  }

  /** A picture that stands in the text itself becomes a file of its own. */
  async function outside(picture, name, key) {
    const bitmap = await createImageBitmap(await (await fetch(picture.getAttribute(key))).blob());
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    images.push(canvas.toDataURL("image/png").split(",")[1]);
    picture.setAttribute(key, `pictures/${name}-image${images.length}.png`);
  }

  function bare(one) {
    for (const { name } of [...one.attributes]) {
      if (name.startsWith("data-") || name === "focusable") one.removeAttribute(name);
    }
  }

  /** The MathML of a formula, with its TeX for readers that know none; or a picture of it. */
  function formula(container, asPicture) {
    const math = container.querySelector("math");
    const tex = container.getAttribute("aria-label");
    [math, ...all("*", math)].forEach(bare);
    const display = container.getAttribute("display") === "true";
    if (display) math.setAttribute("display", "block");
    math.setAttribute("alttext", tex);
    if (!asPicture) return math;
    const svg = MathJax.mathml2svg(math.outerHTML, { display }).querySelector("svg");
    [svg, ...all("*", svg)].forEach(bare);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", tex);
    return svg;
  }

  function drawing(svg) {
    [svg, ...all("*", svg)].forEach((one) => {
      for (const { name, value } of [...one.attributes]) {
        if (value.includes("var(")) one.setAttribute(name, value.replace(VARIABLE, colour));
      }
    });
    svg.style.removeProperty("min-width"); // a narrow page shows it smaller, not half of it
  }

  /** The parts of the document as text. */
  async function parts({ name, shots, asPicture }) {
    all("mjx-container").forEach((one) => one.replaceWith(formula(one, asPicture)));
    all("[data-figure]").forEach((one) => {
      const { src, alt } = shots[one.dataset.figure];
      one.replaceWith(img(src, alt, one.clientWidth));
    });
    all(".pp svg:not(math svg)").forEach(drawing);
    for (const picture of all("img[src^='data:']")) await outside(picture, name, "src");
    for (const picture of all("image[href^='data:']")) await outside(picture, name, "href");
    all(".road-title, .road-chapters").forEach((one) => one.remove());
    all(".bk-line").forEach((line) => {
      const indent = parseInt(line.style.getPropertyValue("--in")) + 2; // a long line goes on below, further in
      line.setAttribute("style", `padding-left:${indent}ch;text-indent:-${indent}ch`);
    });
    all("[style*='--'], .sl-picture, .sl-table, .pp-article").forEach((one) => one.removeAttribute("style"));
    all(".highlight span:not([class])").forEach((one) => one.replaceWith(...one.childNodes));
    all("[aria-describedby], [aria-labelledby], [aria-controls]").forEach((one) => {
      for (const key of ["aria-describedby", "aria-labelledby", "aria-controls"]) one.removeAttribute(key);
    });
    all(".pp *").forEach(bare);
    const ids = new Set(); // two exercises of a page have a content of the same name
    all(".pp [id]").forEach((one) => (ids.has(one.id) ? one.removeAttribute("id") : ids.add(one.id)));
    all("path:not([d])").forEach((path) => path.remove());
    all("article").forEach((one) => one.normalize());
    const written = new XMLSerializer();
    return { texts: all("article").map((article) => written.serializeToString(article)), images };
  }

  return { figures, parts };
})();
