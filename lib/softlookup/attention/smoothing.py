"""Regression by a weighted mean of the known targets: Nadaraya-Watson and the Gaussian process."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.attention.lookup import attend
from softlookup.checks import NotNegative, checked, require

Scores = Callable[[Tensor, Tensor], Tensor]
"""A scoring function: queries (n_q, d) and keys (n_k, d) to scores (n_q, n_k)."""


@checked(not_empty="n")
def nadaraya_watson(
    query: Float[Tensor, "n_q d"],
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n *targets"],
    scores: Scores,
) -> Float[Tensor, "n_q *targets"]:
    r"""Predict by the mean of the known targets, the near ones first.

    $\hat y(q) = \sum_i \kappa(q, x_i)\, y_i / \sum_i \kappa(q, x_i)$. That is attention whose
    scores are $\log\kappa$: the queries ask, the $x_i$ are keys, the $y_i$ are values. Written so,
    it still answers far from all data, where every $\kappa$ is rounded to 0 and the fraction is
    $0/0$.

    Args:
        query: Where to predict, one point per row.
        x: The points whose targets are known, one per row.
        y: Their targets, numbers or vectors.
        scores: $\log\kappa$, as a function of queries and keys: ``laplace_scores``, or
            ``functools.partial(gaussian_scores, bandwidth=0.5)``.

    Returns:
        One prediction per query, never outside the targets.

    Raises:
        ValueError: The shapes or the dtypes do not fit, or there is no known point.

    Source: Nadaraya 1964; Watson 1964; lecture 004, "Non-Transformer Examples" (Nadaraya-Watson).
    Chapter: soft_lookup#nadaraya-watson.

    Example:
        >>> from softlookup.attention import laplace_scores
        >>> x, y = torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 10.0])
        >>> nadaraya_watson(torch.tensor([[2.0], [900.0]]), x, y, laplace_scores)
        tensor([5.0000, 8.8080])
    """
    mixed = attend(scores(query, x), y.reshape(len(y), -1))
    return mixed.reshape(len(query), *y.shape[1:])


@checked(not_empty="n")
def gaussian_process_weights(
    query: Float[Tensor, "n_q d"],
    x: Float[Tensor, "n d"],
    scores: Scores,
    *,
    noise: NotNegative,
) -> Float[Tensor, "n_q n"]:
    r"""What each known target counts for in a Gaussian process: $(K + \sigma^2 I)^{-1} k(q)$.

    $k(q)$ holds the kernel between the query and each known point, $K$ the kernel among those
    points. The inverse discounts points that tell the same story twice.

    Args:
        query: Where to predict, one point per row.
        x: The points whose targets are known, one per row.
        scores: $\log\kappa$ of a positive definite kernel, as a function of queries and keys.
        noise: $\sigma^2$, the variance of the noise on the targets, at least 0.

    Returns:
        One row per query. Weights may be negative, and a row need not sum to 1: it is no attention
        row.

    Raises:
        ValueError: The shapes or the dtypes do not fit, ``noise`` is negative or not finite, or
            $K + \sigma^2 I$ is not positive definite.

    Source: Rasmussen and Williams 2006, section 2.2; lecture 000, "Attention: Bridging Neural Nets
    and Kernel Methods". Chapter: soft_lookup#optional-gaussian-processes.

    Example:
        >>> from softlookup.attention import gaussian_scores
        >>> x = torch.tensor([[0.0], [90.0]])
        >>> gaussian_process_weights(x[:1], x, gaussian_scores, noise=3.0)
        tensor([[0.2500, 0.0000]])
    """
    among, to_query = torch.exp(scores(x, x)), torch.exp(scores(query, x))
    noisy = among + noise * torch.eye(len(x), dtype=x.dtype, device=x.device)
    factor, failed = torch.linalg.cholesky_ex(noisy)
    rule = "the kernel of the known points plus noise must be positive definite"
    require(not failed.any(), rule, noise=noise, x=x)
    return torch.cholesky_solve(to_query.mT, factor).mT
