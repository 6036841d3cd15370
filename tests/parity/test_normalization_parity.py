"""PyTorch's LayerNorm, RMSNorm and activations, forward and gradient."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from softlookup.layers import FeedForward, LayerNorm, RMSNorm

EXACT = {"rtol": 1e-12, "atol": 1e-12}
pairs = pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (LayerNorm(7, eps=1e-5), nn.LayerNorm(7)),
        (LayerNorm(7, eps=0.3), nn.LayerNorm(7, eps=0.3)),
        (LayerNorm(7, bias=False), nn.LayerNorm(7, bias=False)),
        (RMSNorm(7, eps=1e-5), nn.RMSNorm(7, eps=1e-5)),
        (RMSNorm(7, eps=0.3), nn.RMSNorm(7, eps=0.3)),
    ],
)


def with_weights(ours, theirs, dtype, generator):
    with torch.no_grad():
        for p in ours.parameters():
            p.copy_(torch.randn(p.shape, generator=generator))
    theirs.load_state_dict(ours.state_dict())
    return ours.to(dtype), theirs.to(dtype)


@pairs
def test_forward_and_gradient(generator, ours, theirs):
    ours, theirs = with_weights(ours, theirs, torch.float64, generator)
    x = torch.randn(2, 5, 7, dtype=torch.float64, generator=generator) * 3 + 2
    x.requires_grad_()
    out, expected = ours(x), theirs(x)
    assert_close(out, expected, **EXACT)
    push = torch.randn(out.shape, dtype=torch.float64, generator=generator)
    found = torch.autograd.grad(out, [x, *ours.parameters()], push)
    wanted = torch.autograd.grad(expected, [x, *theirs.parameters()], push)
    assert_close(found, wanted, **EXACT)


@pairs
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_errs_no_more_than_pytorch(generator, ours, theirs, dtype):
    ours, theirs = with_weights(ours, theirs, dtype, generator)
    x = (torch.randn(50, 7, generator=generator) * 3 + 2).to(dtype)
    with torch.no_grad():
        out, peer = ours(x), theirs(x)
        exact = ours.double()(x.double())
    ours_error, peer_error = ((y.double() - exact).abs().max().item() for y in (out, peer))
    assert ours_error <= peer_error


@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("relu", nn.ReLU()), ("gelu", nn.GELU()), ("gelu_tanh", nn.GELU("tanh")),
        ("silu", nn.SiLU()), ("sigmoid", nn.Sigmoid()), ("identity", nn.Identity()),
    ],
)  # fmt: skip
def test_the_feed_forward_layer_is_a_sequence_of_pytorch_s(generator, name, peer):
    ours = FeedForward(7, 11, activation=name).double()
    theirs = nn.Sequential(nn.Linear(7, 11), peer, nn.Linear(11, 7)).double()
    theirs[0].load_state_dict(ours.W_1.state_dict())
    theirs[2].load_state_dict(ours.W_2.state_dict())
    x = torch.randn(5, 7, dtype=torch.float64, generator=generator)
    assert_close(ours(x), theirs(x), **EXACT)
