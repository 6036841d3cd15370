"""Additive and multiplicative attention: loops over pairs, masks, what is read, bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention import (
    AdditiveAttention,
    MultiplicativeAttention,
    additive_scores,
    attention_weights,
)
from softlookup.ops import softmax


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture
def query(generator):
    return torch.randn(11, 5, 3, dtype=torch.float64, generator=generator)


@pytest.fixture
def context(generator):
    return torch.randn(11, 7, 2, dtype=torch.float64, generator=generator)


@pytest.fixture
def mask(generator):
    """Random, with one query that may read nothing and one word that no query may read."""
    mask = torch.rand(11, 5, 7, generator=generator) < 0.6
    mask[:, 2] = False
    mask[:, :, 4] = False
    return mask


@pytest.fixture
def weights(generator):
    shapes = {"W_q": (13, 3), "W_k": (13, 2), "v": (13,)}
    return {name: torch.randn(shape, dtype=torch.float64, generator=generator)
            for name, shape in shapes.items()}  # fmt: skip


@pytest.fixture(params=["additive", "multiplicative"])
def attention(request):
    layer = (
        AdditiveAttention(3, 2, 13)
        if request.param == "additive"
        else MultiplicativeAttention(3, 2)
    )
    return layer.double()


def score_by_loops(q, k, W_q, W_k, v):
    total = 0.0
    for unit in range(len(v)):
        a = sum(w * x for w, x in zip(W_q[unit], q, strict=True))
        a += sum(w * x for w, x in zip(W_k[unit], k, strict=True))
        total += v[unit] * math.tanh(a)
    return total


def test_scores_equal_a_loop_over_units(query, context, weights):
    scores = additive_scores(query, context, **weights)
    lists = {name: tensor.tolist() for name, tensor in weights.items()}
    for b in (0, 10):
        for i, q in enumerate(query[b].tolist()):
            for j, k in enumerate(context[b].tolist()):
                expected = score_by_loops(q, k, **lists)
                assert scores[b, i, j].item() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_split_form_is_one_matrix_on_the_pair(query, context, weights):
    whole = torch.cat((weights["W_q"], weights["W_k"]), dim=1)
    pairs = torch.cat((query[:, :, None].expand(-1, -1, 7, -1),
                       context[:, None].expand(-1, 5, -1, -1)), dim=-1)  # fmt: skip
    expected = torch.tanh(pairs @ whole.mT) @ weights["v"]
    assert_close(additive_scores(query, context, **weights), expected)


def test_scores_are_bounded_by_v(query, context, weights):
    scores = additive_scores(1000 * query, 1000 * context, **weights)
    assert scores.abs().max() <= weights["v"].abs().sum()


def test_multiplicative_scores_are_a_bilinear_form(query, context):
    layer = MultiplicativeAttention(3, 2).double()
    expected = torch.einsum("biq,qk,bjk->bij", query, layer.W.weight, context)
    assert_close(layer.scores(query, context), expected)


def test_multiplicative_with_identity_is_unscaled_dot_product(query, generator):
    layer = MultiplicativeAttention(3, 3).double()
    torch.nn.init.eye_(layer.W.weight)
    key = torch.randn(11, 7, 3, dtype=torch.float64, generator=generator)
    expected = attention_weights(query, key, scale=False) @ key
    assert_close(layer(query, key), expected)


def test_output_is_softmax_of_the_scores_times_the_context(attention, query, context):
    weights = softmax(attention.scores(query, context))
    assert_close(attention(query, context), weights @ context)


def test_mask_leaves_out_what_may_not_be_read(attention, query, context, mask):
    out = attention(query, context, mask)
    scores = attention.scores(query, context)
    for b in range(11):
        for i in range(5):
            allowed = mask[b, i].nonzero().flatten()
            row = torch.zeros(2, dtype=torch.float64)
            if len(allowed):
                row = softmax(scores[b, i, allowed]) @ context[b, allowed]
            assert_close(out[b, i], row)


def test_probe_sees_the_weights(attention, query, context, mask):
    seen = []
    attention.weights.register_forward_hook(lambda module, inputs, output: seen.append(output))
    out = attention(query, context, mask)
    attention(query, context)
    assert_close(seen[0] @ context, out)
    assert_close(seen[0].sum(dim=-1), mask.any(dim=-1).double())
    assert seen[0][~mask].eq(0).all()
    assert_close(seen[1], softmax(attention.scores(query, context)))


@pytest.mark.parametrize("content", [math.nan, math.inf, 1e30])
def test_what_may_not_be_read_has_no_influence(attention, query, context, mask, content):
    """Neither on the output nor on any gradient, nor has a query that may read nothing."""
    results = []
    for filler in (0.0, content):
        q, c = query.clone(), context.clone()
        q[:, 2], c[:, 4] = filler, filler
        q, c = q.requires_grad_(), c.requires_grad_()
        out = attention(q, c, mask)
        gradients = torch.autograd.grad(out.square().sum(), (q, c, *attention.parameters()))
        results.append((out, *gradients))
    assert_close(results[1], results[0], rtol=0, atol=0)


def test_nothing_to_read_gives_zeros(attention, query):
    nothing = torch.zeros(11, 0, 2, dtype=torch.float64)
    for mask in None, torch.ones(11, 5, 0, dtype=torch.bool):
        out = attention(query, nothing, mask)
        assert out.equal(torch.zeros(11, 5, 2, dtype=torch.float64))


def test_gradients_are_finite_differences(attention, query, context, mask):
    query, context = query[:2].requires_grad_(), context[:2].requires_grad_()
    assert torch.autograd.gradcheck(lambda q, c: attention(q, c, mask[:2]), (query, context))


def test_every_weight_gets_a_gradient(attention, query, context):
    attention(query, context).square().sum().backward()
    assert all((parameter.grad != 0).any() for parameter in attention.parameters())


def test_shapes_of_the_weights():
    shapes = {name: tuple(p.shape) for name, p in AdditiveAttention(3, 2, 13).named_parameters()}
    assert shapes == {"v": (13,), "W_q.weight": (13, 3), "W_k.weight": (13, 2)}
    shapes = {name: tuple(p.shape) for name, p in MultiplicativeAttention(3, 2).named_parameters()}
    assert shapes == {"W.weight": (3, 2)}


# bad input
