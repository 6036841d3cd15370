"""The map of the book leads to the pages of the chapters.

`softlookup.show.book_map` marks each link with the number of its chapter, `data-chapter="3"`. Only
here, when the site is built, is it known what the pages are called.
"""

import re
from collections.abc import Mapping

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import lecture_map

LINK = re.compile(r'(<a class="bm-node[^>]* data-chapter="(\d+)") href="[^"]*">')


def linked(html: str, pages: Mapping[int, str]) -> str:
    """The map with its links led on.

    Args:
        html: What `softlookup.show.book_map` wrote.
        pages: The address of each chapter, by number.
    """
    return LINK.sub(lambda link: f'{link[1]} href="{pages[int(link[2])]}">', html)


class BookMapLinks(SphinxTransform):
    """Leads the links of the map on, after the figures were numbered."""

    default_priority = 402

    def apply(self) -> None:
        """Go through the raw HTML of the page."""
        for raw in self.document.findall(nodes.raw):
            if 'class="bm-bands"' in raw.astext():
                html = linked(raw.astext(), self.pages())
                raw.replace_self(nodes.raw("", html, format="html"))

    def pages(self) -> dict[int, str]:
        """The addresses of the chapters in this build, as seen from this page."""
        self.env.note_dependency(str(lecture_map.ROOT / "_toc.yml"))
        builder, here = self.env.app.builder, self.env.docname
        return {
            number: builder.get_relative_uri(here, f"chapters/{path.stem}") or "#"  # this very page
            for number, path in lecture_map.chapter_files().items()
        }


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_transform(BookMapLinks)
