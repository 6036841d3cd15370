"""What a check cell asserts of numbers, one fact a line."""

import math

import numpy as np
import torch
from torch import Tensor

from softlookup.checks import require

KINDS = {"b": "booleans", "i": "whole numbers", "f": "real numbers", "c": "complex numbers"}


def assert_equal(found: object, expected: object, *, tolerance: float | None = None) -> None:
    """Raise an ``AssertionError`` unless two results hold the same numbers, in the same places.

    Whole numbers and booleans must be the same. An infinity equals only the same infinity, and NaN
    equals nothing, not even NaN.

    Args:
        found: A tensor, an array, a number, or lists of numbers.
        expected: The same; the shape and the kind of numbers must agree with those of ``found``.
        tolerance: How far apart two real numbers may be. If it is left out, 1e-12 of the largest
            finite number that is expected, or of 1 if that is more: this fits results in float64.
            Numbers that a slide has rounded need half a unit of their last digit.

    Raises:
        AssertionError: The shapes, the kinds or the numbers differ; it names the largest difference
            and its place.
        TypeError: One of the two holds no numbers.
        ValueError: ``tolerance`` is negative or no finite number.

    Example:
        >>> assert_equal(torch.tensor([1.0, 2.5]), [1.0, 2.0])
        Traceback (most recent call last):
        AssertionError: the largest difference is 0.5 at [1]: found 2.5, expected 2.0
        >>> assert_equal(torch.tensor([2.4997]), [2.5], tolerance=5e-4)
    """
    is_size = tolerance is None or (math.isfinite(tolerance) and tolerance >= 0)
    require(is_size, "tolerance must be finite and not negative", tolerance=tolerance)
    ours, theirs = _numbers("found", found), _numbers("expected", expected)
    if ours.shape != theirs.shape:
        shapes = f"found {tuple(ours.shape)}, expected {tuple(theirs.shape)}"
        raise AssertionError(f"the shapes differ: {shapes}")
    if _kind(ours) != _kind(theirs):
        kinds = f"found {KINDS[_kind(ours)]}, expected {KINDS[_kind(theirs)]}"
        raise AssertionError(f"the kinds differ: {kinds}")
    differences = _differences(ours, theirs)
    if (differences > _allowed(theirs, tolerance)).any():
        place = np.unravel_index(int(differences.argmax()), ours.shape)
        values = f"found {ours[place].item()}, expected {theirs[place].item()}"
        where = f" at {[int(k) for k in place]}" if place else ""
        largest = f"{differences[place].item():.3g}"
        raise AssertionError(f"the largest difference is {largest}{where}: {values}")


def _numbers(name: str, values: object) -> Tensor:
    if isinstance(values, Tensor):
        return values.detach().cpu()
    array = np.asarray(values)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{name} must be numbers; got {type(values).__name__}")
    return torch.as_tensor(array)


def _kind(tensor: Tensor) -> str:
    if tensor.dtype == torch.bool:
        return "b"
    if tensor.is_complex():
        return "c"
    return "f" if tensor.is_floating_point() else "i"


def _differences(ours: Tensor, theirs: Tensor) -> Tensor:
    """How far apart the numbers are: 0 where they are the same, inf where one is NaN."""
    wide = {"b": torch.int64, "i": torch.int64, "f": torch.float64, "c": torch.complex128}
    ours, theirs = (side.to(wide[_kind(side)]) for side in (ours, theirs))
    apart = (ours - theirs).abs().double().nan_to_num(nan=torch.inf, posinf=torch.inf)
    return apart.masked_fill(ours == theirs, 0)


def _allowed(expected: Tensor, tolerance: float | None) -> float:
    """How far from these numbers is the same."""
    if _kind(expected) in "bi":
        return 0
    if tolerance is not None:
        return tolerance
    sizes = expected.abs().double()
    return 1e-12 * max([1.0, *sizes[sizes.isfinite()].tolist()])
