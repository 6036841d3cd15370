"""Skip-gram: what a pair of neighbours costs, with the full softmax and with negative sampling."""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import Ids, checked
from softlookup.ops import cross_entropy, softmax
from softlookup.words.word2vec.two_tables import Vectors

WordIds = Annotated[Int[Tensor, "pairs"], Ids("vocab")]
NoiseIds = Annotated[Int[Tensor, "pairs negatives"], Ids("vocab")]


@checked(not_empty="vocab d_model pairs")
def skip_gram_loss(
    U: Vectors,
    U_context: Vectors,
    centres: WordIds,
    contexts: WordIds,
) -> Float[Tensor, ""]:
    r"""The mean over all pairs of $-\log p(x \mid w)$, with the softmax over the whole vocabulary.

    Args:
        U: The word vectors $u$, one row for each word.
        U_context: The context vectors $v$, one row for each word.
        centres: The first words of the pairs, $w$.
        contexts: Their neighbours, $x$.

    Returns:
        At least 0; the logarithm of the vocabulary's size where all scores are equal.

    Raises:
        ValueError: The tables do not fit each other or are not finite, an id is no word, there is
            no pair, or centres and contexts are not equally many.

    Source: Mikolov et al. 2013, "Distributed representations", equations 1 and 2; lecture 000,
    "Word2Vec". Chapter: word2vec#skip-gram.

    Example:
        >>> U, U_context = torch.tensor([[1.0], [0.0]]), torch.tensor([[0.0], [1.0986]])
        >>> skip_gram_loss(U, U_context, torch.tensor([0]), torch.tensor([1]))  # -log 0.75
        tensor(0.2877)
    """
    return cross_entropy(U[centres] @ U_context.mT, contexts)


@checked(not_empty="vocab d_model pairs")
def skip_gram_gradient(
    U: Vectors,
    U_context: Vectors,
    centres: WordIds,
    contexts: WordIds,
) -> tuple[Float[Tensor, "vocab d_model"], Float[Tensor, "vocab d_model"]]:
    r"""Slope of ``skip_gram_loss`` at both tables, derived by hand.

    With $e_x = p_x - [x \text{ is the context}]$, a pair adds $\sum_x e_x v(x)$ to the row of its
    centre, and $e_x u(w)$ to the row of every word $x$. So the centre moves towards $v$ of its
    context and away from the mean of all $v$ under $p$.

    Args:
        U: The word vectors $u$, one row for each word.
        U_context: The context vectors $v$, one row for each word.
        centres: The first words of the pairs, $w$.
        contexts: Their neighbours, $x$.

    Returns:
        The gradients with respect to ``U`` and ``U_context``, in their shapes. In the first, the
        row of a word that is nobody's centre is 0.

    Raises:
        ValueError: As ``skip_gram_loss`` does.

    Source: Rong 2014; lecture 000, "Skip Gram Continued". Chapter: word2vec#gradient.

    Example:
        >>> U, U_context = torch.tensor([[1.0], [0.0]]), torch.tensor([[0.0], [1.0]])
        >>> pair = torch.tensor([0]), torch.tensor([0])
        >>> by_U, by_U_context = skip_gram_gradient(U, U_context, *pair)
        >>> by_U.flatten(), by_U_context.flatten()
        (tensor([0.7311, 0.0000]), tensor([-0.7311,  0.7311]))
    """
    error = softmax(U[centres] @ U_context.mT)
    error[torch.arange(len(centres)), contexts] -= 1
    error /= len(centres)
    by_U = torch.zeros_like(U).index_add(0, centres, error @ U_context)
    return by_U, error.mT @ U[centres]


@checked(not_empty="vocab d_model pairs negatives")
def negative_sampling_loss(
    U: Vectors,
    U_context: Vectors,
    centres: WordIds,
    contexts: WordIds,
    negatives: NoiseIds,
) -> Float[Tensor, ""]:
    r"""Tell the true context from noise, a yes-or-no question for each word.

    A pair costs $-\log\sigma(u(w) \cdot v(x)) - \sum_{k} \log\sigma(-u(w) \cdot v(x_k))$ with the
    negatives $x_k$: the sum over its words. The loss is the mean over the pairs. A negative that is
    the pair's own context is left out of the sum: no word is true and noise at once. (The paper is
    silent about it; the authors' program and gensim do the same.)

    Args:
        U: The word vectors $u$, one row for each word.
        U_context: The context vectors $v$, one row for each word.
        centres: The first words of the pairs, $w$.
        contexts: Their neighbours, $x$.
        negatives: For each pair its noise words, at least one.

    Returns:
        At least 0; $(1 + K) \log 2$ where all scores are 0 and no negative is left out.

    Raises:
        ValueError: As ``skip_gram_loss`` does, or ``negatives`` is not one row of at least one
            word id for each pair.

    Source: Mikolov et al. 2013, "Distributed representations", equation 4; lecture 000, "Word2Vec
    notes". Chapter: word2vec#negative-sampling.

    Example:
        >>> U, U_context = torch.tensor([[1.0], [0.0]]), torch.zeros(2, 1)
        >>> pair, negatives = (torch.tensor([0]), torch.tensor([1])), torch.tensor([[0, 0, 1]])
        >>> negative_sampling_loss(U, U_context, *pair, negatives)  # 3 log 2: one is left out
        tensor(2.0794)
    """
    words = torch.cat((contexts[:, None], negatives), dim=1)
    return pair_surprise(_scores(U, U_context, centres, words), words).mean()


@checked(not_empty="vocab d_model pairs negatives")
def negative_sampling_gradient(
    U: Vectors,
    U_context: Vectors,
    centres: WordIds,
    contexts: WordIds,
    negatives: NoiseIds,
) -> tuple[Float[Tensor, "vocab d_model"], Float[Tensor, "vocab d_model"]]:
    r"""Slope of ``negative_sampling_loss`` at both tables: each pair touches $2 + K$ rows.

    The error of a word is $\sigma(u \cdot v) - 1$ for the context, $\sigma(u \cdot v)$ for a
    negative, and 0 for a negative that is left out. The pair adds $\sum e\,v$ to the row of its
    centre and $e\,u$ to the row of each of its words; a word drawn twice gets both.

    Args:
        U: The word vectors $u$, one row for each word.
        U_context: The context vectors $v$, one row for each word.
        centres: The first words of the pairs, $w$.
        contexts: Their neighbours, $x$.
        negatives: For each pair its noise words, at least one.

    Returns:
        The gradients with respect to ``U`` and ``U_context``, in their shapes.

    Raises:
        ValueError: As ``negative_sampling_loss`` does.

    Source: Goldberg and Levy 2014; Rong 2014. Chapter: word2vec#negative-sampling.

    Example:
        >>> U, U_context = torch.tensor([[1.0], [0.0]]), torch.zeros(2, 1)
        >>> pair, negatives = (torch.tensor([0]), torch.tensor([1])), torch.tensor([[0, 0, 1]])
        >>> negative_sampling_gradient(U, U_context, *pair, negatives)[1].flatten()
        tensor([ 1.0000, -0.5000])
    """
    words = torch.cat((contexts[:, None], negatives), dim=1)
    error = prediction_errors(_scores(U, U_context, centres, words), words) / len(centres)
    by_centre = (error.unsqueeze(2) * U_context[words]).sum(dim=1)
    by_word = error.unsqueeze(2) * U[centres].unsqueeze(1)
    by_U = torch.zeros_like(U).index_add(0, centres, by_centre)
    return by_U, torch.zeros_like(U).index_add(0, words.flatten(), by_word.flatten(0, 1))


def _scores(U: Tensor, U_context: Tensor, centres: Tensor, words: Tensor) -> Tensor:
    """The dot product of each centre with each of its words: (pairs, words)."""
    return (U[centres].unsqueeze(1) * U_context[words]).sum(dim=2)


@checked(not_empty="words")
def pair_surprise(
    scores: Float[Tensor, "pairs words"], words: Int[Tensor, "pairs words"]
) -> Float[Tensor, "pairs"]:
    """What each pair costs; log(1 + e^s) is -log sigma(-s), written so that nothing overflows.

    Args:
        scores: The dot product of a pair's centre with each of its words.
        words: The true context first, then the noise words.

    Returns:
        One number for each pair, at least 0; their mean is ``negative_sampling_loss``.

    Raises:
        ValueError: The shapes do not fit, or there is no word.

    Source: Mikolov et al. 2013, "Distributed representations", equation 4.
    Chapter: word2vec#negative-sampling.

    Example:
        >>> pair_surprise(torch.zeros(1, 2), torch.tensor([[3, 7]]))  # 2 log 2
        tensor([1.3863])
    """
    true, noise = scores[:, :1], scores[:, 1:]
    is_true = words[:, 1:] == words[:, :1]
    noise_cost = torch.logaddexp(noise, torch.zeros_like(noise)).masked_fill(is_true, 0)
    return noise_cost.sum(dim=1) + torch.logaddexp(-true, torch.zeros_like(true)).squeeze(1)


@checked(not_empty="words")
def prediction_errors(
    scores: Float[Tensor, "pairs words"], words: Int[Tensor, "pairs words"]
) -> Float[Tensor, "pairs words"]:
    """Probability less truth; the first word of each row is the true one.

    Args:
        scores: As in ``pair_surprise``.
        words: As in ``pair_surprise``.

    Returns:
        The slope of ``pair_surprise`` at each score; 0 for noise that is the true context.

    Raises:
        ValueError: As in ``pair_surprise``.

    Source: Goldberg and Levy 2014. Chapter: word2vec#negative-sampling.

    Example:
        >>> prediction_errors(torch.zeros(1, 3), torch.tensor([[3, 7, 3]]))
        tensor([[-0.5000,  0.5000,  0.0000]])
    """
    errors = torch.sigmoid(scores)  # twice as fast as ours, whose gradient nobody needs here
    errors[:, 0] -= 1
    errors[:, 1:].masked_fill_(words[:, 1:] == words[:, :1], 0)
    return errors
