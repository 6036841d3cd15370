"""Rank collapse: how alike the tokens become with depth, and which part of a block prevents it."""

from collections.abc import Iterable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from softlookup.blocks import EncoderBlock, Sublayer
from softlookup.checks import require, require_choice, require_float
from softlookup.ops import unit_vectors


def rank_residual(x: Float[Tensor, "*batch n d_model"]) -> Float[Tensor, "*batch"]:
    r"""What is left of the tokens beside their mean: $\|X - \mathbf 1\bar x^\top\| / \|X\|$.

    The nearest matrix whose rows are all the same repeats the mean row $\bar x$, and such a matrix
    has rank 1. The norm is Frobenius's, the root of the sum of squares.

    Args:
        x: One row per token.

    Returns:
        From 0, where all tokens are the same, to 1, where their mean is zero. Rows of zeros are
        all the same: 0.

    Raises:
        ValueError: ``x`` holds no floating-point numbers, or is no matrix with entries.

    Source: Dong et al. 2021, section 2; lecture 004, "Necessity of Feed Forward Nets".
    Chapter: block#do-tokens-collapse.

    Example:
        >>> rank_residual(torch.tensor([[[3.0, 4.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]]))
        tensor([0.0000, 0.7071])
    """
    _require_matrix(x)
    largest = x.abs().amax(dim=(-2, -1), keepdim=True)
    x = x / torch.where(largest > 0, largest, 1.0)  # the square of 1e-200 would be 0
    apart = x - x[..., :1, :]  # equal rows are exactly 0 apart; their mean might be rounded
    apart = apart - apart.mean(dim=-2, keepdim=True)
    size = torch.linalg.matrix_norm(x)
    return torch.linalg.matrix_norm(apart) / torch.where(size > 0, size, 1.0)


def token_cosine(x: Float[Tensor, "*batch n d_model"]) -> Float[Tensor, "*batch"]:
    r"""The mean cosine of two different tokens: $\frac{1}{n(n-1)}\sum_{i \ne j}\cos(x_i, x_j)$.

    Args:
        x: One row per token, at least two.

    Returns:
        1 where all tokens point the same way. A row of zeros has the cosine 0 with any other.

    Raises:
        ValueError: ``x`` holds no floating-point numbers, or is no matrix of two rows or more.

    Source: Noci et al. 2022, section 3; lecture 004, "Necessity of Feed Forward Nets".
    Chapter: block#do-tokens-collapse.

    Example:
        >>> token_cosine(torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
        tensor(0.3333)
    """
    _require_matrix(x)
    n = x.shape[-2]
    require(n >= 2, "x must have at least two rows", x=x)
    units = unit_vectors(x)
    cosines = units @ units.mT
    own = cosines.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
    return (cosines.sum(dim=(-2, -1)) - own) / (n * (n - 1))


def ablated_streams(
    blocks: Iterable[EncoderBlock],
    x: Float[Tensor, "*batch n d_model"],
    mask: Bool[Tensor, "... #n n"] | None = None,
    *,
    skip: bool = True,
    feed_forward: bool = True,
    norm: str | None = None,
) -> Float[Tensor, "depths *batch n d_model"]:
    """The tokens at every depth of a stack, with parts of all its blocks taken out.

    Args:
        blocks: The stack, from the bottom up.
        x: One row per token.
        mask: True where a token may read another, as in ``EncoderBlock``.
        skip: Whether a layer's output is added to its input; otherwise it replaces it.
        feed_forward: Whether the feed-forward layers are there, with their skips and norms.
        norm: "pre", "post" or "none", wherever the blocks have it; left out, as they have it.

    Returns:
        First ``x``, then what leaves each block. With nothing taken out or moved, these are the
        blocks' own outputs.

    Raises:
        ValueError: ``norm`` is unknown, or as in ``EncoderBlock``.

    Source: Dong et al. 2021, section 4; lecture 004, "Necessity of Feed Forward Nets".
    Chapter: block#do-tokens-collapse.

    Example:
        >>> stack = [EncoderBlock(6, 2, 8) for _ in range(3)]
        >>> ablated_streams(stack, torch.zeros(5, 6), skip=False).shape
        torch.Size([4, 5, 6])
    """
    require_choice(("pre", "post", "none"), norm="none" if norm is None else norm)
    streams = [x]
    for block in blocks:
        x = _pass(block.self_attention, x, skip, norm, mask=mask)
        if feed_forward:
            x = _pass(block.feed_forward, x, skip, norm)
        streams.append(x)
    return torch.stack(streams)


def _pass(layer: Sublayer, x: Tensor, skip: bool, norm: str | None, **options: object) -> Tensor:
    """``Sublayer.forward`` with two switches."""
    norm = norm or ("pre" if layer.norm_first else "post")
    read = layer.norm(x) if norm == "pre" else x
    write = layer.dropout(layer.layer(read, **options))
    out = x + write if skip else write
    return layer.norm(out) if norm == "post" else out


def _require_matrix(x: Tensor) -> None:
    require_float(x=x)
    require(x.ndim >= 2 and x.numel() > 0, "x must have one row per token", x=x)
