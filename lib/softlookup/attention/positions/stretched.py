"""How a trained rotary model is asked to read longer texts: by slowing down its pairs."""

import math
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.attention.positions.pairs import Base, Width, frequencies
from softlookup.attention.positions.rotary import Pairing, Rotary
from softlookup.checks import Range, Size, checked, require

Method = Literal["linear", "ntk", "yarn"]

Factor = Annotated[float, Range(1)]
"""How many times as long the texts become."""

_SLOW, _FAST = 1, 32  # turns within the trained length: YaRN's alpha and beta


@checked
def stretched_frequencies(
    d_k: Width,
    method: Method,
    factor: Factor,
    trained_length: Size,
    *,
    base: Base = 10000.0,
    slow: float = _SLOW,
    fast: float = _FAST,
) -> Float[Tensor, "pairs"]:
    r"""New frequencies for texts $s$ times as long as in training.

    - "linear": $\omega_i/s$, as if the new positions were squeezed into the old ones.
    - "ntk": those of the base $b\,s^{d_k/(d_k-2)}$: the first pair keeps its speed, the last one
      is slowed down by $s$, and those between by a share.
    - "yarn": by how often a pair turns within the trained length $L$, which is
      $r_i = L\omega_i/2\pi$. Below ``slow`` turns it is slowed down by $s$, above ``fast`` turns
      it stays, and in between it is mixed, with the share
      $\gamma = (r_i - \text{slow})/(\text{fast} - \text{slow})$ of the old.

    Args:
        d_k: The width of a row, even; for "ntk", at least 4.
        method: Which of the three.
        factor: $s$, at least 1.
        trained_length: $L$; "yarn" alone asks for it.
        base: The $b$ of training.
        slow: YaRN's $\alpha$.
        fast: YaRN's $\beta$, more than ``slow``.

    Returns:
        Angles in radians for one step, in float64. With $s = 1$ they are those of training.

    Raises:
        ValueError: As in ``frequencies``, ``method`` is unknown, ``factor`` is below 1, "ntk" has
            one pair alone, or ``fast`` is not more than ``slow``.

    Source: Chen et al. 2023, section 2.3 (linear); bloc97 2023 and Peng et al. 2024, sections 3.1
    and 3.2 (ntk, yarn), whose programs run the ramp over $\log r_i$.
    Chapter: positions#optional-stretching-a-trained-rotary-model.

    Example:
        >>> stretched_frequencies(4, "linear", 4.0, 16, base=100.0).tolist()
        [0.25, 0.025]
        >>> stretched_frequencies(4, "ntk", 4.0, 16, base=100.0).tolist()
        [1.0, 0.025]
    """
    omega = frequencies(d_k, base=base)
    if method == "linear":
        return omega / factor
    if method == "ntk":
        require(d_k >= 4, "with ntk, d_k must be at least 4", d_k=d_k)
        return frequencies(d_k, base=base * factor ** (d_k / (d_k - 2)))
    require(slow < fast, "slow must be less than fast", slow=slow, fast=fast)
    turns = trained_length * omega / (2 * math.pi)
    kept = ((turns - slow) / (fast - slow)).clamp(0, 1)
    return kept * omega + (1 - kept) * omega / factor


@checked
def yarn_gain(factor: Factor) -> float:
    r"""By how much YaRN lengthens queries and keys: $0.1 \ln s + 1$; every score by its square.

    In a longer text a softmax has more keys to share its weights among. Larger scores, that is a
    lower temperature, sharpen it again.

    Args:
        factor: $s$, at least 1.

    Returns:
        At least 1.

    Raises:
        ValueError: ``factor`` is below 1.

    Source: Peng et al. 2024, section 3.4.
    Chapter: positions#optional-stretching-a-trained-rotary-model.

    Example:
        >>> round(yarn_gain(4.0), 4)
        1.1386
    """
    return 0.1 * math.log(factor) + 1


@checked
class StretchedRotary(Rotary):
    """Rotary positions with ``stretched_frequencies``; with "yarn", longer rows, too.

    Args:
        d_k: The width of a row, even.
        method: "linear", "ntk" or "yarn".
        factor: How many times as long the texts become.
        trained_length: How long they were in training.
        base: The base of training.
        pairing: As in ``Rotary``.
        slow: As in ``stretched_frequencies``.
        fast: As in ``stretched_frequencies``.

    Raises:
        ValueError: As in ``Rotary`` and ``stretched_frequencies``.

    Source: Peng et al. 2024. Chapter: positions#optional-stretching-a-trained-rotary-model.

    Example:
        >>> import torch
        >>> row = torch.tensor([[1.0, 0.0]])
        >>> StretchedRotary(2, "linear", 4.0, 16)(row, torch.tensor([4]))
        tensor([[0.5403, 0.8415]])
    """

    def __init__(
        self,
        d_k: Width,
        method: Method,
        factor: Factor,
        trained_length: Size,
        *,
        base: Base = 10000.0,
        pairing: Pairing = "interleaved",
        slow: float = _SLOW,
        fast: float = _FAST,
    ) -> None:
        super().__init__(d_k, base=base, pairing=pairing)
        bounds = {"slow": slow, "fast": fast}
        with torch.device("cpu"):
            self.omega = stretched_frequencies(
                d_k, method, factor, trained_length, base=base, **bounds
            )
        self.method = method
        self.gain = yarn_gain(factor) if method == "yarn" else 1.0

    def forward(
        self,
        rows: Float[Tensor, "*batch n {self.d_k}"],
        positions: Annotated[Int[Tensor, "... n"], Range(0)] | None = None,
    ) -> Float[Tensor, "*batch n {self.d_k}"]:
        """Each row, turned by the new frequencies, and with YaRN lengthened.

        Args:
            rows: As in ``Rotary``.
            positions: As in ``Rotary``.

        Returns:
            Rows of the same dtype, ``gain`` times as long.

        Raises:
            ValueError: As in ``Rotary``.
        """
        return self.gain * super().forward(rows, positions)
