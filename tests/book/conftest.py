"""The built site and the browser that looks at it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from firefox import Firefox
from firefox import program as firefox_program
from playwright.sync_api import Browser, Locator, Page, sync_playwright
from site_checks import watched

from softlookup import show
from softlookup.show.bundle import bundled
from softlookup.show.engine import engine_source

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("SOFTLOOKUP_SITE", ROOT / "_build" / "html"))
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
]


def absent(reason: str) -> None:
    """Skip with the reason; fail where continuous integration says that all must be there."""
    if os.environ.get("SOFTLOOKUP_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


def site_pages() -> list[str]:
    """The pages of the built site, as paths below it."""
    pages = sorted(SITE.rglob("*.html")) if SITE.is_dir() else []
    return [page.relative_to(SITE).as_posix() for page in pages if "_static" not in page.parts]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `page_name` once for each page but the entrance, a mere redirect,
    and one that calls JavaScript once in each of the module's `BROWSERS`.
    """
    in_both = getattr(metafunc.module, "BROWSERS", None)
    if in_both and "functions_of" in metafunc.fixturenames:
        marks = {"firefox": pytest.mark.firefox}
        kinds = [pytest.param(kind, marks=marks.get(kind, ())) for kind in in_both]
        metafunc.parametrize("functions_of", kinds, indirect=True, scope="module")
    if "page_name" in metafunc.fixturenames:
        pages = [page for page in site_pages() if page != "index.html"]
        metafunc.parametrize("page_name", pages or ["(no page: the site is not built)"])


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    if not (SITE / "index.html").exists():
        absent("the site is not built; run `make book` first")
    return SITE


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    program = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if program is None:
        absent("no Chromium; on Debian and Ubuntu: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def firefox() -> Iterator[Firefox]:
    """One Firefox for all tests that also run there."""
    program = firefox_program()
    if program is None:
        pytest.skip("no Firefox; on Debian: apt-get install firefox-esr")
    found = Firefox(program)
    yield found
    found.close()


@pytest.fixture(scope="module")
def functions_of(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Callable]]:
    """Calls what some files of `softlookup.show` export, in a browser, as `maths`.

    Chromium is the browser, unless a test is marked to run in Firefox, too.
    """
    pages = []

    def load(*scripts: str) -> Callable:
        codes = ", ".join(bundled(Path(show.__file__).parent / script) for script in scripts)
        maths = f"Object.assign({{}}, {codes})"
        if getattr(request, "param", "chromium") == "firefox":
            page, place = request.getfixturevalue("firefox"), f"maths{len(pages)}"
        else:
            page, place = request.getfixturevalue("browser").new_page(), "maths"
        pages.append(page)
        page.evaluate(f"() => {{ window.{place} = {maths}; }}")
        head = "" if place == "maths" else f"const maths = globalThis.{place};"
        return lambda code, data=None: page.evaluate(f"(data) => {{ {head} {code} }}", data)

    yield load
    for page in pages:
        if not isinstance(page, Firefox):
            page.close()


@pytest.fixture(scope="module")
def worker(functions_of: Callable) -> Callable:
    """Runs JavaScript with a worker; at the end the worker is closed."""
    call = functions_of("engine/worker.js")
    head = "const engine = maths.startWorker(data.source); const {ask} = engine;"
    body = "try {{ {} }} finally {{ engine.close(); }}"

    def run(code: str, **data: object) -> object:
        code = f"return (async () => {{ {head} {body.format(code)} }})();"
        return call(code, {**data, "source": engine_source()})

    return run


FIGURE_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Figure</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>
<body><main><h1>Figure</h1>{figures}</main></body></html>"""
LIGHT = "body { background: #fdfcf9; color: #1d1c1a; }"
DARK = """:root { color-scheme: dark; --sl-ink: #e7e4dd; --sl-paper: #15171a; --sl-line: #6f747b;
  --sl-accent: #7dbfec; --sl-blue: #5fb0e6; --sl-orange: #f0b23e; --sl-green: #45c79d;
  --sl-red: #f58b55; --sl-purple: #e0a0c5; --sl-edge: #6f747b; --sl-on-accent: #15171a; }
  body { background: #15171a; color: #e7e4dd; }"""
in_each_look = pytest.mark.parametrize(
    ("width", "style"),
    [(390, LIGHT), (390, DARK), (1280, LIGHT), (1280, DARK)],
    ids=["narrow, light", "narrow, dark", "wide, light", "wide, dark"],
)
"""On a phone and on a screen, by day and by night."""


@pytest.fixture
def open_figures(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens interactive figures in a page of their own, with nothing but their own HTML.

    At the end, no request may have been made and no script error have occurred.
    """
    opened = []

    def open_page(*figures, ready: str, style: str = LIGHT, width: int = 1280, **options) -> Page:
        path = tmp_path / f"page{len(opened)}.html"
        bodies = "\n".join(figure.html() for figure in figures)
        path.write_text(FIGURE_PAGE.format(style=style, figures=bodies), encoding="utf-8")
        context = watched(browser, viewport={"width": width, "height": 900}, **options)
        page, faults, loaded = context.__enter__()
        page.set_default_timeout(20_000)
        opened.append((context, faults, loaded))
        page.goto(path.as_uri())
        page.wait_for_selector(ready)
        return page

    yield open_page
    for context, faults, loaded in opened:
        context.__exit__(None, None, None)
        assert faults == []
        assert len(set(loaded)) <= 1  # the page itself, which a test may load anew


POOR_TARGETS = """(selector) => {
    const targets = [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
    const poor = targets.filter((one) => {
        const {left, right, width, height} = one.getBoundingClientRect();
        return width < 24 || height < 24 || left < 0 || right > innerWidth;
    });
    return targets.length ? poor.map((one) => one.outerHTML.slice(0, 100)) : ["no such target"];
}"""


def target_faults(page: Page, selector: str) -> list[str]:
    """What a finger is to hit has at least 24 by 24 pixels, and none beyond the page's edge."""
    return page.evaluate(POOR_TARGETS, selector)


TOUCH_ACTIONS = """(dot) => [...dot.closest(".sl-handle").querySelectorAll("*")]
    .map((part) => getComputedStyle(part).touchAction)"""


def drag_by_finger(page: Page, dot: Locator, dx: float, dy: float) -> None:
    """A finger drags what is drawn, in two moves: after the first, a browser may begin to scroll.

    The page must come from a phone: `has_touch` and `is_mobile`.
    """
    assert set(dot.evaluate(TOUCH_ACTIONS)) == {"none"}  # so no pen scrolls either
    before = page.evaluate("scrollY")
    box = dot.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = page.context.new_cdp_session(page)
    for kind, share in (
        ("touchStart", 0),
        ("touchMove", 0.5),
        ("touchMove", 1),
        ("touchEnd", None),
    ):
        points = [] if share is None else [{"x": x + share * dx, "y": y + share * dy}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.evaluate("() => new Promise((seen) => requestAnimationFrame(seen))")
    assert page.evaluate("scrollY") == before
