"""The map of the book leads to the pages of the chapters, by their numbers.

`softlookup.show.book_map` marks each link with the names of its chapter and of those to read before
it, `data-chapter="attention" data-needs="soft_lookup"`. Only here, when the site is built, is it
known which numbers they have and where their pages are. On the front page each box has a small
picture of its chapter as well.
"""

import re
from collections.abc import Mapping

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import registry

from .thumbnails import map_picture

LINK = re.compile(
    r'(<a class="bm-node[^>]*) data-chapter="(?P<name>\w+)" data-needs="(?P<needs>[\w ]*)" '
    r'href="[^"]*">(?P<label>.*?<span class="bm-where">)[^<]*</span>'
)

BOX = re.compile(
    r'<a class="bm-node[^>]* id="map-(?P<box>[\w-]+)" data-chapter="(?P<number>\d+)"[^>]*>'
)


def linked(html: str, numbers: Mapping[str, int], addresses: Mapping[str, str]) -> str:
    """The map with its links led on, and with numbers for names.

    Args:
        html: What `softlookup.show.book_map` wrote.
        numbers: The number of each chapter, by name.
        addresses: The address of each chapter's page, by name.

    Raises:
        ValueError: The map names a chapter that does not exist.
    """

    def lead(link: re.Match) -> str:
        name, needs = link["name"], link["needs"].split()
        if unknown := {name, *needs} - numbers.keys():
            raise ValueError(f"the map of the book names no chapter: {', '.join(sorted(unknown))}")
        before = " and ".join(str(number) for number in sorted(numbers[need] for need in needs))
        after = f", after {before}" if before else ""
        where = f"chapter {numbers[name]}{after}"
        start = f'{link[1]} data-chapter="{numbers[name]}" href="{addresses[name]}">'
        return f"{start}{link['label']}{where}</span>"

    return LINK.sub(lead, html)


def with_pictures(html: str) -> list[nodes.Element]:
    """The map with room for a picture at the beginning of each box.

    Args:
        html: What `linked` wrote.
    """
    pages = {page.number: page.docname for page in registry.chapters()}
    parts, end = [], 0
    for box in BOX.finditer(html):
        picture = map_picture(box=box["box"], page=pages[int(box["number"])])
        parts += [_raw(html[end : box.end()]), picture]
        end = box.end()
    return [*parts, _raw(html[end:])]


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


class BookMapLinks(SphinxTransform):
    """Leads the links of the map on, after the figures were numbered."""

    default_priority = 402

    def apply(self) -> None:
        """Go through the raw HTML of the page."""
        for raw in list(self.document.findall(nodes.raw)):
            if 'class="bm-bands"' in raw.astext():
                self.env.note_dependency(str(registry.ROOT / "_toc.yml"))
                numbers = {page.name: page.number for page in registry.chapters()}
                html = linked(raw.astext(), numbers, self.addresses())
                on_front = self.env.docname == self.env.config.root_doc
                raw.replace_self(with_pictures(html) if on_front else [_raw(html)])

    def addresses(self) -> dict[str, str]:
        """The addresses of the chapters in this build, as seen from this page."""
        builder, here = self.env.app.builder, self.env.docname
        return {
            page.name: builder.get_relative_uri(here, page.docname) or "#"  # this very page
            for page in registry.chapters()
        }


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_transform(BookMapLinks)
