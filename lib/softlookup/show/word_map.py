"""A map of words: points in the plane, in the colours of their groups, with their names."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from softlookup.checks import require, require_distinct
from softlookup.show.style import BLUE, GREEN, GREY, ORANGE, PURPLE

LINE_HEIGHT = 11
NAME_WIDTH = 50
"""How far apart names of a group stand at least, in points; names further aside do not touch."""

COVER = 8
"""How far above or below a name a point begins to be covered by it, in points."""

DOT = 3.5
"""How near to a point's centre a line to another point should not come, in points."""

CROSSING = 40
"""A crossing of two lines is as bad as so many points that names are moved up or down."""

AWAY = 4
"""A name that is moved further than this from beside its point, in points, gets a line to it."""

LOOKS = (("o", BLUE), ("s", ORANGE), ("^", GREEN), ("D", PURPLE))
"""Marker and colour of the first group, the second, and so on."""


def word_map(
    ax: Axes,
    xy: Float[Tensor, "words 2"],
    words: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    *,
    names: bool = True,
) -> Axes:
    """Draw words as points: those of a group in one colour and shape, the others as grey dots.

    Args:
        ax: Where to draw. Set its limits or margins before: names that would cover each other are
            moved apart for the scale that it then has.
        xy: The place of each word.
        words: The words, distinct.
        groups: For each of 1 to 4 groups its name and its words. The names of the words stand to
            the right of the first group's points, to the left of the second's, and so on.
        names: Whether to write the words of the groups beside their points.

    Returns:
        The axis; its handles carry the names of the groups, for a legend.

    Raises:
        ValueError: There is not one place for each word, a place is no finite number, or a group
            holds a word that is not in ``words``.
    """
    xy = torch.as_tensor(xy).detach().double()
    require(
        xy.shape == (len(words), 2),
        "xy must have two numbers for each word",
        xy=xy,
        words=len(words),
    )
    require(bool(torch.isfinite(xy).all()), "the places of the words must be finite", xy=xy)
    require_distinct(words=list(words))
    require(
        1 <= len(groups) <= len(LOOKS),
        f"there must be 1 to {len(LOOKS)} groups",
        groups=list(groups),
    )
    row = {word: i for i, word in enumerate(words)}
    missing = [word for members in groups.values() for word in members if word not in row]
    require(not missing, "each word of a group must be one of the words", missing=missing)
    ax.plot(*xy.T.numpy(), ".", color=GREY, ms=4, zorder=1)
    for k, (group, members) in enumerate(groups.items()):
        marker, colour = LOOKS[k]
        places = xy[[row[word] for word in members]]
        ax.plot(*places.T.numpy(), marker, color=colour, ms=5.5, label=group)
        if names:
            _write(ax, places, members, colour, to_the_left=k % 2 == 1)
    return ax


def _write(
    ax: Axes, places: Tensor, members: Sequence[str], colour: str, *, to_the_left: bool
) -> None:
    """Names beside their points, moved until no two of the group cover each other."""
    points = torch.as_tensor(ax.transData.transform(places.numpy())) * 72 / ax.figure.dpi
    side = -1 if to_the_left else 1
    heights = _unblocked(points, torch.tensor(_apart(points.tolist())).double(), side)
    for i, word in enumerate(members):
        shift = _begin(points, i, heights[i], side) - points[i]
        moved = torch.linalg.norm(shift - torch.tensor([7.0 * side, 0.0])) > AWAY
        line = {"arrowstyle": "-", "color": colour, "lw": 0.7, "shrinkA": 0, "shrinkB": 0}
        line["relpos"] = (1 if to_the_left else 0, 0.5)
        ax.annotate(
            word,
            places[i].tolist(),
            shift.tolist(),
            textcoords="offset points",
            ha="right" if to_the_left else "left",
            va="center",
            bbox={"pad": 1, "ec": "none", "fc": "none"},  # where the line ends
            arrowprops=line if moved else None,
            color=colour,
            fontsize=9,
        )


def _begin(points: Tensor, i: int, height: Tensor, side: int) -> Tensor:
    """Where the name of point i begins at this height: beyond all points that it could cover."""
    beside = (points[:, 1] - height).abs() < COVER
    beside &= (points[:, 0] - points[i, 0]).abs() < NAME_WIDTH
    beside[i] = True
    return torch.stack([side * (side * points[beside, 0]).max() + 7 * side, height])


def _unblocked(points: Tensor, heights: Tensor, side: int) -> Tensor:
    """The heights, two exchanged as long as fewer lines run through others, or their points.

    No name comes to cover another by it.
    """

    def cost(order: Tensor) -> float:
        total = (order - points[:, 1]).abs().sum().item()
        ends = torch.stack([_begin(points, i, height, side) for i, height in enumerate(order)])
        for i, along in enumerate(ends - points):
            t = ((points - points[i]) @ along / (along @ along)).clamp(0, 1)
            gap = torch.linalg.norm(points - points[i] - t[:, None] * along, dim=1)
            total += 1000 * (gap < DOT).sum().item()
        covered = sum(abs(order[i] - order[j]).item() < LINE_HEIGHT - 1 for i, j in near)
        return total + 1000 * covered + CROSSING * _crossings(starts, ends.tolist())

    starts = points.tolist()
    near = [pair for pair in combinations(range(len(points)), 2) if _near(*points[list(pair)])]
    best, swaps = cost(heights), list(combinations(range(len(points)), 2))
    for i, j in swaps * 3:
        exchanged = heights.clone()
        exchanged[[i, j]] = heights[[j, i]]
        if cost(exchanged) < best - 1e-6:
            heights, best = exchanged, cost(exchanged)
    return heights


def _crossings(starts: list[list[float]], ends: list[list[float]]) -> int:
    """How many pairs of lines cross; those of two points in one place do not count."""

    def parted(i: int, j: int) -> bool:
        """Whether line j begins on one side of line i and ends on the other."""
        (x, y), (a, b) = ends[i], starts[i]
        one, other = ((x - a) * (v - b) - (y - b) * (u - a) for u, v in (starts[j], ends[j]))
        return one * other < 0

    return sum(
        math.dist(starts[i], starts[j]) > DOT and parted(i, j) and parted(j, i)
        for i, j in combinations(range(len(starts)), 2)
    )


def _apart(points: list[list[float]]) -> list[float]:
    """The heights of points, those of near points pushed apart until names fit between them."""
    order = sorted(range(len(points)), key=lambda i: points[i][1])
    heights = [height for _, height in points]
    near = [pair for pair in combinations(order, 2) if _near(*(points[i] for i in pair))]
    for _ in range(100):
        for below, above in near:
            lack = LINE_HEIGHT - (heights[above] - heights[below])
            if lack > 1e-6:
                heights[below] -= lack / 2
                heights[above] += lack / 2
    return heights


def _near(one: list[float], other: list[float]) -> bool:
    return abs(one[0] - other[0]) < NAME_WIDTH
