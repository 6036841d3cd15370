"""What is looked for on a page: each check returns the faults it found, in words."""

import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from weakref import WeakKeyDictionary

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Route
from pypdf import PdfReader

import registry

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]
BEST_PRACTICE = "best-practice"  # of a page as a whole: landmarks, headings
LINK = ":is(a[href], [role=link])"
COLOURS = {"color-contrast": "", "link-in-text-block": LINK}  # and what else of their elements
PLACES = ["target-size", "scrollable-region-focusable"]
QUIETLY = {
    "resultTypes": ["violations"],
    "preload": False,  # axe would fetch the style sheets, which a file:// page may not do
}
AXE = """async ([exclude, alike, colours, link, options]) => {
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
    const says = one.matches(`input, select, textarea, ${link}`)
      || [...one.childNodes].some((part) => part.nodeType === 3 && part.data.trim() !== "");
    const {width, height} = one.getBoundingClientRect();
    if (!says || width < 2 || height < 2 || !one.checkVisibility({visibilityProperty: true})) {
      return false;
    }
    const {color, fill, fontSize, fontWeight, textShadow, textDecoration, borderBottom}
      = getComputedStyle(one);
    const around = getComputedStyle(one.parentElement).color;  // which a link must differ from
    const look = [color, fill, fontSize, fontWeight, textShadow, textDecoration, borderBottom,
      around, one.localName, one.matches(link) && one.className, ground(one)].join();
    seen.set(look, (seen.get(look) ?? 0) + 1);
    return seen.get(look) <= alike;
  });
  const rules = Object.entries(colours);
  axe.configure({rules: rules.map(([id, one]) => ({id, selector: `${one}[data-looked-at]`}))});
  texts.forEach((one) => one.setAttribute("data-looked-at", ""));
  const {violations} = await axe.run({exclude}, options);
  texts.forEach((one) => one.removeAttribute("data-looked-at"));
  return violations;
}"""
"""Colours are looked at on a few texts of each look: the same colours over the same grounds."""
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
FOLDS = """(opening) => {
  const boxes = [...document.querySelectorAll("article details.optional-rest")];
  const heads = [...document.querySelectorAll("article :is(h2, h3, h4)")]
    .filter((head) => head.innerText.startsWith(opening) && !head.closest(".optional-rest"));
  const whole = heads.filter((head) => !head.parentElement.querySelector(".optional-rest"));
  const seen = (box) => [...box.children].slice(1).some((one) => one.checkVisibility());
  const faults = [
    ...whole.map((head) => `is not folded: ${head.innerText}`),
    ...boxes.filter(seen).map((box) => `is not closed: ${box.parentElement.id}`),
  ];
  if (boxes.length !== heads.length) {
    faults.push(`${boxes.length} folds for ${heads.length} optional sections`);
  }
  return [heads.length, faults];
}"""
NOT_DRAWN = """() => {
  const pictures = "details.optional-rest figure :is(svg, img)";
  return [...document.querySelectorAll(pictures)].filter((one) => {
    const {width, height} = one.getBoundingClientRect();
    return one.checkVisibility() && !(width > 0 && height > 0);
  }).map((one) => `is not drawn: ${one.outerHTML.slice(0, 120)}`);
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
    const whole = formula.closest('.math') ?? formula;
    if (isOneTooMany('formula')) whole.replaceWith('a formula in the colour of its place');
  });
  document.querySelectorAll('.highlight pre').forEach((code) => code.normalize());
  document.querySelectorAll('table.ledger tbody tr, .map-rows > li').forEach((row) => {
    const kind = `${row.parentElement.parentElement.className}, ${row.children.length} cells`;
    if (isOneTooMany(kind)) row.remove();
  });
  const drawn = '.sl-picture svg[role="img"] > g, svg[aria-hidden="true"] > *';
  document.querySelectorAll(drawn).forEach((part) => part.remove());
  document.querySelectorAll('.copybtn svg > :not(title)').forEach((part) => part.remove());
  const place = (one) => one === null ? '' : `${place(one.parentElement)} ${one.localName}.`
    + `${one.className}`;  // what a style sheet knows of it
  const isPlain = (one) => one.childElementCount === 0 && one.textContent.trim() !== ''
    && one.closest('nav, figure') === null
    && [...one.attributes].every(({name}) => ['class', 'href'].includes(name));
  const inText = 'article :is(p, li, td) :is(em, strong, code, span, b, i)';
  [...document.querySelectorAll(inText)].reverse().forEach((word) => {  // the inner ones first
    if (isPlain(word) && isOneTooMany(place(word))) word.replaceWith(...word.childNodes);
  });
  document.querySelectorAll('article section > p').forEach((text) => {
    if (isPlain(text) && isOneTooMany(place(text))) text.remove();
  });
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
        """Like a page that was just opened, which has the focus.

        In Firefox a window that was opened later takes it: Enter then presses no button of the
        page, though the page hears the key.
        """
        self.faults, self.loaded = [], []
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(**media)
        self.page.set_default_timeout(USUAL_TIMEOUT)
        self.page.bring_to_front()
        self.page.wait_for_function("document.hasFocus()")

    def clean(self) -> bool:
        """Leave nothing of what was done on the page; False if something stays."""
        if self.page.is_closed() or not self.page.evaluate(FORGET):
            return False
        self.faults, self.loaded = [], []  # nobody hears what the end of the document does
        self.page.goto("about:blank")
        outside = 0 if self.page.context.browser.browser_type.name == "firefox" else -1
        self.page.mouse.move(outside, outside)  # Firefox knows no point beyond its page
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
    try:
        watch.begin(viewport, media)
        yield watch.page, watch.faults, watch.loaded
    except BaseException:
        watch.page.context.close()
        raise
    if watch.clean():
        idle.append(watch)
    else:
        watch.page.context.close()


STILL = 0.05
YARDSTICK = """data:text/html,<body><script>
addEventListener("load", () => {
  document.body.innerHTML = "<p>some <b>words</b> of a text</p>".repeat(7500);
  document.body.getBoundingClientRect();
});
</script>"""
"""A page with one task: on the machine where it was measured, 200 milliseconds of the processor."""
LOADS = 3  # at most
LAYOUT_SHIFT = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((one) => { sum += one.value; }))
    .observe({type: "layout-shift", buffered: true});
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum))));
})"""
LAY_OUT_ALL = "* { content-visibility: visible !important; }"
OPEN_OPTIONAL = """() => document.querySelectorAll("details.optional-rest")
  .forEach((box) => { box.open = true; })"""


def page_file(site: Path, name: str) -> Path:
    """A page of the built site, by its name: chapters are renamed when one is put between them."""
    return site / f"{registry.by_name()[name].docname}.html"


def load_page(page: Page, path: Path, query: str = "") -> None:
    """Open a file of the site; wait for scripts, fonts and the formulas in view."""
    _load(page, path.as_uri() + query)


def _load(page: Page, address: str) -> None:
    page.goto(address)
    page.evaluate("() => window.MathJax?.startup?.promise")
    page.evaluate("() => document.fonts.ready.then(() => true)")


def unfold(page: Page) -> None:
    """Open the optional sections; lay out what is far from view, too; set all formulas."""
    page.evaluate(OPEN_OPTIONAL)
    page.add_style_tag(content=LAY_OUT_ALL)
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

    Long is what takes this machine longer than `YARDSTICK`. Counted is the time that the processor
    works on it. What else the machine does makes either longer, never shorter: the page needs what
    the quickest of a few loads needs, and is held against the yardstick at its quickest first, and
    then against what this takes in the same minute.
    """
    for limit in _limits(browser):
        page = _longest_task(browser, path.as_uri())
        if page <= limit:
            return []
    return [f"a task takes {page / limit:.1f} times what is allowed while it loads"]


def _limits(browser: Browser) -> Iterator[float]:
    """What the yardstick takes at its quickest, and then what it takes each time it is asked."""
    yield _yardstick(browser)
    for _ in range(LOADS - 1):
        yield _longest_task(browser, YARDSTICK)


@cache
def _yardstick(browser: Browser) -> float:
    """The quickest of a few."""
    return min(_longest_task(browser, YARDSTICK) for _ in range(LOADS))


def _longest_task(browser: Browser, address: str) -> float:
    """Of one load, in milliseconds of the processor."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    browser.start_tracing(page=page, categories=["toplevel"])
    try:
        _load(page, address)
        page.evaluate(SETTLED)
    finally:
        told = json.loads(browser.stop_tracing())["traceEvents"]
        page.close()
    names = {(one["pid"], one["tid"]): one["args"]["name"]
             for one in told if one["name"] == "thread_name"}  # fmt: skip
    tasks = [one["tdur"] / 1000 for one in told
             if one["name"].endswith("RunTask") and "tdur" in one
             and names.get((one["pid"], one["tid"])) == "CrRendererMain"]  # fmt: skip
    return max(tasks)


def thin_out(page: Page) -> None:
    """Leave a few words of each colour in the code, a few formulas and rows, no strokes.

    A page has thousands of each; axe needs a minute to find the same again and again. A picture
    speaks by its name alone to a reader who hears the page. What is wide may be narrow afterwards.
    """
    page.evaluate(THIN_OUT, ALIKE)


def axe_faults(
    page: Page, leave_out: str = "", *, best_practice: bool = False, rules: Sequence[str] = ()
) -> list[str]:
    """Violations of WCAG 2.0, 2.1 and 2.2, levels A and AA, and of what axe calls best practice.

    The strokes inside a picture are hidden from a reader who hears the page, and are left out.
    Where nothing but colours or places has changed since axe saw all of the page, `COLOURS` and
    `PLACES` are the rules that can find something new.
    """
    exclude = [[selector] for selector in ('svg[role="img"] > *', *leave_out.split())]
    if not page.evaluate("() => 'run' in (window.axe ?? {})"):
        page.evaluate(Axe().axe_script)
    tags = [*WCAG, BEST_PRACTICE] if best_practice else WCAG
    kind, values = ("rule", list(rules)) if rules else ("tag", tags)
    options = {"runOnly": {"type": kind, "values": values}, **QUIETLY}
    return [
        f"axe {rule['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for rule in page.evaluate(AXE, [exclude, ALIKE, COLOURS, LINK, options])
        for node in rule["nodes"]
    ]


def scroll_faults(page: Page) -> list[str]:
    """The page as a whole must not scroll sideways.

    Its room is the root's `clientWidth`: a phone's `innerWidth` grows with what is too wide.
    """
    wide, room = page.evaluate(
        "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
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


def head_faults(html: str) -> list[str]:
    """What stands twice in a page's head: the names of metas, "title"."""
    head = html[: html.index("</head>")]
    said = re.findall(r'<meta (?:name|property|content="[^"]*" name)="([^"]+)"', head)
    said += re.findall(r"<(title)>", head)
    return sorted(name for name, number in Counter(said).items() if number > 1)


def figure_faults(page: Page) -> list[str]:
    """Every picture needs a text alternative of at least three words that is no file name."""
    return [f"no alternative text: {html}" for html in page.evaluate(NAMELESS_FIGURES)]


SEEN = """() => {  // the contract of figures looks at each of them at both widths
  const place = (one) => `${one.localName}.${one.className}`  // what a style sheet knows of it
    + (one.matches("article") ? "" : ` in ${place(one.parentElement)}`);
  return [...document.querySelectorAll("article :not(figure *)")]
    .filter((one) => one.checkVisibility({visibilityProperty: true}))
    .map((one) => [one, place(one)]);
}"""
NOTE_SEEN = f"() => {{ window.seen = new Set(({SEEN})().flat()); }}"
SEEN_ALONE = f"""() => ({SEEN})().filter((both) => !both.some((one) => window.seen.has(one)))
  .map(([one]) => `is not seen at the other width: ${{one.outerHTML.slice(0, 120)}}`)"""


def note_seen(page: Page) -> None:
    """Note what can be seen of the article."""
    page.evaluate(NOTE_SEEN)


def seen_alone_faults(page: Page) -> list[str]:
    """Since that was noted, nothing may have come into sight of which axe knows nothing."""
    return page.evaluate(SEEN_ALONE)


def fold_faults(page: Page, opening: str, *, expected: bool) -> list[str]:
    """A section with this opening has a fold, which is closed; there are some where expected."""
    n_found, faults = page.evaluate(FOLDS, opening)
    return faults if n_found or not expected else [*faults, "has no optional section"]


def drawing_faults(page: Page) -> list[str]:
    """What was folded until now has been drawn."""
    return page.evaluate(NOT_DRAWN)


CHECKS = """() => [...document.querySelectorAll('details.check')].map((box) => [
  box.id, box.open, box.querySelector('summary').textContent])"""
PASSED = "✓Passed when this page was built. Checked: "


def check_faults(page: Page, expected: list[str]) -> list[str]:
    """The check cells with these ids, in their order: each passed, and is one closed line."""
    found = page.evaluate(CHECKS)
    faults = [f"the check {key} is open" for key, is_open, _ in found if is_open]
    for key, _, words in found:
        if not words.startswith(PASSED):
            faults.append(f"{key} does not say that it passed: {words[:80]}")
    wanted = [f"check-{key}" for key in expected]
    if [key for key, *_ in found] != wanted:
        faults.append(f"checks {[key for key, *_ in found]}, expected {wanted}")
    return faults


GUESSES = """() => {
  const questions = [...document.querySelectorAll(".bk-prediction[data-reveal]")];
  const faults = new Set();
  const look = (what) => {
    for (const one of questions) {
      const said = one.querySelector("[role=status]").textContent.trim();
      if (!one.classList.contains("bk-settled") || said === "") {
        faults.add(`${one.id}: ${what} does nothing`);
      }
    }
    document.querySelector("#bk-forget").click();
  };
  const most = Math.max(...questions.map((one) => one.querySelectorAll("[type=radio]").length), 1);
  for (let k = 0; questions.length > 0 && k < most; k += 1) {
    for (const one of questions) {
      const choices = [...one.querySelectorAll("[type=radio]")];
      if (choices.length > 0) choices[Math.min(k, choices.length - 1)].checked = true;
      const field = one.querySelector("[type=text]");
      if (field) field.value = one.dataset.kind === "shape" ? "1, 2" : "1";
      one.querySelector("[type=submit]").click();
    }
    look(`guess ${k + 1}`);
  }
  for (const one of questions) one.querySelector("[data-show]").click();
  if (questions.length > 0) look("Show me");
  return [...faults];
}"""


def guess_faults(page: Page) -> list[str]:
    """Each prediction answers each choice, a written guess, and who wants to be shown."""
    return page.evaluate(GUESSES)


def focus_faults(page: Page, stops: int) -> list[str]:
    """The first places that the tab key reaches get a ring: an outline, or a circle drawn."""
    faults = []
    for _ in range(stops):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS_STYLE)
        if focus and not (focus["ring"] and focus["shown"]):
            faults.append(f"focus cannot be seen: {focus['name']}")
    return faults


def words_by_sheet(printed: bytes) -> list[set[str]]:
    """The words on each sheet of a PDF."""
    return [set(sheet.extract_text().split()) for sheet in PdfReader(io.BytesIO(printed)).pages]


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
