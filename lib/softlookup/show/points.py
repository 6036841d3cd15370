"""Pictures of vectors in the plane: arrows from the origin, and groups of points."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from torch import Tensor

from softlookup.checks import require, require_choice
from softlookup.show.style import COLOURS, PAPER

_MARKERS = "os^DvP"


def arrows(
    ax: Axes, tips: Mapping[str, Sequence[float] | Tensor], *, colours: Sequence[str] = ()
) -> Axes:
    """Draw vectors as arrows from the origin, each with its name beyond its tip.

    Args:
        ax: Where to draw.
        tips: A name and two numbers for each vector.
        colours: One for each vector; the style's own in their order if left out.

    Raises:
        ValueError: A vector has not two finite numbers, or ``colours`` are too few.
    """
    colours = colours or [COLOURS[k % len(COLOURS)] for k in range(len(tips))]
    require(
        len(colours) >= len(tips),
        "each vector needs a colour",
        colours=len(colours),
        vectors=len(tips),
    )
    halo = withStroke(linewidth=4, foreground=PAPER)
    for (name, tip), colour in zip(tips.items(), colours, strict=False):
        a, b = _points(torch.as_tensor(tip)[None], name)[0].tolist()
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (a, b), (0, 0), arrowprops=arrow)
        length = (a**2 + b**2) ** 0.5 or 1.0
        ax.annotate(
            name,
            (a, b),
            (11 * a / length, 11 * b / length),
            textcoords="offset points",
            ha="center" if abs(a) < 0.7 * length else "left" if a > 0 else "right",
            va="center",
            color=colour,
            path_effects=[halo],
        )
        ax.update_datalim([(0, 0), (a, b)])
    ax.set_aspect("equal")
    ax.margins(0.18)
    ax.autoscale_view()
    return ax


def scatter_groups(
    ax: Axes,
    groups: Mapping[str, Tensor | np.ndarray | Sequence[Sequence[float]]],
    *,
    names: str = "legend",
) -> Axes:
    """Draw groups of points of the plane, each in a colour and with a marker of its own.

    Args:
        ax: Where to draw.
        groups: A name and its points, two numbers a row, for each group; 6 groups at most.
        names: Where the names stand: "legend", or "beside", above each group.

    Raises:
        ValueError: There are too many groups, a group is no list of points, or ``names`` is
            unknown.
    """
    require_choice(("legend", "beside"), names=names)
    most = len(_MARKERS)
    require(len(groups) <= most, f"at most {most} groups can be told apart", groups=len(groups))
    for (name, values), colour, marker in zip(groups.items(), COLOURS, _MARKERS, strict=False):
        points = _points(values, name)
        ax.plot(*points.T.numpy(), marker, color=colour, label=name, ms=5)
        if names == "beside":
            place = points[:, 0].mean().item(), points[:, 1].max().item()
            ax.annotate(
                name,
                place,
                (0, 9),
                textcoords="offset points",
                ha="center",
                color=colour,
                fontsize=9,
            )
    if names == "legend":
        ax.legend()
    ax.set(xticks=[], yticks=[])
    ax.margins(0.15)
    ax.spines[:].set_visible(False)
    return ax


def _points(values: object, name: str) -> Tensor:
    points = torch.as_tensor(values).detach().double()
    fits = points.ndim == 2 and points.shape[1] == 2 and len(points) > 0
    require(fits, f"{name!r} must hold points of two numbers", shape=tuple(points.shape))
    require(bool(points.isfinite().all()), f"{name!r} must hold finite numbers")
    return points
