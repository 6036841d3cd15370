"""The map of the book leads to chapters that are written, and to the lecture map for the others.

`softlookup.show.book_map` marks each link with the number of its chapter, `data-chapter="3"`. Only
here, when the site is built, is it known which chapters there are.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import lecture_map

LINK = re.compile(r'<a class="(?P<kind>bm-node[^"]*)"(?P<rest>[^>]*) href="[^"]*">')
CHAPTER = re.compile(r'data-chapter="(\d+)"')
MARK = "bm-written"


def linked(html: str, pages: Mapping[int, str], fallback: str) -> str:
    """The map with its links led on.

    Args:
        html: What `softlookup.show.book_map` wrote.
        pages: The address of each written chapter, by number.
        fallback: The address of the lecture map.
    """

    def led_on(link: re.Match) -> str:
        number = int(CHAPTER.search(link["rest"]).group(1))
        written = number in pages
        kind = f"{link['kind']} {MARK}" if written else link["kind"]
        target = pages[number] if written else f"{fallback}#map-chapter-{number}"
        return f'<a class="{kind}"{link["rest"]} href="{target}">'

    return LINK.sub(led_on, html)


class BookMapLinks(SphinxTransform):
    """Leads the links of the map on, after the figures were numbered."""

    default_priority = 402

    def apply(self) -> None:
        """Go through the raw HTML of the page."""
        for raw in self.document.findall(nodes.raw):
            if 'class="bm-bands"' in raw.astext():
                raw.replace_self(nodes.raw("", self.page(raw.astext()), format="html"))

    def page(self, html: str) -> str:
        """The map's HTML, with the addresses of this build as seen from this page."""
        env = self.env
        env.note_dependency(str(lecture_map.ROOT / "_toc.yml"))
        env.note_dependency(str(lecture_map.ROOT / "chapters" / "concepts.yml"))

        def address(name: str) -> str:
            uri = env.app.builder.get_relative_uri(env.docname, f"chapters/{name}")
            return uri or "#"  # this very page

        files: dict[int, Path] = lecture_map.chapter_files()
        pages = {number: address(path.stem) for number, path in files.items()}
        return linked(html, pages, address("lecture_map"))


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_transform(BookMapLinks)
