"""What training makes: a vocabulary and two vectors for each of its words."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from softlookup.checks import require, require_int
from softlookup.words.text import Vocabulary


class Word2Vec(nn.Module):
    """A vocabulary and two vectors for each of its words.

    ``centre.weight`` (U) holds a word's vector where the word is given; it is the table to keep.
    ``context.weight`` (U′) holds its vector where the word is predicted. As in the authors'
    program, U starts with small random numbers and U′ with zeros.

    Args:
        vocabulary: The words, one row each.
        d_model: The length of the vectors, at least 1.
        generator: The source of the first numbers.

    Raises:
        ValueError: The vocabulary is empty, or ``d_model`` is no integer of at least 1.

    Source: Mikolov et al. 2013; lecture 000, "Skip Gram Continued".
    Chapter: word2vec#two-tables.

    Example:
        >>> vocabulary = Vocabulary(["king", "queen"], unknown=None)
        >>> model = Word2Vec(vocabulary, 3, generator=torch.Generator().manual_seed(0))
        >>> model.centre.weight.shape, model.context.weight.abs().sum().item()
        (torch.Size([2, 3]), 0.0)
    """

    def __init__(self, vocabulary: Vocabulary, d_model: int, *, generator: torch.Generator) -> None:
        super().__init__()
        require_int(1, d_model=d_model)
        require(len(vocabulary) > 0, "vocabulary must hold at least one word", size=0)
        self.vocabulary = vocabulary
        shape = len(vocabulary), d_model
        first = (torch.rand(shape, generator=generator) - 0.5) / d_model
        self.centre = nn.Embedding.from_pretrained(first, freeze=False)
        self.context = nn.Embedding.from_pretrained(torch.zeros(shape), freeze=False)


AfterEpoch = Callable[[int, float, Word2Vec], None]


def end_epoch(
    epoch: int, losses: list[Tensor], model: Word2Vec, after_epoch: AfterEpoch | None
) -> None:
    """Refuse vectors that are no numbers; tell the caller how the epoch went."""
    finite = all(bool(torch.isfinite(table).all()) for table in model.parameters())
    require(finite, "the vectors must stay finite: lower learning_rate", epoch=epoch + 1)
    if after_epoch is not None:
        after_epoch(epoch + 1, torch.cat(losses).mean().item(), model)


def require_rates(first: int | float, last: int | float) -> None:
    """Refuse a learning rate that is not positive, or that rises."""
    rule = "learning_rate must be positive and finite, and last_learning_rate from 0 to it"
    in_order = 0 < first < float("inf") and 0 <= last <= first
    require(in_order, rule, learning_rate=first, last_learning_rate=last)
