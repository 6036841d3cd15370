"""You are here: the road from a text to its next word, under the title of every chapter.

`ROAD` says which chapters teach which part of it. The chapter's own part is lit, and every part
leads to its chapters. Numbers and addresses come from the registry.
"""

from collections.abc import Mapping
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import registry

ROAD = {
    "text": ("tasks",),
    "tokens": ("tokenization",),
    "vectors": (
        "counting_words",
        "embeddings",
        "vector_search",
        "word2vec",
        "document_vectors",
        "static_vectors",
    ),
    "positions": ("positions",),
    "blocks": (
        "recurrence",
        "seq2seq",
        "soft_lookup",
        "attention",
        "limits",
        "many_heads",
        "block",
        "depth",
        "modern_attention",
    ),
    "logits": ("neural_language_models",),
    "next word": ("language_models", "generalization", "decoding"),
}
"""The parts of the road, each with the names of the chapters that teach it."""

WHOLE = ("transformer", "objectives", "training", "looking_inside", "beyond_text")
"""The chapters that walk the whole road."""


def parts_of(chapter: str) -> list[str]:
    """The parts of the road that a chapter teaches; empty for a page that has no place on it."""
    return [part for part, chapters in ROAD.items() if chapter in (*chapters, *WHOLE)]


def road_html(here: str, numbers: Mapping[str, int], addresses: Mapping[str, str]) -> str:
    """The road as seen from one chapter.

    Args:
        here: The chapter's name.
        numbers: The number of each chapter, by name.
        addresses: The address of each chapter's page, by name.

    A book of a few chapters has the same road; what it lacks is not linked.
    """
    lit = parts_of(here)
    parts = "\n".join(_part(part, here, numbers, addresses) for part in ROAD)
    where = "the whole road" if here in WHOLE else " and ".join(lit)
    return (
        f'<nav class="road" aria-label="You are here: {escape(where)}">\n'
        f'<p class="road-title" aria-hidden="true">You are here</p>\n<ol>\n{parts}\n</ol>\n</nav>'
    )


def _part(part: str, here: str, numbers: Mapping[str, int], addresses: Mapping[str, str]) -> str:
    """One part: its name leads to its first chapter, each number to its own."""
    chapters = sorted(numbers.keys() & ROAD[part], key=numbers.__getitem__)
    lit = part in parts_of(here)
    step = ' aria-current="step"' if lit else ""
    first = here if here in chapters else next(iter(chapters), None)
    href = f' href="{addresses[first]}"' if first else ""
    name = f'<a class="road-name"{href}{step}>{escape(part)}</a>'
    links = "".join(
        f'<a href="{addresses[chapter]}"{_page_mark(chapter == here)}>'
        f'<span class="visually-hidden">chapter </span>{numbers[chapter]}</a>'
        for chapter in chapters
    )
    kind = "road-part road-lit" if lit else "road-part"
    return f'<li class="{kind}">{name}<span class="road-chapters">{links}</span></li>'


def _page_mark(is_here: bool) -> str:
    return ' aria-current="page"' if is_here else ""


class YouAreHere(SphinxTransform):
    """Puts the road under the title of each chapter."""

    default_priority = 404

    def apply(self) -> None:
        """Insert it, if the page is a chapter."""
        docname = self.env.docname
        chapters = registry.chapters()
        page = next((one for one in chapters if one.docname == docname), None)
        title = next(iter(self.document.findall(nodes.title)), None)
        if page is None or title is None or not parts_of(page.name):
            return
        self.env.note_dependency(str(registry.ROOT / "_toc.yml"))
        builder = self.env.app.builder
        numbers = {one.name: one.number for one in chapters}
        addresses = {
            one.name: builder.get_relative_uri(docname, one.docname) or "#main-content"
            for one in chapters
        }
        html = road_html(page.name, numbers, addresses)
        title.parent.insert(title.parent.index(title) + 1, nodes.raw("", html, format="html"))


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_transform(YouAreHere)
