"""The blocks: order of the steps, the stream and its writes, counts, dropout, bad input."""

import math
from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from softlookup.analysis import capture
from softlookup.attention.positions import Rotary, alibi_bias
from softlookup.layers import (
    FeedForward,
    GatedFeedForward,
    LayerNorm,
    RMSNorm,
    layer_norm,
    rms_norm,
)
from softlookup.masks import causal_mask, padding_mask
from softlookup.models import DecoderBlock, EncoderBlock, Sublayer, make_norm

orders = pytest.mark.parametrize("norm_first", [True, False], ids=["pre-norm", "post-norm"])


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture
def x(generator):
    return torch.randn(2, 11, 6, dtype=torch.float64, generator=generator)


@pytest.fixture
def context(generator):
    return torch.randn(2, 13, 6, dtype=torch.float64, generator=generator)


@pytest.fixture(params=[EncoderBlock, DecoderBlock])
def kind(request):
    return request.param


def count(layer):
    return sum(p.numel() for p in layer.parameters())


def inputs(kind, x, context):
    return (x,) if kind is EncoderBlock else (x, context)


# one sub-layer


def test_pre_norm_by_hand(x):
    """x + F(norm(x)): the sum is not normalized."""
    sub = Sublayer(nn.Linear(6, 6), LayerNorm(6), norm_first=True).double()
    assert_close(sub(x), x + sub.layer(layer_norm(x)))


def test_post_norm_by_hand(x):
    """`add-and-norm-post-ln`: norm(x + F(x)): mean 0 and variance 1 in every row."""
    sub = Sublayer(nn.Linear(6, 6), LayerNorm(6, eps=1e-12), norm_first=False).double()
    out = sub(x)
    assert_close(out, layer_norm(x + sub.layer(x), eps=1e-12))
    assert_close(out.mean(-1), torch.zeros(2, 11, dtype=torch.float64))
    assert_close(out.var(-1, correction=0), torch.ones(2, 11, dtype=torch.float64))


@orders
def test_a_layer_of_zeros_leaves_the_stream_alone(x, norm_first):
    sub = Sublayer(nn.Linear(6, 6), RMSNorm(6), norm_first=norm_first).double()
    nn.init.zeros_(sub.layer.weight)
    nn.init.zeros_(sub.layer.bias)
    assert_close(sub(x), x if norm_first else rms_norm(x))


@orders
def test_dropout_takes_what_is_added_not_what_was_there(x, norm_first):
    sub = Sublayer(nn.Linear(6, 6), nn.Identity(), norm_first=norm_first, dropout=0.75).double()
    written = sub(x) - x
    kept = written.abs() > 1e-12
    assert 0.1 < kept.double().mean() < 0.4
    assert_close(written[kept], (sub.layer(x) * 4)[kept])
    assert_close(sub.eval()(x), x + sub.layer(x))


# the blocks


@orders
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("gated", [True, False])
def test_the_encoder_s_block_step_by_step(x, norm_first, norm, gated):
    """`transformer-layer-structure`: attention, add and norm, feed-forward, add and norm."""
    options = {"norm_first": norm_first, "norm": norm, "gated": gated, "eps": 0.1}
    block = EncoderBlock(6, 3, 5, **options).double()
    mask = causal_mask(11)
    normed = partial(layer_norm if norm == "layer" else rms_norm, eps=0.1)
    attend, think = block.self_attention.layer, block.feed_forward.layer
    if norm_first:
        middle = x + attend(normed(x), mask=mask)
        expected = middle + think(normed(middle))
    else:
        middle = normed(x + attend(x, mask=mask))
        expected = normed(middle + think(middle))
    assert_close(block(x, mask), expected)
    assert isinstance(think, GatedFeedForward if gated else FeedForward)


@orders
def test_the_decoder_s_block_step_by_step(x, context, norm_first):
    """Own text first, then the other one, whose rows are read without a norm."""
    block = DecoderBlock(6, 3, 5, norm_first=norm_first).double()
    mask, context_mask = causal_mask(11), padding_mask([13, 4], 13)
    own, other = block.self_attention.layer, block.cross_attention.layer
    think = block.feed_forward.layer
    if norm_first:
        a = x + own(layer_norm(x), mask=mask)
        b = a + other(layer_norm(a), context, context_mask)
        expected = b + think(layer_norm(b))
    else:
        a = layer_norm(x + own(x, mask=mask))
        b = layer_norm(a + other(a, context, context_mask))
        expected = layer_norm(b + think(b))
    assert_close(block(x, context, mask, context_mask), expected)


def test_parameters_of_the_base_model():
    """`encoder-stack-6`, `decoder-stack-6`: without biases in attention, as the paper counts."""
    assert count(EncoderBlock(512, 8, 2048, attention_bias=False)) == 3_150_336
    assert count(DecoderBlock(512, 8, 2048, attention_bias=False)) == 4_199_936
    assert count(EncoderBlock(512, 8, 2048)) == 3_150_336 + 4 * 512
    assert count(DecoderBlock(512, 8, 2048)) == 4_199_936 + 8 * 512


def test_biases_by_name(kind):
    def biases(**options):
        return {n.split(".", 1)[1] for n, _ in kind(6, 3, 5, **options).named_parameters()
                if n.endswith("bias")}  # fmt: skip

    attention = {f"layer.W_{p}.bias" for p in "QKVO"}
    rest = {"layer.W_1.bias", "layer.W_2.bias", "norm.bias"}
    assert biases() == attention | rest
    assert biases(attention_bias=False) == rest
    assert biases(bias=False) == set()
    assert biases(bias=False, attention_bias=True) == attention


def test_the_block_of_today():
    """RMSNorm, SwiGLU, no biases: 4·d² + 3·d·d_ff + 2·d."""
    block = EncoderBlock(6, 3, 16, norm_first=True, norm="rms", gated=True, activation="silu",
                         bias=False)  # fmt: skip
    assert count(block) == 4 * 36 + 3 * 6 * 16 + 2 * 6
    assert isinstance(block.self_attention.norm, RMSNorm)


def test_every_norm_has_its_own_parameters(kind):
    block = kind(6, 3, 5)
    norms = [m for m in block.modules() if isinstance(m, LayerNorm)]
    assert len({id(m.weight) for m in norms}) == (2 if kind is EncoderBlock else 3)


def test_positions_reach_the_attention_of_the_own_text(x, context, kind):
    block = kind(6, 3, 5).double()
    rotary, bias = Rotary(2), alibi_bias(3, 11, dtype=torch.float64)
    plain = block(*inputs(kind, x, context))
    for options in ({"rotary": rotary}, {"score_bias": bias}):
        seen = []
        layer = block.self_attention.layer
        handle = layer.register_forward_hook(lambda m, args, out, seen=seen: seen.append(out))
        out = block(*inputs(kind, x, context), **options)
        handle.remove()
        assert_close(seen[0], layer(x, **options))
        assert not torch.allclose(out, plain)


# the stream


@orders
def test_the_probes_see_each_write_and_the_stream(x, context, kind, norm_first):
    block = kind(6, 3, 5, norm_first=norm_first, norm="rms").double()
    with capture(block) as seen:
        out = block(*inputs(kind, x, context))
    names = ["self_attention", "cross_attention", "feed_forward"]
    stream = x
    for name in names if kind is DecoderBlock else names[::2]:
        total = stream + seen[f"{name}.write"]
        stream = total if norm_first else rms_norm(total)
        assert_close(seen[f"{name}.stream"], stream)
    assert_close(out, stream)
    assert seen["self_attention.layer.weights"].shape == (2, 3, 11, 11)
    assert seen["feed_forward.layer.activations"].shape == (2, 11, 5)


def test_the_stream_is_the_sum_of_all_writes(x):
    """`residual-stream`: x_L = x_0 + Σ writes, exactly, in pre-norm."""
    blocks = nn.Sequential(*(EncoderBlock(6, 3, 5, norm_first=True) for _ in range(4))).double()
    with capture(blocks, "write") as seen:
        out = blocks(x)
    assert len(seen) == 8
    assert_close(out, x + sum(seen.values()))


def test_a_write_can_be_muted(x):
    block = EncoderBlock(6, 3, 5, norm_first=True).double()
    block.self_attention.write.register_forward_hook(lambda m, args, out: torch.zeros_like(out))
    assert_close(block(x), block.feed_forward(x))


# dropout


def test_three_places_of_dropout(kind):
    """The weights of attention, the activations, what is added; all at the same rate."""
    block = kind(6, 3, 5, dropout=0.3)
    places = {n: m.p for n, m in block.named_modules() if isinstance(m, nn.Dropout)}
    names = ["self_attention", "feed_forward"]
    names += ["cross_attention"] if kind is DecoderBlock else []
    assert places == {f"{n}.{place}": 0.3 for n in names for place in ("layer.dropout", "dropout")}


@pytest.mark.parametrize("fused", [True, False])
def test_evaluation_switches_every_dropout_off(x, context, kind, fused):
    block = kind(6, 3, 5, dropout=0.3).double()
    same = kind(6, 3, 5).double()
    same.load_state_dict(block.state_dict())
    for module in block.modules():
        if hasattr(module, "fused"):
            module.fused = fused
    rows = inputs(kind, x, context)
    assert not torch.allclose(block(*rows), block(*rows))
    block.eval()
    assert_close(block(*rows), block(*rows), rtol=0, atol=0)
    assert_close(block(*rows), same(*rows))


# bad input


def test_bad_options(kind):
    with pytest.raises(ValueError, match="n_heads must divide d_model"):
        kind(7, 3, 5)
    with pytest.raises(ValueError, match="d_ff must be an integer of at least 1; got d_ff=0"):
        kind(6, 3, 0)
    with pytest.raises(ValueError, match="norm must be one of 'layer', 'rms'; got norm='batch'"):
        kind(6, 3, 5, norm="batch")
    with pytest.raises(ValueError, match=r"activation must be one of .*; got activation='swish'"):
        kind(6, 3, 5, activation="swish")
    with pytest.raises(
        ValueError, match="dropout must be at least 0 and less than 1; got dropout=1"
    ):
        kind(6, 3, 5, dropout=1.0)
    with pytest.raises(ValueError, match=r"eps must be positive and finite; got eps=0\.0"):
        kind(6, 3, 5, eps=0.0)


@pytest.mark.bad_input
@orders
def test_bad_rows(x, kind, context, norm_first):
    block = kind(6, 3, 5, norm_first=norm_first).double()
    _, *rest = inputs(kind, x, context)
    with pytest.raises(ValueError, match=r"\(2, 11, 5\)"):
        block(x[..., :5], *rest)
    with pytest.raises(ValueError, match=r"got (dtype=|weight=torch\.float64, x=)torch\.float32"):
        block(x.float(), *rest)


@pytest.mark.bad_input
def test_a_context_that_does_not_fit(x, context):
    block = DecoderBlock(6, 3, 5).double()
    with pytest.raises(ValueError, match="x and context must have the same leading axes"):
        block(x, context[:1])


def test_norms_by_name():
    assert isinstance(make_norm("layer", 3), LayerNorm)
    assert isinstance(make_norm("rms", 3), RMSNorm)
    assert make_norm("layer", 3, bias=False).bias is None
    for norm in ("layer", "rms"):
        assert make_norm(norm, 3, eps=0.1).eps == 0.1
        assert math.isclose(make_norm(norm, 3).eps, 1e-5)
    with pytest.raises(ValueError, match="norm must be one of 'layer', 'rms'; got norm='batch'"):
        make_norm("batch", 3)
