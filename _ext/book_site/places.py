"""Where the cells stand that settle the lectures' concepts, for the lecture map.

A code cell whose metadata names concepts gets an anchor, `cell-` and its id, as a check has one
already. When a page has been read, it is kept for each such cell which section it stands in, the
figure nearest to it in that section, the terms and exercises that the section links, and for each
exercise what it links and which names it uses. A concept's exercises are those that

- its section links, or that link its section,
- hold its own cell, or
- use, in their code or their text, something that its row names in the library, if no more than
  three exercises of the chapter do: what most of them use is what none of them is about.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx_exercise.nodes import is_exercise_node

from .checks import TAG, check_cell
from .kept import Keeper
from .search import is_section, label_of, plain_title

NAME = re.compile(r"[A-Za-z_]\w*")
COMMON = 3
"""A name that more exercises of a chapter use says nothing of them."""


class Place(NamedTuple):
    """A cell that settles concepts.

    Attributes:
        concepts: Their ids.
        anchor: The cell's own place on its page.
        is_check: Whether it is a check.
        section: The anchor of its section.
        title: The section's title.
        figure: The anchor of the nearest figure or table in the section; empty without one.
        terms: The terms of the glossary that the section links.
        exercises: The exercises that the section links, and the one that holds the cell.
    """

    concepts: tuple[str, ...]
    anchor: str
    is_check: bool
    section: str
    title: str
    figure: str
    terms: tuple[str, ...]
    exercises: tuple[str, ...]


class Exercise(NamedTuple):
    """An exercise of a page.

    Attributes:
        label: Its anchor.
        links: The anchors that its text links.
        names: The names in its code, and those that its text writes as code.
    """

    label: str
    links: frozenset[str]
    names: frozenset[str]


def concepts_of(node: nodes.Node) -> tuple[str, ...]:
    """The ids of the concepts that a node settles, if it is a code cell that does."""
    metadata = node.get("cell_metadata", {}) if isinstance(node, nodes.container) else {}
    return tuple(metadata.get("concepts", ()))


class CellAnchors(SphinxTransform):
    """Gives each cell that settles a concept an anchor; a check has its own."""

    default_priority = 403

    def apply(self) -> None:
        """Go through the page's cells."""
        cells = [
            cell
            for cell in self.document.findall(concepts_of)
            if TAG not in cell["cell_metadata"].get("tags", [])
        ]
        if not cells:
            return
        with open(self.env.doc2path(self.env.docname), encoding="utf-8") as notebook:
            ids = [cell.get("id", "") for cell in json.load(notebook)["cells"]]
        for cell in cells:
            cell["names"].append(f"cell-{ids[cell['cell_index']]}")
            self.document.note_explicit_target(cell)


def own(section: nodes.Element) -> Iterator[nodes.Node]:
    """What a section holds in its order, lower sections left out."""
    for child in section.children:
        if not isinstance(child, nodes.section):
            yield child
            yield from own(child)


def section_of(node: nodes.Node) -> nodes.section:
    """The section that a node stands in."""
    while not isinstance(node, nodes.section):
        node = node.parent
    return node


def targets(parts: list[nodes.Node]) -> list[str]:
    """The anchors that links lead to, as far as they name one."""
    found = []
    for part in parts:
        if isinstance(part, pending_xref) and part.get("reftype") != "term":
            found.append(part["reftarget"].rpartition("#")[2])
        elif isinstance(part, nodes.reference):
            found.append(part.get("refid") or part.get("refuri", "").rpartition("#")[2])
    return found


def nearest_figure(parts: list[nodes.Node], cell: nodes.Node) -> str:
    """The anchor of the figure or table with a caption that stands nearest to a cell."""
    here = next(k for k, part in enumerate(parts) if part is cell)
    inside = set(map(id, cell.findall(nodes.figure)))
    figures = [
        (0 if id(part) in inside else abs(k - here), part)
        for k, part in enumerate(parts)
        if isinstance(part, nodes.figure) and part["ids"] and part.next_node(nodes.caption)
    ]
    return min(figures, key=lambda pair: pair[0])[1]["ids"][0] if figures else ""


def read_exercises(document: nodes.document) -> list[Exercise]:
    """The exercises of a page, each with the cells that follow it."""
    found: list[tuple[nodes.Element, list[nodes.Node]]] = []
    for node in document.findall(nodes.Element):
        if is_exercise_node(node):
            found.append((node, list(node.findall())))
        elif is_section(node):
            found.append((node, []))  # the exercises before it end here
        elif found and isinstance(node, nodes.literal_block):
            found[-1][1].append(node)
    return [
        Exercise(label_of(node), frozenset(targets(parts)), names_in(parts))
        for node, parts in found
        if is_exercise_node(node)
    ]


def names_in(parts: list[nodes.Node]) -> frozenset[str]:
    """The names that stand in code."""
    code = [part for part in parts if isinstance(part, nodes.literal | nodes.literal_block)]
    return frozenset(name for part in code for name in NAME.findall(part.astext()))


def read_places(document: nodes.document) -> list[Place]:
    """The cells of a page that settle concepts."""
    labels = {label_of(one) for one in document.findall(is_exercise_node)}
    sections: dict[int, list[nodes.Node]] = {}
    places, last = [], ""
    for node in document.findall(nodes.Element):
        if is_section(node):
            last = ""
        last = label_of(node) if is_exercise_node(node) else last
        if concepts := concepts_of(node):
            section = section_of(node)
            parts = sections.setdefault(id(section), list(own(section)))
            places.append(place_of(node, concepts, section, parts, labels, last))
    return places


def place_of(
    cell: nodes.container,
    concepts: tuple[str, ...],
    section: nodes.section,
    parts: list[nodes.Node],
    labels: set[str],
    exercise: str,
) -> Place:
    """A cell's place; ``exercise`` is the one that it belongs to, if any."""
    check = cell.next_node(check_cell)
    linked = [label for label in targets(parts) if label in labels]
    terms = [
        part["reftarget"]
        for part in parts
        if isinstance(part, pending_xref) and part.get("reftype") == "term"
    ]
    return Place(
        concepts,
        (check or cell)["ids"][0],
        check is not None,
        section["ids"][0],
        plain_title(section.next_node(nodes.title)),
        nearest_figure(parts, cell),
        tuple(dict.fromkeys(terms)),
        tuple(dict.fromkeys([*([exercise] if exercise else []), *linked])),
    )


class Places(Keeper):
    """Keeps each page's places and exercises from one build to the next."""

    attribute = "softlookup_places"

    def read(
        self, env: BuildEnvironment, document: nodes.document
    ) -> tuple[list[Place], list[Exercise]] | None:
        """Both of a page that settles a concept."""
        found = read_places(document)
        return (found, read_exercises(document)) if found else None


def exercises_for(row: dict, places: list[Place], exercises: list[Exercise]) -> list[Exercise]:
    """The exercises of a page that practise what a row of the map is about."""
    named = {name.rpartition(".")[2] for name in row.get("names", [])}
    users = {name: [one.label for one in exercises if name in one.names] for name in named}
    using = {label for labels in users.values() if len(labels) <= COMMON for label in labels}
    sections = {place.section for place in places}
    linked = {label for place in places for label in place.exercises}
    return [one for one in exercises if one.label in linked | using or one.links & sections]


def setup(app: Sphinx) -> None:
    """Register the transform and the collector."""
    app.add_transform(CellAnchors)
    app.add_env_collector(Places)
