"""Training the continuous bag of words with the full softmax."""

from collections.abc import Sequence

import torch
from torch import Tensor

from softlookup.checks import Positive, Size, checked
from softlookup.training import shuffled_rows, train_model
from softlookup.words.word2vec.cbow import cbow_loss
from softlookup.words.word2vec.neighbours import examples_within
from softlookup.words.word2vec.numbering import number_sentences
from softlookup.words.word2vec.two_tables import AfterEpoch, Word2Vec, end_epoch


@checked
def train_cbow(
    sentences: Sequence[Sequence[str]],
    *,
    d_model: Size,
    window: Size = 5,
    past_only: bool = False,
    epochs: Size = 5,
    learning_rate: Positive = 0.01,
    min_count: Size = 1,
    batch_size: Size = 256,
    generator: torch.Generator,
    after_epoch: AfterEpoch | None = None,
) -> Word2Vec:
    """CBOW with the full softmax, by Adam; with ``past_only``, a model of the next word.

    Args:
        sentences: Nothing but text: the words of each sentence. There are no labels.
        d_model: The length of the vectors.
        window: How far the context reaches, at least 1.
        past_only: Take only the words to the left: ``sample_next_words`` needs a model of this
            kind.
        epochs: Passes over the text.
        learning_rate: Of Adam, above 0.
        min_count: Words that occur less often are taken out of the text before anything else.
        batch_size: Examples in a batch.
        generator: The only source of chance: the same seed gives the same vectors.
        after_epoch: Called with the epoch's number, from 1, its mean loss over the examples, and
            the model as it then is.

    Returns:
        The model; its vocabulary is sorted by falling count, words of one count by the alphabet.

    Raises:
        ValueError: As ``train_word2vec`` does.

    Source: Mikolov et al. 2013, section 3.1; Kingma and Ba 2015; lecture 000, "Sequence 2 Sequence
    Tasks". Chapter: word2vec#cbow.

    Example:
        >>> from softlookup.words.word2vec import next_word_probabilities
        >>> text = [["a", "b", "a", "b"]] * 50
        >>> options = {"d_model": 2, "window": 1, "past_only": True}
        >>> model = train_cbow(text, **options, generator=torch.Generator().manual_seed(0))
        >>> tables = model.centre.weight, model.context.weight
        >>> next_word_probabilities(*tables, torch.tensor([0, 1]), 1).argmax(dim=1)
        tensor([1, 0])
    """
    vocabulary, _, blocks = number_sentences(sentences, min_count)
    examples = [examples_within(ids, sentence, window, past_only) for ids, sentence in blocks]
    contexts, mask, centres = (torch.cat(parts) for parts in zip(*examples, strict=True))
    model = Word2Vec(vocabulary, d_model, generator=generator)
    sizes = [len(batch) for batch in torch.arange(len(centres)).split(batch_size)]
    losses = []

    def loss_of_batch(model: Word2Vec, batch: Tensor) -> Tensor:
        tables = model.centre.weight, model.context.weight
        return cbow_loss(*tables, contexts[batch], mask[batch], centres[batch])

    def after_step(step: int, loss: float) -> None:
        losses.append(loss)
        if step % len(sizes) == 0:
            each = [torch.tensor(loss).expand(n) for n, loss in zip(sizes, losses, strict=True)]
            end_epoch(step // len(sizes) - 1, each, model, after_epoch)
            losses.clear()

    train_model(
        model,
        loss_of_batch,
        shuffled_rows(len(centres), batch_size, generator),
        optimizers=torch.optim.Adam(model.parameters(), lr=learning_rate),
        n_steps=epochs * len(sizes),
        after_step=after_step,
    )
    return model
