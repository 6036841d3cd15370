"""Pairs of columns, one clock hand each: how fast they turn, and where they stand in a row."""

import math
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import Count, Range, checked, require
from softlookup.ops import in_float64

Width = Annotated[int, Range(2)]
"""How many columns a row has; it must be even, for they come in pairs."""

Base = Annotated[float, Range(1, above=True)]
"""The $b$ at which the frequencies fall."""


@checked
def frequencies(d_model: Width, *, base: Base = 10000.0) -> Float[Tensor, "pairs"]:
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
    require_pairs(d_model=d_model)
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    return base**-exponents


@checked
def period(pair: Count, d_model: Width, *, base: Base = 10000.0) -> float:
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
    require_pairs(d_model=d_model)
    require(pair < d_model // 2, "pair must be less than d_model / 2", pair=pair, d_model=d_model)
    return 2 * math.pi * base ** (2 * pair / d_model)


@checked
def pairing_permutation(d_model: Width) -> Int[Tensor, "d_model"]:
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
    Encoding" (the formula). Chapter: positions#optional-two-layouts.

    Example:
        >>> pairing_permutation(6).tolist()
        [0, 2, 4, 1, 3, 5]
    """
    require_pairs(d_model=d_model)
    return torch.arange(d_model).reshape(-1, 2).mT.flatten()


@checked
def angles_at(
    positions: Annotated[Int[Tensor, "*batch"], Range(0)], d_model: Width, *, base: Base = 10000.0
) -> Tensor:
    r"""How far each pair of each position is turned: $\omega_i t$, in float64.

    Args:
        positions: $t$, integers from 0.
        d_model: The number of columns, even.
        base: $b > 1$ in ``frequencies``.

    Returns:
        Angles in radians (..., pairs), on the CPU where the device has no float64.

    Raises:
        ValueError: A position is negative, ``positions`` are no integers, or as ``frequencies``.

    Source: Vaswani et al. 2017, section 3.5. Chapter: positions#sinusoids.

    Example:
        >>> angles_at(torch.tensor([0, 3]), 4, base=100.0).tolist()
        [[0.0, 0.0], [3.0, 0.30000000000000004]]
    """
    positions = in_float64(positions)
    return positions.unsqueeze(-1) * frequencies(d_model, base=base).to(positions.device)


@checked
def split_pairs(
    rows: Float[Tensor, "*batch n"], neighbours: bool
) -> tuple[Float[Tensor, "*batch pairs"], Float[Tensor, "*batch pairs"]]:
    """The first and the second column of each pair.

    Args:
        rows: Rows with an even number of columns.
        neighbours: Whether a pair stands in columns $2i$ and $2i + 1$; else $i$ and $i + n/2$.

    Returns:
        All first columns, and all second ones.

    Raises:
        ValueError: The number of columns is odd.

    Source: Su et al. 2021, section 3.2.2. Chapter: positions#rotary-positions.

    Example:
        >>> split_pairs(torch.tensor([1.0, 2.0, 3.0, 4.0]), neighbours=True)
        (tensor([1., 3.]), tensor([2., 4.]))
    """
    require(rows.shape[-1] % 2 == 0, "rows must have an even number of columns", rows=rows)
    return rows.unflatten(-1, (-1, 2)).unbind(-1) if neighbours else rows.chunk(2, dim=-1)


@checked
def join_pairs(
    first: Float[Tensor, "*batch pairs"], second: Float[Tensor, "*batch pairs"], neighbours: bool
) -> Float[Tensor, "*batch n"]:
    """The rows that ``split_pairs`` takes apart.

    Args:
        first: The first column of each pair.
        second: The second one.
        neighbours: As in ``split_pairs``.

    Returns:
        Rows of twice as many columns.

    Raises:
        ValueError: The shapes or the dtypes differ.

    Source: Su et al. 2021, section 3.2.2. Chapter: positions#rotary-positions.

    Example:
        >>> join_pairs(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 4.0]), neighbours=True)
        tensor([1., 2., 3., 4.])
    """
    if neighbours:
        return torch.stack([first, second], dim=-1).flatten(-2)
    return torch.cat([first, second], dim=-1)


def require_pairs(**widths: int) -> None:
    """Raise a ``ValueError`` unless each of ``widths`` is even.

    Args:
        widths: What the caller passed, by name.

    Raises:
        ValueError: One of them is odd.

    Example:
        >>> require_pairs(d_k=3)
        Traceback (most recent call last):
        ValueError: d_k must be even: two columns to a frequency; got d_k=3
    """
    for name, width in widths.items():
        require(width % 2 == 0, f"{name} must be even: two columns to a frequency", **{name: width})
