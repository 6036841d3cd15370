"""The permutation square: shuffle a sentence and then attend, or attend and then shuffle."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain, require_range

_FEWEST, _MOST, _WIDEST, _LARGEST = 3, 5, 2, 50
_ALT = (
    "A square of four corners: a sentence, another order of its words, and what attention makes of "
    "each. Both ways around give the same weights and outputs, until a causal mask or a code for "
    "each place ties them to the order."
)
_CAPTION = (
    "The permutation square: to the right one attends, down one reorders. In a table each row is a "
    "word that reads, and each column a word that is read. Move words, and compare both ways "
    "around; then let words read only what came before."
)


class ShuffleSquare(Interactive):
    r"""Both ways around the square $f(PX) = P f(X)$, for self-attention over a few words.

    Args:
        words: 3 to 5 words.
        x: Their vectors, one row for each word.
        W_Q: The projection to queries.
        W_K: The projection to keys.
        W_V: The projection to values, of 1 or 2 numbers.
        positions: A code for each place, one row for each, as wide as ``x``; a switch then adds it.
            None: there is no such switch.
        order: Which word stands at each place at first, counted from 0; the first two exchanged if
            left out.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There are too few or too many words, a shape, a number or the order does not
            fit, or as ``Interactive``.

    Source: lecture 004, "Permutation Equivariance Revisited". Chapter:
    limits#the-permutation-square.

    Example:
        >>> import torch
        >>> I = torch.eye(2)
        >>> ShuffleSquare(["I", "am", "Sam"], torch.ones(3, 2), I, I, I).name
        'fig-limits-square'
    """

    def __init__(
        self,
        words: Sequence[str],
        x: Float[Tensor, "n d_model"],
        W_Q: Float[Tensor, "d_model d_k"],
        W_K: Float[Tensor, "d_model d_k"],
        W_V: Float[Tensor, "d_model d_v"],
        *,
        positions: Float[Tensor, "n d_model"] | None = None,
        order: Sequence[int] | None = None,
        name: str = "fig-limits-square",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        _require_words(words)
        _require_shapes(len(words), x, W_Q, W_K, W_V, positions)
        order = [1, 0, *range(2, len(words))] if order is None else list(order)
        rule = f"order must hold each place from 0 to {len(words) - 1} once"
        require(
            set(order) == set(range(len(words))) and len(order) == len(words), rule, order=order
        )
        maps = {"Q": W_Q, "K": W_K, "V": W_V}
        data = {
            "words": list(words),
            "parts": {part: plain(x @ W) for part, W in maps.items()},
            # (x + p) W = x W + p W: the code can be added to queries, keys and values alike
            "codes": None
            if positions is None
            else {part: plain(positions @ W) for part, W in maps.items()},
            "order": order,
            "seed": 12,
        }
        super().__init__(
            name=name,
            data=data,
            alt=alt,
            caption=caption,
        )


def _require_words(words: Sequence[str]) -> None:
    texts = not isinstance(words, str) and all(isinstance(w, str) and w.strip() for w in words)
    rule = f"words must be {_FEWEST} to {_MOST} words"
    require(texts and _FEWEST <= len(words) <= _MOST, rule, words=words)


def _require_shapes(
    n: int, x: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor, positions: Tensor | None
) -> None:
    require(x.ndim == 2 and len(x) == n, "x must have one row for each word", x=x, words=n)
    d = x.shape[1]
    same = W_Q.ndim == 2 and W_Q.shape == W_K.shape and len(W_Q) == d and W_Q.shape[1] > 0
    require(same, f"W_Q and W_K must have the same shape ({d}, d_k)", W_Q=W_Q, W_K=W_K)
    fits = W_V.ndim == 2 and len(W_V) == d and 1 <= W_V.shape[1] <= _WIDEST
    require(fits, f"W_V must have the shape ({d}, d_v) with d_v from 1 to {_WIDEST}", W_V=W_V)
    given = {"x": x, "W_Q": W_Q, "W_K": W_K, "W_V": W_V}
    if positions is not None:
        rule = "positions must have the shape of x"
        require(positions.shape == x.shape, rule, positions=positions, x=x)
        given["positions"] = positions
    for name, numbers in given.items():
        require_range(_LARGEST, **{name: numbers})
