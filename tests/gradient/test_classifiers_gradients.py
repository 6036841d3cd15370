"""The gradients by hand, against finite differences and against autograd."""

import pytest
import torch
from torch.testing import assert_close

from softlookup.words import (
    logistic_gradient,
    logistic_loss,
    logistic_probability,
    softmax_gradient,
    softmax_loss,
    softmax_probability,
)

N, FEATURES, CLASSES = 11, 7, 5


def model(kind, generator):
    """loss, gradient, weight, bias, x, y of one regression."""

    def random(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    if kind == "logistic":
        y = torch.randint(2, (N,), generator=generator)
        return logistic_loss, logistic_gradient, random(FEATURES), random(), random(N, FEATURES), y
    y = torch.randint(CLASSES, (N,), generator=generator)
    weight, bias = random(FEATURES, CLASSES), random(CLASSES)
    return softmax_loss, softmax_gradient, weight, bias, random(N, FEATURES), y


def finite_differences(function, at, step=1e-5):
    """(f(at + step) - f(at - step)) / (2 step), one entry of ``at`` after the other."""
    slope = torch.zeros_like(at)
    for i in range(at.numel()):
        shift = torch.zeros_like(at)
        shift.view(-1)[i] = step
        slope.view(-1)[i] = (function(at + shift) - function(at - shift)) / (2 * step)
    return slope


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["logistic", "softmax"])
def test_gradient_against_finite_differences(kind, l2, generator):
    loss, gradient, weight, bias, x, y = model(kind, generator)
    by_weight, by_bias = gradient(weight, bias, x, y, l2=l2)
    near_weight = finite_differences(lambda w: loss(w, bias, x, y, l2=l2), weight)
    near_bias = finite_differences(lambda b: loss(weight, b, x, y, l2=l2), bias)
    assert_close(by_weight, near_weight, rtol=0, atol=1e-6)
    assert_close(by_bias, near_bias, rtol=0, atol=1e-6)


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["logistic", "softmax"])
def test_gradient_against_autograd(kind, l2, generator):
    loss, gradient, weight, bias, x, y = model(kind, generator)
    by_hand = gradient(weight, bias, x, y, l2=l2)
    leaves = weight.requires_grad_(), bias.requires_grad_()
    by_autograd = torch.autograd.grad(loss(*leaves, x, y, l2=l2), leaves)
    assert_close(by_hand, by_autograd, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["logistic", "softmax"])
def test_losses_and_probabilities_pass_gradcheck(kind, generator):
    loss, _, weight, bias, x, y = model(kind, generator)
    probability = logistic_probability if kind == "logistic" else softmax_probability
    leaves = weight.requires_grad_(), bias.requires_grad_(), x.requires_grad_()
    assert torch.autograd.gradcheck(lambda w, b, x: loss(w, b, x, y, l2=0.3), leaves)
    assert torch.autograd.gradcheck(probability, leaves)


def test_large_scores_have_finite_gradients():
    weight = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros((), dtype=torch.float64)
    x = torch.tensor([[1e4], [-1e4]], dtype=torch.float64)
    logistic_loss(weight, bias, x, torch.tensor([0, 1])).backward()
    assert_close(weight.grad, torch.tensor([1e4], dtype=torch.float64))
