"""Word alignments: which target word comes from which source word, and how good a guess is."""

from collections.abc import Collection, Sequence
from typing import Annotated

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from softlookup.checks import Range, Size, checked, require

Links = Collection[tuple[int, int]]
"""Pairs (i, j), counted from 0: target word i comes from source word j."""


@checked
def best_links(weights: Annotated[Float[Tensor, "n_q n_k"], Range(0)]) -> set[tuple[int, int]]:
    """Link each target word to the source word that it attends to most.

    Args:
        weights: Attention weights, one row per target word.

    Returns:
        One link per row, to the first of equal weights; none for a row of zeros.

    Raises:
        ValueError: ``weights`` is no matrix of floating-point numbers, or one is negative or NaN.

    Source: Bahdanau et al. 2015, section 5.2.1; lecture 001, "Attention is great!".
    Chapter: seq2seq#alignment.

    Example:
        >>> sorted(best_links(torch.tensor([[0.9, 0.1], [0.2, 0.8]])))
        [(0, 0), (1, 1)]
    """
    if weights.numel() == 0:
        return set()
    largest, columns = weights.max(dim=-1)
    rows = zip(largest.tolist(), columns.tolist(), strict=True)
    return {(i, j) for i, (weight, j) in enumerate(rows) if weight > 0}


@checked
def alignment_matrix(links: Links, n_q: Size, n_k: Size) -> Bool[Tensor, "{n_q} {n_k}"]:
    """Draw links as a grid: True where target word i (row) comes from source word j (column).

    Args:
        links: The pairs (i, j).
        n_q: Target words.
        n_k: Source words.

    Returns:
        As many True as there are different links.

    Raises:
        ValueError: A link points outside the grid, or a size is no integer of at least 1.

    Source: lecture 001, "Attention is great!"; lecture 004, "Bahdanau et al. Alignment".
    Chapter: seq2seq#alignment.

    Example:
        >>> alignment_matrix({(0, 0), (1, 2)}, 2, 3).int()
        tensor([[1, 0, 0],
                [0, 0, 1]], dtype=torch.int32)
    """
    outside = sorted((i, j) for i, j in links if not (0 <= i < n_q and 0 <= j < n_k))
    rule = f"links must point into a grid of {n_q} rows and {n_k} columns"
    require(not outside, rule, outside=outside)
    grid = torch.zeros(n_q, n_k, dtype=torch.bool)
    for i, j in links:
        grid[i, j] = True
    return grid


@checked
def is_monotone(links: Links) -> bool:
    """Whether no two links cross: a later target word never comes from an earlier source word.

    Args:
        links: The pairs (i, j).

    Returns:
        True if reading the target from left to right never means to go back in the source.

    Source: lecture 001, "Attention is great!". Chapter: seq2seq#alignment.

    Example:
        >>> is_monotone({(0, 0), (1, 2), (2, 1)})
        False
    """
    return not any(i < k and j > m for i, j in links for k, m in links)


@checked
def alignment_error_rate(
    predicted: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None
) -> float:
    r"""How far guessed links are from the true ones: $1 - (|A \cap S| + |A \cap P|)/(|A| + |S|)$.

    It asks two things: that every sure link is found, and that every link found is possible. All
    sentences are counted together.

    Args:
        predicted: The guessed links $A$ of each sentence.
        sure: The links $S$ that must be found.
        possible: The links $P$ that are no error; those of ``sure`` always are. The same as
            ``sure`` if left out.

    Returns:
        From 0, no error, to 1, all wrong.

    Raises:
        ValueError: The lists differ in length, or there is no link at all, guessed or sure.

    Source: Och and Ney 2003, section 6. Chapter: seq2seq#alignment.

    Example:
        >>> alignment_error_rate([{(0, 0), (1, 0)}], [{(0, 0), (1, 1)}])
        0.5
    """
    possible = sure if possible is None else possible
    lengths = {"predicted": len(predicted), "sure": len(sure), "possible": len(possible)}
    rule = "predicted, sure and possible must hold as many sentences"
    require(len(set(lengths.values())) == 1, rule, **lengths)
    right = total = 0
    for guess, must, may in zip(predicted, sure, possible, strict=True):
        guess, must = set(guess), set(must)
        right += len(guess & must) + len(guess & (must | set(may)))
        total += len(guess) + len(must)
    require(total > 0, "there must be at least one link, predicted or sure", n_links=total)
    return 1 - right / total
