"""word2vec's gradients by hand, against finite differences and against autograd."""

import pytest
import torch
from torch.autograd import gradcheck
from torch.testing import assert_close

from softlookup.words.word2vec import (
    cbow_examples,
    cbow_loss,
    cbow_probabilities,
    negative_sampling_gradient,
    negative_sampling_loss,
    next_word_probabilities,
    skip_gram_gradient,
    skip_gram_loss,
)

VOCAB, D_MODEL, PAIRS, NEGATIVES = 7, 5, 11, 3


@pytest.fixture
def tables(generator):
    shape = VOCAB, D_MODEL
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)]


@pytest.fixture
def batch(generator):
    """Centres, contexts and negatives, with repetitions and with noise that is the truth."""
    centres, contexts = (torch.randint(VOCAB - 1, (PAIRS,), generator=generator) for _ in range(2))
    negatives = torch.randint(VOCAB, (PAIRS, NEGATIVES), generator=generator)
    negatives[0] = contexts[0]
    negatives[1] = negatives[1, 0]
    return centres, contexts, negatives


BY_HAND = {
    "softmax": (skip_gram_loss, skip_gram_gradient, 2),
    "negative sampling": (negative_sampling_loss, negative_sampling_gradient, 3),
}


def finite_differences(function, at, step=1e-5):
    """(f(at + step) - f(at - step)) / (2 step), one entry of ``at`` after the other."""
    slope = torch.zeros_like(at)
    for i in range(at.numel()):
        shift = torch.zeros_like(at)
        shift.view(-1)[i] = step
        slope.view(-1)[i] = (function(at + shift) - function(at - shift)) / (2 * step)
    return slope


@pytest.mark.parametrize("name", BY_HAND)
def test_gradient_against_finite_differences(name, tables, batch):
    loss, gradient, n = BY_HAND[name]
    U, U_context = tables
    by_U, by_context = gradient(U, U_context, *batch[:n])
    near_U = finite_differences(lambda table: loss(table, U_context, *batch[:n]), U)
    near_context = finite_differences(lambda table: loss(U, table, *batch[:n]), U_context)
    assert_close(by_U, near_U, rtol=0, atol=1e-6)
    assert_close(by_context, near_context, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_gradient_against_autograd(name, scale, tables, batch):
    loss, gradient, n = BY_HAND[name]
    tables = [scale * one for one in tables]
    by_hand = gradient(*tables, *batch[:n])
    leaves = [one.requires_grad_() for one in tables]
    by_autograd = torch.autograd.grad(loss(*leaves, *batch[:n]), leaves)
    assert_close(by_hand, by_autograd, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", BY_HAND)
def test_losses_pass_gradcheck(name, tables, batch):
    loss, _, n = BY_HAND[name]
    leaves = [one.requires_grad_() for one in tables]
    assert gradcheck(lambda U, U_context: loss(U, U_context, *batch[:n]), leaves)


@pytest.mark.parametrize("past_only", [False, True])
def test_cbow_passes_gradcheck(tables, past_only):
    contexts, mask, centres = cbow_examples(
        torch.tensor([3, 1, 4, 1, 5, 2]), 2, past_only=past_only
    )
    leaves = [one.requires_grad_() for one in tables]
    assert gradcheck(lambda *t: cbow_loss(*t, contexts, mask, centres), leaves)
    assert gradcheck(lambda *t: cbow_probabilities(*t, contexts, mask), leaves)


def test_probabilities_pass_gradcheck(tables, batch):
    leaves = [one.requires_grad_() for one in tables]
    assert gradcheck(lambda *t: next_word_probabilities(*t, batch[0], 3), leaves)


def test_the_gradient_at_the_centre_is_the_expected_context_less_the_true_one(tables):
    """The slide's formula: log p rises along v(x) less the mean of v under p."""
    U, U_context = tables
    w, x = 2, 5
    p = torch.softmax(U_context @ U[w], dim=0)
    by_U, _ = skip_gram_gradient(U, U_context, torch.tensor([w]), torch.tensor([x]))
    assert_close(-by_U[w], U_context[x] - p @ U_context)
    assert (by_U[torch.arange(VOCAB) != w] == 0).all()


def test_only_the_rows_of_a_pair_get_a_gradient_from_negative_sampling(tables):
    pair, noise = (torch.tensor([2]), torch.tensor([5])), torch.tensor([[1, 1, 5]])
    by_U, by_context = negative_sampling_gradient(*tables, *pair, noise)
    assert (by_U != 0).any(dim=1).nonzero().flatten().tolist() == [2]
    assert (by_context != 0).any(dim=1).nonzero().flatten().tolist() == [1, 5]


def test_what_is_masked_gets_no_gradient(tables):
    U, U_context = [one.requires_grad_() for one in tables]
    contexts = torch.tensor([[1, 6], [2, 3]])
    mask = torch.tensor([[True, False], [True, True]])
    cbow_loss(U, U_context, contexts, mask, torch.tensor([4, 5])).backward()
    assert (U.grad != 0).any(dim=1).nonzero().flatten().tolist() == [1, 2, 3]
