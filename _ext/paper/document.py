"""Stills of pages, joined into one document: one style, links inside, the solutions at its end."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import escape, unescape
from pathlib import Path

from playwright.sync_api import Browser
from playwright.sync_api import Page as Tab

import registry
from registry import Page

from .snapshot import Still

LONGEST = 900_000  # milliseconds; a whole book takes a while
STYLE = Path(__file__).parent / "paper.css"
TAG = re.compile(r"<[^>]+>")
ID = re.compile(r'\sid="([^"]+)"')
LINK = re.compile(r'<a\s[^>]*?href="#([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
MATHML = re.compile(r"<mjx-assistive-mml.*?</mjx-assistive-mml>", re.DOTALL)
SECTION = re.compile(r"<h2[^>]*>(.*?)</h2>", re.DOTALL)
LAST = ("Summary", "Exercises", "References")
NAMING = re.compile(r'<a class="pp-page" href="#([^"]*)"')


def plain(html: str) -> str:
    """The words of a piece of HTML."""
    return " ".join(unescape(TAG.sub("", html)).split())


def first_of_each(lists: Iterable[Iterable[str]]) -> list[str]:
    """What stands in any of the lists, once, in the order in which it is met."""
    return list(dict.fromkeys(one for each in lists for one in each))


def quoted(text: str) -> str:
    """A text as a string of a style sheet."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def head_of(name: str, words: str) -> str:
    """The rule that writes some words above the pages of this name."""
    return f"@page pp-{name} {{ @top-left {{ content: {quoted(words)}; }} }}"


def linked(
    html: str, pages: dict[str, Page], site: str, places: dict[str, str] | None = None
) -> str:
    """A document whose links lead somewhere: in it, to the site, or nowhere, as plain words.

    Args:
        html: The document; its links look like `#attention--masks`.
        pages: The book's pages, by their names.
        site: The address at which the site is published; empty if it is not known.
        places: The address of each place that a link may lead to, where they stand in several
            files; left out, the places of this document.
    """
    if places is None:
        places = {place: f"#{place}" for place in ID.findall(html)}

    def lead(link: re.Match) -> str:
        name, _, place = unescape(link[1]).partition("--")
        # What was there and is not printed: to the beginning of its page.
        address = places.get(unescape(link[1])) or places.get(f"{name}--")
        if address is None and site and name in pages:
            address = f"{site.rstrip('/')}/{pages[name].docname}.html{place and '#'}{place}"
        if address is None:
            return link[2]
        return link[0].replace(f'href="#{link[1]}"', f'href="{escape(address)}"', 1)

    return LINK.sub(lead, html)


def numbered(html: str, pages: dict[str, int]) -> str:
    """A document that names the pages of the places to which its contents and exercises lead."""
    return NAMING.sub(lambda link: f'{link[0]} data-page="{pages.get(link[1], "000")}"', html)


def with_places(part: str, places: set[str]) -> str:
    """A part of a document with a link to each of these places in it: a print then knows them."""
    links = (f'<a href="#{place}"></a>' for place in ID.findall(part) if place in places)
    return f"{part}<nav hidden>{''.join(links)}</nav>"


def article(still: Still, *, after: str = "") -> str:
    """A page of the book, with its own words above its sheets."""
    name = still.page.name
    shared = "library" if is_library(still.page) else name
    return (
        f'<article class="bk-article pp-article" id="{name}--" style="page: pp-{shared}">'
        f"{still.html}{after}</article>"
    )


def solutions(stills: list[Still]) -> str:
    """The solutions of all chapters, at the end of the book."""
    parts = [
        f'<section class="pp-solutions"><h2>{still.title}</h2>{still.solutions}</section>'
        for still in stills
        if still.solutions
    ]
    return (
        '<article class="bk-article pp-article" id="solutions--" style="page: pp-solutions">'
        f"<h1>Solutions</h1>{''.join(parts)}</article>"
    )


@contextmanager
def opened(browser: Browser, html: str, folder: Path, **options) -> Iterator[Tab]:
    """A document in a tab of the browser.

    Args:
        browser: Chromium.
        html: The document.
        folder: Where it lies for as long as it is open.
        options: More for `Browser.new_page`.
    """
    tab = browser.new_page(color_scheme="light", **options)
    source = folder / "print.html"
    try:
        source.write_text(html, encoding="utf-8")
        tab.set_default_timeout(LONGEST)
        tab.goto(source.as_uri(), timeout=LONGEST)
        tab.evaluate("() => document.fonts.ready")
        yield tab
    finally:
        source.unlink(missing_ok=True)
        tab.close()


def sections_of(still: Still) -> list[str]:
    """The titles of a chapter's sections that make up its core, as HTML."""
    if still.page.number is None:
        return []
    titles = SECTION.findall(still.html)
    return [one for one in titles if not one.startswith("Optional") and one not in LAST]


def is_library(page: Page) -> bool:
    """Whether it is a page of the library's reference."""
    return page.name.startswith("library")


def apart(stills: list[Still]) -> tuple[list[Still], list[Still]]:
    """What is read, and the library's reference, a third of the sheets, in which one looks up."""
    return (
        [still for still in stills if not is_library(still.page)],
        [still for still in stills if is_library(still.page)],
    )


def contents(stills: list[Still]) -> str:
    """The list of the pages, by parts, each with room for its number, and a chapter's sections."""

    def line(name: str, title: str, sections: list[str] = ()) -> str:
        more = f'<p class="pp-sections">{" · ".join(sections)}</p>' if sections else ""
        return f'<li><a class="pp-page" href="#{name}--">{title}</a>{more}</li>'

    def part(caption: str, there: list[Still]) -> list[str]:
        head = [f'<li class="pp-part">{caption}</li>'] if caption and there else []
        return head + [line(one.page.name, one.title, sections_of(one)) for one in there]

    read, looked_up = apart(stills)
    known = {still.page.name: still for still in read}
    lines = []
    for caption, pages in registry.parts():
        lines += part(caption, [known[page.name] for page in pages if page.name in known])
    lines.append(line("solutions", "Solutions"))
    lines += part("Appendix", looked_up)
    return f'<nav class="bk-article pp-contents"><h1>Contents</h1><ol>{"".join(lines)}</ol></nav>'


def document(title: str, body: str, stills: list[Still], *, mathml: bool = False) -> str:
    """One HTML document with the styles of all its stills.

    Args:
        title: Its title.
        body: Its text, in which the stills stand.
        stills: The pages in it.
        mathml: Whether the MathML behind its formulas stays. On paper a formula is read out by its
            label, and its MathML would stand there a second time.
    """
    links = [
        f'<link rel="stylesheet" href="{escape(sheet)}">'
        for sheet in first_of_each(still.sheets for still in stills)
    ]
    links += [
        f'<script src="{escape(script)}"></script>'
        for script in first_of_each(still.fonts for still in stills)
    ]
    heads = first_of_each([head_of(still.page.name, plain(still.title))] for still in stills)
    styles = [
        *first_of_each(still.styles for still in stills),
        *first_of_each(still.maths for still in stills),
        STYLE.read_text(encoding="utf-8"),
        *heads,
        head_of("solutions", "Solutions"),
    ]
    return (
        '<!doctype html>\n<html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>{''.join(links)}<style>{chr(10).join(styles)}</style>"
        f'</head><body class="pp">{body if mathml else MATHML.sub("", body)}</body></html>'
    )


def chapter(still: Still, about: str) -> list[str]:
    """A page alone: its text, and the solutions of its exercises behind it.

    Args:
        still: The page.
        about: What stands small under its title: of which book it is.
    """
    after = (
        f'<section class="pp-solutions"><h2>Solutions</h2>{still.solutions}</section>'
        if still.solutions
        else ""
    )
    text = article(still, after=after)
    return [text.replace("</h1>", f'</h1><p class="pp-about">{about}</p>', 1)]


def book(stills: list[Still], front: str) -> list[str]:
    """The whole book, each part of it on new sheets.

    A title page, the contents, all pages, the solutions; the library's reference is an appendix, so
    that glossary, references and solutions do not stand behind it.

    Args:
        stills: The pages, in their order.
        front: The title page, as HTML.
    """
    read, looked_up = ([article(still) for still in some] for some in apart(stills))
    return [front, contents(stills), *read, solutions(stills), *looked_up]
