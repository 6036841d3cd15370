"""Labels that spread: a few known ones, and a graph that ties similar points together."""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import Positive, Range, checked, require
from softlookup.words.embeddings import Points, similarity

MOST_CLASSES = 10**6
"""More than any task has; a label beyond is a slip."""


@checked(not_empty="n d")
def similarity_graph(x: Points, *, width: Positive) -> Float[Tensor, "n n"]:
    r"""How strongly two points are tied: $w_{ij}=e^{-\|x_i-x_j\|^2/(2\,\text{width}^2)}$.

    Args:
        x: The points, one a row.
        width: The distance at which ties loosen; positive.

    Returns:
        Weights from 0 to 1, symmetric, with 0 on the diagonal: nobody is their own neighbour.

    Raises:
        ValueError: ``width`` is not positive and finite, or a point is infinite or NaN.

    Source: Zhou et al. 2004. Chapter: vector_search#optional-labels-that-spread.

    Example:
        >>> similarity_graph(torch.tensor([[0.0, 0.0], [3.0, 4.0]]), width=5.0)
        tensor([[0.0000, 0.6065],
                [0.6065, 0.0000]])
    """
    distances = -similarity(x, x, measure="euclidean")
    weights = torch.exp(-(distances / width).square() / 2)
    return weights.fill_diagonal_(0.0)


@checked(not_empty="n")
def label_spreading(
    graph: Annotated[Float[Tensor, "n n"], Range(0)],
    labels: Annotated[Int[Tensor, "n"], Range(-1, MOST_CLASSES)],
    *,
    alpha: Annotated[float, Range(0, 1, above=True, below=True)] = 0.9,
) -> Float[Tensor, "n classes"]:
    r"""Let few known labels spread along the ties of a graph to all other points.

    With $S=D^{-1/2}WD^{-1/2}$, where $D$ holds each point's sum of ties, and one-hot rows $Y$ of
    the known labels, each point again and again takes the share $\alpha$ from its neighbours and
    the rest from its own label, $F\leftarrow\alpha SF+(1-\alpha)Y$. That comes to rest at
    $F=(1-\alpha)(I-\alpha S)^{-1}Y$, which is computed at once.

    Args:
        graph: The ties $W$, symmetric and non-negative; its diagonal is not used.
        labels: The class of each point, from 0 up; -1 where it is not known.
        alpha: The share of the neighbours, above 0 and below 1.

    Returns:
        One row for each point, shares of the classes that sum to 1; or zeros, by rule, where no
        known label is within reach.

    Raises:
        ValueError: The graph is not square, not symmetric, has a negative, infinite or NaN tie or
            not one row per label; no label is known; or ``alpha`` is out of range.

    Source: Zhou et al. 2004; lecture 000, "Why are embeddings useful?".
    Chapter: vector_search#optional-labels-that-spread.

    Example:
        >>> chain = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> label_spreading(chain, torch.tensor([0, -1, -1]))
        tensor([[1.],
                [1.],
                [1.]])
    """
    _require_symmetric(graph)
    require(labels.max() >= 0, "at least one label must be known", labels=labels.tolist()[:3])
    identity = torch.eye(len(graph), dtype=graph.dtype, device=graph.device)
    ties = graph * (1 - identity)
    degree = ties.sum(dim=1)
    root = torch.where(degree == 0, 0.0, degree.clamp(min=torch.finfo(graph.dtype).tiny).rsqrt())
    spread = root.unsqueeze(1) * ties * root
    classes = torch.arange(int(labels.max()) + 1, device=graph.device)
    known = (labels.unsqueeze(1) == classes).to(graph.dtype)
    wide = torch.promote_types(graph.dtype, torch.float32)  # half precision has no solver
    system, start = (identity - alpha * spread).to(wide), ((1 - alpha) * known).to(wide)
    mass = torch.linalg.solve(system, start).clamp(min=0).to(graph.dtype)
    total = mass.sum(dim=1, keepdim=True)
    return mass / torch.where(total == 0, 1.0, total)


def _require_symmetric(graph: Tensor) -> None:
    gap = (graph - graph.mT).abs().max().item()
    require(gap <= 1e-5 * graph.max().item(), "graph must be symmetric", largest_difference=gap)
