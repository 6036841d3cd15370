"""Gradients between the way back and the step: cut to a norm, or summed over parts of a batch."""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from softlookup.checks import checked, require

Batch = TypeVar("Batch")


@checked
def clip_gradients(model: nn.Module, max_norm: float) -> float:
    r"""Shorten the gradient to the length ``max_norm`` if it is longer; its direction stays.

    The length is *one* number for the whole model, $\|g\| = \sqrt{\sum_w g_w^2}$: all gradients are
    multiplied by the same factor.

    Args:
        model: The gradients of its parameters are changed in place; those without one are left.
        max_norm: The largest length allowed.

    Returns:
        The length before.

    Raises:
        ValueError: ``max_norm`` is not positive, there is no gradient at all, or one is not finite:
            then nothing is changed.

    Source: Pascanu et al. 2013, algorithm 1. Chapter: training#clipping.

    Example:
        >>> layer = nn.Linear(2, 1, bias=False)
        >>> layer(torch.tensor([[3.0, 4.0]])).sum().backward()
        >>> clip_gradients(layer, 1.0), layer.weight.grad
        (5.0, tensor([[0.6000, 0.8000]]))
    """
    require(max_norm > 0, "max_norm must be above 0", max_norm=max_norm)
    named = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    require(len(named) > 0, "there must be a gradient: call backward first")
    norm = torch.stack([_norm(grad) for grad in named.values()]).norm().item()
    if not math.isfinite(norm):
        wrong = [name for name, grad in named.items() if not math.isfinite(_norm(grad))]
        require(False, "the norm of the gradient must be finite", norm=norm, wrong=wrong[:5])
    if norm > max_norm:
        for grad in named.values():
            grad.mul_(max_norm / norm)
    return norm


@checked
def accumulate(
    loss_of_batch: Callable[[nn.Module, Batch], Tensor],
    model: nn.Module,
    parts: Sequence[Batch],
    *,
    count: Callable[[Batch], int],
) -> float:
    r"""Add up the gradient of one large batch, part by part: only one part is in memory at a time.

    A mean over the parts' means would be another loss wherever the parts differ in real tokens: a
    token of a short part would count for more. Each part's loss is therefore weighted by its share
    of the tokens, $\mathcal{L} = \sum_b \frac{n_b}{\sum n} \mathcal{L}_b$.

    Args:
        loss_of_batch: From the model and a part to the mean loss of the part's real tokens.
        model: Its gradients are added to, as by ``backward``.
        parts: The parts of the batch.
        count: How many tokens of a part are real: those that its loss is a mean of. A part with
            none is left out.

    Returns:
        The mean loss of all real tokens, that of the large batch.

    Raises:
        ValueError: No part has a real token, or a count is negative.

    Source: Ott et al. 2018, section 3.3, for parts that are too large together.
    Chapter: training#accumulation.

    Example:
        >>> layer = nn.Linear(1, 1, bias=False)
        >>> parts = [torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[8.0]])]
        >>> mean = lambda layer, part: layer(part).mean()
        >>> _ = accumulate(mean, layer, parts, count=lambda part: part.numel())
        >>> layer.weight.grad  # the mean of 1, 2, 3 and 8
        tensor([[3.5000]])
    """
    counts = [count(part) for part in parts]
    rule = "each count must be at least 0, and one at least 1"
    require(all(n >= 0 for n in counts) and sum(counts) > 0, rule, counts=counts)
    total = 0.0
    for part, n in zip(parts, counts, strict=True):
        if n > 0:
            loss = loss_of_batch(model, part) * (n / sum(counts))
            loss.backward()
            total += loss.item()
    return total


def _norm(grad: Tensor) -> Tensor:
    """In float32 at least: squares of half-precision numbers overflow."""
    return torch.linalg.vector_norm(grad, dtype=torch.promote_types(grad.dtype, torch.float32))
