"""Word vectors by counting: who stands beside whom, and how much more often than by chance."""

from collections.abc import Sequence
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import Range, Size, checked, require, require_distinct


@checked
def cooccurrence_matrix(
    sentences: Sequence[Sequence[str]], vocabulary: Sequence[str], window: Size
) -> Float[Tensor, "vocab vocab"]:
    """How often each word stands within ``window`` places of each other word.

    Args:
        sentences: The tokens of each sentence; a window does not reach across its ends.
        vocabulary: The words that get a row and a column. Other tokens keep their place in the
            sentence, but are not counted.
        window: How many places to the left and to the right are looked at, at least 1.

    Returns:
        Counts; symmetric, since whoever is beside me has me beside them.

    Raises:
        ValueError: ``window`` is below 1, or the vocabulary is empty or has a word twice.
        TypeError: A sentence is no list of tokens.

    Source: Firth 1957; lecture 000, "Skip-gram". Chapter: embeddings#vectors-from-counts.

    Example:
        >>> cooccurrence_matrix([["so", "it", "goes"]], ["so", "it", "goes"], 1)
        tensor([[0., 1., 0.],
                [1., 0., 1.],
                [0., 1., 0.]], dtype=torch.float64)
    """
    require(len(vocabulary) > 0, "vocabulary must hold at least one word", vocabulary=vocabulary)
    require_distinct(vocabulary=vocabulary)
    row = {word: i for i, word in enumerate(vocabulary)}
    places = []
    for sentence in sentences:
        ids = [row.get(token, -1) for token in sentence]
        for distance in range(1, min(window, len(ids) - 1) + 1):
            places += zip(ids, ids[distance:], strict=False)
    counts = torch.zeros(len(vocabulary), len(vocabulary), dtype=torch.float64)
    pairs = torch.tensor([pair for pair in places if min(pair) >= 0]).reshape(-1, 2).long()
    counts.index_put_((pairs[:, 0], pairs[:, 1]), torch.ones(()).double(), accumulate=True)
    return counts + counts.mT


@checked
def positive_pmi(
    counts: Annotated[Float[Tensor, "rows columns"], Range(0)],
) -> Float[Tensor, "rows columns"]:
    r"""How much more often than by chance: $\max\big(0,\log\frac{p(i,j)}{p(i)\,p(j)}\big)$.

    This is the *pointwise mutual information* of row and column, with all that is below zero, or
    was never seen, set to 0.

    Args:
        counts: How often row i and column j were seen together; non-negative.

    Returns:
        Non-negative numbers; 0 where a pair is as frequent as chance would have it, or rarer. A
        row of zeros stays one.

    Raises:
        ValueError: A count is negative, infinite or NaN, or all are 0.

    Source: Church and Hanks 1990; Levy and Goldberg 2014. Chapter: embeddings#vectors-from-counts.

    Example:
        >>> positive_pmi(torch.tensor([[3.0, 1.0], [1.0, 3.0]]))
        tensor([[0.4055, 0.0000],
                [0.0000, 0.4055]])
    """
    total = counts.sum()
    require(total.item() > 0, "counts must not be all zeros", counts=counts)
    by_chance = counts.sum(1, keepdim=True) * (counts.sum(0, keepdim=True) / total)
    seen = counts > 0
    ratio = torch.where(seen, counts, 1.0) / torch.where(seen, by_chance, 1.0)
    return ratio.log().clamp(min=0)
