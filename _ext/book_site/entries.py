"""The entries of "Slides under test" can be narrowed to one lecture or one severity.

An entry's second line says both: *Toronto, “Bag of words” · A · chapter 2*. The page gets two
fields above the entries; `_static/book.js` hides what does not match.
"""

import re

from bs4 import BeautifulSoup, Tag

ENTRY = re.compile(r"^e\d\d$")
SOURCE = re.compile(r"(?P<slides>.+) · (?P<severity>[ABCD]) · chapter \d+")
LECTURES = ("Toronto", "Introduction to LLMs", "Notes", "Sharif", "UvA")
SEVERITIES = {
    "A": "A: wrong",
    "B": "B: contradicts itself",
    "C": "C: claims too much",
    "D": "D: notation",
}


def lectures_of(slides: str) -> list[str]:
    """The lectures that are named beside the slides' titles."""
    outside = re.sub(r"“[^”]*”", "", slides)
    return [lecture for lecture in LECTURES if lecture in outside]


def entries(soup: BeautifulSoup) -> list[Tag]:
    """The sections of a page that are entries."""
    marks = soup.find_all("span", id=ENTRY)
    return [mark.parent for mark in marks if mark.parent.name == "section"]


def mark_entry(entry: Tag) -> None:
    """Write an entry's lectures and its severity where the script finds them.

    Raises:
        ValueError: Its second line does not say them.
    """
    line = entry.find("p").get_text()
    source = SOURCE.fullmatch(line)
    if source is None or not lectures_of(source["slides"]):
        raise ValueError(f"an entry must name its lecture, slide, severity and chapter; got {line}")
    entry["data-lecture"] = "|".join(lectures_of(source["slides"]))
    entry["data-severity"] = source["severity"]


def field(soup: BeautifulSoup, name: str, label: str, choices: dict[str, str]) -> Tag:
    """A labelled list to choose from; its first line takes all."""
    box = soup.new_tag("label", string=f"{label} ")
    select = soup.new_tag("select", attrs={"name": name})
    for value, words in {"": "all", **choices}.items():
        select.append(soup.new_tag("option", attrs={"value": value}, string=words))
    box.append(select)
    return box


def mark_entries(soup: BeautifulSoup) -> None:
    """Put the two fields before the first section with entries, and mark all entries."""
    found = entries(soup)
    for entry in found:
        mark_entry(entry)
    if found:
        form = soup.new_tag("form", attrs={"class": "bk-entries", "hidden": ""})
        form.append(field(soup, "lecture", "Lecture", dict(zip(LECTURES, LECTURES, strict=True))))
        form.append(field(soup, "severity", "Severity", SEVERITIES))
        form.append(soup.new_tag("output", string=f"{len(found)} entries"))
        found[0].parent.insert_before(form)
