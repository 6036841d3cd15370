"""Chapter numbers from file names: `chapters/11_attention` is chapter 11.

A chapter keeps its number wherever `_toc.yml` puts it. Sphinx keeps section numbers in
`env.toc_secnumbers` and derives the numbers of figures, tables, equations and exercises from them:
filling that dictionary by hand is enough.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector

CHAPTER = re.compile(r"^chapters/(\d\d)_")


def chapter_number(docname: str) -> int | None:
    """The chapter's number, or None for a page that is not a chapter."""
    match = CHAPTER.match(docname)
    return int(match.group(1)) if match else None


def number_chapter(env: BuildEnvironment, docname: str, number: int) -> None:
    """Give the page's title the number; sections inside a chapter carry none."""
    references = list(env.tocs[docname].findall(nodes.reference))
    numbers = {reference["anchorname"]: () for reference in references}
    env.toc_secnumbers[docname] = {**numbers, "": (number,)}
    env.titles[docname]["secnumber"] = (number,)
    for reference in references:
        if reference["anchorname"] == "":
            reference["secnumber"] = (number,)


class ChapterNumbers(TocTreeCollector):
    """Takes over the numbering of the stock collector, and nothing else of it."""

    def clear_doc(self, app, env, docname) -> None:
        """Leave it to the stock collector."""

    def merge_other(self, app, env, docnames, other) -> None:
        """Leave it to the stock collector."""

    def process_doc(self, app, doctree) -> None:
        """Leave it to the stock collector."""

    def assign_section_numbers(self, env: BuildEnvironment) -> list[str]:
        """Number the chapters; return the pages whose number changed."""
        changed = []
        for docname in env.found_docs:
            number = chapter_number(docname)
            if number is None or docname not in env.tocs:
                continue
            if env.titles[docname].get("secnumber") != (number,):
                changed.append(docname)
            number_chapter(env, docname, number)
        return changed


def setup(app: Sphinx) -> None:
    """Run after the stock collector, which forgets all numbers on every build."""
    app.add_env_collector(ChapterNumbers)
