"""The lecture map: from every slide to the section, the code and the test that settle it.

One source of truth: `chapters/concepts.yml` names the concepts, the chapters' cells carry the ids
they settle in their metadata. The page is made from both; tests/book/test_map.py keeps them true.
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

ROOT = Path(__file__).resolve().parent.parent
TITLES = (
    "Tasks, tokens and a spam filter made of rules",
    "Counting words: bags, n-grams, TF-IDF",
    "Embeddings as functions; similarity",
    "word2vec: skip-gram and CBoW",
    "Using static vectors, and where they break",
    "Tokenization: from words to bytes, and image patches",
    "Language models: from counts to neural",
    "Deep building blocks: residuals, recurrence and BPTT",
    "Sequence-to-sequence and the alignment idea",
    "Attention as soft lookup and kernel smoothing",
    "Scaled dot-product self-attention",
    "What attention cannot see, and what it costs",
    "Many heads",
    "The transformer block: add, norm, feed-forward",
    "The whole encoder–decoder",
    "Where am I? Positional encodings",
    "Training objectives: translation, MLM, GPT-1",
    "Modern attention: windows, kernels, sinks",
    "Looking inside, and beyond text",
)
"""The planned chapters, in order."""

LECTURES = {
    "000": "Toronto: Embeddings, attention, Transformers",
    "001": "Introduction to large language models",
    "002": "Notes: Embeddings and self-attention",
    "003": "Sharif: Attention and Transformers",
    "004": "UvA: Attention is all you need",
}


def concepts() -> list[dict]:
    """The rows of the contract, in the order of the book."""
    return yaml.safe_load((ROOT / "chapters" / "concepts.yml").read_text(encoding="utf-8"))


def chapter_files() -> dict[int, Path]:
    """The notebooks of the written chapters, by number."""
    return {int(path.name[:2]): path for path in sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))}


@cache
def pages() -> dict[str, Path]:
    """All notebooks, by the names that docstrings give them: without the chapter's number."""
    notebooks = (ROOT / "chapters").glob("*.ipynb")
    return {re.sub(r"^\d\d_", "", path.stem): path for path in notebooks}


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


class LectureMap(Directive):
    """``lecture-map``: the whole map, by chapter and by lecture."""

    def run(self) -> list[nodes.Node]:
        """Build the page's sections."""
        env = self.state.document.settings.env
        env.note_dependency(str(ROOT / "chapters" / "concepts.yml"))
        for path in chapter_files().values():
            env.note_dependency(str(path))
        rows = concepts()
        files = chapter_files()
        by_chapter = [
            self._chapter(number, [row for row in rows if row["chapter"] == number], files)
            for number in dict.fromkeys(row["chapter"] for row in rows)
        ]
        by_lecture = [self._lecture(key, rows, files) for key in LECTURES]
        chapters = section("By chapter", "by-chapter", by_chapter)
        return [chapters, section("By lecture and slide", "by-lecture", by_lecture)]

    def _chapter(self, number: int, rows: list[dict], files: dict[int, Path]) -> nodes.Node:
        places = sections(files[number])
        body = [
            [
                [nodes.Text(row["id"].replace("-", " "))],
                [nodes.Text(f"{', '.join(row['lectures'])}: {row['slides']}")],
                self._links(files[number], places.get(row["id"], [])),
                _literals(f"{name}" for name in row.get("names", [])),
                [nodes.Text("; ".join(map(_words, row.get("tests", []))))],
            ]
            for row in rows
        ]
        heads = ["Concept", "Lecture and slide", "Section", "In the library", "What a test holds"]
        name = f"Chapter {number}. {TITLES[number - 1]}"
        return section(name, f"map-chapter-{number}", [table(heads, body, "lecture-map")])

    def _lecture(self, key: str, rows: list[dict], files: dict[int, Path]) -> nodes.Node:
        slides = defaultdict(list)
        for row in rows:
            if key in row["lectures"]:
                for slide in row["slides"].split(";"):
                    slides[slide.strip()].append(row)
        body = [
            [[nodes.Text(slide)], self._targets(found, files)] for slide, found in slides.items()
        ]
        name = f"{key} {LECTURES[key]}"
        return section(
            name, f"map-lecture-{key}", [table(["Slide", "In the book"], body, "lecture-map")]
        )

    def _targets(self, rows: list[dict], files: dict[int, Path]) -> list[nodes.Node]:
        links: dict[str, nodes.Node] = {}
        for row in rows:
            number = row["chapter"]
            for anchor, name in sections(files[number]).get(row["id"], []):
                text = f"{number}, {name}"
                links.setdefault(text, self._link(files[number], anchor, text))
        return _joined(list(links.values()))

    def _links(self, path: Path, places: list[tuple[str, str]]) -> list[nodes.Node]:
        return _joined([self._link(path, anchor, name) for anchor, name in places])

    def _link(self, path: Path, anchor: str, text: str) -> nodes.Node:
        env = self.state.document.settings.env
        uri = env.app.builder.get_relative_uri(env.docname, f"chapters/{path.stem}")
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


def setup(app) -> dict:
    """Register the directive."""
    app.add_directive("lecture-map", LectureMap)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
