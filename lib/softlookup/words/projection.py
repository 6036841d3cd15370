"""Linear maps between spaces of vectors: principal components, and the best rotation."""

from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import Finite, Size, checked, require
from softlookup.words.embeddings import Points


class PrincipalComponents(NamedTuple):
    r"""What ``principal_components`` finds: a place, directions, and how far the points spread.

    Attributes:
        mean: The mean of the points, where the new axes cross.
        axes: One direction in each row, orthonormal, in falling order of variance.
        variances: The variance of the points along each axis, with $n - 1$ below the line.
        shares: The same as shares of the variance along *all* axes. Where all points coincide
            there is no variance to share, and by rule the shares are 0.

    Chapter: vector_search#principal-components.
    """

    mean: Float[Tensor, "d"]
    axes: Float[Tensor, "k d"]
    variances: Float[Tensor, "k"]
    shares: Float[Tensor, "k"]


@checked(not_empty="n d")
def principal_components(x: Points, k: Size) -> PrincipalComponents:
    r"""The k directions along which the points spread most, from the SVD of $X-\bar x$.

    With $X - \bar x = U \Sigma V^\top$, the axes are the first rows of $V^\top$, and axis $i$ has
    the variance $\sigma_i^2/(n-1)$. An axis has no sign of its own: here its entry of largest size
    is positive, as in scikit-learn.

    Args:
        x: The points, one a row; at least two.
        k: How many axes to keep, at most the smaller of n and d.

    Returns:
        Mean, axes, variances and shares of variance.

    Raises:
        ValueError: There are fewer than two points, an entry is infinite or NaN, or ``k`` is no
            integer from 1 to min(n, d).

    Source: Pearson 1901; lecture 002, "Understanding the Model".
    Chapter: vector_search#principal-components.

    Example:
        >>> found = principal_components(torch.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]), 1)
        >>> found.axes, found.variances
        (tensor([[0.6000, 0.8000]]), tensor([25.]))
    """
    n, d = x.shape
    require(n >= 2, "x must hold at least two points", x=x)
    require(k <= min(n, d), "k must be at most the smaller of n and d", k=k, n=n, d=d)
    mean = x.mean(dim=0)
    _, sizes, axes = _svd(x - mean)
    largest = axes.gather(1, axes.abs().argmax(dim=1, keepdim=True))
    axes = axes * largest.sign()
    variances = sizes.square() / (n - 1)
    total = variances.sum()
    shares = variances / torch.where(total == 0, 1.0, total)
    return PrincipalComponents(mean, axes[:k], variances[:k], shares[:k])


@checked(not_empty="n d")
def project(x: Points, components: PrincipalComponents) -> Float[Tensor, "n k"]:
    r"""Coordinates of points along the principal axes: $(X-\bar x)\,V_k$.

    Args:
        x: Points, one a row; new ones may be among them.
        components: Where the axes cross and point.

    Returns:
        One row of k numbers a point.

    Raises:
        ValueError: The points have another dimension than the axes, or hold infinities or NaN.

    Source: Pearson 1901. Chapter: vector_search#principal-components.

    Example:
        >>> found = principal_components(torch.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]), 1)
        >>> project(torch.tensor([[6.0, 8.0]]), found)
        tensor([[5.]])
    """
    return (x - components.mean) @ components.axes.mT


@checked(not_empty="n k")
def reconstruct(
    coordinates: Annotated[Float[Tensor, "n k"], Finite], components: PrincipalComponents
) -> Float[Tensor, "n d"]:
    r"""The points that lie at given coordinates of the principal axes: $\bar x + Z V_k^\top$.

    Args:
        coordinates: What ``project`` returns.
        components: The same axes.

    Returns:
        One point in each row. Of all planes of dimension k this one is nearest to the points that
        made the axes: the squared errors sum to the squares of the singular values left out.

    Raises:
        ValueError: There is not one column per axis, or a number is infinite or NaN.

    Source: Eckart and Young 1936. Chapter: vector_search#principal-components.

    Example:
        >>> found = principal_components(torch.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), 1)
        >>> reconstruct(torch.tensor([[-2.0], [3.0]]), found)
        tensor([[0., 1.],
                [5., 1.]])
    """
    return components.mean + coordinates @ components.axes


@checked(not_empty="n d")
def procrustes(x: Points, y: Points) -> Float[Tensor, "d d"]:
    r"""The orthogonal map that lays x over y best: $R = \arg\min_{R^\top R=I}\|XR-Y\|_F$.

    The squared error is a constant minus $2\,\mathrm{tr}(R^\top X^\top Y)$, and with the SVD
    $X^\top Y=U\Sigma V^\top$ that trace is largest at $R=UV^\top$.

    Args:
        x: Points, one a row, around the origin: take off the mean first if there is one.
        y: The partner of each point, in the other space.

    Returns:
        A rotation, or a rotation and a reflection; ``x @ R`` lies over y. Lengths and angles in x
        stay as they are. Where the points leave a direction open, so does the answer.

    Raises:
        ValueError: The shapes differ, there is no point, or an entry is infinite or NaN.

    Source: Schönemann 1966. Chapter: vector_search#one-space-for-two.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
        >>> procrustes(x, torch.tensor([[0.0, 1.0], [2.0, 0.0]]))
        tensor([[0., 1.],
                [1., 0.]])
    """
    left, _, right = _svd(x.mT @ y)
    return left @ right


def _svd(x: Tensor) -> tuple[Tensor, ...]:
    wide = torch.promote_types(x.dtype, torch.float32)  # half precision has no SVD
    return tuple(part.to(x.dtype) for part in torch.linalg.svd(x.to(wide), full_matrices=False))
