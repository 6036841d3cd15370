"""Put the PDFs and e-books that were made onto the built site, with lines on its front page.

A build of the site knows nothing of them: so no link is dead where nobody made them. The e-book
also holds a photograph of each figure that moves: a reader without JavaScript gets it in the
figure's place, where else stand words alone.
"""

import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from zipfile import ZipFile

import epub
import pdf
import registry
from paper.edition import WHOLE

PAPER = 'On paper: <a href="pdf/{whole}.pdf">the whole book</a>, or a chapter:\n{chapters}.'
EBOOK = 'As an e-book: <a href="epub/{whole}.epub">EPUB</a>'
PHOTOGRAPH = re.compile(
    r'<figure[^>]*\bsl-interactive\b[^>]*\bid="([^"]+)"(?:(?!</figure>).)*?'
    r'<img src="(pictures/[^"]+)" alt="([^"]*)"',
    re.DOTALL,
)
SILENT = r'<figure[^>]*\bid="{place}"(?:(?!</figure>).)*?<noscript>((?:(?!</noscript>).)*)'
"""What a figure says without JavaScript."""
PICTURES = (
    '; for a reader that shows no formulas,\n<a href="epub/{whole}.epub">with pictures of them</a>'
)


def laid(files: list[Path], folder: Path) -> list[str]:
    """Copy those of these files that are there; their names without suffix."""
    found = [path for path in files if path.exists()]
    if found:
        folder.mkdir(exist_ok=True)
    return [Path(shutil.copy(path, folder)).stem for path in found]


def photographs(ebook: Path) -> Iterator[tuple[str, str, str, bytes]]:
    """The photographs of an e-book: page, figure, words as HTML has them, picture."""
    with ZipFile(ebook) as book:
        for name in filter(re.compile(r"EPUB/[^/]+\.xhtml").fullmatch, book.namelist()):
            for place, path, words in PHOTOGRAPH.findall(book.read(name).decode()):
                page, _, figure = unescape(place).partition("--")
                yield page, figure, words, book.read(f"EPUB/{path}")


def show_photographs(site: Path, ebook: Path) -> None:
    """Lay each photograph of an e-book into its figure, for readers without JavaScript."""
    folder = site / "_static" / "stills"
    folder.mkdir(parents=True, exist_ok=True)
    docnames = {page.name: page.docname for page in registry.pages()}
    for page, figure, words, picture in photographs(ebook):
        path = site / f"{docnames[page]}.html"
        (folder / f"{figure}.png").write_bytes(picture)
        up = "../" * docnames[page].count("/")
        still = f'<img class="sl-still" src="{up}_static/stills/{figure}.png" alt="{words}"/>'
        html, place = path.read_text("utf-8"), re.escape(figure)
        silent = re.search(SILENT.format(place=place), html, re.DOTALL)
        path.write_text(html[: silent.start(1)] + still + html[silent.end(1) :], "utf-8")


def offer(site: Path = registry.SITE, pdfs: Path = pdf.TARGET, ebooks: Path = epub.TARGET) -> None:
    """Offer what is there on the site.

    Raises:
        FileNotFoundError: The whole book is there in neither form.
    """
    chapters = {page.name: page.number for page in registry.chapters()}
    printed = laid([pdfs / f"{name}.pdf" for name in (WHOLE, *chapters)], site / "pdf")
    plain, pictures = (f"{WHOLE}{ending}" for ending in epub.FORMULAS.values())
    made = laid([ebooks / f"{name}.epub" for name in (plain, pictures)], site / "epub")
    lines = []
    if WHOLE in printed:
        links = [f'<a href="pdf/{name}.pdf">{chapters[name]}</a>' for name in printed[1:]]
        lines.append(PAPER.format(whole=WHOLE, chapters=", ".join(links)))
    if plain in made:
        more = PICTURES.format(whole=pictures) if pictures in made else ""
        lines.append(f"{EBOOK.format(whole=plain)}{more}.")
        show_photographs(site, ebooks / f"{plain}.epub")
    if not lines:
        raise FileNotFoundError("nothing to offer; run `make pdf` or `make epub` first")
    path = site / "intro.html"
    html = re.sub(r'<p class="bk-paper">.*?</p>', "", path.read_text("utf-8"), flags=re.DOTALL)
    start = html.index("</dl>", html.index('<section id="three-ways-to-read">')) + len("</dl>")
    told = "".join(f'<p class="bk-paper">{line}</p>' for line in lines)
    path.write_text(html[:start] + told + html[start:], encoding="utf-8")


if __name__ == "__main__":
    offer()
