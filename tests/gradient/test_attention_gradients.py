"""Derivatives: autograd against finite differences, and zero where nothing was read."""

import math

import pytest
import torch
from torch.autograd import gradcheck
from torch.func import functional_call
from torch.testing import assert_close

from softlookup.attention import Attention, attention, attention_weights
from softlookup.masks import causal_mask
from softlookup.ops import (
    cosine_similarity,
    cross_entropy,
    entropy,
    masked_softmax,
    sigmoid,
    softmax,
    softmax_jacobian,
)


def leaf(*shape, generator):
    return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture
def qkv(generator):
    return [leaf(*shape, generator=generator) for shape in [(2, 5, 3), (2, 7, 3), (2, 7, 11)]]


@pytest.fixture
def mask(generator):
    """Query 1 may read nothing, and nobody may read key 4."""
    mask = torch.rand(5, 7, generator=generator) < 0.7
    mask[1] = False
    mask[:, 4] = False
    return mask


# attention


def test_attention_with_respect_to_query_key_and_value(qkv, mask):
    assert gradcheck(attention, qkv)
    assert gradcheck(lambda q, k, v: attention(q, k, v, mask), qkv)


@pytest.mark.parametrize("scale", [True, False])
def test_weights_with_respect_to_query_and_key(qkv, mask, scale):
    assert gradcheck(lambda q, k: attention_weights(q, k, mask, scale=scale), qkv[:2])


@pytest.mark.parametrize("bias", [True, False])
def test_head_with_respect_to_its_projections_and_its_inputs(generator, mask, bias):
    head = Attention(2, 3, 11, d_context=13, bias=bias).double()
    names = list(dict(head.named_parameters()))
    x, context = leaf(5, 2, generator=generator), leaf(7, 13, generator=generator)

    def forward(x, context, *parameters):
        given = dict(zip(names, parameters, strict=True))
        return functional_call(head, given, (x, context, mask))

    assert gradcheck(forward, (x, context, *head.parameters()))


def test_every_projection_of_a_head_gets_a_gradient(generator):
    head = Attention(5, 3, 2).double()
    head(leaf(7, 5, generator=generator)).square().sum().backward()
    assert all((parameter.grad != 0).any() for parameter in head.parameters())


def test_causality_by_gradient(generator):
    """d out_t / d in_s is exactly 0 for s > t, and something else for s <= t."""
    head = Attention(5, 3, 2).double()
    x = torch.randn(7, 5, dtype=torch.float64, generator=generator)
    jacobian = torch.autograd.functional.jacobian(lambda x: head(x, mask=causal_mask(7)), x)
    reads = (jacobian != 0).any(dim=1).any(dim=-1)
    assert reads.equal(causal_mask(7))


def test_masked_pairs_get_a_gradient_of_exactly_zero(qkv, mask):
    query, key, value = qkv
    attention(query, key, value, mask).square().sum().backward()
    assert query.grad[:, 1].eq(0).all()
    assert key.grad[:, 4].eq(0).all()
    assert value.grad[:, 4].eq(0).all()
    assert all(grad.isfinite().all() for grad in (query.grad, key.grad, value.grad))


@pytest.mark.parametrize("content", [math.nan, math.inf, -math.inf, 1e30])
def test_unread_content_reaches_no_gradient(qkv, mask, content):
    """Neither in an unread key or value, nor in a query that may read nothing."""
    clean = torch.autograd.grad(attention(*qkv, mask).square().sum(), qkv)
    dirty = [x.detach().clone() for x in qkv]
    dirty[0][:, 1] = dirty[1][:, 4] = dirty[2][:, 4] = content
    dirty = [x.requires_grad_() for x in dirty]
    gradients = torch.autograd.grad(attention(*dirty, mask).square().sum(), dirty)
    assert_close(gradients, clean, rtol=0, atol=0)


@pytest.mark.parametrize("content", [math.nan, math.inf, 1e30])
def test_unread_content_reaches_no_projection(generator, mask, content):
    head = Attention(2, 3, 11, d_context=13, bias=True).double()
    x = torch.randn(5, 2, dtype=torch.float64, generator=generator)
    context = torch.randn(7, 13, dtype=torch.float64, generator=generator)
    clean = torch.autograd.grad(head(x, context, mask).square().sum(), list(head.parameters()))
    x[1] = context[4] = content
    dirty = torch.autograd.grad(head(x, context, mask).square().sum(), list(head.parameters()))
    assert_close(dirty, clean, rtol=0, atol=0)


# the operations


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_softmax(generator, temperature):
    scores = leaf(3, 5, generator=generator)
    assert gradcheck(lambda s: softmax(s, temperature=temperature), (scores,))
    assert torch.autograd.gradgradcheck(lambda s: softmax(s, temperature=temperature), (scores,))


def test_masked_softmax_and_its_empty_rows(qkv, mask, generator):
    scores = leaf(5, 7, generator=generator)
    assert gradcheck(lambda s: masked_softmax(s, mask), (scores,))
    masked_softmax(scores, mask).square().sum().backward()
    assert scores.grad[1].eq(0).all()
    assert scores.grad[~mask].eq(0).all()
    assert (scores.grad[0, mask[0]] != 0).all()


def test_masked_softmax_makes_no_nan_on_the_way_back(mask, generator):
    """Not even one that is thrown away later: PyTorch's anomaly detection would stop there."""
    scores = leaf(5, 7, generator=generator)
    with torch.autograd.set_detect_anomaly(True):
        masked_softmax(scores, mask).square().sum().backward()


@pytest.mark.parametrize("content", [math.nan, math.inf, -math.inf])
def test_masked_softmax_passes_no_gradient_through_what_is_masked(mask, content, generator):
    scores = leaf(5, 7, generator=generator).detach().masked_fill(~mask, content).requires_grad_()
    masked_softmax(scores, mask).square().sum().backward()
    assert scores.grad.isfinite().all()
    assert scores.grad[~mask].eq(0).all()


def test_softmax_jacobian_is_the_finite_difference_of_softmax(generator):
    scores = leaf(5, generator=generator).detach()
    step = 1e-6
    columns = [softmax(scores + step * e) - softmax(scores - step * e)
               for e in torch.eye(5, dtype=torch.float64)]  # fmt: skip
    expected = torch.stack(columns, dim=1) / (2 * step)
    assert_close(softmax_jacobian(softmax(scores)), expected, rtol=1e-7, atol=1e-9)


def test_softmax_jacobian_is_what_autograd_finds(generator):
    scores = leaf(2, 5, generator=generator).detach()
    for row in scores:
        expected = torch.autograd.functional.jacobian(softmax, row)
        assert_close(softmax_jacobian(softmax(row)), expected)


def test_softmax_jacobian_rows_sum_to_zero_and_it_is_symmetric(generator):
    jacobian = softmax_jacobian(softmax(leaf(2, 3, 5, generator=generator)))
    assert_close(jacobian.sum(dim=-1), torch.zeros(2, 3, 5, dtype=torch.float64))
    assert jacobian.equal(jacobian.mT)


def test_sigmoid_and_its_far_ends(generator):
    assert gradcheck(sigmoid, (leaf(3, 5, generator=generator),))
    x = torch.tensor([-1000.0, 0.0, 1000.0], dtype=torch.float64, requires_grad=True)
    sigmoid(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.25, 0.0]


def test_cosine_similarity(generator):
    x, y = leaf(3, 1, 7, generator=generator), leaf(5, 7, generator=generator)
    assert gradcheck(cosine_similarity, (x, y))


def test_entropy(generator):
    assert gradcheck(lambda s: entropy(softmax(s)), (leaf(3, 5, generator=generator),))


def test_cross_entropy_gradient_is_probability_minus_truth(generator):
    scores = leaf(3, 5, generator=generator)
    targets = torch.tensor([4, 0, 2])
    assert gradcheck(lambda s: cross_entropy(s, targets), (scores,))
    cross_entropy(scores, targets).backward()
    truth = torch.nn.functional.one_hot(targets, 5)
    assert_close(scores.grad, (softmax(scores) - truth) / 3)
