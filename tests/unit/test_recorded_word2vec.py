"""What is measured of the vectors of captions: counts by hand, a direction, the recorded lesson."""

import math

import torch
from torch.testing import assert_close

from softlookup.recorded import recorded
from softlookup.recorded.word2vec_captions import direction, of_neighbours, text_ratio

f64 = torch.float64


def test_the_ratio_counts_captions_of_one_side_alone():
    texts = ["a man runs runs", "a man sits", "a woman runs", "a man and a woman run", "a dog runs"]
    ratio, n_captions = text_ratio([text.split() for text in texts], ["runs", "sits", "dog"])
    assert n_captions == [2, 1]
    expected = [(1.5 / 1) / (1.5 / 2), (0.5 / 1) / (1.5 / 2), (0.5 / 1) / (0.5 / 2)]
    assert_close(ratio, torch.tensor([math.log(number) for number in expected]))


def test_the_direction_is_the_mean_step_of_length_1():
    unit = torch.tensor([[1.0, 0], [0, 1], [1, 0], [0.6, 0.8]], dtype=f64)
    found = direction(unit, torch.tensor([[0, 1], [2, 3]]))
    step = torch.tensor([(-1 - 0.4) / 2, (1 + 0.8) / 2], dtype=f64)
    assert_close(found, step / step.norm())


def test_a_word_is_not_its_own_neighbour():
    vectors = torch.tensor([[1.0, 0], [1, 0.1], [0, 1], [0.1, 1]], dtype=f64)
    said = torch.tensor([2.0, 3, 5, 7], dtype=f64)
    assert_close(of_neighbours(vectors, said, k=1), torch.tensor([3.0, 2, 7, 5], dtype=f64))


def test_the_recorded_result_tells_the_lesson():
    found = recorded("word2vec_captions").results
    told = found["gender"]
    for correlation, by_chance in zip(told["correlation"], told["by_chance"], strict=True):
        assert correlation > by_chance + 0.1
    for before, after in zip(told["neighbours"], told["neighbours_after"], strict=True):
        assert before / 2 < after < before
    for result in found["analogies"].values():
        assert all(allowed < excluded for excluded, allowed, _ in result["starts"])
    assert "three" in found["neighbours"]["two"][0]
