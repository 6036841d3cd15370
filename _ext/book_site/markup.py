"""Mends the HTML of a page's body: native fold-outs, boxes that scroll, headings of the contents."""

import re

from bs4 import BeautifulSoup, Tag
from sphinx.application import Sphinx

# Drawings, scripts and code are none of this module's business, and an HTML parser may alter them.
OPAQUE = re.compile(r"<(svg|script|style|pre)\b.*?</\1>", re.S)


def hide_opaque(html: str) -> tuple[str, list[str]]:
    """Replace drawings, scripts and code by short marks; return them beside the HTML."""
    kept: list[str] = []

    def keep(match: re.Match) -> str:
        kept.append(match[0])
        return f"<sl-kept>{len(kept) - 1}</sl-kept>"

    return OPAQUE.sub(keep, html), kept


def show_opaque(html: str, kept: list[str]) -> str:
    """Undo `hide_opaque`."""
    return re.sub(r"<sl-kept>(\d+)</sl-kept>", lambda match: kept[int(match[1])], html)


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
    """Hidden cells are <details> already; their summary gets a plain text and no extra label."""
    for box in soup.select("details.hide"):
        summary = box.find("summary")
        del summary["aria-label"]
        is_solution = box.find_parent(class_="tag_solution") is not None
        show, hide = ("Show the solution", "Hide the solution") if is_solution else (None, None)
        for name, text in (("collapsed", show), ("expanded", hide)):
            label = summary.find(class_=name)
            label.name = "span"
            label.string = text or label.get_text()


def scroll_box(soup: BeautifulSoup, element: Tag, label: str) -> None:
    """Wrap an element in a box that scrolls sideways; the script makes it focusable if it must."""
    box = soup.new_tag("div", attrs={"class": "sl-scroll", "data-label": label})
    element.wrap(box)


def box_tables(soup: BeautifulSoup) -> None:
    """Each table scrolls in its own box."""
    for table in soup.find_all("table"):
        if table.find_parent(class_="sl-scroll") is None:
            caption = table.find("caption")
            scroll_box(soup, table, caption.get_text(" ", strip=True) if caption else "Table")


def label_equations(soup: BeautifulSoup) -> None:
    """Display equations scroll in their own box."""
    for equation in soup.select("div.math"):
        equation["class"] = [*equation["class"], "sl-scroll"]
        equation["data-label"] = "Equation"


def mend(html: str) -> str:
    """The body of a page with all of the above done."""
    hidden, kept = hide_opaque(html)
    soup = BeautifulSoup(hidden, "html.parser")
    for step in (fold_admonitions, fold_cells, box_tables, label_equations):
        step(soup)
    return show_opaque(str(soup), kept)


def page_contents(toc: str) -> str:
    """The list of a page's sections, without the page's own title."""
    soup = BeautifulSoup(toc, "html.parser")
    first = soup.find("li")
    sections = first.find("ul") if first else None
    return str(sections) if sections else ""


def header_links(groups: list[dict]) -> list[dict]:
    """The theme's button groups (Colab, repository, edit, issue) as one flat list of links."""
    flat = [b for group in groups for b in group.get("buttons", [group])]
    return [button for button in flat if button.get("type") == "link"]


def mend_page(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Prepare what the page template prints."""
    if context.get("body"):
        context["body"] = mend(context["body"])
    context["page_contents"] = page_contents(context.get("toc") or "")
    context["page_links"] = header_links(context.get("header_buttons") or [])
    context["is_notebook"] = str(context.get("page_source_suffix", "")).endswith("ipynb")


def setup(app: Sphinx) -> None:
    """Run after the theme has prepared its buttons."""
    app.connect("html-page-context", mend_page, priority=800)
