"""What word2vec learns from: pairs of neighbours, noise words, and which words to leave out."""

import math

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

from softlookup.checks import require, require_counts, require_int
from softlookup.words.word2vec.input_checks import require_integers


def context_pairs(ids: Int[Tensor, "n"], window: int) -> Int[Tensor, "pairs 2"]:
    r"""Every word with every neighbour at most ``window`` places away: the skip-grams.

    Position t of n has $\min(t, k) + \min(n - 1 - t, k)$ neighbours for a window of k: 2k inside
    the text, fewer at its edges.

    Args:
        ids: The words of one text, as numbers, in order.
        window: k, at least 1: how far the context reaches to each side.

    Returns:
        One row (centre, context) a pair; centres from left to right, and for each its contexts
        from left to right. A text of one word has no pairs.

    Raises:
        ValueError: ``ids`` is no row of integers of at least 0, or ``window`` is no integer of at
            least 1.

    Source: Mikolov et al. 2013; lecture 000, "Word2Vec". Chapter: word2vec#context-window.

    Example:
        >>> context_pairs(torch.tensor([5, 6, 7]), window=1).tolist()
        [[5, 6], [6, 5], [6, 7], [7, 6]]
    """
    _require_text(ids)
    require_int(1, window=window)
    return pairs_within(ids, torch.zeros_like(ids), window, None)


def cbow_examples(
    ids: Int[Tensor, "n"], window: int, *, past_only: bool = False
) -> tuple[Int[Tensor, "examples slots"], Bool[Tensor, "examples slots"], Int[Tensor, "examples"]]:
    """Every word with its whole context: what the continuous bag of words learns from.

    Args:
        ids: The words of one text, as numbers, in order.
        window: How far the context reaches, at least 1.
        past_only: Take only the words to the left, so that the context predicts the next word.

    Returns:
        Three tensors, one row for each word that has a context: the context from left to right, one
        slot for each place of the window; the mask, True where the slot holds a word (a slot beyond
        the text holds a 0 that means nothing); and the word itself, the centre.

    Raises:
        ValueError: As ``context_pairs`` does.

    Source: Mikolov et al. 2013, section 3.1; lecture 000, "Word2Vec notes" and "Sequence 2 Sequence
    Tasks". Chapter: word2vec#cbow.

    Example:
        >>> contexts, mask, centres = cbow_examples(torch.tensor([5, 6, 7]), window=1)
        >>> contexts.tolist(), mask.tolist(), centres.tolist()
        ([[0, 6], [5, 7], [6, 0]], [[False, True], [True, True], [True, False]], [5, 6, 7])
    """
    _require_text(ids)
    require_int(1, window=window)
    return examples_within(ids, torch.zeros_like(ids), window, past_only)


def noise_distribution(
    counts: Real[Tensor, "vocab"], power: int | float = 0.75
) -> Float[Tensor, "vocab"]:
    r"""How often each word is drawn as a negative: $P(w) \propto \text{count}(w)^{3/4}$.

    The power evens the counts out: rare words are drawn more often than they occur.

    Args:
        counts: How often each word occurs.
        power: At least 0. With 1, words are drawn as they occur; with 0, all alike.

    Returns:
        Probabilities in double precision; they sum to 1. A word that never occurs is never drawn,
        at no power.

    Raises:
        ValueError: A count is negative or not finite, all are 0, or the power is negative or not
            finite.

    Source: Mikolov et al. 2013, "Distributed representations", section 2.2.
    Chapter: word2vec#noise-distribution.

    Example:
        >>> noise_distribution(torch.tensor([16, 1, 0]))
        tensor([0.8889, 0.1111, 0.0000], dtype=torch.float64)
    """
    _require_counts(counts)
    require(0 <= power < math.inf, "power must be finite and at least 0", power=power)
    share = counts.double() / counts.max()  # at most 1: no power of it overflows
    weight = torch.where(counts > 0, share**power, 0.0)
    return weight / weight.sum()


def keep_probability(
    counts: Real[Tensor, "vocab"], threshold: int | float
) -> Float[Tensor, "vocab"]:
    r"""Subsampling: the chance that one occurrence stays, $\min(1, \sqrt{t / f(w)})$.

    This is the paper's rule: an occurrence of a word with frequency $f$ is discarded with
    probability $1 - \sqrt{t/f}$. The authors' program and gensim keep $\sqrt{t/f} + t/f$ (at
    most 1), which is a little more.

    Args:
        counts: How often each word occurs; $f$ is the count over their sum.
        threshold: $t$, above 0. No word of a lower frequency is ever discarded. The paper takes
            0.00001 for a billion words; a small text wants a larger one.

    Returns:
        Probabilities in double precision; 1 for a word that never occurs.

    Raises:
        ValueError: A count is negative or not finite, all are 0, or the threshold is not positive
            and finite.

    Source: Mikolov et al. 2013, "Distributed representations", section 2.3, equation 5.
    Chapter: word2vec#subsampling.

    Example:
        >>> keep_probability(torch.tensor([90, 9, 1]), threshold=0.1)
        tensor([0.3333, 1.0000, 1.0000], dtype=torch.float64)
    """
    _require_counts(counts)
    is_positive = 0 < threshold < math.inf
    require(is_positive, "threshold must be positive and finite", threshold=threshold)
    frequency = counts.double() / counts.double().sum()
    return torch.sqrt(threshold / frequency).clamp(max=1.0)


def pairs_within(ids: Tensor, sentence: Tensor, window: int, reach: Tensor | None) -> Tensor:
    """The pairs of many texts in one row: nobody sees beyond its sentence, nor beyond its reach."""
    offsets = torch.cat((torch.arange(-window, 0), torch.arange(1, window + 1)))
    neighbour, seen = _neighbours(sentence, offsets)
    if reach is not None:
        seen &= offsets.abs() <= reach[:, None]
    centres = ids[:, None].expand_as(seen)
    return torch.stack((centres[seen], ids[neighbour[seen]]), dim=1)


def examples_within(
    ids: Tensor, sentence: Tensor, window: int, past_only: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The contexts, their mask and the centres of many texts in one row."""
    right = torch.arange(1, 1 if past_only else window + 1)
    neighbour, seen = _neighbours(sentence, torch.cat((torch.arange(-window, 0), right)))
    contexts = torch.where(seen, ids[neighbour], 0)
    has_context = seen.any(dim=1)
    return contexts[has_context], seen[has_context], ids[has_context]


def _neighbours(sentence: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """For each position and offset: the neighbour's position, and whether there is one."""
    n = len(sentence)
    position = torch.arange(n)[:, None] + offsets
    inside = position.clamp(0, max(n - 1, 0))
    return inside, (position == inside) & (sentence[inside] == sentence[:, None])


def _require_text(ids: Tensor) -> None:
    require(ids.ndim == 1, "ids must be one row of word ids", ids=ids)
    require_integers(ids=ids)
    wrong = ids[ids < 0].tolist()
    require(not wrong, "ids must be at least 0", wrong=wrong[:5])


def _require_counts(counts: Tensor) -> None:
    require(counts.ndim == 1, "counts must be one row, a number for each word", counts=counts)
    require_counts(counts=counts)
    require(bool((counts > 0).any()), "at least one count must be above 0", counts=counts)
