"""The same numbers from independent implementations: PyTorch's attention, SciPy's softmax."""

import pytest
import scipy.spatial.distance
import scipy.special
import scipy.stats
import sklearn.metrics
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from softlookup import ops
from softlookup.attention import Attention, attention, attention_scores, attention_weights
from softlookup.masks import causal_mask, padding_mask, window_mask

EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture
def qkv(generator):
    shapes = [(2, 5, 3), (2, 7, 3), (2, 7, 11)]
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


@pytest.fixture
def mask(generator):
    mask = torch.rand(2, 5, 7, generator=generator) < 0.5
    mask[..., 0] = True
    return mask


# scaled_dot_product_attention


def test_attention_is_scaled_dot_product_attention(qkv):
    assert_close(attention(*qkv), F.scaled_dot_product_attention(*qkv), **EXACT)


def test_attention_has_the_mask_convention_of_scaled_dot_product_attention(qkv, mask):
    expected = F.scaled_dot_product_attention(*qkv, attn_mask=mask)
    assert_close(attention(*qkv, mask), expected, **EXACT)


def test_attention_has_its_empty_rows_too(qkv, mask):
    mask[1, 3] = False
    expected = F.scaled_dot_product_attention(*qkv, attn_mask=mask)
    assert expected[1, 3].eq(0).all()
    assert_close(attention(*qkv, mask), expected, **EXACT)


def test_causal_mask_is_is_causal(qkv):
    query, key, value = qkv[0], qkv[1][:, :5], qkv[2][:, :5]
    expected = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    assert_close(attention(query, key, value, causal_mask(5)), expected, **EXACT)


def test_causal_mask_of_last_queries_is_the_end_of_the_whole_pass(qkv):
    """Where PyTorch's `is_causal` aligns to the start, ours aligns to the end: as with a cache."""
    _, key, value = qkv
    whole = F.scaled_dot_product_attention(key, key, value, is_causal=True)
    last = attention(key[:, -3:], key, value, causal_mask(3, 7))
    assert_close(last, whole[:, -3:], **EXACT)


def test_additive_mask_of_lecture_003_gives_the_same_weights(qkv, mask):
    additive = torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -torch.inf)
    expected = torch.softmax(attention_scores(*qkv[:2]) + additive, dim=-1)
    assert_close(attention_weights(*qkv[:2], mask), expected, **EXACT)


def test_scores_are_pytorch_s_product_over_the_root_of_the_width(qkv):
    query, key, _ = qkv
    expected = torch.einsum("bik,bjk->bij", query, key)
    assert_close(attention_scores(query, key, scale=False), expected, **EXACT)
    assert_close(attention_scores(query, key), expected / 3**0.5, **EXACT)


def test_gradients_are_those_of_scaled_dot_product_attention(qkv, mask):
    ours = [x.clone().requires_grad_() for x in qkv]
    theirs = [x.clone().requires_grad_() for x in qkv]
    attention(*ours, mask).square().sum().backward()
    F.scaled_dot_product_attention(*theirs, attn_mask=mask).square().sum().backward()
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a.grad, b.grad, rtol=1e-10, atol=1e-12)


# nn.MultiheadAttention with one head


def one_head_with_the_weights_of(head, *, d_context):
    """PyTorch's module keeps d_k = d_v = d_model, and its W^O is set to the identity."""
    d_model = head.W_Q.in_features
    torch_head = nn.MultiheadAttention(
        d_model,
        1,
        kdim=d_context,
        vdim=d_context,
        bias=False,
        batch_first=True,
        dtype=torch.float64,
    )
    with torch.no_grad():
        if torch_head.in_proj_weight is None:
            torch_head.q_proj_weight.copy_(head.W_Q.weight)
            torch_head.k_proj_weight.copy_(head.W_K.weight)
            torch_head.v_proj_weight.copy_(head.W_V.weight)
        else:
            rows = [head.W_Q.weight, head.W_K.weight, head.W_V.weight]
            torch_head.in_proj_weight.copy_(torch.cat(rows))
        torch_head.out_proj.weight.copy_(torch.eye(d_model))
    return torch_head


def weights_of(head, *inputs, **options):
    """What the probe saw: the attention weights of one forward pass, and the output."""
    seen = []
    handle = head.weights.register_forward_hook(lambda module, args, result: seen.append(result))
    out = head(*inputs, **options)
    handle.remove()
    return out, seen[0]


def test_self_attention_is_multihead_attention_with_one_head(generator):
    """PyTorch's module means the opposite by its boolean mask: True = may *not* read."""
    torch.manual_seed(5)
    head = Attention(5, 5, 5).double()
    torch_head = one_head_with_the_weights_of(head, d_context=5)
    x = torch.randn(2, 7, 5, dtype=torch.float64, generator=generator)
    mask = causal_mask(7) & window_mask(7, 2)
    out, weights = weights_of(head, x, mask=mask)
    torch_out, torch_weights = torch_head(x, x, x, attn_mask=~mask)
    assert_close(out, torch_out, **EXACT)
    assert_close(weights, torch_weights, **EXACT)


def test_cross_attention_is_multihead_attention_with_one_head(generator):
    torch.manual_seed(5)
    head = Attention(5, 5, 5, d_context=3).double()
    torch_head = one_head_with_the_weights_of(head, d_context=3)
    x = torch.randn(2, 7, 5, dtype=torch.float64, generator=generator)
    context = torch.randn(2, 11, 3, dtype=torch.float64, generator=generator)
    mask = padding_mask([11, 4], 11)
    out, weights = weights_of(head, x, context, mask)
    padding = ~mask.squeeze(1)
    torch_out, torch_weights = torch_head(x, context, context, key_padding_mask=padding)
    assert_close(out, torch_out, **EXACT)
    assert_close(weights, torch_weights, **EXACT)


def test_biases_are_those_of_multihead_attention(generator):
    torch.manual_seed(5)
    head = Attention(5, 5, 5, bias=True).double()
    torch_head = nn.MultiheadAttention(5, 1, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        layers = [head.W_Q, head.W_K, head.W_V]
        torch_head.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
        torch_head.in_proj_bias.copy_(torch.cat([layer.bias for layer in layers]))
        torch_head.out_proj.weight.copy_(torch.eye(5))
        torch_head.out_proj.bias.zero_()
    x = torch.randn(2, 7, 5, dtype=torch.float64, generator=generator)
    assert_close(head(x), torch_head(x, x, x)[0], **EXACT)


# the operations


@pytest.mark.parametrize("temperature", [0.1, 1.0, 7.0])
def test_softmax_is_scipy_s_and_pytorch_s(generator, temperature):
    scores = 30 * torch.randn(3, 5, dtype=torch.float64, generator=generator)
    result = ops.softmax(scores, temperature=temperature)
    expected = scipy.special.softmax(scores.numpy() / temperature, axis=-1)
    assert_close(result, torch.from_numpy(expected), **EXACT)
    assert_close(result, torch.softmax(scores / temperature, dim=-1), **EXACT)


def test_sigmoid_is_scipy_s(generator):
    x = 100 * torch.randn(3, 5, dtype=torch.float64, generator=generator)
    expected = torch.from_numpy(scipy.special.expit(x.numpy()))
    assert_close(ops.sigmoid(x), expected, rtol=1e-12, atol=0)


def test_cosine_similarity_is_scikit_learn_s_and_one_minus_scipy_s_distance(generator):
    x = torch.randn(3, 7, dtype=torch.float64, generator=generator)
    y = torch.randn(5, 7, dtype=torch.float64, generator=generator)
    result = ops.cosine_similarity(x[:, None], y[None])
    expected = torch.from_numpy(sklearn.metrics.pairwise.cosine_similarity(x, y))
    assert_close(result, expected, **EXACT)
    distance = scipy.spatial.distance.cdist(x, y, metric="cosine")
    assert_close(result, torch.from_numpy(1 - distance), **EXACT)


def test_entropy_is_scipy_s(generator):
    weights = torch.randn(3, 5, dtype=torch.float64, generator=generator).softmax(dim=-1)
    expected = torch.from_numpy(scipy.stats.entropy(weights.numpy(), axis=-1))
    assert_close(ops.entropy(weights), expected, **EXACT)


def test_cross_entropy_is_pytorch_s_and_scikit_learn_s(generator):
    scores = 5 * torch.randn(11, 5, dtype=torch.float64, generator=generator)
    targets = torch.randint(5, (11,), generator=generator)
    result = ops.cross_entropy(scores, targets)
    assert_close(result, F.cross_entropy(scores, targets), **EXACT)
    probabilities = scores.softmax(dim=-1).numpy()
    expected = sklearn.metrics.log_loss(targets, probabilities, labels=range(5))
    assert result.item() == pytest.approx(expected, rel=1e-9)
