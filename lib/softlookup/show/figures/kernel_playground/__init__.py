"""The kernel playground: drag points and a query, choose a kernel, see weights and curve follow."""

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require, require_float
from softlookup.show.interactive import Interactive

_END, _TALL, _FEW = 8.0, 4.0, 6
_X, _Y = (1.36, 3.40, 6.05), (1.79, -1.77, -2.17)
_ALT = (
    "Three points, the query 4.25 and the curve of all predictions. With the Laplace kernel the "
    "prediction is -1.5668, and the nearest point has 0.66 of the weight."
)
_CAPTION = (
    "Regression as attention: the query asks, the x of the points are keys, their y are values. "
    "The larger a dot, the more it weighs."
)


class KernelPlayground(Interactive):
    """Nadaraya-Watson for points on a line: every weight and the prediction, for five kernels.

    Cosine and bilinear scores compare vectors; there, the number x is read as (1, x).

    Args:
        x: Where the points are, 1 to 6 numbers from 0 to 8; those of lecture 004 if left out.
        y: Their targets, as many numbers from -4 to 4.
        query: Where the prediction is asked at the start, from 0 to 8.
        bandwidth: The width at the start and whenever a kernel is chosen, from 0.05 to 20.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: The points are not 1 to 6, one of the numbers is out of its range, or as
            ``Interactive``.

    Source: lecture 004, "Non-Transformer Examples". Chapter: soft_lookup#scores.

    Example:
        >>> KernelPlayground().name
        'fig-soft-lookup-playground'
    """

    def __init__(
        self,
        x: Float[Tensor, "n"] | None = None,
        y: Float[Tensor, "n"] | None = None,
        *,
        query: float = 4.25,
        bandwidth: float = 1.0,
        name: str = "fig-soft-lookup-playground",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        x = torch.tensor(_X, dtype=torch.float64) if x is None else x
        y = torch.tensor(_Y, dtype=torch.float64) if y is None else y
        _check(x, y, query, bandwidth)
        super().__init__(
            name=name,
            data={
                "points": torch.stack([x, y], dim=1).detach().double().tolist(),
                "query": query,
                "bandwidth": bandwidth,
                "noisy": _noisy(24),
            },
            alt=alt,
            caption=caption,
        )


def _noisy(n: int) -> list[list[float]]:
    """Points about a wave, from left to right, with two decimals."""
    generator = torch.Generator().manual_seed(10)
    x = 0.3 + 7.4 * torch.rand(n, dtype=torch.float64, generator=generator).sort().values
    y = 2.5 * torch.sin(x) + 0.6 * torch.randn(n, dtype=torch.float64, generator=generator)
    return [[round(a, 2), round(b, 2)] for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def _check(x: Tensor, y: Tensor, query: float, bandwidth: float) -> None:
    require_float(x=x, y=y)
    rule = f"x and y must be 1 to {_FEW} numbers each"
    require(x.ndim == 1 and x.shape == y.shape and 0 < len(x) <= _FEW, rule, x=x, y=y)
    smallest, largest = x.min().item(), x.max().item()
    rule = f"x must hold numbers from 0 to {_END:g}"
    require(smallest >= 0 and largest <= _END, rule, smallest=smallest, largest=largest)
    largest = y.abs().max().item()  # NaN is not at most anything
    rule = f"y must hold numbers from {-_TALL:g} to {_TALL:g}"
    require(largest <= _TALL, rule, largest=largest)
    require(0 <= query <= _END, f"query must be from 0 to {_END:g}", query=query)
    require(0.05 <= bandwidth <= 20, "bandwidth must be from 0.05 to 20", bandwidth=bandwidth)
