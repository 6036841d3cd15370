// Formulas are set a few at a time, so that a page answers while it loads. Those in view or near it
// come first; all others wait until the reader does something, or until the page is printed.
(() => {
  const NEAR = "100% 0px 150%"; // screens above and below the one in view
  const SLICE = 30; // milliseconds of work, and then the page's turn
  const MOST = 40; // formulas in a slice
  const SIGNS = ["scroll", "wheel", "pointerdown", "touchstart", "keydown", "hashchange"];
  const waiting = new Set();
  const near = new Set();
  let hasBegun = false; // the reader has done something
  let count = 6; // formulas in the next slice
  let working = null;

  const isLeft = () => near.size > 0 || (hasBegun && waiting.size > 0);

  function take(most) {
    const taken = [...(near.size > 0 ? near : waiting)].slice(0, most);
    taken.forEach((one) => [near, waiting].forEach((set) => set.delete(one)));
    return taken;
  }

  const tell = (set) => document.dispatchEvent(new CustomEvent("formulas-set", { detail: set }));

  async function work() {
    while (isLeft()) {
      const from = performance.now();
      const taken = take(count);
      await MathJax.typesetPromise(taken);
      tell(taken);
      const share = SLICE / Math.max(1, performance.now() - from);
      count = Math.max(2, Math.min(MOST, 2 * count, Math.round(count * share)));
      await new Promise((next) => setTimeout(next));
    }
  }

  const go = () => (working ??= work().finally(() => (working = null)));

  // Scripts may have moved formulas, or made some, since the page was loaded.
  const gather = () => document.querySelectorAll(".math:not(:has(mjx-container))").forEach((one) => waiting.add(one));

  function setAll() {
    hasBegun = true;
    return window.MathJax?.startup?.promise?.then(() => {
      gather();
      return go();
    });
  }

  /** MathJax is there; what it waits for is done when the formulas near the view are set. */
  async function start() {
    await new Promise((next) => setTimeout(next)); // the page's other scripts have done their work
    gather();
    await new Promise((done) => {
      const observer = new IntersectionObserver((entries) => {
        const come = entries.filter((one) => one.isIntersecting && waiting.has(one.target));
        come.forEach((one) => near.add(one.target));
        go().then(done);
      }, { rootMargin: NEAR });
      waiting.forEach((one) => observer.observe(one));
      if (waiting.size === 0) done();
    });
  }

  // Paper waits for nothing.
  function setAtOnce() {
    gather();
    const left = take(Infinity).concat(take(Infinity));
    if (left.length === 0) return;
    MathJax.typeset(left);
    tell(left);
  }

  window.bookMaths = { setAll };
  if (!window.MathJax) { // a page without formulas of its own: those of a definition beside it stand as TeX
    document.documentElement.classList.add("bk-tex");
    return;
  }
  window.MathJax.startup = { pageReady: start };
  SIGNS.forEach((sign) => addEventListener(sign, setAll, { once: true, passive: true }));
  addEventListener("beforeprint", () => window.MathJax?.typeset && setAtOnce());
})();
