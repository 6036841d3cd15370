"""Below each definition of the glossary stands where the book speaks of the term.

That is the first section that has the term in its title, or else the first that links it, optional
sections last; and for each other chapter the first section there that links it. As links to the
glossary stand where a chapter first uses a term, no chapter is missing. What no chapter links is
looked for in the notebooks beside them. Like the lecture map, the lines are written when every page
has been read.
"""

import re
from typing import NamedTuple

from docutils import nodes
from sphinx.addnodes import glossary
from sphinx.application import Sphinx

import registry

from .optional import OPENING
from .search import Entries


class Section(NamedTuple):
    """A section of a notebook: its place, its title, and the terms that it links."""

    page: registry.Page
    anchor: str
    title: str
    terms: frozenset[str]


def sections(app: Sphinx) -> list[Section]:
    """The sections of all notebooks, those of the chapters first."""
    kept = Entries.kept(app.env)
    return [
        Section(page, one.anchor, one.title, frozenset(one.terms.lower().split("; ")))
        for page in sorted(registry.notebooks(), key=lambda page: page.number is None)
        for one in kept.get(page.docname, [])
        if one.kind in ("chapter", "section")
    ]


def places_of(names: list[str], found: list[Section]) -> list[Section]:
    """Where the book speaks of what these names mean: the best place, then one a chapter."""
    called = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})(?:e?s)?\b", re.IGNORECASE)
    linked = [one for one in found if not one.terms.isdisjoint(map(str.lower, names))]
    titled = [one for one in found if called.search(one.title)]
    ranked = sorted([*titled, *linked], key=lambda one: one.title.startswith(OPENING))
    if not ranked:
        return []
    best = next((one for one in ranked if one.page.number), ranked[0])
    first = {one.page: one for one in reversed(linked) if one.page.number}
    return [best, *(one for page, one in reversed(first.items()) if page != best.page)]


def line(app: Sphinx, docname: str, places: list[Section]) -> nodes.paragraph:
    """The links to these places, the first with its title."""
    told = nodes.paragraph(classes=["bk-met"])
    for k, (page, anchor, title, _) in enumerate(places):
        address = app.builder.get_relative_uri(docname, page.docname) + (anchor and f"#{anchor}")
        title = title.removeprefix(OPENING)
        where = f"Chapter {page.number}" if page.number else page.title
        words = str(page.number) if k else f"{where}, {title[:1].upper()}{title[1:]}"
        if k:
            told += nodes.Text("; also in " if k == 1 else ", ")
        told += nodes.reference("", words, refuri=address, internal=True)
    return told


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the lines of the page that holds the glossary."""
    for items in doctree.findall(glossary):
        found = sections(app)
        for item in items.findall(nodes.definition_list_item):
            names = [term.astext() for term in item.findall(nodes.term)]
            if places := places_of(names, found):
                item.next_node(nodes.definition).append(line(app, docname, places))


def setup(app: Sphinx) -> None:
    """Fill the page once references can be resolved."""
    app.connect("doctree-resolved", fill)
