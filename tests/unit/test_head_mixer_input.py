"""The head mixer in Python: what it hands to the page, and what it refuses."""

import json
import re

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from softlookup.attention import MultiHeadAttention
from softlookup.masks import causal_mask
from softlookup.show import HeadMixer


@pytest.fixture
def parts(generator):
    """What a mixer is made of, by name: 4 texts of 3 words, 2 heads of width 5, 2 × 3 answers."""
    torch.manual_seed(3)
    return {
        "layer": MultiHeadAttention(7, 2, d_k=5, d_v=2).double(),
        "readout": nn.Linear(7, 6).double(),
        "texts": [["a", "<b>", str(t)] for t in range(4)],
        "x": torch.randn(4, 3, 7, dtype=torch.float64, generator=generator),
        "targets": torch.randint(-1, 3, (4, 3, 2), generator=generator),
        "questions": ["who", "where"],
        "answers": ["x", "y", "z"],
        "n_shown": 2,
    }


def mixer(parts, **changes):
    return HeadMixer(**{**parts, **changes})


def test_the_page_gets_the_weights_by_head_as_in_the_formulas(parts):
    layer = parts["layer"]
    model = {k: torch.tensor(v).double() for k, v in json.loads(mixer(parts).data)["model"].items()}
    x = parts["x"]
    for letter, w in {"Q": layer.W_Q, "K": layer.W_K, "V": layer.W_V}.items():
        own = [x @ model[f"W_{letter}"][h] + model[f"b_{letter}"][h] for h in range(2)]
        assert_close(torch.cat(own, dim=-1), w(x), rtol=1e-6, atol=1e-6)
    heads = torch.randn(3, 4, dtype=torch.float64)
    out = sum(heads[:, 2 * h : 2 * h + 2] @ model["W_O"][h] for h in range(2)) + model["b_O"]
    assert_close(out, layer.W_O(heads), rtol=1e-6, atol=1e-6)
    assert_close(out @ model["R"] + model["b"], parts["readout"](layer.W_O(heads)), rtol=1e-6,
                 atol=1e-6)  # fmt: skip


def test_the_page_gets_the_rest_as_it_was_given(parts):
    data = json.loads(mixer(parts, mask=causal_mask(3), labels=["one", "two"], d_model=12).data)
    assert data["x"] == parts["x"].tolist()
    assert data["targets"] == parts["targets"].tolist()
    assert data["mask"] == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    names = ("texts", "questions", "answers", "labels", "shown", "width")
    expected = [*(parts[name] for name in names[:3]), ["one", "two"], 2, 12]
    assert [data[name] for name in names] == expected
    assert json.loads(mixer(parts).data)["mask"] == [[1, 1, 1]] * 3
    assert json.loads(mixer(parts, mask=causal_mask(3)[1:2]).data)["mask"] == [[1, 1, 0]] * 3


def test_biases_that_are_not_there_are_zeros(parts):
    layer = MultiHeadAttention(7, 2, d_k=5, d_v=2, bias=False).double()
    model = json.loads(mixer(parts, layer=layer, readout=nn.Linear(7, 6, bias=False)).data)["model"]
    assert model["b_Q"] == [[0.0] * 5] * 2
    assert model["b_O"] == [0.0] * 7
    assert model["b"] == [0.0] * 6


def test_the_html_is_small_and_asks_nobody(parts):
    html = mixer(parts).html()
    assert len(html.encode()) < 200_000
    assert re.findall(r"https?://[^\"']*", html) == ["http://www.w3.org/2000/svg"]
    full = {**parts, "texts": parts["texts"][:1] * 571, "x": torch.rand(571, 3, 7).double(),
            "targets": parts["targets"][:1].expand(571, 3, 2)}  # fmt: skip
    with torch.no_grad():
        assert len(mixer(full).html().encode()) > 100_000  # as many numbers as are allowed


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("layer", MultiHeadAttention(7, 1), "2 to 8 heads; got n_heads=1"),
        ("layer", MultiHeadAttention(9, 9), "2 to 8 heads; got n_heads=9"),
        ("layer", MultiHeadAttention(4, 2, d_context=7), "its own input; got d_model=4, d_context"),
        ("readout", nn.Linear(7, 5), r"got wanted=\(7, 6\), readout=\(7, 5\)"),
        ("readout", nn.Linear(5, 6), r"got wanted=\(7, 6\), readout=\(5, 6\)"),
        ("texts", [], "a text must have 2 to 12 words; got words=0"),
        ("texts", [["a"]] * 4, "a text must have 2 to 12 words; got words=1"),
        ("texts", [["a"] * 13] * 4, "a text must have 2 to 12 words; got words=13"),
        ("texts", [["a", "b", "c"], ["a", "b"]], r"same number of words; got lengths=\[2, 3\]"),
        ("texts", [["a", "b", "c"]] * 3, r"x must have the shape \(3, 3, 7\); got x=\(4, 3, 7\)"),
        ("x", torch.zeros(4, 3, 6), r"x must have the shape \(4, 3, 7\); got x=\(4, 3, 6\)"),
        ("x", torch.zeros(4, 3, 7).long(), "x must hold floating-point numbers"),
        ("x", torch.full((4, 3, 7), torch.nan), "x must hold numbers from -1000 to 1000"),
        ("targets", torch.zeros(4, 3, 1).long(), r"shape \(4, 3, 2\); got targets=\(4, 3, 1\)"),
        ("targets", torch.full((4, 3, 2), 3), "answer from 0 to 2; got smallest=3, largest=3"),
        ("targets", torch.full((4, 3, 2), -2), "answer from 0 to 2; got smallest=-2, largest=-2"),
        ("targets", torch.tensor([0, -1]).expand(4, 3, 2), r"asked somewhere; got asked=\[True, F"),
        ("answers", ["x", "x", "y"], "two different names or more; got answers="),
        ("labels", ["one"], r"one label for each head; got labels=\['one'\], n_heads=2"),
        ("mask", causal_mask(4), r"mask must fit scores of shape \(3, 3\); got mask=\(4, 4\)"),
        ("mask", torch.ones(3, 3), "mask must be boolean"),
        ("n_shown", 5, "at most the number of texts; got n_shown=5, n_texts=4"),
        ("n_shown", 0, "n_shown must be an integer of at least 1; got n_shown=0"),
        ("d_model", 0, "d_model must be an integer of at least 1; got d_model=0"),
    ],
)
def test_what_does_not_fit_is_refused(parts, name, value, message):
    with pytest.raises(ValueError, match=message):
        mixer(parts, **{name: value})


@pytest.mark.bad_input
def test_questions_are_few_and_numbers_too(parts):
    readout = nn.Linear(7, 12).double()
    with pytest.raises(ValueError, match="1 to 3 questions; got questions="):
        mixer(parts, questions=list("abcd"), readout=readout, targets=torch.zeros(4, 3, 4).long())
    readout = nn.Linear(7, 2).double()
    with pytest.raises(ValueError, match=r"two different names or more; got answers=\['x'\]"):
        mixer(parts, answers=["x"], readout=readout)
    many = {"texts": [["a", "b", "c"]] * 600, "x": torch.zeros(600, 3, 7).double()}
    with pytest.raises(ValueError, match="the page can hold 12000 numbers of x; got numbers=12600"):
        mixer(parts, **many)
    with torch.no_grad():
        parts["layer"].W_V.weight[0, 0] = 1001
    with pytest.raises(ValueError, match=r"W_V.weight must hold numbers from -1000 to 1000"):
        mixer(parts)
