"""Labels that spread: a few known ones, and a graph that ties similar points together."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import require, require_counts, require_float


def similarity_graph(x: Float[Tensor, "n d"], *, width: float) -> Float[Tensor, "n n"]:
    r"""How strongly two points are tied: $w_{ij}=e^{-\|x_i-x_j\|^2/(2\,\text{width}^2)}$.

    Args:
        x: The points, one a row.
        width: The distance at which ties loosen; positive.

    Returns:
        Weights from 0 to 1, symmetric, with 0 on the diagonal: nobody is their own neighbour.

    Raises:
        ValueError: ``width`` is not positive and finite, or a point is infinite or NaN.

    Source: Zhou et al. 2004. Chapter: embeddings#search-clusters-labels.

    Example:
        >>> similarity_graph(torch.tensor([[0.0, 0.0], [3.0, 4.0]]), width=5.0)
        tensor([[0.0000, 0.6065],
                [0.6065, 0.0000]])
    """
    require_float(x=x)
    is_matrix = x.ndim == 2 and x.numel() > 0
    require(is_matrix, "x must be a matrix with one point a row", x=x)
    require(bool(x.isfinite().all()), "x must hold finite numbers", x=x)
    require(0 < width < torch.inf, "width must be positive and finite", width=width)
    distances = torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist")
    weights = torch.exp(-(distances / width).square() / 2)
    return weights.fill_diagonal_(0.0)


def label_spreading(
    graph: Float[Tensor, "n n"], labels: Int[Tensor, "n"], *, alpha: float = 0.9
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
        One row a point, shares of the classes that sum to 1; or zeros, by rule, where no known
        label is within reach.

    Raises:
        ValueError: The graph is not square, not symmetric, has a negative, infinite or NaN tie or
            not one row per label; no label is known; or ``alpha`` is out of range.

    Source: Zhou et al. 2004; lecture 000, "Why are embeddings useful?".
    Chapter: embeddings#search-clusters-labels.

    Example:
        >>> chain = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> label_spreading(chain, torch.tensor([0, -1, -1]))
        tensor([[1.],
                [1.],
                [1.]])
    """
    _require_graph(graph, labels)
    require(0 < alpha < 1, "alpha must be above 0 and below 1", alpha=alpha)
    ties = graph * (1 - torch.eye(len(graph), dtype=graph.dtype, device=graph.device))
    degree = ties.sum(dim=1)
    root = torch.where(degree == 0, 0.0, degree.clamp(min=torch.finfo(graph.dtype).tiny).rsqrt())
    spread = root.unsqueeze(1) * ties * root
    classes = torch.arange(int(labels.max()) + 1, device=graph.device)
    known = (labels.unsqueeze(1) == classes).to(graph.dtype)
    identity = torch.eye(len(graph), dtype=graph.dtype, device=graph.device)
    mass = torch.linalg.solve(identity - alpha * spread, (1 - alpha) * known).clamp(min=0)
    total = mass.sum(dim=1, keepdim=True)
    return mass / torch.where(total == 0, 1.0, total)


def _require_graph(graph: Tensor, labels: Tensor) -> None:
    require_float(graph=graph)
    n = len(labels)
    require(n > 0 and graph.shape == (n, n), "graph must be square, with one row for each label",
            graph=graph, labels=labels)  # fmt: skip
    require_counts(**{"the ties of graph": graph})
    gap = (graph - graph.mT).abs().max().item()
    require(gap <= 1e-5 * graph.max().item(), "graph must be symmetric", largest_difference=gap)
    smallest, largest = labels.min().item(), labels.max().item()
    require(smallest >= -1, "labels must be -1 (unknown), 0 or above", smallest=smallest)
    require(largest >= 0, "at least one label must be known", labels=labels.tolist()[:3])
