"""Vectors in one byte a number: round to 255 levels, with a scale for each row."""

from typing import Annotated

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from softlookup.checks import Finite, checked

LEVELS = 127


@checked(not_empty="d")
def quantize(
    x: Annotated[Float[Tensor, "*batch d"], Finite],
) -> tuple[Int8[Tensor, "*batch d"], Float[Tensor, "*batch"]]:
    r"""Round each row to whole numbers from -127 to 127: $q_j=\mathrm{round}(x_j/s)$.

    The scale of a row is $s=\max_j|x_j|/127$, so that its largest entry becomes 127 or -127.

    Args:
        x: Vectors, one a row.

    Returns:
        The codes, one byte a number, and the scale of each row; a row of zeros has scale 0. Each
        entry is off by at most half a scale: $|x_j-s\,q_j|\le s/2$ (up to rounding).

    Raises:
        ValueError: A row is empty, or an entry is infinite or NaN.

    Source: Jacob et al. 2018, section 2.1; lecture 000, "Other questions to think about".
    Chapter: vector_search#optional-size-and-precision.

    Example:
        >>> quantize(torch.tensor([[254.0, -127.0, 3.0], [0.0, 0.0, 0.0]]))
        (tensor([[127, -64,   2],
                [  0,   0,   0]], dtype=torch.int8), tensor([2., 0.]))
    """
    scales = x.abs().amax(dim=-1) / LEVELS
    divisor = torch.where(scales == 0, 1.0, scales).unsqueeze(-1)
    codes = (x / divisor).round().clamp(-LEVELS, LEVELS)
    return codes.to(torch.int8), scales


@checked
def dequantize(
    codes: Int8[Tensor, "*batch d"], scales: Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch d"]:
    r"""The vectors that codes stand for: $\hat x_j=s\,q_j$.

    Args:
        codes: What ``quantize`` returns first.
        scales: What it returns second, one number for each row.

    Returns:
        Vectors in the type of the scales.

    Raises:
        ValueError: There is not one scale for each row, or ``codes`` are not of type int8.

    Source: Jacob et al. 2018, section 2.1. Chapter: vector_search#optional-size-and-precision.

    Example:
        >>> dequantize(torch.tensor([[127, -64, 2]], dtype=torch.int8), torch.tensor([2.0]))
        tensor([[ 254., -128.,    4.]])
    """
    return codes * scales.unsqueeze(-1)
