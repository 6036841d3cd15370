"""Sinusoidal position codes (Vaswani et al. 2017, section 3.5), and what a shift does to them."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.attention.positions.dtypes import real_dtype
from softlookup.attention.positions.pairs import (
    Base,
    Width,
    angles_at,
    frequencies,
    join_pairs,
    pairing_permutation,
)
from softlookup.checks import Count, Range, checked

Layout = Literal["interleaved", "concatenated"]


@checked
def sinusoidal(
    n: Count,
    d_model: Width,
    *,
    base: Base = 10000.0,
    layout: Layout = "interleaved",
    start: Count = 0,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "{n} {d_model}"]:
    r"""One row for each position: pair $i$ holds $\sin(\omega_i t)$ and $\cos(\omega_i t)$.

    Args:
        n: The number of positions.
        d_model: The number of columns, even.
        base: $b > 1$ in $\omega_i = b^{-2i/d_{model}}$.
        layout: "interleaved" puts the pair in columns $2i$ and $2i + 1$, as the formula does;
            "concatenated" puts all sines in the left half and all cosines in the right.
        start: The position of the first row.
        dtype: The type of the result; torch's default if left out. The angles are computed in
            float64, so that a position in the thousands loses no digits.

    Returns:
        Numbers from -1 to 1. The squared length of every row is $d_{model}/2$.

    Raises:
        ValueError: ``n`` or ``start`` is no integer of at least 0, ``d_model`` none that is even,
            ``base`` is not above 1, ``layout`` is unknown, or ``dtype`` holds no real numbers.

    Source: Vaswani et al. 2017, section 3.5; lectures 002, "Positional Encoding", 003, "Positional
    Encoding", and 004, "Sinusoidal Position Encoding". Chapter: positions#sinusoids.

    Example:
        >>> sinusoidal(3, 4, base=100.0)
        tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
                [ 0.8415,  0.5403,  0.0998,  0.9950],
                [ 0.9093, -0.4161,  0.1987,  0.9801]])
    """
    positions = torch.arange(start, start + n)
    return sinusoidal_at(positions, d_model, base=base, layout=layout, dtype=dtype)


@checked
def sinusoidal_at(
    positions: Annotated[Int[Tensor, "*batch"], Range(0)],
    d_model: Width,
    *,
    base: Base = 10000.0,
    layout: Layout = "interleaved",
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "*batch {d_model}"]:
    """The sinusoidal code of any positions, in any order.

    Args:
        positions: Integers from 0.
        d_model: The number of columns, even.
        base: As in ``sinusoidal``.
        layout: As in ``sinusoidal``.
        dtype: As in ``sinusoidal``.

    Returns:
        One row for each position: that of ``sinusoidal``.

    Raises:
        ValueError: A position is negative, ``positions`` are no integers, or as ``sinusoidal``.

    Source: lecture 003, "Positional Encoding" (the table of p0 to p3).
    Chapter: positions#sinusoids.

    Example:
        >>> sinusoidal_at(torch.tensor([2, 0]), 2)
        tensor([[ 0.9093, -0.4161],
                [ 0.0000,  1.0000]])
    """
    angles = angles_at(positions, d_model, base=base)
    rows = join_pairs(angles.sin(), angles.cos(), layout == "interleaved")
    return rows.to(positions.device, real_dtype(dtype))


@checked
def shift_rotation(
    offset: int,
    d_model: Width,
    *,
    base: Base = 10000.0,
    layout: Layout = "interleaved",
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "{d_model} {d_model}"]:
    r"""The matrix that moves every code by ``offset``: $PE(t + \Delta) = R(\Delta)\,PE(t)$.

    Each pair turns by its own angle $\omega_i\Delta$: on the diagonal stand the blocks
    $\begin{pmatrix}\cos\omega_i\Delta & \sin\omega_i\Delta\\
    -\sin\omega_i\Delta & \cos\omega_i\Delta\end{pmatrix}$.

    Args:
        offset: $\Delta$, any integer; below 0 it leads back.
        d_model: The number of columns, even.
        base: As in ``sinusoidal``.
        layout: As in ``sinusoidal``; the blocks follow the columns.
        dtype: The type of the result; torch's default if left out.

    Returns:
        The same matrix for every $t$, a rotation: $RR^\top = I$, $\det R = 1$,
        $R(a)R(b) = R(a + b)$. It acts on columns; for rows of codes write ``codes @ R.mT``.

    Raises:
        ValueError: ``offset`` is no integer, or as ``sinusoidal``.

    Source: Vaswani et al. 2017, section 3.5; lecture 004, "Sinusoidal Position Encoding".
    Chapter: positions#relative-positions.

    Example:
        >>> shift_rotation(1, 2) @ sinusoidal_at(torch.tensor(1), 2)
        tensor([ 0.9093, -0.4161])
    """
    angles = offset * frequencies(d_model, base=base)
    sines, cosines = angles.sin().diag(), angles.cos().diag()
    rotation = torch.cat([torch.cat([cosines, sines], 1), torch.cat([-sines, cosines], 1)])
    if layout == "interleaved":
        back = pairing_permutation(d_model).argsort()
        rotation = rotation[back][:, back]
    return rotation.to(real_dtype(dtype))
