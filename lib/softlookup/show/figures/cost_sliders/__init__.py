"""The cost sliders: the number of tokens and the width, and what two layers then cost."""

from softlookup.checks import require
from softlookup.show.interactive import Interactive

_LENGTHS = tuple(2**k for k in range(4, 15))  # powers of two: n = d can be met exactly
_WIDTHS = tuple(2**k for k in range(6, 13))
_ALT = (
    "Two sliders, for the number of tokens and the width; bars for what attention and a recurrent "
    "layer multiply. The core of attention is the smaller one as long as there are fewer tokens "
    "than the width; its projections alone always cost twice the recurrence."
)
_CAPTION = (
    "What one layer costs, all widths equal to d. Find where the core equals the recurrent layer, "
    "and where it equals its own projections."
)


class CostSliders(Interactive):
    r"""Bars for $4nd^2$, $2n^2d$, $n^2$ and $2nd^2$, with a slider for $n$ and one for $d$.

    Args:
        n: The number of tokens at first: a power of two from 16 to 16,384.
        d: The width at first: a power of two from 64 to 4,096.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: A number is not on its slider, or as ``Interactive``.

    Source: lectures 003, "Computational Efficiency", and 004, "Why Attention?".
    Chapter: limits#counting-multiplications.

    Example:
        >>> CostSliders(n=512, d=512).name
        'fig-limits-cost'
    """

    def __init__(
        self,
        *,
        n: int = 64,
        d: int = 512,
        name: str = "fig-limits-cost",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        require(n in _LENGTHS, f"n must be one of {_LENGTHS}", n=n)
        require(d in _WIDTHS, f"d must be one of {_WIDTHS}", d=d)
        super().__init__(
            name=name,
            data={"n": n, "d": d, "lengths": _LENGTHS, "widths": _WIDTHS},
            alt=alt,
            caption=caption,
        )
