"""The pages of the book: the one place that knows a chapter's number and its title.

`_toc.yml` lists the pages in order. A page's name is its file's, without the number: the file
`chapters/16_attention.ipynb` is chapter 16 and named `attention`. Everything else calls it by its
name: docstrings ("Chapter: attention#masks"), links, the map of the book, the records of the
benchmarks. So its number stands in the file's name alone, and its title in its first heading.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import yaml
from mdit_py_plugins.anchors.index import slugify

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
NUMBER = re.compile(r"^(\d\d)_")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*\{number\}[^\]]*)\]\((\w+)(?=[#)])")
ROLE = re.compile(r"\{number\}`(\w+)`")


@dataclass(frozen=True)
class Page:
    """A page of the book.

    Attributes:
        docname: What `_toc.yml` and Sphinx call it: its path in the book without the suffix.
        path: Its file.
    """

    docname: str
    path: Path

    @property
    def name(self) -> str:
        """What everything else calls it: its file's name without number and suffix."""
        return NUMBER.sub("", self.path.stem)

    @property
    def number(self) -> int | None:
        """The chapter's number; None for a page that is no chapter."""
        found = NUMBER.match(self.path.stem)
        return int(found[1]) if found else None

    @cached_property
    def title(self) -> str:
        """Its first heading."""
        found = TITLE.search(self.markdown())
        if not found:
            raise ValueError(f"a page must have a heading '# ...'; {self.docname} has none")
        return found[1]

    def headings(self) -> dict[str, str]:
        """Its headings by their anchors, without signs of Markdown: those to which links lead."""
        plain = [re.sub(r"[`*$\\]", "", text) for text in HEADING.findall(self.markdown())]
        return {slugify(text): text for text in plain}

    def markdown(self) -> str:
        """Its text: all of a Markdown file, the text cells of a notebook."""
        text = self.path.read_text(encoding="utf-8")
        if self.path.suffix != ".ipynb":
            return text
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        return "\n\n".join("".join(cell["source"]) for cell in cells)


@cache
def pages(root: Path = ROOT) -> tuple[Page, ...]:
    """All pages, the front page first, in the order of the table of contents.

    Raises:
        ValueError: A page has no file, two have the same name, or the numbers of the chapters are
            not 1, 2, 3 and so on.
    """
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    found = tuple(_page(docname, root) for docname in (toc["root"], *_files(toc)))
    names = [page.name for page in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"each page must have a name of its own; got {', '.join(twice)} twice")
    numbers = [page.number for page in found if page.number is not None]
    if numbers != list(range(1, len(numbers) + 1)):
        raise ValueError(f"the chapters in _toc.yml must be numbered 1, 2, 3, ...; got {numbers}")
    return found


def site_address() -> str:
    """Where the site is published; empty if neither `_config.yml` nor `SITE_URL` says it."""
    told = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return told.get("html", {}).get("baseurl") or os.environ.get("SITE_URL", "")


def chapters(root: Path = ROOT) -> list[Page]:
    """The pages with a number, in order."""
    return [page for page in pages(root) if page.number is not None]


def parts() -> list[tuple[str, list[Page]]]:
    """The parts of the book, each with its pages; before them the front page, without a name."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = {page.docname: page for page in pages()}
    found = [(part["caption"], [files[one] for one in _files(part)]) for part in toc["parts"]]
    return [("", [files[toc["root"]]]), *found]


def built_site() -> Path:
    """The folder of the built site; where it is not built, the program ends and says so."""
    if not (SITE / "intro.html").exists():
        sys.exit("The site is not built; run `make book` first.")
    return SITE


def notebooks() -> list[Page]:
    """The pages that run code."""
    return [page for page in pages() if page.path.suffix == ".ipynb"]


def by_name() -> dict[str, Page]:
    """All pages, by their names."""
    return {page.name: page for page in pages()}


def numbered(markdown: str) -> str:
    """A text with the numbers of the chapters that it names, as the site shows it.

    It names them in links, `[chapter {number}](limits)`, or plainly, ``chapter {number}`limits` ``.
    """

    def fill(link: re.Match) -> str:
        return link[0].replace("{number}", str(by_name()[link[2]].number))

    return ROLE.sub(lambda role: str(by_name()[role[1]].number), LINK.sub(fill, markdown))


def _files(entry: object) -> Iterator[str]:
    if isinstance(entry, dict):
        if "file" in entry:
            yield entry["file"]
        for value in entry.values():
            yield from _files(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from _files(value)


def _page(docname: str, root: Path) -> Page:
    for suffix in (".ipynb", ".md"):
        if (root / f"{docname}{suffix}").is_file():
            return Page(docname, root / f"{docname}{suffix}")
    raise ValueError(f"_toc.yml names {docname}, but there is no {docname}.ipynb or {docname}.md")
