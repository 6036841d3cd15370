"""Groups in a space of vectors: k-means, and which words to call a group by."""

from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import Finite, Ids, Range, Size, checked, require
from softlookup.words.embeddings import Points


class Clusters(NamedTuple):
    r"""What k-means finds.

    Attributes:
        centres: One centre in each row.
        labels: The cluster of each point, the row of its nearest centre.
        inertia: The sum of the squared distances of the points to their centres.

    Chapter: vector_search#clusters.
    """

    centres: Float[Tensor, "k d"]
    labels: Int[Tensor, "n"]
    inertia: float


@checked(not_empty="n d")
def k_means(
    x: Points,
    k: Size,
    *,
    generator: torch.Generator,
    n_starts: Size = 10,
    n_steps: Size = 100,
) -> Clusters:
    """Cut points into k groups around centres; of several starts, keep the tightest result.

    Each start draws its centres among the points, the next one ever more likely the farther it is
    from those already drawn (k-means++). ``lloyd`` does the rest.

    Args:
        x: The points, one a row.
        k: How many clusters, from 1 to the number of points.
        generator: The only source of chance.
        n_starts: How many starts are tried, at least 1.
        n_steps: Steps of each start, at most.

    Returns:
        Centres, labels, inertia. The number of a cluster means nothing.

    Raises:
        ValueError: A number is too small, ``k`` exceeds the number of points, or a point is
            infinite or NaN.

    Source: Arthur and Vassilvitskii 2007; lecture 000, "Why are embeddings useful?".
    Chapter: vector_search#clusters.

    Example:
        >>> points = torch.tensor([[0.0], [1.0], [9.0], [10.0], [11.0]])
        >>> found = k_means(points, 2, generator=torch.Generator().manual_seed(0))
        >>> sorted(found.centres.flatten().tolist()), found.inertia
        ([0.5, 10.0], 2.5)
    """
    require(k <= len(x), "k must be at most the number of points", k=k, n=len(x))
    starts = [_far_apart(x, k, generator) for _ in range(n_starts)]
    found = [lloyd(x, centres, n_steps=n_steps) for centres in starts]
    return min(found, key=lambda clusters: clusters.inertia)


@checked(not_empty="n d k")
def lloyd(
    x: Points, centres: Annotated[Float[Tensor, "k d"], Finite], *, n_steps: Size = 100
) -> Clusters:
    """k-means from given centres: each point to its nearest centre, each centre to their mean.

    No step can make the inertia larger, so the two rules come to rest.

    Args:
        x: The points, one a row.
        centres: Where the centres start.
        n_steps: How often the two rules are applied, at most.

    Returns:
        Centres, labels, inertia. A centre without points moves to the point that is farthest from
        its own centre.

    Raises:
        ValueError: The dimensions differ, there are more centres than points, ``n_steps`` is below
            1, or a number is infinite or NaN.

    Source: Lloyd 1982. Chapter: vector_search#clusters.

    Example:
        >>> points = torch.tensor([[0.0], [1.0], [9.0], [10.0], [11.0]])
        >>> lloyd(points, torch.tensor([[0.0], [1.0]])).labels
        tensor([0, 0, 1, 1, 1])
    """
    require(len(centres) <= len(x), "centres must be no more than the points", x=x, centres=centres)
    labels, squares = _nearest_centre(x, centres)
    for _ in range(n_steps):
        centres = _means(x, labels, squares, len(centres))
        before = labels
        labels, squares = _nearest_centre(x, centres)
        if torch.equal(labels, before):
            break
    return Clusters(centres, labels, squares.sum().item())


@checked(not_empty="docs vocab")
def class_tf_idf(
    counts: Annotated[Float[Tensor, "docs vocab"], Range(0)],
    labels: Annotated[Int[Tensor, "docs"], Ids("docs")],
) -> Float[Tensor, "classes vocab"]:
    r"""Which words are typical of each class: $\frac{c_{kj}}{\sum_l c_{kl}}\log(1+A/c_j)$.

    All documents of a class count as one long document. $c_{kj}$ is the count of word $j$ in class
    $k$, $c_j$ its count in all classes, and $A$ the mean number of tokens a class.

    Args:
        counts: The bag of words of each document.
        labels: The class of each document, from 0 up; each class must have tokens.

    Returns:
        One row for each class. A word that never occurs weighs 0.

    Raises:
        ValueError: The shapes differ, a count is negative, infinite or NaN, a label is negative,
            or a class has no token.

    Source: Grootendorst 2022, section 3.3; lecture 000, "Why are embeddings useful?".
    Chapter: vector_search#optional-names-for-the-clusters.

    Example:
        >>> counts = torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
        >>> class_tf_idf(counts, torch.tensor([0, 1]))
        tensor([[0.6109, 0.3054, 0.0000],
                [0.0000, 0.3054, 0.6109]])
    """
    of_class = counts.new_zeros(int(labels.max()) + 1, counts.shape[1])
    of_class.index_add_(0, labels.long(), counts)
    tokens = of_class.sum(dim=1, keepdim=True)
    empty = (tokens == 0).flatten().nonzero().flatten().tolist()
    require(not empty, "each class must have at least one token", empty=empty)
    total = of_class.sum(dim=0)
    rarity = torch.log1p(tokens.mean() / torch.where(total == 0, 1.0, total))
    return of_class / tokens * rarity


def _far_apart(x: Tensor, k: int, generator: torch.Generator) -> Tensor:
    chosen = [int(torch.randint(len(x), (), generator=generator))]
    squares = torch.full((len(x),), torch.inf, dtype=x.dtype)
    for _ in range(k - 1):
        squares = torch.minimum(squares, (x - x[chosen[-1]]).square().sum(dim=1))
        weights = squares if squares.sum() > 0 else torch.ones_like(squares)
        chosen.append(int(torch.multinomial(weights, 1, generator=generator)))
    return x[chosen]


def _nearest_centre(x: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
    squares = (x.unsqueeze(1) - centres.unsqueeze(0)).square().sum(dim=-1)
    smallest = squares.min(dim=1)
    return smallest.indices, smallest.values


def _means(x: Tensor, labels: Tensor, squares: Tensor, k: int) -> Tensor:
    sizes = torch.bincount(labels, minlength=k)
    sums = x.new_zeros(k, x.shape[1]).index_add_(0, labels, x)
    centres = sums / sizes.clamp(min=1).unsqueeze(1)
    empty = (sizes == 0).nonzero().flatten()
    farthest = squares.argsort(descending=True, stable=True)
    centres[empty] = x[farthest[: len(empty)]]
    return centres
