"""The confusion matrix and its three ratios: counted by a loop, at the edges, on bad input."""

import re

import pytest
import torch

from softlookup.words import adjusted_rand_index, confusion_matrix, f1_score, precision, recall

# 2 true negatives, 3 false positives, 5 false negatives, 7 true positives
TRUTH = torch.tensor([0] * 5 + [1] * 12)
PREDICTED = torch.tensor([0] * 2 + [1] * 3 + [0] * 5 + [1] * 7)


def test_confusion_matrix_has_the_truth_in_its_rows():
    assert confusion_matrix(TRUTH, PREDICTED).tolist() == [[2, 3], [5, 7]]
    assert confusion_matrix(PREDICTED, TRUTH).tolist() == [[2, 5], [3, 7]]


def test_confusion_matrix_against_a_loop(generator):
    truth = torch.randint(5, (101,), generator=generator)
    predicted = torch.randint(5, (101,), generator=generator)
    expected = [[0] * 5 for _ in range(5)]
    for true, answer in zip(truth.tolist(), predicted.tolist(), strict=True):
        expected[true][answer] += 1
    assert confusion_matrix(truth, predicted, 5).tolist() == expected


def test_confusion_matrix_keeps_a_class_that_never_occurs():
    zeros = torch.zeros(3, dtype=torch.long)
    assert confusion_matrix(zeros, zeros, 3).tolist() == [[3, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_ratios_by_hand():
    assert precision(TRUTH, PREDICTED) == 7 / 10
    assert recall(TRUTH, PREDICTED) == 7 / 12
    assert f1_score(TRUTH, PREDICTED) == 14 / 22
    p, r = precision(TRUTH, PREDICTED), recall(TRUTH, PREDICTED)
    assert f1_score(TRUTH, PREDICTED) == pytest.approx(2 * p * r / (p + r), rel=1e-15)


def test_booleans_and_floats_are_labels_too():
    assert precision(TRUTH.bool(), PREDICTED.double()) == 0.7


def test_nothing_called_positive():
    truth, predicted = torch.tensor([1, 0]), torch.tensor([0, 0])
    assert (precision(truth, predicted), recall(truth, predicted)) == (0.0, 0.0)
    assert f1_score(truth, predicted) == 0.0


def test_nothing_positive():
    truth, predicted = torch.tensor([0, 0]), torch.tensor([0, 1])
    assert (precision(truth, predicted), recall(truth, predicted)) == (0.0, 0.0)
    assert f1_score(truth, truth) == 0.0


def test_a_perfect_answer():
    assert precision(TRUTH, TRUTH) == recall(TRUTH, TRUTH) == f1_score(TRUTH, TRUTH) == 1.0


def test_no_labels_at_all():
    nothing = torch.tensor([], dtype=torch.long)
    assert confusion_matrix(nothing, nothing).tolist() == [[0, 0], [0, 0]]
    assert f1_score(nothing, nothing) == 0.0


@pytest.mark.bad_input
@pytest.mark.parametrize("function", [confusion_matrix, precision, recall, f1_score])
@pytest.mark.parametrize("shape", [(3,), (2, 1), ()])
def test_shapes_that_do_not_fit(function, shape):
    predicted = torch.zeros(shape, dtype=torch.long)
    rule = "truth and predicted must be two vectors of the same length; "
    message = f"{rule}got truth=(2,), predicted={shape}"
    with pytest.raises(ValueError, match=re.escape(message)):
        function(torch.zeros(2, dtype=torch.long), predicted)


@pytest.mark.bad_input
def test_matrices_are_no_labels():
    square = torch.zeros(2, 2, dtype=torch.long)
    with pytest.raises(ValueError, match="must be two vectors"):
        confusion_matrix(square, square)


@pytest.mark.parametrize("function", [confusion_matrix, precision, recall, f1_score])
@pytest.mark.parametrize("wrong", [-1.0, 2.0, 0.5, float("nan")])
def test_labels_that_are_no_class(function, wrong):
    good, bad = torch.tensor([0.0, 1.0]), torch.tensor([1.0, wrong])
    message = re.escape(f"must hold whole numbers from 0 to 1; got wrong=[{wrong}]")
    with pytest.raises(ValueError, match=f"predicted {message}"):
        function(good, bad)
    with pytest.raises(ValueError, match=f"truth {message}"):
        function(bad, good)


@pytest.mark.parametrize("n_classes", [0, pytest.param(2.0, marks=pytest.mark.bad_input)])
def test_number_of_classes(n_classes):
    with pytest.raises(ValueError, match=f"at least 1; got n_classes={n_classes}"):
        confusion_matrix(TRUTH, PREDICTED, n_classes)


# adjusted_rand_index


def test_adjusted_rand_index_of_six_points_by_hand():
    truth, found = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([0, 0, 1, 1, 2, 2])
    together, by_chance, most = 2, 6 * 3 / 15, (6 + 3) / 2  # pairs: both, truth and found, of 15
    expected = (together - by_chance) / (most - by_chance)
    assert adjusted_rand_index(truth, found) == pytest.approx(expected)
    assert adjusted_rand_index(found, truth) == pytest.approx(expected)


def test_adjusted_rand_index_does_not_read_the_names_of_groups():
    truth = torch.tensor([0, 0, 1, 2, 2])
    assert adjusted_rand_index(truth, torch.tensor([9, 9, -4, 5, 5])) == 1.0


def test_adjusted_rand_index_of_chance_is_about_zero(generator):
    values = [
        adjusted_rand_index(*torch.randint(3, (2, 101), generator=generator)) for _ in range(50)
    ]
    assert abs(sum(values) / 50) < 0.01
    assert min(values) < 0


def test_adjusted_rand_index_where_there_is_nothing_to_compare():
    one, apart = torch.zeros(5, dtype=torch.long), torch.arange(5)
    assert adjusted_rand_index(one, one) == 1.0
    assert adjusted_rand_index(apart, apart) == 1.0
    assert adjusted_rand_index(one, apart) == 0.0
    assert adjusted_rand_index(one[:1], one[:1]) == 1.0


@pytest.mark.bad_input
def test_adjusted_rand_index_wants_one_group_a_point():
    rule = "truth and predicted must be two vectors of the same length, at least 1"
    with pytest.raises(ValueError, match=rule):
        adjusted_rand_index(torch.zeros(3, dtype=torch.long), torch.zeros(2, dtype=torch.long))
    with pytest.raises(ValueError, match=rule):
        adjusted_rand_index(torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long))
