"""Linear classifiers from scratch: logistic and softmax regression, their gradients by hand."""

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

from softlookup.checks import Finite, Ids, NotNegative, Range, Size, checked, require
from softlookup.ops import cross_entropy, sigmoid, softmax

Features = Annotated[Float[Tensor, "n features"], Finite]
"""What describes the documents, one row for each."""

Binary = Real[Tensor, "n"] | Bool[Tensor, "n"]
"""The class of each document, 0 or 1."""

Classes = Annotated[Int[Tensor, "n"], Ids("classes")]
"""The class of each document, from 0: the number of a column of the weights."""

MOST_CLASSES = 10**6
"""More than any task has; a label beyond is a slip."""


@checked
def logistic_probability(
    weight: Float[Tensor, "features"], bias: Float[Tensor, ""], x: Features
) -> Float[Tensor, "n"]:
    r"""The probability of class 1: $p(y=1 \mid x) = \sigma(x \cdot w + b)$.

    Args:
        weight: One number for each feature.
        bias: One number.
        x: One row for each document.

    Returns:
        Numbers between 0 and 1.

    Raises:
        ValueError: The shapes or types do not fit, or a number is not finite.

    Source: Bishop 2006, section 4.3.2; lecture 000, "Spam".
    Chapter: counting_words#logistic-regression.

    Example:
        >>> x = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
        >>> logistic_probability(torch.tensor([math.log(3), 0.0]), torch.tensor(0.0), x)
        tensor([0.5000, 0.7500])
    """
    return sigmoid(_scores(weight, bias, x))


@checked(not_empty="n")
def logistic_loss(
    weight: Float[Tensor, "features"],
    bias: Float[Tensor, ""],
    x: Features,
    y: Binary,
    *,
    l2: NotNegative = 0.0,
) -> Float[Tensor, ""]:
    r"""Mean cross-entropy, plus $\frac{\lambda}{2}\lVert w \rVert^2$; the bias goes free.

    With score $s = x \cdot w + b$, one document costs $\log(1 + e^s) - y s$, which is
    $-\log p(y \mid x)$ written so that no large score overflows.

    Args:
        weight: One number for each feature.
        bias: One number.
        x: One row for each document.
        y: True classes, 1 or 0.
        l2: $\lambda$, at least 0. scikit-learn's C is $1/(\lambda n)$.

    Returns:
        One number, at least 0.

    Raises:
        ValueError: The shapes or types do not fit, a label is not 0 or 1, there is no row, ``l2``
            is negative, or a number is not finite.

    Source: Bishop 2006, section 4.3.2. Chapter: counting_words#logistic-regression.

    Example:
        >>> x, y = torch.tensor([[1.0], [2.0]]), torch.tensor([0, 1])
        >>> logistic_loss(torch.zeros(1), torch.tensor(0.0), x, y)  # log 2: a coin
        tensor(0.6931)
    """
    y = _zeros_and_ones(y, x)
    scores = _scores(weight, bias, x)
    losses = torch.logaddexp(scores, torch.zeros_like(scores)) - y * scores
    return losses.mean() + l2 / 2 * (weight**2).sum()


@checked(not_empty="n")
def logistic_gradient(
    weight: Float[Tensor, "features"],
    bias: Float[Tensor, ""],
    x: Features,
    y: Binary,
    *,
    l2: NotNegative = 0.0,
) -> tuple[Float[Tensor, "features"], Float[Tensor, ""]]:
    r"""Slope of ``logistic_loss``: $\frac1n X^\top (p - y) + \lambda w$, and $\overline{p - y}$.

    Args:
        weight: One number for each feature.
        bias: One number.
        x: One row for each document.
        y: True classes, 1 or 0.
        l2: $\lambda$, at least 0.

    Returns:
        The gradients with respect to weight and bias, in their shapes.

    Raises:
        ValueError: As ``logistic_loss`` does.

    Source: Bishop 2006, section 4.3.2, equation 4.91. Chapter: counting_words#gradient.

    Example:
        >>> x, y = torch.tensor([[1.0], [3.0]]), torch.tensor([0, 1])
        >>> logistic_gradient(torch.zeros(1), torch.tensor(0.0), x, y)
        (tensor([-0.5000]), tensor(0.))
    """
    error = logistic_probability(weight, bias, x) - _zeros_and_ones(y, x)
    return x.mT @ error / len(x) + l2 * weight, error.mean()


@checked(not_empty="n features")
def fit_logistic(
    x: Features,
    y: Binary,
    *,
    l2: NotNegative = 0.0,
    n_steps: Size = 2000,
    tolerance: NotNegative = 1e-8,
) -> tuple[Float[Tensor, "features"], Float[Tensor, ""]]:
    """Minimize ``logistic_loss`` by accelerated gradient descent from zeros; nothing is random.

    Args:
        x: One row for each document.
        y: True classes, 1 or 0.
        l2: Strength of the penalty, at least 0. With 0 and classes that a plane separates, the
            best weights are infinite, and the answer is where ``n_steps`` ends.
        n_steps: The most steps to take, at least 1.
        tolerance: Stop when no entry of the gradient is larger.

    Returns:
        The weight and the bias.

    Raises:
        ValueError: As ``logistic_loss`` does, or ``n_steps`` or ``tolerance`` is out of range.

    Source: Nesterov 1983; O'Donoghue and Candès 2015. Chapter: counting_words#logistic-regression.

    Example:
        >>> x, y = torch.tensor([[0.0], [1.0], [2.0], [3.0]]), torch.tensor([0, 0, 1, 1])
        >>> weight, bias = fit_logistic(x, y, l2=0.01)
        >>> logistic_probability(weight, bias, x) > 0.5
        tensor([False, False,  True,  True])
    """
    zeros = x.new_zeros(x.shape[1:]), x.new_zeros(())
    gradient = partial(logistic_gradient, x=x, y=y, l2=l2)
    return _descend(gradient, zeros, 1 / _steepest(x, 1 / 4, l2), n_steps, tolerance)


@checked
def softmax_probability(
    weight: Float[Tensor, "features classes"],
    bias: Float[Tensor, "classes"],
    x: Features,
) -> Float[Tensor, "n classes"]:
    r"""The probability of every class: $p = \mathrm{softmax}(x W + b)$.

    Args:
        weight: One column for each class.
        bias: One number for each class.
        x: One row for each document.

    Returns:
        Rows that sum to 1.

    Raises:
        ValueError: The shapes or types do not fit, or a number is not finite.

    Source: Bishop 2006, section 4.3.4. Chapter: counting_words#softmax-regression.

    Example:
        >>> weight = torch.tensor([[math.log(2), 0.0, 0.0]])
        >>> softmax_probability(weight, torch.zeros(3), torch.tensor([[1.0]]))
        tensor([[0.5000, 0.2500, 0.2500]])
    """
    return softmax(_scores(weight, bias, x))


@checked(not_empty="n")
def softmax_loss(
    weight: Float[Tensor, "features classes"],
    bias: Float[Tensor, "classes"],
    x: Features,
    y: Classes,
    *,
    l2: NotNegative = 0.0,
) -> Float[Tensor, ""]:
    r"""Mean cross-entropy, plus $\frac{\lambda}{2}\lVert W \rVert^2$; the bias goes free.

    Args:
        weight: One column for each class.
        bias: One number for each class.
        x: One row for each document.
        y: True classes, from 0.
        l2: $\lambda$, at least 0. scikit-learn's C is $1/(\lambda n)$.

    Returns:
        One number, at least 0.

    Raises:
        ValueError: The shapes or types do not fit, a label is no class, there is no row, ``l2`` is
            negative, or a number is not finite.

    Source: Bishop 2006, section 4.3.4. Chapter: counting_words#softmax-regression.

    Example:
        >>> x, y = torch.tensor([[1.0], [2.0]]), torch.tensor([0, 2])
        >>> softmax_loss(torch.zeros(1, 3), torch.zeros(3), x, y)  # log 3: a three-sided die
        tensor(1.0986)
    """
    return cross_entropy(_scores(weight, bias, x), y) + l2 / 2 * (weight**2).sum()


@checked(not_empty="n")
def softmax_gradient(
    weight: Float[Tensor, "features classes"],
    bias: Float[Tensor, "classes"],
    x: Features,
    y: Classes,
    *,
    l2: NotNegative = 0.0,
) -> tuple[Float[Tensor, "features classes"], Float[Tensor, "classes"]]:
    r"""Slope of ``softmax_loss``: $\frac1n X^\top (P - Y) + \lambda W$, and $\overline{P - Y}$.

    Args:
        weight: One column for each class.
        bias: One number for each class.
        x: One row for each document.
        y: True classes, from 0; $Y$ has a 1 at the true class of each row.
        l2: $\lambda$, at least 0.

    Returns:
        The gradients with respect to weight and bias, in their shapes.

    Raises:
        ValueError: As ``softmax_loss`` does.

    Source: Bishop 2006, section 4.3.4, equation 4.109. Chapter: counting_words#softmax-regression.

    Example:
        >>> x, y = torch.tensor([[4.0]]), torch.tensor([1])
        >>> softmax_gradient(torch.zeros(1, 2), torch.zeros(2), x, y)
        (tensor([[ 2., -2.]]), tensor([ 0.5000, -0.5000]))
    """
    probability = softmax_probability(weight, bias, x)
    error = probability - torch.eye(len(bias), dtype=x.dtype, device=x.device)[y]
    return x.mT @ error / len(x) + l2 * weight, error.mean(dim=0)


@checked(not_empty="n features")
def fit_softmax(
    x: Features,
    y: Annotated[Int[Tensor, "n"], Ids("n_classes"), Range(0, MOST_CLASSES)],
    *,
    n_classes: Size | None = None,
    l2: NotNegative = 0.0,
    n_steps: Size = 2000,
    tolerance: NotNegative = 1e-8,
) -> tuple[Float[Tensor, "features classes"], Float[Tensor, "classes"]]:
    """Minimize ``softmax_loss`` by accelerated gradient descent from zeros; nothing is random.

    Args:
        x: One row for each document.
        y: True classes, from 0.
        n_classes: How many classes there are; None takes the largest label plus 1.
        l2: Strength of the penalty, at least 0.
        n_steps: The most steps to take, at least 1.
        tolerance: Stop when no entry of the gradient is larger.

    Returns:
        The weight and the bias.

    Raises:
        ValueError: As ``softmax_loss`` does, or ``n_classes``, ``n_steps`` or ``tolerance`` is out
            of range.

    Source: Nesterov 1983; O'Donoghue and Candès 2015. Chapter: counting_words#softmax-regression.

    Example:
        >>> x, y = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([0, 1, 2])
        >>> weight, bias = fit_softmax(x, y, l2=0.01)
        >>> softmax_probability(weight, bias, x).argmax(dim=1)
        tensor([0, 1, 2])
    """
    n_classes = int(y.max()) + 1 if n_classes is None else n_classes
    zeros = x.new_zeros(*x.shape[1:], n_classes), x.new_zeros(n_classes)
    gradient = partial(softmax_gradient, x=x, y=y, l2=l2)
    return _descend(gradient, zeros, 1 / _steepest(x, 1 / 2, l2), n_steps, tolerance)


def _descend(
    gradient: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    start: tuple[Tensor, Tensor],
    step: float,
    n_steps: int,
    tolerance: float,
) -> tuple[Tensor, Tensor]:
    """Nesterov's descent; it drops its momentum as soon as that points uphill."""
    here, ahead, momentum = start, start, 1.0
    for _ in range(n_steps):
        slopes = gradient(*ahead)
        if max(slope.abs().max() for slope in slopes) <= tolerance:
            return ahead
        there = [a - step * slope for a, slope in zip(ahead, slopes, strict=True)]
        moves = [t - h for t, h in zip(there, here, strict=True)]
        if sum((slope * move).sum() for slope, move in zip(slopes, moves, strict=True)) > 0:
            momentum = 1.0
        longer = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        push = (momentum - 1) / longer
        ahead = tuple(t + push * move for t, move in zip(there, moves, strict=True))
        here, momentum = there, longer
    return tuple(here)


def _steepest(x: Tensor, curvature: float, l2: float) -> float:
    """A bound on how fast the gradient changes: curvature * (largest singular value)^2 / n + l2."""
    with_bias = torch.cat([x, x.new_ones(len(x), 1)], dim=1)
    wide = torch.promote_types(x.dtype, torch.float32)  # there is no SVD in half precision
    largest = torch.linalg.matrix_norm(with_bias.to(wide), ord=2).item()
    return curvature * largest**2 / len(x) + l2


def _scores(weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
    scores = x @ weight + bias  # a NaN or an infinity anywhere above shows up here
    finite = bool(torch.isfinite(scores).all())
    require(finite, "weight, bias and x must be finite and their scores too", scores=scores)
    return scores


def _zeros_and_ones(y: Tensor, x: Tensor) -> Tensor:
    wrong = y[(y != 0) & (y != 1)].tolist()
    require(not wrong, "y must hold the labels 0 and 1 only", wrong=wrong[:5])
    return y.to(x.dtype)
