"""The streaming simulator: a cache with a window and sinks, token by token, against all keys."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.attention import attention_scores
from softlookup.attention.efficient import stream_attention
from softlookup.checks import require, require_float, require_int
from softlookup.show.interactive import Interactive

_MOST = 32
_ALT = (
    "Sliders for the window, the sinks and the position read. Bars compare the weights of full "
    "attention with those of a cache that has let old keys go; a line shows how far what is read "
    "is from full attention. Without a sink the error is large; one sink brings it near zero."
)
_CAPTION = (
    "A cache that reads token by token. Set the sinks from 0 to 1 and watch the line; then trade "
    "sinks for window."
)


class StreamingSimulator(Interactive):
    """What one head reads from a cache of the first ``n_sinks`` and the last ``width`` keys.

    Args:
        tokens: The text, one short label for each position; 2 to 32 of them.
        query: One row per position, of a causal head.
        key: One row per position.
        value: One row per position.
        width: The window at first.
        n_sinks: How many sinks there are at first, from 0 to 4.
        position: Which position is read at first; the last if left out.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: Shapes do not fit, a number is not on its slider, the rows hold NaN or an
            infinity, or as ``Interactive``.

    Source: Xiao et al. 2024, section 3.2. Chapter: modern_attention#sinks.

    Example:
        >>> rows = torch.ones(3, 2)
        >>> StreamingSimulator(list("abc"), rows, rows, rows, width=2).name
        'fig-modern-attention-stream'
    """

    def __init__(
        self,
        tokens: Sequence[str],
        query: Float[Tensor, "n d_k"],
        key: Float[Tensor, "n d_k"],
        value: Float[Tensor, "n d_v"],
        *,
        width: int,
        n_sinks: int = 0,
        position: int | None = None,
        name: str = "fig-modern-attention-stream",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        n = len(tokens)
        position = n - 1 if position is None else position
        _check(n, width, n_sinks, position)
        rows = {"query": query, "key": key, "value": value}
        require_float(**rows)
        fit = all(x.ndim == 2 and len(x) == n for x in rows.values())
        require(fit, "there must be one row for each token", n_tokens=n, **rows)
        finite = all(bool(x.isfinite().all()) for x in rows.values())
        require(finite, "query, key and value must be finite", **rows)
        query, key, value = (x.detach().double() for x in rows.values())
        scores = attention_scores(query, key)
        data = {
            "tokens": list(tokens),
            "scores": [scores[i, : i + 1].tolist() for i in range(n)],
            "values": value.tolist(),
            "width": width,
            "sinks": n_sinks,
            "i": position,
            "top": _largest_error(query, key, value),
        }
        super().__init__(
            name=name,
            data=data,
            alt=alt,
            caption=caption,
        )


def _largest_error(query: Tensor, key: Tensor, value: Tensor) -> float:
    """The chart's top: the largest error with a window of 1 and no sink, rounded up."""
    whole = stream_attention(query, key, value, len(query))
    alone = stream_attention(query, key, value, 1)
    errors = [(a.out - b.out).norm() for a, b in zip(whole, alone, strict=True)]
    return max(1.0, float(torch.stack(errors).max().ceil()))


def _check(n: int, width: int, n_sinks: int, position: int) -> None:
    require(2 <= n <= _MOST, f"there must be from 2 to {_MOST} tokens", n_tokens=n)
    require_int(1, width=width)
    require(width <= n, "width must be at most the number of tokens", width=width, n_tokens=n)
    require_int(0, n_sinks=n_sinks, position=position)
    require(n_sinks <= 4, "n_sinks must be at most 4", n_sinks=n_sinks)
    rule = "position must be less than the number of tokens"
    require(position < n, rule, position=position, n_tokens=n)
