"""Small pictures: the front page's list of chapters shows one figure of each.

They are the chapters' own figures, taken while the pages are read, so none can be out of date. A
picture in the list tells nothing that the title beside it does not, and is hidden from a reader who
hears the page.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import registry

from .kept import Keeper
from .pictures import lightened

LOGGER = logging.getLogger(__name__)

BEST = {
    "tasks": "fig-tasks-baseline",
    "counting_words": "fig-counting-bag",
    "embeddings": "fig-embeddings-king",
    "vector_search": "fig-search-topics",
    "word2vec": "fig-word2vec-analogies",
    "static_vectors": "fig-static-influence",
    "tokenization": "fig-tokenization-merge-tree",
    "language_models": "fig-lm-cat",
    "neural_language_models": "fig-nlm-vectors",
    "recurrence": "fig-recurrence-lstm",
    "seq2seq": "fig-seq2seq-links",
    "decoding": "fig-decoding-tree",
    "soft_lookup": "fig-soft-lookup-hull",
    "attention": "fig-attention-it",
    "limits": "fig-limits-graphs",
    "many_heads": "fig-many-heads-dragon",
    "block": "fig-block-grid",
    "transformer": "fig-transformer-kinds",
    "positions": "fig-positions-clocks",
    "objectives": "fig-objectives-masks",
    "training": "fig-training-run",
    "modern_attention": "fig-modern-attention-gallery",
    "looking_inside": "fig-looking-inside-question",
    "beyond_text": "fig-beyond-fronts",
}
"""The figure that stands for each chapter: a still one, that is plain at the size of a stamp."""

SVG = re.compile(r"<svg\b[^>]*>.*?</svg>", re.S)
OPENING = re.compile(r"<svg\b[^>]*>")
VIEW = re.compile(r'viewBox="[^"]*"')
LOOK = (
    "stroke-linejoin: round; white-space: pre; "
    "font-family: var(--sl-sans, 'Source Sans 3', sans-serif)"
)


def small(svg: str) -> str:
    """A figure's drawing as a small picture without words for who hears the page."""
    view = VIEW.search(svg)[0]
    opening = f'<svg class="bk-picture" aria-hidden="true" focusable="false" {view} style="{LOOK}">'
    return OPENING.sub(lambda _: opening, lightened(svg), count=1)


class Pictures(Keeper):
    """Keeps the picture of each chapter as its page is read."""

    attribute = "book_pictures"

    def read(self, env: BuildEnvironment, document: nodes.document) -> str | None:
        """The picture of the page, if it is a chapter and has the figure."""
        page = next((one for one in registry.chapters() if one.docname == env.docname), None)
        name = BEST.get(page.name) if page is not None else None
        if name is None:
            return None
        for figure in document.findall(nodes.figure):
            raw = next(iter(figure.findall(nodes.raw)), None)
            drawing = raw and name in figure["names"] and SVG.search(raw.astext())
            if drawing:
                return small(drawing[0])
        LOGGER.warning("chapter %r has no figure %r to stand for it", page.name, name)
        return None


class chapter_picture(nodes.General, nodes.Element):  # noqa: N801  (docutils names nodes in lower case)
    """The place of a chapter's picture; the page is written when all pictures are known."""


def visit_picture(translator, node: chapter_picture) -> None:
    """Write the picture; a page without one leaves its place empty."""
    found = Pictures.kept(translator.builder.env).get(node["page"], "")
    translator.body.append(f'<span class="bk-stamp">{found}</span>')


def depart_picture(translator, node: chapter_picture) -> None:
    """Nothing is left to write."""


def setup(app: Sphinx) -> None:
    """Register collector and node."""
    app.add_env_collector(Pictures)
    app.add_node(chapter_picture, html=(visit_picture, depart_picture))
