"""The spectral sliders: a state goes forward through time, a gradient comes back."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain, require_range

_MOST_UNITS, _LARGEST = 8, 50
_ALT = (
    "Two lines over the steps, on a logarithmic scale: the length of the state on its way forward "
    "and of the gradient on its way back. Both fall for a spectral radius below 1 and rise above "
    "it; tanh holds the state down."
)
_CAPTION = (
    "The spectral sliders. No inputs, only the state times the matrix, step after step; the "
    "gradient starts at the last step with length 1."
)


class SpectralSliders(Interactive):
    r"""Lengths of $h_t=f(\rho\,W h_{t-1})$ and of $\partial h_{n,0}/\partial h_t$ for all $t$.

    Args:
        matrices: 1 to 3 square matrices by name; each is divided by its spectral radius.
        start: The state $h_0$.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There is no matrix or more than three, a shape or a number does not fit, a
            matrix has the spectral radius 0, the state is zero; or as ``Interactive``.

    Source: lecture 003, "Backpropagation Through Time (BPTT)" and "Challenges of RNNs"; Pascanu et
    al. 2013. Chapter: recurrence#gradients-that-fade-and-explode.

    Example:
        >>> SpectralSliders({"still": 3 * torch.eye(2)}, torch.ones(2)).data
        '{"matrices": [{"name": "still", "W": [[1.0, 0.0], [0.0, 1.0]]}], "start": [1.0, 1.0]}'
    """

    def __init__(
        self,
        matrices: Mapping[str, Float[Tensor, "d d"]],
        start: Float[Tensor, "d"],
        *,
        name: str = "fig-spectral-sliders",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        require(1 <= len(matrices) <= 3, "matrices must be 1 to 3", matrices=list(matrices))
        small = start.ndim == 1 and 1 <= len(start) <= _MOST_UNITS
        require(small, f"start must be a vector of 1 to {_MOST_UNITS} numbers", start=start)
        require_range(_LARGEST, start=start)
        require(bool(start.any()), "start must not be zero", start=start.tolist())
        units = [
            {"name": str(key), "W": _of_radius_one(str(key), W, len(start))}
            for key, W in matrices.items()
        ]
        super().__init__(
            name=name,
            data={"matrices": units, "start": plain(start)},
            alt=alt,
            caption=caption,
        )


def _of_radius_one(name: str, W: Tensor, d: int) -> list[list[float]]:
    require(W.shape == (d, d), f"{name} must have shape ({d}, {d})", **{name: W})
    require_range(_LARGEST, **{name: W})
    W = W.detach().double()
    radius = torch.linalg.eigvals(W).abs().max().item()
    require(radius > 1e-6, f"{name} must have a spectral radius above 0", radius=radius)
    return (W / radius).tolist()
