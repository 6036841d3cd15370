"""A map of words: points in the plane, in the colours of their groups, with their names."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from softlookup.checks import require, require_distinct
from softlookup.show.style import BLUE, GREEN, GREY, ORANGE, PURPLE

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
        ax: Where to draw.
        xy: The place of each word.
        words: The words, distinct.
        groups: For each of 1 to 4 groups its name and its words. The names of the words stand to
            the right of the first group's points, to the left of the second's, and so on, from
            point to point a little higher and lower, so that neighbours can be read.
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
    by_height = places[:, 1].argsort().tolist()
    for rank, i in enumerate(by_height):
        shift = (-6 if to_the_left else 6, 2 if rank % 2 else -4)
        ax.annotate(
            members[i],
            places[i].tolist(),
            shift,
            textcoords="offset points",
            ha="right" if to_the_left else "left",
            va="baseline" if rank % 2 else "center",
            color=colour,
            fontsize=9,
        )
