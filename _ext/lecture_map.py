"""The lecture map: from every slide to the section, the code and the test that settle it.

`chapters/concepts.yml` names the concepts, `chapters/slides.yml` the slides in their order, and the
chapters' cells carry in their metadata the ids that they settle: a concept belongs to the chapter
whose cell carries it. Here are these data and the page's sections; `book_site/map_page.py` fills
them when all pages have been read. tests/book/test_map.py keeps the data true.
"""

import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import yaml
from docutils import nodes
from docutils.parsers.rst import Directive
from markdown_it import MarkdownIt
from mdit_py_plugins.anchors.index import slugify

from registry import Page, chapters

ROOT = Path(__file__).resolve().parent.parent
LECTURES = {
    "000": "Toronto: Embeddings, attention, Transformers",
    "001": "Introduction to large language models",
    "002": "Notes: Embeddings and self-attention",
    "003": "Sharif: Attention and Transformers",
    "004": "UvA: Attention is all you need",
}

CONCEPTS = (
    "The name of a concept leads to the cell that computes it. Beside it stand its slides, what "
    "the chapter has on it, and the code and the tests that would fail if it stopped being true."
)
SLIDES = (
    "The slides of each lecture stand in their order. Where a lecture uses a title again, we "
    "number it from the second slide on; in square brackets we describe a slide that has none."
)


def concepts() -> list[dict]:
    """The rows of the contract, in the order of the book; none in a book that has no contract."""
    file = ROOT / "chapters" / "concepts.yml"
    return yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else []


@cache
def slides() -> dict[str, list[str]]:
    """The titles of each lecture's slides, in their order."""
    return {lecture: found["slides"] for lecture, found in _lectures().items()}


@cache
def without_concept() -> dict[str, list[str]]:
    """The titles of the slides that leave nothing to settle, such as a lecture's first."""
    return {lecture: found["nothing"] for lecture, found in _lectures().items()}


def _lectures() -> dict[str, dict]:
    return yaml.safe_load((ROOT / "chapters" / "slides.yml").read_text(encoding="utf-8"))


def titles(row: dict) -> dict[str, list[tuple[str, str]]]:
    """The slides of a concept by lecture: each title, and what of the slide is meant, or ""."""
    return {
        lecture: [(title, remark) for title, _, remark in (one.partition(" | ") for one in found)]
        for lecture, found in row["slides"].items()
    }


def spoken(title: str) -> str:
    """A slide's title as it stands on the slide: without our number, and "" if it has none."""
    return "" if title.startswith("[") else re.sub(r" \(\d\)$", "", title)


def name_of(row: dict) -> str:
    """What the map calls a concept."""
    return row.get("name") or row["id"].replace("-", " ")


@cache
def homes() -> dict[str, Page]:
    """The chapter that settles each concept."""
    return {concept: page for page in chapters() for concept in sections(page.path)}


@cache
def sections(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Where a chapter settles each concept: the sections (anchor, title) of its cells."""
    found = defaultdict(list)
    section = ("", "")
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            section = _last_heading(source) or section
        for concept in cell["metadata"].get("concepts", []):
            if section not in found[concept]:
                found[concept].append(section)
    return dict(found)


def _last_heading(markdown: str) -> tuple[str, str] | None:
    tokens = MarkdownIt().parse(markdown)
    titles = [
        tokens[k + 1].content
        for k, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag in ("h1", "h2", "h3")
    ]
    if not titles:
        return None
    plain = re.sub(r"[`*$]", "", titles[-1])
    return slugify(plain), plain


class map_rows(nodes.General, nodes.Element):  # noqa: N801  (docutils names nodes in lower case)
    """The rows of one chapter (``page``) or of one lecture (``lecture``), filled in later."""


class LectureMap(Directive):
    """``lecture-map``: the filter, and the whole map by chapter and by lecture."""

    def run(self) -> list[nodes.Node]:
        """Build the page's sections."""
        env = self.state.document.settings.env
        for name in ("_toc.yml", "chapters/concepts.yml", "chapters/slides.yml"):
            env.note_dependency(str(ROOT / name))
        for page in chapters():
            env.note_dependency(str(page.path))
        by_chapter = [
            section(
                f"Chapter {page.number}. {page.title}",
                f"map-chapter-{page.number}",
                [map_rows("", page=page.docname)],
            )
            for page in chapters()
            if sections(page.path)
        ]
        by_lecture = [
            section(f"{key} {name}", f"map-lecture-{key}", [map_rows("", lecture=key)])
            for key, name in LECTURES.items()
        ]
        return [
            map_rows(""),
            section("By chapter", "by-chapter", [_line(CONCEPTS), *by_chapter]),
            section("By lecture and slide", "by-lecture", [_line(SLIDES), *by_lecture]),
        ]


def _line(text: str) -> nodes.paragraph:
    return nodes.paragraph("", text)


def section(name: str, key: str, children: list[nodes.Node]) -> nodes.section:
    """A section of a page, with its anchor."""
    return nodes.section("", nodes.title("", name), *children, ids=[key], names=[key])


def literal(name: str) -> nodes.literal:
    """A dotted name as code, which may break after a dot, a slash or an underline."""
    code = nodes.literal("")
    for part in re.findall(r"[^._/]*[._/]*", name):
        code += [nodes.Text(part), nodes.raw("", "<wbr>", format="html")] if part else []
    return code


def table(heads: list[str], body: list[list[list[nodes.Node]]], kind: str) -> nodes.table:
    """A table of cells made of nodes; ``kind`` is its class for the style sheet."""
    group = nodes.tgroup("", cols=len(heads))
    group += [nodes.colspec("", colwidth=1) for _ in heads]
    head = nodes.row("", *(_entry([nodes.Text(text)]) for text in heads))
    group += nodes.thead("", head)
    group += nodes.tbody("", *(nodes.row("", *map(_entry, row)) for row in body))
    return nodes.table("", group, classes=[kind])


def _entry(children: list[nodes.Node]) -> nodes.entry:
    return nodes.entry("", nodes.paragraph("", "", *children))


def count_concepts(app, config) -> None:
    """Let pages say how many concepts there are."""
    config.myst_substitutions = {"n_concepts": len(concepts()), **config.myst_substitutions}


def setup(app) -> dict:
    """Register the directive."""
    app.connect("config-inited", count_concepts)
    app.add_directive("lecture-map", LectureMap)
    app.add_node(map_rows)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
