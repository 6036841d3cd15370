"""The built site and the browser that looks at it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("SOFTLOOKUP_SITE", ROOT / "_build" / "html"))
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
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
    """Run a test that asks for `page_name` once for each page but the entrance, a mere redirect."""
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
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        absent("no Chromium; on Debian and Ubuntu: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield chromium
        chromium.close()
