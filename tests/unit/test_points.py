"""Arrows and groups of points: what is drawn where, and what is refused."""

import math

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.colors import to_hex

from softlookup.show import arrows, scatter_groups, setup
from softlookup.show.style import COLOURS


@pytest.fixture
def ax():
    """An axis in the book's style."""
    setup(0)
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_arrows_run_from_the_origin_to_their_tips_with_names_beyond(ax):
    assert arrows(ax, {"x": (3.0, 1.0), "y": torch.tensor([-1.0, 2.0])}) is ax
    tips = [text for text in ax.texts if text.arrow_patch is not None]
    names = [text for text in ax.texts if text.arrow_patch is None]
    assert [tuple(tip.xy) for tip in tips] == [(3, 1), (-1, 2)]
    assert [tuple(tip.xyann) for tip in tips] == [(0, 0), (0, 0)]
    assert [name.get_text() for name in names] == ["x", "y"]
    for name, (a, b) in zip(names, [(3, 1), (-1, 2)], strict=True):
        dx, dy = name.xyann
        assert dx * b == pytest.approx(dy * a)  # in the arrow's own direction
        assert dx * a + dy * b > 0
    low, high = ax.get_xlim()
    assert low < -1
    assert high > 3


def test_arrows_take_their_colours_in_order(ax):
    arrows(ax, {"a": (1.0, 0.0), "b": (0.0, 1.0)})
    arrows(ax, {"c": (1.0, 1.0)}, colours=["#123456"])
    names = [text.get_color() for text in ax.texts if text.arrow_patch is None]
    assert [to_hex(colour) for colour in names] == [*COLOURS[:2], "#123456"]


def test_a_zero_vector_is_drawn_without_a_fault(ax):
    arrows(ax, {"zero": (0.0, 0.0), "x": (1.0, 1.0)})
    ax.figure.canvas.draw()


def test_groups_keep_colour_marker_and_points_apart(ax):
    points = {"first": torch.tensor([[0.0, 1.0], [2.0, 3.0]]), "second": [[5.0, 5.0]]}
    assert scatter_groups(ax, points) is ax
    first, second = ax.lines
    assert first.get_xydata().tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert second.get_xydata().tolist() == [[5.0, 5.0]]
    assert first.get_color() != second.get_color()
    assert first.get_marker() != second.get_marker()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["first", "second"]


def test_names_may_stand_above_their_groups(ax):
    scatter_groups(ax, {"low": [[0.0, 0.0], [2.0, 1.0]], "high": [[9.0, 9.0]]}, names="beside")
    assert ax.get_legend() is None
    assert [(text.get_text(), text.xy) for text in ax.texts] == [("low", (1, 1)), ("high", (9, 9))]


@pytest.mark.bad_input
def test_bad_groups_are_refused(ax):
    with pytest.raises(ValueError, match="names must be one of 'legend', 'beside'; got names='in'"):
        scatter_groups(ax, {"a": [[0, 0]]}, names="in")
    with pytest.raises(ValueError, match="at most 6 groups can be told apart; got groups=7"):
        scatter_groups(ax, {str(k): [[0, 0]] for k in range(7)})
    for wrong in [[0, 0, 0]], [], [1, 2]:
        with pytest.raises(ValueError, match="'a' must hold points of two numbers; got shape="):
            scatter_groups(ax, {"a": wrong})
    for wrong in math.nan, math.inf:
        with pytest.raises(ValueError, match="'a' must hold finite numbers"):
            scatter_groups(ax, {"a": [[0, wrong]]})
        with pytest.raises(ValueError, match="'a' must hold finite numbers"):
            arrows(ax, {"a": [0, wrong]})
    with pytest.raises(ValueError, match="each vector needs a colour; got colours=1, vectors=2"):
        arrows(ax, {"a": (1.0, 0.0), "b": (0.0, 1.0)}, colours=["#123456"])
