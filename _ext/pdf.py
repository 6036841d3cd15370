"""`make pdf`: the book, and each chapter, printed by Chromium from the built site.

Each document is printed twice: the first print says on which sheet a place is, and what speaks of
it, the contents and the exercises, has that number in the second.
"""

import argparse
import io
import sys
import time
from pathlib import Path

import registry
import yaml
from paper.document import book, chapter, linked
from paper.snapshot import Still, chromium, take
from playwright.sync_api import Browser
from pypdf import PdfReader
from screen import Screen, duration

SITE = registry.ROOT / "_build" / "html"
TARGET = registry.ROOT / "_build" / "pdf"
WAIT = 600_000
FILL = """(pages) => document.querySelectorAll("a.pp-page").forEach((link) => {
  link.dataset.page = pages[decodeURIComponent(link.hash.slice(1))] ?? "";
})"""
RESERVE = """() => document.querySelectorAll("a.pp-page").forEach((link) => {
  link.dataset.page = "000";
})"""


def pages_of(pdf: bytes) -> dict[str, int]:
    """On which page, counted from 1, each place stands that the document links to."""
    reader = PdfReader(io.BytesIO(pdf))
    numbers = {page.indirect_reference.idnum: k for k, page in enumerate(reader.pages, 1)}
    places = reader.named_destinations.items()
    return {name.lstrip("/"): numbers[place.page.idnum] for name, place in places}


def printed(browser: Browser, html: Path) -> bytes:
    """A document as a tagged PDF with an outline, and page numbers where it speaks of pages."""
    tab = browser.new_page(color_scheme="light")
    try:
        tab.set_default_timeout(WAIT)
        tab.goto(html.as_uri(), timeout=WAIT)
        tab.emulate_media(media="print")
        tab.evaluate("() => document.fonts.ready")
        options = {"prefer_css_page_size": True, "tagged": True, "outline": True}
        options["print_background"] = True
        tab.evaluate(RESERVE)
        tab.evaluate(FILL, pages_of(tab.pdf(**options)))
        return tab.pdf(**options)
    finally:
        tab.close()


def write(browser: Browser, name: str, html: str, site: str = "") -> Path:
    """Print a document as `name.pdf`."""
    TARGET.mkdir(parents=True, exist_ok=True)
    source = TARGET / f"{name}.html"
    source.write_text(linked(html, registry.by_name(), site), encoding="utf-8")
    target = TARGET / f"{name}.pdf"
    target.write_bytes(printed(browser, source))
    return target
