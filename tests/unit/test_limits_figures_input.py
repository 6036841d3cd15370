"""The cost sliders and the information flow in Python: what they hand over, and refuse."""

import json
import math
import re

import pytest
import torch

from softlookup.masks import causal_mask
from softlookup.show import CostSliders, InformationFlow


def flow(source=("a", "b", "c"), target=("x", "y"), **changes):
    generator = torch.Generator().manual_seed(3)
    shapes = {"encoder": (2, 3, 3), "cross": (2, 3), "own": (2, 2)}
    given = {
        name: torch.rand(shape, generator=generator, dtype=torch.float64)
        for name, shape in shapes.items()
    }
    given["own"] = given["own"] * causal_mask(2)
    given = {name: rows / rows.sum(dim=-1, keepdim=True) for name, rows in given.items()}
    given.update(changes)
    return given, lambda: InformationFlow(list(source), list(target), **given)


def test_the_pages_get_what_python_was_given():
    given, make = flow()
    wanted = {name: rows.tolist() for name, rows in given.items()}
    assert json.loads(make().data) == {"source": ["a", "b", "c"], "target": ["x", "y"], **wanted}
    data = json.loads(CostSliders(n=1024, d=64).data)
    assert (data["n"], data["d"]) == (1024, 64)
    assert data["lengths"] == [2**k for k in range(4, 15)]
    assert data["widths"] == [2**k for k in range(6, 13)]


@pytest.mark.parametrize("make", [CostSliders, flow()[1]])
def test_the_html_is_small_and_asks_nobody(make):
    html = make().html()
    assert len(html.encode()) < 200_000
    assert re.findall(r"https?://[^\"']*", html) == ["http://www.w3.org/2000/svg"]


@pytest.mark.parametrize(("name", "wrong"), [("n", 8), ("n", 100), ("d", 32), ("d", 8192)])
def test_numbers_must_be_on_their_sliders(name, wrong):
    with pytest.raises(ValueError, match=rf"{name} must be one of \(.*\); got {name}={wrong}"):
        CostSliders(**{name: wrong})


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (["a"], ["x"], "source must be 2 to 7 words"),
        (list("abcdefgh"), ["x"], "source must be 2 to 7 words"),
        (["a", " "], ["x"], "source must be 2 to 7 words"),
        (["a", "b"], [], "target must be 1 to 7 words"),
        (["a", "b"], ["x", 2], "target must be 1 to 7 words"),
    ],
)
def test_words_must_be_words(source, target, message):
    with pytest.raises(ValueError, match=message):
        flow(source, target)[1]()
    with pytest.raises(ValueError, match="source must be 2 to 7 words; got source='ab'"):
        InformationFlow("ab", ["x"], *flow()[0].values())


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("encoder", (3, 3), r"encoder must hold 1 to 4 matrices \(3, 3\)"),
        ("encoder", (5, 3, 3), r"encoder must hold 1 to 4 matrices \(3, 3\)"),
        ("encoder", (1, 2, 2), r"encoder must hold 1 to 4 matrices \(3, 3\)"),
        ("cross", (3, 2), r"cross must have the shape \(2, 3\)"),
        ("own", (3, 3), r"own must have the shape \(2, 2\)"),
    ],
)
def test_shapes_must_fit(name, shape, message):
    with pytest.raises(ValueError, match=message):
        flow(**{name: torch.ones(shape) / shape[-1]})[1]()


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("cross", [[0.5, 0.5, 0.5], [1.0, 0.0, 0.0]]),
        ("cross", [[1.5, -0.5, 0.0], [1.0, 0.0, 0.0]]),
        ("cross", [[math.nan, 0.5, 0.5], [1.0, 0.0, 0.0]]),
        ("own", [[0.5, 0.0], [0.5, 0.5]]),
    ],
)
def test_rows_must_be_distributions(name, rows):
    with pytest.raises(ValueError, match=f"each row of {name} must be weights that sum to 1"):
        flow(**{name: torch.tensor(rows)})[1]()


def test_a_step_must_not_read_what_comes_later():
    with pytest.raises(ValueError, match=r"own must be 0 for what comes later; got largest=0.5"):
        flow(own=torch.full((2, 2), 0.5))[1]()


@pytest.mark.bad_input
def test_weights_must_be_real():
    with pytest.raises(ValueError, match="own must hold floating-point numbers"):
        flow(own=torch.eye(2).long())[1]()
