"""How differently two heads attend."""

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import checked, require


@checked
def head_distance(
    weights: Float[Tensor, "*batch heads n_q n_k"],
    *,
    measure: Literal["jensen-shannon", "total variation"] = "jensen-shannon",
) -> Float[Tensor, "heads heads"]:
    r"""How differently each two heads attend: the mean distance of their rows, from 0 to 1.

    Args:
        weights: The attention of each head, for one text or for several. Rows that are all zeros
            are left out.
        measure: ``"jensen-shannon"``: $\sqrt{(D(p \,\|\, m) + D(q \,\|\, m))/2}$ with
            $m = (p + q)/2$ and logarithms to base 2. ``"total variation"``: $\frac12\|p - q\|_1$,
            the share of the attention that one would have to move to get the other.

    Returns:
        A symmetric matrix with zeros on the diagonal: 0 where two heads attend alike everywhere, 1
        where they never read the same key.

    Raises:
        ValueError: The shape does not fit, ``measure`` is unknown, or no row is left.

    Source: Clark et al. 2019, section 6; lecture 004, "Multi-head Attention".
    Chapter: many_heads#optional-distances.

    Example:
        >>> weights = torch.tensor([[[1.0, 0.0]], [[0.5, 0.5]]])
        >>> head_distance(weights, measure="total variation")
        tensor([[0.0000, 0.5000],
                [0.5000, 0.0000]])
    """
    rows = weights.movedim(-3, 0).flatten(1, -2)
    rows = rows[:, (rows != 0).any(dim=-1).all(dim=0)]
    require(rows.shape[1] > 0, "there must be a row that is not all zeros", weights=weights)
    between = _jensen_shannon if measure == "jensen-shannon" else _total_variation
    distances = weights.new_zeros(len(rows), len(rows))
    for a in range(len(rows)):
        for b in range(a):
            distances[a, b] = distances[b, a] = between(rows[a], rows[b]).mean()
    return distances


def _total_variation(p: Tensor, q: Tensor) -> Tensor:
    return (p - q).abs().sum(dim=-1) / 2


def _jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """The root of the divergence in bits; rounding may take it just below 0."""
    mean = (p + q) / 2
    lost = _entropy(mean) - (_entropy(p) + _entropy(q)) / 2
    return (lost / math.log(2)).clamp(min=0).sqrt()


def _entropy(p: Tensor) -> Tensor:
    return -torch.xlogy(p, p).sum(dim=-1)
