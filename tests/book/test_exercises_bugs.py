"""The laws of "Bugs that fooled everyone": the healthy model keeps them, each bug breaks one."""

import pytest
import torch
import torch.nn.functional as F

from softlookup.exercises.bugs import NEW, SEEN, check_repairs, hunt, verdicts
from softlookup.exercises.bugs_laws import LAWS, SANITY, broken_laws
from softlookup.exercises.bugs_model import PARTS, Patient, encode_pairs, learn_pairs
from softlookup.tokenization import learn_merges

BUGS = [
    pytest.param(bug, id=f"{kind}-{part}")
    for kind, bugs in (("seen", SEEN), ("new", NEW))
    for part, bug in bugs.items()
]


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


def test_an_unknown_part_is_no_part():
    with pytest.raises(ValueError, match="part must be one of"):
        check_repairs(heads=F.dropout)
