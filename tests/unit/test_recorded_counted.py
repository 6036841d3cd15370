"""What is measured of counted vectors of captions: pairs and ranks by hand, the recorded lesson."""

import pytest
import torch
from torch.testing import assert_close

from softlookup.recorded import counted_captions, differences, recorded
from softlookup.recorded.counted_captions import (
    counted_vectors,
    dictionary,
    run_small,
    translated,
)
from softlookup.words import cooccurrence_matrix, positive_pmi

f64 = torch.float64


def test_a_pair_chooses_each_other_often_enough_and_is_not_spelled_alike():
    texts = {
        "en": [["dog", "runs"], ["dog", "sleeps"], ["a", "dog"], ["taxi", "runs"], ["taxi", "cat"]],
        "de": [["hund", "rennt"], ["hund"], ["ein", "hund"], ["taxi", "rennt"], ["taxi", "katze"]],
    }
    words = {"en": ["dog", "runs", "taxi", "cat"], "de": ["rennt", "hund", "taxi", "katze"]}
    assert dictionary(texts, words, 2).tolist() == [[0, 1], [1, 0]]
    assert dictionary(texts, words, 3).tolist() == [[0, 1]]
    assert dictionary(texts, words, 1).tolist() == [[0, 1], [1, 0], [3, 3]]


def test_half_of_dices_coefficient_is_not_enough():
    texts = {"en": [["a"], ["a"], ["a", "b"]], "de": [["x"], ["y"], ["z"]]}
    words = {"en": ["a", "b"], "de": ["x", "y", "z"]}
    assert dictionary(texts, words, 1).tolist() == [[1, 2]]  # a with x: 2·1/(3 + 1) = 1/2


def test_the_share_of_first_answers_and_of_those_among_five():
    angles = torch.arange(7, dtype=f64)
    answers = torch.stack([torch.cos(angles / 10), torch.sin(angles / 10)], dim=1)
    pairs = torch.tensor([[0, 0], [1, 3], [2, 5], [3, 3]])  # 5 is sixth from 2
    assert translated(answers, answers, pairs) == [0.5, 0.75]
    pairs = torch.tensor([[0, 0], [0, 5], [6, 0]])
    assert translated(answers, answers, pairs) == [0.33, 0.33]


def test_two_words_as_alike_in_all_directions_as_their_table_says():
    generator = torch.Generator().manual_seed(0)
    words = list("abcdefg")
    texts = [
        [words[i] for i in torch.randint(7, (5,), generator=generator).tolist()] for _ in range(11)
    ]
    table = positive_pmi(cooccurrence_matrix(texts, words, 2))
    rows = counted_vectors(texts, words, 7, 2)
    squares = table @ table.mT  # U Σ² Uᵀ, and the rows give U Σ Uᵀ
    assert_close((rows @ rows.mT) @ (rows @ rows.mT), squares)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_in_the_small_part_is_decided_by_a_last_digit(seed, monkeypatch):
    """What another processor rounds otherwise may change no neighbour and no translation."""
    generator = torch.Generator().manual_seed(seed)

    def rounded_otherwise(counts: torch.Tensor) -> torch.Tensor:
        exact = positive_pmi(counts)
        return exact * (1 + 1e-9 * torch.randn(exact.shape, generator=generator, dtype=f64))

    before = run_small()
    monkeypatch.setattr(counted_captions, "positive_pmi", rounded_otherwise)
    assert differences(before, run_small()) == []


def test_the_recorded_result_tells_the_lesson():
    found = recorded("counted_captions").results
    rows = found["translated"]
    firsts = [rows[key][0] for key in ("before", "100", "200", "350")]
    assert firsts == sorted(firsts)
    assert rows["before"][1] == rows["350, shuffled"][1] == 0 < 0.6 < rows["350"][1]
    assert found["neighbours"]["two"][0] == "three"
