"""Batches of rows, for as long as one likes: drawn by chance, or pass after pass."""

from collections.abc import Iterator

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from softlookup.checks import Count, Size, checked, require


@checked
def random_batches(
    *tensors: Shaped[Tensor, "n ..."], size: Size = 32, seed: Count = 0
) -> Iterator[list[Tensor]]:
    """Draw rows by chance, the same ones of each tensor, again and again.

    Args:
        tensors: Inputs and answers, say; row i of each belongs together.
        size: How many rows a batch has; a row may come twice.
        seed: Where chance starts: the same seed draws the same batches.

    Returns:
        Batches without end, each with one part of every tensor.

    Raises:
        ValueError: There is no tensor or no row, the tensors differ in their number of rows,
            ``size`` is no integer of at least 1, or ``seed`` none of at least 0.

    Chapter: beyond_text#optional-code.

    Example:
        >>> numbers = torch.arange(10)
        >>> x, y = next(random_batches(numbers, numbers**2, size=3))
        >>> torch.equal(y, x**2)
        True
    """
    shapes = [tuple(tensor.shape) for tensor in tensors]
    has_rows = bool(tensors) and len(tensors[0]) > 0
    require(has_rows, "there must be tensors with at least one row", shapes=shapes)
    return _endless(tensors, size, torch.Generator().manual_seed(seed))


def _endless(
    tensors: tuple[Tensor, ...], size: int, chance: torch.Generator
) -> Iterator[list[Tensor]]:
    while True:
        rows = torch.randint(len(tensors[0]), (size,), generator=chance)
        yield [tensor[rows] for tensor in tensors]


@checked
def shuffled_rows(
    n: Size, batch_size: Size, generator: torch.Generator | None = None
) -> Iterator[Int[Tensor, "rows"]]:
    """The numbers of n rows in batches, pass after pass, each pass in a new order.

    Args:
        n: How many rows there are.
        batch_size: How many a batch has; the last one of a pass may have fewer.
        generator: Where the orders come from; None: PyTorch's own.

    Returns:
        Batches without end. In each pass every number from 0 to n - 1 comes once.

    Raises:
        ValueError: ``n`` or ``batch_size`` is no integer of at least 1.

    Chapter: training#the-training-loop.

    Example:
        >>> batches = shuffled_rows(5, 2)
        >>> [len(next(batches)) for _ in range(6)]
        [2, 2, 1, 2, 2, 1]
    """
    return _passes(n, batch_size, generator)


def _passes(n: int, batch_size: int, generator: torch.Generator | None) -> Iterator[Tensor]:
    while True:
        yield from torch.randperm(n, generator=generator).split(batch_size)
