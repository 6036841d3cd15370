"""Training against PyTorch: AdamW and Muon step by step, the cosine, and the norm of a gradient."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from softlookup.training import Muon, clip_gradients, decay_groups, warmup_cosine


@pytest.fixture
def model():
    torch.manual_seed(3)
    return nn.Sequential(nn.Embedding(7, 5), nn.LayerNorm(5), nn.Linear(5, 3)).double()


def adamw_by_hand(weight, grads, *, lr, betas, eps, weight_decay):
    """Loshchilov and Hutter 2019, algorithm 2: the decay does not pass through the moments."""
    mean, square = torch.zeros_like(weight), torch.zeros_like(weight)
    for t, grad in enumerate(grads, start=1):
        weight = weight * (1 - lr * weight_decay)
        mean = betas[0] * mean + (1 - betas[0]) * grad
        square = betas[1] * square + (1 - betas[1]) * grad**2
        unbiased = mean / (1 - betas[0] ** t), square / (1 - betas[1] ** t)
        weight = weight - lr * unbiased[0] / (unbiased[1].sqrt() + eps)
    return weight


def test_adamw_with_our_groups_by_hand(model, generator):
    """`decay_groups`: the one matrix decays, nothing else does, and each moves exactly once."""
    options = {"lr": 0.03, "betas": (0.8, 0.9), "eps": 1e-7}
    optimizer = torch.optim.AdamW(decay_groups(model, 0.3), **options)
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    grads = {
        name: torch.randn(4, *p.shape, dtype=torch.float64, generator=generator)
        for name, p in model.named_parameters()
    }
    for step in range(4):
        for name, p in model.named_parameters():
            p.grad = grads[name][step]
        optimizer.step()
    for name, p in model.named_parameters():
        decay = 0.3 if name == "2.weight" else 0.0
        expected = adamw_by_hand(start[name], grads[name], weight_decay=decay, **options)
        assert_close(p.detach(), expected)


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize("shape", [(5, 7), (7, 5)])
def test_muon_is_pytorchs(generator, nesterov, shape):
    """PyTorch's own iterates in bfloat16, ours in the dtype of the matrix."""
    start = torch.randn(shape, generator=generator)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    options = {"lr": 0.1, "momentum": 0.9, "nesterov": nesterov, "weight_decay": 0.3}
    peers = Muon([ours], **options), torch.optim.Muon([theirs], **options)
    for _ in range(3):
        ours.grad = torch.randn(shape, generator=generator)
        theirs.grad = ours.grad.clone()
        for peer in peers:
            peer.step()
    assert_close(ours.detach(), theirs.detach(), rtol=0.0, atol=0.01)


@pytest.mark.parametrize("last", [0.0, 0.1])
def test_the_cosine_is_pytorchs(last):
    weight = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 13, eta_min=last)
    for step in range(1, 14):
        optimizer.step()
        theirs.step()
        assert_close(warmup_cosine(step, n_steps=13, last=last), theirs.get_last_lr()[0])


@pytest.mark.parametrize("max_norm", [1.0, 1e9])
def test_clipping_is_pytorchs(model, generator, max_norm):
    """Theirs adds a millionth to the norm; at a norm of thousands that is below the tolerance."""
    for p in model.parameters():
        p.grad = 1000 * torch.randn(p.shape, dtype=torch.float64, generator=generator)
    before = [p.grad.clone() for p in model.parameters()]
    theirs = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    expected = [p.grad.clone() for p in model.parameters()]
    for p, grad in zip(model.parameters(), before, strict=True):
        p.grad = grad
    assert clip_gradients(model, max_norm) == pytest.approx(theirs.item(), rel=1e-12)
    assert_close([p.grad for p in model.parameters()], expected)
