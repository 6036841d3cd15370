"""The rows of the lecture map: one line a concept, one line a slide, and the filter above them.

`lecture_map.py` makes the page's sections. Their rows are written when every page has been read,
since only then the numbers of figures and exercises are known. Without the script, which
filters them (`_static/lecture_map.js`), the whole map stands there, by chapter and by lecture.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from html import escape

from docutils import nodes
from sphinx.application import Sphinx

import lecture_map
from registry import Page, chapters

from . import library
from .entries import LECTURES as SHORT
from .places import Exercise, Place, Places, exercises_for
from .search import number_of

NAMES = dict(zip(lecture_map.LECTURES, SHORT, strict=True))
N_TERMS = 4
"""So many terms of a section stand in a row, those first that share a word with the concept."""
HEADS = {
    "concepts": ("Concept", "Slides", "In the chapter", "Library and tests"),
    "slides": ("Slide", "In the book"),
}
FORM = """<form class="map-filter" aria-label="Filter the map" hidden>
<label>Find <input type="search" name="words" autocomplete="off" spellcheck="false"></label>
<label>Lecture <select name="lecture"><option value="">all</option>{lectures}</select></label>
<label>Order <select name="order"><option value="chapter">by chapter</option>
<option value="lecture">by lecture and slide</option></select></label>
<button type="button" class="bk-button">Clear</button>
<output></output>
</form>"""


def link(address: str, text: str) -> str:
    """A link."""
    return f'<a href="{escape(address)}">{escape(text)}</a>'


def code(name: str) -> str:
    """A dotted name as code, which may break after a dot or an underline."""
    breakable = re.sub(r"([._])", r"\1<wbr>", escape(name))
    return f"<code>{breakable}</code>"


def words_of_test(test: str) -> str:
    """What a test holds, in words: its function's name without the underscores."""
    return test.split("::test_")[1].replace("_", " ")


def slides_html(row: dict) -> str:
    """The slides of a concept, by lecture."""
    lines = []
    for lecture, found in lecture_map.titles(row).items():
        told = (f"{title} ({remark})" if remark else title for title, remark in found)
        lines.append(f"<p>{of(NAMES[lecture])} {escape('; '.join(told))}</p>")
    return "".join(lines)


def of(text: str) -> str:
    """What a line is about, in front of it."""
    return f'<span class="map-of">{text}</span>'


class Rows:
    """Writes the rows of a page of the site.

    Args:
        app: The build, whose pages have all been read.
        docname: The page on which the rows stand.
    """

    def __init__(self, app: Sphinx, docname: str) -> None:
        self.app, self.env, self.docname = app, app.env, docname
        self.rows = lecture_map.concepts()
        self.by_slide = defaultdict(list)
        for row in self.rows:
            for lecture, found in lecture_map.titles(row).items():
                for title in dict.fromkeys(title for title, _ in found):
                    self.by_slide[lecture, title].append(row)

    def address(self, docname: str, anchor: str) -> str:
        """A place in the book as seen from this page."""
        return f"{self.app.builder.get_relative_uri(self.docname, docname)}#{anchor}"

    def read(self, page: Page) -> tuple[list[Place], list[Exercise]]:
        """What was kept of a chapter."""
        return Places.kept(self.env).get(page.docname, ([], []))

    def places(self, page: Page, row: dict) -> list[Place]:
        """Where a chapter settles a concept."""
        return [place for place in self.read(page)[0] if row["id"] in place.concepts]

    def concept(self, page: Page, row: dict) -> str:
        """A row of the first view: a concept and all that belongs to it."""
        places = self.places(page, row)
        name = self.concept_link(page, row)
        cells = (slides_html(row), self.chapter_html(page, row, places), self.library_html(row))
        labels = HEADS["concepts"][1:]
        body = "".join(
            f'<div><b class="map-label">{label}</b>{cell}</div>'
            for label, cell in zip(labels, cells, strict=True)
        )
        lectures = " ".join(row["slides"])
        return (
            f'<li id="concept-{row["id"]}" data-lectures="{lectures}">'
            f'<div class="map-name">{name}</div>{body}</li>'
        )

    def library_html(self, row: dict) -> str:
        """What of the library settles a concept, and what its tests hold."""
        names = ", ".join(map(self.name_html, row.get("names", [])))
        tests = escape("; ".join(words_of_test(test) for test in row.get("tests", [])))
        parts = [f"<p>{names}</p>"] if names else []
        return "".join([*parts, f'<p class="map-tests">{tests}</p>'] if tests else parts)

    def name_html(self, name: str) -> str:
        """A name of the library, as a link to its entry if it has one."""
        path = f"softlookup.{name}"
        page = library.places().get(path)
        return f'<a href="{self.address(page, path)}">{code(name)}</a>' if page else code(name)

    def chapter_html(self, page: Page, row: dict, places: list[Place]) -> str:
        """Sections with their cells and figures, then exercises and terms."""
        parts = [self.section_html(page, group) for group in by_section(places)]
        exercises = [
            link(
                self.address(page.docname, one.label),
                number_of(self.env, page.docname, "exercise", one.label),
            )
            for one in exercises_for(row, places, self.read(page)[1])
        ]
        terms = list(self.terms(row, places))
        parts += [", ".join(exercises)] if exercises else []
        parts += [f"{of('Terms')} {', '.join(terms)}"] if terms else []
        return "".join(f"<p>{part}</p>" for part in parts)

    def section_html(self, page: Page, places: list[Place]) -> str:
        """A section, its cells that settle the concept, and the figures nearest to them."""
        first = places[0]
        parts = [link(self.address(page.docname, first.section), first.title)]
        for is_check, text in ((False, "the code"), (True, "what was checked")):
            cells = [place for place in places if place.is_check == is_check]
            for k, place in enumerate(cells, start=1):
                told = text if k == 1 else f"{text} ({k})"
                parts.append(link(self.address(page.docname, place.anchor), told))
        for figure in dict.fromkeys(place.figure for place in places if place.figure):
            address = self.address(page.docname, figure)
            parts.append(link(address, self.figure_name(page, figure)))
        return ", ".join(parts)

    def figure_name(self, page: Page, figure: str) -> str:
        """What a figure or a table is called."""
        tables = self.env.toc_fignumbers.get(page.docname, {}).get("table", ())
        kind = "table" if figure in tables else "figure"
        return number_of(self.env, page.docname, kind, figure)

    def terms(self, row: dict, places: list[Place]) -> Iterator[str]:
        """Links to the glossary: the terms of the sections, the concept's own first."""
        own = set(re.findall(r"\w{3,}", f"{row['id']} {lecture_map.name_of(row)}".lower()))
        found = list(dict.fromkeys(term for place in places for term in place.terms))
        found.sort(key=lambda term: not own & set(re.findall(r"\w{3,}", term.lower())))
        for term in found[:N_TERMS]:
            node = self.env.get_domain("std").resolve_xref(
                self.env,
                self.docname,
                self.app.builder,
                "term",
                term,
                nodes.Element(),
                nodes.Text(term),
            )
            if node is not None:
                yield link(node["refuri"], term)

    def slide(self, lecture: str, title: str) -> str:
        """A row of the second view: a slide and its concepts."""
        parts = []
        for page, found in by_chapter(self.by_slide[lecture, title]):
            told = "; ".join(self.concept_link(page, row) for row in found)
            parts.append(f"<p>{of(f'Chapter {page.number}')} {told}</p>")
        settled = "".join(parts) or f"<p>{of('nothing to compute')}</p>"
        return (
            f'<li data-lectures="{lecture}"><div class="map-name">{escape(title)}</div>'
            f"<div>{settled}</div></li>"
        )

    def concept_link(self, page: Page, row: dict) -> str:
        """A link to the first cell that settles a concept."""
        place = self.places(page, row)[0]
        return link(self.address(page.docname, place.anchor), lecture_map.name_of(row))

    def html(self, group: lecture_map.map_rows) -> str:
        """What stands in the place of a group: its rows, or the filter for all of them."""
        if lecture := group.get("lecture"):
            return listed("slides", [self.slide(lecture, t) for t in lecture_map.slides()[lecture]])
        if docname := group.get("page"):
            page = next(page for page in chapters() if page.docname == docname)
            settled = lecture_map.sections(page.path)
            return listed(
                "concepts", [self.concept(page, row) for row in self.rows if row["id"] in settled]
            )
        options = [f'<option value="{key}">{key} {name}</option>' for key, name in NAMES.items()]
        return FORM.format(lectures="".join(options))


def by_section(places: list[Place]) -> list[list[Place]]:
    """The places that share a section, together."""
    groups: dict[str, list[Place]] = {}
    for place in places:
        groups.setdefault(place.section, []).append(place)
    return list(groups.values())


def by_chapter(rows: list[dict]) -> list[tuple[Page, list[dict]]]:
    """Rows under the chapters that settle them, in the order of the book."""
    homes = lecture_map.homes()
    groups = {page: [row for row in rows if homes.get(row["id"]) == page] for page in chapters()}
    return [(page, found) for page, found in groups.items() if found]


def listed(kind: str, rows: list[str]) -> str:
    """Rows under the heads of their columns."""
    heads = "".join(f"<span>{head}</span>" for head in HEADS[kind])
    lines = [
        f'<div class="map-head map-{kind}" aria-hidden="true">{heads}</div>',
        f'<ul class="map-rows map-{kind}">',
        *rows,
        "</ul>",
    ]
    return "\n".join(lines)


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the rows of the page that holds the map."""
    groups = list(doctree.findall(lecture_map.map_rows))
    rows = Rows(app, docname) if groups else None
    for group in groups:
        group.replace_self(nodes.raw("", rows.html(group), format="html"))


def setup(app: Sphinx) -> None:
    """Fill the page once references can be resolved."""
    app.connect("doctree-resolved", fill)
