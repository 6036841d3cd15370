"""torch.nn.MultiheadAttention with the same weights; its boolean masks mean the opposite."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from softlookup.attention import GroupedQueryAttention
from softlookup.masks import causal_mask, padding_mask

paths = pytest.mark.parametrize("fused", [True, False], ids=["fused", "step by step"])
LENGTHS = [11, 4, 7]


def peer_of(layer, *, d_context, dtype=torch.float64):
    """PyTorch's layer with a copy of our weights."""
    d_model = layer.W_Q.in_features
    same = d_context == d_model
    options = {} if same else {"kdim": d_context, "vdim": d_context}
    peer = nn.MultiheadAttention(
        d_model, layer.n_heads, batch_first=True, dtype=dtype, bias=layer.W_Q.bias is not None,
        **options,
    )  # fmt: skip
    inner = [layer.W_Q, layer.W_K, layer.W_V]
    with torch.no_grad():
        if same:
            peer.in_proj_weight.copy_(torch.cat([w.weight for w in inner]))
        else:
            names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
            for name, w in zip(names, inner, strict=True):
                getattr(peer, name).copy_(w.weight)
        if layer.W_Q.bias is not None:
            peer.in_proj_bias.copy_(torch.cat([w.bias for w in inner]))
    peer.out_proj.load_state_dict(layer.W_O.state_dict())
    return peer


def ours_from(peer):
    """Our layer with a copy of PyTorch's weights."""
    layer = GroupedQueryAttention(peer.embed_dim, peer.num_heads).to(peer.in_proj_weight.dtype)
    weights, biases = peer.in_proj_weight.chunk(3), peer.in_proj_bias.chunk(3)
    with torch.no_grad():
        for w, weight, bias in zip((layer.W_Q, layer.W_K, layer.W_V), weights, biases, strict=True):
            w.weight.copy_(weight)
            w.bias.copy_(bias)
    layer.W_O.load_state_dict(peer.out_proj.state_dict())
    return layer


def tolerance(dtype):
    """The contract's: 1e-10 in float64, 1e-6 in float32."""
    return {"rtol": 1e-10, "atol": 1e-10} if dtype == torch.float64 else {"rtol": 0, "atol": 1e-6}


def randomised(layer, generator):
    with torch.no_grad():
        for p in layer.parameters():  # PyTorch's biases start at 0: then a lost one is not seen
            p.copy_(torch.randn(p.shape, generator=generator) / p.shape[-1] ** 0.5)
    return layer


def gradients(out, inputs):
    return torch.autograd.grad(out.square().sum(), inputs)


@paths
@pytest.mark.parametrize("bias", [True, False], ids=["biases", "no biases"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_self_attention_forward_and_gradient(generator, fused, bias, dtype):
    """True = may read here, True = must not read there: attn_mask is the mask turned round."""
    layer = GroupedQueryAttention(15, 3, bias=bias, fused=fused)
    layer = randomised(layer, generator).to(dtype)
    peer = peer_of(layer, d_context=15, dtype=dtype)
    x = torch.randn(3, 11, 15, generator=generator).to(dtype).requires_grad_()
    mask = causal_mask(11) & padding_mask(LENGTHS, 11)
    ours = layer(x, mask=mask)
    theirs, _ = peer(x, x, x, attn_mask=~mask.repeat_interleave(3, dim=0), need_weights=False)
    assert_close(ours, theirs, **tolerance(dtype))
    wanted = [x, layer.W_Q.weight, layer.W_K.weight, layer.W_V.weight, layer.W_O.weight]
    of_x, *parts, of_w_o = gradients(ours, wanted)
    peer_of_x, packed, peer_of_w_o = gradients(
        theirs, [x, peer.in_proj_weight, peer.out_proj.weight]
    )
    size = tolerance(dtype) if dtype == torch.float64 else {"rtol": 1e-5, "atol": 3e-5}
    assert_close(of_x, peer_of_x, **size)
    assert_close(torch.cat(parts), packed, **size)
    assert_close(of_w_o, peer_of_w_o, **size)


@paths
def test_both_kinds_of_pytorch_s_masks_together(generator, fused):
    """key_padding_mask: True is filler. attn_mask: True is hidden. Ours is not(either)."""
    layer = randomised(GroupedQueryAttention(15, 3, fused=fused), generator).double()
    peer = peer_of(layer, d_context=15)
    x = torch.randn(3, 11, 15, dtype=torch.float64, generator=generator)
    filler = torch.arange(11) >= torch.tensor(LENGTHS).unsqueeze(-1)
    hidden = torch.ones(11, 11, dtype=torch.bool).triu(1)
    expected, _ = peer(x, x, x, key_padding_mask=filler, attn_mask=hidden)
    assert_close(layer(x, mask=causal_mask(11) & padding_mask(LENGTHS, 11)), expected)
    assert_close(layer(x, mask=~hidden & ~filler.unsqueeze(1)), expected)


@paths
def test_cross_attention_forward_weights_and_gradient(generator, fused):
    layer = randomised(GroupedQueryAttention(15, 5, d_context=7, fused=fused), generator).double()
    peer = peer_of(layer, d_context=7)
    x = torch.randn(3, 13, 15, dtype=torch.float64, generator=generator).requires_grad_()
    context = torch.randn(3, 11, 7, dtype=torch.float64, generator=generator).requires_grad_()
    seen = []
    layer.weights.register_forward_hook(lambda module, args, weights: seen.append(weights))
    ours = layer(x, context, padding_mask(LENGTHS, 11))
    filler = torch.arange(11) >= torch.tensor(LENGTHS).unsqueeze(-1)
    theirs, weights = peer(
        x, context, context, key_padding_mask=filler, average_attn_weights=False
    )  # fmt: skip
    assert_close(ours, theirs, **tolerance(torch.float64))
    assert len(seen) == (0 if fused else 1)
    for found in seen:
        assert_close(found, weights, **tolerance(torch.float64))
    wanted = [x, context, layer.W_Q.weight, layer.W_K.weight, layer.W_V.weight, layer.W_Q.bias]
    theirs_wanted = [x, context, peer.q_proj_weight, peer.k_proj_weight, peer.v_proj_weight]
    found = gradients(ours, wanted)
    expected = gradients(theirs, [*theirs_wanted, peer.in_proj_bias])
    assert_close(found[:5], expected[:5], **tolerance(torch.float64))
    assert_close(found[5], expected[5][:15], **tolerance(torch.float64))


@paths
def test_a_mask_of_each_head_is_pytorch_s_mask_of_batch_times_heads(generator, fused):
    layer = randomised(GroupedQueryAttention(15, 3, fused=fused), generator).double()
    peer = peer_of(layer, d_context=15)
    x = torch.randn(2, 11, 15, dtype=torch.float64, generator=generator)
    mask = torch.rand(2, 3, 11, 11, generator=generator) < 0.5
    mask[..., 0] = True
    expected, _ = peer(x, x, x, attn_mask=~mask.flatten(0, 1))
    assert_close(layer(x, mask=mask), expected)


@paths
def test_a_score_bias_is_pytorch_s_mask_of_numbers(generator, fused):
    layer = randomised(GroupedQueryAttention(15, 3, fused=fused), generator).double()
    peer = peer_of(layer, d_context=15)
    x = torch.randn(2, 11, 15, dtype=torch.float64, generator=generator)
    bias = torch.randn(3, 11, 11, dtype=torch.float64, generator=generator)
    expected, _ = peer(x, x, x, attn_mask=bias.repeat(2, 1, 1))
    assert_close(layer(x, score_bias=bias), expected)


@paths
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_weights_copied_from_pytorch(generator, fused, dtype):
    """`multi-head-definition`, the other way round: from its layer into ours."""
    peer = nn.MultiheadAttention(15, 3, batch_first=True, dtype=torch.float32)
    peer = randomised(peer, generator).to(dtype)
    layer = ours_from(peer)
    layer.fused = fused
    x = torch.randn(2, 11, 15, generator=generator).to(dtype)
    expected, _ = peer(x, x, x, attn_mask=~causal_mask(11))
    assert_close(layer(x, mask=causal_mask(11)), expected, **tolerance(dtype))
    again = peer_of(layer, d_context=15, dtype=dtype).state_dict()
    assert all(again[name].equal(value) for name, value in peer.state_dict().items())


def test_both_layers_have_as_many_parameters():
    for d_model, n_heads in [(64, 8), (512, 8), (15, 3)]:
        counts = [
            sum(p.numel() for p in layer.parameters())
            for layer in (
                GroupedQueryAttention(d_model, n_heads), nn.MultiheadAttention(d_model, n_heads)
            )
        ]  # fmt: skip
        assert counts[0] == counts[1] == 4 * (d_model**2 + d_model)
