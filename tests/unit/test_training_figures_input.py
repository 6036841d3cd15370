"""The figures on training in Python: what they hand to the page, and what they refuse."""

import json
import math
import re

import pytest
import torch

from softlookup.show import MaskPlayer, SamplingFilters

PROMPTS, TOKENS = ["to be or", "be"], [" not", " be", "."]


def player(text="to be or not", others=("cat", "mat"), **options):
    return MaskPlayer(text, others, **options)


def filters(**changes):
    given = {"prompts": PROMPTS, "scores": torch.zeros(2, 3), "tokens": TOKENS, **changes}
    return SamplingFilters(**given)


def test_the_player_gets_what_python_was_given():
    assert json.loads(player(" to  be or\tnot ", share=0.3, mask="_", seed=7).data) == {
        "text": "to be or not", "vocabulary": ["cat", "mat"], "mask": "_", "share": 0.3,
        "hidden": 0.8, "replaced": 0.1, "seed": 7,
    }  # fmt: skip


def test_the_filters_get_what_python_was_given():
    scores = torch.tensor([[1.23456789, -2.0, 0.0], [1e-9, 3.5, 12.0]], dtype=torch.float64)
    assert json.loads(filters(scores=scores, seed=5).data) == {
        "prompts": PROMPTS, "tails": PROMPTS, "tokens": TOKENS, "seed": 5,
        "scores": [[1.23457, -2.0, 0.0], [1e-9, 3.5, 12.0]],
    }  # fmt: skip
    assert json.loads(filters(tails=["or", "…"]).data)["tails"] == ["or", "…"]
    long = filters(prompts=["abcdefghijklmnopqrstuvwxyz", "be"])
    assert json.loads(long.data)["tails"] == ["ijklmnopqrstuvwxyz", "be"]


@pytest.mark.parametrize("figure", [player, filters])
def test_the_html_asks_nobody(figure):
    found = re.findall(r"https?://[^\"']*", figure().html())
    assert found == ["http://www.w3.org/2000/svg"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "one"}, "text must have 2 to 24 words; got n_words=1"),
        ({"text": "w " * 25}, "text must have 2 to 24 words; got n_words=25"),
        ({"others": []}, "others must be 1 to 400 words; got n_others=0"),
        ({"others": ["w"] * 401}, "others must be 1 to 400 words; got n_others=401"),
        ({"others": ["cat", " "]}, "a word must not be blank"),
        ({"mask": ""}, "a word must not be blank"),
        ({"share": 1.2}, r"share must be from 0 to 1; got share=1\.2"),
        ({"hidden": -1.0}, r"hidden must be from 0 to 1; got hidden=-1\.0"),
        ({"replaced": math.nan}, "replaced must be from 0 to 1; got replaced=nan"),
        ({"replaced": 0.5}, r"sum to at most 1; got hidden=0\.8, replaced=0\.5"),
        ({"seed": -1}, "seed must be an integer of at least 0; got seed=-1"),
    ],
)
def test_the_player_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        player(**options)


@pytest.mark.bad_input
def test_the_player_refuses_types():
    with pytest.raises(ValueError, match="text must be a string"):
        player(text=7)
    with pytest.raises(ValueError, match="others must be a list of tokens, not one string"):
        player(others="cat")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompts": []}, "prompts must be 1 to 6; got n_prompts=0"),
        ({"prompts": ["a"] * 7}, "prompts must be 1 to 6; got n_prompts=7"),
        ({"prompts": ["a", " "]}, "a prompt must have 1 to 200 letters"),
        ({"prompts": ["a", "a" * 201]}, "a prompt must have 1 to 200 letters; got longest=201"),
        ({"tokens": ["a"]}, "tokens must be at least 2; got n_tokens=1"),
        ({"tokens": ["a"] * 6001}, "at most 12000 scores in all; got n_prompts=2, n_tokens=6001"),
        ({"tokens": ["a", "b"]}, r"a column for each token; got scores=\(2, 3\), prompts=2, tok"),
        ({"tails": ["a"]}, "a tail for each prompt; got n_tails=1, n_prompts=2"),
        ({"scores": torch.zeros(3, 3)}, r"a row for each prompt .*; got scores=\(3, 3\)"),
        ({"scores": torch.full((2, 3), math.nan)}, "scores must be finite"),
        ({"scores": torch.full((2, 3), -math.inf)}, "scores must be finite"),
        ({"seed": -1}, "seed must be an integer of at least 0; got seed=-1"),
    ],
)
def test_the_filters_refuse(changes, message):
    with pytest.raises(ValueError, match=message):
        filters(**changes)


@pytest.mark.bad_input
def test_the_filters_refuse_types():
    with pytest.raises(ValueError, match="tokens must be a list of texts"):
        filters(tokens="abc")
    with pytest.raises(ValueError, match=r"prompts\[1\] must be a string"):
        filters(prompts=["a", 7], tails=["a", "b"])
    with pytest.raises(ValueError, match="scores must hold floating-point numbers"):
        filters(scores=torch.zeros(2, 3).long())
