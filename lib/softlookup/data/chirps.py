"""Chirps: short synthetic sounds whose pitch rises or falls, under noise."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import require, require_int

CHIRP_KINDS = ("rises", "falls", "rises, then falls", "falls, then rises")
"""What the pitch does."""

_SAMPLES = 256


def chirps(
    n: int, generator: torch.Generator, *, noise: float = 0.5
) -> tuple[Float[Tensor, "{n} 256"], Int[Tensor, "{n}"]]:
    """Draw sounds of 256 samples, and which of ``CHIRP_KINDS`` each is.

    The pitch moves over 0.2 cycles a sample, from a height and a phase that are drawn. A falling
    chirp is a rising one played backwards: both hold the same pitches, in another order.

    Args:
        n: How many.
        generator: The only source of chance.
        noise: The standard deviation added to each sample; the sound itself has amplitude 1.

    Returns:
        The samples, one sound in each row, and the numbers of their kinds, all as likely.

    Raises:
        ValueError: ``n`` is no integer of at least 1, or ``noise`` is negative or NaN.

    Chapter: beyond_text#sound

    Example:
        >>> sounds, kinds = chirps(5, torch.Generator().manual_seed(0))
        >>> sounds.shape, kinds.tolist()
        (torch.Size([5, 256]), [0, 3, 1, 0, 3])
    """
    require_int(1, n=n)
    require(noise >= 0, "noise must not be negative or NaN", noise=noise)
    kinds = torch.randint(len(CHIRP_KINDS), (n,), generator=generator)
    lowest = 0.05 + 0.05 * torch.rand(n, 1, generator=generator)
    start = torch.rand(n, 1, generator=generator)
    t = torch.arange(_SAMPLES) / (_SAMPLES - 1)
    peak = 1 - (2 * t - 1).abs()
    heights = torch.stack([t, 1 - t, peak, 1 - peak])[kinds]
    cycles = start + (lowest + 0.2 * heights).cumsum(dim=1)
    sounds = torch.sin(2 * math.pi * cycles)
    return sounds + noise * torch.randn(n, _SAMPLES, generator=generator), kinds
