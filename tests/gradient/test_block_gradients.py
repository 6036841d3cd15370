"""Derivatives of norms, feed-forward layers and blocks against finite differences."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call
from torch.testing import assert_close

from softlookup.layers import FeedForward, GatedFeedForward, layer_norm, rms_norm
from softlookup.masks import causal_mask, padding_mask
from softlookup.models import DecoderBlock, EncoderBlock

orders = pytest.mark.parametrize("norm_first", [True, False], ids=["pre-norm", "post-norm"])


def leaf(*shape, generator):
    return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


def check(layer, *rows, **options):
    """With respect to the rows and to every parameter."""
    names = [name for name, _ in layer.named_parameters()]

    def forward(*tensors):
        given = dict(zip(names, tensors[len(rows) :], strict=True))
        return functional_call(layer, given, tensors[: len(rows)], options)

    return gradcheck(forward, (*rows, *layer.parameters()))


@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_norms_once_and_twice(generator, eps):
    x, weight, bias = (leaf(*shape, generator=generator) for shape in [(2, 3, 5), (5,), (5,)])
    for derivative in (gradcheck, gradgradcheck):
        assert derivative(lambda *t: layer_norm(*t, eps), (x, weight, bias))
        assert derivative(lambda *t: rms_norm(*t, eps), (x, weight))


def test_the_gradient_of_layer_norm_is_orthogonal_to_ones_and_to_the_result(generator):
    """A shift or a stretch of the row changes nothing, so no gradient points there."""
    x, push = leaf(3, 7, generator=generator), leaf(3, 7, generator=generator)
    out = layer_norm(x, eps=1e-14)
    (grad,) = torch.autograd.grad(out, x, push.detach())
    zeros = torch.zeros(3, dtype=torch.float64)
    assert_close(grad.sum(-1), zeros, rtol=0, atol=1e-12)
    assert_close((grad * out.detach()).sum(-1), zeros, rtol=0, atol=1e-12)


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "silu", "sigmoid", "relu"])
@pytest.mark.parametrize("kind", [FeedForward, GatedFeedForward])
def test_feed_forward_layers(generator, kind, activation):
    layer = kind(3, 5, activation=activation, bias=True).double()
    assert check(layer, leaf(2, 7, 3, generator=generator))


@orders
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_the_encoder_s_block(generator, norm_first, norm):
    options = {"norm_first": norm_first, "norm": norm, "gated": True, "activation": "silu"}
    block = EncoderBlock(6, 3, 5, **options).double()
    mask = padding_mask([2, 3], 3) & causal_mask(3)
    assert check(block, leaf(2, 3, 6, generator=generator), mask=mask)


@orders
def test_the_decoder_s_block(generator, norm_first):
    block = DecoderBlock(6, 3, 5, norm_first=norm_first, activation="gelu").double()
    x, context = leaf(2, 3, 6, generator=generator), leaf(2, 5, 6, generator=generator)
    masks = {"mask": causal_mask(3), "context_mask": padding_mask([5, 2], 5)}
    assert check(block, x, context, **masks)


@orders
def test_causality_by_gradient(generator, norm_first):
    """d out_t / d in_s is exactly 0 for s > t, and something else for s <= t."""
    block = DecoderBlock(6, 3, 5, norm_first=norm_first).double()
    x, context = leaf(7, 6, generator=generator), leaf(5, 6, generator=generator)
    jacobian = torch.autograd.functional.jacobian(lambda x: block(x, context, causal_mask(7)), x)
    assert (jacobian != 0).any(dim=1).any(dim=-1).equal(causal_mask(7))


def test_pre_norm_leaves_the_gradient_a_way_around(generator):
    """With every write muted, the Jacobian of a pre-norm stack is I; of post-norm it is not."""
    for norm_first in (True, False):
        block = EncoderBlock(6, 3, 5, norm_first=norm_first).double()
        for sub in (block.self_attention, block.feed_forward):
            sub.write.register_forward_hook(lambda m, args, out: torch.zeros_like(out))
        x = leaf(2, 6, generator=generator)
        jacobian = torch.autograd.functional.jacobian(block, x).reshape(12, 12)
        assert torch.allclose(jacobian, torch.eye(12, dtype=torch.float64)) == norm_first
