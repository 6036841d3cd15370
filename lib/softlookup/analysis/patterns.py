"""Detectors: which keys a pattern wants, and how much of a head's attention goes there."""

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

from softlookup.checks import Count, Ids, Size, checked, require, require_mask


@checked
def offset_pattern(n: Size, offset: int) -> Bool[Tensor, "n n"]:
    """A positional pattern: each token reads the one ``offset`` places away.

    Args:
        n: The number of tokens.
        offset: -1 for the previous token, 1 for the next, 0 for the token itself.

    Returns:
        True at $(i, i + \\text{offset})$.

    Raises:
        ValueError: ``n`` is no integer of at least 1, or ``offset`` no integer.

    Source: Voita et al. 2019, "Positional heads"; lectures 001, "Multi-head attention", and 004,
    "Multi-head Attention". Chapter: many_heads#patterns.

    Example:
        >>> offset_pattern(3, -1).int()
        tensor([[0, 0, 0],
                [1, 0, 0],
                [0, 1, 0]], dtype=torch.int32)
    """
    return _steps(n) == offset


@checked
def distance_pattern(n: Size, least: Size) -> Bool[Tensor, "n n"]:
    """A long-range pattern: each token reads those at least ``least`` places away.

    Args:
        n: The number of tokens.
        least: The smallest distance that counts, on both sides.

    Returns:
        True where $|i - j| \\ge$ ``least``.

    Raises:
        ValueError: ``n`` or ``least`` is no integer of at least 1.

    Source: lecture 001, "Multi-head attention". Chapter: many_heads#patterns.

    Example:
        >>> distance_pattern(3, 2).int()
        tensor([[0, 0, 1],
                [0, 0, 0],
                [1, 0, 0]], dtype=torch.int32)
    """
    return _steps(n).abs() >= least


@checked
def key_pattern(n: Size, positions: Collection[Count]) -> Bool[Tensor, "n n"]:
    """All tokens read the same few: the first one, the ends of phrases, the words of style.

    Args:
        n: The number of tokens.
        positions: Which are read, counted from 0: ``[0]`` is the pattern of the first token.

    Returns:
        True in these columns.

    Raises:
        ValueError: ``n`` is no integer of at least 1, or a position none from 0 to ``n - 1``.

    Source: lecture 001, "Multi-head attention". Chapter: many_heads#patterns.

    Example:
        >>> key_pattern(2, [0]).int()
        tensor([[1, 0],
                [1, 0]], dtype=torch.int32)
    """
    pattern = torch.zeros(n, n, dtype=torch.bool)
    for position in positions:
        require(position < n, "a position must be less than n", position=position, n=n)
        pattern[:, position] = True
    return pattern


@checked
def relation_pattern(n: Size, pairs: Collection[tuple[Count, Count]]) -> Bool[Tensor, "n n"]:
    """A syntactic pattern: some tokens read those that they belong to, the others are not asked.

    Args:
        n: The number of tokens.
        pairs: (reader, read): a verb and its subject, a pronoun and what it stands for.

    Returns:
        True at these pairs.

    Raises:
        ValueError: ``n`` is no integer of at least 1, or a position none from 0 to ``n - 1``.

    Source: Voita et al. 2019, "Syntactic heads"; lectures 001, "Multi-head attention", and 004,
    "Multi-head Attention". Chapter: many_heads#patterns.

    Example:
        >>> relation_pattern(3, [(2, 0)]).int()
        tensor([[0, 0, 0],
                [0, 0, 0],
                [1, 0, 0]], dtype=torch.int32)
    """
    pattern = torch.zeros(n, n, dtype=torch.bool)
    for reader, read in pairs:
        fits = max(reader, read) < n
        require(fits, "a position must be less than n", reader=reader, read=read, n=n)
        pattern[reader, read] = True
    return pattern


@checked(not_empty="n")
def rarest_pattern(
    ids: Annotated[Int[Tensor, "*batch n"], Ids("vocab")], counts: Real[Tensor, "vocab"]
) -> Bool[Tensor, "*batch n n"]:
    """All tokens of a text read its rarest.

    Args:
        ids: The tokens, numbers below the length of ``counts``.
        counts: How often each token of the vocabulary occurs.

    Returns:
        True in the column of the token with the smallest count; of all that share it.

    Raises:
        ValueError: An id is no entry of ``counts``.

    Source: Voita et al. 2019, "Rare words"; lecture 004, "Multi-head Attention".
    Chapter: many_heads#patterns.

    Example:
        >>> rarest_pattern(torch.tensor([1, 0]), torch.tensor([2, 50])).int()
        tensor([[0, 1],
                [0, 1]], dtype=torch.int32)
    """
    of_each = counts[ids]
    rarest = of_each == of_each.amin(dim=-1, keepdim=True)
    return rarest.unsqueeze(-2).expand(*ids.shape, ids.shape[-1])


@checked
def pattern_scores(
    weights: Float[Tensor, "*batch heads n_q n_k"],
    pattern: Tensor,
    mask: Tensor | None = None,
    *,
    by: Literal["weight", "largest"] = "weight",
) -> Float[Tensor, "heads"]:
    """How far each head follows a pattern, from 0 to 1, over all rows that leave it a choice.

    A row counts if it may read a key that the pattern wants and one that it does not.

    Args:
        weights: The attention of each head, for one text or for several.
        pattern: True at the keys that the pattern wants; the same for all texts, (n_q, n_k), or
            each its own, (..., n_q, n_k). Like the mask, it may be on another device.
        mask: True where a token could read, over (..., n_q, n_k). None: everywhere.
        by: ``"weight"``: the mean share of the attention that goes to wanted keys. ``"largest"``:
            how often the most read key is a wanted one, as Voita et al. count; keys that are read
            most together count by their share.

    Returns:
        One score per head: 1 where all of its attention follows the pattern.

    Raises:
        ValueError: The shapes do not fit, ``by`` is unknown, or no row counts.

    Source: Voita et al. 2019, "Characterizing heads"; lecture 004, "Multi-head Attention".
    Chapter: many_heads#patterns.

    Example:
        >>> weights = torch.tensor([[[1.0, 0.0], [0.75, 0.25]]])
        >>> pattern_scores(weights, offset_pattern(2, -1))
        tensor([0.7500])
    """
    wanted, _, counts = _rows(weights, pattern, mask)
    if by == "weight":
        shares = (weights * wanted.unsqueeze(-3)).sum(dim=-1)
    else:
        most_read = (weights == weights.amax(dim=-1, keepdim=True)).to(weights.dtype)
        shares = (most_read * wanted.unsqueeze(-3)).sum(dim=-1) / most_read.sum(dim=-1)
    return shares.movedim(-2, 0)[:, counts].mean(dim=-1)


@checked
def label_heads(
    weights: Float[Tensor, "*batch heads n_q n_k"],
    patterns: Mapping[str, Tensor],
    mask: Tensor | None = None,
    *,
    least: float = 0.5,
) -> list[str | None]:
    r"""Name each head by the pattern that it follows best, compared with reading evenly.

    A wide pattern is easily hit. So a score $s$ is measured against the score $u$ of a head that
    spreads its attention evenly over what it may read: $(s - u)/(1 - u)$.

    Args:
        weights: The attention of each head, for one text or for several.
        patterns: What to look for, by name.
        mask: True where a token could read. None: everywhere.
        least: From which corrected score on a head gets a name.

    Returns:
        A name for each head, or None.

    Raises:
        ValueError: As ``pattern_scores``, or there is no pattern.

    Source: Voita et al. 2019, "Characterizing heads". Chapter: many_heads#patterns.

    Example:
        >>> weights = torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]]])
        >>> label_heads(weights, {"first": key_pattern(2, [0]), "itself": offset_pattern(2, 0)})
        ['first', None]
    """
    require(len(patterns) > 0, "there must be at least one pattern", patterns=list(patterns))
    corrected = []
    for pattern in patterns.values():
        _, readable, _ = _rows(weights, pattern, mask)
        even = (readable / readable.sum(dim=-1, keepdim=True).clamp(min=1)).to(weights.dtype)
        by_chance = pattern_scores(even.unsqueeze(-3), pattern, mask)
        corrected.append((pattern_scores(weights, pattern, mask) - by_chance) / (1 - by_chance))
    best, which = torch.stack(corrected).max(dim=0)
    names = list(patterns)
    return [
        names[k] if score >= least else None
        for k, score in zip(which.tolist(), best.tolist(), strict=True)
    ]


def _rows(weights: Tensor, pattern: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """What each row wants and may read, over (*batch, n_q, n_k), and which rows count."""
    shape = (*weights.shape[:-3], *weights.shape[-2:])
    fits = pattern.dtype == torch.bool and pattern.shape in (shape, shape[-2:])
    rule = f"pattern must be boolean of shape {shape[-2:]} or {shape}"
    require(fits, rule, pattern=pattern, dtype=pattern.dtype)
    readable = torch.ones(shape, dtype=torch.bool, device=weights.device)
    if mask is not None:
        require_mask(mask, shape)
        readable = mask.to(weights.device).expand(shape)
    pattern = pattern.to(weights.device)
    wanted = pattern & readable
    counts = wanted.any(dim=-1) & (readable & ~pattern).any(dim=-1)
    rule = "no row can follow the pattern and could do otherwise"
    require(bool(counts.any()), rule, wanted=int(wanted.sum()), readable=int(readable.sum()))
    return wanted, readable, counts


def _steps(n: int) -> Int[Tensor, "n n"]:
    """From each token to each: j - i."""
    position = torch.arange(n)
    return position - position.unsqueeze(-1)
