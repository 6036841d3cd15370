"""The figures on recurrence in Python: what they hand to the page, and what they refuse."""

import json
import math
import re

import pytest
import torch

from softlookup.show import RnnStepper, SpectralSliders


@pytest.fixture
def step(generator):
    """One step with inputs of width three and two units."""
    shapes = {"x": (3,), "hidden": (2,), "W_hh": (2, 2), "W_xh": (2, 3), "b": (2,), "W_hy": (2,)}
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64)
        for name, shape in shapes.items()
    }


def test_the_page_gets_what_python_was_given(step):
    printed = {"a": (1.0, 2.0), "y": [0.5]}
    expected = {name: part.tolist() for name, part in step.items()}
    data = json.loads(RnnStepper(**step, printed=printed).data)
    assert data == expected | {"printed": {"a": [1.0, 2.0], "y": [0.5]}}
    assert json.loads(RnnStepper(**step).data)["printed"] is None


def test_matrices_are_divided_by_their_spectral_radius():
    W = torch.tensor([[2.0, 5.0], [0.0, -4.0]])  # eigenvalues 2 and -4
    figure = SpectralSliders({"one": W, "two": torch.eye(2)}, torch.ones(2))
    assert json.loads(figure.data) == {
        "matrices": [
            {"name": "one", "W": [[0.5, 1.25], [0.0, -1.0]]},
            {"name": "two", "W": [[1.0, 0.0], [0.0, 1.0]]},
        ],
        "start": [1.0, 1.0],
    }


def test_the_html_is_small_and_asks_nobody(step):
    for figure in RnnStepper(**step), SpectralSliders({"one": torch.eye(2)}, torch.ones(2)):
        html = figure.html()
        assert len(html.encode()) < 200_000
        assert re.findall(r"https?://[^\"']*", html) == ["http://www.w3.org/2000/svg"]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("x", torch.zeros(5), "x and hidden must be vectors of 1 to 4 numbers"),
        ("hidden", torch.zeros(1, 2), "x and hidden must be vectors of 1 to 4 numbers"),
        ("W_hh", torch.zeros(2, 3), r"W_hh must have shape \(2, 2\); got W_hh=\(2, 3\)"),
        ("W_xh", torch.zeros(3, 2), r"W_xh must have shape \(2, 3\)"),
        ("b", torch.zeros(3), r"b must have shape \(2,\)"),
        ("W_hy", torch.zeros(1, 2), r"W_hy must have shape \(2,\)"),
        ("b", torch.zeros(2).long(), "b must hold floating-point numbers"),
        ("b", torch.tensor([0, math.nan]), "b must hold numbers from -50 to 50; got largest=nan"),
        ("W_hy", torch.tensor([0, -51.0]), "W_hy must hold numbers from -50 to 50"),
        ("printed", {"h": [1, 2]}, "printed must hold one number per unit.*got h="),
        ("printed", {"a": [1]}, "printed must hold one number per unit.*got a="),
        ("printed", {"y": [1, 2]}, "one for y"),
    ],
)
def test_stepper_refuses(step, name, value, message):
    with pytest.raises(ValueError, match=message):
        RnnStepper(**step | {name: value})


EYE = {"one": torch.eye(2)}


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("matrices", "start", "message"),
    [
        ({}, torch.ones(2), r"matrices must be 1 to 3; got matrices=\[\]"),
        ({str(k): torch.eye(2) for k in range(4)}, torch.ones(2), "matrices must be 1 to 3"),
        (EYE, torch.ones(9), "start must be a vector of 1 to 8 numbers"),
        (EYE, torch.ones(1, 2), "start must be a vector of 1 to 8 numbers"),
        (EYE, torch.ones(3), r"one must have shape \(3, 3\); got one=\(2, 2\)"),
        (EYE, torch.zeros(2), r"start must not be zero; got start=\[0.0, 0.0\]"),
        (EYE, torch.tensor([1.0, math.nan]), "start must hold numbers from -50 to 50"),
        (EYE, torch.ones(2).long(), "start must hold floating-point numbers"),
        ({"flat": torch.ones(2, 2).triu(1)}, torch.ones(2), "flat must have a spectral radius"),
        ({"big": 51 * torch.eye(2)}, torch.ones(2), "big must hold numbers from -50 to 50"),
    ],
)
def test_sliders_refuse(matrices, start, message):
    with pytest.raises(ValueError, match=message):
        SpectralSliders(matrices, start)
