"""Checks of what a caller passed in: the rule that was broken, and every value that broke it."""

from collections import Counter

import torch
from torch import Tensor


def require(condition: bool, rule: str, **values: object) -> None:
    """Raise a ``ValueError`` that states ``rule`` and shows ``values``, unless ``condition`` holds.

    Args:
        condition: What must be true.
        rule: The rule in words, "n must be at least 1".
        values: What the caller passed, by name; a tensor is shown by its shape.

    Raises:
        ValueError: ``condition`` is false.

    Example:
        >>> require(False, "n must be at least 1", n=0)
        Traceback (most recent call last):
        ValueError: n must be at least 1; got n=0
    """
    if not condition:
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in values.items())
        raise ValueError(f"{rule}; got {shown}" if shown else rule)


def require_int(minimum: int, **values: object) -> None:
    """Raise a ``ValueError`` unless each of ``values`` is an ``int`` of at least ``minimum``.

    Args:
        minimum: The smallest value allowed.
        values: What the caller passed, by name. ``True`` and ``False`` are no integers here.

    Raises:
        ValueError: A value is no integer, or is too small.

    Example:
        >>> require_int(1, n=2.5)
        Traceback (most recent call last):
        ValueError: n must be an integer of at least 1; got n=2.5
    """
    for name, value in values.items():
        is_int = isinstance(value, int) and not isinstance(value, bool)
        require(
            is_int and value >= minimum,
            f"{name} must be an integer of at least {minimum}",
            **{name: value},
        )


def require_choice(allowed: tuple[str, ...], **values: object) -> None:
    """Raise a ``ValueError`` unless each of ``values`` is one of ``allowed``.

    Args:
        allowed: The names that are known.
        values: What the caller passed, by name.

    Raises:
        ValueError: A value is not among ``allowed``.

    Example:
        >>> require_choice(("log", "count"), variant="lag")
        Traceback (most recent call last):
        ValueError: variant must be one of 'log', 'count'; got variant='lag'
    """
    for name, value in values.items():
        names = ", ".join(repr(choice) for choice in allowed)
        require(value in allowed, f"{name} must be one of {names}", **{name: value})


def require_float(**tensors: Tensor) -> None:
    """Raise a ``ValueError`` unless each of ``tensors`` holds floating-point numbers.

    Args:
        tensors: What the caller passed, by name.

    Raises:
        ValueError: A tensor holds integers, booleans or complex numbers.

    Example:
        >>> import torch
        >>> require_float(query=torch.tensor([[1, 0]]))
        Traceback (most recent call last):
        ValueError: query must hold floating-point numbers; got dtype=torch.int64
    """
    for name, tensor in tensors.items():
        rule = f"{name} must hold floating-point numbers"
        require(tensor.is_floating_point(), rule, dtype=tensor.dtype)


def require_mask(mask: Tensor, scores_shape: tuple[int, ...]) -> None:
    """Raise a ``ValueError`` unless ``mask`` is boolean and can be laid over the scores.

    Args:
        mask: What the caller passed; True means "may read".
        scores_shape: The shape (..., n_q, n_k) of the scores. The mask has the same last axis; on
            the axes before it, it may have length 1 or leave out leading ones.

    Raises:
        ValueError: ``mask`` is no tensor, not boolean, or does not fit.

    Example:
        >>> import torch
        >>> require_mask(torch.ones(2, 3, dtype=torch.bool), (2, 4))
        Traceback (most recent call last):
        ValueError: mask must fit scores of shape (2, 4); got mask=(2, 3)
    """
    is_tensor = isinstance(mask, Tensor)
    require(is_tensor, "mask must be a boolean tensor (True = may read)", type=type(mask).__name__)
    rule = "mask must be boolean (True = may read)"
    require(mask.dtype == torch.bool, rule, dtype=mask.dtype)
    pairs = zip(reversed(mask.shape), reversed(scores_shape), strict=False)
    fits = all(size in (1, wanted) for size, wanted in pairs)
    has_keys = mask.shape[-1:] == scores_shape[-1:]
    rule = f"mask must fit scores of shape {tuple(scores_shape)}"
    require(fits and has_keys and mask.ndim <= len(scores_shape), rule, mask=mask)


def require_pair_mask(mask: Tensor, scores_shape: tuple[int, ...]) -> None:
    """As ``require_mask``, and the mask has both axes: one of queries and one of keys.

    Args:
        mask: What the caller passed; True means "may read".
        scores_shape: The shape (..., n_q, n_k) of the scores.

    Raises:
        ValueError: ``mask`` is no tensor, not boolean, does not fit, or has one axis alone.

    Example:
        >>> import torch
        >>> require_pair_mask(torch.ones(3, dtype=torch.bool), (2, 3))
        Traceback (most recent call last):
        ValueError: mask must have an axis of queries and one of keys; got mask=(3,)
    """
    require_mask(mask, scores_shape)
    require(mask.ndim >= 2, "mask must have an axis of queries and one of keys", mask=mask)


def require_same_dtype(**tensors: Tensor) -> None:
    """Raise a ``ValueError`` unless all of ``tensors`` have one dtype.

    Args:
        tensors: What the caller passed, by name.

    Raises:
        ValueError: Two dtypes differ.

    Example:
        >>> import torch
        >>> require_same_dtype(x=torch.zeros(2), y=torch.zeros(2).half())
        Traceback (most recent call last):
        ValueError: x and y must have the same dtype; got x=torch.float32, y=torch.float16
    """
    dtypes = {name: tensor.dtype for name, tensor in tensors.items()}
    *first, last = tensors
    rule = f"{', '.join(first)} and {last} must have the same dtype"
    require(len(set(dtypes.values())) == 1, rule, **dtypes)


def require_rows(width: int, **matrices: Tensor) -> None:
    """Raise a ``ValueError`` unless each of ``matrices`` has rows of length ``width``.

    Args:
        width: The length a row must have.
        matrices: What the caller passed, by name; leading axes are allowed.

    Raises:
        ValueError: One of them is no matrix, or its rows have another length.

    Example:
        >>> import torch
        >>> require_rows(5, x=torch.zeros(2, 3))
        Traceback (most recent call last):
        ValueError: x must be a matrix with rows of length 5; got x=(2, 3)
    """
    for name, rows in matrices.items():
        fits = rows.ndim >= 2 and rows.shape[-1] == width
        require(fits, f"{name} must be a matrix with rows of length {width}", **{name: rows})


def require_dtype(dtype: torch.dtype, **tensors: Tensor) -> None:
    """Raise a ``ValueError`` unless each of ``tensors`` has the dtype of the layer it enters.

    Args:
        dtype: That of the layer's parameters.
        tensors: What the caller passed, by name.

    Raises:
        ValueError: One of them has another.

    Example:
        >>> import torch
        >>> require_dtype(torch.float64, x=torch.zeros(3))
        Traceback (most recent call last):
        ValueError: x must have the layer's dtype torch.float64; got dtype=torch.float32
    """
    for name, tensor in tensors.items():
        rule = f"{name} must have the layer's dtype {dtype}"
        require(tensor.dtype == dtype, rule, dtype=tensor.dtype)


def require_ids(size: int, **ids: Tensor) -> None:
    """Raise a ``ValueError`` unless each of ``ids`` holds whole numbers from 0 to ``size`` - 1.

    Args:
        size: How many rows the table has that they number.
        ids: What the caller passed, by name.

    Raises:
        ValueError: One of them holds no integers, or a number that is out of range.

    Example:
        >>> import torch
        >>> require_ids(3, ids=torch.tensor([[0, 3]]))
        Traceback (most recent call last):
        ValueError: ids must be from 0 to 2; got smallest=0, largest=3
    """
    for name, tensor in ids.items():
        dtype = tensor.dtype
        is_integer = not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
        require(is_integer, f"{name} must be integers", dtype=dtype)
        if tensor.numel():
            smallest, largest = tensor.min().item(), tensor.max().item()
            rule = f"{name} must be from 0 to {size - 1}"
            require(smallest >= 0 and largest < size, rule, smallest=smallest, largest=largest)


def require_known_ids(size: int, ids: list[int]) -> None:
    """Raise a ``ValueError`` unless every id of a list is an integer from 0 to ``size`` - 1.

    Args:
        size: How many tokens there are.
        ids: What the caller wants to read.

    Raises:
        ValueError: An id stands for no token; the first five of these are shown.

    Example:
        >>> require_known_ids(3, [2, 3, -1])
        Traceback (most recent call last):
        ValueError: ids must be integers from 0 to 2; got wrong=[3, -1]
    """
    wrong = [id_ for id_ in ids if type(id_) is not int or not 0 <= id_ < size]
    require(not wrong, f"ids must be integers from 0 to {size - 1}", wrong=wrong[:5])


def require_text(**values: object) -> None:
    """Raise a ``ValueError`` unless each of ``values`` is a string.

    Args:
        values: What should be texts, by name.

    Raises:
        ValueError: One of them is no string.

    Example:
        >>> require_text(text=None)
        Traceback (most recent call last):
        ValueError: text must be a string; got text=None
    """
    for name, value in values.items():
        require(isinstance(value, str), f"{name} must be a string", **{name: value})


def require_tokens(**values: object) -> None:
    """Raise a ``ValueError`` if a list of tokens is in truth one string, an easy slip.

    Args:
        values: What should be lists of tokens, by name.

    Raises:
        ValueError: One of them is a string.

    Example:
        >>> require_tokens(tokens="not yet")
        Traceback (most recent call last):
        ValueError: tokens must be a list of tokens, not one string; got tokens='not yet'
    """
    for name, value in values.items():
        is_text = isinstance(value, str)
        require(not is_text, f"{name} must be a list of tokens, not one string", **{name: value})


def require_distinct(**values: list[str]) -> None:
    """Raise a ``ValueError`` that names the words which a list holds more than once.

    Args:
        values: Lists of words, by name.

    Raises:
        ValueError: A word comes twice.

    Example:
        >>> require_distinct(vocabulary=["not", "yet", "not"])
        Traceback (most recent call last):
        ValueError: the words of vocabulary must be distinct; got repeated=['not']
    """
    for name, words in values.items():
        repeated = [word for word, count in Counter(words).items() if count > 1]
        require(not repeated, f"the words of {name} must be distinct", repeated=repeated)


def _shown(value: object) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else repr(value)
