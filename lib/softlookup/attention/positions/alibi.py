"""ALiBi (Press et al. 2022): no position code at all, but a price on distance in the scores."""

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.attention.positions.dtypes import real_dtype
from softlookup.checks import Count, Size, checked, require


@checked
def alibi_slopes(n_heads: Size, *, dtype: torch.dtype | None = None) -> Float[Tensor, "{n_heads}"]:
    r"""What one step of distance costs in each head: $m_h = 2^{-8(h+1)/H}$ for $H = 2^k$ heads.

    Another number of heads takes the slopes of the power of two below it, and fills up with every
    second one, from the first, of the power of two above it, as the paper's program does.

    Args:
        n_heads: $H$.
        dtype: The type of the result; torch's default if left out.

    Returns:
        Positive and distinct. For a power of two they fall from $2^{-8/H}$ to $2^{-8}$, each the
        same share of the one before.

    Raises:
        ValueError: ``n_heads`` is no integer of at least 1, or ``dtype`` holds no real numbers.

    Source: Press et al. 2022, section 3. Chapter: positions#alibi.

    Example:
        >>> alibi_slopes(4).tolist()
        [0.25, 0.0625, 0.015625, 0.00390625]
    """
    below = 2 ** (n_heads.bit_length() - 1)
    slopes = torch.cat([_geometric(below), _geometric(2 * below)[::2]])
    return slopes[:n_heads].to(real_dtype(dtype))


@checked
def alibi_bias(
    n_heads: Size, n_q: Count, n_k: Count | None = None, *, dtype: torch.dtype | None = None
) -> Float[Tensor, "{n_heads} {n_q} n_k"]:
    r"""What is added to the scores of each head: $-m_h\,|i - j|$.

    It is symmetric: a key one step ahead costs as much as one a step behind. Under a causal mask
    only the past half has any effect, and that is the paper's model.

    Args:
        n_heads: $H$.
        n_q: The number of queries.
        n_k: The number of keys; ``n_q`` if left out. Where there are more keys than queries, the
            queries are the *last* positions, as in ``causal_mask``.
        dtype: The type of the result; torch's default if left out.

    Returns:
        At most 0, and 0 only where query and key stand at the same place.

    Raises:
        ValueError: ``n_heads`` is no integer of at least 1, ``n_q`` none of at least 0, ``n_k``
            none of at least ``n_q``, or ``dtype`` holds no real numbers.

    Source: Press et al. 2022, section 3. Chapter: positions#alibi.

    Example:
        >>> alibi_bias(8, 1, 3)[0]
        tensor([[-1.0000, -0.5000,  0.0000]])
    """
    n_k = n_q if n_k is None else n_k
    require(n_k >= n_q, "n_k must be at least n_q", n_q=n_q, n_k=n_k)
    query_position = torch.arange(n_k - n_q, n_k).unsqueeze(-1)
    distance = (query_position - torch.arange(n_k)).abs()
    slopes = alibi_slopes(n_heads, dtype=torch.float64)
    return (slopes[:, None, None] * -distance).to(real_dtype(dtype))


def _geometric(n_heads: int) -> Tensor:
    """The slopes for a power of two."""
    return 2 ** (-8 * torch.arange(1, n_heads + 1, dtype=torch.float64) / n_heads)
