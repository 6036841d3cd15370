"""The query bars: one query over a sentence, to edit, and what it takes from each word."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain, require_range

_FEWEST, _MOST, _LARGEST = 2, 12, 10
_LARGEST_QUERY = 4
_ALT = (
    "Two sliders make a query; a bar for each word of a sentence shows the weight that the query "
    "gives it, and all bars move together."
)
_CAPTION = (
    "Move the query. Each bar is a softmax weight, so that one can grow only at the others' cost."
)


class QueryBars(Interactive):
    r"""The weights $\mathrm{softmax}(qK^\top/\sqrt{d_k})$ of one query, as bars, with $d_k = 2$.

    Args:
        words: 2 to 12 words, one per row of ``keys``.
        keys: The keys, 2 numbers a row, from -10 to 10.
        query: What the two sliders start with, from -4 to 4.
        names: What the two numbers of a query ask for.
        reader: The word whose query it is.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There are too few or too many words; a shape, a dtype or a number does not
            fit; ``names`` are not two words; or as ``Interactive``.

    Source: lecture 001, "Self-Attention Hypothetical Example".
    Chapter: attention#optional-what-a-head-learns.

    Example:
        >>> import torch
        >>> QueryBars(["to", "be"], torch.eye(2), torch.ones(2), names=["a", "b"], reader="be").name
        'fig-query-bars'
    """

    def __init__(
        self,
        words: Sequence[str],
        keys: Float[Tensor, "n 2"],
        query: Float[Tensor, "2"],
        *,
        names: Sequence[str],
        reader: str,
        name: str = "fig-query-bars",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        _require_words(words, names, reader)
        _require_numbers(len(words), keys, query)
        data = {"words": list(words), "names": list(names), "reader": reader}
        for what, numbers in {"keys": keys, "query": query}.items():
            data[what] = plain(numbers)
        super().__init__(
            name=name,
            data=data,
            alt=alt,
            caption=caption,
        )


def _require_words(words: Sequence[str], names: Sequence[str], reader: str) -> None:
    texts = not isinstance(words, str) and all(isinstance(w, str) and w.strip() for w in words)
    rule = f"words must be {_FEWEST} to {_MOST} words"
    require(texts and _FEWEST <= len(words) <= _MOST, rule, words=words)
    two = not isinstance(names, str) and len(names) == 2
    two = two and all(isinstance(name, str) and name.strip() for name in names)
    require(two, "names must be 2 words", names=names)
    is_word = isinstance(reader, str) and bool(reader.strip())
    require(is_word, "reader must be a word", reader=reader)


def _require_numbers(n: int, keys: Tensor, query: Tensor) -> None:
    require(keys.shape == (n, 2), "keys must have one row of 2 numbers per word", keys=keys, n=n)
    require(query.shape == (2,), "query must have 2 numbers", query=query)
    require_range(_LARGEST, keys=keys)
    require_range(_LARGEST_QUERY, query=query)
