"""Optional sections: a title and a paragraph in sight, the rest behind a fold.

A section titled `Optional: six opinions` may be skipped at first reading. Its first paragraph says
what stands there and stays in sight; all behind it, lower sections too, lies in a <details>, which
opens by click, by key, by a link into it and on paper. A notebook shows it as any other section.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)

OPENING = "Optional: "
LINE = "Read this section"


class optional_rest(nodes.General, nodes.Element):  # noqa: N801  (docutils names nodes in lower case)
    """What an optional section holds behind its first paragraph."""


def is_optional(section: nodes.section) -> bool:
    """Whether a section's title says so, and none around it does already."""
    title = section.next_node(nodes.title)
    around = section.parent
    while around is not None and not isinstance(around, optional_rest):
        around = around.parent
    return title is not None and title.astext().startswith(OPENING) and around is None


def fold(section: nodes.section) -> bool:
    """Fold what stands behind a section's first paragraph, in place; False without a paragraph."""
    seen = [child for child in section if not isinstance(child, nodes.Invisible | nodes.target)]
    if len(seen) < 2 or not isinstance(seen[1], nodes.paragraph):
        return False
    first = section.index(seen[1]) + 1
    rest = section.children[first:]
    if rest:
        del section[first:]
        section["classes"].append("optional")
        section += optional_rest("", *rest)
    return True


class OptionalSections(SphinxTransform):
    """Folds each optional section, the outer ones first."""

    default_priority = 950  # when directives, cells and labels have become what they are

    def apply(self) -> None:
        """Go through the page's sections."""
        for section in list(self.document.findall(nodes.section)):
            if is_optional(section) and not fold(section):
                LOGGER.warning(
                    "an optional section must begin with a paragraph that says what stands there",
                    location=section,
                )


def visit_rest(translator, node: optional_rest) -> None:
    """Open the fold-out; its line says which section, for who jumps from line to line."""
    title = node.parent.next_node(nodes.title).astext().removeprefix(OPENING)
    translator.body.append('<details class="optional-rest"><summary>')
    translator.body.append(f"{LINE}<span class='visually-hidden'>: ")
    translator.body.append(f"{translator.encode(title)}</span></summary>\n")


def depart_rest(translator, node: optional_rest) -> None:
    """Close it."""
    translator.body.append("</details>\n")


def setup(app: Sphinx) -> None:
    """Register node and transform."""
    app.add_node(optional_rest, html=(visit_rest, depart_rest))
    app.add_transform(OptionalSections)
