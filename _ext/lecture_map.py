"""The lecture map: from every slide to the section, the code and the test that settle it.

`chapters/concepts.yml` names the concepts, and the chapters' cells carry in their metadata the ids
that they settle: a concept belongs to the chapter whose cell carries it. The page is made from
both; tests/book/test_map.py keeps them true.
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


def concepts() -> list[dict]:
    """The rows of the contract, in the order of the book; none in a book that has no contract."""
    file = ROOT / "chapters" / "concepts.yml"
    return yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else []


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


@cache
def checks(path: Path) -> dict[str, list[str]]:
    """The check cells of a chapter that settle each concept, by the names that links call them."""
    found = defaultdict(list)
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if "check" in cell["metadata"].get("tags", []):
            for concept in cell["metadata"].get("concepts", []):
                found[concept].append(f"check-{cell['id']}")
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


class LectureMap(Directive):
    """``lecture-map``: the whole map, by chapter and by lecture."""

    def run(self) -> list[nodes.Node]:
        """Build the page's sections."""
        env = self.state.document.settings.env
        env.note_dependency(str(ROOT / "_toc.yml"))
        env.note_dependency(str(ROOT / "chapters" / "concepts.yml"))
        for page in chapters():
            env.note_dependency(str(page.path))
        rows = concepts()
        by_chapter = [self._chapter(page, rows) for page in chapters() if sections(page.path)]
        by_lecture = [self._lecture(key, rows) for key in LECTURES]
        first = section("By chapter", "by-chapter", by_chapter)
        return [first, section("By lecture and slide", "by-lecture", by_lecture)]

    def _chapter(self, page: Page, rows: list[dict]) -> nodes.Node:
        places = sections(page.path)
        body = [
            [
                [nodes.Text(row["id"].replace("-", " "))],
                [nodes.Text(f"{', '.join(row['lectures'])}: {row['slides']}")],
                self._links(page, [*places[row["id"]], *_check_links(page, row["id"])]),
                _literals(f"{name}" for name in row.get("names", [])),
                [nodes.Text("; ".join(map(_words, row.get("tests", []))))],
            ]
            for row in rows
            if row["id"] in places
        ]
        heads = ["Concept", "Lecture and slide", "Section", "In the library", "What a test holds"]
        name = f"Chapter {page.number}. {page.title}"
        return section(name, f"map-chapter-{page.number}", [table(heads, body, "lecture-map")])

    def _lecture(self, key: str, rows: list[dict]) -> nodes.Node:
        slides = defaultdict(list)
        for row in rows:
            if key in row["lectures"]:
                for slide in row["slides"].split(";"):
                    slides[slide.strip()].append(row)
        body = [[[nodes.Text(slide)], self._targets(found)] for slide, found in slides.items()]
        name = f"{key} {LECTURES[key]}"
        return section(
            name, f"map-lecture-{key}", [table(["Slide", "In the book"], body, "lecture-map")]
        )

    def _targets(self, rows: list[dict]) -> list[nodes.Node]:
        links: dict[str, nodes.Node] = {}
        for page, row in ((homes()[row["id"]], row) for row in rows if row["id"] in homes()):
            for anchor, name in sections(page.path)[row["id"]]:
                text = f"{page.number}, {name}"
                links.setdefault(text, self._link(page, anchor, text))
        return _joined(list(links.values()))

    def _links(self, page: Page, places: list[tuple[str, str]]) -> list[nodes.Node]:
        return _joined([self._link(page, anchor, name) for anchor, name in places])

    def _link(self, page: Page, anchor: str, text: str) -> nodes.Node:
        env = self.state.document.settings.env
        uri = env.app.builder.get_relative_uri(env.docname, page.docname)
        return nodes.reference("", text, internal=True, refuri=f"{uri}#{anchor}")


def section(name: str, key: str, children: list[nodes.Node]) -> nodes.section:
    """A section of a page, with its anchor."""
    return nodes.section("", nodes.title("", name), *children, ids=[key], names=[key])


def _joined(links: list[nodes.Node]) -> list[nodes.Node]:
    parts = [part for link in links for part in (link, nodes.Text("; "))]
    return parts[:-1]


def literal(name: str) -> nodes.literal:
    """A dotted name as code, which may break after a dot, a slash or an underline."""
    code = nodes.literal("")
    for part in re.findall(r"[^._/]*[._/]*", name):
        code += [nodes.Text(part), nodes.raw("", "<wbr>", format="html")] if part else []
    return code


def _check_links(page: Page, concept: str) -> list[tuple[str, str]]:
    """Where the checks of a concept stand, which a link opens: (anchor, text)."""
    return [(name, "what was checked") for name in checks(page.path).get(concept, [])]


def _literals(words) -> list[nodes.Node]:
    return _joined([literal(word) for word in words])


def _words(test: str) -> str:
    """What a test holds, in words: its function's name without the underscores."""
    return test.split("::test_")[1].replace("_", " ")


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
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
