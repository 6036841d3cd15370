"""The pictures of tokens: what is drawn where."""

import matplotlib.pyplot as plt
import pytest

from softlookup.show import merge_tree, token_rows
from softlookup.show.style import BLUE, GREY, ORANGE

SMILE = "😁".encode()


@pytest.fixture
def ax():
    """An empty axis, closed afterwards."""
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_boxes_are_as_wide_as_their_bytes_and_keep_the_order(ax):
    rows = {
        "words": [b"ok", b" " + SMILE],
        "bytes": [b"o", b"k", b" ", *(bytes([b]) for b in SMILE)],
    }
    assert token_rows(ax, rows, lost=[("words", 1)]) is ax
    boxes = [(round(box.get_x() - 0.06, 9), round(box.get_width() + 0.12, 9)) for box in ax.patches]
    assert boxes == [(0, 2), (2, 5), *((x, 1) for x in range(7))]
    heights = [round(box.get_y() + 0.36, 9) for box in ax.patches]
    assert heights == [0, 0, *[1] * 7]
    assert [text.get_text() for text in ax.texts] == (
        ["ok", "_😁", "o", "k", "_", "F0", "9F", "98", "81"]
    )
    assert [text.get_color() for text in ax.texts[:4]] == [BLUE, GREY, BLUE, ORANGE]
    assert [box.get_linestyle() for box in ax.patches[:3]] == ["-", ":", "-"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["words", "bytes"]
    assert ax.get_ylim() == (1.5, -0.5)  # the first row on top
    assert ax.get_xlim() == (0, 7)


def test_a_part_of_a_character_is_shown_in_hexadecimal_digits(ax):
    token_rows(ax, {"half": [SMILE[:3], SMILE[3:]]})
    assert [text.get_text() for text in ax.texts] == ["F0 9F 98", "81"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({}, "one text, cut in several ways"),
        ({"a": [b"ab"], "b": [b"a", b"c"]}, "one text, cut in several ways; got a=b'ab', b=b'ac'"),
        ({"a": [b"a", b""]}, "a part must hold at least one byte"),
    ],
)
def test_rows_that_are_no_cuts_of_one_text_are_refused(ax, rows, message):
    with pytest.raises(ValueError, match=message):
        token_rows(ax, rows)


def lines_of(ax) -> list[tuple[list, list]]:
    """The joins: their places and heights."""
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines
            if len(line.get_xdata()) == 4]  # fmt: skip


def test_a_join_stands_as_high_as_its_rank_over_the_middles_of_its_parts(ax):
    merges = [("b", "c"), ("x", "y"), ("a", "bc"), ("abc", "d")]
    assert merge_tree(ax, "abcd", merges) is ax
    assert lines_of(ax) == [
        ([1, 1, 2, 2], [0, 1, 1, 0]),
        ([0, 0, 1.5, 1.5], [0, 3, 3, 1]),
        ([0.75, 0.75, 3, 3], [3, 4, 4, 0]),
    ]
    (node,) = (line for line in ax.lines if len(line.get_xdata()) == 1)
    assert (*node.get_xdata(), *node.get_ydata(), node.get_color()) == (1.875, 4, ORANGE)


def test_what_stays_alone_is_grey_and_a_merge_joins_all_its_places(ax):
    merge_tree(ax, " ananx", [("a", "n")])
    assert lines_of(ax) == [([1, 1, 2, 2], [0, 1, 1, 0]), ([3, 3, 4, 4], [0, 1, 1, 0])]
    nodes = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert [node.get_color() for node in nodes] == [GREY, ORANGE, ORANGE, GREY]
    assert [label.get_text() for label in ax.get_xticklabels()] == list("_ananx")


def test_three_equal_letters_hold_one_join(ax):
    merge_tree(ax, "aaa", [("a", "a")])
    assert lines_of(ax) == [([0, 0, 1, 1], [0, 1, 1, 0])]


def test_a_tree_needs_a_chunk(ax):
    with pytest.raises(ValueError, match="chunk must hold at least one character; got"):
        merge_tree(ax, "", [])
