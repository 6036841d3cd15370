"""Sentences as numbers: the vocabulary, its counts, and the text in blocks."""

from collections import Counter
from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from softlookup.checks import Size, checked, require
from softlookup.words.text import Vocabulary

BLOCK = 50_000
"""Words whose pairs are made, mixed and held at one time."""


@checked
def number_sentences(
    sentences: Sequence[Sequence[str]], min_count: Size
) -> tuple[Vocabulary, Int[Tensor, "vocab"], list[tuple[Int[Tensor, "_"], Int[Tensor, "_"]]]]:
    """The vocabulary, its counts, and the text in blocks: each word's id and its sentence's.

    Args:
        sentences: The words of each sentence.
        min_count: Words that occur less often are taken out first.

    Returns:
        The vocabulary, by falling count; how often each word occurs; and blocks of whole sentences,
        each a row of ids and a row of sentence numbers.

    Raises:
        ValueError: No sentence has two words that are kept.

    Chapter: word2vec#training.

    Example:
        >>> vocabulary, counts, _ = number_sentences([["a", "b", "a"], ["c"]], 1)
        >>> vocabulary.tokens, counts
        (['a', 'b', 'c'], tensor([2, 1, 1]))
    """
    counter = Counter(token for sentence in sentences for token in sentence)
    words = [word for word, count in counter.items() if count >= min_count]
    words.sort(key=lambda word: (-counter[word], word))
    known = set(words)
    kept = [[word for word in sentence if word in known] for sentence in sentences]
    longest = max((len(sentence) for sentence in kept), default=0)
    rule = f"a sentence must hold two words that occur at least min_count = {min_count} times"
    require(longest > 1, rule, sentences=len(sentences), longest=longest)
    vocabulary = Vocabulary(words, unknown=None)
    return vocabulary, torch.tensor([counter[word] for word in words]), _blocks(kept, vocabulary)


def _blocks(sentences: list[list[str]], vocabulary: Vocabulary) -> list[tuple[Tensor, Tensor]]:
    """Ids and sentence numbers, cut between sentences into blocks of about ``BLOCK`` words."""
    blocks, ids, numbers = [], [], []
    for number, sentence in enumerate(sentences):
        ids += vocabulary.encode(sentence)
        numbers += [number] * len(sentence)
        if len(ids) >= BLOCK:
            blocks.append((torch.tensor(ids), torch.tensor(numbers)))
            ids, numbers = [], []
    return [*blocks, (torch.tensor(ids), torch.tensor(numbers))] if ids else blocks
