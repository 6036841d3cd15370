"""Who stands beside whom: counts by loops, PMI by its definition, and bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.words import cooccurrence_matrix, positive_pmi

F64 = torch.float64
SENTENCES = [["a", "b", "a", "c", "x", "b"], ["c"], [], ["b", "b"], ["x", "a"]]
VOCABULARY = ["a", "b", "c"]


@pytest.mark.parametrize("window", [1, 2, 3, 7])
def test_counts_equal_a_loop_over_pairs_of_places(window):
    expected = torch.zeros(3, 3, dtype=F64)
    for sentence in SENTENCES:
        for s, one in enumerate(sentence):
            for t, other in enumerate(sentence):
                if s != t and abs(s - t) <= window and "x" not in (one, other):
                    expected[VOCABULARY.index(one), VOCABULARY.index(other)] += 1
    assert torch.equal(cooccurrence_matrix(SENTENCES, VOCABULARY, window), expected)


def test_no_sentence_gives_zeros():
    assert torch.equal(cooccurrence_matrix([], VOCABULARY, 2), torch.zeros(3, 3, dtype=F64))


def test_cooccurrence_refuses_bad_input():
    with pytest.raises(ValueError, match="window must be an integer of at least 1; got window=0"):
        cooccurrence_matrix(SENTENCES, VOCABULARY, 0)
    with pytest.raises(ValueError, match="vocabulary must hold at least one word"):
        cooccurrence_matrix(SENTENCES, [], 1)
    with pytest.raises(ValueError, match=r"must be distinct; got repeated=\['a'\]"):
        cooccurrence_matrix(SENTENCES, ["a", "a"], 1)


@pytest.mark.bad_input
def test_a_sentence_is_no_string():
    with pytest.raises(
        ValueError, match=r"sentences\[1\] must be a list of tokens, not one string"
    ):
        cooccurrence_matrix([["a"], "a b"], VOCABULARY, 1)


def test_positive_pmi_equals_its_definition(generator):
    counts = torch.randint(0, 5, (5, 7), generator=generator).double()
    counts[2] = 0
    found = positive_pmi(counts)
    total = counts.sum().item()
    for i in range(5):
        for j in range(7):
            together = counts[i, j].item() / total
            alone = counts[i].sum().item() * counts[:, j].sum().item() / total**2
            expected = max(0.0, math.log(together / alone)) if together else 0.0
            assert found[i, j].item() == pytest.approx(expected, abs=1e-12)


def test_chance_itself_has_no_information():
    by_chance = torch.outer(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([5.0, 7.0])).double()
    assert_close(positive_pmi(by_chance), torch.zeros(3, 2, dtype=F64), atol=1e-12, rtol=0)


def test_pmi_does_not_care_how_long_the_text_is(generator):
    counts = torch.randint(0, 5, (5, 7), generator=generator).double()
    assert_close(positive_pmi(1000 * counts), positive_pmi(counts))


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_pmi_refuses_what_is_no_count(wrong):
    with pytest.raises(ValueError, match="counts must be finite and not negative; got wrong="):
        positive_pmi(torch.tensor([[1.0, wrong]]))


def test_pmi_refuses_an_empty_table():
    with pytest.raises(ValueError, match="counts must be a matrix that is not all zeros"):
        positive_pmi(torch.zeros(2, 3))
