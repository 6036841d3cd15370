"""The rotation dial: a clock hand for each pair of columns, and a shift as a turn of each hand."""

import math

from softlookup.checks import require, require_int
from softlookup.show.interactive import Interactive

_LONGEST = 30
_ALT = (
    "A clock face for each pair of columns. From position t to t plus the offset, each hand turns "
    "by its own frequency times the offset and lands where the later code stands. Turned by the "
    "offset itself, as the slide prints, only the fastest hand lands there."
)
_CAPTION = (
    "The rotation dial. A hand points to (sine, cosine) of its pair: up at position 0, then "
    "clockwise. The dashed line is the turn."
)


class RotationDial(Interactive):
    r"""$R(\Delta)\,PE(t) = PE(t + \Delta)$, pair by pair, and the slide's matrix, which misses.

    Args:
        d_model: The number of columns: 2 for each hand, 4 to 12.
        base: $b$ in $\omega_i = b^{-2i/d_{model}}$.
        t: The position at the start, from 0 to 30.
        offset: $\Delta$ at the start, from -30 to 30.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: A number is not in its range, ``d_model`` is odd, ``base`` is not above 1, or
            as ``Interactive``.

    Source: lecture 004, "Sinusoidal Position Encoding". Chapter: positions#relative-positions.

    Example:
        >>> RotationDial(4).data
        '{"d": 4, "base": 100.0, "t": 5, "offset": 2, "longest": 30}'
    """

    def __init__(
        self,
        d_model: int = 8,
        *,
        base: float = 100.0,
        t: int = 5,
        offset: int = 2,
        name: str = "fig-positions-dial",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        require_int(4, d_model=d_model)
        rule = "d_model must be even and at most 12"
        require(d_model % 2 == 0 and d_model <= 12, rule, d_model=d_model)
        require(1 < base < math.inf, "base must be finite and above 1", base=base)
        require_int(0, t=t)
        require_int(-_LONGEST, offset=offset)
        rule = f"t and offset must be at most {_LONGEST}"
        require(t <= _LONGEST and offset <= _LONGEST, rule, t=t, offset=offset)
        super().__init__(
            name=name,
            data={"d": d_model, "base": base, "t": t, "offset": offset, "longest": _LONGEST},
            alt=alt,
            caption=caption,
        )
