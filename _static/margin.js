// Cards for terms and references: shown on hover and on focus, hidden by Escape.
(() => {
  const SOON = 120; // ms before a card opens: a pointer that passes by opens none
  const LATE = 900; // ms before it closes: time to move onto it
  const LINKS = "a[data-card]";
  let open = null;
  let waiting = 0;

  function hide() {
    clearTimeout(waiting);
    if (open) open.hidden = true;
    open = null;
  }

  // In the band beside the text where there is one, below the word elsewhere.
  function place(card, link) {
    const main = document.querySelector(".bk-main");
    const article = document.querySelector(".bk-article");
    const at = (box) => box.getBoundingClientRect();
    const word = link.getClientRects()[0] ?? at(link);
    const text = at(link.closest("p, li, dd, figcaption, td") ?? link);
    const measure = parseFloat(getComputedStyle(article).getPropertyValue("--sl-measure")) * 16;
    const band = at(article).left + measure + 24;
    const isBeside = at(article).right - band >= 192 && text.right <= band;
    card.classList.toggle("bk-beside", isBeside);
    card.hidden = false;
    const { width, height } = at(card);
    const left = isBeside ? band : Math.min(word.left, at(article).right - width);
    const below = word.bottom + 6;
    const isRoom = isBeside || below + height <= innerHeight || word.top < height + 6;
    const top = isBeside ? word.top : isRoom ? below : word.top - height - 6;
    card.style.left = `${Math.max(left, at(article).left) - at(main).left}px`;
    card.style.top = `${top - at(main).top}px`;
  }

  function show(link) {
    const card = document.getElementById(link.dataset.card);
    if (card === open) return clearTimeout(waiting);
    hide();
    if (!card) return;
    open = card;
    place(card, link);
  }

  const later = (what, time) => {
    clearTimeout(waiting);
    waiting = setTimeout(what, time);
  };

  document.addEventListener("mouseover", ({ target }) => {
    const link = target.closest(LINKS);
    if (link) later(() => show(link), open ? SOON / 2 : SOON);
    else if (target.closest(".bk-card")) clearTimeout(waiting);
    else if (open && !document.activeElement.matches(LINKS)) later(hide, LATE);
    else if (!open) clearTimeout(waiting);
  });
  document.addEventListener("focusin", ({ target }) => {
    const link = target.closest(LINKS);
    if (link?.matches(":focus-visible")) show(link);
    else hide();
  });
  document.addEventListener("focusout", ({ target }) => {
    if (target.closest(LINKS)) hide();
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") hide();
  });
  addEventListener("resize", hide);
})();
