"""Put the PDFs and e-books that were made onto the built site, with lines on its front page.

A build of the site knows nothing of them: so no link is dead where nobody made them. With an e-book
photographs were taken of the figures that move: a reader without JavaScript gets them.
"""

import re
import shutil
from pathlib import Path

import epub
import pdf
import registry
from book_site import stills
from paper.edition import WHOLE

PAPER = 'On paper: <a href="pdf/{whole}.pdf">the whole book</a>, or a chapter:\n{chapters}.'
EBOOK = 'As an e-book: <a href="epub/{whole}.epub">EPUB</a>'
PICTURES = (
    '; for a reader that shows no formulas,\n<a href="epub/{whole}.epub">with pictures of them</a>'
)


def laid(files: list[Path], folder: Path) -> list[str]:
    """Copy those of these files that are there; their names without suffix."""
    found = [path for path in files if path.exists()]
    if found:
        folder.mkdir(exist_ok=True)
    return [Path(shutil.copy(path, folder)).stem for path in found]


def show_photographs(site: Path, kept: Path) -> None:
    """Lay each photograph that is kept into its figure, where no script runs."""
    for page in registry.pages():
        path = site / f"{page.docname}.html"
        if path.exists():
            html = path.read_text("utf-8")
            path.write_text(stills.shown(html, page.docname, site, kept), "utf-8")


def offer(
    site: Path = registry.SITE,
    pdfs: Path = pdf.TARGET,
    ebooks: Path = epub.TARGET,
    kept: Path = stills.KEPT,
) -> None:
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
        show_photographs(site, kept)
    if not lines:
        raise FileNotFoundError("nothing to offer; run `make pdf` or `make epub` first")
    path = site / "intro.html"
    html = re.sub(r'<p class="bk-paper">.*?</p>', "", path.read_text("utf-8"), flags=re.DOTALL)
    start = html.index("</dl>", html.index('<section id="three-ways-to-read">')) + len("</dl>")
    told = "".join(f'<p class="bk-paper">{line}</p>' for line in lines)
    path.write_text(html[:start] + told + html[start:], encoding="utf-8")


if __name__ == "__main__":
    offer()
