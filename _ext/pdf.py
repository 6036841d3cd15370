"""`make pdf`: the book, and each chapter, printed by Chromium from the built site.

Each part of a document is first printed alone: that says on which page each place stands. Then the
whole is printed, in which the contents and the exercises name those pages.
"""

import argparse
import io
import re
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject, TextStringObject

import registry
from paper.document import (
    NAMING,
    book,
    chapter,
    document,
    linked,
    numbered,
    opened,
    plain,
    with_places,
)
from paper.edition import WHOLE, about, config, front
from paper.snapshot import Still, chromium, take_all
from screen import Screen, duration

TARGET = registry.ROOT / "_build" / "pdf"
VERSION = "%PDF-1.7"
"""The first line of a PDF with tags and an outline in Unicode; Chromium says 1.4."""
HEADING = re.compile(r"<h[1-6][^>]*>(.*?)</h[1-6]>", re.DOTALL)


def pages_of(pdf: PdfReader) -> dict[str, int]:
    """On which page, counted from 1, each place stands that the document links to."""
    numbers = {page.indirect_reference.idnum: k for k, page in enumerate(pdf.pages, 1)}
    places = pdf.named_destinations.items()
    return {name.lstrip("/"): numbers[place.page.idnum] for name, place in places}


def printed(browser: Browser, html: str, folder: Path, **options) -> bytes:
    """A document as PDF.

    Args:
        browser: Chromium.
        html: The document.
        folder: Where it lies for as long as it is printed.
        options: More for `Page.pdf`.
    """
    with opened(browser, html, folder) as tab:
        tab.emulate_media(media="print")
        tab.evaluate("() => document.fonts.ready")
        return tab.pdf(prefer_css_page_size=True, print_background=True, **options)


def measured(
    parts: list[str], places: set[str], printing: Callable[[str], bytes]
) -> dict[str, int]:
    """On which page of a document each of these places stands, from a print of each part alone."""
    numbers, before = {}, 0
    for part in parts:
        pdf = PdfReader(io.BytesIO(printing(with_places(part, places))))
        numbers |= {place: before + page for place, page in pages_of(pdf).items()}
        before += len(pdf.pages)
    return {place: numbers[place] for place in places}


def titled(pdf: bytes, html: str) -> bytes:
    """A PDF whose outline has the spaces of the headings: Chromium loses those at a line's end.

    Its objects keep their numbers (`full`): otherwise pypdf copies the colour profile of each
    picture twice, and complains of what it did.
    """
    headings = map(plain, HEADING.findall(html))
    spaced = {"".join(title.split()): title for title in headings}
    writer = PdfWriter(io.BytesIO(pdf), full=True)
    writer.pdf_header = VERSION
    item = writer.root_object.get("/Outlines", {}).get("/First")
    waiting = [item] if item is not None else []
    while waiting:
        entry = waiting.pop().get_object()
        found = spaced.get("".join(entry["/Title"].split()), entry["/Title"])
        entry[NameObject("/Title")] = TextStringObject(found)
        waiting += [entry[key] for key in ("/First", "/Next") if key in entry]
    writer.add_metadata({"/Author": config()["author"]})
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def write(browser: Browser, name: str, parts: list[str], stills: list[Still], folder: Path) -> Path:
    """Print a document as `name.pdf`, a tagged PDF with an outline.

    Args:
        browser: Chromium.
        name: The file's name.
        parts: What stands in it; each begins on a new sheet.
        stills: The pages of the book in it.
        folder: Where the file is to lie.

    Raises:
        RuntimeError: What it says of its pages does not hold, nor when it is printed again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    title = plain(stills[0].title) if len(stills) == 1 else config()["title"]

    def measure(part: str) -> bytes:
        return printed(browser, document(title, numbered(part, {}), stills), folder)

    places = set(NAMING.findall("".join(parts)))
    numbers = measured(parts, places, measure)
    for _ in range(2):  # once, where each part takes as many sheets in the whole as alone
        html = document(title, numbered("\n".join(parts), numbers), stills)
        html = linked(html, registry.by_name(), registry.site_address())
        pdf = printed(browser, html, folder, tagged=True, outline=True)
        found = pages_of(PdfReader(io.BytesIO(pdf)))
        wrong = [place for place in places if found[place] != numbers[place]]
        if not wrong:
            break
        numbers = found
    else:
        raise RuntimeError(f"{name}: the pages of {', '.join(sorted(wrong))} do not stay the same")
    path = folder / f"{name}.pdf"
    path.write_bytes(titled(pdf, html))
    return path


def main() -> None:
    """Print what is asked for: the chapters named, or all of them and the whole book."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="pages, by name; left out: all, and the book")
    asked = parser.parse_args()
    screen, start = Screen(), time.monotonic()
    with chromium() as browser:
        stills = take_all(browser, asked.names, screen)
        for still in stills:
            if asked.names or still.page.number is not None:
                screen.draw(f"Printing {still.page.name}")
                write(browser, still.page.name, chapter(still, about()), [still], TARGET)
        if not asked.names:
            screen.draw("Printing the whole book")
            write(browser, WHOLE, book(stills, front("printed")), stills, TARGET)
    screen.draw("")
    screen.say(f"Printed into {TARGET} in {duration(time.monotonic() - start)}.")


if __name__ == "__main__":
    main()
