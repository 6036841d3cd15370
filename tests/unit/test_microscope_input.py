"""The matrix microscope in Python: what it refuses, what it hands to the page, its live view."""

import json
import math
import re

import pytest
import torch

from softlookup.attention import attention_weights
from softlookup.masks import causal_mask, window_mask
from softlookup.show import MatrixMicroscope
from softlookup.show.figures.matrix_microscope.live import compute

TOKENS = ["one", "two", "three", "four", "five"]


@pytest.fixture
def matrices(generator):
    x = torch.randn(5, 2, generator=generator, dtype=torch.float64)
    return [x, *torch.randn(3, 2, 2, generator=generator, dtype=torch.float64)]


def test_the_page_gets_what_python_was_given(matrices):
    figure = MatrixMicroscope(TOKENS, *matrices, scale=False, causal=True, window=2, query=4, key=1)
    data = json.loads(figure.data)
    assert data["tokens"] == TOKENS
    assert [data[name] for name in ("x", "W_Q", "W_K", "W_V")] == [m.tolist() for m in matrices]
    assert data["start"] == {"scale": False, "causal": True, "window": True, "width": 2,
                             "same": False, "query": 4, "key": 1}  # fmt: skip


def test_the_axes_of_the_tokens_have_names(matrices):
    axes = json.loads(MatrixMicroscope(TOKENS, *matrices).data)["axes"]
    assert axes == ["x₀", "x₁"]
    named = MatrixMicroscope(TOKENS, *matrices, axes=("thing", "points"))
    assert json.loads(named.data)["axes"] == ["thing", "points"]


@pytest.mark.parametrize("axes", [["one"], ["one", " "], ["one", 2], list("abc")])
def test_axes_must_be_two_words(axes, matrices):
    with pytest.raises(ValueError, match=re.escape(f"axes must be two words; got {axes=}")):
        MatrixMicroscope(TOKENS, *matrices, axes=axes)


def test_parameters_with_a_gradient_are_welcome(matrices):
    W_Q = matrices[1].clone().requires_grad_()
    MatrixMicroscope(TOKENS, matrices[0], W_Q, *matrices[2:])


def test_the_html_is_small_repeats_and_asks_nobody(matrices):
    html = MatrixMicroscope(TOKENS, *matrices).html()
    assert len(html.encode()) < 200_000
    assert html == MatrixMicroscope(TOKENS, *matrices).html()
    assert re.findall(r"https?://[^\"']*", html) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"^import\b", html, re.MULTILINE)


@pytest.mark.parametrize("tokens", [["one", "two"], list("abcdefghi"), ["a", "b", " "]])
def test_tokens_must_be_three_to_eight_words(tokens, matrices):
    x = torch.zeros(len(tokens), 2)
    with pytest.raises(ValueError, match=re.escape(f"tokens must be 3 to 8 words; got {tokens=}")):
        MatrixMicroscope(tokens, x, *matrices[1:])


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("place", "shape", "message"),
    [
        (0, (4, 2), r"x must have one row of 2 numbers per token; got x=\(4, 2\), n=5"),
        (0, (5, 3), r"x must have one row of 2 numbers per token; got x=\(5, 3\), n=5"),
        (1, (2, 3), r"W_Q must have 2 rows of 2 numbers; got W_Q=\(2, 3\)"),
        (2, (3, 2), r"W_K must have 2 rows of 2 numbers; got W_K=\(3, 2\)"),
        (3, (2,), r"W_V must have 2 rows of 2 numbers; got W_V=\(2,\)"),
    ],
)
def test_shapes_must_fit(place, shape, message, matrices):
    matrices[place] = torch.zeros(shape)
    with pytest.raises(ValueError, match=message):
        MatrixMicroscope(TOKENS, *matrices)


@pytest.mark.bad_input
def test_matrices_must_hold_floats(matrices):
    matrices[2] = torch.ones(2, 2, dtype=torch.int64)
    with pytest.raises(ValueError, match="W_K must hold floating-point numbers"):
        MatrixMicroscope(TOKENS, *matrices)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1000.5])
def test_numbers_must_be_moderate(value, matrices):
    matrices[0][3, 1] = value
    with pytest.raises(ValueError, match="x must hold numbers from -1000 to 1000; got largest="):
        MatrixMicroscope(TOKENS, *matrices)


@pytest.mark.parametrize("name", ["query", "key", "window"])
def test_positions_must_be_in_the_text(name, matrices):
    rule = f"{name} must be less than the number of tokens; got {name}=5, n=5"
    with pytest.raises(ValueError, match=rule):
        MatrixMicroscope(TOKENS, *matrices, **{name: 5})
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 0; got {name}=-1"):
        MatrixMicroscope(TOKENS, *matrices, **{name: -1})


def test_the_live_view_computes_with_the_library(matrices):
    x, W_Q, _, W_V = matrices
    state = dict(zip(("x", "W_Q", "W_K", "W_V"), (m.tolist() for m in matrices), strict=True))
    state |= {"scale": False, "causal": True, "window": True, "width": 2, "same": True}
    result = compute(state | {"hidden": [True, False, False, False, False]})
    mask = causal_mask(5) & window_mask(5, 2) & torch.tensor([False, True, True, True, True])
    weights = attention_weights(x @ W_Q, x @ W_Q, mask, scale=False)
    torch.testing.assert_close(result["weights"], weights)
    torch.testing.assert_close(result["out"], weights @ (x @ W_V))
    assert result["mask"].equal(mask)


def test_the_live_view_answers_to_its_controls(matrices):
    view = MatrixMicroscope(TOKENS, *matrices, query=1, key=3).live()
    grids, switches, shown = view.children
    before = shown.value
    assert "<b>two</b> reads <b>four</b> with weight 0." in before
    by_name = {widget.description: widget for widget in switches.children}
    by_name["causal mask"].value = True
    assert "with weight 0: " in shown.value
    assert "The mask keeps it from being read." in shown.value
    by_name["causal mask"].value = False
    assert shown.value.partition("</svg>")[2] == before.partition("</svg>")[2]
    first_field = grids.children[0].children[1].children[0]
    first_field.value = 0.25
    assert shown.value.partition("</svg>")[2] != before.partition("</svg>")[2]


def test_a_notebook_gets_both_and_a_built_page_only_html(matrices, monkeypatch):
    figure = MatrixMicroscope(TOKENS, *matrices)
    monkeypatch.delenv("SOFTLOOKUP_STATIC", raising=False)
    assert "application/vnd.jupyter.widget-view+json" in figure._repr_mimebundle_()
    monkeypatch.setenv("SOFTLOOKUP_STATIC", "1")
    assert set(figure._repr_mimebundle_()) == {"text/html", "text/plain"}
