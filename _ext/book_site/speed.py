"""What makes Sphinx slow where pages have thousands of nodes, and is mended here.

- For each link to a figure, a table or an exercise, Sphinx reads the page of what it leads to anew,
  whole. The book has hundreds of such links: the pages that were read for them are kept.
- Nodes of `{eval-rst}` belong to a document that MyST makes for them. It is stored with its page,
  and holds all that Sphinx knows of the book: 25 MB beside each page of the library. They are given
  to the page.
- Python looks for garbage after every 700 objects, and a page that is read has a hundred thousand.
"""

import gc
from functools import lru_cache

from sphinx.application import Sphinx
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform

KEPT = 4
"""So many pages at a time; most links lead to their own page."""
OBJECTS = 50_000
"""Python looks for garbage when there are so many more."""


class Pages:
    """A build environment that keeps the pages it has read, which must be left as they are."""

    def __init__(self, env: BuildEnvironment) -> None:
        self.env, self.get_doctree = env, lru_cache(KEPT)(env.get_doctree)

    def __getattr__(self, name: str) -> object:
        return getattr(self.env, name)


class NumberedPlaces(StandardDomain):
    """Sphinx's own domain, whose links by number look into pages that are kept."""

    pages: Pages | None = None

    def resolve_xref(self, env, fromdocname, builder, typ, target, node, contnode):
        if typ == "numref":
            self.pages = self.pages or Pages(env)
            env = self.pages
        return super().resolve_xref(env, fromdocname, builder, typ, target, node, contnode)


class OneDocument(SphinxTransform):
    """Gives a page all nodes that stand on it."""

    default_priority = 999

    def apply(self) -> None:
        """Go through the nodes that belong to another document."""
        for node in self.document.findall():
            if node.document is not self.document:
                node.document = self.document


def setup(app: Sphinx) -> None:
    """Register all three."""
    app.add_domain(NumberedPlaces, override=True)
    app.add_transform(OneDocument)
    gc.set_threshold(OBJECTS, 20, 20)
