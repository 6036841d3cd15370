"""What stands in the band beside the text: notes on slides, and cards for terms and references.

A note on a slide moves there where it has room: beside text, and beside code and figures that are
no wider. The room is estimated from the lengths of text and code; where the estimate is short, wide
things wait below the note (`_static/margin.css`). On a narrow page it stays where it was written.

A link to a term of the glossary or to a reference gets a card with the definition or the entry. The
page holds the cards of its own links and no others; `_static/margin.js` shows them.
"""

import html
import math
import re
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag
from docutils import nodes
from sphinx.application import Sphinx

# In pixels and characters, as the style sheets set text and notes.
LINE, GAP, CHARACTERS = 29, 20, 68
NOTE_LINE, NOTE_HEAD, NOTE_CHARACTERS = 19, 40, 31
CODE_LINE, CODE_CHARACTERS = 20, 75
MEASURE, REM = 568, 16
PLAIN = {"p", "ul", "ol", "blockquote", "dl", "h3"}
DRAWING = re.compile(r'<svg [^>]*width: ([\d.]+)px[^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"')
TERM = re.compile(r"#(term-[\w-]+)$")
MARKED = {nodes.emphasis: "em", nodes.strong: "strong", nodes.literal: "code"}


def code_height(html: str) -> float | None:
    """How tall a box of code or of printed text is; None where it is wider than the text."""
    lines = re.sub(r"<[^>]*>", "", html).replace("&lt;", "<").strip().split("\n")
    wide = max(map(len, lines)) > CODE_CHARACTERS
    return None if wide else len(lines) * CODE_LINE + GAP


def drawing_height(html: str) -> float | None:
    """How tall a still figure is; None where it is wider than the text."""
    size = DRAWING.search(html)
    if size is None:
        return None
    width, across, down = map(float, size.groups())
    return None if width > MEASURE else width * down / across + GAP


def cell_height(cell: Tag, kept: list[str]) -> float | None:
    """How tall a cell is, its code, its output and its figure; None where one of them is wide."""
    if cell.find(("table", "form", "img")) or cell.select(".sl-body, .admonition:not(.hide)"):
        return None
    total = float(GAP)
    total += LINE * len(cell.find_all("details"))
    for mark in cell.find_all("bk-kept"):
        html = kept[int(mark.get_text())]
        if mark.find_parent("details") or html.startswith(("<style", "<script")):
            continue
        tall = drawing_height(html) if html.startswith("<svg") else code_height(html)
        if tall is None:
            return None
        total += tall
    captions = cell.find_all("figcaption")
    return total + sum(LINE * math.ceil(len(one.get_text()) / CHARACTERS) for one in captions)


def height(element: Tag, kept: list[str]) -> float | None:
    """About how tall an element is beside the margin, in pixels; None where it may be wide."""
    if "cell" in element.get("class", []):
        return cell_height(element, kept)
    if "math" in element.get("class", []):
        return 3.0 * LINE
    if element.name not in PLAIN or element.find(("table", "figure", "bk-kept")):
        return None
    parts = element.find_all("li") or [element]
    lines = sum(math.ceil(len(part.get_text()) / CHARACTERS) for part in parts)
    return float(lines * LINE + GAP)


def room(siblings: Iterator, kept: list[str]) -> float:
    """The height of what is as narrow as the text from here on, up to the first wide thing."""
    total = 0.0
    for sibling in siblings:
        if not isinstance(sibling, Tag) or sibling.name == "span":
            continue
        if "bk-note" in sibling.get("class", []):
            break
        tall = height(sibling, kept)
        if tall is None:
            break
        total += tall
    return total


def place_notes(soup: BeautifulSoup, kept: list[str]) -> None:
    """Move the notes on slides into the margin, if there is room beside text, above or below.

    Args:
        soup: The page's body, with marks in the places of drawings and code.
        kept: Those drawings and that code, see ``hide_opaque`` in ``markup.py``.
    """
    for cell in soup.select("div.cell"):
        if cell_height(cell, kept) is not None:
            cell["class"] = [*cell["class"], "bk-narrow"]
    for note in soup.select("div.admonition.erratum"):
        if note.find_parent(class_=("admonition", "proof", "cell")) or note.find(class_="cell"):
            continue
        need = NOTE_HEAD + NOTE_LINE * math.ceil(len(note.get_text()) / NOTE_CHARACTERS)
        below, above = (room(way, kept) for way in (note.next_siblings, note.previous_siblings))
        up = max(0.0, need - 0.9 * below)
        if up > 0.8 * above:
            continue
        note["class"] = [*note["class"], "bk-note"]
        note["style"] = f"--up: {-up / REM:.1f}rem"


def definitions(app: Sphinx) -> dict[str, str]:
    """The glossary's definitions as HTML, each by the address of its term."""
    terms = app.env.domaindata["std"]["objects"].items()
    pages = {page for (kind, _), (page, _) in terms if kind == "term"}
    found = {}
    for page in sorted(pages):
        for item in app.env.get_doctree(page).findall(nodes.definition_list_item):
            definition = next(iter(item.findall(nodes.definition)), None)
            names = [term for term in item.findall(nodes.term) if term["ids"]]
            if definition is None or not names:
                continue
            text = f"<b>{html.escape(names[0].astext())}</b> {inline(definition)}"
            found |= {anchor: text for name in names for anchor in name["ids"]}
    return found


def inline(node: nodes.Node) -> str:
    """A definition's words as HTML without links: a card holds nothing to press."""
    if isinstance(node, nodes.Text):
        return html.escape(node.astext(), quote=False)
    if isinstance(node, nodes.math):
        formula = html.escape(node.astext(), quote=False)
        return f'<span class="math notranslate nohighlight">\\({formula}\\)</span>'
    inner = "".join(inline(child) for child in node.children)
    tag = MARKED.get(type(node))
    return f"<{tag}>{inner}</{tag}>" if tag else f"{inner} " if _is_block(node) else inner


def _is_block(node: nodes.Node) -> bool:
    return isinstance(node, nodes.paragraph | nodes.list_item)


def add_cards(soup: BeautifulSoup, terms: dict[str, str]) -> None:
    """Give the links to terms and references their cards, which stand at the page's end."""
    cards: dict[str, str] = {}
    for link in soup.find_all("a", href=True):
        term = TERM.search(link["href"])
        if link.find_parent(class_="bk-letters"):
            continue  # a letter stands for all of its terms
        if term and term[1] in terms:
            name, words = f"card-{term[1]}", terms[term[1]]
        elif link.get("title") and link.find_parent(class_="bibtex-citation"):
            name = "card-" + re.sub(r"\W+", "-", link["href"].rpartition("#")[2])
            words = html.escape(link["title"])
            del link["title"]  # or the browser shows it beside the card
        else:
            continue
        cards[name] = words
        link["data-card"] = link["aria-describedby"] = name
    if not cards:
        return
    box = soup.new_tag("div", attrs={"class": "bk-cards"})
    for name, words in cards.items():
        card = soup.new_tag("div", attrs={"class": "bk-card", "id": name, "role": "tooltip"})
        card["hidden"] = ""
        card.append(BeautifulSoup(words, "html.parser"))
        box.append(card)
    soup.append(box)


def cards_of(app: Sphinx) -> dict[str, str]:
    """The definitions, which are read once for all pages of a build."""
    if not hasattr(app, "softlookup_terms"):
        app.softlookup_terms = definitions(app)
    return app.softlookup_terms
