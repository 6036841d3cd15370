"""Sentences as numbers: the vocabulary, its counts, and the text in blocks."""

from collections import Counter

import torch
from torch import Tensor

from softlookup.checks import require, require_int, require_tokens
from softlookup.words.text import Vocabulary

BLOCK = 50_000
"""Words whose pairs are made, mixed and held at one time."""


def number_sentences(
    sentences: list[list[str]], min_count: int
) -> tuple[Vocabulary, Tensor, list[tuple[Tensor, Tensor]]]:
    """The vocabulary, its counts, and the text in blocks: each word's id and its sentence's."""
    require_tokens(sentences=sentences)
    require_tokens(**{f"sentences[{i}]": sentence for i, sentence in enumerate(sentences)})
    require_int(1, min_count=min_count)
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
