"""What the attention atlas refuses, and what it makes of what it takes."""

import pytest
import torch

from softlookup.show import AttentionAtlas

AB, MAPS = ["a", "b"], torch.eye(2).expand(2, 3, 2, 2)


def test_a_model_without_later_keys_is_causal():
    full = torch.full((1, 1, 2, 2), 0.5)
    assert '"causal": true' in AttentionAtlas({"m": [(AB, MAPS)]}).data
    assert '"causal": false' in AttentionAtlas({"m": [(AB, full)]}).data
    assert '"causal": false' in AttentionAtlas({"m": [(AB, MAPS[:1, :1]), (AB, full)]}).data


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({}, r"at least one model; got models=\[\]"),
        ({" ": [(AB, MAPS)]}, "a model must have a name; got name="),
        ({"m": []}, "m must have at least one text; got texts=0"),
        ({"m": [(["a"], MAPS[..., :1, :1])]}, "2 to 32 tokens; got n=1"),
        ({"m": [(["a"] * 33, torch.eye(33)[None, None])]}, "2 to 32 tokens; got n=33"),
        ({"m": [(["a", "b", "c"], MAPS)]}, r"n its tokens; got weights=\(2, 3, 2, 2\), n=3"),
        ({"m": [(AB, torch.eye(2).expand(5, 1, 2, 2))]}, "1 to 4 layers of 1 to 8 heads"),
        ({"m": [(AB, torch.eye(2).expand(1, 9, 2, 2))]}, "1 to 4 layers of 1 to 8 heads"),
        ({"m": [(AB, 0.9 * MAPS)]}, "each row of m must be weights that sum to 1"),
        ({"m": [(AB, torch.tensor([[[[1.5, -0.5], [0, 1]]]]))]}, "must be weights that sum to 1"),
        ({"m": [(AB, MAPS * torch.nan)]}, "must be weights that sum to 1"),
        ({"m": [(AB, MAPS), (AB, MAPS[:1])]}, "all texts of m must have its layers and heads"),
        (
            {"m": [(["a"] * 30, torch.eye(30).expand(4, 8, 30, 30))] * 3},
            "the page can hold 60000 weights; got weights=86400",
        ),
    ],
)
def test_bad_input(models, message):
    with pytest.raises(ValueError, match=message):
        AttentionAtlas(models)


@pytest.mark.bad_input
def test_bad_types():
    with pytest.raises(ValueError, match="tokens must be a list of tokens"):
        AttentionAtlas({"m": [("ab", MAPS)]})
    with pytest.raises(ValueError, match="weights must hold floating-point numbers"):
        AttentionAtlas({"m": [(AB, MAPS.int())]})
    with pytest.raises(ValueError, match=r"n its tokens; got weights=\(3, 2, 2\)"):
        AttentionAtlas({"m": [(AB, MAPS[0])]})
