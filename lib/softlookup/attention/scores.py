"""How well a query fits a key: the scores that lecture 004 lists, and the distance itself.

The dot product is ``attention.attention_scores``, the small network ``additive.additive_scores``.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import Positive, checked
from softlookup.ops import unit_vectors


@checked(not_empty="d_k")
def laplace_scores(
    query: Float[Tensor, "*batch n_q d_k"],
    key: Float[Tensor, "*batch n_k d_k"],
    *,
    bandwidth: Positive = 1.0,
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""The negative distance, $s_{ij} = -\|q_i - k_j\|/b$: the logarithm of the Laplace kernel.

    The difference itself is squared. The shortcut $\|q\|^2 - 2q \cdot k + \|k\|^2$ needs less
    memory, but far from the origin the three terms cancel and nothing is left of a small distance.

    Args:
        query: One row per query.
        key: One row per key.
        bandwidth: $b > 0$, the distance over which the kernel falls to $1/e$.

    Returns:
        Scores of at most 0, and 0 where query and key are equal. There the distance has a kink;
        its gradient is 0 by rule.

    Raises:
        ValueError: The shapes or the dtypes do not fit, or ``bandwidth`` is not positive and
            finite.

    Source: lecture 004, "Non-Transformer Examples" (Nadaraya-Watson).
    Chapter: soft_lookup#nadaraya-watson.

    Example:
        >>> laplace_scores(torch.zeros(1, 2), torch.tensor([[3.0, 4.0], [0.0, 0.0]]), bandwidth=5.0)
        tensor([[-1., -0.]])
    """
    return -_distances(query, key) / bandwidth


@checked(not_empty="d_k")
def gaussian_scores(
    query: Float[Tensor, "*batch n_q d_k"],
    key: Float[Tensor, "*batch n_k d_k"],
    *,
    bandwidth: Positive = 1.0,
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""The logarithm of the Gaussian kernel: $s_{ij} = -\|q_i - k_j\|^2/(2\sigma^2)$.

    The minus is needed: without it the *farthest* key scores highest.

    Args:
        query: One row per query.
        key: One row per key.
        bandwidth: $\sigma > 0$, the standard deviation of the bell.

    Returns:
        Scores of at most 0, and 0 where query and key are equal.

    Raises:
        ValueError: The shapes or the dtypes do not fit, or ``bandwidth`` is not positive and
            finite.

    Source: lecture 004, "Non-Transformer Examples" (table of kernels), with its sign mended.
    Chapter: soft_lookup#scores.

    Example:
        >>> gaussian_scores(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]), bandwidth=5.0)
        tensor([[-0.5000]])
    """
    return -(_distances(query, key) / bandwidth).square() / 2


@checked(not_empty="d_k")
def cosine_scores(
    query: Float[Tensor, "*batch n_q d_k"], key: Float[Tensor, "*batch n_k d_k"]
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""The cosine of the angle, $s_{ij} = q_i \cdot k_j / (\|q_i\| \|k_j\|)$: one norm *per row*.

    All scores lie between -1 and 1, so no weight of their softmax is more than $e^2 \approx 7.4$
    times another: divide the scores by a small temperature before ``attend``.

    Args:
        query: One row per query.
        key: One row per key.

    Returns:
        Scores from -1 to 1 (up to rounding). A row of zeros has no direction and scores 0.

    Raises:
        ValueError: The shapes or the dtypes do not fit.

    Source: lecture 004, "Non-Transformer Examples" (table of kernels), with its norms mended.
    Chapter: soft_lookup#scores.

    Example:
        >>> cosine_scores(torch.tensor([[3.0, 4.0]]), torch.tensor([[4.0, 3.0], [30.0, 40.0]]))
        tensor([[0.9600, 1.0000]])
    """
    return unit_vectors(query) @ unit_vectors(key).mT


@checked(not_empty="d_query d_key")
def bilinear_scores(
    query: Float[Tensor, "*batch n_q d_query"],
    key: Float[Tensor, "*batch n_k d_key"],
    W: Float[Tensor, "d_query d_key"],
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""A product through one matrix: $S = QWK^\top$, the "general" score.

    With $W = W^Q {W^K}^\top$ it is the dot product of projected queries and keys.

    Args:
        query: One row per query, of any width.
        key: One row per key, of any width.
        W: What each pair of features counts for; row $a$ belongs to feature $a$ of the query.

    Returns:
        $s_{ij} = q_i^\top W k_j$, any real numbers.

    Raises:
        ValueError: The shapes or the dtypes do not fit.

    Source: Luong et al. 2015, section 3.1; lecture 004, "Non-Transformer Examples".
    Chapter: soft_lookup#scores.

    Example:
        >>> W = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
        >>> bilinear_scores(torch.tensor([[2.0, 0.0]]), torch.tensor([[0.0, 3.0]]), W)
        tensor([[6.]])
    """
    return query @ W @ key.mT


def _distances(query: Tensor, key: Tensor) -> Tensor:
    r"""$\|q_i - k_j\|$; the largest entry is divided out, for the square of 1e200 is infinite."""
    difference = query.unsqueeze(-2) - key.unsqueeze(-3)
    largest = difference.detach().abs().amax(dim=-1, keepdim=True)
    squares = (difference / torch.where(largest == 0, 1.0, largest)).square().sum(dim=-1)
    root = torch.where(squares == 0, 1.0, squares).sqrt()  # the root has no slope at 0
    return root * largest.squeeze(-1)
