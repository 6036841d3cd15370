"""The page of larger machines: its table holds what was measured, and says what was not."""

import copy
import importlib
import json
import re
import sys

import nbformat
import pytest
import torch
from conftest import ROOT
from test_registry import page_of

import registry

sys.path.append(str(ROOT / "benchmarks"))
tiers, gpu = map(importlib.import_module, ("tiers", "gpu"))

PAGE = ROOT / "chapters" / "larger_machines.ipynb"
SHOWN = (gpu.CARDS / "chapters.md").read_text(encoding="utf-8")
LINES = [line for line in SHOWN.splitlines() if line.startswith("|")]
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in LINES]
RECORD = tiers.read_record()
NAMES = [page.name for page in registry.notebooks()]


def page_text():
    cells = nbformat.read(PAGE, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def test_the_page_shows_what_was_measured():
    assert [tiers.TIER_HEADS, *tiers.table_rows(RECORD)] == [ROWS[0], *ROWS[2:]]
    assert tiers.shown() == SHOWN
    assert ":::{include} ../benchmarks/cards/chapters.md\n:::" in page_text()


def test_the_page_shows_what_cards_have_shown():
    shown = (gpu.CARDS / "steps.md").read_text(encoding="utf-8")
    assert gpu.shown(gpu.read(gpu.CARDS)) == shown
    assert ":::{include} ../benchmarks/cards/steps.md\n:::" in page_text()


def test_the_page_names_the_steps_and_how_long_they_may_take():
    (listed,) = re.findall(r"these steps:\n\n(.*?)\n\nNo step", page_text(), re.DOTALL)
    terms = re.findall(r"^`([\w-]+)`", listed, re.MULTILINE)
    assert terms == [*(step.name for step in gpu.MEASUREMENTS), "chapter-attention"]
    assert "chapter-attention" in [step.name for step in gpu.all_steps(rehearse=False)]
    assert "No step may take more than eight minutes" in page_text()
    assert gpu.LIMIT == 8 * 60


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
    empty = all(row[4:] == ["–"] * 4 for row in ROWS[2:])
    assert empty == ("No GPU was at hand for this record" in SHOWN) == (not {*RECORD} - {"cpu"})


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
    (found,) = tiers.read_record(tiers.RECORD)["cpu"][tiers.PROCESSOR].values()
    assert found["result"] == "50% of toys"
    assert found["seconds"] >= 0
    assert found["bytes"] > 2**27
    assert nbformat.read(toy.path, as_version=4).cells[0].outputs == []
    assert not [*tmp_path.glob("*.ipynb")][1:]


def test_a_notebook_is_executed_by_the_python_that_measures(toy, monkeypatch, tmp_path):
    """A kernel of that name may lie around, which leads to another Python or to none."""
    kernel = tmp_path / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    nowhere = {"argv": ["/nowhere/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]}
    (kernel / "kernel.json").write_text(json.dumps(nowhere | {"display_name": "another"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv(tiers.TIER_VARIABLE, "cpu")
    assert tiers.execute(toy.path, "__import__('sys').executable")["result"] == sys.executable


def test_what_the_record_lacks_is_measured_first(monkeypatch, tmp_path):
    record, asked = copy.deepcopy(RECORD), []
    found = {"seconds": 1, "bytes": 2**30, "result": None}
    here = record["cpu"][tiers.PROCESSOR] = dict.fromkeys(NAMES[1:], found)
    monkeypatch.setenv(tiers.TIER_VARIABLE, "cpu")
    monkeypatch.setattr(tiers, "read_record", lambda *paths: record)
    monkeypatch.setattr(tiers, "CARDS", tmp_path / "chapters.json")
    monkeypatch.setattr(tiers, "measure", lambda pages: asked.append([page.name for page in pages]))
    tiers.main([])
    assert tiers.table_rows(record)[0][1:4] == ["–"] * 3
    here[NAMES[0]] = found
    tiers.main([])
    tiers.main(NAMES[2:4])
    assert asked == [NAMES[:1], NAMES, NAMES[2:4]]
    assert (tmp_path / "chapters.md").read_text() == tiers.shown(tmp_path / "chapters.json")
    with pytest.raises(SystemExit, match="no such notebook: nobody"):
        tiers.main(["nobody"])


def test_what_a_card_took_is_kept_apart_and_shown_with_its_day(toy, monkeypatch, tmp_path):
    monkeypatch.setattr(tiers, "RECORD", tmp_path / "tiers.json")
    monkeypatch.setattr(tiers, "CARDS", tmp_path / "chapters.json")
    monkeypatch.setenv(tiers.TIER_VARIABLE, "cpu")
    taken = {"seconds": 7, "bytes": None, "result": None}
    monkeypatch.setattr(tiers, "execute", lambda path, result, *, on_gpu: taken)
    tiers.measure([toy])
    assert "No GPU was at hand" in tiers.shown(tiers.CARDS)
    big = tiers.choose_tier("cpu")._replace(name="big", device=torch.device("cuda"))
    monkeypatch.setattr(tiers, "choose_tier", lambda: big)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "H200")
    tiers.measure([toy])
    record = tiers.read_record(tiers.RECORD, tiers.CARDS)
    assert record == {"cpu": {tiers.PROCESSOR: {"toy": taken}}, "big": {"H200": {"toy": taken}}}
    shown = tiers.shown(tiers.CARDS)
    assert re.search(r"\*Measured on: processor, \d.*; H200, \d.*PyTorch.*\.\*", shown)
    assert "No GPU was at hand" not in shown


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
