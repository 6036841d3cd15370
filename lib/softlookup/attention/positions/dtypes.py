"""The kind of number that a table of positions holds."""

import torch

from softlookup.checks import checked, require


@checked
def real_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """The floating-point type that was asked for; torch's default if none was.

    Args:
        dtype: What the caller asked for.

    Returns:
        A type of real numbers.

    Raises:
        ValueError: ``dtype`` is no floating-point type.

    Chapter: positions#sinusoids.

    Example:
        >>> real_dtype(torch.float64)
        torch.float64
    """
    dtype = torch.get_default_dtype() if dtype is None else dtype
    require(dtype.is_floating_point, "dtype must be a floating-point type", dtype=dtype)
    return dtype
