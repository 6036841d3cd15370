"""`make links`: after chapters were renamed or split, their numbers and files in the links to them.

A notebook is also read in Colab and on GitHub, where nobody fills in a number. So its links are
written out, `[chapter 13](13_limits.ipynb#memory)`, and this sets them to what the registry says.
Where a section has moved to another chapter, the links to it follow, and so do the docstrings'
`Chapter: limits#memory` and the queries of the search's test.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import registry

LINK = re.compile(r"\[([^\]\[]*)\]\((?:(\d\d)_(\w+?)(\.ipynb)?)?(#[\w-]+)?\)")
NAMED = re.compile(r"\b([a-z]\w+)(#[a-z][\w-]*)")

Places = Mapping[str, set[str]]
"""The sections of each page, by the page's name, as links write them: `#memory`."""


def sections() -> dict[str, set[str]]:
    """The sections of all chapters."""
    return {page.name: {f"#{key}" for key in page.headings()} for page in registry.chapters()}


def home(name: str, section: str | None, places: Places) -> str:
    """The page on which a section stands now: that named, or the only other one that has it."""
    owners = [other for other, found in places.items() if section in found]
    return owners[0] if len(owners) == 1 and section not in places.get(name, ()) else name


def with_numbers(
    text: str, pages: Mapping[str, registry.Page], places: Places | None = None, here: str = ""
) -> str:
    """A text whose links to chapters have the chapters' numbers, in the words and in the file.

    Args:
        text: The source of a page.
        pages: All pages by name.
        places: Their sections, to lead a link to where its section stands now.
        here: The name of the text's own page.
    """
    places = places or {}

    def corrected(link: re.Match) -> str:
        words, number, name, suffix, section = link.groups()
        page = pages.get(home(name or here, section, places))
        if page is None or page.number is None or (page.name == here and not name):
            return link[0]
        if number:
            words = re.sub(rf"(?<![\w.]){int(number)}(?![\w.])", str(page.number), words, count=1)
        if page.name == here and section and page.name != name:
            return f"[{words}]({section})"
        suffix = suffix if name else ".ipynb"
        return f"[{words}]({page.number:02}_{page.name}{suffix or ''}{section or ''})"

    return LINK.sub(corrected, text)


def with_homes(text: str, places: Places) -> str:
    """A text that calls sections `limits#memory`, each by the chapter on which it stands now."""

    def corrected(named: re.Match) -> str:
        name, section = named.groups()
        return f"{home(name, section, places)}{section}" if name in places else named[0]

    return NAMED.sub(corrected, text)


def corrected(path: Path, pages: Mapping[str, registry.Page], places: Places) -> str:
    """A file's text with its links as they should be."""
    text = path.read_text(encoding="utf-8")
    if path.parent.name != "chapters":
        return with_homes(text, places)
    return with_numbers(text, pages, places, registry.NUMBER.sub("", path.stem))


def main() -> None:
    """Write the links anew, and say where one changed."""
    pages, places = registry.by_name(), sections()
    book = [path for path in (registry.ROOT / "chapters").glob("*.*") if path.suffix != ".yml"]
    modules = [*(registry.ROOT / "lib").rglob("*.py")]
    for path in [*sorted(book), *sorted(modules), registry.ROOT / "tests/book/search_queries.yml"]:
        after = corrected(path, pages, places)
        if after != path.read_text(encoding="utf-8"):
            path.write_text(after, encoding="utf-8")
            print(path.relative_to(registry.ROOT))


if __name__ == "__main__":
    main()
