"""The exercises of "Bugs that fooled everyone": laws that bugs break, and a check of repairs."""

import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from softlookup.attention.positions import sinusoidal
from softlookup.exercises.bugs import NEW, SEEN, check_repairs, hunt, verdicts
from softlookup.exercises.bugs_laws import LAWS, SANITY, broken_laws
from softlookup.exercises.bugs_model import PARTS, Patient, encode_pairs, learn_pairs
from softlookup.tokenization import learn_merges, merge_pair

BUGS = [
    pytest.param(bug, id=f"{kind}-{part}")
    for kind, bugs in (("seen", SEEN), ("new", NEW))
    for part, bug in bugs.items()
]


def assert_wrong(verdict, advice):
    assert not verdict
    assert advice in verdict.message


# The laws


def test_the_healthy_patient_keeps_every_law():
    assert set(verdicts().values()) == {None}
    assert len(verdicts()) == len(LAWS) + len(SANITY)


def test_both_dozens_have_all_parts():
    assert list(SEEN) == list(NEW) == list(PARTS)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_passes_the_first_looks_and_breaks_a_law(bug):
    found = verdicts(bug.function)
    assert {found[name] for name in SANITY} == {None}
    assert any(found[name] for name in LAWS)


@pytest.mark.parametrize("bug", BUGS)
def test_one_line_is_wrong_and_the_right_one_mends_it(bug):
    assert [line.strip().split("  # ")[0] for line in bug.lines()].count(bug.wrong) == 1
    assert bug.lines()[0].startswith("def ")
    assert broken_laws(**{bug.part: bug.repaired()}) == {}


@pytest.mark.parametrize(
    ("bug", "law", "said"),
    [
        (SEEN["count_pairs"], "count = saving", "in “aaa”, aa is counted 2 times"),
        (SEEN["split"], "no look-ahead", "changed the scores at place"),
        (SEEN["join"], "no look-ahead", "changed the scores at place"),
        (SEEN["causal"], "cache", "one reading of the whole text gives"),
        (SEEN["softmax"], "empty text", "where the model gives nan"),
        (SEEN["clean"], "filler", "with filler of nan"),
        (SEEN["drop"], "repeats", "in evaluation mode two readings"),
        (SEEN["norm"], "parity", "PyTorch's layers give"),
        (SEEN["positions"], "parity", "PyTorch's layers give"),
        (SEEN["tie"], "one table", "parameters; with one table it has"),
        (SEEN["total_loss"], "parts = whole", "in one piece a gradient has"),
        (SEEN["top_k"], "cut is 0", "tokens that were cut have probability"),
        (NEW["drop"], "repeats", "weights of 1 are 0.80 on average"),
        (NEW["split"], "parity", "PyTorch's layers give"),
        (NEW["norm"], "no look-ahead", "changed the scores at place"),
        (NEW["count_pairs"], "count = saving", "in “aaaa”, aa is counted 1 times"),
        (NEW["top_k"], "cut is 0", "tokens that were cut have probability"),
    ],
)  # fmt: skip
def test_a_law_tells_what_it_saw(bug, law, said):
    assert said in verdicts(bug.function)[law]


def test_sound_but_shuffled_heads_break_parity_alone():
    for part in ("split", "join"):
        broken = {name for name, fault in verdicts(NEW[part].function).items() if fault}
        assert broken == {"parity"}


def test_each_law_is_broken_by_some_bug():
    found = [verdicts(bug.function) for bug in SEEN.values()]
    assert {name for faults in found for name in faults if faults[name]} == set(LAWS)


def test_a_dead_model_fails_the_first_looks():
    still = {"norm": lambda x, weight, bias, eps: 0 * x}
    assert SANITY["loss falls"](**still).startswith("the loss went from")
    loud = {"norm": lambda x, weight, bias, eps: 30 * x}
    assert "the first loss is" in SANITY["first loss"](**loud)
    short = {"top_k": lambda scores, k: scores[:, :k]}
    assert "what top_k leaves" in SANITY["shapes"](**short)


@pytest.mark.parametrize(
    ("law", "parts", "said"),
    [
        ("repeats", {"drop": lambda weights, rate, training: weights}, "nothing is dropped"),
        ("one table", {"tie": NEW["tie"].function}, "parameters; with one table"),
        ("count = saving", {"count_pairs": lambda ids: {}}, "some pairs are not counted"),
        ("cut is 0", {"top_k": lambda scores, k: PARTS["top_k"](scores, k + 1)}, "were cut"),
        ("cut is 0", {"top_k": lambda scores, k: PARTS["top_k"](2 * scores, k)}, "a token has"),
        ("cut is 0", {"top_k": lambda scores, k: PARTS["top_k"](scores, max(1, k - 1))}, "a token"),
        ("filler", {"clean": lambda x, real: x}, "with filler of nan"),
    ],
)  # fmt: skip
def test_laws_see_other_faults(law, parts, said):
    assert said in LAWS[law](**parts)


def test_a_table_that_is_not_trained_with_the_other_is_seen():
    """It is no parameter, so the count is right."""

    def frozen(embedding, unembedding):
        table = embedding.weight.detach()
        del unembedding.weight
        unembedding.register_buffer("weight", table)

    assert LAWS["one table"](tie=frozen) == "after one step the two tables of the model differ."


def test_laws_leave_the_global_generator_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    assert broken_laws(drop=F.dropout) == {}
    assert torch.equal(before, torch.get_rng_state())


# The model and the plain tokenizer


def test_the_patient_refuses_parts_that_it_has_not():
    with pytest.raises(ValueError, match=r"a part is one of count_pairs, .*unknown=\['heads'\]"):
        Patient(5, heads=F.dropout)


def test_the_plain_loop_learns_the_librarys_merges():
    text = "aaaababab hmmmm, the thin thing"
    merges = learn_pairs(text, 6, PARTS["count_pairs"])
    assert merges == learn_merges({text.encode(): 1}, 6)
    assert bytes(encode_pairs(text, [])).decode() == text
    assert len(encode_pairs(text, merges)) < len(text)


# The figure's data


def test_the_hunt_holds_what_the_tests_found():
    for bug, case in zip(SEEN.values(), hunt(), strict=True):
        assert case["lines"][case["wrong"]].strip().startswith(bug.wrong)
        assert dict(case["tests"]) == verdicts(bug.function)
        assert case["where"]


# Repairs


def my_split(rows, n_heads):
    return rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def my_softmax(scores, mask):
    idle = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask, -torch.inf).masked_fill(idle, 0.0)
    return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)


def my_positions(n, d_model):
    i = torch.arange(0, d_model, 2)
    angle = torch.arange(n, dtype=torch.float64)[:, None] * 10000.0 ** (-i / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def my_tie(embedding, unembedding):
    unembedding.weight = embedding.weight


def my_count_pairs(ids):
    pairs = set(pairwise(ids))
    return {pair: len(ids) - len(merge_pair(ids, pair, 256)) for pair in pairs}


def my_top_k(scores, k):
    best = scores.topk(k, dim=-1)
    return torch.full_like(scores, -torch.inf).scatter(-1, best.indices, best.values)


SOLUTIONS = {
    "count_pairs": my_count_pairs,
    "positions": my_positions,
    "clean": lambda x, real: x.masked_fill(~real[..., None], 0.0),
    "split": my_split,
    "causal": lambda n_q, n_k: torch.arange(n_k) <= torch.arange(n_k - n_q, n_k)[:, None],
    "softmax": my_softmax,
    "drop": lambda weights, rate, training: F.dropout(weights, rate, training),
    "join": lambda heads: heads.transpose(1, 2).flatten(2),
    "norm": lambda x, weight, bias, eps: F.layer_norm(x, weight.shape, weight, bias, eps),
    "tie": my_tie,
    "total_loss": lambda losses, counts: (
        torch.stack(losses) @ torch.tensor(counts).to(losses[0]) / sum(counts)
    ),
    "top_k": my_top_k,
}


@pytest.mark.parametrize("part", PARTS)
def test_repairs_solved(part):
    assert check_repairs(**{part: SOLUTIONS[part]})
    assert check_repairs(**{part: PARTS[part]})
    assert check_repairs(**{part: NEW[part].repaired()})


def test_repairs_of_two_parts():
    verdict = check_repairs(split=my_split, softmax=my_softmax)
    assert verdict
    assert verdict.message == "All 10 laws hold, with split and with softmax."
    assert_wrong(check_repairs(split=my_split, softmax=NEW["softmax"].function), "softmax: “empty")


@pytest.mark.parametrize("part", PARTS)
def test_blanks_say_so(part):
    assert_wrong(check_repairs(**{part: ...}), f"{part}: Nothing to check so far")
    if part != "tie":
        assert_wrong(check_repairs(**{part: lambda *a: None}), f"{part}: Nothing to check so far")
    else:
        assert_wrong(check_repairs(tie=lambda *a: None), "tie: “one table” is broken")


@pytest.mark.parametrize("bug", BUGS)
def test_bugs_are_refused_with_a_law(bug):
    broken = next(name for name, fault in verdicts(bug.function).items() if fault)
    told = f"{bug.part}: “{broken}” is broken: {verdicts(bug.function)[broken]}"
    assert_wrong(check_repairs(**{bug.part: bug.function}), told)


@pytest.mark.parametrize(
    ("part", "answer", "advice"),
    [
        ("split", 7, "split: The check wants the function itself; it got 7"),
        ("split", lambda rows, n_heads: rows, "split: shape (2, 5, 6) where (2, 3, 5, 2) is due"),
        ("causal", lambda n_q, n_k: torch.ones(n_k, n_k).tril() > 0, "shape (7, 7) where (2, 7)"),
        ("causal", lambda n_q, n_k: [[True]], "it should return a Tensor; yours is [[True]]"),
        ("count_pairs", lambda ids: [(1, 2)], "it should return a dict; yours is [(1, 2)]"),
        ("norm", lambda x, *rest: x / 0, "norm: “parity” is broken"),
        ("norm", lambda x, weight: x, "norm: Your code stopped with TypeError"),
        ("join", lambda heads: heads.view(2, 5, -1) if len(heads) == 2 else 1 / 0, "join: "),
        ("causal", lambda n_q, n_k: torch.ones(n_q, n_k).tril(n_k - n_q), "causal: with it the"),
        ("clean", lambda x, real: x.mul_(real[..., None]), "clean: it changes what it is given"),
        ("tie", lambda embedding: None, "tie: with it the model stops: TypeError"),
        ("softmax", lambda s, m: torch.softmax(s.masked_fill(~m, -math.inf), -1), "empty text"),
        ("softmax", lambda s, m: torch.softmax(s, -1), "softmax: “parity” is broken"),
        ("positions", lambda n, d: sinusoidal(n, d, layout="concatenated"), "parity"),
        ("top_k", lambda s, k: s.where(s >= s.topk(k).values[..., -1:], 0.0), "cut is 0"),
        ("total_loss", lambda losses, counts: sum(losses), "parts = whole"),
    ],
)  # fmt: skip
def test_wrong_repairs(part, answer, advice):
    assert_wrong(check_repairs(**{part: answer}), advice)


def test_an_unknown_part_is_no_part():
    with pytest.raises(ValueError, match="part must be one of"):
        check_repairs(heads=my_split)
