"""`make links`: after chapters were renamed, their numbers and files in the notebooks' links.

A notebook is also read in Colab and on GitHub, where nobody fills in a number. So its links are
written out, `[chapter 13](13_limits.ipynb#memory)`, and this sets them to what the registry says.
"""

import re

import registry

LINK = re.compile(r"\[([^\]\[]*)\]\((\d\d)_(\w+?)(\.ipynb)?(#[\w-]+)?\)")


def with_numbers(text: str, pages: dict[str, registry.Page]) -> str:
    """A text whose links to chapters have the chapters' numbers, in the words and in the file."""

    def corrected(link: re.Match) -> str:
        words, number, name, suffix, anchor = link.groups()
        page = pages.get(name)
        if page is None or page.number is None:
            return link[0]
        words = re.sub(rf"(?<![\w.]){int(number)}(?![\w.])", str(page.number), words, count=1)
        return f"[{words}]({page.number:02}_{name}{suffix or ''}{anchor or ''})"

    return LINK.sub(corrected, text)


def main() -> None:
    """Write the links anew, and say where one changed."""
    pages = registry.by_name()
    for path in sorted((registry.ROOT / "chapters").glob("*.*")):
        if path.suffix in (".ipynb", ".md"):
            before = path.read_text(encoding="utf-8")
            after = with_numbers(before, pages)
            if after != before:
                path.write_text(after, encoding="utf-8")
                print(path.name)


if __name__ == "__main__":
    main()
