"""`make epub`: the book as an e-book, from the stills of the built site that paper is made of.

It holds a photograph of each figure that moves. They are kept for the site: see `book_site/stills`.
"""

import argparse
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from html import unescape
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from playwright.sync_api import Browser

import registry
from book_site import stills
from paper.document import document, opened, plain
from paper.ebook import COVER, SHARP, WIDTH, Edition, File, ebook, files_of
from paper.edition import LICENCE, WHOLE, about, cited, config, front
from paper.snapshot import Still, chromium, take_all
from screen import Screen, duration

TARGET = registry.ROOT / "_build" / "epub"
FORMULAS = {"mathml": "", "pictures": "-pictures"}
"""How formulas may stand in it, and what is added to the file's name."""

PHOTOGRAPH = re.compile(
    r'<figure[^>]*\bsl-interactive\b[^>]*\bid="([^"]+)"(?:(?!</figure>).)*?'
    r'<img src="(pictures/[^"]+)" alt="([^"]*)" style="(width: [^"]*)"',
    re.DOTALL,
)


def edition(title: str) -> Edition:
    """What the package says of the book, or of a chapter of it.

    Args:
        title: Its title.
    """
    found = cited()
    own = "" if title == config()["title"] else f"/{title}"
    return Edition(
        title=title,
        author=config()["author"],
        rights=f"{LICENCE}. Code: MIT.",
        about=found["title"],
        day=date.fromisoformat(found["date-released"]),
        source=f"{found['repository-code']}/{found['version']}{own}",
    )


def cover(browser: Browser, still: Still, folder: Path) -> bytes:
    """The cover, a picture of the title page.

    Args:
        browser: Chromium.
        still: A page, for the styles.
        folder: Where the document lies for as long as it is open.
    """
    page = f'<div class="pp-cover">{front("as an e-book")}</div>'
    html = document("Cover", page, [still])
    with opened(browser, html, folder, viewport=COVER, device_scale_factor=SHARP) as tab:
        return tab.screenshot()


def in_parts(files: list[File]) -> list[File]:
    """The files of the whole book, with their parts, and the solutions gathered at the end."""
    names = {page.name: caption for caption, pages in registry.parts() for page in pages}
    texts = [replace(file, part=names[file.name]) for file in files if file.name in names]
    solutions = [replace(file, part="Solutions") for file in files if file.name not in names]
    return [*texts, *solutions]


def write(browser: Browser, name: str, stills: list[Still], folder: Path, formulas: str) -> Path:
    """Write an e-book of these pages.

    Args:
        browser: Chromium.
        name: The file's name.
        stills: The pages; one alone is a chapter with its solutions behind it.
        folder: Where the file is to lie.
        formulas: How they stand in it, a key of `FORMULAS`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    alone, mathml = len(stills) == 1, formulas == "mathml"
    files, pictures = [], {}
    with TemporaryDirectory() as place:
        for still in stills:
            texts, found = files_of(browser, still, Path(place), as_pictures=not mathml)
            files += texts
            pictures |= found
        pictures["cover.png"] = cover(browser, stills[0], Path(place))
    if alone:
        first, *rest = files
        text = first.html.replace("</h1>", f'</h1><p class="pp-about">{about()}</p>', 1)
        files = [replace(first, html=text), *(replace(one, title="Solutions") for one in rest)]
    else:
        files = in_parts(files)
    book = ebook(
        edition(plain(stills[0].title) if alone else config()["title"]),
        files,
        pictures,
        pages=registry.by_name(),
        site=registry.site_address(),
        mathml=mathml,
    )
    path = folder / f"{name}{FORMULAS[formulas]}.epub"
    path.write_bytes(book)
    return path


def photographs(ebook: Path) -> Iterator[tuple[str, str, str, str, bytes]]:
    """The photographs of an e-book: page, figure, words as HTML has them, width, picture."""
    with ZipFile(ebook) as book:
        for name in filter(re.compile(r"EPUB/[^/]+\.xhtml").fullmatch, book.namelist()):
            for place, path, words, width in PHOTOGRAPH.findall(book.read(name).decode()):
                page, _, figure = unescape(place).partition("--")
                yield page, figure, words, width, book.read(f"EPUB/{path}")


def keep_photographs(ebook: Path, site: Path, kept: Path = stills.KEPT) -> None:
    """Keep the photographs of an e-book for the site, from which it was just made."""
    docnames = {page.name: page.docname for page in registry.pages()}
    for page, shots in groupby(photographs(ebook), key=itemgetter(0)):
        html = (site / f"{docnames[page]}.html").read_text(encoding="utf-8")
        figures = {figure[1]: figure for figure in stills.FIGURE.finditer(html)}
        for _, name, words, width, picture in shots:
            stills.keep(figures[name], words, width, picture, kept)


def main() -> None:
    """Make what is asked for: an e-book of each page named, or the whole book."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="pages, by name; left out: the whole book")
    parser.add_argument("--formulas", choices=[*FORMULAS, "both"], default="mathml")
    asked = parser.parse_args()
    screen, start = Screen(), time.monotonic()
    kinds = list(FORMULAS) if asked.formulas == "both" else [asked.formulas]
    with chromium() as browser:
        stills = take_all(browser, asked.names, screen, WIDTH)
        books = [(one.page.name, [one]) for one in stills] if asked.names else [(WHOLE, stills)]
        for name, pages in books:
            for kind in kinds:
                screen.draw(f"Writing {name}, formulas as {kind}")
                keep_photographs(write(browser, name, pages, TARGET, kind), registry.SITE)
    screen.draw("")
    screen.say(f"Written into {TARGET} in {duration(time.monotonic() - start)}.")


if __name__ == "__main__":
    main()
