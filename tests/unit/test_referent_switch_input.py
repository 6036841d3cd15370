"""The referent switch in Python: what it hands to the page, and what it refuses."""

import json
import math
import re

import pytest
import torch

from softlookup.show import ReferentSwitch

WORDS = ["cat", "mat", "it"]


@pytest.fixture
def parts(generator):
    """What a switch is made of, by name: three words of width 5, keys of width 2."""

    def random(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    return {
        "words": WORDS,
        "x": random(3, 5),
        "endings": {"old": random(5), "new": random(5)},
        "steps": [(random(5, 2), random(5, 2), random(5, 5)) for _ in range(2)],
        "pronoun": 2,
        "referents": (0, 1),
    }


def switch(parts, **changes):
    return ReferentSwitch(**{**parts, **changes})


def test_the_page_gets_what_python_was_given(parts):
    names = ("W_Q", "W_K", "W_V")
    assert json.loads(switch(parts).data) == {
        "words": WORDS,
        "x": parts["x"].tolist(),
        "endings": [{"word": w, "x": v.tolist()} for w, v in parts["endings"].items()],
        "steps": [
            {name: matrix.tolist() for name, matrix in zip(names, step, strict=True)}
            for step in parts["steps"]
        ],
        "pronoun": 2,
        "referents": [0, 1],
    }


def test_the_html_is_small_and_asks_nobody(parts):
    html = switch(parts).html()
    assert len(html.encode()) < 200_000
    assert re.findall(r"https?://[^\"']*", html) == ["http://www.w3.org/2000/svg"]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("words", "cat", "words must be 2 to 14 words"),
        ("words", ["it"], "words must be 2 to 14 words"),
        ("words", ["w"] * 15, "words must be 2 to 14 words"),
        ("words", ["cat", " ", "it"], "a word must not be blank"),
        ("words", ["cat", 7, "it"], "a word must not be blank"),
        ("endings", {"old": torch.zeros(5)}, "endings must be 2 to 5 words; got endings=\\['old'"),
        ("endings", {str(k): torch.zeros(5) for k in range(6)}, "endings must be 2 to 5 words"),
        ("endings", {"a": torch.zeros(5), "": torch.zeros(5)}, "a word must not be blank"),
        ("endings", {"a": torch.zeros(5), "b": torch.zeros(4)}, "as long as a row of x; got b="),
        ("x", torch.zeros(2, 5), "x must have one row for each word"),
        ("x", torch.zeros(3), "x must have one row for each word"),
        ("x", torch.zeros(3, 5).long(), "x must hold floating-point numbers"),
        ("pronoun", 3, "must be places of words; got pronoun=3"),
        ("pronoun", -1, "pronoun must be an integer of at least 0"),
        ("pronoun", 1.0, "pronoun must be an integer of at least 0"),
        ("referents", (0, 0), "referents must be two places"),
        ("referents", (0, 1, 2), "referents must be two places"),
        ("referents", (0, 3), r"must be places of words; got pronoun=2, referents=\[0, 3\]"),
        ("referents", (0, -1), r"referents\[1\] must be an integer of at least 0"),
    ],
)
def test_what_does_not_fit_is_refused(parts, name, value, message):
    with pytest.raises(ValueError, match=message):
        switch(parts, **{name: value})


@pytest.mark.parametrize(
    ("k", "shape", "message"),
    [
        (0, (5, 3), r"W_Q and W_K of step 1 must have the same shape \(5, d_k\)"),
        (1, (4, 2), "W_Q and W_K of step 1"),
        (2, (5, 4), r"W_V of step 1 must have the shape \(5, 5\): what is read is added to x"),
    ],
)
def test_steps_must_fit(parts, k, shape, message):
    step = list(parts["steps"][1])
    step[k] = torch.zeros(shape)
    with pytest.raises(ValueError, match=message):
        switch(parts, steps=[parts["steps"][0], tuple(step)])


@pytest.mark.bad_input
def test_there_are_two_steps_of_three_matrices(parts):
    for steps in parts["steps"][:1], [step[:2] for step in parts["steps"]]:
        with pytest.raises(ValueError, match="steps must be two triples"):
            switch(parts, steps=steps)


@pytest.mark.parametrize("value", [50.5, -51.0, math.nan, math.inf])
def test_numbers_must_be_in_range(parts, value):
    for tensor, name in (
        (parts["x"], "x"),
        (parts["endings"]["new"], "new"),
        (parts["steps"][1][2], "W_V of step 1"),
    ):
        kept = tensor.clone()
        tensor.view(-1)[1] = value
        with pytest.raises(ValueError, match=f"{name} must hold numbers from -50 to 50"):
            switch(parts)
        tensor.copy_(kept)
