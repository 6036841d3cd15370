"""`make pdf`: the book, and each chapter, printed by Chromium from the built site.

Each part of a document is first printed alone: that says on which page each place stands. Then the
whole is printed, in which the contents and the exercises name those pages.
"""

import argparse
import io
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml
from playwright.sync_api import Browser
from pypdf import PdfReader

import registry
from paper.document import NAMING, book, chapter, document, linked, numbered, plain, with_places
from paper.snapshot import Still, chromium, take
from screen import Screen, duration

SITE = registry.ROOT / "_build" / "html"
TARGET = registry.ROOT / "_build" / "pdf"
WHOLE = "soft-lookup"
LONGEST = 900_000  # milliseconds; a whole book takes a while
OFFER = (
    '<p class="bk-paper">On paper: <a href="pdf/{whole}.pdf">the whole book</a>, or a chapter:\n'
    "{chapters}.</p>"
)


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
    tab = browser.new_page(color_scheme="light")
    source = folder / "print.html"
    try:
        source.write_text(html, encoding="utf-8")
        tab.set_default_timeout(LONGEST)
        tab.goto(source.as_uri(), timeout=LONGEST)
        tab.emulate_media(media="print")
        tab.evaluate("() => document.fonts.ready")
        return tab.pdf(prefer_css_page_size=True, print_background=True, **options)
    finally:
        source.unlink(missing_ok=True)
        tab.close()


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
        html = linked(html, registry.by_name(), config()["html"]["baseurl"])
        pdf = printed(browser, html, folder, tagged=True, outline=True)
        found = pages_of(PdfReader(io.BytesIO(pdf)))
        wrong = [place for place in places if found[place] != numbers[place]]
        if not wrong:
            break
        numbers = found
    else:
        raise RuntimeError(f"{name}: the pages of {', '.join(sorted(wrong))} do not stay the same")
    path = folder / f"{name}.pdf"
    path.write_bytes(pdf)
    return path


def config() -> dict:
    """What `_config.yml` says."""
    return yaml.safe_load((registry.ROOT / "_config.yml").read_text(encoding="utf-8"))


def edition() -> str:
    """Whose book it is, which version, and what one may do with it."""
    cited = yaml.safe_load((registry.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    year = config()["copyright"]
    return f"{config()['author']}. Version {cited['version']}, {year}. Text and figures: CC BY 4.0."


def front() -> str:
    """The title page."""
    cited = yaml.safe_load((registry.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    title, _, rest = cited["title"].partition(": ")
    picture = (registry.ROOT / "_static" / "soft-lookup.svg").as_uri()
    left_out = (
        "This is the site of the book, printed: figures that move there stand still here, covers "
        "are lifted, code that only draws is left out, and the solutions stand at the end."
    )
    return (
        f'<section class="pp-title-page"><p class="pp-title">{title}</p>'
        f'<p class="pp-subtitle">{rest[0].upper()}{rest[1:]}</p><img src="{picture}" alt="">'
        f'<p class="pp-small">{edition()}<br>{left_out}</p></section>'
    )


def about() -> str:
    """What stands under the title of a chapter that is printed alone."""
    return f"From <em>{config()['title']}</em>. {edition()}"


def offer(site: Path = SITE, pdfs: Path = TARGET) -> None:
    """Put the PDFs that are there onto the built site, with a line on its front page.

    A build of the site knows nothing of them: so no link is dead where nobody printed.

    Raises:
        FileNotFoundError: The whole book is not printed.
    """
    if not (pdfs / f"{WHOLE}.pdf").exists():
        raise FileNotFoundError("no PDF to offer; run `make pdf` first")
    (site / "pdf").mkdir(exist_ok=True)
    chapters = [page for page in registry.chapters() if (pdfs / f"{page.name}.pdf").exists()]
    for name in (WHOLE, *(page.name for page in chapters)):
        shutil.copy(pdfs / f"{name}.pdf", site / "pdf")
    links = ", ".join(f'<a href="pdf/{page.name}.pdf">{page.number}</a>' for page in chapters)
    line = OFFER.format(whole=WHOLE, chapters=links)
    path = site / "intro.html"
    html = re.sub(r'<p class="bk-paper">.*?</p>', "", path.read_text("utf-8"), flags=re.DOTALL)
    start = html.index("</dl>", html.index('<section id="three-ways-to-read">')) + len("</dl>")
    path.write_text(html[:start] + line + html[start:], encoding="utf-8")


def main() -> None:
    """Print what is asked for: the chapters named, or all of them and the whole book."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="pages, by name; left out: all, and the book")
    parser.add_argument("--offer", action="store_true", help="put the PDFs onto the built site")
    asked = parser.parse_args()
    if asked.offer:
        return offer()
    if not (SITE / "intro.html").exists():
        sys.exit("The site is not built; run `make book` first.")
    screen, start = Screen(), time.monotonic()
    pages = [registry.by_name()[name] for name in asked.names] or list(registry.pages())
    alone = pages if asked.names else registry.chapters()
    with chromium() as browser:
        stills = {}
        for page in pages:
            screen.draw(f"Opening {page.name}")
            stills[page] = take(browser, SITE, page)
        for page in alone:
            screen.draw(f"Printing {page.name}")
            parts = chapter(stills[page], about())
            write(browser, page.name, parts, [stills[page]], TARGET)
        if not asked.names:
            screen.draw("Printing the whole book")
            every = list(stills.values())
            write(browser, WHOLE, book(every, front()), every, TARGET)
    screen.draw("")
    screen.say(f"Printed into {TARGET} in {duration(time.monotonic() - start)}.")


if __name__ == "__main__":
    main()
