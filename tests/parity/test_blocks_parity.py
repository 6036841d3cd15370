"""nn.TransformerEncoderLayer and nn.TransformerDecoderLayer; their masks mean the opposite."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from softlookup.masks import causal_mask, padding_mask
from softlookup.models import DecoderBlock, EncoderBlock

orders = pytest.mark.parametrize("norm_first", [True, False], ids=["pre-norm", "post-norm"])
activations = pytest.mark.parametrize("activation", ["relu", "gelu"])
LENGTHS, CONTEXT_LENGTHS = [11, 4, 7], [2, 13, 5]
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def randomised(layer, generator):
    with torch.no_grad():
        for p in layer.parameters():  # gains of 1 and biases of 0 would hide what is mixed up
            p.copy_(torch.randn(p.shape, generator=generator) / p.shape[-1] ** 0.5)
    return layer


def as_pytorch_names(block):
    """The block's parameters under the names of PyTorch's layer."""
    attention = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}
    layers = [name for name in (*attention, "feed_forward") if hasattr(block, name)]
    state = {}
    for i, name in enumerate(layers, start=1):
        sub = getattr(block, name)
        parts = {f"norm{i}": sub.norm}
        if name in attention:
            for kind in ("weight", "bias"):
                stacked = [getattr(getattr(sub.layer, w), kind) for w in ("W_Q", "W_K", "W_V")]
                if stacked[0] is not None:
                    state[f"{attention[name]}.in_proj_{kind}"] = torch.cat(stacked)
            parts[f"{attention[name]}.out_proj"] = sub.layer.W_O
        else:
            parts |= {"linear1": sub.layer.W_1, "linear2": sub.layer.W_2}
        for prefix, part in parts.items():
            state |= {f"{prefix}.{key}": value for key, value in part.named_parameters()}
    return state


def peer_of(block, d_ff, **options):
    """PyTorch's layer with a copy of the block's weights."""
    kinds = {EncoderBlock: nn.TransformerEncoderLayer, DecoderBlock: nn.TransformerDecoderLayer}
    heads = block.self_attention.layer.n_heads
    peer = kinds[type(block)](
        15, heads, d_ff, batch_first=True, dtype=torch.float64,
        norm_first=block.self_attention.norm_first, **options,
    )  # fmt: skip
    state = {name: value.detach() for name, value in as_pytorch_names(block).items()}
    peer.load_state_dict(state)
    return peer


@pytest.fixture
def x(generator):
    return torch.randn(3, 11, 15, dtype=torch.float64, generator=generator).requires_grad_()


@pytest.fixture
def context(generator):
    return torch.randn(3, 13, 15, dtype=torch.float64, generator=generator).requires_grad_()


def hidden(mask):
    """Our mask in PyTorch's sense, one for each head of each text."""
    return ~mask.expand(3, *mask.shape[-2:]).repeat_interleave(5, dim=0)


def both_gradients(ours, theirs, block, peer, leaves):
    """Gradients of both, of PyTorch's stacked projections in one piece."""
    found = torch.autograd.grad(ours.square().sum(), [*leaves, *block.parameters()])
    wanted = torch.autograd.grad(theirs.square().sum(), [*leaves, *peer.parameters()])
    n = len(leaves)
    with torch.no_grad():
        for p, grad in zip(block.parameters(), found[n:], strict=True):
            p.copy_(grad)  # so that the renaming of parameters renames their gradients
    renamed = as_pytorch_names(block)
    names = [name for name, _ in peer.named_parameters()]
    return [*found[:n], *(renamed[name].detach() for name in names)], list(wanted)


@orders
@activations
@pytest.mark.parametrize("bias", [True, False], ids=["biases", "no biases"])
def test_encoder_forward_and_gradient(generator, x, norm_first, activation, bias):
    """`transformer-layer-structure`: a causal mask and filler at once."""
    options = {"activation": activation, "bias": bias}
    block = EncoderBlock(15, 5, 7, norm_first=norm_first, **options).double()
    block = randomised(block, generator)
    peer = peer_of(block, 7, dropout=0.0, **options)
    mask = causal_mask(11) & padding_mask(LENGTHS, 11)
    ours, theirs = block(x, mask), peer(x, src_mask=hidden(mask))
    assert_close(ours, theirs, **EXACT)
    found, wanted = both_gradients(ours, theirs, block, peer, [x])
    assert_close(found, wanted, **EXACT)


@orders
@activations
def test_decoder_forward_and_gradient(generator, x, context, norm_first, activation):
    options = {"activation": activation}
    block = DecoderBlock(15, 5, 7, norm_first=norm_first, **options).double()
    block = randomised(block, generator)
    peer = peer_of(block, 7, dropout=0.0, **options)
    mask = causal_mask(11) & padding_mask(LENGTHS, 11)
    context_mask = padding_mask(CONTEXT_LENGTHS, 13)
    ours = block(x, context, mask, context_mask)
    theirs = peer(
        x, context, tgt_mask=hidden(mask), memory_mask=hidden(context_mask.expand(3, 11, 13))
    )
    assert_close(ours, theirs, **EXACT)
    found, wanted = both_gradients(ours, theirs, block, peer, [x, context])
    assert_close(found, wanted, **EXACT)


@orders
def test_pytorch_s_key_padding_masks(generator, x, context, norm_first):
    """True is filler there. PyTorch's fast path may put zeros into rows of filler: not compared."""
    filler, context_filler = (
        ~padding_mask(lengths, n).squeeze(1)
        for lengths, n in ((LENGTHS, 11), (CONTEXT_LENGTHS, 13))
    )
    block = randomised(EncoderBlock(15, 5, 7, norm_first=norm_first).double(), generator).eval()
    expected = peer_of(block, 7).eval()(x.detach(), src_key_padding_mask=filler)
    ours = block(x.detach(), padding_mask(LENGTHS, 11))
    assert_close(ours[~filler], expected[~filler], **EXACT)
    block = randomised(DecoderBlock(15, 5, 7, norm_first=norm_first).double(), generator).eval()
    expected = peer_of(block, 7).eval()(
        x, context, tgt_mask=~causal_mask(11), tgt_key_padding_mask=filler,
        memory_key_padding_mask=context_filler,
    )  # fmt: skip
    mask = causal_mask(11) & padding_mask(LENGTHS, 11)
    assert_close(block(x, context, mask, padding_mask(CONTEXT_LENGTHS, 13)), expected, **EXACT)


@orders
@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_dropout_draws_at_the_places_of_pytorch(generator, x, context, kind, norm_first):
    """In training, with the same seed: the same numbers at the same places in the same order.

    One text: PyTorch's layer puts the axes in another order, and would draw for them in that one.
    """
    block = kind(15, 5, 7, norm_first=norm_first, dropout=0.4).double()
    block = randomised(block, generator)
    peer = peer_of(block, 7, dropout=0.4)
    rows = (x[:1],) if kind is EncoderBlock else (x[:1], context[:1])
    torch.manual_seed(5)
    expected = peer(*rows)
    torch.manual_seed(5)
    assert_close(block(*rows), expected, **EXACT)
    assert not torch.allclose(block(*rows), expected)


def test_both_have_as_many_parameters():
    for ours, theirs in [(EncoderBlock, nn.TransformerEncoderLayer),
                         (DecoderBlock, nn.TransformerDecoderLayer)]:  # fmt: skip
        layers = ours(15, 5, 7), theirs(15, 5, 7)
        counts = [sum(p.numel() for p in layer.parameters()) for layer in layers]
        assert counts[0] == counts[1]
