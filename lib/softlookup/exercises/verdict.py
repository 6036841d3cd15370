"""What a check says to the learner, and what is alike in all checks.

A check is a function of the learner's answers. It returns praise, or raises ``Wrong`` with what to
look at next; ``exercise`` makes a ``Verdict`` of either.
"""

import functools
import html
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

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


@contextmanager
def by_hand() -> Iterator[None]:
    """Refuse what is computed here if PyTorch keeps a graph for it: a gradient is to be derived."""
    kept = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        yield
    if kept:
        raise Wrong("PyTorch's automatic differentiation did that. Work the formula out yourself.")


_NO_HINTS: Mapping[str, str] = MappingProxyType({})


class Answer:
    """What the learner gave, a value or a function; it may still be blank.

    Args:
        given: What the learner gave.
        todo: What to do, told while the answer is blank.
    """

    def __init__(self, given: object, todo: str) -> None:
        self.given, self.todo = given, todo

    @property
    def value(self) -> object:
        """What the learner gave; advice to start if it is blank."""
        return self.started(self.given)

    def started(self, part: object) -> object:
        """The same for a part of the answer, or for what the learner's function returned."""
        if part is None or part is ...:
            raise Wrong(f"Nothing to check so far: {self.todo}")
        return part

    def named(self, names: Iterable[str], what: str = "Your answer") -> dict[str, object]:
        """The learner's dictionary, which should have exactly these keys.

        Args:
            names: The keys.
            what: What the dictionary is, "The evidence".

        Returns:
            The values by their keys, in the order of ``names``, none of them blank.

        Raises:
            Wrong: It is blank, is no dictionary, or has other keys.
        """
        found, keys = self.value, list(names)
        if not isinstance(found, Mapping) or set(found) != set(keys):
            listed = ", ".join(map(repr, keys))
            raise Wrong(f"{what} should be a dictionary with the keys {listed}.")
        return {key: self.started(found[key]) for key in keys}

    def __call__(
        self, *arguments: object, kept: str = "", hints: Mapping[str, str] = _NO_HINTS
    ) -> object:
        """Call the learner's function on copies; tell what went wrong in it, rather than raise.

        Args:
            arguments: What to call it with. Tensors and lists are copied first.
            kept: What to say if the function changed a tensor or a list that it was given.
            hints: What to add to an error in the learner's code, by words of the error.

        Returns:
            What the function returned, which is not blank.

        Raises:
            Wrong: It is blank, is no function, raised an error, or changed what it should keep.
        """
        if not callable(self.value):
            raise Wrong(f"The check wants the function itself; it got {self.given!r}.")
        copies = [_copied(argument) for argument in arguments]
        try:
            found = self.given(*copies)
        except NotImplementedError:
            found = None
        except Exception as error:  # whatever the learner's code raises is told, not raised
            stopped = f"{type(error).__name__}: {error}"
            complaint = f"Your code stopped with {stopped}{_shown(arguments)}"
            hint = next((hints[words] for words in hints if words in stopped), "")
            if hint:
                complaint = f"{complaint.rstrip('.')}. {hint}"
            raise Wrong(complaint) from error
        if kept and not all(map(_same, arguments, copies)):
            raise Wrong(kept)
        return self.started(found)

    def several(
        self,
        n: int,
        complaint: str,
        *arguments: object,
        kept: str = "",
        hints: Mapping[str, str] = _NO_HINTS,
    ) -> list[object]:
        """Call the learner's function, which should return several things.

        Args:
            n: How many.
            complaint: What to say if it returns anything else.
            arguments: What to call it with.
            kept: As in a plain call.
            hints: As in a plain call.

        Returns:
            The things, none of them blank.

        Raises:
            Wrong: As for a plain call, or it returned another number of things.
        """
        found = self(*arguments, kept=kept, hints=hints)
        if not isinstance(found, tuple | list) or len(found) != n:
            raise Wrong(complaint)
        return [self.started(part) for part in found]


def exercise(*todos: str) -> Callable[[Callable[..., str]], Callable[..., Verdict]]:
    """Make a check of a function of answers that returns praise or raises ``Wrong``.

    Args:
        todos: For each answer, what to do, told while it is blank.

    Returns:
        A decorator. The check takes what the learner gave and returns a ``Verdict``.

    Example:
        >>> @exercise("give a number.")
        ... def check_even(number):
        ...     '''Check that a number is even.'''
        ...     if number.value % 2:
        ...         raise Wrong("Half of it is no whole number.")
        ...     return "Two halves."
        >>> check_even(...), check_even(3), check_even(4)  # doctest: +NORMALIZE_WHITESPACE
        (Not yet. Nothing to check so far: give a number.,
         Not yet. Half of it is no whole number.,
         Right. Two halves.)
    """

    def decorate(check: Callable[..., str]) -> Callable[..., Verdict]:
        signature = inspect.signature(check)

        @functools.wraps(check)
        def checked(*given: object, **named: object) -> Verdict:
            values = signature.bind(*given, **named).arguments.values()
            answers = map(Answer, values, todos)
            return verdict(lambda: check(*answers))

        blank = f"{check.__name__}({', '.join(['...'] * len(todos))})"
        checked.__doc__ = _DOCSTRING.format(inspect.cleandoc(check.__doc__), blank, todos[0])
        checked.__signature__ = signature.replace(
            parameters=[p.replace(annotation=object) for p in signature.parameters.values()],
            return_annotation=Verdict,
        )
        return checked

    return decorate


_DOCSTRING = """{}

Returns:
    Whether it is solved, and what to look at next.

Example:
    >>> {}
    Not yet. Nothing to check so far: {}
"""


def _copied(argument: object) -> object:
    if isinstance(argument, Tensor):
        return argument.clone()
    return [_copied(part) for part in argument] if isinstance(argument, list) else argument


def _same(given: object, copy: object) -> bool:
    """Whether a copy still holds what was given; only tensors and lists are copied at all."""
    if isinstance(given, Tensor):
        return torch.equal(given, copy)
    if isinstance(given, list):
        return len(given) == len(copy) and all(map(_same, given, copy))
    return given is copy


def _shown(arguments: tuple) -> str:
    """What the learner's code was called with, where that is short enough to help."""
    shown = [f"a tensor {tuple(a.shape)}" if isinstance(a, Tensor) else repr(a) for a in arguments]
    text = ", ".join(shown)
    return f" (it was given {text})" if shown and len(text) <= 120 and " at 0x" not in text else ""
