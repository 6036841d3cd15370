"""What the word2vec stepper is given: checked in words before anything is drawn."""

import math

import pytest
import torch

from softlookup.show import Word2VecStepper

WORDS = ["a", "b", "c", "d", "e"]
GOOD = {
    "words": WORDS,
    "centre": torch.ones(5, 2),
    "context": torch.zeros(5, 2),
    "pairs": torch.tensor([[0, 1], [4, 3]]),
    "negatives": torch.tensor([0, 4, 4]),
}


def test_sound_input_makes_a_figure():
    figure = Word2VecStepper(**GOOD, start=(4, 3), name="fig-own")
    assert figure.name == "fig-own"
    assert '"centre": 4' in figure.data


BAD = {
    "too few words": ({"words": ["a", "b", "c"]}, "words must be 4 to 16 distinct words"),
    "one string": ({"words": "abcde"}, "words must be 4 to 16 distinct words"),
    "a word twice": ({"words": ["a", "b", "c", "d", "a"]}, "distinct words"),
    "an empty word": ({"words": ["a", "b", "c", "d", " "]}, "distinct words"),
    "three numbers": ({"centre": torch.ones(5, 3)}, "centre must have one row of 2 numbers"),
    "a row too few": ({"context": torch.ones(4, 2)}, "context must have one row of 2 numbers"),
    "whole numbers": ({"centre": torch.ones(5, 2).long()}, "floating-point"),
    "NaN": ({"context": torch.full((5, 2), math.nan)}, "context must hold numbers from -100"),
    "too large": ({"centre": torch.full((5, 2), 101.0)}, "centre must hold numbers from -100"),
    "no pair": ({"pairs": torch.zeros(0, 2).long()}, "pairs must be rows of two ids"),
    "triples": ({"pairs": torch.zeros(2, 3).long()}, "pairs must be rows of two ids"),
    "a pair of no word": ({"pairs": torch.tensor([[0, 5]])}, "pairs must be ids from 0 to 4"),
    "a negative id": ({"negatives": torch.tensor([0, -1])}, "negatives must be ids from 0 to 4"),
    "fractions": ({"negatives": torch.tensor([0.0, 1.0])}, "negatives must be integers"),
    "a table of draws": ({"negatives": torch.zeros(2, 2).long()}, "negatives must be a list"),
    "one word only": ({"negatives": torch.tensor([3, 3])}, "at least two different words"),
    "no negative": ({"n_negatives": 0}, "n_negatives must be an integer of at least 1"),
    "many negatives": ({"n_negatives": 6}, "n_negatives must be at most 5"),
    "rate of zero": ({"rate": 0}, "rate must be from 0.1 to 3"),
    "rate of NaN": ({"rate": math.nan}, "rate must be from 0.1 to 3"),
    "start": ({"start": (0, 5)}, "start must be two ids from 0 to 4"),
    "one start": ({"start": (0,)}, "start must be two ids from 0 to 4"),
}


@pytest.mark.bad_input
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    change, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        Word2VecStepper(**{**GOOD, **change})
