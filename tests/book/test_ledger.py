"""The reference ledger: sound, no fault planted in it goes untold, its numbers are measured."""

import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import reference_ledger as ledger
import softlookup

FOLDER = Path(__file__).resolve().parents[1] / "ledger"
sys.path.append(str(FOLDER))
from make_ledger import bound, merged, plain, row  # noqa: E402
from references import Source  # noqa: E402


def test_the_ledger_is_sound():
    assert ledger.faults(ledger.read()) == []


def test_the_names_read_off_the_files_are_those_that_can_be_imported():
    found = {}
    for module in pkgutil.walk_packages(softlookup.__path__, "softlookup."):
        for name, thing in vars(importlib.import_module(module.name)).items():
            own = getattr(thing, "__module__", "") == module.name
            full = f"{module.name}.{name}".removeprefix("softlookup.")
            kind = inspect.isroutine(thing) or inspect.isclass(thing)
            kind = kind and not typing.is_typeddict(thing)
            if own and kind and ledger.is_public(full, inspect.getdoc(thing) or ""):
                found[full] = thing
    assert ledger.public_things() == found


# planted faults


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Changes peers.yml or the record in a copy; the faults that are told then."""

    def change(peers=lambda text: text, record=lambda rows: None, sealed=True) -> list[str]:
        rows = json.loads(json.dumps(ledger.read()))
        record(rows)
        text = peers(ledger.PEERS.read_text(encoding="utf-8"))
        for name in ("PEERS", "RECORD"):
            monkeypatch.setattr(ledger, name, tmp_path / name)
        ledger.PEERS.write_text(text, encoding="utf-8")
        ledger.write(rows if sealed else {})
        return ledger.faults(rows)

    return change


def test_without_a_change_nothing_is_told(planted):
    assert planted() == []


NAME = "attention.dot_product.attention"
PEER = "torch.nn.functional.scaled_dot_product_attention"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda text: text.replace(f"\n{NAME}: ", "\n# "), f"{NAME}: no entry in peers.yml"),
        (lambda text: f"{text}\nattention.heed: by hand", "attention.heed: in peers.yml, but no"),
        (lambda text: text.replace(f"{NAME}: [", f"{NAME}: [torch.mm, "), f"{NAME}: peers.yml and"),
    ],
    ids=["a name is left out", "a name that does not exist", "a peer that nobody recorded"],
)
def test_a_fault_of_what_is_written_is_told(planted, change, fault):
    assert [told for told in planted(peers=change) if told.startswith(fault)]


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("tests", 0, "no test compares them"),
        ("errors", [[1e-12, 1e-15], [0.01, 0.1]], "the error 0.1 exceeds the tolerance 0.01"),
    ],
)
def test_a_fault_of_what_was_recorded_is_told(planted, key, value, fault):
    (told,) = planted(record=lambda rows: rows[NAME][0].update({key: value}))
    assert told.startswith(f"{NAME}, {PEER}: {fault}")


def test_a_number_that_was_typed_over_is_told(planted):
    told = planted(record=lambda rows: rows[NAME][0].update(cases=10**6), sealed=False)
    assert [fault for fault in told if fault.startswith("recorded.json was changed by hand")]


@pytest.mark.parametrize("peer", ["by magic", "through attention.heed"])
def test_a_comparison_of_no_known_kind_is_told(planted, peer):
    said = planted(
        peers=lambda text: text.replace(f"{NAME}: [{PEER}", f"{NAME}: [{peer}"),
        record=lambda rows: rows[NAME][0].update(peer=peer),
    )
    assert len(said) == 1
    assert said[0].startswith(f"{NAME}, {peer}: n")


# the recorder

WATCHED = """
import pytest, torch
from hypothesis import given, settings, strategies as st
from torch.autograd import gradcheck
from torch.testing import assert_close
from softlookup.attention import attention
from softlookup.ops import entropy, softmax

@pytest.fixture(scope="module")
def weights():
    return softmax(torch.zeros(2, dtype=torch.float64))

@pytest.mark.parametrize("off", [0.0, 3e-9])
def test_close(weights, off):
    assert_close(weights + off, torch.full((2,), 0.5, dtype=torch.float64))
    assert_close([weights.float()], [weights.float() + 1e-6], rtol=0, atol=1e-5)

def test_fixture_again(weights):
    assert entropy(weights).item() == pytest.approx(0.69314718, rel=1e-6)

@settings(max_examples=7)
@given(st.floats(0, 1))
def test_cases(x):
    out = attention(*torch.ones(3, 1, 1, dtype=torch.float64))
    assert_close(out, torch.ones_like(out), rtol=0, atol=1e-3)

def test_slopes():
    assert gradcheck(softmax, torch.zeros(3, dtype=torch.float64, requires_grad=True))

def test_absolute():
    assert [0.25, 0.0] == pytest.approx([0.5, 0.0], abs=0.5)
    assert 0.25 + 1e-13 == pytest.approx(0.25, rel=1e-12)
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory) -> dict:
    """What the recorder writes of five tests."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "test_watched.py").write_text(WATCHED, encoding="utf-8")
    (folder / "facts").mkdir()
    paths = os.pathsep.join(map(str, [FOLDER, ledger.ROOT / "_ext", ledger.ROOT / "lib"]))
    environment = {**os.environ, "PYTHONPATH": paths, "LEDGER_FOLDER": str(folder / "facts")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "recorder", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, str(folder)], cwd=folder, env=environment, capture_output=True)
    assert done.returncode == 0, done.stdout.decode()
    (path,) = (folder / "facts").iterdir()
    found = json.loads(path.read_text(encoding="utf-8"))
    return {test.split("::test_")[1]: fact for test, fact in found.items()}


def test_names_are_told_apart_by_who_calls_them(facts):
    assert facts["cases"]["direct"] == ["attention.dot_product.attention"]
    assert "attention.lookup.lookup_weights" in facts["cases"]["reached"]
    assert "attention.lookup.lookup_weights" not in facts["cases"]["direct"]
    assert facts["slopes"]["direct"] == ["ops.softmax"]
    assert facts["absolute"]["direct"] == facts["absolute"]["reached"] == []


def test_a_fixture_counts_for_each_test_that_uses_it(facts):
    assert facts["close"]["direct"] == ["ops.softmax"]
    assert facts["fixture_again"]["direct"] == ["ops.entropy", "ops.softmax"]


def test_each_case_is_counted(facts):
    assert {test: fact["cases"] for test, fact in facts.items()} == {
        "close": 2, "fixture_again": 1, "cases": 7, "slopes": 1, "absolute": 1,
    }  # fmt: skip


def test_the_worst_error_of_each_tolerance_is_kept(facts):
    close = facts["close"]["errors"]
    assert close.keys() == {"64 1e-07", "32 1e-05"}
    assert close["64 1e-07"] == pytest.approx(3e-9 / (1 + 0.5))
    assert close["32 1e-05"] == pytest.approx(1e-6, rel=0.1)
    assert facts["fixture_again"]["errors"]["64 1e-06"] == pytest.approx(8e-10, rel=0.1)
    assert facts["cases"]["errors"] == {"64 0.001": 0.0}
    assert facts["absolute"]["errors"].keys() == {"64 0.5", "64 1e-12"}
    assert facts["absolute"]["errors"]["64 0.5"] == 0.25
    assert facts["absolute"]["errors"]["64 1e-12"] == pytest.approx(1e-13, rel=0.01)
    assert 0 < facts["slopes"]["errors"]["64 0.001"] < 1e-5


# rows

FACTS = {
    "tests/parity/test_attention_parity.py::test_softmax_is_scipy_s_and_pytorch_s": {
        "cases": 3, "errors": {"64 1e-12": 3e-16}, "direct": ["ops.softmax"], "reached": [],
    },
    "tests/parity/test_attention_parity.py::test_sigmoid_is_scipy_s": {
        "cases": 5, "errors": {"64 1e-12": 1e-13}, "direct": ["ops.sigmoid"], "reached": [],
    },
    "tests/property/test_attention_laws.py::test_naive_fused_and_by_hand_are_equal": {
        "cases": 7, "errors": {"64 0.005": 1e-3}, "direct": ["ops.softmax"], "reached": ["ops.x"],
    },
}  # fmt: skip


def test_a_row_takes_the_tests_that_call_the_name_and_lead_to_the_peer():
    found = row("ops.softmax", "scipy.special.softmax", FACTS)
    assert found == {
        "peer": "scipy.special.softmax", "tests": 1, "cases": 3, "random": 3,
        "errors": [[1e-12, 1e-15]],
    }  # fmt: skip
    assert row("ops.softmax", "scipy.special.expit", FACTS)["tests"] == 0
    assert row("ops.sigmoid", "scipy.special", FACTS)["errors"] == [[1e-12, 1e-13]]


def test_a_kind_takes_the_tests_of_its_folder():
    assert row("ops.softmax", "laws", FACTS)["cases"] == 7
    assert row("ops.softmax", "by hand", FACTS)["tests"] == 0


def test_a_part_takes_the_tests_of_the_whole_that_reach_it():
    assert row("ops.x", "through ops.softmax", FACTS)["cases"] == 7
    assert row("ops.x", "through ops.sigmoid", FACTS)["tests"] == 0


def test_fewer_bits_count_only_where_there_are_no_more():
    fact = {"cases": 1, "errors": {}, "direct": ["ops.softmax"], "reached": []}
    test = next(iter(FACTS))
    for errors, wanted in [
        ({"64 1e-12": 2e-13, "16 0.016": 0.01}, [[1e-12, 1e-12]]),
        ({"32 1e-05": 2e-6, "16 0.016": 0.01}, [[1e-5, 1e-5]]),
        ({"64 0.03": 0.02, "64 0.05": 3e-4}, [[0.1, 0.1]]),
        ({"64 1e-07": 0.0, "64 1e-12": 2e-14}, [[1e-12, 1e-13], [1e-7, 0]]),
        ({"64 0": 0.0}, [[0, 0]]),
    ]:
        found = row("ops.softmax", "torch.softmax", {test: {**fact, "errors": errors}})
        assert found["errors"] == wanted


def test_errors_and_tolerances_are_rounded_up_to_powers_of_ten():
    errors = (0.0, 1e-16, 1.1e-16, 9e-8)
    assert [bound(error) for error in errors] == [0, 1e-16, 1e-15, 1e-7]
    assert [plain(t) for t in (1e-12, 2.5e-7, 0.05, 1)] == [1e-12, 1e-6, 0.1, 1]


def test_facts_of_two_processes_are_one():
    (test, fact), *_ = FACTS.items()
    other = {**fact, "errors": {"64 1e-12": 1e-17, "32 1e-05": 0.0}, "direct": ["ops.entropy"]}
    whole = merged([{test: fact}, {test: other}])[test]
    assert whole["cases"] == 6
    assert whole["errors"] == {"64 1e-12": 3e-16, "32 1e-05": 0.0}
    assert whole["direct"] == ["ops.entropy", "ops.softmax"]


# what a test leads to

SOURCE = """
import scipy.special
import torch.nn.functional as F
from torch import nn
import numpy as np

TABLE = {"one": F.relu}
LAYER = nn.GRU(1, 1)

@pytest.fixture
def drawn(generator): return np.zeros(3)

@pytest.fixture(autouse=True)
def _seed(): torch.manual_seed(1)

def helper(x): return scipy.special.expit(x)

def test_all(drawn):
    assert helper(TABLE) == LAYER

def test_little():
    assert F.gelu(1) > 0
    if 1 == 2: pass
"""


def test_imports_helpers_tables_and_fixtures_are_followed(tmp_path):
    path = tmp_path / "test_source.py"
    path.write_text(SOURCE, encoding="utf-8")
    source = Source(path)
    names = {"scipy.special.expit", "torch.nn.functional.relu", "torch.nn.GRU", "numpy.zeros"}
    assert names <= source.leads_to("test_all")
    assert "torch.Generator" in source.leads_to("test_all")  # of the fixture `generator`
    assert not names & source.leads_to("test_little")
    assert "torch.nn.functional.gelu" in source.leads_to("test_little")


def test_an_equality_counts_where_it_is_asserted(tmp_path):
    path = tmp_path / "test_source.py"
    path.write_text(SOURCE, encoding="utf-8")
    assert Source(path).asserts_equality("test_all")
    assert not Source(path).asserts_equality("test_little")


# the bugs


def test_each_class_of_bugs_has_mutants_and_a_test_that_killed_each():
    mutants = json.loads((FOLDER.parent / "mutants" / "mutants.json").read_text(encoding="utf-8"))
    classes = json.loads(ledger.BUGS.read_text(encoding="utf-8"))
    assert [one["bug"] for one in classes] == list(range(1, 43))
    for one in classes:
        listed = [(m["file"], m["why"]) for m in mutants if m.get("bug") == one["bug"]]
        assert [(m["file"], m["why"]) for m in one["mutants"]] == listed != []
        for mutant in one["mutants"]:
            file, name = re.match(r"([^:]+)::(\w+)", mutant["killer"]).groups()
            assert f"def {name}(" in (ledger.ROOT / file).read_text(encoding="utf-8")
