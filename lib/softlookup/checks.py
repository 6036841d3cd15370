"""Checks of what a caller passed in: the rule that was broken, and every value that broke it."""

from torch import Tensor


def require(condition: bool, rule: str, **values: object) -> None:
    """Raise a ``ValueError`` that states ``rule`` and shows ``values``, unless ``condition`` holds.

    Args:
        condition: What must be true.
        rule: The rule in words, "n must be at least 1".
        values: What the caller passed, by name; a tensor is shown by its shape.

    Raises:
        ValueError: ``condition`` is false.

    Example:
        >>> require(False, "n must be at least 1", n=0)
        Traceback (most recent call last):
        ValueError: n must be at least 1; got n=0
    """
    if not condition:
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in values.items())
        raise ValueError(f"{rule}; got {shown}" if shown else rule)


def require_int(minimum: int, **values: object) -> None:
    """Raise a ``ValueError`` unless each of ``values`` is an ``int`` of at least ``minimum``.

    Args:
        minimum: The smallest value allowed.
        values: What the caller passed, by name. ``True`` and ``False`` are no integers here.

    Raises:
        ValueError: A value is no integer, or is too small.

    Example:
        >>> require_int(1, n=2.5)
        Traceback (most recent call last):
        ValueError: n must be an integer of at least 1; got n=2.5
    """
    for name, value in values.items():
        is_int = isinstance(value, int) and not isinstance(value, bool)
        require(is_int and value >= minimum, f"{name} must be an integer of at least {minimum}",
                **{name: value})


def require_choice(allowed: tuple[str, ...], **values: object) -> None:
    """Raise a ``ValueError`` unless each of ``values`` is one of ``allowed``.

    Args:
        allowed: The names that are known.
        values: What the caller passed, by name.

    Raises:
        ValueError: A value is not among ``allowed``.

    Example:
        >>> require_choice(("log", "count"), variant="lag")
        Traceback (most recent call last):
        ValueError: variant must be one of 'log', 'count'; got variant='lag'
    """
    for name, value in values.items():
        names = ", ".join(repr(choice) for choice in allowed)
        require(value in allowed, f"{name} must be one of {names}", **{name: value})


def _shown(value: object) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else repr(value)
