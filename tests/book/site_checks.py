"""What is looked for on a page: each check returns the faults it found, in words."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from weakref import WeakKeyDictionary

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Route

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]
BEST_PRACTICE = "best-practice"  # of a page as a whole: landmarks, headings
CONTRAST = "color-contrast"
QUIETLY = {
    "resultTypes": ["violations"],
    "preload": False,  # axe would fetch the style sheets, which a file:// page may not do
}
ALL_BUT_CONTRAST = {
    "rules": {CONTRAST: {"enabled": False}},
    **QUIETLY,
}
CONTRAST_ALONE = {"runOnly": {"type": "rule", "values": [CONTRAST]}, **QUIETLY}
AXE = """async ([exclude, alike, options, contrast]) => {
  const ends = (one) => one.effect.getTiming().iterations < Infinity;
  const moving = document.getAnimations().filter(ends);  // a colour on its way is none yet
  await Promise.allSettled(moving.map((one) => one.finished));

  const grounds = new Map();
  const ground = (one) => {  // what lies under the text of an element, in words
    if (one === null) return "";
    if (!grounds.has(one)) {
      const style = getComputedStyle(one);
      const bare = style.backgroundColor === "rgba(0, 0, 0, 0)" && style.backgroundImage === "none"
        && style.opacity === "1" && style.filter === "none" && style.mixBlendMode === "normal"
        && ["static", "relative"].includes(style.position);
      const own = bare ? "" : [style.backgroundColor, style.backgroundImage, style.opacity,
        style.filter, style.mixBlendMode, style.position].join();
      grounds.set(one, `${own} ${ground(one.parentElement)}`.trim());
    }
    return grounds.get(one);
  };
  const seen = new Map();
  const texts = [...document.querySelectorAll("body *")].filter((one) => {
    const says = one.matches("input, select, textarea")
      || [...one.childNodes].some((part) => part.nodeType === 3 && part.data.trim() !== "");
    const {width, height} = one.getBoundingClientRect();
    if (!says || width < 2 || height < 2 || !one.checkVisibility({visibilityProperty: true})) {
      return false;
    }
    const {color, fill, fontSize, fontWeight, textShadow} = getComputedStyle(one);
    const look = [color, fill, fontSize, fontWeight, textShadow, ground(one)].join();
    seen.set(look, (seen.get(look) ?? 0) + 1);
    return seen.get(look) <= alike;
  });
  const found = [await axe.run({exclude}, options)];
  if (texts.length > 0) found.push(await axe.run({include: texts, exclude}, contrast));
  return found.flatMap((one) => one.violations);
}"""
"""Contrast is looked at on a few texts of each look: the same colours over the same grounds."""
ALIKE = 3  # so many words of code, and rows, of each kind and place are looked at
LOCAL = ("file:", "data:", "blob:", "about:")
USUAL_SIZE, USUAL_TIMEOUT = {"width": 1280, "height": 720}, 30_000  # of Playwright
MEDIA = {"media": "screen", "color_scheme": "light", "reduced_motion": "no-preference"}
FORGET = """() => {  // what outlives a page's document; a clock of Playwright's cannot be undone,
  // nor a script that takes something away from each document
  if (location.protocol === 'file:') [localStorage, sessionStorage].forEach((s) => s.clear());
  Storage.prototype.setItem = () => {};  // what the page would note as it goes
  return !('__pwClock' in window) && 'Worker' in window && 'WebAssembly' in window;
}"""
COMPRESSED = {".woff", ".woff2", ".png", ".jpg", ".ico"}
NAMELESS_FIGURES = """() => {
  const nameOf = (node) => node.getAttribute('alt') || node.getAttribute('aria-label') || '';
  const isName = (name) =>
    name.trim().split(/\\s+/).length >= 3 && !/\\.(png|svg|jpe?g)$/i.test(name);
  const pictures = 'svg[role="img"], img, .sl-body[role="group"]';
  return [...document.querySelectorAll('article img, figure.sl-figure')]
    .filter((node) => {
      const own = node.matches('img') ? [node] : [...node.querySelectorAll(pictures)];
      return !own.some((picture) => isName(nameOf(picture)));
    })
    .map((node) => node.outerHTML.slice(0, 120));
}"""
FOCUS_STYLE = """() => {
  const node = document.activeElement;
  if (!node || node === document.body) return null;
  const rings = () => [node, ...node.querySelectorAll('circle')].filter((part) => {
    const style = getComputedStyle(part);
    return part === node
      ? style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
      : style.stroke !== 'none' && parseFloat(style.strokeWidth) >= 2;
  }).length;
  const focused = rings();
  node.blur();
  const blurred = rings();
  node.focus();
  const box = node.getBoundingClientRect();
  return {
    name: (node.outerHTML || '').slice(0, 100),
    ring: focused > blurred,
    shown: box.width > 1 && box.height > 1 && parseFloat(getComputedStyle(node).opacity) > 0,
  };
}"""


SETTLED = """() => new Promise((seen) =>
  requestAnimationFrame(() => requestAnimationFrame(seen)))"""
THIN_OUT = """(alike) => {
  const seen = new Map();
  const isOneTooMany = (kind) => {
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
    return seen.get(kind) > alike;
  };
  document.querySelectorAll('.highlight pre span, dt.sig span').forEach((word) => {
    const kind = `${word.className} in ${word.closest('.cell, dt')?.className}`;
    if (isOneTooMany(kind) && word.id === '') word.replaceWith(...word.childNodes);
  });
  document.querySelectorAll('mjx-container').forEach((formula) => {
    if (isOneTooMany('formula')) formula.replaceWith('a formula in the colour of its place');
  });
  document.querySelectorAll('.highlight pre').forEach((code) => code.normalize());
  document.querySelectorAll('table.ledger tbody tr, .map-rows > li').forEach((row) => {
    const kind = `${row.parentElement.parentElement.className}, ${row.children.length} cells`;
    if (isOneTooMany(kind)) row.remove();
  });
  document.querySelectorAll('.sl-picture svg[role="img"] > g').forEach((g) => g.remove());
}"""


class Watch:
    """A page in a browser's context of its own; it notes faults and the files it loads.

    Requests to other hosts are stopped and count as faults, as do script errors.
    """

    def __init__(self, browser: Browser, device: dict) -> None:
        self.device, self.faults, self.loaded = device, [], []
        self.page = browser.new_context(**device).new_page()
        self.page.context.route("**/*", self._answer)
        self.page.on("request", self._note)
        self.page.on("requestfailed", self._note_failure)
        self.page.on("pageerror", lambda e: self.faults.append(f"script error: {e}"))
        self.page.on("console", self._hear)

    def begin(self, viewport: dict, media: dict) -> None:
        """Like a page that was just opened."""
        self.faults, self.loaded = [], []
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(**media)
        self.page.set_default_timeout(USUAL_TIMEOUT)

    def clean(self) -> bool:
        """Leave nothing of what was done on the page; False if something stays."""
        if self.page.is_closed() or not self.page.evaluate(FORGET):
            return False
        self.faults, self.loaded = [], []  # nobody hears what the end of the document does
        self.page.goto("about:blank")
        self.page.mouse.move(-1, -1)
        return True

    def _answer(self, route: Route) -> None:
        if route.request.url.startswith(LOCAL):
            route.continue_()
        else:
            self.faults.append(f"asks another host: {route.request.url}")
            route.abort()

    def _note(self, request: Request) -> None:
        if request.url.startswith("file:"):
            self.loaded.append(Path(unquote(urlsplit(request.url).path)))

    def _note_failure(self, request: Request) -> None:
        """A file that is not there; not one that the page no longer waits for, as it was left."""
        if request.failure != "net::ERR_ABORTED":
            self.faults.append(f"does not load: {request.url}")

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text}")


IDLE: WeakKeyDictionary[Browser, list[Watch]] = WeakKeyDictionary()
"""The clean pages of each browser: a new one takes half a second, and knows axe's code no more."""


@contextmanager
def watched(browser: Browser, **options) -> Iterator[tuple[Page, list[str], list[Path]]]:
    """A page, the faults it reports by itself, and the files it loads.

    A page that was used is used again, with all but its device as new: pages that see a finger or
    are a phone's stay apart.
    """
    viewport = options.pop("viewport", USUAL_SIZE)
    media = {key: options.pop(key, usual) for key, usual in MEDIA.items()}
    idle = IDLE.setdefault(browser, [])
    watch = next((one for one in idle if one.device == options), None)
    if watch is None:
        watch = Watch(browser, options)
    else:
        idle.remove(watch)
    watch.begin(viewport, media)
    try:
        yield watch.page, watch.faults, watch.loaded
    except BaseException:
        watch.page.context.close()
        raise
    if watch.clean():
        idle.append(watch)
    else:
        watch.page.context.close()


STILL = 0.05
LONGEST_TASK = 200  # milliseconds
LAYOUT_SHIFT = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((one) => { sum += one.value; }))
    .observe({type: "layout-shift", buffered: true});
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum))));
})"""
OPEN_OPTIONAL = """() => document.querySelectorAll("details.optional-rest")
  .forEach((box) => { box.open = true; })"""


def load_page(page: Page, path: Path, query: str = "") -> None:
    """Open a file of the site; wait for scripts, fonts and the formulas in view."""
    page.goto(path.as_uri() + query)
    page.evaluate("() => window.MathJax?.startup?.promise")
    page.evaluate("() => document.fonts.ready.then(() => true)")


def unfold(page: Page) -> None:
    """Open the optional sections; set all formulas."""
    page.evaluate(OPEN_OPTIONAL)
    page.evaluate("() => window.bookMaths?.setAll()")
    page.evaluate("() => document.fonts.ready.then(() => true)")


def open_page(page: Page, path: Path, query: str = "") -> None:
    """Open a file of the site with all that is folded or not yet set in it."""
    load_page(page, path, query)
    unfold(page)


def shift_faults(page: Page) -> list[str]:
    """While a page loads, hardly anything in view may move: the sum of all layout shifts."""
    moved = page.evaluate(LAYOUT_SHIFT)
    return [f"moves while it loads: {moved:.3f}"] if moved > STILL else []


def task_faults(browser: Browser, path: Path) -> list[str]:
    """While a page loads, no task may keep its thread busy for long, or it would not answer.

    Counted is the time that the processor works on it: a machine that is busy makes it no longer.
    """
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    browser.start_tracing(page=page, categories=["toplevel"])
    try:
        load_page(page, path)
        page.evaluate(SETTLED)
    finally:
        told = json.loads(browser.stop_tracing())["traceEvents"]
        page.close()
    names = {(one["pid"], one["tid"]): one["args"]["name"]
             for one in told if one["name"] == "thread_name"}  # fmt: skip
    tasks = [one["tdur"] / 1000 for one in told
             if one["name"].endswith("RunTask") and "tdur" in one
             and names.get((one["pid"], one["tid"])) == "CrRendererMain"]  # fmt: skip
    longest = max(tasks)
    return [f"a task takes {longest:.0f} ms while it loads"] if longest > LONGEST_TASK else []


def thin_out(page: Page) -> None:
    """Leave a few words of each colour in the code, a few formulas and rows, no strokes.

    A page has thousands of each; axe needs a minute to find the same again and again. A picture
    speaks by its name alone to a reader who hears the page. What is wide may be narrow afterwards.
    """
    page.evaluate(THIN_OUT, ALIKE)


def axe_faults(page: Page, leave_out: str = "", *, best_practice: bool = False) -> list[str]:
    """Violations of WCAG 2.0, 2.1 and 2.2, levels A and AA, and of what axe calls best practice.

    The strokes inside a picture are hidden from a reader who hears the page, and are left out.
    """
    exclude = [[selector] for selector in ('svg[role="img"] > *', *leave_out.split())]
    if not page.evaluate("() => 'run' in (window.axe ?? {})"):
        page.evaluate(Axe().axe_script)
    tags = [*WCAG, BEST_PRACTICE] if best_practice else WCAG
    rules = {**ALL_BUT_CONTRAST, "runOnly": {"type": "tag", "values": tags}}
    arguments = [exclude, ALIKE, rules, CONTRAST_ALONE]
    return [
        f"axe {rule['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for rule in page.evaluate(AXE, arguments)
        for node in rule["nodes"]
    ]


def scroll_faults(page: Page) -> list[str]:
    """The page as a whole must not scroll sideways."""
    wide, room = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
    return [f"the page scrolls sideways: {wide} px in {room}"] if wide > room else []


def id_faults(page: Page) -> list[str]:
    """No id stands twice on a page, not even in a drawing: a link would lead to the first."""
    return page.evaluate("""() => {
      const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
      return [...new Set(ids.filter((id, i) => ids.indexOf(id) !== i))]
        .map((id) => `an id stands twice: ${id}`);
    }""")


def formula_faults(page: Page) -> list[str]:
    """Every formula must be set once the page was unfolded, where the page has some of its own."""
    return page.evaluate("""() => [...document.querySelectorAll('html:not(.bk-tex) .math')]
      .filter((one) => one.querySelector('mjx-container') === null)
      .map((one) => `a formula is not set: ${one.textContent.slice(0, 60)}`)""")


def figure_faults(page: Page) -> list[str]:
    """Every picture needs a text alternative of at least three words that is no file name."""
    return [f"no alternative text: {html}" for html in page.evaluate(NAMELESS_FIGURES)]


def focus_faults(page: Page, stops: int) -> list[str]:
    """The first places that the tab key reaches get a ring: an outline, or a circle drawn."""
    faults = []
    for _ in range(stops):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS_STYLE)
        if focus and not (focus["ring"] and focus["shown"]):
            faults.append(f"focus cannot be seen: {focus['name']}")
    return faults


def transfer_size(files: list[Path]) -> int:
    """Bytes on the wire: text compressed by gzip, fonts and images as they are."""
    return sum(
        len(file.read_bytes())
        if file.suffix in COMPRESSED
        else len(gzip.compress(file.read_bytes()))
        for file in set(files)
        if file.is_file()
    )


def weight_faults(loaded: list[Path], budget: int) -> list[str]:
    """Everything that a page loads, compressed, stays within the budget of bytes."""
    size = transfer_size(loaded)
    return [f"loads {size:,} bytes, more than {budget:,}"] if size > budget else []


class Links(HTMLParser):
    """Collects what a page points to, and the places in it that can be pointed to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids, and the addresses in href and src."""
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.places.add(value or "")
            elif name in ("href", "src") and value:
                self.targets.append(value)


def link_faults(site: Path, pages: list[str]) -> list[str]:
    """Links to files or places that do not exist."""
    known = {(site / name).resolve(): Links(site / name) for name in pages}
    faults = []
    for path, links in known.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not file.is_file():
                faults.append(f"{path.name} points to a file that is not there: {target}")
            elif place and file in known and place not in known[file].places:
                faults.append(f"{path.name} points to a place that is not there: {target}")
    return faults
