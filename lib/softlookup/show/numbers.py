"""Numbers on their way into a figure: checked, then plain lists that JSON can hold."""

from torch import Tensor

from softlookup.checks import require, require_float


def plain(tensor: Tensor) -> list:
    """The numbers of a tensor as lists of floats.

    Args:
        tensor: Of any shape.
    """
    return tensor.detach().double().tolist()


def require_range(most: int, **tensors: Tensor) -> None:
    """Raise a ``ValueError`` unless each tensor holds numbers from ``-most`` to ``most``.

    Args:
        most: The largest number that the page can show.
        tensors: Tensors of floating-point numbers, by name.

    Raises:
        ValueError: A tensor holds other numbers, a larger one, an infinity or NaN.
    """
    for name, numbers in tensors.items():
        require_float(**{name: numbers})
        largest = numbers.detach().abs().max().item()  # NaN is not at most anything
        require(
            largest <= most, f"{name} must hold numbers from {-most} to {most}", largest=largest
        )
