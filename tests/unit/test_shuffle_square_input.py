"""The permutation square in Python: what it hands to the page, and what it refuses."""

import json
import math
import re

import pytest
import torch
from torch.testing import assert_close

from softlookup.show import ShuffleSquare

WORDS = ["I", "am", "Sam"]


@pytest.fixture
def parts(generator):
    shapes = {"x": (3, 5), "W_Q": (5, 2), "W_K": (5, 2), "W_V": (5, 1), "positions": (3, 5)}
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64)
        for name, shape in shapes.items()
    }


def square(parts, words=WORDS, **changes):
    return ShuffleSquare(words, **{**parts, **changes})


def test_the_page_gets_queries_keys_and_values(parts):
    data = json.loads(square(parts).data)
    assert (data["words"], data["order"]) == (WORDS, [1, 0, 2])
    for name in "QKV":
        W = parts[f"W_{name}"]
        assert_close(torch.tensor(data["parts"][name]).double(), parts["x"] @ W)
        assert_close(torch.tensor(data["codes"][name]).double(), parts["positions"] @ W)
    assert json.loads(square(parts, positions=None).data)["codes"] is None
    assert json.loads(square(parts, order=(2, 0, 1)).data)["order"] == [2, 0, 1]


def test_the_html_is_small_and_asks_nobody(parts):
    html = square(parts).html()
    assert len(html.encode()) < 200_000
    assert re.findall(r"https?://[^\"']*", html) == ["http://www.w3.org/2000/svg"]


@pytest.mark.bad_input
@pytest.mark.parametrize("words", [["I", "am"], list("abcdef"), "Sam", ["I", "am", " "], [1, 2, 3]])
def test_words_must_be_three_to_five_words(words, parts):
    with pytest.raises(ValueError, match="words must be 3 to 5 words"):
        square(parts, words=words)


@pytest.mark.bad_input
@pytest.mark.parametrize("order", [[0, 1], [0, 1, 3], [0, 1, 1], [0, 1, 2, 2]])
def test_an_order_must_hold_each_place_once(order, parts):
    with pytest.raises(ValueError, match=r"each place from 0 to 2 once; got order=\["):
        square(parts, order=order)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("x", (2, 5), "x must have one row for each word"),
        ("W_Q", (5, 3), r"W_Q and W_K must have the same shape \(5, d_k\)"),
        ("W_K", (4, 2), r"W_Q and W_K must have the same shape \(5, d_k\)"),
        ("W_V", (5, 3), r"W_V must have the shape \(5, d_v\) with d_v from 1 to 2"),
        ("W_V", (4, 1), r"W_V must have the shape \(5, d_v\)"),
        ("positions", (2, 5), "positions must have the shape of x"),
    ],
)
def test_shapes_must_fit(name, shape, message, parts):
    with pytest.raises(ValueError, match=message):
        square(parts, **{name: torch.zeros(shape, dtype=torch.float64)})


@pytest.mark.parametrize("name", ["x", "W_Q", "W_K", "W_V", "positions"])
@pytest.mark.parametrize("value", [51.0, -51.0, math.nan, math.inf])
def test_numbers_must_be_in_range(name, value, parts):
    parts[name][0, 0] = value
    with pytest.raises(ValueError, match=f"{name} must hold numbers from -50 to 50"):
        square(parts)


@pytest.mark.bad_input
def test_numbers_must_be_real(parts):
    with pytest.raises(ValueError, match="x must hold floating-point numbers"):
        square({name: part.long() for name, part in parts.items()})
