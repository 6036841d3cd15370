"""The page of larger machines: its table holds what was measured, and says what was not."""

import copy
import hashlib
import importlib
import json
import multiprocessing
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

CARD = "NVIDIA H100 80GB HBM3"
"""The card that the page speaks of; others may be recorded beside it."""
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
    expected = []
    for tier, name in tiers.cards_of(RECORD):
        rows = tiers.table_rows(RECORD, tier, name)
        expected += [tiers.TIER_HEADS, [":--", *["--:"] * 6], *rows]
    assert expected == ROWS
    assert tiers.shown() == SHOWN
    assert ":::{include} ../benchmarks/cards/chapters.md\n:::" in page_text()


def test_the_page_shows_what_cards_have_shown():
    shown = (gpu.CARDS / "steps.md").read_text(encoding="utf-8")
    assert gpu.shown(gpu.read(gpu.CARDS)) == shown, "write it anew: benchmarks/gpu.py --tables"
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
    measured = RECORD["cpu"][tiers.PROCESSOR]
    assert name in measured, "measure it: benchmarks/tiers.py, then benchmarks/gpu.py --tables"
    found = measured[name]
    assert isinstance(found["seconds"], int)
    assert found["bytes"] > 2**27  # PyTorch alone takes more
    assert (found["result"] is not None) == (name in tiers.RESULTS)


def test_nothing_is_recorded_of_notebooks_that_are_gone():
    assert not {name for cards in RECORD.values() for found in cards.values() for name in found} - {
        *NAMES
    }
    assert set(tiers.RESULTS) <= set(NAMES)


def test_the_page_says_whether_a_gpu_was_at_hand():
    empty = all(row[4:] == ["–"] * 3 for row in ROWS[2:])
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


def keep_many(path, name):
    """In a process of its own: measure thirty notebooks in no time."""
    tiers.execute = lambda path, result, *, on_gpu: {"seconds": 1, "bytes": 1, "result": None}
    names = [f"{name}{i}" for i in range(30)]
    pages = [registry.Page(each, path.with_name(f"{each}.ipynb")) for each in names]
    tiers.measure(pages, path, ("gpu", "a card"))


def test_processes_that_measure_at_a_time_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv(tiers.TIER_VARIABLE, "cpu")
    monkeypatch.setenv(tiers.AT_ONCE, "2")
    path = tmp_path / "chapters.json"
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=keep_many, args=(path, name)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    record = json.loads(path.read_text())
    assert len(record["gpu"]["a card"]) == 60
    assert record["measured"]["a card"].endswith(", several notebooks at a time")
    assert [one.name for one in tmp_path.iterdir()] == ["chapters.json"]
    monkeypatch.setenv(tiers.AT_ONCE, "1")
    assert "several" not in tiers.stamp()


LONG = "NVIDIA H100 80GB HBM3 MIG 1g.10gb"


def two_cards():
    """A record of two cards, one with a long name."""
    record = copy.deepcopy(RECORD)
    first = {"seconds": 1234, "bytes": 3 * 2**30, "result": "2.00 bits a byte"}
    record["gpu"] = {LONG: {"training": first}}
    record["big"] = {"H200": {"training": {"seconds": 9, "bytes": None, "result": None}}}
    return record


def test_a_further_card_is_a_further_table():
    record = two_cards()
    assert tiers.cards_of(record) == [("gpu", LONG), ("big", "H200")]
    found = [tiers.table_rows(record, *card) for card in tiers.cards_of(record)]
    at = next(i for i, row in enumerate(found[0]) if "(training)" in row[0])
    assert found[0][at][:4] == found[1][at][:4] == ROWS[2 + at][:4]
    assert found[0][at][4:] == ["1,234", "3,072", "2.00 bits a byte"]
    assert found[1][at][4:] == ["9", "–", ""]
    assert [len(rows) for rows in found] == [len(NAMES)] * 2
    assert found[0][0][4:] == ["–"] * 3


def test_the_name_of_a_card_stands_above_its_table_and_makes_no_column_wider():
    one, first, two, second = tiers.tables(two_cards())
    assert [one, two] == [f"**{LONG}**, tier `gpu`", "**H200**, tier `big`"]
    assert LONG not in first + second
    assert len(tiers.tables({})) == 1  # no card: a table of dashes


@pytest.mark.parametrize(
    ("device", "name"), [("cpu", "processor"), ("mps", "Apple GPU"), ("cuda", "Tesla T4")]
)
def test_the_card_is_that_of_the_tier(device, name, monkeypatch):
    tier = tiers.choose_tier("cpu")._replace(device=torch.device(device))
    monkeypatch.setattr(tiers, "choose_tier", lambda: tier)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")
    assert tiers.card() == name


# what the page says of a card


def table_of(step: str) -> list[dict[str, str]]:
    """The rows of a step's table on the card that the page speaks of."""
    found = gpu.read(gpu.CARDS)[CARD]["steps"][step]
    return [dict(zip(found["heads"], row, strict=True)) for row in found["rows"]]


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_what_it_says_of_precision_is_what_was_measured():
    rows = table_of("precision")
    ms, memory = ([number(row[key]) for row in rows] for key in ("ms a step", "MB"))
    assert rows[3]["blocks × width, steps"].startswith("12 × 1,024")
    assert max(ms[:3]) < 1.2 * min(ms[:3])
    assert 0.45 < ms[4] / ms[3] < 0.55
    assert 0.6 < ms[5] / ms[3] < 0.7
    assert 0.6 < memory[5] / memory[3] < 0.7
    assert all(abs(number(row["to float32"] or "0")) < 0.06 for row in rows)


def test_what_it_says_of_kernels_is_what_was_measured():
    rows = {(row["n, numbers"], row["attention"]): row for row in table_of("kernels")}
    whole = rows["8,192, bfloat16", "the library's table"]
    flash = rows["8,192, bfloat16", "PyTorch, flash"]
    assert number(whole["ms with gradients"]) > 40 * number(flash["ms with gradients"])
    assert number(whole["MB"]) > 50 * number(flash["MB"])
    assert {name for (_, name), row in rows.items() if row["ms"] == "–"} == {
        "PyTorch, flash",
        "PyTorch, cuDNN",
    }
    errors = {row["error, of the largest"] for key, row in rows.items() if "1,024, b" in key[0]}
    assert len(errors) == 1


def test_what_it_says_of_the_compiler_is_what_was_measured():
    _, attention, model = table_of("compile")
    assert number(attention["ms"]) > 2 * number(attention["ms compiled"])
    assert 0.7 < number(model["ms compiled"]) / number(model["ms"]) < 0.8
    assert number(model["first call, s"]) > 60
    assert all(number(row["pays after calls"]) > 1000 for row in (attention, model))


def test_what_it_says_of_processes_and_of_the_larger_model_is_what_was_measured():
    alone, *others = table_of("capstone")
    assert all(number(row["s"]) > number(alone["s"]) for row in others)
    assert all(number(row["first losses, to one process"]) < 0.005 for row in others)
    small, large = table_of("larger")
    assert 5.5 < number(large["numbers"]) / number(small["numbers"]) < 6
    bits = [number(row["bits a byte, held out"]) for row in (small, large)]
    assert bits[0] < bits[1] < bits[0] + 0.02


STEPS = gpu.read(gpu.CARDS)


def told_of(card: str) -> str:
    """What the tables of steps say of a card, from its name to the next one's."""
    shown = (gpu.CARDS / "steps.md").read_text(encoding="utf-8")
    name = STEPS[card]["machine"].partition(", ")[0]
    (said,) = re.findall(rf"^\*\*{re.escape(name)}\*\*, (.*?)(?=^\*\*|\Z)", shown, re.M | re.S)
    return said


@pytest.mark.parametrize("card", STEPS)
def test_what_a_card_has_not_measured_is_named(card):
    measured = {name for tier in {*RECORD} - {"cpu"} for name in RECORD[tier].get(card, {})}
    lacking = {*NAMES} - measured
    words = "".join(re.findall(r"Not yet run: (.*?)\. Added up", told_of(card)))
    names = {page_of(address).name for address in re.findall(r"\]\(([^)]+)\)", words)}
    failed = {name for name, found in STEPS[card]["steps"].items() if found["state"] != "passed"}
    assert names | {name.removeprefix("chapter-") for name in failed} >= lacking
    assert names <= lacking
    steps = {step.name for step in gpu.all_steps(rehearse=False)}
    named = {f"chapter-{name}" for name in names} | {*re.findall(r"`([\w-]+)`", words)}
    assert steps - {*STEPS[card]["steps"]} == named, "write it anew: benchmarks/gpu.py --tables"


def test_the_card_that_the_page_speaks_of_has_passed_all_but_chapters():
    passed = {name for name, found in STEPS[CARD]["steps"].items() if found["state"] == "passed"}
    assert {step.name for step in gpu.MEASUREMENTS} <= passed
    assert "several notebooks at a time" in SHOWN


@pytest.mark.parametrize("card", STEPS)
def test_how_long_the_steps_took_is_what_was_measured(card):
    seconds = sum(found["seconds"] for found in STEPS[card]["steps"].values())
    said = f"the steps took {seconds:,} seconds, which is {seconds / 60:.0f} minutes"
    assert said in told_of(card)


def test_what_the_tables_say_of_a_card_the_text_does_not_say_again():
    """Another card, or another step, would make it wrong."""
    text = page_text()
    assert not re.search(r"not yet run on a card|on one card so far|steps took", text)


def test_of_the_chapters_whose_sizes_change_one_leaves_the_card_idle():
    found = RECORD["big"][CARD]
    assert {name for name in tiers.RESULTS if found.get(name, {}).get("bytes") == 0} == {"word2vec"}
    text = page_text()
    assert "they are toys, or the word vectors of [chapter 5](05_word2vec.ipynb);" in text
    assert registry.by_name()["word2vec"].number == 5


# which text of the book the models have learned


def test_results_that_hang_on_the_book_are_those_whose_training_reads_it():
    """By the notebook itself, or by the module of its models."""
    exercises = ROOT / "lib" / "softlookup" / "exercises"
    readers = set()
    for name in tiers.RESULTS:
        text = registry.by_name()[name].path.read_text(encoding="utf-8")
        module = exercises / f"{name}_models.py"
        text += module.read_text(encoding="utf-8") if module.exists() else ""
        readers |= {name} if "book_prose" in text else set()
    # That chapter reads the book as well, but its result counts verbs of planted sentences.
    assert readers - {"generalization"} == {*tiers.OF_THE_BOOK}


def test_the_edition_is_that_of_the_file():
    path = ROOT / "lib" / "softlookup" / "data" / "book.txt"
    assert hashlib.sha256(path.read_bytes()).hexdigest().startswith(tiers.edition())
    assert len(tiers.edition()) == 12


def test_a_result_that_hangs_on_the_book_is_kept_with_its_edition(monkeypatch, tmp_path):
    taken = {"seconds": 7, "bytes": None, "result": None}
    monkeypatch.setenv(tiers.TIER_VARIABLE, "cpu")
    monkeypatch.setattr(tiers, "execute", lambda path, result, *, on_gpu: dict(taken))
    monkeypatch.setattr(tiers, "RECORD", tmp_path / "tiers.json")
    tiers.measure([page for page in registry.notebooks() if page.name in tiers.RESULTS])
    found = tiers.read_record(tiers.RECORD)["cpu"][tiers.PROCESSOR]
    assert {name for name, one in found.items() if one.get("text") == tiers.edition()} == {
        *tiers.OF_THE_BOOK
    }
    assert all(one in (taken, taken | {"text": tiers.edition()}) for one in found.values())


def test_results_of_an_earlier_text_are_named_and_no_others():
    """Those without an edition are from before there was one in the record."""
    now = {"result": "1", "text": tiers.edition()}
    old, none = now | {"text": "0123456789ab"}, {"result": "1"}
    record = {"cpu": {tiers.PROCESSOR: dict.fromkeys(tiers.RESULTS, none)}}
    record["big"] = {"H200": {"word2vec": now, "training": old, "seq2seq": none}}
    said = "These results were measured with an earlier text of the book than the present one: "
    all_three = "[chapter {number}](word2vec), [chapter {number}](training) and "
    all_three += "[chapter {number}](modern_attention) on the processor"
    assert tiers.outdated(record) == [
        f"{said}{all_three}; [chapter {{number}}](training) on the H200."
    ]
    record["cpu"][tiers.PROCESSOR] |= dict.fromkeys(tiers.OF_THE_BOOK, now)
    assert tiers.outdated(record) == [f"{said}[chapter {{number}}](training) on the H200."]
    record["big"]["H200"]["training"] = now
    assert tiers.outdated(record) == []


def test_the_page_names_the_results_of_an_earlier_text():
    named = {
        (page_of(address).name, on)
        for part in "".join(re.findall(r"than the present one: (.*)\.\n", SHOWN)).split("; ")
        for on in re.findall(r" on the (.*)$", part)
        for address in re.findall(r"\]\(([^)]+)\)", part)
    }
    expected = {
        (name, on)
        for cards in RECORD.values()
        for on, found in cards.items()
        for name in {*found} & {*tiers.OF_THE_BOOK}
        if found[name].get("text") != tiers.edition()
    }
    assert named == expected


def test_a_notebook_that_is_measured_later_keeps_its_own_day(toy, monkeypatch, tmp_path):
    later = registry.Page("02_later", tmp_path / "02_later.ipynb")
    monkeypatch.setattr(tiers, "RECORD", tmp_path / "tiers.json")
    monkeypatch.setenv(tiers.TIER_VARIABLE, "cpu")
    monkeypatch.setattr(
        tiers,
        "execute",
        lambda path, result, *, on_gpu: {"seconds": 7, "bytes": None, "result": ""},
    )
    monkeypatch.setattr(tiers, "stamp", lambda: "1 May: PyTorch 3.0")
    tiers.measure([toy, registry.Page("03_third", tmp_path / "03_third.ipynb")])
    monkeypatch.setattr(tiers, "stamp", lambda: "2 May: PyTorch 3.1")
    tiers.measure([later])
    told = "processor, 1 May: PyTorch 3.0; but later, 2 May: PyTorch 3.1"
    assert f"*Measured on: {told}.*" in tiers.shown(tmp_path / "none.json")
    tiers.measure([toy])  # now most are of the second day
    told = "processor, 2 May: PyTorch 3.1; but third, 1 May: PyTorch 3.0"
    assert f"*Measured on: {told}.*" in tiers.shown(tmp_path / "none.json")


def test_a_dash_among_the_kernels_is_one_that_refused():
    dashes = {step.name for step in gpu.MEASUREMENTS if step.name != "kernels"
              for row in table_of(step.name) if "–" in row.values()}  # fmt: skip
    assert not dashes
    rows = [row for row in table_of("kernels") if row["ms"] == "–"]
    assert {row["n, numbers"].split(", ")[1] for row in rows} == {"float32"}
