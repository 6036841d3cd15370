"""Muon: its iteration against an explicit singular value decomposition, its step by hand."""

import re

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from softlookup.training import EXACT, QUICK, Muon, orthogonalize

shapes = pytest.mark.parametrize("shape", [(5, 7), (7, 5), (5, 5), (3, 5, 7), (3, 7, 5)])


def iterated(x, coefficients, n_rounds):
    """The same by the decomposition: only the singular values change."""
    a, b, c = coefficients
    U, s, Vh = torch.linalg.svd(x, full_matrices=False)
    s = s / s.square().sum(-1, keepdim=True).sqrt()
    for _ in range(n_rounds):
        s = a * s + b * s**3 + c * s**5
    return U @ torch.diag_embed(s) @ Vh


@shapes
@pytest.mark.parametrize("n_rounds", [1, 5])
def test_each_round_maps_the_singular_values_and_nothing_else(generator, shape, n_rounds):
    x = torch.randn(shape, dtype=torch.float64, generator=generator)
    assert_close(orthogonalize(x, n_rounds=n_rounds), iterated(x, QUICK, n_rounds))


@shapes
def test_the_exact_iteration_ends_at_the_orthogonal_factor(generator, shape):
    x = torch.randn(shape, dtype=torch.float64, generator=generator)
    U, _, Vh = torch.linalg.svd(x, full_matrices=False)
    assert_close(orthogonalize(x, n_rounds=23, coefficients=EXACT), U @ Vh)


def test_five_quick_rounds_bring_singular_values_near_one(generator):
    """From a hundredth of the norm to all of it: between 0.68 and 1.21."""
    U = torch.linalg.qr(torch.randn(17, 17, dtype=torch.float64, generator=generator)).Q
    V = torch.linalg.qr(torch.randn(17, 17, dtype=torch.float64, generator=generator)).Q
    s = torch.logspace(-2, 0, 17, dtype=torch.float64)
    s[-1] = (1 - s[:-1].square().sum() / s.square().sum()).sqrt()
    out = orthogonalize(U @ torch.diag(s) @ V.T)
    found = torch.linalg.svdvals(out)
    assert 0.6 < found.min() < found.max() < 1.25


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_dtype_is_kept_and_the_input_too(generator, dtype):
    x = torch.randn(5, 7, generator=generator).to(dtype)
    before = x.clone()
    out = orthogonalize(x)
    assert out.dtype == dtype
    assert torch.equal(x, before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_matrix_of_zeros_stays_zero(dtype):
    assert torch.equal(
        orthogonalize(torch.zeros(5, 7, dtype=dtype)), torch.zeros(5, 7, dtype=dtype)
    )


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize("shape", [(5, 7), (7, 5)])
def test_three_steps_by_hand(generator, nesterov, shape):
    """Momentum, look-ahead, decay apart from the gradient, the factor of matrices that widen."""
    start = torch.randn(shape, dtype=torch.float64, generator=generator)
    grads = torch.randn(3, *shape, dtype=torch.float64, generator=generator)
    weight = nn.Parameter(start.clone())
    options = {"lr": 0.3, "momentum": 0.8, "nesterov": nesterov, "weight_decay": 0.2}
    optimizer = Muon([weight], **options)
    by_hand, buffer = start, torch.zeros(shape, dtype=torch.float64)
    stretch = max(1.0, shape[0] / shape[1]) ** 0.5
    for grad in grads:
        weight.grad = grad.clone()
        optimizer.step()
        buffer = 0.8 * buffer + 0.2 * grad
        ahead = 0.8 * buffer + 0.2 * grad if nesterov else buffer
        by_hand = (1 - 0.3 * 0.2) * by_hand - 0.3 * stretch * iterated(ahead, QUICK, 5)
        assert_close(weight.detach(), by_hand)
        assert torch.equal(weight.grad, grad)


def test_the_rounds_in_half_precision(generator):
    """The weights keep their dtype; only the rounds are rounded."""
    start, grad = torch.randn(2, 5, 7, generator=generator)
    steps = {}
    for precision in (None, torch.bfloat16):
        weight = nn.Parameter(start.clone())
        weight.grad = grad
        Muon([weight], lr=0.1, precision=precision).step()
        assert weight.dtype == torch.float32
        steps[precision] = weight.detach()
    assert_close(steps[torch.bfloat16], steps[None], rtol=0.0, atol=0.01)
    assert not torch.equal(steps[torch.bfloat16], steps[None])


def test_matrices_of_one_shape_do_not_mix(generator):
    """They go through the rounds side by side, and give what each gives alone."""
    start = torch.randn(3, 5, 7, dtype=torch.float64, generator=generator)
    grads = torch.randn(3, 5, 7, dtype=torch.float64, generator=generator)

    def stepped(indices):
        weights = [nn.Parameter(start[i].clone()) for i in indices]
        for weight, i in zip(weights, indices, strict=True):
            weight.grad = grads[i]
        Muon(weights, lr=0.1).step()
        return [weight.detach() for weight in weights]

    together = stepped([0, 1, 2])
    assert_close(together, [stepped([i])[0] for i in range(3)])


def test_a_matrix_without_a_gradient_is_left_alone():
    weights = [nn.Parameter(torch.eye(3)), nn.Parameter(torch.eye(3))]
    optimizer = Muon(weights, lr=0.1, weight_decay=0.5)
    weights[0].grad = torch.ones(3, 3)
    optimizer.step()
    assert torch.equal(weights[1].detach(), torch.eye(3))
    assert not torch.equal(weights[0].detach(), torch.eye(3))


def test_groups_have_options_of_their_own_and_a_closure_is_called():
    weights = [nn.Parameter(torch.zeros(2, 2)), nn.Parameter(torch.zeros(2, 2))]
    groups = [{"params": weights[0], "lr": 1.0}, {"params": weights[1:]}]
    optimizer = Muon(groups, lr=0.5, n_rounds=3)

    def closure():
        loss = sum((weight - torch.eye(2)).sum() for weight in weights)
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == -4.0
    assert_close(weights[0].detach(), 2 * weights[1].detach())


def test_muon_refuses_what_is_no_matrix():
    with pytest.raises(ValueError, match=re.escape("Muon is for matrices; got parameter=(3,)")):
        Muon(nn.Linear(2, 3).parameters())
