"""What the functions of this package check first."""

import math

import torch
from torch import Tensor

from softlookup.checks import require, require_int


def require_width(name: str, width: int, base: float) -> None:
    """Columns that come in pairs, and a base at which the frequencies fall."""
    require_int(2, **{name: width})
    rule = f"{name} must be even: two columns to a frequency"
    require(width % 2 == 0, rule, **{name: width})
    require(1 < base < math.inf, "base must be finite and above 1", base=base)


def require_positions(positions: Tensor, end: int | None = None) -> None:
    """Whole numbers from 0, and below ``end`` where there is one."""
    dtype = positions.dtype
    is_integer = not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
    require(is_integer, "positions must be integers", dtype=dtype)
    if positions.numel():
        smallest, largest = positions.min().item(), positions.max().item()
        require(smallest >= 0, "positions must be at least 0", smallest=smallest)
        rule = f"positions must be at most {end - 1}, the last of the table" if end else ""
        require(end is None or largest < end, rule, largest=largest)


def real_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """The floating-point type that was asked for; torch's default if none was."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    require(dtype.is_floating_point, "dtype must be a floating-point type", dtype=dtype)
    return dtype
