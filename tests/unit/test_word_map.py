"""Maps of words: every point in its place, in its group's look, with its name."""

import math
from itertools import combinations, pairwise

import matplotlib.pyplot as plt
import pytest
import torch

from softlookup.show import word_map
from softlookup.show.word_map import LINE_HEIGHT, LOOKS, NAME_WIDTH

WORDS = ["king", "queen", "the", "cat", "dog"]
XY = torch.tensor([[0.0, 1.0], [2.0, 3.0], [-1.0, 0.5], [4.0, -2.0], [5.0, -3.0]])
GROUPS = {"royal": ["queen", "king"], "animals": ["cat", "dog"]}


def points(ax, place):
    """A place of the data in points on the paper."""
    return torch.as_tensor(ax.transData.transform(place)) * 72 / ax.figure.dpi


def cross(a, b, c, d):
    """Whether the line from a to b crosses the one from c to d: the solution of two equations."""
    s, t = torch.linalg.solve(torch.stack([b - a, c - d], dim=1), c - a).tolist()
    return 0 < s < 1 and 0 < t < 1


@pytest.fixture
def ax():
    """An empty axis."""
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_points_stand_where_they_should_in_the_look_of_their_group(ax):
    assert word_map(ax, XY, WORDS, GROUPS) is ax
    everyone, *groups = ax.lines
    assert everyone.get_xydata().tolist() == XY.tolist()
    wanted = [XY[[1, 0]].tolist(), XY[[3, 4]].tolist()]
    assert [line.get_xydata().tolist() for line in groups] == wanted
    assert [(line.get_marker(), line.get_color()) for line in groups] == list(LOOKS[:2])
    assert [line.get_label() for line in groups] == list(GROUPS)


def test_the_words_of_groups_have_their_names_beside_them(ax):
    word_map(ax, XY, WORDS, GROUPS)
    places = {text.get_text(): (list(text.xy), text.get_ha()) for text in ax.texts}
    assert places.keys() == {"king", "queen", "cat", "dog"}
    assert places["king"] == ([0.0, 1.0], "left")  # to the right of its point
    assert places["dog"] == ([5.0, -3.0], "right")


def test_names_can_be_left_out(ax):
    word_map(ax, XY, WORDS, GROUPS, names=False)
    assert not ax.texts


def test_names_of_near_points_are_moved_apart(ax):
    xy = torch.tensor([[0.0, 0.0], [0.0, 0.001], [0.0, 0.002], [1.0, 1.0], [1.0, -1.0]])
    word_map(ax, xy, WORDS, {"near": WORDS[:3]})
    heights = [text.xyann[1] for text in ax.texts]
    assert all(above - below > LINE_HEIGHT - 1 for below, above in pairwise(heights))
    assert abs(sum(heights)) < 1  # the middle stays


def test_lines_to_names_do_not_cross(ax):
    ax.set(xlim=(0, 300), ylim=(0, 300))
    xy = torch.tensor([[100.0, 122.0], [110, 105], [108, 124], [131, 127], [200, 10]])
    ax.figure.canvas.draw()
    word_map(
        ax, xy, ["queen", "king", "boy", "girl", "the"], {"": ["queen", "king", "boy", "girl"]}
    )
    names = {text.get_text(): text for text in ax.texts}
    lines = [
        (points(ax, text.xy), points(ax, text.xy) + torch.tensor(text.xyann))
        for text in names.values()
    ]
    assert not any(cross(*one, *other) for one, other in combinations(lines, 2))


def test_no_name_covers_another_where_words_lie_in_twins(ax):
    """As on a t-SNE, whose twins are nearly one point: names that change places stay apart."""
    ax.set(xlim=(0, 357), ylim=(0, 266))  # one to a point of the paper
    ax.figure.canvas.draw()
    xy = [[236.1, 90.2], [234.5, 91.6], [211.2, 71.4], [209.3, 71.7], [262.5, 70.1], [264.2, 68.8]]
    words = ["cat", "cats", "dog", "dogs", "horse", "horses"]
    word_map(ax, torch.tensor(xy), words, {"animals": words})
    heights = [(points(ax, text.xy) + torch.tensor(text.xyann))[1] for text in ax.texts]
    for (x, low), (other, high) in combinations(zip(xy, heights, strict=True), 2):
        if abs(x[0] - other[0]) < NAME_WIDTH:
            assert abs(high - low) > LINE_HEIGHT - 1.5


BAD = {
    "places too few": ({"xy": XY[:4]}, "two numbers for each word"),
    "three numbers": ({"xy": torch.zeros(5, 3)}, "two numbers for each word"),
    "NaN": ({"xy": torch.full((5, 2), math.nan)}, "must be finite"),
    "a word twice": ({"words": ["a", "b", "c", "d", "a"]}, "must be distinct"),
    "no group": ({"groups": {}}, "1 to 4 groups"),
    "five groups": ({"groups": {str(k): ["cat"] for k in range(5)}}, "1 to 4 groups"),
    "a stranger": ({"groups": {"royal": ["king", "prince"]}}, r"missing=\['prince'\]"),
}


@pytest.mark.bad_input
@pytest.mark.parametrize("case", BAD)
def test_bad_maps_are_refused(ax, case):
    change, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        word_map(ax, **{"xy": XY, "words": WORDS, "groups": GROUPS, **change})
