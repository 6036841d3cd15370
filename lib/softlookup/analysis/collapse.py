"""Rank collapse: how alike the tokens become with depth, and which part of a block prevents it."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.checks import Count, Positive, Size, checked, require
from softlookup.models import EncoderBlock, Sublayer
from softlookup.ops import unit_vectors


@checked(not_empty="n d_model")
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
    Chapter: depth#do-tokens-collapse.

    Example:
        >>> rank_residual(torch.tensor([[[3.0, 4.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]]))
        tensor([0.0000, 0.7071])
    """
    largest = x.abs().amax(dim=(-2, -1), keepdim=True)
    x = x / torch.where(largest > 0, largest, 1.0)  # the square of 1e-200 would be 0
    apart = x - x[..., :1, :]  # equal rows are exactly 0 apart; their mean might be rounded
    apart = apart - apart.mean(dim=-2, keepdim=True)
    size = torch.linalg.matrix_norm(x)
    return torch.linalg.matrix_norm(apart) / torch.where(size > 0, size, 1.0)


@checked(not_empty="n d_model")
def token_cosine(x: Float[Tensor, "*batch n d_model"]) -> Float[Tensor, "*batch"]:
    r"""The mean cosine of two different tokens: $\frac{1}{n(n-1)}\sum_{i \ne j}\cos(x_i, x_j)$.

    Args:
        x: One row per token, at least two.

    Returns:
        1 where all tokens point the same way. A row of zeros has the cosine 0 with any other.

    Raises:
        ValueError: ``x`` holds no floating-point numbers, or is no matrix of two rows or more.

    Source: Noci et al. 2022, section 3; lecture 004, "Necessity of Feed Forward Nets".
    Chapter: depth#do-tokens-collapse.

    Example:
        >>> token_cosine(torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
        tensor(0.3333)
    """
    n = x.shape[-2]
    require(n >= 2, "x must have at least two rows", x=x)
    units = unit_vectors(x)
    cosines = units @ units.mT
    own = cosines.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
    return (cosines.sum(dim=(-2, -1)) - own) / (n * (n - 1))


@checked
def ablated_streams(
    blocks: Iterable[EncoderBlock],
    x: Float[Tensor, "*batch n d_model"],
    mask: Bool[Tensor, "... #n n"] | None = None,
    *,
    skip: bool = True,
    feed_forward: bool = True,
    norm: Literal["pre", "post", "none"] | None = None,
    size: Positive = 1.0,
) -> Float[Tensor, "depths *batch n d_model"]:
    """The tokens at every depth of a stack, with parts of all its blocks taken out.

    Args:
        blocks: The stack, from the bottom up.
        x: One row per token.
        mask: True where a token may read another, as in ``EncoderBlock``.
        skip: Whether a layer's output is added to its input; otherwise it replaces it.
        feed_forward: Whether the feed-forward layers are there, with their skips and norms.
        norm: "pre", "post" or "none", wherever the blocks have it; left out, as they have it.
        size: By what each layer's output is multiplied before it is added, or replaces its input.

    Returns:
        First ``x``, then what leaves each block. With nothing taken out or moved, these are the
        blocks' own outputs.

    Raises:
        ValueError: ``norm`` is unknown, ``size`` is not positive and finite, or as in
            ``EncoderBlock``.

    Source: Dong et al. 2021, section 4; lecture 004, "Necessity of Feed Forward Nets".
    Chapter: depth#do-tokens-collapse.

    Example:
        >>> stack = [EncoderBlock(6, 2, 8) for _ in range(3)]
        >>> ablated_streams(stack, torch.zeros(5, 6), skip=False).shape
        torch.Size([4, 5, 6])
    """
    blocks, streams = list(blocks), [x]
    fits = all(_takes(block, x) for block in blocks)
    require(fits, "x must have the width and the dtype of the blocks", x=x, dtype=x.dtype)
    for block in blocks:
        x = _pass(block.self_attention, x, skip, norm, size, mask=mask)
        if feed_forward:
            x = _pass(block.feed_forward, x, skip, norm, size)
        streams.append(x)
    return torch.stack(streams)


@checked
def random_stack(
    seed: Count, n_layers: Size = 24, *, n: Size = 16, d_model: Size = 64, scale: Positive = 2**0.5
) -> tuple[Float[Tensor, "n d_model"], list[EncoderBlock]]:
    r"""Tokens and a stack as before training: normal numbers, matrices that keep a row's length.

    An entry of a matrix with $m$ rows has the variance $1/m$. There is one head, so that $W^O$ has
    nothing to mix and is the identity, and there are no biases. The feed-forward layers draw from
    a source of their own: with and without them, attention is the same.

    Args:
        seed: Draws the tokens and the matrices, with NumPy's generator.
        n_layers: The number of blocks; they are pre-norm.
        n: The number of tokens.
        d_model: Their width; the feed-forward layers are four times as wide.
        scale: How many times larger the first matrix of each feed-forward layer is; the root of 2
            makes up for the half that ReLU cuts off.

    Returns:
        The tokens, and the blocks from the bottom up, in float64; nothing in them is trained.

    Raises:
        ValueError: A size is no integer of at least 1, or ``seed`` none of at least 0, or
            ``scale`` is not positive and finite.

    Source: Glorot and Bengio 2010; He et al. 2015; lecture 004, "Necessity of Feed Forward Nets".
    Chapter: depth#do-tokens-collapse.

    Example:
        >>> x, blocks = random_stack(0, 4)
        >>> rank_residual(ablated_streams(blocks, x, skip=False, norm="none")[-1]) < 1e-15
        tensor(True)
    """
    tokens, thoughts = (np.random.default_rng(seed + k) for k in (0, 100))
    x = torch.tensor(tokens.standard_normal((n, d_model)))
    return x, [_random_block(tokens, thoughts, d_model, scale) for _ in range(n_layers)]


def _random_block(
    tokens: np.random.Generator, thoughts: np.random.Generator, d_model: int, scale: float
) -> EncoderBlock:
    block = EncoderBlock(d_model, 1, 4 * d_model, bias=False, norm_first=True).double()
    read, think = block.requires_grad_(False).self_attention.layer, block.feed_forward.layer
    layers = [(W, tokens) for W in (read.W_Q, read.W_K, read.W_V)]
    for W, numbers in (*layers, (think.W_1, thoughts), (think.W_2, thoughts)):
        drawn = numbers.standard_normal((W.in_features, W.out_features)) / W.in_features**0.5
        W.weight.copy_(torch.tensor(drawn).mT)
    think.W_1.weight.mul_(scale)
    nn.init.eye_(read.W_O.weight)
    return block


def _takes(block: EncoderBlock, x: Tensor) -> bool:
    return x.shape[-1] == block.d_model and x.dtype == next(block.parameters()).dtype


def _pass(
    layer: Sublayer, x: Tensor, skip: bool, norm: str | None, size: float, **options: object
) -> Tensor:
    """``Sublayer.forward`` with two switches, and another size of what it adds."""
    norm = norm or ("pre" if layer.norm_first else "post")
    read = layer.norm(x) if norm == "pre" else x
    write = size * layer.dropout(layer.layer(read, **options))
    out = x + write if skip else write
    return layer.norm(out) if norm == "post" else out
