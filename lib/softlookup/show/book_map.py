"""The map of the book: what flows through a Transformer, and which chapter builds each part.

What a chapter's page is called is known only when the site is built, so a node links to the
chapter's section of the lecture map, and the site's extension (`_ext/book_site/book_map.py`) leads
it on to the chapter itself.
"""

import html
from dataclasses import dataclass
from importlib.resources import files

from IPython.display import display

from softlookup.show.figure import check_texts, figure_html

MODULES = ("Tokenization", "Embedding", "Attention blocks", "Output")
"""The four modules into which lecture 004 breaks the Transformer, in the order of the data."""


@dataclass(frozen=True)
class Node:
    """One step of the map.

    Attributes:
        id: Its name.
        label: What the reader sees.
        chapter: The chapter that builds it.
        band: The part of the map in which it stands, one of ``BANDS``.
        needs: The chapters to read before.
        step: Whether every text passes through it, on its way through the Transformer.
    """

    id: str
    label: str
    chapter: int
    band: str
    needs: tuple[int, ...] = ()
    step: bool = False


BANDS = {
    "Before it starts": "a text",
    "Tokenization": "numbers, one a token",
    "Embedding": "vectors, one a token",
    "Attention blocks": "vectors that have read each other",
    "Output": "a probability for every next token",
    "All of it": "",
}
"""The parts of the map from top to bottom, each with what it hands on to the next."""

NODES = (
    Node("rules", "Tasks and rules", 1, "Before it starts"),
    Node("tokenise", "Tokenise", 6, "Tokenization", (1,), step=True),
    Node("count", "Count words", 2, "Embedding", (1,)),
    Node("embed", "Embed", 3, "Embedding", (2,), step=True),
    Node("word2vec", "Learn word vectors", 4, "Embedding", (3,)),
    Node("static", "Use word vectors", 5, "Embedding", (4,)),
    Node("positions", "Add positions", 16, "Embedding", (12,), step=True),
    Node("recurrence", "Recurrence", 8, "Attention blocks", (7,)),
    Node("alignment", "Alignment", 9, "Attention blocks", (8,)),
    Node("soft-lookup", "Soft lookup", 10, "Attention blocks", (3, 9)),
    Node("attend", "Attend", 11, "Attention blocks", (10,), step=True),
    Node("limits", "Blind spots, cost", 12, "Attention blocks", (11,)),
    Node("heads", "Many heads", 13, "Attention blocks", (11,)),
    Node("feed-forward", "Feed-forward", 14, "Attention blocks", (13,), step=True),
    Node("norm", "Add & norm", 14, "Attention blocks", (8, 13), step=True),
    Node("modern", "Modern attention", 18, "Attention blocks", (12, 13)),
    Node("output", "Linear, softmax", 7, "Output", (2, 3), step=True),
    Node("training", "Train", 17, "Output", (7, 15)),
    Node("whole", "Encoder–decoder", 15, "All of it", (9, 14)),
    Node("inside", "Look inside", 19, "All of it", (15, 17)),
)

_ALT = (
    "Data flow down: a text is tokenised, embedded with positions, passes attention, feed-forward "
    "and norm, and leaves as probabilities; twenty steps, each linked to its chapter"
)
_CAPTION = (
    "The map of the book. Data flow from top to bottom, through the four modules of lecture 004, "
    "numbered. Filled: the steps that every text passes."
)


def show_book_map(*, name: str = "fig-book-map", alt: str = _ALT, caption: str = _CAPTION) -> None:
    """Show the map of the book; each node is a link.

    Args:
        name: The figure's name in links.
        alt: What the map shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: As ``show_figure``.
    """
    page = book_map(name=name, alt=alt, caption=caption)
    display({"text/html": page, "text/plain": map_text()}, raw=True)


def book_map(*, name: str, alt: str = _ALT, caption: str = _CAPTION) -> str:
    """The figure that ``show_book_map`` shows, as HTML."""
    check_texts(alt, caption, name)
    return figure_html(map_html(alt), caption=caption, name=name)


def map_html(alt: str) -> str:
    """The map as HTML: a list of bands, each with a list of links."""
    style = (files("softlookup.show") / "book_map.css").read_text(encoding="utf-8")
    bands = "\n".join(_band(name, flow) for name, flow in BANDS.items())
    return (
        f'<style>{style}</style>\n<div class="sl-body bm-map" role="group" '
        f'aria-label="{html.escape(alt)}">\n<ol class="bm-bands">\n{bands}\n</ol>\n</div>'
    )


def map_text() -> str:
    """The map as plain text, one band a line."""
    lines = [f"{band}: " + ", ".join(f"{node.label} ({node.chapter})" for node in _nodes(band))
             for band in BANDS]  # fmt: skip
    return "\n".join(lines)


def _nodes(band: str) -> list[Node]:
    return [node for node in NODES if node.band == band]


def _band(name: str, flow: str) -> str:
    place = MODULES.index(name) + 1 if name in MODULES else 0
    number = f'<span class="bm-number">{place}</span> ' if place else ""
    links = "".join(f"<li>{_link(node)}</li>" for node in _nodes(name))
    kind = "bm-box bm-module" if place else "bm-box"
    arrow = f'<p class="bm-flow"><span aria-hidden="true">↓</span> {html.escape(flow)}</p>'
    return (
        f'<li><div class="{kind}"><p class="bm-title">{number}{html.escape(name)}</p>\n'
        f'<ul class="bm-nodes">{links}</ul></div>\n{arrow if flow else ""}</li>'
    )


def _link(node: Node) -> str:
    kind = "bm-node bm-step" if node.step else "bm-node"
    after = f", after {' and '.join(map(str, node.needs))}" if node.needs else ""
    return (
        f'<a class="{kind}" id="map-{node.id}" data-chapter="{node.chapter}" '
        f'href="lecture_map.html#map-chapter-{node.chapter}">'
        f'<span class="bm-label">{html.escape(node.label)}</span> '
        f'<span class="bm-where">chapter {node.chapter}{after}</span></a>'
    )
