"""Figures and tables that notebook cells show become numbered ones, and links to them get numbers.

`softlookup.show` writes `<figure class="sl-figure" id="fig-...">` (or `sl-table`, `id="tab-..."`)
with a `<figcaption>` into a cell's `text/html`. Here each becomes a node that Sphinx numbers by
chapter, and `[Figure](#fig-...)` anywhere in the book becomes a link that reads "Figure 11.3". The
same HTML, written into a Markdown page in a raw block, is treated alike; `{shown}` writes it there.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString, Tag
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)

FIGURE = re.compile(r"\s*<figure\b(?P<attributes>[^>]*)>(?P<content>.*)</figure>\s*", re.S)
CAPTION = re.compile(r"<figcaption\b[^>]*>(?P<caption>.*?)</figcaption>", re.S)
ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
MATH = re.compile(r"\$([^$]+)\$")
# The words a link may consist of, and how Sphinx resolves each: (domain, kind of reference).
NUMBERED_WORDS = {
    "Figure": ("std", "numref"),
    "Table": ("std", "numref"),
    "Exercise": ("std", "numref"),
    "Equation": ("math", "numref"),
}
INLINE_NODES = {
    "em": nodes.emphasis,
    "i": nodes.emphasis,
    "strong": nodes.strong,
    "b": nodes.strong,
    "code": nodes.literal,
    "sub": nodes.subscript,
    "sup": nodes.superscript,
}


class numbered_table(nodes.figure):  # noqa: N801  (docutils names node classes in lower case)
    """A captioned table whose body is ready-made HTML."""


def caption_nodes(parent: Tag) -> Iterator[nodes.Node]:
    """The caption's HTML as docutils nodes; `$...$` is mathematics."""
    for child in parent.children:
        if isinstance(child, Tag):
            kind = INLINE_NODES.get(child.name)
            inner = list(caption_nodes(child))
            if kind is None:
                yield from inner
            else:
                yield kind(child.get_text(), "", *inner)
        elif isinstance(child, NavigableString):
            for index, part in enumerate(MATH.split(str(child))):
                if part:
                    yield nodes.math(part, part) if index % 2 else nodes.Text(part)


def number_title(node: nodes.Element) -> str | None:
    """The caption's text: Sphinx numbers only what has one."""
    caption = next(iter(node.findall(nodes.caption)), None)
    return caption.astext() if caption is not None else None


def figure_node(html: str) -> nodes.figure | None:
    """The numbered node for a figure's HTML; None where the HTML is no named figure of the book."""
    match = FIGURE.fullmatch(html)
    attributes = dict(ATTRIBUTE.findall(match["attributes"])) if match else {}
    classes = attributes.get("class", "").split()
    name = attributes.get("id", "")
    caption = CAPTION.search(match["content"]) if match else None
    if not name or caption is None or not {"sl-figure", "sl-table"} & set(classes):
        return None
    kind = numbered_table if "sl-table" in classes else nodes.figure
    body = CAPTION.sub("", match["content"], count=1)
    figure = kind("", nodes.raw("", body, format="html"), classes=classes, names=[name])
    text = BeautifulSoup(caption["caption"].strip(), "html.parser")
    figure += nodes.caption(text.get_text(), "", *caption_nodes(text))
    return figure


def html_output(bundle: nodes.container) -> nodes.raw | None:
    """The `text/html` form of a cell's output."""
    for container in bundle.findall(nodes.container):
        if container.get("mime_type") == "text/html":
            return next(iter(container.findall(nodes.raw)), None)
    return None


class FigureOutputs(SphinxTransform):
    """Replaces the HTML of figures by numbered nodes, before labels are collected."""

    default_priority = 400

    def apply(self) -> None:
        """Go through the cells' outputs, then through raw HTML in the text."""
        bundles = [c for c in self.document.findall(nodes.container) if "nb_element" in c]
        for bundle in bundles:
            if bundle["nb_element"] == "mime_bundle":
                self.replace(bundle, html_output(bundle))
        for raw in list(self.document.findall(nodes.raw)):
            if not isinstance(raw.parent, nodes.figure):
                self.replace(raw, raw)

    def replace(self, old: nodes.Element, raw: nodes.raw | None) -> None:
        """Put the numbered node in the place of `old`, if the HTML is a figure."""
        if raw is None or raw.get("format") != "html":
            return
        figure = figure_node(raw.astext())
        if figure is None:
            return
        figure.source, figure.line = old.source, old.line
        if figure["names"][0] in self.document.nameids:
            LOGGER.warning("two figures have the name %r", figure["names"][0], location=old)
        self.document.note_explicit_target(figure)
        old.replace_self(figure)


class NumberedLinks(SphinxTransform):
    """Turns `[Figure](#fig-...)` into a reference that Sphinx resolves to "Figure 11.3"."""

    default_priority = 800  # before MyST resolves links to anchors on the same page (879)

    def apply(self) -> None:
        """Replace each link whose text is one of the numbered words."""
        for link in list(self.document.findall(nodes.reference)):
            word = link.astext()
            if link.get("id_link") and word in NUMBERED_WORDS:
                link.replace_self(self.reference(link, word))

    def reference(self, link: nodes.reference, word: str) -> addnodes.pending_xref:
        """The pending reference; an unknown target becomes a warning."""
        domain, kind = NUMBERED_WORDS[word]
        reference = addnodes.pending_xref(
            "",
            nodes.inline(f"{word} %s", f"{word} %s"),
            refdomain=domain,
            reftype=kind,
            reftarget=link["refuri"].removeprefix("#"),
            refdoc=self.env.docname,
            refexplicit=domain == "std",
            refwarn=True,
        )
        reference.source, reference.line = link.source, link.line
        return reference


class NoWidgetState(SphinxTransform):
    """Drops the state of live widgets: the pages hold figures that need no kernel instead."""

    default_priority = 401

    def apply(self) -> None:
        """Remove the JSON that myst-nb writes for notebooks with widgets."""
        for raw in list(self.document.findall(nodes.raw)):
            if "application/vnd.jupyter.widget-state+json" in raw.astext()[:200]:
                raw.parent.remove(raw)


class Shown(SphinxDirective):
    """`{shown} SoftLookup`: a figure of `softlookup.show` on a page that runs no code.

    The argument names a class of interactive figures, which is made without arguments of its own,
    or `book_map`. The HTML is numbered, and its links led on, like that of a cell.
    """

    required_arguments = 1
    option_spec = {"name": directives.unchanged_required}  # noqa: RUF012  (docutils' own form)

    def run(self) -> list[nodes.Node]:
        """Make the figure; the page is made anew when a file of it changes."""
        # PyTorch takes seconds to load: only who writes such a page anew waits for it.
        from softlookup import show
        from softlookup.show.book_map import book_map

        kind, name = self.arguments[0], self.options.get("name", "")
        maker = book_map if kind == "book_map" else getattr(show, kind, None)
        if maker is None:
            raise self.error(f"softlookup.show has no figure {kind!r}")
        figure = maker(name=name)
        stem = Path(inspect.getfile(maker)).stem
        folder = Path(show.__file__).parent
        for file in [*folder.glob("interactive.*"), *folder.glob(f"{stem}*")]:
            self.env.note_dependency(str(file))
        html = figure if isinstance(figure, str) else figure.html()
        return [nodes.raw("", html, format="html")]


def visit_table(translator, node: numbered_table) -> None:
    """Open the table's figure."""
    translator.visit_figure(node)


def depart_table(translator, node: numbered_table) -> None:
    """Close the table's figure."""
    translator.depart_figure(node)


def setup(app: Sphinx) -> None:
    """Register node and transforms."""
    app.add_directive("shown", Shown)
    app.add_enumerable_node(numbered_table, "table", number_title, html=(visit_table, depart_table))
    for transform in (FigureOutputs, NumberedLinks, NoWidgetState):
        app.add_transform(transform)
