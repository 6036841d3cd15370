"""Logistic and softmax regression: formulas in loops, what a fit must reach, bad input."""

import math
import re

import pytest
import torch
from torch.testing import assert_close

from softlookup.words import (
    fit_logistic,
    fit_softmax,
    logistic_gradient,
    logistic_loss,
    logistic_probability,
    softmax_gradient,
    softmax_loss,
    softmax_probability,
)

N, FEATURES, CLASSES = 7, 5, 3
L2 = 0.3


def table(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def random(generator, *shape):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@pytest.fixture
def binary(generator):
    """weight, bias, x, y of a logistic regression."""
    y = torch.tensor([0, 1, 1, 0, 1, 0, 0])
    return (
        random(generator, FEATURES),
        random(generator),
        random(generator, N, FEATURES),
        y,
    )


@pytest.fixture
def multiclass(generator):
    """weight, bias, x, y of a softmax regression."""
    y = torch.tensor([0, 2, 1, 1, 2, 0, 2])
    return (
        random(generator, FEATURES, CLASSES),
        random(generator, CLASSES),
        random(generator, N, FEATURES),
        y,
    )


# The formulas, one number at a time


def scores_by_hand(weight, bias, x):
    """One list of class scores a row; weight has one column for each class."""
    return [
        [
            sum(x[i][j] * weight[j][k] for j in range(len(weight))) + bias[k]
            for k in range(len(bias))
        ]
        for i in range(len(x))
    ]


def binary_probability_by_hand(weight, bias, x):
    scores = scores_by_hand([[w] for w in weight.tolist()], [bias.item()], x.tolist())
    return [1 / (1 + math.exp(-score)) for (score,) in scores]


def class_probability_by_hand(weight, bias, x):
    rows = scores_by_hand(weight.tolist(), bias.tolist(), x.tolist())
    exponentials = [[math.exp(score) for score in row] for row in rows]
    return [[value / sum(row) for value in row] for row in exponentials]


def test_logistic_probability_against_a_loop(binary):
    weight, bias, x, _ = binary
    expected = binary_probability_by_hand(weight, bias, x)
    assert_close(logistic_probability(weight, bias, x), table(*expected))


def test_softmax_probability_against_a_loop(multiclass):
    weight, bias, x, _ = multiclass
    expected = class_probability_by_hand(weight, bias, x)
    assert_close(softmax_probability(weight, bias, x), table(*expected))


@pytest.mark.parametrize("l2", [0.0, L2])
def test_logistic_loss_against_a_loop(binary, l2):
    weight, bias, x, y = binary
    probabilities = binary_probability_by_hand(weight, bias, x)
    terms = [-math.log(p if label else 1 - p) for p, label in zip(probabilities, y, strict=True)]
    penalty = l2 / 2 * sum(w * w for w in weight.tolist())
    expected = torch.tensor(sum(terms) / N + penalty, dtype=torch.float64)
    assert_close(logistic_loss(weight, bias, x, y, l2=l2), expected)


@pytest.mark.parametrize("l2", [0.0, L2])
def test_softmax_loss_against_a_loop(multiclass, l2):
    weight, bias, x, y = multiclass
    rows = class_probability_by_hand(weight, bias, x)
    terms = [-math.log(row[label]) for row, label in zip(rows, y.tolist(), strict=True)]
    penalty = l2 / 2 * sum(w * w for w in weight.flatten().tolist())
    expected = torch.tensor(sum(terms) / N + penalty, dtype=torch.float64)
    assert_close(softmax_loss(weight, bias, x, y, l2=l2), expected)


@pytest.mark.parametrize("l2", [0.0, L2])
def test_logistic_gradient_against_a_loop(binary, l2):
    weight, bias, x, y = binary
    p = binary_probability_by_hand(weight, bias, x)
    error = [p[i] - y[i].item() for i in range(N)]
    by_weight = [
        sum(error[i] * x[i, j].item() for i in range(N)) / N + l2 * weight[j].item()
        for j in range(FEATURES)
    ]
    by_bias = torch.tensor(sum(error) / N, dtype=torch.float64)
    actual = logistic_gradient(weight, bias, x, y, l2=l2)
    assert_close(actual, (table(*by_weight), by_bias))


@pytest.mark.parametrize("l2", [0.0, L2])
def test_softmax_gradient_against_a_loop(multiclass, l2):
    weight, bias, x, y = multiclass
    p = class_probability_by_hand(weight, bias, x)
    error = [[p[i][k] - (y[i].item() == k) for k in range(CLASSES)] for i in range(N)]
    by_weight = [
        [
            sum(error[i][k] * x[i, j].item() for i in range(N)) / N + l2 * weight[j, k].item()
            for k in range(CLASSES)
        ]
        for j in range(FEATURES)
    ]
    by_bias = [sum(error[i][k] for i in range(N)) / N for k in range(CLASSES)]
    actual = softmax_gradient(weight, bias, x, y, l2=l2)
    assert_close(actual, (table(*by_weight), table(*by_bias)))


def test_two_classes_by_softmax_are_one_logistic_regression(binary):
    weight, bias, x, y = binary
    two = torch.stack([torch.zeros_like(weight), weight], dim=1)
    biases = torch.stack([torch.zeros_like(bias), bias])
    p = logistic_probability(weight, bias, x)
    assert_close(softmax_probability(two, biases, x), torch.stack([1 - p, p], dim=1))
    assert_close(softmax_loss(two, biases, x, y), logistic_loss(weight, bias, x, y))


def test_large_scores_neither_overflow_nor_lose_the_small_part():
    x, zero = table([1.0], [-1.0]), torch.zeros((), dtype=torch.float64)
    wrong = logistic_loss(table(1e4), zero, x, torch.tensor([0, 1]))
    assert wrong.item() == 1e4
    right = logistic_loss(table(25.0), zero, x, torch.tensor([1, 0]))
    assert right.item() == pytest.approx(math.exp(-25), rel=1e-9)
    assert logistic_probability(table(1e4), zero, x).tolist() == [1.0, 0.0]


def test_labels_may_be_booleans_or_floats(binary):
    weight, bias, x, y = binary
    expected = logistic_loss(weight, bias, x, y)
    assert logistic_loss(weight, bias, x, y.bool()) == expected
    assert logistic_loss(weight, bias, x, y.double()) == expected


# Fitting


@pytest.mark.parametrize("l2", [1.0, 0.01, 1e-4])
def test_fit_logistic_ends_where_the_gradient_vanishes(binary, l2):
    _, _, x, y = binary
    weight, bias = fit_logistic(x, y, l2=l2, tolerance=1e-10)
    by_weight, by_bias = logistic_gradient(weight, bias, x, y, l2=l2)
    assert max(by_weight.abs().max(), by_bias.abs()) <= 1e-10


@pytest.mark.parametrize("l2", [1.0, 0.01, 1e-4])
def test_fit_softmax_ends_where_the_gradient_vanishes(multiclass, l2):
    _, _, x, y = multiclass
    weight, bias = fit_softmax(x, y, l2=l2, n_steps=10_000, tolerance=1e-10)
    by_weight, by_bias = softmax_gradient(weight, bias, x, y, l2=l2)
    assert max(by_weight.abs().max(), by_bias.abs().max()) <= 1e-10


def test_fit_logistic_classifies_every_separable_document():
    counts = table([2, 0, 1], [1, 0, 0], [1, 1, 0], [0, 2, 1], [0, 1, 0], [0, 0, 2])
    spam = torch.tensor([1, 1, 1, 0, 0, 0])
    weight, bias = fit_logistic(counts, spam, l2=1e-3)
    predicted = logistic_probability(weight, bias, counts) > 0.5
    assert predicted.tolist() == spam.bool().tolist()
    assert weight[0] > 0 > weight[1]


def test_fit_softmax_classifies_every_separable_document():
    x, y = torch.eye(5, dtype=torch.float64), torch.tensor([0, 2, 1, 2, 0])
    weight, bias = fit_softmax(x, y, l2=1e-3)
    assert softmax_probability(weight, bias, x).argmax(dim=1).tolist() == y.tolist()


def test_fit_without_penalty_on_separable_classes_stays_finite():
    x, y = table([0.0], [1.0]), torch.tensor([0, 1])
    few, more = (fit_logistic(x, y, n_steps=n)[0] for n in (10, 1000))
    assert 0 < few < more < math.inf


def test_fit_of_one_class_moves_the_bias_alone():
    weight, bias = fit_logistic(torch.zeros(3, 2, dtype=torch.float64), torch.ones(3), n_steps=50)
    assert weight.tolist() == [0.0, 0.0]
    assert bias > 1


def test_the_first_step_goes_down_the_gradient_by_one_over_the_curvature():
    x, y = table([1.0], [-1.0]), torch.tensor([1, 0])
    weight, bias = fit_logistic(x, y, n_steps=1)
    # The gradient at zero is (-1/2, 0); (x, 1) has singular values sqrt 2; curvature 1/4 * 2 / 2.
    assert_close(weight, table(2.0))
    assert_close(bias, table(0.0)[0])


def test_fit_never_ends_above_its_start(binary):
    _, _, x, y = binary
    zero = torch.zeros(FEATURES, dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    losses = [logistic_loss(*fit_logistic(x, y, n_steps=n), x, y) for n in (1, 2, 5, 17, 101)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] < logistic_loss(*zero, x, y)


def test_accelerated_descent_restarts_and_needs_few_steps(generator):
    """Plain descent, or momentum without restarts, is not there after this many steps."""
    x = random(generator, 31, FEATURES) * table(1, 2, 3, 5, 7)
    y = (random(generator, 31) > 0).long()
    weight, bias = fit_logistic(x, y, l2=1e-3, n_steps=500, tolerance=0.0)
    by_weight, by_bias = logistic_gradient(weight, bias, x, y, l2=1e-3)
    assert max(by_weight.abs().max(), by_bias.abs()) < 1e-12


def test_a_fit_in_half_precision_is_near(binary):
    _, _, x, y = binary
    (weight, _), (exact, _) = fit_logistic(x.half(), y, l2=0.1), fit_logistic(x, y, l2=0.1)
    assert weight.dtype == torch.float16
    assert_close(weight.double(), exact, atol=2e-2, rtol=0)


def test_fit_is_the_same_twice(binary):
    _, _, x, y = binary
    first, second = (fit_logistic(x, y, l2=0.1) for _ in range(2))
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1], second[1])


def test_fit_softmax_with_a_class_that_has_no_document(multiclass):
    _, _, x, y = multiclass
    weight, bias = fit_softmax(x, y, n_classes=5, l2=0.1)
    assert weight.shape == (FEATURES, 5)
    assert bias.shape == (5,)
    assert fit_softmax(x, y, l2=0.1)[0].shape == (FEATURES, CLASSES)
    skips_class_1 = torch.where(y == 1, 2, y)  # None counts up to the largest label
    assert fit_softmax(x, skips_class_1, l2=0.1)[0].shape == (FEATURES, CLASSES)


# Bad input


def refused(message):
    return pytest.raises(ValueError, match=re.escape(message))


def fit_logistic_like(weight, bias, x, y, **options):
    return fit_logistic(x, y, **options)


def fit_softmax_like(weight, bias, x, y, **options):
    return fit_softmax(x, y, n_classes=len(bias), **options)


LOGISTIC = [logistic_loss, logistic_gradient, fit_logistic_like]
SOFTMAX = [softmax_loss, softmax_gradient, fit_softmax_like]


@pytest.mark.parametrize("function", LOGISTIC)
@pytest.mark.parametrize("wrong", [2.0, -1.0, 0.5, math.nan])
def test_logistic_labels_other_than_0_and_1(binary, function, wrong):
    weight, bias, x, _ = binary
    y = table(0, 1, 1, 0, 1, wrong, 0)
    with refused(f"y must hold the labels 0 and 1 only; got wrong=[{wrong}]"):
        function(weight, bias, x, y)


@pytest.mark.parametrize("function", SOFTMAX)
@pytest.mark.parametrize("wrong", [-1, 3])
def test_softmax_labels_that_are_no_class(multiclass, function, wrong):
    weight, bias, x, y = multiclass
    y[4] = wrong
    with refused("y must be from 0 to 2; got smallest="):
        function(weight, bias, x, y)


def test_no_rows(binary, multiclass):
    message = "x must have at least one entry on its axis n: shape (n, features); got x=(0, 5)"
    for functions, (weight, bias, x, y) in ((LOGISTIC, binary), (SOFTMAX, multiclass)):
        for function in functions:
            with refused(message):
                function(weight, bias, x[:0], y[:0])


@pytest.mark.parametrize("wrong", [-0.1, math.nan, math.inf])
def test_penalty_out_of_range(binary, multiclass, wrong):
    for functions, model in ((LOGISTIC, binary), (SOFTMAX, multiclass)):
        for function in functions:
            with refused(f"l2 must be at least 0 and finite; got l2={wrong}"):
                function(*model, l2=wrong)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_numbers_that_are_not_finite(binary, multiclass, place, wrong):
    for functions, model, probability in (
        (LOGISTIC, binary, logistic_probability),
        (SOFTMAX, multiclass, softmax_probability),
    ):
        model[place].view(-1)[0] = wrong
        fits = functions[:2] if place < 2 else functions  # a fit takes no weight and no bias
        together = "weight, bias and x must be finite and their scores too; got scores=(7"
        for call in [lambda *m, f=probability: f(*m[:3]), *fits]:
            with refused(together if place < 2 else "x must be finite; got smallest="):
                call(*model)


def test_finite_numbers_whose_scores_overflow(binary):
    weight, bias, x, _ = binary
    with refused("weight, bias and x must be finite and their scores too; got scores=(7"):
        logistic_probability(weight * 1e200, bias, x * 1e200)


def test_fit_options_out_of_range(binary, multiclass):
    for fit, (_, _, x, y) in ((fit_logistic, binary), (fit_softmax, multiclass)):
        with refused("n_steps must be an integer of at least 1; got n_steps=0"):
            fit(x, y, n_steps=0)
        with refused("tolerance must be at least 0 and finite; got tolerance=-1.0"):
            fit(x, y, tolerance=-1.0)
    _, _, x, y = multiclass
    with refused("n_classes must be an integer of at least 1 or None; got n_classes=0"):
        fit_softmax(x, y, n_classes=0)
    with refused("y must be from 0 to 1000000; got smallest=-1, largest=-1"):
        fit_softmax(x, -torch.ones_like(y))
