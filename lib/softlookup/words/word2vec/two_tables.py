"""What training makes: a vocabulary and two vectors for each of its words."""

from collections.abc import Callable, Sequence
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.checks import Count, Finite, Size, checked, require
from softlookup.words.text import Vocabulary

Vectors = Annotated[Float[Tensor, "vocab d_model"], Finite]
"""A table of finite numbers: one row for each word."""


@checked
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

    def __init__(
        self, vocabulary: Vocabulary, d_model: Size, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        require(len(vocabulary) > 0, "vocabulary must hold at least one word", size=0)
        self.vocabulary = vocabulary
        shape = len(vocabulary), d_model
        first = (torch.rand(shape, generator=generator) - 0.5) / d_model
        self.centre = nn.Embedding.from_pretrained(first, freeze=False)
        self.context = nn.Embedding.from_pretrained(torch.zeros(shape), freeze=False)


AfterEpoch = Callable[[int, float, Word2Vec], None]


@checked
def end_epoch(
    epoch: Count,
    losses: Sequence[Float[Tensor, "_"]],
    model: Word2Vec,
    after_epoch: AfterEpoch | None,
) -> None:
    """Refuse vectors that are no numbers; tell the caller how the epoch went.

    Args:
        epoch: Its number, from 0.
        losses: The loss of each example, batch by batch; not read where nobody is told.
        model: The model as it now is.
        after_epoch: As in ``train_word2vec``.

    Raises:
        ValueError: A vector is not finite, or there is no loss to tell.

    Chapter: word2vec#training.

    Example:
        >>> vocabulary = Vocabulary(["king", "queen"], unknown=None)
        >>> model = Word2Vec(vocabulary, 3, generator=torch.Generator().manual_seed(0))
        >>> end_epoch(0, [torch.tensor([1.0, 3.0])], model, lambda *told: print(*told[:2]))
        1 2.0
    """
    finite = all(bool(torch.isfinite(table).all()) for table in model.parameters())
    require(finite, "the vectors must stay finite: lower learning_rate", epoch=epoch + 1)
    if after_epoch is not None:
        require(len(losses) > 0, "losses must hold at least one batch", losses=losses)
        after_epoch(epoch + 1, torch.cat(losses).mean().item(), model)
