"""The map of the book: what flows through a Transformer, and which chapter builds each part.

A node calls its chapter by name. Which number it has and where its page is are known only when the
site is built: the site's extension (`_ext/book_site/book_map.py`) fills them in.
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
        chapter: The name of the chapter that builds it.
        band: The part of the map in which it stands, one of ``BANDS``.
        needs: The names of the chapters to read before.
        step: Whether every text passes through it, on its way through the Transformer.
    """

    id: str
    label: str
    chapter: str
    band: str
    needs: tuple[str, ...] = ()
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
    Node("rules", "Tasks and rules", "tasks", "Before it starts"),
    Node("tokenize", "Tokenize", "tokenization", "Tokenization", ("tasks",), step=True),
    Node("count", "Count words", "counting_words", "Embedding", ("tasks",)),
    Node("embed", "Embed", "embeddings", "Embedding", ("counting_words",), step=True),
    Node("search", "Search and map", "vector_search", "Embedding", ("embeddings",)),
    Node("word2vec", "Learn word vectors", "word2vec", "Embedding", ("embeddings",)),
    Node("texts", "Find a text", "document_vectors", "Embedding", ("word2vec",)),
    Node("static", "Use word vectors", "static_vectors", "Embedding", ("word2vec",)),
    Node("positions", "Add positions", "positions", "Embedding", ("limits",), step=True),
    Node("recurrence", "Recurrence", "recurrence", "Attention blocks", ("neural_language_models",)),
    Node("alignment", "Alignment", "seq2seq", "Attention blocks", ("recurrence",)),
    Node(
        "soft-lookup", "Soft lookup", "soft_lookup", "Attention blocks", ("embeddings", "seq2seq")
    ),
    Node("attend", "Attend", "attention", "Attention blocks", ("soft_lookup",), step=True),
    Node("limits", "Blind spots, cost", "limits", "Attention blocks", ("attention",)),
    Node("heads", "Many heads", "many_heads", "Attention blocks", ("attention",)),
    Node("feed-forward", "Feed-forward", "block", "Attention blocks", ("many_heads",), step=True),
    Node(
        "norm", "Add & norm", "block", "Attention blocks", ("recurrence", "many_heads"), step=True
    ),
    Node("depth", "Stack blocks", "depth", "Attention blocks", ("block",)),
    Node(
        "modern",
        "Modern attention",
        "modern_attention",
        "Attention blocks",
        ("limits", "many_heads"),
    ),
    Node("next-word", "Count what follows", "language_models", "Output", ("counting_words",)),
    Node(
        "output",
        "Linear, softmax",
        "neural_language_models",
        "Output",
        ("embeddings", "language_models"),
        step=True,
    ),
    Node("unread", "What was not read", "generalization", "Output", ("neural_language_models",)),
    Node("decoding", "Write a text", "decoding", "Output", ("seq2seq",)),
    Node("objectives", "What to ask for", "objectives", "Output", ("transformer",)),
    Node("training", "Train", "training", "Output", ("neural_language_models", "objectives")),
    Node("whole", "Encoder–decoder", "transformer", "All of it", ("seq2seq", "block")),
    Node("inside", "Look inside", "looking_inside", "All of it", ("transformer", "training")),
    Node("beyond", "Beyond text", "beyond_text", "All of it", ("looking_inside",)),
)

_ALT = (
    "Data flow down: a text is tokenized, embedded with positions, passes attention, feed-forward "
    f"and norm, and leaves as probabilities; {len(NODES)} steps, each linked to its chapter"
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
    return "\n".join(
        f"{band}: " + ", ".join(f"{n.label} ({_in_words(n.chapter)})" for n in _nodes(band))
        for band in BANDS
    )


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
    after = f", after {' and '.join(map(_in_words, node.needs))}" if node.needs else ""
    return (
        f'<a class="{kind}" id="map-{node.id}" data-chapter="{node.chapter}" '
        f'data-needs="{" ".join(node.needs)}" href="lecture_map.html">'
        f'<span class="bm-label">{html.escape(node.label)}</span> '
        f'<span class="bm-where">{_in_words(node.chapter)}{after}</span></a>'
    )


def _in_words(chapter: str) -> str:
    return chapter.replace("_", " ")
