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
from sphinx_external_toc.collectors import disable_builtin_toctree_collector

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
    """The stock collector of contents and figures, with chapter numbers from the file names."""

    changed = False  # whether a page was read anew or is gone

    def clear_doc(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        """Forget a page that is read anew or is gone."""
        super().clear_doc(app, env, docname)
        self.changed = True

    def get_updated_docs(self, app: Sphinx, env: BuildEnvironment) -> list[str]:
        """Number anew if a page changed: it takes all pages, also those that did not."""
        return super().get_updated_docs(app, env) if self.changed else []

    def assign_section_numbers(self, env: BuildEnvironment) -> list[str]:
        """Number the chapters; return the pages whose number changed."""
        before, env.toc_secnumbers = env.toc_secnumbers, {}
        for docname in env.found_docs:
            number = chapter_number(docname)
            if number is not None and docname in env.tocs:
                number_chapter(env, docname, number)
        return [name for name in env.tocs if env.toc_secnumbers.get(name) != before.get(name)]


def setup(app: Sphinx) -> None:
    """Take the other collectors' place.

    Beside ours, each of them would number the figures anew without a chapter's number: every page
    with a figure would then have changed, and be written again, at every build.
    """
    app.setup_extension("sphinx_external_toc")  # which has put a collector of its own there
    disable_builtin_toctree_collector(app)
    app.add_env_collector(ChapterNumbers)
