"""Slides under test: each error of the slides that a finished chapter touches is executed."""

import re
from collections import Counter
from pathlib import Path

import pytest
from test_map import asserts, cells

ROOT = Path(__file__).resolve().parents[2]
APPENDIX = ROOT / "chapters" / "slides_under_test.ipynb"
TOUCHED = {
    1: [1, 2, 3, 4, 5, 12],
    2: [6, 7, 8, 9, 10, 11],
    3: [44],
    4: [13, 14, 15, 16],
    5: [17, 18],
    6: [86],
    7: [38, 39, 41, 42],
    8: [19, 48, 49, 50, 51, 52, 53, 54],
    9: [37, 43],
    10: [22, 73, 74],
    11: [20, 21, 31, 32, 34, 35, 55, 56, 57, 58, 62, 69, 70, 72, 75, 76, 93],
    12: [45, 59, 60, 61, 71, 87],
    13: [30, 33, 36, 46, 77],
    14: [78, 79, 92],
    15: [23, 24, 26, 40, 67, 80, 85, 88, 89, 90],
    16: [28, 47, 63, 64, 65, 66, 68, 81, 82, 83, 84],
    17: [25, 27, 91],
    18: [29],
}
"""The entries that touch each finished chapter, by number."""
IDS = [f"E{number:02}" for numbers in TOUCHED.values() for number in numbers]


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
    assert re.search(
        r"^\*.+, “.+” · [ABCD] · \[chapter \d+\]\(.+\)\*$",
        found[0],
        re.MULTILINE,
    )
    assert "**The slide:**" in found[0]
    assert "**Executed:**" in found[0]


@pytest.mark.parametrize("chapter", TOUCHED)
def test_a_chapter_executes_errors_of_its_slides_beside_its_text(chapter):
    path = next((ROOT / "chapters").glob(f"{chapter:02}_*.ipynb"))
    executed = set(executed_in(path))
    assert executed <= set(IDS)
    assert executed, "a chapter states what is correct where the slide is not"
    text = "\n".join("".join(cell["source"]) for cell in cells(path))
    unsaid = [entry for entry in executed if entry not in text]
    assert not unsaid, "an entry that a cell runs must be named in the text"
