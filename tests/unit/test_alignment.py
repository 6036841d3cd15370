"""Alignments: the grid of lecture 001, crossing links, the error rate by hand, bad input."""

import pytest
import torch

from softlookup.translation import alignment_error_rate, alignment_matrix, best_links, is_monotone

# lecture 001, "Attention is great!": rows il, a, m', entarté as printed; he hit me with a pie
PRINTED = {(0, 0), (1, 1), (2, 2), (3, 1), (3, 3), (3, 4), (3, 5)}


def test_grid_of_lecture_001():
    """`alignment-matrix-entarte`, W14."""
    grid = alignment_matrix(PRINTED, 4, 6)
    assert grid.sum(dim=1).tolist() == [1, 1, 1, 4]
    assert grid.sum(dim=0).tolist() == [1, 2, 1, 1, 1, 1]


def test_right_word_order_crosses():
    """E37: il m' a entarté. The first words go to columns 0, 2, 1."""
    right = {({1: 2, 2: 1}.get(i, i), j) for i, j in PRINTED}
    first = alignment_matrix(right, 4, 6)[:3].int().argmax(dim=1)
    assert first.tolist() == [0, 2, 1]
    assert not is_monotone({(i, j) for i, j in right if i < 3})
    assert is_monotone({(i, j) for i, j in PRINTED if i < 3})


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        (set(), True),
        ({(0, 3)}, True),
        ({(0, 0), (0, 5), (1, 5)}, True),
        ({(0, 5), (1, 0)}, False),
        ([(1, 0), (0, 5)], False),
        ({(2, 1), (2, 0)}, True),
        ({(0, 1), (1, 1)}, True),
    ],
)
def test_monotone(links, expected):
    assert is_monotone(links) is expected


def test_best_links_are_the_largest_weight_of_each_row():
    weights = torch.tensor([[0.2, 0.5, 0.3], [0.0, 0.0, 0.0], [0.4, 0.4, 0.2], [0.0, 0.0, 1.0]])
    assert best_links(weights) == {(0, 1), (2, 0), (3, 2)}
    assert best_links(torch.zeros(0, 3)) == best_links(torch.zeros(3, 0)) == set()


def test_error_rate_by_hand():
    """A has 4 links: 2 sure, 1 possible, 1 wrong; S has 3: 1 - (2 + 3) / (4 + 3)."""
    guess = [{(0, 0), (1, 1), (2, 1), (3, 0)}]
    sure = [{(0, 0), (1, 1), (2, 2)}]
    possible = [{(0, 0), (1, 1), (2, 2), (2, 1)}]
    assert alignment_error_rate(guess, sure, possible) == pytest.approx(1 - 5 / 7)
    assert alignment_error_rate(guess, sure) == pytest.approx(1 - 4 / 7)


def test_sure_links_are_possible_even_if_not_said():
    guess, sure = [{(0, 0)}], [{(0, 0)}]
    assert alignment_error_rate(guess, sure, [set()]) == 0.0


def test_error_rate_counts_all_sentences_together():
    guess = [{(0, 0)}, {(0, 0), (1, 1), (2, 2)}]
    sure = [{(0, 1)}, {(0, 0), (1, 1), (2, 2)}]
    assert alignment_error_rate(guess, sure) == pytest.approx(1 - 6 / 8)


def test_ends_of_the_error_rate():
    assert alignment_error_rate([{(0, 0), (1, 1)}], [{(1, 1), (0, 0)}]) == 0.0
    assert alignment_error_rate([{(0, 1)}], [{(0, 0)}]) == 1.0
    assert alignment_error_rate([set()], [{(0, 0)}]) == 1.0
    assert alignment_error_rate([[(0, 0), (0, 0)]], [[(0, 0)]]) == 0.0


# bad input


@pytest.mark.parametrize("value", [-1.0, torch.nan])
def test_best_links_refuse_what_is_no_weight(value):
    with pytest.raises(ValueError, match=f"weights must be at least 0 .*; got smallest={value}"):
        best_links(torch.tensor([[0.5, value]]))


@pytest.mark.parametrize("link", [(4, 0), (0, 6), (-1, 0), (0, -1)])
def test_matrix_refuses_links_outside(link):
    with pytest.raises(ValueError, match=r"grid of 4 rows and 6 columns; got outside=\[\(-?\d, -?"):
        alignment_matrix({(0, 0), link}, 4, 6)


def test_matrix_refuses_sizes():
    with pytest.raises(ValueError, match="n_k must be an integer of at least 1; got n_k=0"):
        alignment_matrix(set(), 4, 0)


def test_error_rate_refuses():
    with pytest.raises(ValueError, match="as many sentences; got predicted=1, sure=2, possible=2"):
        alignment_error_rate([{(0, 0)}], [{(0, 0)}, {(0, 0)}])
    with pytest.raises(ValueError, match="at least one link, predicted or sure; got n_links=0"):
        alignment_error_rate([set()], [set()])
