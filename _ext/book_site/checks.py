"""Check cells: in the page one folded line, which says in words what was checked.

A cell tagged `check` begins with a comment, `# Checked: equals the loop to 1e-12`, which may go on
over several lines. Its words become the summary of a <details>, `code` and $maths$ included, with a
mark that it passed when the page was built; the code without the comment, and what it printed, lie
below. A link to `#check-` and the cell's id leads to the line; the script opens it.
"""

import json
import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)

TAG = "check"
OPENING = "Checked: "
MARK = (
    '<span class="bk-passed" aria-hidden="true">✓</span>'
    '<span class="visually-hidden">Passed when this page was built. </span>'
)
INLINE = re.compile(r"(`[^`]+`|\$[^$]+\$)")


class check_cell(nodes.General, nodes.Element):  # noqa: N801  (docutils names nodes in lower case)
    """A folded check: its words, its code, its output."""


class check_words(nodes.TextElement):  # noqa: N801
    """The line that is seen."""


def words_and_code(source: str) -> tuple[str, str]:
    """The words of the comment that opens a check cell, and the code below it.

    Args:
        source: The cell's text.

    Returns:
        The words after "Checked: ", empty if the cell does not begin with them; the code.
    """
    lines = source.strip().splitlines()
    n_comments = next((k for k, line in enumerate(lines) if line[:1] != "#"), len(lines))
    comment = " ".join(line.removeprefix("#").strip() for line in lines[:n_comments])
    if not comment.startswith(OPENING):
        return "", source
    return comment.removeprefix(OPENING).strip(), "\n".join(lines[n_comments:]).strip()


def inline_nodes(words: str) -> Iterator[nodes.Node]:
    """Words in which `...` is code and $...$ is mathematics."""
    for part in INLINE.split(words):
        inner = part[1:-1]
        if part.startswith("`"):
            yield nodes.literal(inner, inner)
        elif part.startswith("$"):
            yield nodes.math(inner, inner)
        elif part:
            yield nodes.Text(part)


def has_passed(cell: nodes.container) -> bool:
    """Whether a cell was executed, and ended without an error."""
    outputs = cell.findall(nodes.literal_block)
    return cell.get("exec_count") is not None and not any(
        "traceback" in output["classes"] for output in outputs
    )


def fold(cell: nodes.container) -> check_cell | None:
    """Fold what a cell holds behind its words, in place; None if it has no words."""
    block = next(iter(cell.findall(nodes.literal_block)), None)
    words, code = words_and_code(block.astext()) if block is not None else ("", "")
    if not words:
        return None
    block.rawsource, block.children = code, []
    block += nodes.Text(code)
    line = check_words("", "")
    if has_passed(cell):
        line += nodes.raw("", MARK, format="html")
    line += nodes.inline("", "", nodes.strong("", OPENING.strip()), nodes.Text(" "))
    line[-1].extend(inline_nodes(words))
    folded = check_cell("", line, *cell.children)
    cell.children = []
    cell += folded
    return folded


class CheckCells(SphinxTransform):
    """Folds each cell tagged `check`."""

    default_priority = 402

    def apply(self) -> None:
        """Go through the page's cells."""
        found = [
            node
            for node in self.document.findall(nodes.container)
            if node.get("nb_element") == "cell_code"
            and TAG in node["cell_metadata"].get("tags", [])
        ]
        names = self.names() if found else []
        for cell in found:
            folded = fold(cell)
            if folded is None:
                LOGGER.warning("a check cell must begin with '# Checked: '", location=cell)
                continue
            folded["names"] = [names[cell["cell_index"]]]
            self.document.note_explicit_target(folded)

    def names(self) -> list[str]:
        """What a link calls the check in each cell of the notebook."""
        with open(self.env.doc2path(self.env.docname), encoding="utf-8") as notebook:
            return [f"check-{cell.get('id', '')}" for cell in json.load(notebook)["cells"]]


def visit_cell(translator, node: check_cell) -> None:
    """Open the fold-out."""
    translator.body.append(translator.starttag(node, "details", CLASS="check"))


def depart_cell(translator, node: check_cell) -> None:
    """Close it."""
    translator.body.append("</details>\n")


def visit_words(translator, node: check_words) -> None:
    """Open the line that is seen."""
    translator.body.append(translator.starttag(node, "summary", ""))


def depart_words(translator, node: check_words) -> None:
    """Close it."""
    translator.body.append("</summary>\n")


def setup(app: Sphinx) -> None:
    """Register nodes and transform."""
    app.add_node(check_cell, html=(visit_cell, depart_cell))
    app.add_node(check_words, html=(visit_words, depart_words))
    app.add_transform(CheckCells)
