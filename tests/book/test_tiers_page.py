"""The page of larger machines: its table holds what was measured, and says what was not."""

import copy
import importlib
import re
import sys

import nbformat
import pytest
import torch
from conftest import ROOT
from test_registry import page_of

import registry

sys.path.append(str(ROOT / "benchmarks"))
tiers = importlib.import_module("tiers")

PAGE = ROOT / "chapters" / "larger_machines.ipynb"
SHOWN = (ROOT / "benchmarks" / "last_run.md").read_text(encoding="utf-8")
SHOWN = re.search(r"<!-- tiers -->\n(.*?)\n<!-- end -->", SHOWN, re.DOTALL)[1]
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in SHOWN.splitlines()[:-2]]
RECORD = tiers.read_record()
NAMES = [page.name for page in registry.notebooks()]


def page_text():
    cells = nbformat.read(PAGE, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def test_the_page_shows_what_was_measured():
    assert [tiers.TIER_HEADS, *tiers.table_rows(RECORD)] == [ROWS[0], *ROWS[2:]]
    assert '"<!-- tiers -->"' in page_text()


@pytest.mark.parametrize("name", NAMES)
def test_each_notebook_was_measured_on_a_processor(name):
    found = RECORD["cpu"][tiers.PROCESSOR][name]
    assert isinstance(found["seconds"], int)
    assert found["bytes"] > 2**27  # PyTorch alone takes more
    assert (found["result"] is not None) == (name in tiers.RESULTS)


def test_nothing_is_recorded_of_notebooks_that_are_gone():
    assert not {name for cards in RECORD.values() for found in cards.values() for name in found} - {
        *NAMES
    }
    assert set(tiers.RESULTS) <= set(NAMES)


def test_the_page_says_whether_a_gpu_was_at_hand():
    """Whoever measures on a GPU writes the sentence anew."""
    empty = all(row[4:] == ["–"] * 4 for row in ROWS[2:])
    assert (
        empty == ("No GPU was at hand for this record" in page_text()) == (not {*RECORD} - {"cpu"})
    )


def chapters_with_tiers():
    return {
        page.name
        for page in registry.notebooks()
        if page.path != PAGE and "choose_tier(" in page.path.read_text(encoding="utf-8")
    }


def test_the_page_names_the_chapters_whose_sizes_change():
    (said,) = re.findall(r"The sizes change in chapters (.*)\.", page_text())
    named = {page_of(address).name for address in re.findall(r"\]\(([^)]+)\)", said)}
    assert named == chapters_with_tiers() == set(tiers.RESULTS)


# how it is measured


@pytest.fixture
def toy(tmp_path):
    """A notebook that trains nothing."""
    cells = ["found, table = 0.5, bytearray(2**20)", "assert found > 0"]
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)])
    nbformat.write(notebook, tmp_path / "01_toy.ipynb")
    return registry.Page("01_toy", tmp_path / "01_toy.ipynb")


def test_a_notebook_is_executed_and_asked(toy, monkeypatch, tmp_path):
    monkeypatch.setattr(tiers, "RECORD", tmp_path / "tiers.json")
    monkeypatch.setattr(tiers, "RESULTS", {"toy": "f'{found:.0%} of toys'"})
    monkeypatch.setenv(tiers.TIER_VARIABLE, "cpu")
    tiers.measure([toy])
    (found,) = tiers.read_record()["cpu"][tiers.PROCESSOR].values()
    assert found["result"] == "50% of toys"
    assert found["seconds"] >= 0
    assert found["bytes"] > 2**27
    assert nbformat.read(toy.path, as_version=4).cells[0].outputs == []
    assert not [*tmp_path.glob("*.ipynb")][1:]


def test_what_the_record_lacks_is_measured_first(monkeypatch):
    record, asked = copy.deepcopy(RECORD), []
    found = {"seconds": 1, "bytes": 2**30, "result": None}
    here = record["cpu"][tiers.PROCESSOR] = dict.fromkeys(NAMES[1:], found)
    monkeypatch.setenv(tiers.TIER_VARIABLE, "cpu")
    monkeypatch.setattr(tiers, "read_record", lambda: record)
    monkeypatch.setattr(tiers, "measure", lambda pages: asked.append([page.name for page in pages]))
    assert tiers.tier_rows()[0][1:4] == ["–"] * 3
    here[NAMES[0]] = found
    tiers.tier_rows()
    assert asked == [NAMES[:1], NAMES]


def test_a_further_card_is_a_further_row():
    record = copy.deepcopy(RECORD)
    first = {"seconds": 1234, "bytes": 3 * 2**30, "result": "2.00 bits a byte"}
    record["gpu"] = {"Tesla T4": {"training": first}}
    record["big"] = {"H100": {"training": {"seconds": 9, "bytes": None, "result": None}}}
    rows = tiers.table_rows(record)
    at = next(i for i, row in enumerate(rows) if "(training)" in row[0])
    assert rows[at][:4] == tiers.table_rows(RECORD)[at][:4]
    assert rows[at][4:] == ["Tesla T4", "1,234", "3,072", "2.00 bits a byte"]
    assert rows[at + 1] == ["", "", "", "", "H100", "9", "–", ""]
    assert len(rows) == len(NAMES) + 1
    assert rows[0][4:] == ["–"] * 4


@pytest.mark.parametrize(
    ("device", "name"), [("cpu", "processor"), ("mps", "Apple GPU"), ("cuda", "Tesla T4")]
)
def test_the_card_is_that_of_the_tier(device, name, monkeypatch):
    tier = tiers.choose_tier("cpu")._replace(device=torch.device(device))
    monkeypatch.setattr(tiers, "choose_tier", lambda: tier)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")
    assert tiers.card() == name
