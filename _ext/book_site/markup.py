"""Mends the HTML of a page's body: native fold-outs, boxes that scroll, the list of sections."""

import html as entities
import re
from collections.abc import Mapping

from bs4 import BeautifulSoup, NavigableString, Tag
from bs4.dammit import EntitySubstitution
from bs4.formatter import HTMLFormatter
from sphinx.application import Sphinx

from .entries import mark_entries
from .figures import MATH
from .formula_room import keep_room
from .margin import add_cards, cards_of, place_notes
from .mathml import add_mathml
from .pictures import lightened

# Drawings, scripts and code are none of this module's business, and an HTML parser may alter them.
OPAQUE = re.compile(r"<(svg|script|style|pre)\b.*?</\1>", re.S)
ENTRY = re.compile(r"E\d\d")
CLOSING = re.compile(r"[)\]’”.,;:!?…]+")

# The theme's buttons that the page shows as links, and what each says.
LINKS = {
    "Colab": "Open in Colab",
    "Repository": "Source of the book",
    "Suggest edit": "Suggest an edit",
    "Open issue": "Report an error",
}


def hide_opaque(html: str) -> tuple[str, list[str]]:
    """Replace drawings, scripts and code by short marks; return them beside the HTML."""
    kept: list[str] = []

    def keep(match: re.Match) -> str:
        kept.append(match[0])
        return f"<bk-kept>{len(kept) - 1}</bk-kept>"

    return OPAQUE.sub(keep, html), kept


def show_opaque(html: str, kept: list[str]) -> str:
    """Undo `hide_opaque`."""
    return re.sub(r"<bk-kept>(\d+)</bk-kept>", lambda match: kept[int(match[1])], html)


PLAIN = "dt.sig em.sig-param, dt.sig span:is(.pre, .p, .w, .n, .o, .s, .default_value)"
LONG = 36  # letters of code that stand side by side on a phone


def hang_lines(pre: str) -> str:
    """Where a phone breaks a long line of code, it goes on below its own beginning."""

    def hung(line: str) -> str:
        text = entities.unescape(re.sub(r"<[^>]*>", "", line))
        indent = len(text) - len(text.lstrip(" "))
        return f'<span class="bk-line" style="--in:{indent}ch">{line}</span>' if text else line

    opening, code, closing = re.fullmatch(
        r"(<pre[^>]*>(?:<span></span>)?)(.*)(</pre>)", pre, re.S
    ).groups()
    lines = [hung(line) if len(line) > LONG else line for line in code.split("\n")]
    return opening + "\n".join(lines) + closing


def free_exercises(soup: BeautifulSoup) -> None:
    """sphinx-exercise gives the text of each exercise one id; only one on a page may have it."""
    for text in soup.select("section#exercise-content"):
        del text["id"]


def mend_opaque(part: str) -> str:
    """What is done to code and to pictures."""
    if part.startswith("<pre"):
        return hang_lines(part)
    return lightened(part) if part.startswith("<svg") else part


def fold_admonitions(soup: BeautifulSoup) -> None:
    """`dropdown` admonitions become <details>: they open by keyboard and without a script."""
    for box in soup.select("div.admonition.dropdown"):
        title = box.find(class_="admonition-title")
        if title is None:
            continue
        box.name = "details"
        title.name = "summary"
        box.insert(0, title.extract())
        if "toggle-shown" in box["class"]:
            box["open"] = ""


def fold_cells(soup: BeautifulSoup) -> None:
    """Hidden cells are <details> already; their summary says in plain words what is hidden."""
    for box in soup.select("details.hide"):
        summary = box.find("summary")
        del summary["aria-label"]
        if box.find_parent(class_="tag_solution"):
            what = "solution"
        else:
            what = "code" if "above-input" in box["class"] else "output"
        for name, verb in (("collapsed", "Show"), ("expanded", "Hide")):
            label = summary.find(class_=name)
            label.name = "span"
            label.string = f"{verb} the {what}"


def gather_folds(soup: BeautifulSoup) -> None:
    """The picture stands before the code that draws it, and folded imports join that code.

    A cell whose code is folded and that shows nothing, as imports do, would be a line by itself; it
    goes into the fold of the next cell, if that follows at once and is folded, too.
    """
    for cell in soup.select("div.cell.tag_hide-input"):
        fold = cell.find("details", recursive=False)
        if fold is None or cell.find_parent(class_="tag_solution"):
            continue
        output = cell.find(class_="cell_output", recursive=False)
        if output is not None:
            output.insert_after(fold.extract())
            continue
        following = cell.find_next_sibling()
        own = following and following.select_one(":scope > details.hide.above-input")
        if own and "tag_hide-input" in following["class"]:
            own.summary.insert_after(*fold.select(":scope > .cell_input"))
            following["class"] = [
                *following["class"],
                *set(cell["class"]) - set(following["class"]),
            ]
            cell.decompose()


def scroll_box(soup: BeautifulSoup, element: Tag, label: str) -> None:
    """Wrap an element in a box that scrolls sideways; the script makes it focusable if it must."""
    box = soup.new_tag("div", attrs={"class": "bk-scroll", "data-label": label})
    element.wrap(box)


def box_tables(soup: BeautifulSoup) -> None:
    """Each table scrolls in its own box."""
    for table in soup.find_all("table"):
        if table.find_parent(class_=("bk-scroll", "sl-table", "sl-body")) is None:
            caption = table.find("caption")
            scroll_box(soup, table, caption.get_text(" ", strip=True) if caption else "Table")


def free_captions(soup: BeautifulSoup) -> None:
    """A table's caption stands below it, as wide as it needs, whatever the table's width."""
    for caption in soup.select("table > caption"):
        box = caption.find_parent(class_=("sl-table", "bk-scroll"))
        if caption.find_parent("figure") or caption.find_parent(class_="sl-body"):
            continue
        figure = soup.new_tag("figure", attrs={"class": "bk-table"})
        box.wrap(figure)
        caption.name = "figcaption"
        figure.append(caption.extract())


def set_answers(soup: BeautifulSoup) -> None:
    """A prediction's choices are Markdown, but in its answer they come from Python, as text."""
    for text in soup.select("details.sl-reveal :is(p, li)"):
        for said in list(text.find_all(string=MATH, recursive=False)):
            for k, part in enumerate(MATH.split(said)):
                node = NavigableString(part)
                if k % 2:
                    node = soup.new_tag("span", attrs={"class": "math notranslate nohighlight"})
                    node.string = rf"\({part}\)"
                said.insert_before(node)
            said.extract()


def keep_punctuation(soup: BeautifulSoup) -> None:
    """A bracket or a full stop after a formula must not begin the next line."""
    for formula in soup.select("span.math"):
        text = formula.next_sibling
        if not isinstance(text, NavigableString):
            continue
        mark = CLOSING.match(text)
        if mark:
            text.replace_with(text[mark.end() :])
            formula.wrap(soup.new_tag("span", attrs={"class": "bk-nowrap"}))
            formula.insert_after(mark[0])


def empty_corners(soup: BeautifulSoup) -> None:
    """The corner of a table is no head of anything."""
    for head in soup.select("thead th"):
        if not head.get_text(strip=True) and head.find("img") is None:
            head.name = "td"


def label_equations(soup: BeautifulSoup) -> None:
    """Display equations scroll in their own box."""
    for equation in soup.select("div.math"):
        equation["class"] = [*equation["class"], "bk-scroll"]
        equation["data-label"] = "Equation"


def line_arguments(soup: BeautifulSoup) -> None:
    """Each argument of a signature is a line; Sphinx makes a list of meanings without words.

    It also wraps each word and sign, for colours that ours do not have: thousands on a page, which
    the browser would lay out one by one.
    """
    for wrapped in soup.select(PLAIN):
        wrapped.unwrap()
    for lines in soup.select("dt.sig > dl"):
        lines.name = "span"
        lines["class"] = "sig-lines"
        for line in lines.find_all("dd", recursive=False):
            line.name = "span"


def list_references(soup: BeautifulSoup) -> None:
    """The entries of a bibliography become list items; ARIA has withdrawn the role they had."""
    for entry in soup.find_all(role="doc-biblioentry"):
        entry["role"] = "listitem"


def link_errata(soup: BeautifulSoup) -> None:
    """A note on a slide leads to its entry in the appendix: "Slide under test: E21".

    The title of a folded note is a button, in which no link may stand: there it comes last.
    """
    for title in soup.select(".admonition.erratum > .admonition-title"):
        place, text = title, title.get_text()
        if title.name == "summary":
            place, text = soup.new_tag("p"), f"In the appendix: {text.partition(': ')[2]}."
            title.parent.append(place)
        place.clear()
        for part in re.split(r"(E\d\d)", text):
            href = {"href": f"slides_under_test.html#{part.lower()}"}
            is_entry = ENTRY.fullmatch(part)
            place.append(soup.new_tag("a", attrs=href, string=part) if is_entry else part)


NAMED = re.compile(r"(?<![^\s])([^\W\d_](?:[^.;:()]|al\.)*, \d{4}[a-z]?)\s*$")
"""What a list of references calls a work, right before its citation: Ba, Kiros and Hinton, 2016."""


def name_references(soup: BeautifulSoup) -> None:
    """In a chapter's list of references the name of a work is the link; no key repeats it."""
    for citation in soup.select("section#references li .bibtex-citation"):
        link, before = citation.a, citation.previous_sibling
        text = before if isinstance(before, NavigableString) else ""
        named = NAMED.search(text)
        if link is None or len(citation.find_all("a")) > 1 or named is None:
            continue
        name = named[1].removeprefix("and ")
        before.replace_with(text[: named.end(1) - len(name)])
        link.string = name
        citation.clear()
        citation.append(link)


class AsWritten(HTMLFormatter):
    """Writes attributes in the order they had."""

    def attributes(self, tag: Tag):
        """No sorting."""
        return tag.attrs.items()


STEPS = (
    fold_admonitions,
    fold_cells,
    gather_folds,
    empty_corners,
    box_tables,
    free_captions,
    label_equations,
    free_exercises,
    set_answers,
    keep_room,
    add_mathml,
    line_arguments,
    keep_punctuation,
    list_references,
    name_references,
    link_errata,
    mark_entries,
)


def mend(html: str, terms: Mapping[str, str] | None = None) -> str:
    """The body of a page with all of the above done; ``terms`` are the glossary's definitions."""
    hidden, kept = hide_opaque(html)
    soup = BeautifulSoup(hidden, "html.parser")
    for step in STEPS:
        step(soup)
    place_notes(soup, kept)
    add_cards(soup, terms or {})
    writer = AsWritten(entity_substitution=EntitySubstitution.substitute_xml)
    return show_opaque(soup.decode(formatter=writer), [mend_opaque(part) for part in kept])


def page_contents(toc: str) -> str:
    """The list of a page's sections, without the page's own title."""
    soup = BeautifulSoup(toc, "html.parser")
    first = soup.find("li")
    sections = first.find("ul") if first else None
    return str(sections) if sections else ""


def header_links(groups: list[dict]) -> list[dict]:
    """The theme's button groups (Colab, repository, edit, issue) as one flat list of links."""
    flat = [b for group in groups for b in group.get("buttons", [group])]
    return [{**b, "does": LINKS[b["text"]]} for b in flat if b.get("text") in LINKS]


def mend_page(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Prepare what the page template prints."""
    if context.get("body"):
        context["body"] = mend(context["body"], cards_of(app))
    context["page_contents"] = page_contents(context.get("toc") or "")
    context["page_links"] = header_links(context.get("header_buttons") or [])
    context["is_notebook"] = str(context.get("page_source_suffix", "")).endswith("ipynb")


def setup(app: Sphinx) -> None:
    """Run after the theme has prepared its buttons."""
    app.connect("html-page-context", mend_page, priority=800)
