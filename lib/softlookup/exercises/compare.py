"""How checks compare an answer with what is right, and with what known mistakes give."""

import math
import re
from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor

from softlookup.exercises.verdict import Wrong

Mistakes = Iterable[tuple[Tensor, str]]
"""What known mistakes give, each with what to tell the learner who made it."""


def numbers(answer: object, expected: Tensor, what: str) -> Tensor:
    """The learner's numbers as a float64 tensor of the expected shape.

    Args:
        answer: A tensor, an array, a list or a number.
        expected: A tensor of the right shape.
        what: What the numbers are, "the weights".

    Raises:
        Wrong: They are no numbers, have another shape, or hold NaN.
    """
    values = _any_numbers(answer, what)
    _like(values, expected, what)
    return values


def one_number(answer: object, what: str) -> float:
    """The learner's number, given as such or as the only element of something.

    Args:
        answer: A number, or a tensor, array or list that holds one.
        what: What the number is, "The gap".

    Raises:
        Wrong: It is no number, or more than one, or NaN.
    """
    try:
        values = torch.as_tensor(answer, dtype=torch.float64).reshape(-1)
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"{what} should be one number; you gave {answer!r}.") from None
    return numbers(values, torch.zeros(1), what).item()


def scalar(answer: object, what: str) -> float:
    """The learner's number, given as such: a table that holds one is no number.

    Args:
        answer: A number, a tensor or array without axes, or a number's digits as text.
        what: What the number is, "The cosine".

    Raises:
        Wrong: It is no number, has an axis, is NaN, or was cut at its commas.
    """
    if isinstance(answer, str) and re.fullmatch(r"\s*[-−]?[\d,_]*\.?\d+\s*", answer):
        answer = float(re.sub(r"[\s,_]", "", answer).replace("−", "-"))
    if isinstance(answer, tuple) and len(answer) > 1 and all(type(k) is int for k in answer):
        raise Wrong(f"{what} is one number; with its commas Python reads {len(answer)}.")
    return numbers(answer, torch.zeros(()), what).item()


def matrix(answer: object, what: str) -> Tensor:
    """The learner's table of numbers, of any size.

    Args:
        answer: A tensor, an array or a list of lists.
        what: What the numbers are, "The keys".

    Returns:
        A float64 tensor with two axes.

    Raises:
        Wrong: They are no numbers, no table, or hold NaN.
    """
    values = _any_numbers(answer, what)
    if values.ndim != 2:
        raise Wrong(f"{what} should be a matrix; yours has shape {tuple(values.shape)}.")
    return numbers(values, values, what)


def integers(answer: object, complaint: str, *, n: int | None = None) -> list[int]:
    """The learner's whole numbers.

    Args:
        answer: A tensor, an array or anything else to go through.
        complaint: What to say if it is something else.
        n: How many there should be; None for any number.

    Raises:
        Wrong: They are no whole numbers, or not so many.
    """
    try:
        found = [int(one) for one in answer]
    except (TypeError, ValueError):
        raise Wrong(complaint) from None
    if n is not None and len(found) != n:
        raise Wrong(complaint)
    return found


def close(
    answer: Tensor, expected: Tensor, tolerance: float = 1e-6, *, equal_nan: bool = False
) -> bool:
    """Whether two tensors agree element by element, to a tolerance fit for float32 work."""
    return torch.allclose(
        answer.double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=equal_nan
    )


def compare(
    answer: object,
    expected: Tensor,
    what: str,
    mistakes: Mistakes = (),
    otherwise: str | Callable[[Tensor, Tensor], str] = "",
    *,
    shapes: Mapping[tuple[int, ...], str] | None = None,
    case: str = "",
    tolerance: float = 1e-6,
) -> Tensor:
    """Compare the learner's numbers with the right ones; if wrong, name the mistake that was made.

    Args:
        answer: The learner's numbers, in any form.
        expected: The right ones.
        what: What the numbers are, "The weights".
        mistakes: What known mistakes give, and what to say about each. The first that fits is
            told; it may have another shape than the right numbers, and NaN in some places.
        otherwise: What to say if no mistake fits, or a function of the learner's numbers and the
            right ones that returns it.
        shapes: What to say about numbers of another shape, by that shape.
        case: What to say before the advice of a mistake.
        tolerance: As in ``close``; a mistake is known by 1e-6, or by this if it is more.

    Returns:
        The learner's numbers, in float64.

    Raises:
        Wrong: They are not the right ones.
    """
    values = _any_numbers(answer, what)
    if values.shape == expected.shape and close(values, expected, tolerance):
        return values
    for mistaken, advice in mistakes:
        same_shape = values.shape == mistaken.shape
        if same_shape and close(values, mistaken, max(tolerance, 1e-6), equal_nan=True):
            raise Wrong(case + advice)
    if values.shape != expected.shape and shapes and tuple(values.shape) in shapes:
        raise Wrong(shapes[tuple(values.shape)])
    _like(values, expected, what)
    raise Wrong(otherwise if isinstance(otherwise, str) else otherwise(values, expected))


def counted(n: int, what: str) -> str:
    """So many things in words.

    Args:
        n: How many.
        what: The name of one of them.

    Example:
        >>> counted(1, "layer"), counted(3, "layer")
        ('1 layer', '3 layers')
    """
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def advised(
    found: float,
    mistakes: Iterable[tuple[float | Tensor, str]],
    otherwise: str = "",
    *,
    rel_tol: float = 1e-6,
    abs_tol: float = 0.0,
) -> str:
    """What to say about a wrong number: the advice of the first known mistake that gives it.

    Args:
        found: The learner's number.
        mistakes: What known mistakes give, and what to say about each.
        otherwise: What to say if none of them gives it.
        rel_tol: How near is the same, as in ``math.isclose``.
        abs_tol: The same, for numbers near 0.
    """
    near = {"rel_tol": rel_tol, "abs_tol": abs_tol}
    for wrong, advice in mistakes:
        if math.isclose(found, wrong.item() if isinstance(wrong, Tensor) else wrong, **near):
            return advice
    return otherwise


def draw(*shape: int, seed: int) -> Tensor:
    """Random numbers that are the same at each call, in float64."""
    return draws(shape, seed=seed)[0]


def draws(*shapes: tuple[int, ...], seed: int) -> list[Tensor]:
    """The same, one tensor after the other."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def _any_numbers(answer: object, what: str) -> Tensor:
    try:
        return torch.as_tensor(answer, dtype=torch.float64).detach()
    except (TypeError, ValueError, RuntimeError):
        shown = type(answer).__name__
        raise Wrong(f"{what} should be numbers; you returned a {shown}.") from None


def _like(values: Tensor, expected: Tensor, what: str) -> None:
    if values.shape != expected.shape:
        want, got = tuple(expected.shape), tuple(values.shape)
        raise Wrong(f"{what} should have shape {want}; yours has {got}.")
    if values.isnan().any():
        raise Wrong(f"{what} holds NaN, not a number: look for 0/0, or for inf − inf.")
