"""Chapters on the site have the numbers and the titles of the registry, in headings and in links.

Sphinx keeps section numbers in `env.toc_secnumbers` and derives the numbers of figures, tables,
equations and exercises from them: filling that dictionary by hand is enough.

A link may name a page as docstrings do, wherever it stands: `[chapter {number}](limits#memory)`.
With no text, as in `[](limits)`, it reads as the page's title. Where no link is wanted, the role
`number` writes a chapter's number, and the directive `chapters` lists all titles.
"""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx_external_toc.collectors import disable_builtin_toctree_collector

import registry


def number_chapter(env: BuildEnvironment, docname: str, number: int) -> None:
    """Give the page's title the number; sections inside a chapter carry none."""
    references = list(env.tocs[docname].findall(nodes.reference))
    numbers = {reference["anchorname"]: () for reference in references}
    env.toc_secnumbers[docname] = {**numbers, "": (number,)}
    env.titles[docname]["secnumber"] = (number,)
    for reference in references:
        if reference["anchorname"] == "":
            reference["secnumber"] = (number,)


def number_by_page(numbers: dict[str, dict[str, tuple[int, ...]]]) -> None:
    """Count a page's figures, tables and the like from 1, each kind by itself, in their order."""
    for kind in numbers.values():
        kind.update({anchor: (k,) for k, anchor in enumerate(kind, start=1)})


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
        for chapter in registry.chapters():
            if chapter.docname in env.tocs:
                number_chapter(env, chapter.docname, chapter.number)
        return [name for name in env.tocs if env.toc_secnumbers.get(name) != before.get(name)]

    def assign_figure_numbers(self, env: BuildEnvironment) -> list[str]:
        """Number the figures; return the pages whose numbers changed.

        Sphinx counts through all pages without a chapter's number, as if they were one.
        """
        before = env.toc_fignumbers
        super().assign_figure_numbers(env)
        for name, numbers in env.toc_fignumbers.items():
            if not env.toc_secnumbers.get(name):
                number_by_page(numbers)
        return [name for name in env.tocs if env.toc_fignumbers.get(name) != before.get(name)]


class PageLinks(SphinxTransform):
    """Leads links that name a page, as in `[chapter {number}](limits#memory)`, to its file."""

    default_priority = 403

    def apply(self) -> None:
        """Go through the links that lead to no file."""
        pages = registry.by_name()
        for link in list(self.document.findall(pending_xref)):
            name, _, anchor = link["reftarget"].partition("#")
            if link["reftype"] == "myst" and not link.get("refdomain") and name in pages:
                self.env.note_dependency(str(registry.ROOT / "_toc.yml"))
                self.lead(link, pages[name], anchor)

    def lead(self, link: pending_xref, page: registry.Page, anchor: str) -> None:
        """Make of a link what MyST makes of one with a path, and write the number into its text."""
        link["refdomain"], link["reftarget"] = "doc", page.docname
        link["reftargetid"] = anchor or None
        for text in list(link.findall(nodes.Text)):
            if "{number}" in text:
                filled = text.replace("{number}", str(page.number))
                text.parent.replace(text, nodes.Text(filled))


class Number(SphinxRole):
    """``{number}`limits` ``: the number of a chapter."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Write the number; no such chapter is a warning."""
        page = registry.by_name().get(self.text)
        if page is None or page.number is None:
            message = self.inliner.reporter.error(f"no chapter is named {self.text!r}")
            return [], [message]
        self.env.note_dependency(str(registry.ROOT / "_toc.yml"))
        return [nodes.Text(str(page.number))], []


class Chapters(SphinxDirective):
    """`{chapters}`: the titles of all chapters, numbered, each a link."""

    def run(self) -> list[nodes.Node]:
        """Write the list as an author would."""
        self.env.note_dependency(str(registry.ROOT / "_toc.yml"))
        items = [f"{page.number}. [{page.title}]({page.name})" for page in registry.chapters()]
        parent = nodes.Element()
        lines = StringList(["{.bk-chapters}", *items], source=self.get_source_info()[0])
        self.state.nested_parse(lines, self.content_offset, parent)
        return parent.children


def setup(app: Sphinx) -> None:
    """Take the other collectors' place.

    Beside ours, each of them would number the figures anew without a chapter's number: every page
    with a figure would then have changed, and be written again, at every build.
    """
    app.setup_extension("sphinx_external_toc")  # which has put a collector of its own there
    disable_builtin_toctree_collector(app)
    app.add_env_collector(ChapterNumbers)
    app.add_transform(PageLinks)
    app.add_role("number", Number())
    app.add_directive("chapters", Chapters)
