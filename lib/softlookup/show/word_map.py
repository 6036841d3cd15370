"""A map of words: points in the plane, in the colours of their groups, with their names."""

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
        ValueError: There is not one place a word, a place is no finite number, or a group holds a
            word that is not in ``words``.
    """
    xy = torch.as_tensor(xy).detach().double()
    require(xy.shape == (len(words), 2), "xy must have two numbers for each word", xy=xy,
            words=len(words))  # fmt: skip
    require(bool(torch.isfinite(xy).all()), "the places of the words must be finite", xy=xy)
    require_distinct(words=list(words))
    require(1 <= len(groups) <= len(LOOKS), f"there must be 1 to {len(LOOKS)} groups",
            groups=list(groups))  # fmt: skip
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
    """Names beside their points, moved up or down until no two of the group cover each other."""
    points = torch.as_tensor(ax.transData.transform(places.numpy())) * 72 / ax.figure.dpi
    side = -1 if to_the_left else 1
    heights = torch.tensor(_apart(points.tolist())).double()
    for i, word in enumerate(members):
        beside = (points[:, 1] - heights[i]).abs() < LINE_HEIGHT  # points that it could cover
        beside &= (points[:, 0] - points[i, 0]).abs() < NAME_WIDTH
        beside[i] = True
        edge = (side * points[beside, 0]).max()
        shift = side * edge - points[i, 0] + 7 * side, heights[i] - points[i, 1]
        ax.annotate(
            word,
            places[i].tolist(),
            [number.item() for number in shift],
            textcoords="offset points",
            ha="right" if to_the_left else "left",
            va="center",
            color=colour,
            fontsize=9,
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
