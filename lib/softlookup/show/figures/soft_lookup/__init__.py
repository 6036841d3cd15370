"""The soft lookup of the front page: drag a query among keys, and watch what it finds."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require, require_float
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain

_WORDS, _MOST, _LARGEST = ("cat", "dog", "car"), 5, 10
_QUERY, _KEYS, _VALUES = (3.0, 1.0), ((1.0, 0.0), (0.4, 0.5), (0.0, 0.8)), (9.0, 7.0, 0.0)
_X, _Y = (-1.0, 4.0), (-1.0, 2.5)
_ALT = (
    "The query kitten, to drag among the keys cat, dog and car: at its start it takes 0.72 of cat, "
    "0.20 of dog and 0.08 of car, which makes a softness of 7.9."
)
_CAPTION = (
    "One query, three keys. Each key has a value: how soft the thing is to the touch, from 0 to "
    "10. The thicker a line, the more kitten takes from there. The shade is the answer it would "
    "get at each place."
)


class SoftLookup(Interactive):
    r"""A lookup in the plane, from hard to soft: scores $q \cdot k_j$, weights and their answer.

    A slider takes the temperature from 0, where one key has all the weight, through 1, the
    softmax, to infinity, where all keys weigh alike.

    Args:
        query: Where the query starts: two numbers, the first from -1 to 4, the second from -1 to
            2.5; that of the front page if left out.
        keys: Where the keys start, two such numbers per word.
        values: How soft each is to the touch, from 0 to 10.
        words: What the keys are called, 1 to 5 words.
        reader: What the query is called.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: ``words`` or ``reader`` are no words; a shape, a dtype or a number does not
            fit; or as ``Interactive``.

    Source: lecture 003, "Attention as a Soft, Averaging Lookup Table".
    Chapter: soft_lookup#hard-and-soft-lookup.

    Example:
        >>> SoftLookup().name
        'fig-front-soft-lookup'
    """

    def __init__(
        self,
        query: Float[Tensor, "2"] | None = None,
        keys: Float[Tensor, "n 2"] | None = None,
        values: Float[Tensor, "n"] | None = None,
        *,
        words: Sequence[str] = _WORDS,
        reader: str = "kitten",
        name: str = "fig-front-soft-lookup",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        given = {"query": query, "keys": keys, "values": values}
        for which, numbers in zip(given, (_QUERY, _KEYS, _VALUES), strict=True):
            if given[which] is None:
                given[which] = torch.tensor(numbers, dtype=torch.float64)
        _require_words(words, reader)
        _require_numbers(len(words), **given)
        lists = {which: plain(tensor) for which, tensor in given.items()}
        texts = {"reader": reader, "quality": "softness", "axes": ["fur", "motion"]}
        super().__init__(
            name=name,
            data={"words": list(words), **texts, **lists, "x": list(_X), "y": list(_Y)},
            alt=alt,
            caption=caption,
        )


def _require_words(words: Sequence[str], reader: str) -> None:
    texts = not isinstance(words, str) and all(isinstance(w, str) and w.strip() for w in words)
    rule = f"words must be 1 to {_MOST} words"
    require(texts and 1 <= len(words) <= _MOST, rule, words=words)
    is_word = isinstance(reader, str) and bool(reader.strip())
    require(is_word, "reader must be a word", reader=reader)


def _require_numbers(n: int, query: Tensor, keys: Tensor, values: Tensor) -> None:
    require_float(query=query, keys=keys, values=values)
    require(query.shape == (2,), "query must have 2 numbers", query=query)
    require(keys.shape == (n, 2), "keys must have 2 numbers per word", keys=keys, n=n)
    require(values.shape == (n,), "values must have 1 number per word", values=values, n=n)
    ranges = {"query": (query[None], _X, _Y), "keys": (keys, _X, _Y)}
    for which, (points, *sides) in ranges.items():
        for c, (low, high) in enumerate(sides):
            smallest, largest = points[:, c].min().item(), points[:, c].max().item()
            rule = f"{which} must have number {c} from {low:g} to {high:g}"
            inside = low <= smallest and largest <= high  # NaN is inside nothing
            require(inside, rule, smallest=smallest, largest=largest)
    smallest, largest = values.min().item(), values.max().item()
    rule = f"values must be from 0 to {_LARGEST}"
    require(smallest >= 0 and largest <= _LARGEST, rule, smallest=smallest, largest=largest)
