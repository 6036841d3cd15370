"""The confusion matrix and its three ratios: counted by a loop, at the edges, on bad input."""

import re

import pytest
import torch

from softlookup.metrics import confusion_matrix, f1_score, precision, recall

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
