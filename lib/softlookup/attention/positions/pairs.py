"""Pairs of columns, one clock hand each: how fast they turn, and where they stand in a row."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.attention.positions.input_checks import require_width
from softlookup.checks import require, require_int
from softlookup.ops import in_float64


def frequencies(d_model: int, *, base: float = 10000.0) -> Float[Tensor, "pairs"]:
    r"""How far each pair turns from one position to the next: $\omega_i = b^{-2i/d_{model}}$.

    Args:
        d_model: The number of columns, even. Pair $i$ is a count of *pairs*, from 0 to
            $d_{model}/2 - 1$, not of columns.
        base: $b > 1$. The larger, the slower the last pairs.

    Returns:
        Angles in radians, in float64. They fall from 1 by the same factor from pair to pair.

    Raises:
        ValueError: ``d_model`` is no even integer of at least 2, or ``base`` is not above 1.

    Source: Vaswani et al. 2017, section 3.5; lecture 003, "Positional Encoding".
    Chapter: positions#sinusoids.

    Example:
        >>> frequencies(4, base=100.0).tolist()
        [1.0, 0.1]
    """
    require_width("d_model", d_model, base)
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    return base**-exponents


def period(pair: int, d_model: int, *, base: float = 10000.0) -> float:
    r"""After how many positions a pair is back where it was: $2\pi/\omega_i = 2\pi\,b^{2i/d}$.

    Args:
        pair: $i$, from 0 to $d_{model}/2 - 1$.
        d_model: The number of columns, even.
        base: $b > 1$.

    Returns:
        The period in positions, no whole number: the integers never quite repeat.

    Raises:
        ValueError: There is no such pair, or as ``frequencies``.

    Source: Vaswani et al. 2017, section 3.5; lecture 003, "Positional Encoding Dimension
    Dependency". Chapter: positions#fast-and-slow.

    Example:
        >>> round(period(1, 4, base=100.0), 4) == round(20 * math.pi, 4)
        True
    """
    require_width("d_model", d_model, base)
    require_int(0, pair=pair)
    require(pair < d_model // 2, "pair must be less than d_model / 2", pair=pair, d_model=d_model)
    return 2 * math.pi * base ** (2 * pair / d_model)


def pairing_permutation(d_model: int) -> Int[Tensor, "d_model"]:
    """The order of columns that puts the first of each pair in the left half of a row.

    Neighbours become halves: columns 0, 2, 4, ..., then 1, 3, 5, .... ``argsort`` leads back. The
    same order joins the two layouts of ``sinusoidal`` and the two pairings of ``Rotary``.

    Args:
        d_model: The number of columns, even.

    Returns:
        The columns to take: ``rows[..., pairing_permutation(d_model)]``.

    Raises:
        ValueError: ``d_model`` is no even integer of at least 2.

    Source: lecture 000, "Positional Encoding" (the figure) against lecture 003, "Positional
    Encoding" (the formula). Chapter: positions#two-layouts.

    Example:
        >>> pairing_permutation(6).tolist()
        [0, 2, 4, 1, 3, 5]
    """
    require_width("d_model", d_model, base=2.0)
    return torch.arange(d_model).reshape(-1, 2).mT.flatten()


def angles_at(positions: Tensor, omega: Tensor) -> Tensor:
    """How far each pair of each position is turned, in float64."""
    positions = in_float64(positions)
    return positions.unsqueeze(-1) * omega.to(positions.device)


def split_pairs(rows: Tensor, neighbours: bool) -> tuple[Tensor, Tensor]:
    """The first and the second column of each pair."""
    return rows.unflatten(-1, (-1, 2)).unbind(-1) if neighbours else rows.chunk(2, dim=-1)


def join_pairs(first: Tensor, second: Tensor, neighbours: bool) -> Tensor:
    """The rows that ``split_pairs`` takes apart."""
    if neighbours:
        return torch.stack([first, second], dim=-1).flatten(-2)
    return torch.cat([first, second], dim=-1)
