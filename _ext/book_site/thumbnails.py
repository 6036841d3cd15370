"""Small pictures: on the front page each box of the book's map shows a figure of its chapter.

They are the chapters' own figures, taken while the pages are read, so none can be out of date. A
picture in a box tells nothing that the words below it do not, and is hidden from a reader who hears
the page.
"""

import re
from collections.abc import Iterator

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
    "document_vectors": "fig-document-question",
    "static_vectors": "fig-static-influence",
    "tokenization": "fig-tokenization-merge-tree",
    "language_models": "fig-lm-cat",
    "neural_language_models": "fig-nlm-curves",
    "generalization": "fig-nlm-vectors",
    "recurrence": "fig-recurrence-lstm",
    "seq2seq": "fig-seq2seq-links",
    "decoding": "fig-decoding-tree",
    "soft_lookup": "fig-soft-lookup-hull",
    "attention": "fig-attention-it",
    "limits": "fig-limits-graphs",
    "many_heads": "fig-many-heads-dragon",
    "block": "fig-block-grid",
    "depth": "fig-block-triangle",
    "transformer": "fig-transformer-kinds",
    "positions": "fig-positions-clocks",
    "objectives": "fig-objectives-masks",
    "training": "fig-training-run",
    "modern_attention": "fig-modern-attention-gallery",
    "looking_inside": "fig-looking-inside-question",
    "beyond_text": "fig-beyond-fronts",
}
"""The figure that stands for each chapter: a still one, that is plain at the size of a stamp."""

SECOND = {"norm": "fig-block-axes"}
"""The figure of a box of the map whose chapter has another box before it."""

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
    """Keeps the pictures of each chapter as its page is read, by the figures' names."""

    attribute = "book_pictures"

    def read(self, env: BuildEnvironment, document: nodes.document) -> dict[str, str] | None:
        """The pictures of the page, if it is a chapter: that of its `BEST` figure comes first."""
        page = next((one for one in registry.chapters() if one.docname == env.docname), None)
        if page is None or page.name not in BEST:
            return None
        drawn = dict(drawings(document))
        wanted = [BEST[page.name], *(name for name in SECOND.values() if name in drawn)]
        if wanted[0] not in drawn:
            LOGGER.warning("chapter %r has no figure %r to stand for it", page.name, wanted[0])
            return None
        return {name: small(drawn[name]) for name in wanted}

    @classmethod
    def best(cls, env: BuildEnvironment) -> dict[str, str]:
        """The picture that stands for each chapter, by page."""
        return {page: next(iter(found.values())) for page, found in cls.kept(env).items()}


def drawings(document: nodes.document) -> Iterator[tuple[str, str]]:
    """The figures of a page that are one drawing: the name of each, and its SVG."""
    for figure in document.findall(nodes.figure):
        raw = next(iter(figure.findall(nodes.raw)), None)
        drawing = raw and SVG.search(raw.astext())
        if drawing:
            yield from ((name, drawing[0]) for name in figure["names"])


class map_picture(nodes.General, nodes.Element):  # noqa: N801  (docutils names nodes in lower case)
    """The place of a picture in a box of the map; the page is written when all are known."""


def visit_picture(translator, node: map_picture) -> None:
    """Write the picture; a box without one leaves its place empty."""
    found = Pictures.kept(translator.builder.env).get(node["page"], {})
    best = next(iter(found.values()), "")
    picture = found.get(SECOND.get(node["box"]), best)
    translator.body.append(f'<span class="bk-stamp">{picture}</span>')


def depart_picture(translator, node: map_picture) -> None:
    """Nothing is left to write."""


def setup(app: Sphinx) -> None:
    """Register collector and node."""
    app.add_env_collector(Pictures)
    app.add_node(map_picture, html=(visit_picture, depart_picture))
