"""Predictions: the answer to a question that the reader was asked before the cell.

The text asks, in a directive ``:::{prediction} name``; the cell that computes the answer calls
``reveal``. In a notebook this is a folded answer. On the site question and answer meet: the reader
fills in a field, and what the cell shows stays covered until then.
"""

import html
import json
import math
import re
from collections.abc import Mapping
from numbers import Integral, Real

from IPython.display import display
from torch import Tensor

from softlookup.checks import require
from softlookup.show.table import format_number

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CODE = re.compile(r"`([^`]+)`")
_MARKUP = re.compile(r"[*$]")
_SIGNIFICANT = 4
_CLOSE = 0.01  # a number that is not whole is met by a guess at most one per cent away

Answer = float | str | list[str] | tuple[int, ...]


def reveal(
    name: str,
    answer: Answer,
    *,
    wrong: Mapping[Answer, str] | None = None,
    within: float | None = None,
) -> None:
    """Show the answer to the prediction of that name, folded.

    The answer's type says what kind of prediction it is: a number (or a tensor of one element); a
    string, one of the choices; a list of strings, the right order; a tuple of whole numbers (or a
    ``torch.Size``), a shape.

    Args:
        name: The name after ``:::{prediction}``: lower-case words joined by hyphens.
        answer: What the cell has computed. Numbers that are not whole are rounded to four
            significant digits.
        wrong: For known wrong guesses, why they are wrong. The keys are of the answer's kind; an
            order is written as a tuple here. Words between backticks become code. One that is
            right this time is left out: another seed or a larger size may have another answer.
        within: How far from the answer a number may be and still be right. By default a whole
            number must be met, any other number to one per cent.

    Raises:
        TypeError: The answer, or a wrong guess, is of none of these kinds.
        ValueError: The name is not of that form; a number is infinite or NaN; an order has fewer
            than two items, or one twice; a length is negative; a wrong guess is of another kind
            than the answer, comes without words or with markup; ``within`` is negative,
            or is given for what is no number.
    """
    require(
        isinstance(name, str) and _NAME.fullmatch(name) is not None,
        "name must be lower-case words joined by hyphens",
        name=name,
    )
    kind, right = _kind_and_value(answer, "answer")
    if within is not None:
        require(kind == "number", "within is for numbers only", within=within, answer=answer)
        within = _number(within, "within")
        require(within >= 0, "within must not be negative", within=within)
    elif kind == "number":
        is_whole = isinstance(right, int) and math.isclose(answer, right, rel_tol=1e-6)
        within = 0 if is_whole else _rounded(_CLOSE * abs(right))
    whys = _whys(wrong or {}, kind, right, within)
    data = {"name": name, "kind": kind, "answer": right, "within": within}
    data["wrong"] = [[guess, _words(why)] for guess, why in whys]
    shown = json.dumps(data, ensure_ascii=False, allow_nan=False)
    items = "".join(
        f"<li>Not {html.escape(_named(kind, guess))}: {_words(why)}</li>" for guess, why in whys
    )
    page = (
        f'<details class="sl-reveal" data-reveal="{html.escape(shown)}">'
        f"<summary>Answer to the prediction</summary>"
        f"<p>{html.escape(_text(kind, right))}</p>{items and f'<ul>{items}</ul>'}</details>"
    )
    lines = [f"Answer to the prediction: {_text(kind, right)}"]
    lines += [f"Not {_named(kind, guess)}: {why}" for guess, why in whys]
    display({"text/html": page, "text/plain": "\n".join(lines)}, raw=True)


def _kind_and_value(thing: object, what: str) -> tuple[str, Answer]:
    """The kind of an answer, and the answer as JSON can hold it."""
    if isinstance(thing, Tensor) and thing.numel() == 1:
        thing = thing.item()
    if isinstance(thing, str):
        require(bool(thing.strip()), f"{what} must not be empty", **{what: thing})
        return "choice", thing
    if isinstance(thing, Real) and not isinstance(thing, bool):
        return "number", _number(thing, what)
    if isinstance(thing, tuple) and all(
        isinstance(n, Integral) and not isinstance(n, bool) for n in thing
    ):
        lengths = [int(length) for length in thing]
        rule = f"{what} must hold lengths, not negative"
        require(all(n >= 0 for n in lengths), rule, **{what: tuple(lengths)})
        return "shape", lengths
    if isinstance(thing, list | tuple) and all(isinstance(item, str) for item in thing):
        rule = f"{what} must order two items or more, each named once"
        require(2 <= len(thing) == len(set(thing)), rule, **{what: thing})
        return "order", list(thing)
    raise TypeError(
        f"{what} must be a number, a string (a choice), a list of strings (an order) or a tuple of "
        f"whole numbers (a shape); got {thing!r}"
    )


def _number(thing: Real, what: str) -> int | float:
    require(math.isfinite(thing), f"{what} must be finite", **{what: float(thing)})
    return int(thing) if isinstance(thing, Integral) else _rounded(float(thing))


def _rounded(number: float) -> int | float:
    """At four significant digits; an ``int`` if it is whole then."""
    number = float(f"{number:.{_SIGNIFICANT}g}")
    return int(number) if number.is_integer() else number


def _whys(
    wrong: Mapping[Answer, str], kind: str, right: Answer, within: float | None
) -> list[tuple[Answer, str]]:
    found = []
    for guess, why in wrong.items():
        guess_kind, value = _kind_and_value(guess, "wrong guess")
        rule = f"a wrong guess must be of the answer's kind, {kind}"
        require(guess_kind == kind, rule, wrong=guess)
        is_right = abs(value - right) <= within if kind == "number" else value == right
        has_words = isinstance(why, str) and bool(why.strip())
        require(has_words, "a wrong guess needs words that say why", wrong=guess, why=why)
        is_plain = not _MARKUP.search(_CODE.sub("", why))
        rule = "the words on a wrong guess are plain text with `code`: no asterisks, no dollars"
        require(is_plain, rule, why=why)
        if not is_right:
            found.append((value, why))
    return found


def _text(kind: str, value: Answer) -> str:
    if kind == "number":
        return format_number(value, _SIGNIFICANT)
    if kind == "shape":
        return str(tuple(value))
    return ", ".join(value) if kind == "order" else value


def _named(kind: str, guess: Answer) -> str:
    """A wrong guess within a sentence."""
    text = _text(kind, guess)
    return text if kind in ("number", "shape") else f"“{text.removesuffix('.')}”"


def _words(why: str) -> str:
    return _CODE.sub(r"<code>\1</code>", html.escape(why, quote=False))
