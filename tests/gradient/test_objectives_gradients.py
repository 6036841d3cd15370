"""Gradients of the objectives against finite differences."""

import torch
from torch.autograd import gradcheck

from softlookup.language_models import masked_loss, next_token_loss, smoothed_cross_entropy


def test_next_token_loss(generator):
    scores = torch.randn(2, 5, 7, dtype=torch.float64, generator=generator, requires_grad=True)
    ids = torch.randint(7, (2, 5), generator=generator)
    assert gradcheck(lambda s: next_token_loss(s, ids, [5, 3]), scores)


def test_masked_loss(generator):
    scores = torch.randn(3, 5, 7, dtype=torch.float64, generator=generator, requires_grad=True)
    ids = torch.randint(7, (3, 5), generator=generator)
    chosen = torch.rand(3, 5, generator=generator) < 0.5
    assert gradcheck(lambda s: masked_loss(s, ids, chosen), scores)


def test_smoothed_cross_entropy(generator):
    scores = torch.randn(5, 7, dtype=torch.float64, generator=generator, requires_grad=True)
    ids = torch.randint(7, (5,), generator=generator)
    assert gradcheck(lambda s: smoothed_cross_entropy(s, ids, 0.1), scores)


def test_softmax_and_smoothed_loss_together_give_weights_minus_targets(generator):
    """The gradient by the scores is (p - q) / n, so a sure model is pulled back."""
    scores = torch.randn(5, 7, dtype=torch.float64, generator=generator, requires_grad=True)
    ids = torch.randint(7, (5,), generator=generator)
    smoothed_cross_entropy(scores, ids, 0.3).backward()
    targets = torch.full((5, 7), 0.3 / 7, dtype=torch.float64)
    targets[torch.arange(5), ids] += 0.7
    torch.testing.assert_close(scores.grad, (torch.softmax(scores, -1) - targets).detach() / 5)
