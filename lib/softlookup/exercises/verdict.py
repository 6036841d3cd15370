"""What a check says to the learner, and how it asks."""

import html
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Verdict:
    """The answer of a check: whether the exercise is solved, and what to look at next."""

    passed: bool
    message: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"{'Right.' if self.passed else 'Not yet.'} {self.message}"

    def _repr_html_(self) -> str:
        kind, mark = ("right", "✓") if self.passed else ("not-yet", "○")
        word = "Right." if self.passed else "Not yet."
        message = html.escape(self.message, quote=False)
        return (
            f'<p class="sl-verdict sl-{kind}"><span aria-hidden="true">{mark}</span> '
            f"<strong>{word}</strong> {message}</p>"
        )


class Wrong(Exception):  # noqa: N818  (the learner's answer is wrong, not the program)
    """Raised inside a check with what to tell the learner."""


def verdict(check: Callable[[], str]) -> Verdict:
    """Run ``check``: the message it returns is praise, the ``Wrong`` it raises is advice."""
    try:
        return Verdict(True, check())
    except Wrong as wrong:
        return Verdict(False, str(wrong))


def started(answer: object, what: str) -> None:
    """Say that there is nothing to check yet, if ``answer`` is None or ``...``."""
    if answer is None or answer is ...:
        raise Wrong(f"Nothing to check so far: {what}")


def call(function: object, *arguments: object, what: str) -> object:
    """Call the learner's function; tell what went wrong in it, rather than raise.

    Args:
        function: What the learner wrote.
        arguments: What to call it with.
        what: What it should do, told if it is still blank.

    Raises:
        Wrong: It is blank, is no function, or raised an error.
    """
    started(function, what)
    if not callable(function):
        raise Wrong(f"The check wants the function itself; it got {function!r}.")
    try:
        answer = function(*arguments)
    except NotImplementedError:
        answer = None
    except Exception as error:  # whatever the learner's code raises is told, not raised
        complaint = f"Your code stopped with {type(error).__name__}: {error}"
        raise Wrong(complaint + _given(arguments)) from error
    started(answer, what)
    return answer


def numbers(answer: object, expected: Tensor, what: str) -> Tensor:
    """The learner's numbers as a float64 tensor of the expected shape.

    Args:
        answer: A tensor, an array, a list or a number.
        expected: A tensor of the right shape.
        what: What the numbers are, "the weights".

    Raises:
        Wrong: They are no numbers, have another shape, or hold NaN.
    """
    try:
        values = torch.as_tensor(answer, dtype=torch.float64).detach()
    except (TypeError, ValueError, RuntimeError):
        shown = type(answer).__name__
        raise Wrong(f"{what} should be numbers; you returned a {shown}.") from None
    if values.shape != expected.shape:
        want, got = tuple(expected.shape), tuple(values.shape)
        raise Wrong(f"{what} should have shape {want}; yours has {got}.")
    if values.isnan().any():
        raise Wrong(f"{what} holds NaN, not a number: look for 0/0, or for inf − inf.")
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


def close(answer: Tensor, expected: Tensor, tolerance: float = 1e-6) -> bool:
    """Whether two tensors agree element by element, to a tolerance fit for float32 work."""
    return torch.allclose(
        answer.double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=False
    )


def _given(arguments: tuple) -> str:
    """What the learner's code was called with, where that is short enough to help."""
    shown = [f"a tensor {tuple(a.shape)}" if isinstance(a, Tensor) else repr(a) for a in arguments]
    text = ", ".join(shown)
    return f" (it was given {text})" if shown and len(text) <= 120 and " at 0x" not in text else ""
