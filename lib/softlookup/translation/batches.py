"""Sentences in batches: filled up to one length, and a loss that has no eye for filler."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import Count, Size, checked, require, require_ids
from softlookup.masks import padding_mask
from softlookup.ops import cross_entropy

Tokens = Sequence[str]
Coded = tuple[Sequence[Count], Sequence[Count]]


@checked
def pad_batch(
    texts: Sequence[Sequence[Count]], filler: Count = 0
) -> tuple[Int[Tensor, "batch n"], Int[Tensor, "batch"]]:
    """Texts of different lengths as one tensor, filled up at the end, and how long each is.

    Args:
        texts: The ids of each text.
        filler: The id that fills up.

    Returns:
        The ids, as wide as the longest text, and the lengths.

    Raises:
        ValueError: There is no text, or all are empty.

    Source: lecture 003, "Implementation Details". Chapter: seq2seq#optional-padding.

    Example:
        >>> pad_batch([[5], [7, 8]])
        (tensor([[5, 0],
                [7, 8]]), tensor([1, 2]))
    """
    longest = max((len(text) for text in texts), default=0)
    require(longest > 0, "there must be at least one text that is not empty", n_texts=len(texts))
    rows = [[*text, *[filler] * (longest - len(text))] for text in texts]
    return torch.tensor(rows), torch.tensor([len(text) for text in texts])


@checked(not_empty="n vocab")
def sequence_loss(
    scores: Float[Tensor, "batch n vocab"],
    targets: Int[Tensor, "batch n"],
    lengths: Int[Tensor, "batch"] | Sequence[Count],
) -> Float[Tensor, ""]:
    """The mean cross-entropy of all real tokens of a batch; what fills up does not count.

    The mean is over tokens, not over texts: a long text counts for more.

    Args:
        scores: One row per step of each text.
        targets: The right token at each step.
        lengths: How many steps of each text are real.

    Returns:
        At least 0.

    Raises:
        ValueError: The shapes do not fit, a target is no token, or no step is real.

    Source: Sutskever et al. 2014, section 3.2. Chapter: seq2seq#training.

    Example:
        >>> sequence_loss(torch.zeros(2, 3, 4), torch.zeros(2, 3, dtype=torch.long), [3, 1])
        tensor(1.3863)
    """
    is_real = padding_mask(lengths, targets.shape[-1], device=scores.device).squeeze(-2)
    rule = "there must be one length for each text"
    require(len(is_real) == len(targets), rule, n_lengths=len(is_real), n_texts=len(targets))
    require_ids(scores.shape[-1], targets=targets[is_real])
    return cross_entropy(scores[is_real], targets[is_real])


@checked
def batches_of_pairs(
    coded: Sequence[Coded], batch_size: Size, generator: torch.Generator
) -> Iterator[list[Coded]]:
    """Batches without end, in a new order each time; each holds pairs of about the same lengths.

    Args:
        coded: The ids of each pair.
        batch_size: How many pairs at a time; the last batch of a round may have fewer.
        generator: The source of chance.

    Yields:
        Pairs, each of them once a round.

    Raises:
        ValueError: There is no pair, or ``batch_size`` is no integer of at least 1.

    Source: Vaswani et al. 2017, section 5.1. Chapter: seq2seq#training.

    Example:
        >>> coded = [([5, 6], [7]), ([8], [9])]
        >>> batches = batches_of_pairs(coded, 2, torch.Generator().manual_seed(1))
        >>> next(batches)
        [([8], [9]), ([5, 6], [7])]
    """
    require(len(coded) > 0, "there must be at least one pair", n_pairs=len(coded))
    while True:
        order = torch.randperm(len(coded), generator=generator).tolist()
        pools = [order[i : i + 20 * batch_size] for i in range(0, len(order), 20 * batch_size)]
        batches = []
        for pool in pools:
            pool.sort(key=lambda i: [len(side) for side in coded[i]])
            batches += [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
        for k in torch.randperm(len(batches), generator=generator).tolist():
            yield [coded[i] for i in batches[k]]


def require_sentences(**sides: Sequence[Tokens]) -> None:
    """Raise a ``ValueError`` unless each sentence has at least one word.

    Args:
        sides: Lists of sentences, by name.

    Raises:
        ValueError: A sentence is empty.

    Chapter: seq2seq#training

    Example:
        >>> require_sentences(source=[["un", "roi"], []])
        Traceback (most recent call last):
        ValueError: source[1] must have at least one word; got source[1]=[]
    """
    for name, sentences in sides.items():
        for i, sentence in enumerate(sentences):
            rule = f"{name}[{i}] must have at least one word"
            require(len(sentence) > 0, rule, **{f"{name}[{i}]": sentence})
