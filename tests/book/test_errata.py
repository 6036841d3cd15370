"""Slides under test: each error of the slides that a finished chapter touches is executed."""

import re
from collections import Counter
from pathlib import Path

import pytest
from test_map import asserts, cells
from test_registry import page_of

import registry

APPENDIX = registry.by_name()["slides_under_test"].path
N_ENTRIES = 93
"""How many errors the slides have. It stands only here, so that no entry is lost."""
IDS = [f"E{number:02}" for number in range(1, N_ENTRIES + 1)]
CHAPTER = re.compile(
    r"^\*.+, “.+” · [ABCD] · \[chapter [^\]]+\]\((?P<address>[^)]+)\)\*$", re.MULTILINE
)


def executed_in(path: Path) -> Counter:
    """How many asserting cells of a notebook run each entry."""
    return Counter(
        entry
        for cell in cells(path)
        for entry in cell["metadata"].get("errata", [])
        if cell["cell_type"] == "code" and asserts("".join(cell["source"]))
    )


def test_the_appendix_executes_each_entry_once():
    assert executed_in(APPENDIX) == Counter(IDS)


@pytest.mark.parametrize("entry", IDS)
def test_an_entry_tells_slide_claim_and_correction(entry):
    found = [
        "".join(cell["source"])
        for cell in cells(APPENDIX)
        if "".join(cell["source"]).startswith(f"({entry.lower()})=\n### {entry}. ")
    ]
    assert len(found) == 1
    assert CHAPTER.search(found[0])
    assert "**The slide:**" in found[0]
    assert "**Executed:**" in found[0]


def touched() -> list[registry.Page]:
    """The chapters to which the entries lead, in order."""
    text = registry.by_name()["slides_under_test"].markdown()
    named = {page_of(entry["address"]) for entry in CHAPTER.finditer(text)}
    return [page for page in registry.chapters() if page in named]


@pytest.mark.parametrize("chapter", touched(), ids=lambda page: page.name)
def test_a_chapter_executes_errors_of_its_slides_beside_its_text(chapter):
    executed = set(executed_in(chapter.path))
    assert executed <= set(IDS)
    assert executed, "a chapter states what is correct where the slide is not"
    unsaid = [entry for entry in executed if entry not in chapter.markdown()]
    assert not unsaid, "an entry that a cell runs must be named in the text"
