"""`make gpu`, rehearsed: every step on the fake second device, and the program that runs them."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from second_device import AWAY, Away

from softlookup.models.gpt import storage
from softlookup.recorded import capstone as workshop
from softlookup.recorded import recorded
from softlookup.training import choose_tier

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))
names = "gpu", "gpu_environment", "gpu_steps", "gpu_worker", "tiers"
gpu, gpu_environment, gpu_steps, gpu_worker, tiers = map(importlib.import_module, names)


@pytest.fixture(autouse=True)
def _on_the_processor(monkeypatch):
    monkeypatch.setenv(tiers.TIER_VARIABLE, "cpu")


@pytest.fixture
def place(tmp_path):
    """The fake second device."""
    with gpu_steps.place_of(tmp_path, rehearse=True) as place:
        yield place


@pytest.fixture
def processor(tmp_path):
    with gpu_steps.place_of(tmp_path, rehearse=True, fake=False) as place:
        yield place


BYTES = 3 * 2**30


@pytest.fixture
def card(monkeypatch):
    """A card that is only imitated: PyTorch says that there is one, and what it is."""
    facts = SimpleNamespace(name="NVIDIA H200", total_memory=140 * 2**30, major=9, minor=0)
    asked = []
    monkeypatch.delenv(tiers.TIER_VARIABLE)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: facts)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: facts.name)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: asked.append("synchronize"))
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: asked.append("reset"))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: BYTES)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    return asked


def assert_table(found):
    heads, rows = found
    assert rows
    assert {len(row) for row in rows} == {len(heads)}
    assert all(isinstance(cell, str) for row in rows for cell in row)
    return rows


# the steps


def test_the_environment_is_told_and_what_it_lacks_is_an_error(place, monkeypatch):
    monkeypatch.setattr(gpu_environment, "ask", lambda python: {"lacking": []})
    rows = assert_table(gpu_steps.environment(place))
    assert ["PyTorch", torch.__version__] in rows
    assert ["tier", "cpu"] in rows
    monkeypatch.setattr(gpu_environment, "ask", lambda python: {"lacking": ["pooch", "yaml"]})
    with pytest.raises(ModuleNotFoundError, match="this Python lacks pooch, yaml"):
        gpu_steps.environment(place)


def test_what_only_a_card_is_asked(card, place, monkeypatch):
    """Each line that a machine without a card passes over."""
    monkeypatch.setattr(gpu_environment, "ask", lambda python: {"lacking": []})
    rows = assert_table(gpu_steps.environment(place._replace(rehearse=False)))
    assert rows[2:] == [
        ["card", "NVIDIA H200"],
        ["memory, GiB", "140"],
        ["compute capability", "9.0"],
        ["CUDA", "13.0"],
        ["tier", "big"],
    ]
    told = rf"NVIDIA H200, 140 GiB, PyTorch {re.escape(torch.__version__)}, \d\d \w+ \d{{4}}"
    assert re.fullmatch(told, gpu.machine())
    monkeypatch.setattr(gpu_steps, "highest", 0)
    assert gpu_steps.measured(lambda: card.append("call"), 2).n_bytes == BYTES
    assert card == ["synchronize", "reset", "call", "call", "synchronize"]
    assert gpu_steps.highest == BYTES
    with gpu_steps.place_of(place.folder, rehearse=False) as real:
        assert real.device == torch.device("cuda")
        assert real.sizes is gpu_steps.REAL


def test_what_a_card_held_is_told_by_the_worker_and_by_a_notebook(
    card, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(gpu_worker, "train_capstone", lambda path, *, after_step, **_: None)
    gpu_worker.work("run", "ddp", 1, 1, None, str(tmp_path / "out.json"))
    assert json.loads((tmp_path / "out.json").read_text()) == {"losses": [], "bytes": BYTES}
    exec((tiers.BEFORE + tiers.AFTER).format(on_gpu=True, result="'all'"), {})
    found = json.loads(capsys.readouterr().out)
    assert (found["bytes"], found["result"]) == (BYTES, "all")


def test_of_the_tests_each_is_counted_and_a_failing_one_fails_the_step(
    processor, tmp_path, monkeypatch
):
    paths = tmp_path / "test_one.py", tmp_path / "test_two.py"
    monkeypatch.setitem(gpu_steps.SMALL, "tests", [*map(str, paths)])
    skipped = "import pytest\n@pytest.mark.skip\ndef test_c(): pass\n"
    for path in paths:
        path.write_text("def test_a(): pass\ndef test_b(): pass\n" + skipped)
    found = assert_table(gpu_steps.devices(processor))
    assert found == [["test_one.py", "2", "1", "0"], ["test_two.py", "2", "1", "0"]]
    paths[0].write_text(skipped)  # on a card all skipped means: not seen
    paths[1].write_text("def test_a(): pass\ndef test_b(): assert 1 == 2\n")
    said = re.escape(str([["test_one.py", "0", "1", "0"], ["test_two.py", "1", "0", "1"]]))
    with pytest.raises(AssertionError, match=f"^test_one.py, test_two.py: .* = {said}"):
        gpu_steps.devices(processor)


def test_the_tests_of_devices_are_there():
    assert "tests/parity/test_devices_parity.py" in gpu_steps.SMALL["tests"]
    for path in (*gpu_steps.REAL["tests"], *gpu_steps.SMALL["tests"]):
        assert (ROOT / path).is_file()


def test_the_capstone_is_trained_alone_and_under_torchrun_and_is_taken_up(processor, monkeypatch):
    """FSDP2 with real processes; the others here, as one process each, to save time."""
    calls = []

    def run(command, env, check):
        options = json.loads(command[-1])
        calls.append([options["kind"], "torch.distributed.run" in command, options["stop"]])
        if options["kind"] == "fsdp":
            return original(command, env=env, check=check)
        gpu_worker.work(**options)
        return None

    original = subprocess.run
    monkeypatch.setattr(gpu_steps.subprocess, "run", run)
    rows = assert_table(gpu_steps.capstone(processor))
    alone, *others = (["ddp", False, None], ["ddp", True, None], ["fsdp", True, None])
    assert calls == [alone, *others, ["ddp", True, 2], ["ddp", True, None]]
    assert [row[0] for row in rows] == ["one process", "DDP", "FSDP2", "DDP, stopped and resumed"]
    assert len({row[3] for row in rows}) == 1  # the same last loss
    assert [row[4] for row in rows] == ["", "0e+00", "0e+00", "0e+00"]


def test_three_precisions_are_compared_with_the_first(place, monkeypatch):
    trained = []

    def train(sizes, device, dtype):
        trained.append((device, dtype))
        return original(sizes, device, dtype)

    original = gpu_steps.train_letters
    monkeypatch.setattr(gpu_steps, "train_letters", train)
    rows = assert_table(gpu_steps.precision(place))
    sizes = ["1 × 8, 3"] * 3 + ["1 × 16, 3"] * 3
    assert [row[0] for row in rows] == sizes
    assert [row[1] for row in rows] == ["float32", "TF32", "bfloat16"] * 2
    places = [(AWAY, None), (AWAY, None), (torch.device("cpu"), torch.bfloat16)]
    assert trained[1::2] == places * 2
    for three in (rows[:3], rows[3:]):
        losses = [float(row[4]) for row in three]
        assert [row[5] for row in three][:2] == ["", "+0.000"]
        assert 0 < abs(losses[2] - losses[0]) < 0.05
    assert torch.get_float32_matmul_precision() == "highest"


def test_the_letters_are_on_the_device(place):
    model, pieces = gpu_steps.model_of_letters(gpu_steps.sizes_of_letters(place), place.device)
    assert all(isinstance(weights.data, Away) for weights in model.parameters())
    assert isinstance(next(pieces), Away)


def test_sizes_are_those_of_the_capstone_in_the_tier(processor):
    found = gpu_steps.sizes_of_letters(processor._replace(rehearse=False))
    tier = gpu_steps.letters.SIZES[choose_tier().name]
    assert found == {**tier, "n_steps": gpu_steps.REAL["precision"]["n_steps"]}
    assert set(found) == set(gpu_steps.RUN)


def test_kernels_agree_with_float64_and_those_that_are_missing_have_dashes(place, monkeypatch):
    rows = assert_table(gpu_steps.kernels(place))
    errors = {(row[0], row[1]): float(row[5]) for row in rows if row[5]}
    assert len(rows) == 20
    assert len(errors) == 10
    assert all(e < 1e-6 for (n, _), e in errors.items() if "float32" in n)
    assert all(1e-4 < e < 1e-2 for (n, _), e in errors.items() if "bfloat16" in n)

    def failing(said):
        def fail(*parts):
            raise RuntimeError(said)

        return fail

    parts = [torch.ones(1, 1, 2, 4).requires_grad_()] * 3
    for said in ("No available kernel. Aborting execution.", "cuDNN error", "CUDA out of memory."):
        assert gpu_steps.kernel_row(failing(said), parts, None, 1) == ["–"] * 4
    with pytest.raises(RuntimeError, match="mixes devices"):
        gpu_steps.kernel_row(failing("mixes devices"), parts, None, 1)


@pytest.mark.filterwarnings("ignore::UserWarning")  # those of the compiler
def test_the_compiler_is_called_and_its_price_is_told(processor):
    rows = assert_table(gpu_steps.compiled(processor))
    assert [row[0] for row in rows] == [
        "softmax by hand",
        "the library's attention",
        "a step of the GPT of letters",
    ]
    assert all(int(row[4]) >= 1 for row in rows)
    assert all(row[5] == "never" or int(row[5].replace(",", "")) >= 1 for row in rows)


def test_where_nothing_is_compiled_the_step_fails(processor, monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function, backend: function)
    with pytest.raises(RuntimeError, match="softmax by hand: nothing was compiled"):
        gpu_steps.compiled(processor)


def test_what_the_compiler_cannot_do_is_told_and_the_others_go_on(processor, monkeypatch):
    def fail(*inputs):
        raise TypeError("no graph")

    monkeypatch.setattr(torch, "compile", lambda function, backend: fail)
    rows = assert_table(gpu_steps.compiled(processor))
    assert [row[2] for row in rows] == ["failed: TypeError"] * 3
    assert all(float(row[1]) > 0 for row in rows)


def test_the_best_of_the_larger_weights_are_kept_in_halves(place, monkeypatch, tmp_path):
    bits = iter([5.0, 7.0, 4.5])
    monkeypatch.setattr(gpu_steps, "bits_of", lambda *given: next(bits))
    monkeypatch.setattr(gpu_steps, "tiny_shakespeare", lambda: None)
    (row,) = assert_table(gpu_steps.larger(place))
    from safetensors import safe_open

    with safe_open(tmp_path / "capstone.safetensors", framework="pt") as file:
        texts = file.metadata()
        kinds = {file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
    assert kinds == {"F16"}
    assert (texts["step"], texts["text"]) == ("1", "the book's prose")  # the later look was worse
    model, tokens = storage.load_gpt(tmp_path / "capstone.safetensors")
    assert len(tokens) == gpu_steps.SMALL["larger"]["n_tokens"]
    assert row[0] == "larger, the book's prose"
    assert row[1] == f"{sum(weights.numel() for weights in model.parameters()):,}"
    assert row[5] == "4.500"


def test_a_larger_model_of_the_same_text_stands_below_the_workshops(place, monkeypatch):
    monkeypatch.setattr(gpu_steps, "tiny_shakespeare", lambda: "A: the cat sat.\n\n" * 200)
    rows = assert_table(gpu_steps.larger(place))
    known = recorded("capstone").results
    assert rows[0][:2] == ["the workshop's, tiny Shakespeare", f"{known['parameters']:,}"]
    assert rows[0][5] == f"{known['bits']:.3f}"
    assert rows[1][0] == "larger, tiny Shakespeare"


def test_bits_on_the_device_are_those_of_the_workshop(place):
    tokens = workshop.BytePairTokenizer([])
    model = workshop.new_model(tokens, window=8, d_model=8, n_heads=2, n_layers=1)
    expected = workshop.held_out_bits(model, tokens, "the cat sat on the mat", 8)
    found = gpu_steps.bits_of(model.to(place.device), tokens, "the cat sat on the mat", 8)
    assert found == pytest.approx(expected, rel=1e-6)


def test_a_chapter_is_measured_where_the_table_finds_it(processor, monkeypatch):
    taken = {"seconds": 3, "bytes": 2**20, "result": None}
    asked = []

    def execute(path, result, *, on_gpu):
        asked.append((path.stem, on_gpu))
        return taken

    monkeypatch.setattr(tiers, "execute", execute)
    gpu_steps.chapter(processor, "decoding")
    assert [(stem[2:], on_gpu) for stem, on_gpu in asked] == [("_decoding", True)]
    table = tiers.shown(processor.folder / "chapters.json")
    assert re.search(
        r"^\*\*a rehearsal\*\*, tier `\w+`\n(.*\n)*?.*\(decoding\) \|.*\| 3 \| 1 \|  \|\n", table
    )
    assert "No GPU was at hand" not in table
    assert "a rehearsal, " in table


def test_a_step_is_run_in_its_place_and_writes_what_it_found(tmp_path, monkeypatch):
    places = {}
    for name in gpu_steps.STEPS:

        def step(place, name=name):
            places[name] = place.device
            return ["head"], [["cell"]]

        monkeypatch.setitem(gpu_steps.STEPS, name, step)
        gpu_steps.main(name, tmp_path / "out.json", tmp_path / "cards", "--rehearse")
        found = json.loads((tmp_path / "out.json").read_text())
        assert (found["heads"], found["rows"]) == (["head"], [["cell"]])
    assert {name for name, device in places.items() if device == AWAY} == {*gpu_steps.ON_THE_FAKE}


# the plan


def test_each_measurement_is_a_step_and_each_notebook_too():
    steps = gpu.all_steps(rehearse=False)
    names = [step.name for step in steps]
    assert names[: len(gpu.MEASUREMENTS)] == list(gpu_steps.STEPS)
    chapters = [name.removeprefix("chapter-") for name in names[len(gpu.MEASUREMENTS) :]]
    assert sorted(chapters) == sorted(page.name for page in gpu.notebooks())
    assert {*chapters[: len(tiers.RESULTS)]} == {*tiers.RESULTS}  # first what a card changes


def clock_of(seconds, n):
    """How long notebooks take, so many at a time, each begun as soon as there is a place."""
    places = [0] * n
    for taken in seconds:
        places[places.index(min(places))] += taken
    return max(places)


def test_what_a_card_took_is_within_the_time_that_a_call_has(monkeypatch):
    """The seconds that were measured, with those that are planned for what was not."""
    known = gpu.read(gpu.CARDS)["NVIDIA H100 80GB HBM3"]["steps"]
    taken = {step.name: known.get(step.name, {"seconds": step.seconds})["seconds"]
             for step in gpu.all_steps(rehearse=False)}  # fmt: skip
    notebooks = [taken.pop(name) for name in list(taken) if name.startswith("chapter-")]
    assert {step.name for step in gpu.MEASUREMENTS} == {*taken}
    monkeypatch.setattr(gpu.os, "cpu_count", lambda: 16)  # as beside that card
    n = gpu.at_once(rehearse=False)
    assert n == 4
    assert sum(taken.values()) + clock_of(notebooks, n) <= 20 * 60
    assert max([*taken.values(), *notebooks]) < gpu.LIMIT


def test_several_notebooks_run_only_where_there_are_cores(monkeypatch):
    for cores, n in ((None, 1), (2, 1), (7, 1), (8, 2), (16, 4), (64, 4)):
        monkeypatch.setattr(gpu.os, "cpu_count", lambda cores=cores: cores)
        assert gpu.at_once(rehearse=False) == n
        assert gpu.at_once(rehearse=True) == 1


def test_the_whole_should_take_half_an_hour_and_no_step_eight_minutes():
    steps = gpu.all_steps(rehearse=False)
    taken = tiers.read_record(tiers.RECORD)["cpu"][tiers.PROCESSOR]
    planned = {step.name: step.seconds for step in steps}
    assert planned["chapter-attention"] == taken["attention"]["seconds"]
    assert planned["chapter-training"] == 2 * taken["training"]["seconds"]  # larger sizes
    assert sum(step.seconds for step in steps) <= 35 * 60
    assert max(step.seconds for step in steps) < gpu.LIMIT == 480


def test_a_rehearsal_has_all_measurements_and_a_notebook():
    names = [step.name for step in gpu.all_steps(rehearse=True)]
    assert names == [*gpu_steps.STEPS, "chapter-decoding"]


def test_a_rehearsal_of_two_minutes_begins_each_step(tmp_path, monkeypatch):
    """Its steps are small, so they are not planned with the time of a card."""
    begun = []

    def start(step, folder, limit, n, *, rehearse):
        begun.append(step.name)
        return gpu.Running(step, None, 0, limit)

    found = {"state": "passed", "seconds": 1, "heads": [], "rows": [], "bytes": None}
    monkeypatch.setattr(gpu, "start", start)
    monkeypatch.setattr(gpu, "outcome", lambda running: dict(found))
    steps = gpu.all_steps(rehearse=True)
    assert gpu.run_all(steps, tmp_path, 2, rehearse=True) == []
    assert begun == [step.name for step in steps]


# the program

TOY = """
import json, pathlib, subprocess, sys, time
name, out, folder = sys.argv[1:4]
with open(pathlib.Path(folder).parent / "calls", "a") as file:
    file.write(name + "\\n")
if name == "bad" and not (pathlib.Path(folder).parent / "mended").exists():
    raise FileNotFoundError("there is no /somewhere/else/thing.txt")
if name == "slow":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    (pathlib.Path(folder).parent / "child").write_text(str(child.pid))
    time.sleep(60)
found = {"heads": ["what", "ms"], "rows": [[name, "1.5"]], "bytes": None}
pathlib.Path(out).write_text(json.dumps(found))
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Three steps: one passes, one fails, one passes."""
    (tmp_path / "toy.py").write_text(TOY)
    steps = [gpu.Step(name, 0, f"What {name} does") for name in ("good", "bad", "last")]
    monkeypatch.setattr(gpu, "PROGRAM", tmp_path / "toy.py")
    monkeypatch.setattr(gpu, "REHEARSAL", tmp_path / "cards")
    monkeypatch.setattr(gpu, "folder_of_logs", lambda: tmp_path)
    monkeypatch.setattr(gpu, "ROOT", tmp_path)
    monkeypatch.setattr(gpu, "MEASUREMENTS", steps)
    monkeypatch.setattr(gpu, "all_steps", lambda *, rehearse: steps)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return tmp_path


def calls(folder):
    return (folder / "calls").read_text().split()


def test_what_fails_is_listed_and_the_rest_goes_on_and_a_second_start_resumes(toy, capsys):
    assert gpu.main(["--rehearse"]) == 1
    assert calls(toy) == ["good", "bad", "last"]
    said = capsys.readouterr().out
    assert "2 of 3 steps passed.\nFailed: bad." in said
    steps = gpu.read(toy / "cards")[tiers.PROCESSOR]["steps"]
    assert [steps[name]["state"] for name in ("good", "bad", "last")] == [
        "passed", "failed", "passed"]  # fmt: skip
    message = "FileNotFoundError: there is no thing.txt"
    assert steps["bad"]["message"] == message
    shown = (toy / "cards" / "steps.md").read_text()
    assert "*What good does*\n\n| what | ms |\n| :-- | --: |\n| good | 1.5 |\n" in shown
    assert f"What failed:\n\n- `bad`: `{message}`\n" in shown
    assert gpu.NO_CARD not in shown
    assert str(toy) not in shown + (toy / "cards" / "steps.json").read_text()
    (toy / "mended").touch()
    assert gpu.main(["--rehearse"]) == 0
    assert calls(toy)[3:] == ["bad"]
    shown = (toy / "cards" / "steps.md").read_text()
    assert "| bad | 1.5 |" in shown
    assert shown.endswith("No step failed.\n")
    capsys.readouterr()
    assert gpu.main(["--rehearse"]) == 0
    assert calls(toy)[4:] == []
    said = capsys.readouterr().out
    assert "All steps have passed; STEP=" in said
    assert said.endswith("The tables: cards/steps.md\n")


def test_a_rehearsal_of_other_code_begins_anew(toy):
    (toy / "mended").touch()
    (toy / "benchmarks").mkdir()
    (toy / "benchmarks" / "gpu_steps.py").write_text("x = 1\n")
    assert gpu.main(["--rehearse"]) == gpu.main(["--rehearse"]) == 0
    assert calls(toy) == ["good", "bad", "last"]
    (toy / "benchmarks" / "gpu_steps.py").write_text("x = y\n")
    assert gpu.main(["--rehearse"]) == 0
    assert calls(toy)[3:] == ["good", "bad", "last"]


def test_what_a_rehearsal_tries_is_what_it_looks_at():
    found = {
        path.relative_to(ROOT).as_posix() for pattern in gpu.CODE for path in ROOT.glob(pattern)
    }
    assert {"benchmarks/gpu_steps.py", "tests/unit/second_device.py", *gpu_steps.SMALL["tests"],
            "lib/softlookup/capstone.py", "lib/softlookup/data/book.txt",
            *(path.relative_to(ROOT).as_posix() for path in ROOT.glob("chapters/*_decoding.ipynb"))
            } <= found  # fmt: skip


def test_on_a_card_the_record_is_the_sites_and_again_forgets_that_card_alone(
    toy, card, monkeypatch, capsys
):
    (toy / "mended").touch()
    monkeypatch.setattr(gpu, "CARDS", toy / "site")
    monkeypatch.setattr(gpu, "at_once", lambda *, rehearse: 1)
    passed = {"state": "passed", "seconds": 1, "heads": [], "rows": [], "bytes": None}
    kept = {"T4": {"machine": "T4, 15 GiB", "steps": {"good": passed}}}
    gpu.write(toy / "site" / "steps.json", json.dumps(kept))
    chapters = {"big": {"NVIDIA H200": {"a": passed}}, "gpu": {"T4": {"a": passed}},
                "measured": {"NVIDIA H200": "today", "T4": "today"}}  # fmt: skip
    gpu.write(toy / "site" / "chapters.json", json.dumps(chapters))
    assert gpu.main([]) == 0
    assert calls(toy) == ["good", "bad", "last"]
    said = capsys.readouterr().out
    assert said.endswith("Commit benchmarks/cards: the page of larger machines reads it.\n")
    assert not (toy / "cards").exists()
    assert gpu.main([]) == 0
    assert gpu.main(["--again", "good"]) == 0  # a step that is named is run again anyway
    assert json.loads((toy / "site" / "chapters.json").read_text()) == chapters
    assert calls(toy)[3:] == ["good"]
    assert gpu.main(["--again"]) == 0
    assert calls(toy)[4:] == ["good", "bad", "last"]
    assert gpu.read(toy / "site").keys() == {"T4", "NVIDIA H200"}
    del chapters["big"]["NVIDIA H200"], chapters["measured"]["NVIDIA H200"]
    assert json.loads((toy / "site" / "chapters.json").read_text()) == chapters
    assert "code" not in gpu.read(toy / "site")["NVIDIA H200"]["steps"]["good"]


def test_the_tables_can_be_written_alone(toy, monkeypatch):
    monkeypatch.setattr(gpu, "CARDS", toy / "site")
    assert gpu.main(["--tables"]) == 0
    assert (toy / "site" / "steps.md").read_text() == gpu.NO_CARD + "\n"
    assert not (toy / "calls").exists()


MEETING = """
import json, os, pathlib, sys, time
name, out, folder = sys.argv[1:4]
here = pathlib.Path(folder).parent
(here / f"{name}.begun").touch()
latest = time.monotonic() + 60
while name.startswith("chapter") and len([*here.glob("chapter-*.begun")]) < 2:
    assert time.monotonic() < latest, "alone"
    time.sleep(0.01)
if not name.startswith("chapter"):
    assert not [*here.glob("chapter-*.begun")], "beside a notebook"
found = {"heads": [], "rows": [], "bytes": None, "n": os.environ["SOFTLOOKUP_AT_ONCE"]}
pathlib.Path(out).write_text(json.dumps(found))
"""


def test_notebooks_run_several_at_a_time_and_measurements_alone(toy):
    """Each notebook waits until another one has begun; a measurement must not meet any."""
    (toy / "toy.py").write_text(MEETING)
    steps = [gpu.Step(name, 0, "") for name in ("one", "chapter-a", "chapter-b", "chapter-c")]
    assert gpu.run_all(steps, toy / "cards", 5, rehearse=True, n=2) == []
    found = gpu.read(toy / "cards")[tiers.PROCESSOR]["steps"]
    assert {name: one["state"] for name, one in found.items()} == dict.fromkeys(
        ("one", "chapter-a", "chapter-b", "chapter-c"), "passed")  # fmt: skip
    assert {one["n"] for one in found.values()} == {"2"}


@pytest.mark.parametrize(("beside", "n", "may"), [
    ([], 1, True), (["chapter-a"], 1, False), (["chapter-a"], 2, True),
    (["chapter-a", "chapter-b"], 2, False), (["precision"], 4, False),
])  # fmt: skip
def test_who_may_start_beside_whom(beside, n, may):
    running = [gpu.Running(gpu.Step(name, 0, ""), None, 0, 0) for name in beside]
    assert gpu.may_start(gpu.Step("chapter-c", 0, ""), running, n) is may
    assert gpu.may_start(gpu.Step("kernels", 0, ""), running, n) is (not beside)


def test_one_step_is_run_though_it_has_passed(toy, capsys):
    gpu.main(["--rehearse", "good"])
    assert gpu.main(["--rehearse", "good"]) == 0
    assert calls(toy) == ["good", "good"]
    with pytest.raises(SystemExit, match="no such step: god; there are good, bad, last"):
        gpu.main(["--rehearse", "god"])


def test_a_beginning_that_ends_in_a_hyphen_means_all_that_begin_so(toy):
    steps = [gpu.Step(name, 0, "") for name in ("larger", "chapter-a", "chapter-b")]
    names = [step.name for step in gpu.chosen(steps, ["chapter-"], toy)]
    assert names == ["chapter-a", "chapter-b"]


def is_running(pid):
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().split()[2] != "Z"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks /proc")
def test_a_step_that_takes_too_long_is_ended_with_what_it_has_started(toy, monkeypatch):
    monkeypatch.setattr(gpu, "LIMIT", 2)
    slow = [gpu.Step("slow", 0, "Slow"), gpu.Step("last", 0, "Last")]
    assert gpu.run_all(slow, toy / "cards", 1, rehearse=True) == []
    steps = gpu.read(toy / "cards")[tiers.PROCESSOR]["steps"]
    assert steps["slow"]["state"] == "late"
    assert steps["slow"]["message"] == "longer than 2 seconds"
    assert steps["last"]["state"] == "passed"
    for _ in range(50):
        if not is_running((toy / "child").read_text()):
            return
        time.sleep(0.1)
    pytest.fail("what the step has started is still running")


STUBBORN = """
import json, pathlib, signal, subprocess, sys, time
place = pathlib.Path(sys.argv[3]).parent
if sys.argv[1] == "good":
    pathlib.Path(sys.argv[2]).write_text(json.dumps({"heads": [], "rows": [], "bytes": None}))
    sys.exit()
# as torchrun does: the worker is in a session of its own, and is ended by whoever started it
code = "import time; time.sleep(60)"
worker = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
def tidy(*_):
    time.sleep(0.5)
    worker.kill()
    worker.wait()
    sys.exit(1)
signal.signal(signal.SIGTERM, tidy)
(place / "child").write_text(str(worker.pid))
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_stops_it_finds_nothing_running_and_goes_on_later(toy, number):
    """In a process of its own: as by Ctrl-C, or as a machine that is lent for minutes does it."""
    (toy / "toy.py").write_text(STUBBORN)
    code = f"""
import sys, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.append({str(ROOT / "benchmarks")!r})
import gpu, pathlib
steps = [gpu.Step(name, 0, "") for name in ("good", "slow", "last")]
toy = pathlib.Path({str(toy)!r})
gpu.PROGRAM, gpu.REHEARSAL, gpu.ROOT, gpu.MEASUREMENTS = toy / "toy.py", toy / "cards", toy, steps
gpu.folder_of_logs, gpu.all_steps = lambda: toy, lambda rehearse: steps
sys.exit(gpu.main(["--rehearse"]))
"""
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            if (toy / "child").exists() and (toy / "child").read_text():
                break
            time.sleep(0.1)
        started.send_signal(number)
        said, _ = started.communicate(timeout=30)
    finally:
        started.kill()
    assert started.returncode == 130
    assert said.endswith(
        "Stopped. What has passed is kept; the same command goes on with the rest.\n"
    )
    assert not is_running((toy / "child").read_text())
    assert gpu.read(toy / "cards")[tiers.PROCESSOR]["steps"].keys() == {"good"}


def test_a_call_ends_in_time_and_what_it_cuts_short_is_no_failure(toy):
    slow = [gpu.Step("good", 0, ""), gpu.Step("slow", 0, ""), gpu.Step("last", 0, "")]
    assert gpu.run_all(slow, toy / "cards", 2 / 60, rehearse=True) == ["slow", "last"]
    assert gpu.read(toy / "cards")[tiers.PROCESSOR]["steps"].keys() == {"good"}


def test_a_step_that_should_take_longer_than_is_left_is_not_begun(toy):
    steps = [gpu.Step("good", 0, ""), gpu.Step("last", 90, "")]
    assert gpu.run_all(steps, toy / "cards", 1, rehearse=True) == ["last"]
    assert calls(toy) == ["good"]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("Traceback\n  File\nValueError: wrong\n\n[rank0] exits\n", "ValueError: wrong"),
        ("torch.OutOfMemoryError: no memory\n", "torch.OutOfMemoryError: no memory"),
        ("Killed\n", "Killed"),
        ("", "it ended with code -9"),
        ("OSError: /usr/lib/python/x.so: cannot open\n", "OSError: x.so: cannot open"),
        ("Error: 1 / 2 and a/b\n", "Error: 1 / 2 and a/b"),
    ],
)
def test_the_last_words_of_a_step(log, said):
    assert gpu.last_words(log, -9) == said


def test_each_card_has_its_tables(monkeypatch):
    found = {"state": "passed", "seconds": 1, "heads": ["a"], "rows": [["1"]], "bytes": None}
    first = {"machine": "NVIDIA H200, 140 GiB, PyTorch 3", "steps": {"precision": found}}
    bad = {"state": "failed", "seconds": 1, "message": "a `b` | c"}
    text = gpu.shown({"H200": first, "T4": {"machine": "T4, 15 GiB", "steps": {"compile": bad}}})
    assert text.startswith("**NVIDIA H200**, 140 GiB, PyTorch 3.\n\n*The same")
    assert "\n\nNo step failed.\n\n**T4**" in text
    assert text.endswith("- `compile`: `a 'b' / c`\n")
    assert gpu.shown({}) == gpu.NO_CARD + "\n"


def test_a_step_that_is_measured_later_keeps_its_own_day_and_version(tmp_path, monkeypatch):
    found = {"state": "passed", "seconds": 60, "heads": ["a"], "rows": [["1"]], "bytes": None}
    for day, name in (
        ("3.0, 1 May", "kernels"),
        ("3.0, 1 May", "devices"),
        ("3.1, 2 May", "compile"),
    ):
        monkeypatch.setattr(gpu, "machine", lambda day=day: f"H200, 140 GiB, PyTorch {day}")
        gpu.keep(tmp_path, name, found)
    shown = (tmp_path / "steps.md").read_text()
    told = "**H200**, 140 GiB, PyTorch 3.0, 1 May; but `compile`, 140 GiB, PyTorch 3.1, 2 May.\n"
    assert shown.startswith(told)


def test_what_has_not_run_and_how_long_the_rest_took_is_told(monkeypatch):
    found = {"state": "passed", "seconds": 90, "heads": ["a"], "rows": [["1"]], "bytes": None}
    names = [step.name for step in gpu.all_steps(rehearse=False)]
    steps = dict.fromkeys(names, found)
    del steps["kernels"], steps["chapter-training"], steps["chapter-workshop"]
    (said,) = gpu.summary(steps, rehearsed=False)
    lacking = "`kernels`, [chapter {number}](training) and [workshop](workshop)"
    assert said.startswith(f"Not yet run: {lacking}. Added up, the steps took ")
    assert f"took {90 * len(steps):,} seconds, which is {90 * len(steps) / 60:.0f} minutes" in said
    (said,) = gpu.summary(dict.fromkeys(names, found), rehearsed=False)
    assert "Not yet run" not in said


def test_whose_losses_are_of_an_earlier_text_is_told(tmp_path, monkeypatch):
    found = {"state": "passed", "seconds": 9, "heads": ["a"], "rows": [["1"]], "bytes": None}
    prose = found | {"rows": [["larger, the book's prose"]]}
    for name, one in (("capstone", found), ("kernels", found), ("larger", prose)):
        gpu.keep(tmp_path, name, one)
    earlier = "were measured with an earlier text of the book than the present one."
    assert earlier not in (tmp_path / "steps.md").read_text()
    monkeypatch.setattr(tiers, "edition", lambda: "another")
    gpu.keep(tmp_path, "precision", found)
    shown = (tmp_path / "steps.md").read_text()
    assert f"The losses of `capstone` and `larger` {earlier}" in shown


# the environment


def test_a_python_that_sees_the_card_is_chosen_before_one_that_does_not():
    none = {"Python": "3.12.1", "torch": None, "sees_card": False}
    blind, seeing = none | {"torch": "2.13.0"}, none | {"torch": "2.10.1", "sees_card": True}
    assert gpu_environment.choose({"a": none}) is None
    assert gpu_environment.choose({"a": none, "b": blind}) == "b"
    assert gpu_environment.choose({"a": blind, "b": seeing}) == "b"
    assert gpu_environment.choose({"a": seeing, "b": seeing}) == "a"
    for old in ({"Python": "3.10.12"}, {"torch": "2.9.1+cu128"}):
        assert gpu_environment.choose({"a": seeing | old, "b": blind}) == "b"
        assert gpu_environment.choose({"a": seeing | old}) is None


def test_what_is_too_old_is_told_with_its_version():
    facts = {"Python": "3.9.18", "torch": "2.6.0+cu124"}
    assert gpu_environment.too_old(facts) == [
        "Python 3.9.18 is older than 3.11",
        "PyTorch 2.6.0+cu124 is older than 2.10",
    ]
    assert gpu_environment.too_old({"Python": "3.11.0", "torch": None}) == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least = {name: ".".join(map(str, n)) for name, n in gpu_environment.LEAST.items()}
    assert project["requires-python"] == f">={least['Python']}"
    assert f"torch>={least['PyTorch']}" in project["dependencies"]


@pytest.fixture
def started(tmp_path, monkeypatch):
    """The commands that would be run; what this Python is asked, it answers from a list."""
    commands, answers = [], []

    def run(command, **options):
        commands.append([str(part) for part in command])
        return subprocess.CompletedProcess(command, 0)

    def become(python, command, variables):
        assert python == command[0]
        assert str(gpu_environment.OWN) in variables["PYTHONPATH"]
        return run(command).returncode

    monkeypatch.setattr(gpu_environment.subprocess, "run", run)
    monkeypatch.setattr(gpu_environment.os, "execve", become)
    monkeypatch.setattr(gpu_environment.os, "chdir", lambda folder: None)
    monkeypatch.setattr(gpu_environment, "ask", lambda python: answers.pop(0))
    monkeypatch.setattr(gpu_environment, "ROOT", tmp_path)
    monkeypatch.setattr(gpu_environment, "WHEELS", tmp_path / ".wheels")
    monkeypatch.setattr(gpu_environment.shutil, "which", lambda name: None)
    return commands, answers


BLIND = {"Python": "3.12.1", "torch": "2.13", "sees_card": False, "lacking": []}


def test_what_is_lacking_is_brought_with_or_without_a_network(started, tmp_path, capsys):
    commands, answers = started
    answers += [BLIND | {"lacking": ["yaml", "sklearn"]}, BLIND]
    assert gpu_environment.main(["--minutes", "8"]) == 0
    install, start = commands
    assert install[-2:] == ["PyYAML", "scikit-learn"]
    assert install[install.index("-c") + 1].endswith("requirements.txt")
    assert "--no-index" not in install
    assert start[0] == sys.executable
    assert start[-2:] == ["--minutes", "8"]
    (tmp_path / ".wheels").mkdir()
    (tmp_path / ".wheels" / "a.whl").touch()
    answers += [BLIND | {"lacking": ["pooch"]}, BLIND | {"lacking": ["pooch"]}]
    gpu_environment.main([])
    assert "--no-index" in commands[2]
    assert "Still lacking: pooch. What needs them fails, the rest goes on." in (
        capsys.readouterr().out
    )


def test_without_pytorch_the_environment_is_made_with_the_lock(started):
    commands, answers = started
    answers += [BLIND | {"torch": None}, BLIND]
    assert gpu_environment.main([]) == 0
    assert ".venv/installed" in commands[0]
    assert commands[1][0].endswith(".venv/bin/python")


def test_a_card_that_pytorch_does_not_see_is_no_rehearsal(started, monkeypatch, capsys):
    commands, answers = started
    monkeypatch.setattr(gpu_environment.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    answers += [BLIND, BLIND]
    assert gpu_environment.main([]) == 1
    assert commands == []
    assert "PyTorch 2.13 does not see it" in capsys.readouterr().out
    assert gpu_environment.main(["--rehearse"]) == 0


def test_this_python_is_asked_what_it_has():
    found = gpu_environment.ask(sys.executable)
    assert found["torch"] == torch.__version__
    assert found["lacking"] == []


def test_what_is_needed_is_in_the_lock():
    lock = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    locked = {line.partition("==")[0].lower() for line in lock.splitlines()}
    assert {name.lower() for name in gpu_environment.NEEDED.values()} <= locked
    assert {*gpu_environment.CARRIED} <= {*gpu_environment.NEEDED.values()}


def test_wheels_are_fetched_for_another_python(started):
    commands, _ = started
    assert gpu_environment.main(["--wheels", "3.12"]) == 0
    (command,) = commands
    assert command[command.index("--python-version") + 1] == "3.12"
    assert "ipykernel" in command


def test_make_knows_the_command():
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run = subprocess.run(
        ["make", "-n", "gpu", "PYTHON=py", "STEP=precision", "MINUTES=8", "AGAIN=yes",
         "REHEARSE=yes"],
        cwd=ROOT, env=alone, capture_output=True, text=True, check=True)  # fmt: skip
    said = " ".join(run.stdout.replace("\\\n", " ").split())
    assert said == "py benchmarks/gpu_environment.py precision --minutes 8 --again --rehearse"
