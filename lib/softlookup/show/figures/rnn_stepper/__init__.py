"""The stepper: one step of a recurrent network, part by part, with tanh or without."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain, require_range

_LARGEST, _MOST_UNITS = 50, 4
_PARTS = ("fromState", "fromInput", "a", "after", "products", "y")
_ALT = (
    "Boxes from left to right and a table that fill part by part: what the old state brings, what "
    "the input brings, their sum, the new state, the output; with tanh or with no activation."
)
_CAPTION = "One step of a recurrent network, part by part, with tanh or with nothing in its place."


class RnnStepper(Interactive):
    r"""One step $h=\tanh(W_{hh}h_{t-1}+W_{xh}x+b)$ and its output $W_{hy}h$, part by part.

    Args:
        x: The input.
        hidden: The state before.
        W_hh: From state to state.
        W_xh: From input to state.
        b: One bias per unit.
        W_hy: From state to one output.
        printed: What a slide prints for a part with tanh, to be laid beside: ``a``, ``after`` (the
            state), ``products`` or ``y``.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: A shape or a number does not fit, or a printed part is unknown or has
            another length, or as ``Interactive``.

    Source: lecture 003, "Basic Numerical Example of RNN". Chapter: recurrence#the-recurrent-layer.

    Example:
        >>> import torch
        >>> one, I = torch.ones(2), torch.eye(2)
        >>> RnnStepper(one, one, I, I, one, one).name
        'fig-rnn-stepper'
    """

    def __init__(
        self,
        x: Float[Tensor, "d_in"],
        hidden: Float[Tensor, "d_hidden"],
        W_hh: Float[Tensor, "d_hidden d_hidden"],
        W_xh: Float[Tensor, "d_hidden d_in"],
        b: Float[Tensor, "d_hidden"],
        W_hy: Float[Tensor, "d_hidden"],
        *,
        printed: Mapping[str, Sequence[float]] | None = None,
        name: str = "fig-rnn-stepper",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        given = {"x": x, "hidden": hidden, "W_hh": W_hh, "W_xh": W_xh, "b": b, "W_hy": W_hy}
        _require_shapes(given)
        for what, numbers in given.items():
            require_range(_LARGEST, **{what: numbers})
        data = {what: plain(numbers) for what, numbers in given.items()}
        data["printed"] = None if printed is None else _checked(printed, len(b))
        super().__init__(
            name=name,
            data=data,
            alt=alt,
            caption=caption,
        )


def _require_shapes(given: dict[str, Tensor]) -> None:
    x, hidden = given["x"], given["hidden"]
    small = x.ndim == hidden.ndim == 1 and all(1 <= len(v) <= _MOST_UNITS for v in (x, hidden))
    rule = f"x and hidden must be vectors of 1 to {_MOST_UNITS} numbers"
    require(small, rule, x=x, hidden=hidden)
    d_in, d = len(x), len(hidden)
    wanted = {"W_hh": (d, d), "W_xh": (d, d_in), "b": (d,), "W_hy": (d,)}
    for name, shape in wanted.items():
        fits = tuple(given[name].shape) == shape
        require(fits, f"{name} must have shape {shape}", **{name: given[name]})


def _checked(printed: Mapping[str, Sequence[float]], d: int) -> dict[str, list[float]]:
    lengths = {part: 1 if part == "y" else d for part in _PARTS}
    for part, values in printed.items():
        known = part in lengths and len(values) == lengths[part]
        rule = f"printed must hold one number per unit, one for y, for parts of {list(_PARTS)}"
        require(known, rule, **{part: list(values)})
    return {part: [float(value) for value in values] for part, values in printed.items()}
