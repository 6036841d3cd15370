"""Positions as binary numbers: the second proposal of lecture 004."""

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.attention.positions.dtypes import real_dtype
from softlookup.checks import Count, Size, checked, require

_LONGEST = 62  # bits of a non-negative int64 that a shift can reach


@checked
def bit_positions(
    n: Count, n_bits: Size, *, dtype: torch.dtype | None = None
) -> Float[Tensor, "{n} {n_bits}"]:
    r"""One row for each position: its bits, the lowest first; $\lfloor t/2^j \rfloor \bmod 2$.

    Args:
        n: The number of positions, at most $2^{n\_bits}$.
        n_bits: The number of columns.
        dtype: The type of the result; torch's default if left out.

    Returns:
        Zeros and ones. Column $j$ has the period $2^{j+1}$, and no two rows are equal.

    Raises:
        ValueError: ``n`` is no integer of at least 0, ``n_bits`` none of at least 1, there are
            more positions than patterns, or ``dtype`` holds no real numbers.

    Source: lecture 004, "Bits as Position Encoding". Chapter: positions#bits.

    Example:
        >>> bit_positions(4, 3)
        tensor([[0., 0., 0.],
                [1., 0., 0.],
                [0., 1., 0.],
                [1., 1., 0.]])
    """
    require(n <= 2**n_bits, "n must be at most 2**n_bits", n=n, n_bits=n_bits)
    columns = torch.arange(n_bits)
    bits = (torch.arange(n).unsqueeze(-1) >> columns.clamp(max=_LONGEST)) & 1
    return bits.to(real_dtype(dtype))
