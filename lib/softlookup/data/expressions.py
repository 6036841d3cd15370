"""Arithmetic expressions: a planted grammar of brackets, and its parser."""

import re

import torch

from softlookup.checks import require_int, require_text

SIGNS = "0123456789+-*()"
"""What an expression is made of."""

_DEEPEST, _NESTED, _LONGEST = 2, 0.35, 22


def arithmetic_expressions(n: int, generator: torch.Generator) -> list[str]:
    """Draw expressions such as ``(7-4)+8``, at most 22 signs long.

    An expression joins two or three terms by ``+``, ``-`` and ``*``, in brackets also one alone. A
    term is a digit, or with probability 0.35 an expression in brackets, down to two brackets deep.
    What turns out longer than 22 signs is drawn anew, so that brackets are a little rarer.

    Args:
        n: How many; some may be equal.
        generator: The only source of chance.

    Returns:
        The expressions, each with at least two terms outside all brackets.

    Raises:
        ValueError: ``n`` is no integer of at least 1.

    Chapter: beyond_text#optional-code

    Example:
        >>> arithmetic_expressions(3, torch.Generator().manual_seed(0))
        ['3+(3)', '1*((6+4+6))*4', '9*((3))']
    """
    require_int(1, n=n)
    drawn: list[str] = []
    while len(drawn) < n:
        text = _expression(generator, 0)
        if len(text) <= _LONGEST:
            drawn.append(text)
    return drawn


def is_expression(text: str) -> bool:
    """Whether a text is an expression of this grammar, to any depth and of any length.

    Args:
        text: Any text.

    Returns:
        True if it parses: digits stand alone, signs between terms, every bracket closed.

    Raises:
        ValueError: ``text`` is no string.

    Chapter: beyond_text#optional-code

    Example:
        >>> [is_expression(text) for text in ("(7-4)+8", "((3))", "7-4)+8", "12+3", "()")]
        [True, True, False, False, False]
    """
    require_text(text=text)
    while (shorter := re.sub(r"\([0-9](?:[-+*][0-9])*\)", "0", text)) != text:
        text = shorter
    return re.fullmatch(r"[0-9](?:[-+*][0-9])*", text) is not None


def bracket_depths(text: str) -> list[int]:
    """How many brackets are open after each sign.

    Args:
        text: An expression, or the beginning of one.

    Returns:
        One number per sign.

    Raises:
        ValueError: ``text`` is no string.

    Chapter: beyond_text#optional-code

    Example:
        >>> bracket_depths("(7-4)+8")
        [1, 1, 1, 1, 0, 0, 0]
    """
    require_text(text=text)
    depths = [0]
    for sign in text:
        depths.append(depths[-1] + (sign == "(") - (sign == ")"))
    return depths[1:]


def _expression(generator: torch.Generator, depth: int) -> str:
    """Two or three terms outside, one to three inside brackets."""
    least = 1 if depth else 2
    n_terms = least + _draw(generator, 3 if depth else 2)
    parts = [_term(generator, depth)]
    for _ in range(n_terms - 1):
        parts += ["+-*"[_draw(generator, 3)], _term(generator, depth)]
    return "".join(parts)


def _term(generator: torch.Generator, depth: int) -> str:
    if depth < _DEEPEST and torch.rand((), generator=generator) < _NESTED:
        return f"({_expression(generator, depth + 1)})"
    return SIGNS[_draw(generator, 10)]


def _draw(generator: torch.Generator, n: int) -> int:
    return int(torch.randint(n, (), generator=generator))
