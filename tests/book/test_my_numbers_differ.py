"""The page of symptoms: each entry provokes its fault, finds the cause, and repairs it."""

import re
from itertools import pairwise

import nbformat
import pytest

import registry

CELLS = nbformat.read(registry.by_name()["my_numbers_differ"].path, as_version=4).cells
SECTIONS = ["Shapes and transposes", "Masks", "Seeds and devices", "Precision", "Versions",
            "Out of memory", "The loss"]  # fmt: skip
"""In the order of what students ask most."""
LABELS = ("What you see.", "The cause", "The repair")


def anchor(title: str) -> str:
    return re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))


def cut(cells: list, mark: str) -> dict[str, list]:
    """By heading of one depth: the cells from it on, up to the next heading of that depth or less.

    A cell may hold the headings of a section and of its first entry: its text begins at its own.
    """
    found, title = {}, None
    for cell in cells:
        source = cell.source
        if cell.cell_type == "markdown":
            for line in re.findall(r"^#+ .*$", source, re.MULTILINE):
                level, _, words = line.partition(" ")
                if len(level) <= len(mark):
                    title = words if level == mark else None
                    source = cell.source[cell.source.index(line) :]
                    if title:
                        found[title] = []
        if title:
            found[title].append({**cell, "source": source})
    return found


ENTRIES = cut(CELLS, "###")


def text_of(entry: str) -> str:
    """Its prose, and a mark for each cell of code: a check, or one that a reader sees at work."""
    return "\n".join(
        cell["source"] if cell["cell_type"] == "markdown"
        else "[check]" if "check" in cell["metadata"].get("tags", [])
        else "[hidden]" if "hide-input" in cell["metadata"].get("tags", [])
        else "[code]"
        for cell in ENTRIES[entry]
    )  # fmt: skip


def test_the_sections_stand_in_the_order_of_the_questions():
    titles = [title for title in cut(CELLS, "##") if title in SECTIONS]
    assert titles == SECTIONS
    assert len(ENTRIES) >= 25


@pytest.mark.parametrize("entry", ENTRIES)
def test_each_entry_has_symptom_cause_and_repair_and_is_executed(entry):
    text = text_of(entry)
    if entry == "Will it fit?":  # whose repair is the entry of the four ways
        text += text_of("Four ways to take less")
    places = [text.find(f"**{label}") for label in LABELS]
    assert -1 not in places, dict(zip(LABELS, places, strict=True))
    assert all(a < b for a, b in pairwise(places))
    assert text.count("[code]") >= 2
    assert text.count("[check]") >= 1
    assert text.rindex("[code]") > places[0]


WITHOUT = {
    "View in the place of transpose": {1},  # the cell that provokes it is the test
    "Padding that counts": {1},  # so it is here
    "Another order of adding": {2},  # nothing is to be repaired
    "Products with fewer digits": {0},  # a card does it, which is imitated below the cause
    "Will it fit?": {2},  # the four ways
    "A model of today": {0},  # the table below the cause
    "Seven messages of PyTorch": {1},  # a table
    "A loss that is too good": {2},  # the cells that find it, run again
}
"""Where an entry has no cell: 0 for what is seen, 1 for its cause, 2 for its repair."""


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_cell_provokes_a_cell_finds_and_a_cell_repairs(entry):
    text = text_of(entry)
    cuts = [*(text.find(f"**{label}") for label in LABELS), len(text)]
    empty = {i for i, (a, b) in enumerate(pairwise(cuts)) if "[code]" not in text[a:b]}
    assert empty == WITHOUT.get(entry, set())


@pytest.mark.parametrize("entry", ENTRIES)
def test_each_entry_is_found_by_what_is_seen(entry):
    (table,) = [cell.source for cell in CELLS if cell.id == "symptoms"]
    assert f"(#{anchor(entry)})" in table


def test_the_table_leads_to_entries_alone():
    (table,) = [cell.source for cell in CELLS if cell.id == "symptoms"]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    targets = {target for row in rows for target in re.findall(r"\(#([^)]+)\)", row)}
    assert targets == {anchor(entry) for entry in ENTRIES}
    assert all("(#" in row for row in rows)
