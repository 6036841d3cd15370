"""Pages of the built site as stills: formulas set, figures drawn, nothing left to click.

A still is HTML that needs no script. Its ids begin with the page's name (`attention--masks`), and
so do the links between the pages, so that any number of them can stand in one document.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, ElementHandle, Locator, sync_playwright
from playwright.sync_api import Page as Tab

import registry
from registry import Page
from screen import Screen

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATIENCE = 120_000  # milliseconds: a machine may be busy
WIDTH = 605
"""What fits between the margins of a sheet of A4, in pixels: figures measure their place."""
TAKE = (Path(__file__).parent / "snapshot.js").read_text(encoding="utf-8")
TELLING = {
    "fig-similarity-plane": [("Turn", "40"), ("Stretch all", "1.5")],
    "fig-referent-switch": [("the chicken", None)],
    "fig-bpe-player": [("Merges", "10")],
    "fig-rnn-stepper": [("Next", None)] * 5,
    "fig-spectral-sliders": [("Spectral radius", "0.9")],
    "fig-seq2seq-decoder": [("Frame", "12")],
    "fig-matrix-microscope": [("Show all scores", None)],
    "fig-limits-flow": [("Frame", "7")],
    "fig-collapse-cloud": [("Depth", "2")],
    "fig-training-page": [("Train", None)],
    "fig-modern-attention-count": [
        ("Fetch the model", None),
        ("anew for each token", None),
        ("Write 100 tokens", None),
        ("from the cache", None),
        ("Write 100 tokens", None),
    ],
    "fig-workshop": [("Fetch the model", None), ("100 tokens", None)],
    "fig-workshop-book": [("Fetch the model", None), ("100 tokens", None)],
    "fig-training-ground": [("Train", None)],
}
"""What is done to a figure that says little at first: what is called so is pressed, or set."""
FIND = """(root, name) => [...root.querySelectorAll("input, select, button")].find((one) =>
  (one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.textContent)
    .trim().startsWith(name))"""
SET = """(control, value) => {
  control.value = value;
  for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, {bubbles: true}));
}"""
QUIET = """async (root) => {  // some figures compute for a while, and show how far they are
  let before = "";
  for (let k = 0; k < 240 && before !== root.innerHTML; k += 1) {
    before = root.innerHTML;
    await new Promise((go) => setTimeout(go, 1500));
  }
}"""
CAN_BE_PRESSED = """(control) => !control.disabled && !control.closest("[hidden]")"""
"""Whether it is its turn: what waits for something else is disabled, or hidden by its figure."""
UNFOLD = """() => {
  document.querySelectorAll(".bk-article .optional-rest").forEach((fold) => (fold.open = true));
  document.querySelector("#bk-show-every-result:not(:checked)")?.click();
}"""
"""What is in a closed fold or under a cover can be neither pressed nor measured."""
READY = """async () => {
  if (window.MathJax?.startup) await MathJax.startup.promise;
  await window.bookMaths?.setAll();
  await document.fonts.ready;
  const bodies = () => [...document.querySelectorAll(".bk-article .sl-body")];
  const waits = () => bodies().some((one) => !one.querySelector(":scope > :not(noscript)"));
  for (let k = 0; k < 100 && waits(); k += 1) await new Promise((go) => setTimeout(go, 100));
  await new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)));
}"""


@dataclass(frozen=True)
class Still:
    """A page of the book as it stands on paper.

    Attributes:
        page: Which one.
        title: Its heading, as HTML, with its number.
        html: The text.
        solutions: The solutions of its exercises, each a section; empty if there are none.
        styles: The style sheets of its figures.
        maths: The rules of the style sheet with which its formulas are set.
        sheets: The addresses of the site's own style sheets.
        fonts: The addresses of the script that brings its fonts.
    """

    page: Page
    title: str
    html: str
    solutions: str
    styles: tuple[str, ...]
    maths: tuple[str, ...]
    sheets: tuple[str, ...]
    fonts: tuple[str, ...]


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of this machine, the one that the tests use.

    Raises:
        FileNotFoundError: There is none.
    """
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise FileNotFoundError("no Chromium; on Debian and Ubuntu: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


def do(figure: Locator, name: str, value: str | None) -> None:
    """Press what is called so in a figure, or set it to a value.

    Raises:
        ValueError: Nothing in the figure is called so.
    """
    control = figure.evaluate_handle(FIND, name).as_element()
    if control is None:
        raise ValueError(f"{figure}: nothing in it is called {name!r}")
    if value is None:
        press(figure.page, control)
    else:
        control.evaluate(SET, value)


def press(tab: Tab, control: ElementHandle) -> None:
    """Press a control as soon as it can be pressed.

    A narrow figure may leave out the control and show its parts in another way. What the control
    does is done all the same: the still is laid out anew, and may have more room there.
    """
    tab.wait_for_function(CAN_BE_PRESSED, arg=control)
    if control.is_visible():
        control.click()  # as a reader would: some figures know the difference
    else:
        control.dispatch_event("click")


def tell(figure: Locator, steps: list[tuple[str, str | None]]) -> None:
    """Bring a figure into a state that says something on paper, as a reader would."""
    for name, value in steps:
        do(figure, name, value)
        figure.evaluate(QUIET)


def take(browser: Browser, site: Path, page: Page, width: int = WIDTH) -> Still:
    """Open a page of the built site so many pixels wide, and take it as it stands."""
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="light")
    try:
        tab.set_default_timeout(PATIENCE)
        tab.goto((site / f"{page.docname}.html").as_uri())
        tab.evaluate(UNFOLD)
        tab.evaluate(READY)
        for name, steps in TELLING.items():
            for figure in tab.locator(f"#{name} .sl-body").all():
                tell(figure, steps)
        tab.emulate_media(media="print")
        tab.evaluate(READY)
        root = f"{site.as_posix()}/"
        found = tab.evaluate(TAKE, {"name": page.name, "root": root})
    finally:
        tab.close()
    found |= {key: tuple(found[key]) for key in ("styles", "maths", "sheets", "fonts")}
    return Still(page=page, **found)


def take_all(browser: Browser, names: list[str], screen: Screen, width: int = WIDTH) -> list[Still]:
    """Stills of the pages with these names, or of all pages where none is named.

    Where the site is not built, the program ends and says so.
    """
    site, stills = registry.built_site(), []
    for page in [registry.by_name()[name] for name in names] or registry.pages():
        screen.draw(f"Opening {page.name}")
        stills.append(take(browser, site, page, width))
    return stills
