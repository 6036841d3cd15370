"""Fewer pairs: a sliding window, computed along its band; masks with strides and of blocks."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from softlookup.attention.dot_product import attention
from softlookup.checks import Count, Size, checked, require
from softlookup.masks import causal_mask, dilated_mask, global_mask, window_mask


@checked
def sliding_mask(n: Size, width: Size) -> Bool[Tensor, "n n"]:
    """Each query reads itself and the ``width - 1`` keys before it: ``width`` keys, and no more.

    Args:
        n: The number of positions.
        width: $w$, how many keys a query reads; near the start there are fewer.

    Returns:
        True at $(i, j)$ where $i - w < j \\le i$. Row $i$ sees $\\min(i + 1, w)$ keys; for
        $w \\le n$, all rows together $nw - w(w-1)/2$.

    Raises:
        ValueError: ``n`` or ``width`` is no integer of at least 1.

    Source: Beltagy et al. 2020, section 3.1; lectures 000, "Modern Attention", and 003,
    "Computational Efficiency". Chapter: modern_attention#sliding-windows.

    Example:
        >>> sliding_mask(4, 2).int()
        tensor([[1, 0, 0, 0],
                [1, 1, 0, 0],
                [0, 1, 1, 0],
                [0, 0, 1, 1]], dtype=torch.int32)
    """
    return causal_mask(n) & window_mask(n, width - 1)


@checked(not_empty="d_k")
def window_attention(
    query: Float[Tensor, "*batch n d_k"],
    key: Float[Tensor, "*batch n d_k"],
    value: Float[Tensor, "*batch n d_v"],
    width: Size,
) -> Float[Tensor, "*batch n d_v"]:
    r"""Attention under the sliding mask, at a cost of $2nw$ scores instead of $n^2$.

    The positions are cut into blocks of $w$. No query reads further back than the block before its
    own, so each block of queries meets two blocks of keys and a mask of $w$ rows, $2w$ columns.
    What stands in other blocks never meets the query; the rest must be finite, as in ``attention``.

    Args:
        query: One row per position.
        key: One row per position.
        value: What is read: one row per position, of any width $d_v$.
        width: $w$, how many keys a query reads: itself and $w - 1$ before.

    Returns:
        The same as ``attention(query, key, value, sliding_mask(n, width))``.

    Raises:
        ValueError: ``width`` is no integer of at least 1, or shapes or dtypes do not fit.

    Source: Beltagy et al. 2020, section 3.1.
    Chapter: modern_attention#sliding-windows.

    Example:
        >>> ones, value = torch.ones(3, 4), torch.tensor([[2.0], [4.0], [8.0]])
        >>> window_attention(ones, ones, value, width=2)
        tensor([[2.],
                [3.],
                [6.]])
    """
    n = query.shape[-2]
    width = max(1, min(width, n))
    query, key, value = (_blocks(rows, width) for rows in (query, key, value))
    mask = _two_blocks_mask(query.shape[-3], width).to(query.device)
    out = attention(query, _with_block_before(key), _with_block_before(value), mask)
    return out.flatten(-3, -2)[..., :n, :]


@checked
def strided_mask(n: Size, stride: Size) -> Bool[Tensor, "n n"]:
    """Each query reads the last ``stride`` keys, and before them every ``stride``-th.

    Where the window ends, the stride takes over: two steps lead from any position to any later
    one, one along the stride and one inside the window. With $\\sqrt n$ as the stride, a query
    reads about $2\\sqrt n$ keys at most.

    Args:
        n: The number of positions.
        stride: $r$, the width of the window and the distance from one far key to the next.

    Returns:
        True at $(i, j)$ where $j \\le i$, and $i - j$ is less than $r$ or one of $r$, $2r$, $3r$...

    Raises:
        ValueError: ``n`` or ``stride`` is no integer of at least 1.

    Source: Child et al. 2019, section 4.3; lecture 003, "Computational Efficiency".
    Chapter: modern_attention#optional-block-sparse-masks.

    Example:
        >>> strided_mask(5, 2).int()
        tensor([[1, 0, 0, 0, 0],
                [1, 1, 0, 0, 0],
                [1, 1, 1, 0, 0],
                [0, 1, 1, 1, 0],
                [1, 0, 1, 1, 1]], dtype=torch.int32)
    """
    return sliding_mask(n, stride) | (causal_mask(n) & dilated_mask(n, n, stride))


@checked
def block_sparse_mask(
    n: Size, block: Size, *, neighbours: Count = 1, n_global: Count = 0
) -> Bool[Tensor, "n n"]:
    """Positions in blocks: a block reads itself, its neighbours, and the first few of all.

    Whole blocks are allowed or forbidden, so that a kernel can leave out whole tiles.

    Args:
        n: The number of positions.
        block: How many positions a block has; the last may have fewer.
        neighbours: How many blocks are read on each side; 0 leaves a block only itself.
        n_global: How many blocks at the start read all others and are read by all others.

    Returns:
        True at $(i, j)$ where the blocks $b_i = \\lfloor i / \\text{block} \\rfloor$ and $b_j$ are
        at most ``neighbours`` apart, or one of them is global.

    Raises:
        ValueError: ``n`` or ``block`` is no integer of at least 1, ``neighbours`` or ``n_global``
            none of at least 0, or there are fewer than ``n_global`` blocks.

    Source: Zaheer et al. 2020, section 2; lecture 003, "Computational Efficiency".
    Chapter: modern_attention#optional-block-sparse-masks.

    Example:
        >>> block_sparse_mask(4, 2, neighbours=0).int()
        tensor([[1, 1, 0, 0],
                [1, 1, 0, 0],
                [0, 0, 1, 1],
                [0, 0, 1, 1]], dtype=torch.int32)
    """
    n_blocks = _n_blocks(n, block)
    rule = "n_global must be at most the number of blocks"
    require(n_global <= n_blocks, rule, n_global=n_global, n_blocks=n_blocks)
    blocks = window_mask(n_blocks, neighbours) | global_mask(n_blocks, range(n_global))
    block_of = torch.arange(n) // block
    return blocks[block_of.unsqueeze(-1), block_of]


def _n_blocks(n: int, block: int) -> int:
    return -(-n // block)  # the last one may be filled in part


def _blocks(rows: Float[Tensor, "*batch n d"], width: int) -> Float[Tensor, "*batch m width d"]:
    """Rows in blocks of ``width``; the last block is filled up with zeros."""
    *lead, n, d = rows.shape
    n_blocks = _n_blocks(n, width)
    padded = F.pad(rows, (0, 0, 0, n_blocks * width - n))
    return padded.reshape(*lead, n_blocks, width, d)


def _with_block_before(
    blocks: Float[Tensor, "*batch m width d"],
) -> Float[Tensor, "*batch m two_widths d"]:
    """Each block with the block before it in front; before the first there are zeros."""
    before = F.pad(blocks, (0, 0, 0, 0, 1, 0))[..., :-1, :, :]
    return torch.cat([before, blocks], dim=-2)


def _two_blocks_mask(n_blocks: int, width: int) -> Bool[Tensor, "m width two_widths"]:
    """The sliding mask's last ``width`` rows over two blocks; the first block has none before."""
    band = sliding_mask(2 * width, width)[width:]
    mask = band.repeat(n_blocks, 1, 1)
    mask[:1, :, :width] = False
    return mask
