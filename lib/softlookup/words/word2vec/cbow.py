"""The continuous bag of words: the mean of the context predicts the word, or the next word."""

from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from softlookup.checks import Count, Ids, Size, checked, require, require_ids
from softlookup.ops import cross_entropy, softmax
from softlookup.words.word2vec.two_tables import Vectors

WordIds = Annotated[Int[Tensor, "n"], Ids("vocab")]


@checked(not_empty="vocab d_model")
def cbow_probabilities(
    U: Vectors,
    U_context: Vectors,
    contexts: Int[Tensor, "examples slots"],
    mask: Bool[Tensor, "examples slots"],
) -> Float[Tensor, "examples vocab"]:
    r"""Which word stands amid a context: softmax over the words of $\bar{u} \cdot v(w)$.

    $\bar{u}$ is the mean of the context's vectors. ``U`` is read for the words that are given, here
    the context, and ``U_context`` for the words that are scored, as the authors' program does: in
    both objectives ``U`` is the table that is kept.

    Args:
        U: The vectors of the words that are given.
        U_context: The vectors of the words that are scored.
        contexts: One row of context words for each example, from ``cbow_examples``.
        mask: True where a slot holds a word. What stands in the other slots never matters.

    Returns:
        One distribution over the vocabulary for each example.

    Raises:
        ValueError: The tables do not fit each other or are not finite, an id is no word, the mask
            does not fit, or an example has no context.

    Source: Mikolov et al. 2013, section 3.1; lecture 000, "Word2Vec notes". Chapter: word2vec#cbow.

    Example:
        >>> U, U_context = torch.tensor([[2.1972], [0.0]]), torch.tensor([[0.0], [1.0]])
        >>> context = torch.tensor([[0, 1]])
        >>> cbow_probabilities(U, U_context, context, torch.tensor([[True, True]]))
        tensor([[0.2500, 0.7500]])
    """
    return softmax(_cbow_scores(U, U_context, contexts, mask))


@checked(not_empty="vocab d_model examples")
def cbow_loss(
    U: Vectors,
    U_context: Vectors,
    contexts: Int[Tensor, "examples slots"],
    mask: Bool[Tensor, "examples slots"],
    centres: Annotated[Int[Tensor, "examples"], Ids("vocab")],
) -> Float[Tensor, ""]:
    r"""The mean over all examples of $-\log p(w \mid \text{context})$, with the full softmax.

    Args:
        U: The vectors of the words that are given.
        U_context: The vectors of the words that are scored.
        contexts: One row of context words for each example, from ``cbow_examples``.
        mask: True where a slot holds a word.
        centres: The word amid each context.

    Returns:
        At least 0; the logarithm of the vocabulary's size where all scores are equal.

    Raises:
        ValueError: As ``cbow_probabilities`` does, there is no example, or the centres do not fit.

    Source: Mikolov et al. 2013, section 3.1; lecture 000, "Word2Vec notes". Chapter: word2vec#cbow.

    Example:
        >>> U, U_context = torch.tensor([[2.1972], [0.0]]), torch.tensor([[0.0], [1.0]])
        >>> context, mask = torch.tensor([[0, 1]]), torch.tensor([[True, True]])
        >>> cbow_loss(U, U_context, context, mask, torch.tensor([1]))  # -log 0.75
        tensor(0.2877)
    """
    return cross_entropy(_cbow_scores(U, U_context, contexts, mask), centres)


@checked(not_empty="vocab d_model")
def next_word_probabilities(
    U: Vectors,
    U_context: Vectors,
    ids: WordIds,
    window: Size,
) -> Float[Tensor, "n vocab"]:
    """After each word of a text, what comes next: the softmax over the mean of the last words.

    Args:
        U: The vectors of the words that are given.
        U_context: The vectors of the words that are scored.
        ids: The words of one text, as numbers, in order.
        window: How many words back the context reaches, at least 1.

    Returns:
        Row i is a distribution over word i + 1. It depends on words i - window + 1 to i, or on
        those of them that exist, and on nothing else: not on what comes after, nor on the order.

    Raises:
        ValueError: The tables do not fit each other or are not finite, or ``ids`` or ``window`` is
            out of range.

    Source: lecture 000, "Sequence 2 Sequence Tasks". Chapter: word2vec#optional-next-word.

    Example:
        >>> U, U_context = torch.tensor([[2.1972], [0.0]]), torch.tensor([[0.0], [1.0]])
        >>> next_word_probabilities(U, U_context, torch.tensor([0, 1]), window=2)
        tensor([[0.1000, 0.9000],
                [0.2500, 0.7500]])
    """
    places = torch.arange(len(ids))[:, None] - torch.arange(window).flip(0)
    contexts = ids[places.clamp(min=0)] if len(ids) else places
    return cbow_probabilities(U, U_context, contexts, places >= 0)


@checked(not_empty="vocab d_model n")
def sample_next_words(
    U: Vectors,
    U_context: Vectors,
    ids: WordIds,
    window: Size,
    n_words: Count,
    *,
    generator: torch.Generator,
) -> Int[Tensor, "longer"]:
    """Continue a text: draw the next word given the last ones, append it, and go on.

    Args:
        U: The vectors of the words that are given.
        U_context: The vectors of the words that are scored.
        ids: The beginning, at least one word.
        window: How many words back the context reaches, at least 1.
        n_words: How many words to add, at least 0.
        generator: The source of chance.

    Returns:
        The beginning and ``n_words`` more.

    Raises:
        ValueError: As ``next_word_probabilities`` does, or the beginning is empty.

    Source: lecture 000, "Sequence 2 Sequence Tasks". Chapter: word2vec#optional-next-word.

    Example:
        >>> U, U_context = torch.tensor([[-90.0], [90.0]]), torch.tensor([[-1.0], [1.0]])
        >>> start, generator = torch.tensor([1]), torch.Generator().manual_seed(0)
        >>> sample_next_words(U, U_context, start, 1, 3, generator=generator)
        tensor([1, 1, 1, 1])
    """
    for _ in range(n_words):
        probabilities = next_word_probabilities(U, U_context, ids[-window:], window)[-1]
        drawn = torch.multinomial(probabilities, 1, generator=generator)
        ids = torch.cat((ids, drawn.to(ids.dtype)))
    return ids


def _cbow_scores(U: Tensor, U_context: Tensor, contexts: Tensor, mask: Tensor) -> Tensor:
    require_ids(len(U), contexts=contexts[mask])
    alone = torch.nonzero(~mask.any(dim=1)).flatten().tolist()
    require(not alone, "each example must have at least one context word", alone=alone[:5])
    vectors = U[contexts.where(mask, 0)] * mask.unsqueeze(2)
    return vectors.sum(dim=1) / mask.sum(dim=1, keepdim=True) @ U_context.mT
