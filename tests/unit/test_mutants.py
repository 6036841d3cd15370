"""The bugs that `make mutants` plants: made as said, and each written one still stands."""

import argparse
import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "mutants"
sys.path.append(str(FOLDER))
import run  # noqa: E402
import swap  # noqa: E402
from generate import Mutant, mutants_of  # noqa: E402

SOURCE = """
SCALE = 2.0

def weights(query: "n d", key, mask=None, eps: float = 1e-5, causal=False):
    '1 < 2.'
    require(query.ndim >= 2, f"at least {1 + 1}", query=query)
    if causal and mask is None:
        mask = full(len(query))[:-1, :SIZE]
    scores = query @ key.mT / sqrt(query.shape[-1] - 1)
    scores = scores.masked_fill(~mask, -inf)
    if len(key) < 2:
        raise ValueError(1 + 2)
    for row in range(len(scores)):
        total += row
    return softmax(scores, dim=-1)
"""

RULE = "f'at least {1 + 1}', query=query)"
SCORES = "query @ key.mT / sqrt(query.shape[-1] - 1)"
ROOT = "sqrt(query.shape[-1] - 1)"
FILL = "scores.masked_fill(~mask, -inf)"
MADE = [
    "SCALE = 2.0 → SCALE = 4.0",
    "eps=1e-05 → eps=2e-05",
    "causal=False → causal=True",
    f"require(query.ndim >= 2, {RULE} → pass",
    f"require(query.ndim >= 2, {RULE} → require(query.ndim > 2, {RULE}",
    f"require(query.ndim >= 2, {RULE} → require(query.ndim >= 3, {RULE}",
    "causal and mask is None → causal or mask is None",
    "causal and mask is None → causal and mask is not None",
    "full(len(query))[:-1, :SIZE] → full(len(query))[:-2, :SIZE]",
    "full(len(query))[:-1, :SIZE] → full(len(query))[:-1, :SIZE - 1]",
    f"{SCORES} → key.mT @ query / {ROOT}",
    f"{SCORES} → query @ key.mT * {ROOT}",
    f"{SCORES} → query @ key / {ROOT}",
    f"{ROOT} → query.shape[-1] - 1",
    f"{ROOT} → sqrt(query.shape[-1])",
    f"{ROOT} → sqrt(query.shape[-2] - 1)",
    f"scores = {FILL} → pass",
    f"{FILL} → scores",
    f"{FILL} → scores.masked_fill(mask, -inf)",
    f"{FILL} → scores.masked_fill(~mask, inf)",
    "len(key) < 2 → len(key) <= 2",
    "len(key) < 2 → len(key) < 3",
    "range(len(scores)) → range(len(scores) - 1)",
    "total += row → pass",
    "return softmax(scores, dim=-1) → return scores",
    "return softmax(scores, dim=-1) → return softmax(scores)",
    "return softmax(scores, dim=-1) → return softmax(scores, dim=-2)",
]


@pytest.fixture
def made(tmp_path) -> list[Mutant]:
    path = tmp_path / "lib" / "softlookup" / "toy.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE, encoding="utf-8")
    return mutants_of(tmp_path, path)


def test_bugs_of_a_small_module(made):
    assert [mutant.what for mutant in made] == MADE


def test_a_bug_changes_what_it_says_and_nothing_else(made):
    ((line, bug),) = [
        (mutant.lines, mutant.planted(SOURCE.encode()).decode())
        for mutant in made
        if mutant.what == f"{SCORES} → key.mT @ query / {ROOT}"
    ]
    assert line == (9, 9)
    assert bug == SOURCE.replace("query @ key.mT", "(key.mT @ query)")


def test_a_bug_is_known_by_its_function(made):
    assert {m.place for m in made} == {"softlookup.toy", "softlookup.toy.weights"}
    assert [m.what for m in made if not m.inside] == MADE[:3]  # the values by default, too


def test_each_written_bug_stands_in_its_file():
    assert len(run.written()) == len(json.loads(run.MUTANTS.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"find": "heed"}, "'heed' stands 0 times in the file, not once"),
        ({"find": "import"}, "stands .* times in the file, not once"),
        ({"replace": "("}, "'\\(' was never closed"),
        ({"file": "lib/softlookup/heed.py"}, "No such file"),
    ],
)
def test_a_written_bug_that_cannot_be_planted_is_named(tmp_path, monkeypatch, change, fault):
    entry = json.loads(run.MUTANTS.read_text(encoding="utf-8"))[0]
    monkeypatch.setattr(run, "MUTANTS", tmp_path / "mutants.json")
    run.MUTANTS.write_text(json.dumps([entry | change]), encoding="utf-8")
    with pytest.raises(SystemExit, match=f"{entry['why']}: .*{fault}"):
        run.written()


OTHER = """
def weights(query: "n d", key, eps: float = 1e-5):
    def shifted(x, by=eps):
        return x - by
    return shifted(query) @ key
"""


@pytest.mark.parametrize(
    ("new", "codes"),
    [
        (OTHER.replace("x - by", "x + by"), ["weights", "weights.<locals>.shifted"]),
        (OTHER.replace("by=eps", "by=2 * eps"), ["weights"]),
        (OTHER.replace("@", "+"), ["weights"]),
        (OTHER.replace("\n    def", "\n\n    def"), []),
        (OTHER.replace("1e-5", "1e-4"), None),
        (OTHER.replace("x - by", "x - eps"), None),
    ],
)
def test_the_codes_that_a_bug_changes(new, codes):
    """The whole of a function holds that of the functions in it; not a value by default."""
    before, after = (compile(text, "toy.py", "exec") for text in (OTHER, new))
    if codes is None:
        with pytest.raises(ValueError, match=r"runs when the module is imported|from outside"):
            list(swap.changed(before, after))
    else:
        assert [old.co_qualname for old, _ in swap.changed(before, after)] == codes


def test_what_is_called_equivalent_is_made():
    run.generated()


def test_what_is_called_equivalent_and_not_made_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "EQUIVALENT", tmp_path / "equivalent.json")
    run.EQUIVALENT.write_text('{"softlookup.ops.heed": {"a → b": "why"}}', encoding="utf-8")
    with pytest.raises(SystemExit, match=r"not made any more:\nsoftlookup\.ops\.heed: a → b"):
        run.generated()


def test_the_shards_are_the_whole():
    options = {"words": [], "bugs": False, "written": True}
    whole, *parts = [
        run.chosen(argparse.Namespace(shard=shard, **options)) for shard in ("1/1", "1/2", "2/2")
    ]
    assert len(parts[0]) - len(parts[1]) in (0, 1)
    assert sorted(map(str, whole)) == sorted(map(str, parts[0] + parts[1]))
