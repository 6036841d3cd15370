"""Masks: which key each query may read. Boolean, True = may read; combine with & and |."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from softlookup.checks import Count, Size, checked, require


@checked
def causal_mask(n_q: Size, n_k: Size | None = None) -> Bool[Tensor, "n_q n_k"]:
    """Each query reads the keys up to its own position, and nothing that comes later.

    Args:
        n_q: The number of queries.
        n_k: The number of keys; ``n_q`` if left out. Where there are more keys than queries, the
            queries are the *last* positions, as when the keys of earlier tokens were kept.

    Returns:
        True at $(i, j)$ where $j \\le i + n_k - n_q$: a lower triangle with its corner at the end.
        For $n$ positions that is $n(n+1)/2$ times True.

    Raises:
        ValueError: ``n_q`` is no integer of at least 1, or ``n_k`` none of at least ``n_q``.

    Source: Vaswani et al. 2017, section 3.2.3; lectures 001, "Attention is left-to-right", 003,
    "Implementation Details", and 004, "Why mask?". Chapter: attention#masks.

    Example:
        >>> causal_mask(2, 3).int()
        tensor([[1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    n_k = n_q if n_k is None else n_k
    require(n_k >= n_q, f"n_k must be an integer of at least {n_q}", n_k=n_k)
    query_position = torch.arange(n_k - n_q, n_k).unsqueeze(-1)
    return torch.arange(n_k) <= query_position


@checked
def window_mask(n: Size, width: Count) -> Bool[Tensor, "n n"]:
    """Each query reads the keys at most ``width`` steps away, on both sides.

    Combined with ``causal_mask(n)`` by &, only the past half of the window is left.

    Args:
        n: The number of positions.
        width: Steps to each side; 0 leaves a token only itself.

    Returns:
        True at $(i, j)$ where $|i - j| \\le$ ``width``. Row $i$ sees
        $\\min(i, w) + 1 + \\min(n - 1 - i, w)$ keys.

    Raises:
        ValueError: ``n`` is no integer of at least 1, or ``width`` none of at least 0.

    Source: Beltagy et al. 2020, section 3.1; lecture 004, "Attention in Transformers" (Why mask?).
    Chapter: attention#masks.

    Example:
        >>> window_mask(4, 1).int()
        tensor([[1, 1, 0, 0],
                [1, 1, 1, 0],
                [0, 1, 1, 1],
                [0, 0, 1, 1]], dtype=torch.int32)
    """
    return _distance(n) <= width


@checked
def dilated_mask(n: Size, width: Count, dilation: Size) -> Bool[Tensor, "n n"]:
    """A window with gaps: ``width`` keys to each side, every ``dilation``-th position.

    Args:
        n: The number of positions.
        width: Keys to each side.
        dilation: The distance from one visible key to the next; 1 gives ``window_mask``.

    Returns:
        True at $(i, j)$ where $|i - j|$ is one of 0, $r$, $2r$, ..., $wr$ for dilation $r$. Row
        $i$ sees $\\min(\\lfloor i/r \\rfloor, w) + 1 + \\min(\\lfloor (n-1-i)/r \\rfloor, w)$ keys.

    Raises:
        ValueError: ``n`` or ``dilation`` is no integer of at least 1, or ``width`` none of at
            least 0.

    Source: Beltagy et al. 2020, section 3.1; lecture 004, "Attention in Transformers" (Why mask?).
    Chapter: attention#masks.

    Example:
        >>> dilated_mask(5, 1, 2).int()
        tensor([[1, 0, 1, 0, 0],
                [0, 1, 0, 1, 0],
                [1, 0, 1, 0, 1],
                [0, 1, 0, 1, 0],
                [0, 0, 1, 0, 1]], dtype=torch.int32)
    """
    distance = _distance(n)
    return (distance % dilation == 0) & (distance <= width * dilation)


@checked
def global_mask(n: Size, positions: Sequence[int]) -> Bool[Tensor, "n n"]:
    """The tokens at ``positions`` read all others and are read by all others.

    With a window, ``window_mask(n, width) | global_mask(n, positions)``, any two tokens are two
    steps apart at most.

    Args:
        n: The number of positions.
        positions: Those of the global tokens, counted from 0.

    Returns:
        True in the rows and in the columns of ``positions``: with $g$ of them, a global row sees
        $n$ keys and every other row $g$.

    Raises:
        ValueError: ``n`` is no integer of at least 1, or a position none from 0 to ``n - 1``.

    Source: Beltagy et al. 2020, section 3.1; lecture 004, "Attention in Transformers" (Why mask?).
    Chapter: attention#masks.

    Example:
        >>> global_mask(3, [0]).int()
        tensor([[1, 1, 1],
                [1, 0, 0],
                [1, 0, 0]], dtype=torch.int32)
    """
    wrong = [position for position in positions if not 0 <= position < n]
    require(not wrong, "positions must be from 0 to n - 1", wrong=wrong, n=n)
    is_global = torch.zeros(n, dtype=torch.bool)
    is_global[list(positions)] = True
    return is_global.unsqueeze(-1) | is_global


@checked
def padding_mask(
    lengths: Int[Tensor, "batch"] | Sequence[int],
    n: Size,
    *,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "batch 1 n"]:
    """In a batch of texts filled up to length ``n``, no query reads what was filled up.

    Args:
        lengths: How many tokens of each text are real; they come first.
        n: The length to which all texts were filled up.
        device: Where the mask is made; where ``lengths`` are if left out.

    Returns:
        True at the real keys. The middle axis has length 1: the same for every query.

    Raises:
        ValueError: ``lengths`` is no list of integers from 0 to ``n``, or ``n`` is no integer of
            at least 1.

    Source: lecture 003, "Implementation Details". Chapter: attention#masks.

    Example:
        >>> padding_mask([1, 3], n=3).int()
        tensor([[[1, 0, 0]],
        <BLANKLINE>
                [[1, 1, 1]]], dtype=torch.int32)
    """
    lengths = torch.as_tensor(lengths, device=device)
    wrong = [length for length in lengths.tolist() if not 0 <= length <= n]
    require(not wrong, "lengths must be from 0 to n", wrong=wrong, n=n)
    return (torch.arange(n, device=lengths.device) < lengths.unsqueeze(-1)).unsqueeze(-2)


def _distance(n: int) -> Int[Tensor, "n n"]:
    position = torch.arange(n)
    return (position.unsqueeze(-1) - position).abs()


@checked
def padding_of(
    lengths: Int[Tensor, "batch"] | Sequence[int], ids: Shaped[Tensor, "batch n"]
) -> Bool[Tensor, "batch 1 n"]:
    """What is read of each text in a batch of ids: its real tokens.

    Args:
        lengths: How many tokens of each text are real; they come first.
        ids: One row per text.

    Returns:
        True at the real tokens. The middle axis has length 1: the same for every query.

    Raises:
        ValueError: There are not as many lengths as texts, or one is not from 0 to n.

    Example:
        >>> padding_of([1, 2], torch.tensor([[7, 0], [7, 8]])).int()
        tensor([[[1, 0]],
        <BLANKLINE>
                [[1, 1]]], dtype=torch.int32)
    """
    rule = "there must be one length for each text"
    require(len(lengths) == len(ids), rule, n_lengths=len(lengths), ids=ids)
    return padding_mask(lengths, ids.shape[-1], device=ids.device)
