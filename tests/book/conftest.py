"""The built site and the browser that looks at it."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, Locator, Page, Playwright, sync_playwright
from site_checks import watched

from softlookup import show
from softlookup.show.bundle import bundled
from softlookup.show.engine import engine_source

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("SOFTLOOKUP_SITE", ROOT / "_build" / "html"))
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
FIREFOXES = ("firefox-esr", "firefox")
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


NOT_IN_FIREFOX = {
    "test_on_paper_a_ground_that_nobody_has_used_shows_the_recorded_training": (
        "Playwright cannot have it show a page as it is printed"
    ),
    "test_a_tab_that_slept_goes_on_where_it_was": "only Chromium's own protocol freezes a tab",
}
"""The tests of modules with `BROWSERS` that run in Chromium alone, and why."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `page_name` once for each page but the entrance, a mere redirect,
    and one that asks for a browser once in each of the module's `BROWSERS`.
    """
    in_both = getattr(metafunc.module, "BROWSERS", None)
    if in_both and "browser" in metafunc.fixturenames:
        alone = metafunc.function.__name__ in NOT_IN_FIREFOX
        marks = {"firefox": pytest.mark.firefox}
        kinds = [
            pytest.param(kind, marks=marks.get(kind, ()))
            for kind in (["chromium"] if alone else in_both)
        ]
        metafunc.parametrize("browser", kinds, indirect=True, scope="module")
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
def playwright() -> Iterator[Playwright]:
    """What drives the browsers."""
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """One Chromium for all tests."""
    program = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if program is None:
        absent("no Chromium; on Debian and Ubuntu: apt-get install chromium")
    found = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
    yield found
    found.close()


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Firefox lays the files that it saves."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def firefox(playwright: Playwright, downloads: Path) -> Iterator[Browser]:
    """One Firefox for all tests that also run there: the one that distributions package.

    Playwright cannot ask it for less motion page by page, so that all its pages have less. Its
    panel of downloads would open when a page saves a file, and keep the window's focus for good:
    Playwright's keys reach the page alone, which cannot close it.
    """
    program = next(filter(None, map(shutil.which, FIREFOXES)), None)
    if program is None:
        pytest.skip("no Firefox; on Debian: apt-get install firefox-esr")
    found = playwright.firefox.launch(
        channel="moz-firefox",
        executable_path=program,
        downloads_path=downloads,
        firefox_user_prefs={
            "ui.prefersReducedMotion": 1,
            "browser.download.alwaysOpenPanel": False,
        },
    )
    yield found
    found.close()


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Browser:
    """Chromium, or the browser that is the test's turn in a module with `BROWSERS`."""
    return request.getfixturevalue(getattr(request, "param", "chromium"))


@pytest.fixture(scope="module")
def functions_of(browser: Browser) -> Iterator[Callable[[str], Callable]]:
    """Calls what some files of `softlookup.show` export, in a browser, as `maths`."""
    pages = []

    def load(*scripts: str) -> Callable:
        codes = ", ".join(bundled(Path(show.__file__).parent / script) for script in scripts)
        page = browser.new_page()
        pages.append(page)
        page.evaluate(f"() => {{ window.maths = Object.assign({{}}, {codes}); }}")
        return lambda code, data=None: page.evaluate(f"(data) => {{ {code} }}", data)

    yield load
    for page in pages:
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

    At the end, no request may have been made and no script error have occurred. Firefox does not
    tell of files that a page reads, only of other hosts that it asks.
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


@contextmanager
def without_scripts(browser: Browser, path: Path) -> Iterator[Frame]:
    """A page in a frame that may run no script: both browsers can do that."""
    around = path.with_name("around.html")
    around.write_text(f"<iframe sandbox src={path.name} width=1280 height=900></iframe>")
    with browser.new_page() as page:
        page.goto(around.as_uri())
        yield page.frames[1]


@pytest.fixture
def saved(browser: Browser, downloads: Path) -> Callable[..., tuple[str, bytes]]:
    """Does what saves a file; its name and what is in it."""

    def in_chromium(page: Page, press: Callable) -> tuple[str, bytes]:
        with page.expect_download() as download:
            press()
        return download.value.suggested_filename, download.value.path().read_bytes()

    def in_firefox(page: Page, press: Callable) -> tuple[str, bytes]:
        """Playwright does not hear of it. Until all is there, the file has no byte."""
        press()
        for _ in range(400):
            page.wait_for_timeout(50)
            whole = [one for one in downloads.iterdir() if one.suffix != ".part"]
            if whole and whole[0].stat().st_size > 0:
                break
        (file,) = whole
        content = file.read_bytes()
        file.unlink()
        return file.name, content

    return in_firefox if browser.browser_type.name == "firefox" else in_chromium


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
