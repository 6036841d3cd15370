"""The registry of the pages: numbers from the files' names, titles from the headings."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import links
import registry

NAMED = re.compile(r"\[[Cc]hapter (\d+)[^\]]*\]\(([^)]+)\)")


def page_of(address: str) -> registry.Page:
    """The page that a link's address names: by its name, or by its file."""
    name = Path(address.partition("#")[0]).stem
    return registry.by_name()[registry.NUMBER.sub("", name)]


@pytest.fixture
def book(tmp_path):
    """Writes a small book of notebooks, and a front page."""

    def write(*docnames: str) -> Path:
        (tmp_path / "intro.md").write_text("# The book\n")
        files = "".join(f"      - file: {name}\n" for name in docnames)
        (tmp_path / "_toc.yml").write_text(f"root: intro\nparts:\n  - chapters:\n{files}")
        for name in docnames:
            cells = [
                {"cell_type": "code", "source": ["# no heading\n"]},
                {"cell_type": "markdown", "source": [f"# All of {name}\n", "\n", "# Later"]},
            ]
            (tmp_path / f"{name}.ipynb").write_text(json.dumps({"cells": cells}))
        return tmp_path

    return write


def test_a_page_has_its_number_its_name_and_its_title(book):
    root = book("01_words", "02_two_words", "bugs")
    found = [(p.docname, p.number, p.name, p.title) for p in registry.pages(root)]
    assert found == [
        ("intro", None, "intro", "The book"),
        ("01_words", 1, "words", "All of 01_words"),
        ("02_two_words", 2, "two_words", "All of 02_two_words"),
        ("bugs", None, "bugs", "All of bugs"),
    ]
    assert [page.number for page in registry.chapters(root)] == [1, 2]


@pytest.mark.parametrize(
    "files", [("01_a", "03_b"), ("02_a", "03_b"), ("02_a", "01_b"), ("01_a", "01_b")]
)
def test_chapters_out_of_order_are_refused(book, files):
    numbers = [int(name[:2]) for name in files]
    with pytest.raises(ValueError, match=re.escape(f"numbered 1, 2, 3, ...; got {numbers}")):
        registry.pages(book(*files))


def test_two_pages_of_one_name_are_refused(book):
    with pytest.raises(ValueError, match="a name of its own; got words twice"):
        registry.pages(book("01_words", "words"))


def test_a_page_without_a_file_is_refused(book):
    root = book("01_words", "02_more")
    (root / "02_more.ipynb").unlink()
    with pytest.raises(ValueError, match=r"names 02_more, but there is no 02_more\.ipynb or"):
        registry.pages(root)


def test_a_page_without_a_heading_is_refused(book):
    root = book("01_words")
    (root / "intro.md").write_text("The book\n")
    with pytest.raises(ValueError, match=r"a page must have a heading '# \.\.\.'; intro has none"):
        assert registry.pages(root)[0].title


def test_every_page_of_the_folder_is_in_the_table_of_contents():
    folder = registry.ROOT / "chapters"
    known = {page.path for page in registry.pages()}
    assert {*folder.glob("*.ipynb"), *folder.glob("*.md")} <= known


@pytest.mark.parametrize("page", registry.pages(), ids=lambda page: page.name)
def test_a_link_that_says_the_number_of_a_chapter_leads_to_it(page):
    wrong = [
        f"chapter {number}, {address}"
        for number, address in NAMED.findall(page.markdown())
        if int(number) != page_of(address).number
    ]
    assert not wrong, "the chapters' numbers have changed"


def test_links_are_filled_with_the_numbers_of_their_chapters():
    number = registry.by_name()["limits"].number
    text = "[chapter {number}](limits), [{number}, Memory](limits#memory), [{number}](#fig-limits)"
    assert registry.numbered(text) == (
        f"[chapter {number}](limits), [{number}, Memory](limits#memory), [{{number}}](#fig-limits)"
    )
    assert registry.numbered("in chapter {number}`limits`, `n`") == f"in chapter {number}, `n`"


NOTED = [path for path in (registry.ROOT / "chapters").glob("*.*") if path.suffix != ".yml"]


LINKED = re.compile(r"\[[^\]\[]*\]\([^)\s]+\)")
ANOTHER_BOOKS = re.compile(r"^- .*|Source: .*| \d+ of their book", re.MULTILINE)
BARE = re.compile(r"\b[Cc]hapters? \d+.{0,30}")


def sources(path: Path) -> Iterator[str]:
    """The text of a page or a module; of a notebook, that of each cell."""
    text = path.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"] if path.suffix == ".ipynb" else [{"source": [text]}]
    yield from ("".join(cell["source"]) for cell in cells)


@pytest.mark.parametrize("path", NOTED, ids=lambda path: path.stem)
def test_a_chapters_number_stands_only_in_a_link(path):
    """`make links` sets those in links; any other is wrong once a chapter is put before it."""
    texts = (ANOTHER_BOOKS.sub("", LINKED.sub("", text)) for text in sources(path))
    assert [bare for text in texts for bare in BARE.findall(text)] == []


def test_the_library_calls_a_chapter_by_its_name():
    modules = (registry.ROOT / "lib").rglob("*.py")
    texts = (ANOTHER_BOOKS.sub("", text) for path in modules for text in sources(path))
    assert [bare for text in texts for bare in BARE.findall(text)] == []


@pytest.mark.parametrize("path", NOTED, ids=lambda path: path.stem)
def test_links_to_chapters_have_their_numbers(path):
    text = path.read_text(encoding="utf-8")
    assert links.with_numbers(text, registry.by_name()) == text, "run `make links`"


def test_a_chapter_that_moved_takes_its_links_along(tmp_path):
    moved = {"limits": registry.Page("chapters/13_limits", tmp_path / "13_limits.ipynb")}
    text = "[chapter 12](12_limits.ipynb#memory), [12.5](12_limits), [E12](12_limits#e12), 12"
    expected = "[chapter 13](13_limits.ipynb#memory), [12.5](13_limits), [E12](13_limits#e12), 12"
    assert links.with_numbers(text, moved) == expected
    assert links.with_numbers(text, {}) == text


PARTED = {"block": {"#norm"}, "depth": {"#collapse"}, "limits": {"#norm", "#memory"}}


def test_links_follow_a_section_that_went_to_another_chapter(tmp_path):
    pages = {
        name: registry.Page(f"chapters/{number}_{name}", tmp_path / f"{number}_{name}.ipynb")
        for number, name in ((19, "block"), (20, "depth"), (21, "limits"))
    }
    for here, text, expected in (
        ("limits", "[chapter 19](19_block.ipynb#collapse)",
         "[chapter 20](20_depth.ipynb#collapse)"),
        ("limits", "[chapter 19](19_block.ipynb#norm)", "[chapter 19](19_block.ipynb#norm)"),
        ("limits", "[there](19_block.ipynb#gone)", "[there](19_block.ipynb#gone)"),
        ("block", "[below](#collapse), [above](#norm)",
         "[below](20_depth.ipynb#collapse), [above](#norm)"),
        ("block", "[Figure](#fig-x), [a table](19_block.html)",
         "[Figure](#fig-x), [a table](19_block.html)"),
        ("depth", "[chapter 19](19_block.ipynb#collapse)", "[chapter 20](#collapse)"),
    ):  # fmt: skip
        assert links.with_numbers(text, pages, PARTED, here) == expected


def test_docstrings_follow_a_section_that_went_to_another_chapter():
    text = "Chapter: block#collapse. Chapter: block#norm. See #norm, F#x and block#gone."
    expected = "Chapter: depth#collapse. Chapter: block#norm. See #norm, F#x and block#gone."
    assert links.with_homes(text, PARTED) == expected
