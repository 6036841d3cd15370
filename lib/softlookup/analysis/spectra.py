"""How many directions a matrix uses: captured variance, and the matrix behind a head's scores."""

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.attention import MultiHeadAttention
from softlookup.checks import checked, require


@checked(not_empty="m n")
def captured_variance(matrix: Float[Tensor, "*batch m n"]) -> Float[Tensor, "*batch k"]:
    r"""The share of a matrix that its first $k$ directions hold, by squared singular values.

    That is $\sum_{i \le k} \sigma_i^2 / \sum_i \sigma_i^2$, the largest singular values first.

    Args:
        matrix: Any matrix with an entry other than 0, or several.

    Returns:
        For $k = 1, 2, ..., \min(m, n)$: it never falls, and ends at 1. A matrix of rank $r$ is at 1
        from $k = r$ on.

    Raises:
        ValueError: There is no matrix, or one that is all zeros.

    Source: Cordonnier et al. 2020; lecture 004, "Multi-head Attention".
    Chapter: many_heads#optional-rank.

    Example:
        >>> captured_variance(torch.diag(torch.tensor([1.0, 2.0, 0.0])))
        tensor([0.8000, 1.0000, 1.0000])
    """
    scale = matrix.detach().abs().amax(dim=(-2, -1), keepdim=True)
    require(bool((scale > 0).all()), "a matrix of zeros has no directions", matrix=matrix)
    precise = (matrix / scale).to(torch.promote_types(matrix.dtype, torch.float32))
    energy = torch.linalg.svdvals(precise).square()  # the square of 1e200 is infinite
    sums = energy.cumsum(dim=-1)
    return (sums / sums[..., -1:]).to(matrix.dtype)


@checked
def score_matrices(layer: MultiHeadAttention) -> Float[Tensor, "heads d_model d_context"]:
    r"""The one matrix behind each head's scores: $W^Q_h (W^K_h)^\top$.

    Without biases, head $h$ scores a pair of tokens by $x_i^\top W^Q_h (W^K_h)^\top x_j
    / \sqrt{d_k}$: of its two matrices only this product is ever felt. Its rank is at most $d_k$.
    The sum over the heads is the product of the concatenated matrices, $W^Q (W^K)^\top$.

    Args:
        layer: Any layer of heads.

    Returns:
        One matrix per head.

    Source: Cordonnier et al. 2020; lectures 003, "Multi-Head Attention Benefits", and 004,
    "Multi-head Attention". Chapter: many_heads#optional-rank.

    Example:
        >>> score_matrices(MultiHeadAttention(6, 3)).shape
        torch.Size([3, 6, 6])
    """
    queries, keys = (w.weight.unflatten(0, (layer.n_heads, -1)) for w in (layer.W_Q, layer.W_K))
    return queries.mT @ keys
