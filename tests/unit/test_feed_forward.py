"""The feed-forward layers: counts, loops, the probe, dropout, what needs a bend, bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.layers import ACTIVATIONS, FeedForward, GatedFeedForward

BY_HAND = {
    "relu": lambda a: max(0.0, a),
    "relu2": lambda a: max(0.0, a) ** 2,
    "gelu": lambda a: a * 0.5 * (1 + math.erf(a / math.sqrt(2))),
    "gelu_tanh": lambda a: a / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))),
    "silu": lambda a: a / (1 + math.exp(-a)),
    "sigmoid": lambda a: 1 / (1 + math.exp(-a)),
    "identity": lambda a: a,
}
names = pytest.mark.parametrize("name", list(BY_HAND))


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture(params=[FeedForward, GatedFeedForward])
def kind(request):
    return request.param


@pytest.fixture
def x(generator):
    return torch.randn(2, 5, 3, dtype=torch.float64, generator=generator)


def affine(w, row):
    """A row times W, plus b: in Python's own numbers."""
    bias = [0.0] * w.out_features if w.bias is None else w.bias.tolist()
    return [
        math.fsum(a * b for a, b in zip(column, row, strict=True)) + c
        for column, c in zip(w.weight.tolist(), bias, strict=True)
    ]


def test_every_activation_is_written_down_here():
    assert BY_HAND.keys() == ACTIVATIONS.keys()


@names
@pytest.mark.parametrize("bias", [True, False])
def test_one_token_at_a_time(x, kind, name, bias):
    """`feed-forward-network`, `ffn-pointwise`: W_2 f(W_1 x + b_1) + b_2, token by token."""
    layer = kind(3, 7, activation=name, bias=bias).double()
    rows = []
    for row in x.reshape(-1, 3).tolist():
        inner = affine(layer.W_1, row)
        if kind is GatedFeedForward:
            gate = [BY_HAND[name](a) for a in affine(layer.W_gate, row)]
            inner = [g * a for g, a in zip(gate, inner, strict=True)]
        else:
            inner = [BY_HAND[name](a) for a in inner]
        rows.append(affine(layer.W_2, inner))
    assert_close(layer(x), torch.tensor(rows, dtype=torch.float64).reshape(x.shape))


def test_parameters_of_the_base_model():
    """`feed-forward-network`: 2 · 512 · 2048 + 2048 + 512."""
    count = sum(p.numel() for p in FeedForward(512, 2048).parameters())
    assert count == 2 * 512 * 2048 + 2048 + 512 == 2_099_712


def test_parameters_by_formula():
    shapes = {n: tuple(p.shape) for n, p in FeedForward(3, 7).named_parameters()}
    assert shapes == {
        "W_1.weight": (7, 3), "W_1.bias": (7,), "W_2.weight": (3, 7), "W_2.bias": (3,)
    }  # fmt: skip
    shapes = {n: tuple(p.shape) for n, p in GatedFeedForward(3, 7).named_parameters()}
    assert shapes == {"W_gate.weight": (7, 3), "W_1.weight": (7, 3), "W_2.weight": (3, 7)}
    assert "W_gate.bias" in dict(GatedFeedForward(3, 7, bias=True).named_parameters())


def test_two_thirds_of_the_width_have_as_many_weights():
    plain, gated = FeedForward(384, 4 * 384, bias=False), GatedFeedForward(384, 8 * 384 // 3)
    counts = [sum(p.numel() for p in layer.parameters()) for layer in (plain, gated)]
    assert counts[0] == counts[1] == 8 * 384**2


def test_without_a_bend_two_maps_are_one(x):
    """`need-nonlinearity`: (x W_1) W_2 = x (W_1 W_2); ReLU is no such product."""
    layer = FeedForward(3, 7, activation="identity", bias=False).double()
    one = layer.W_1.weight.mT @ layer.W_2.weight.mT
    assert_close(layer(x), x @ one)
    bent = FeedForward(3, 7, bias=False).double()
    bent.load_state_dict(layer.state_dict())
    assert not torch.allclose(bent(x), x @ one)


def test_the_default_bends(x):
    for layer, name in ((FeedForward(3, 7), "relu"), (GatedFeedForward(3, 7), "silu")):
        same = type(layer)(3, 7, activation=name)
        same.load_state_dict(layer.state_dict())
        assert_close(layer(x.float()), same(x.float()))


def test_the_probe_sees_the_activations_before_dropout_and_may_replace_them(x, kind):
    layer = kind(3, 7, bias=False, dropout=0.5).double()
    seen = []
    handle = layer.activations.register_forward_hook(lambda m, args, out: seen.append(out))
    layer(x)
    layer.eval()
    layer(x)
    handle.remove()
    assert seen[0].shape == (2, 5, 7)
    assert seen[0].equal(seen[1])  # in training no entry is missing
    assert_close(layer(x), seen[1] @ layer.W_2.weight.mT)
    layer.activations.register_forward_hook(lambda m, args, out: torch.zeros_like(out))
    assert layer(x).eq(0).all()


def test_dropout_takes_activations_in_training_alone(x, kind):
    layer = kind(3, 400, dropout=0.75).double()
    into = []
    layer.W_2.register_forward_pre_hook(lambda m, args: into.append(args[0]))
    whole = []
    layer.activations.register_forward_hook(lambda m, args, out: whole.append(out))
    layer(x)
    kept = into[0] != 0
    alive = whole[0] != 0
    assert 0.2 < (kept.sum() / alive.sum()).item() < 0.3
    assert_close(into[0][kept], whole[0][kept] * 4)
    layer.eval()
    assert_close(layer(x), layer(x), rtol=0, atol=0)
    assert into[1].equal(whole[1])


def test_any_leading_axes(kind, x):
    layer = kind(3, 7).double()
    assert_close(layer(x)[1, 2], layer(x[1, 2]))
    assert layer(x[:0]).shape == (0, 5, 3)


def test_bad_options(kind):
    with pytest.raises(ValueError, match="d_model must be an integer of at least 1; got d_model=0"):
        kind(0, 7)
    with pytest.raises(ValueError, match="d_ff must be an integer of at least 1; got d_ff=0"):
        kind(3, 0)
    rule = "activation must be one of 'relu', 'relu2', .*; got activation='swish'"
    with pytest.raises(ValueError, match=rule):
        kind(3, 7, activation="swish")
    for dropout in (-0.1, 1.0, math.nan):
        rule = f"dropout must be at least 0 and less than 1; got dropout={dropout}"
        with pytest.raises(ValueError, match=rule):
            kind(3, 7, dropout=dropout)
