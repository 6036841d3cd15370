"""What word2vec learns from: pairs of neighbours, noise words, and which words to leave out."""

from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

from softlookup.checks import NotNegative, Positive, Range, Size, checked, require

WordIds = Annotated[Int[Tensor, "n"], Range(0)]
WordCounts = Annotated[Real[Tensor, "vocab"], Range(0)]


@checked
def context_pairs(ids: WordIds, window: Size) -> Int[Tensor, "pairs 2"]:
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
    return pairs_within(ids, torch.zeros_like(ids), window, None)


@checked
def cbow_examples(
    ids: WordIds, window: Size, *, past_only: bool = False
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
    return examples_within(ids, torch.zeros_like(ids), window, past_only)


@checked
def noise_distribution(counts: WordCounts, power: NotNegative = 0.75) -> Float[Tensor, "vocab"]:
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
    require(bool((counts > 0).any()), "at least one count must be above 0", counts=counts)
    share = counts.double() / counts.max()  # at most 1: no power of it overflows
    weight = torch.where(counts > 0, share**power, 0.0)
    return weight / weight.sum()


@checked
def keep_probability(counts: WordCounts, threshold: Positive) -> Float[Tensor, "vocab"]:
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
    require(bool((counts > 0).any()), "at least one count must be above 0", counts=counts)
    frequency = counts.double() / counts.double().sum()
    return torch.sqrt(threshold / frequency).clamp(max=1.0)


@checked
def pairs_within(
    ids: WordIds, sentence: WordIds, window: Size, reach: WordIds | None
) -> Int[Tensor, "pairs 2"]:
    """The pairs of many texts in one row: nobody sees beyond its sentence, nor beyond its reach.

    Args:
        ids: The words of all texts, as numbers, in order.
        sentence: The number of each word's sentence.
        window: How far the context reaches.
        reach: How far that of each word does, if less. None: ``window`` for all.

    Returns:
        As ``context_pairs``.

    Raises:
        ValueError: As ``context_pairs`` does, or there are not as many numbers as words.

    Chapter: word2vec#context-window.

    Example:
        >>> pairs_within(torch.tensor([5, 6, 7]), torch.tensor([0, 0, 1]), 1, None).tolist()
        [[5, 6], [6, 5]]
    """
    offsets = torch.cat((torch.arange(-window, 0), torch.arange(1, window + 1)))
    neighbour, seen = _neighbours(sentence, offsets)
    if reach is not None:
        seen &= offsets.abs() <= reach[:, None]
    centres = ids[:, None].expand_as(seen)
    return torch.stack((centres[seen], ids[neighbour[seen]]), dim=1)


@checked
def examples_within(
    ids: WordIds, sentence: WordIds, window: Size, past_only: bool
) -> tuple[Int[Tensor, "examples slots"], Bool[Tensor, "examples slots"], Int[Tensor, "examples"]]:
    """The contexts, their mask and the centres of many texts in one row.

    Args:
        ids: The words of all texts, as numbers, in order.
        sentence: The number of each word's sentence.
        window: How far the context reaches.
        past_only: Take only the words to the left.

    Returns:
        As ``cbow_examples``.

    Raises:
        ValueError: As ``cbow_examples`` does, or there are not as many numbers as words.

    Chapter: word2vec#cbow.

    Example:
        >>> words, sentences = torch.tensor([5, 6, 7]), torch.tensor([0, 0, 1])
        >>> contexts, mask, centres = examples_within(words, sentences, 1, False)
        >>> contexts[mask].tolist(), centres.tolist()
        ([6, 5], [5, 6])
    """
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
