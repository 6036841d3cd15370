"""Word vectors from raw text: skip-gram with negative sampling, and CBOW with the full softmax."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from softlookup.checks import require, require_int, require_tokens
from softlookup.text import Vocabulary
from softlookup.word2vec.cbow import cbow_loss, next_word_probabilities  # noqa: F401
from softlookup.word2vec.loss import _errors, _surprise
from softlookup.word2vec.pairs import _examples, _pairs, keep_probability, noise_distribution

BLOCK = 50_000
"""Words whose pairs are made, mixed and held at one time."""


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


def train_word2vec(
    sentences: list[list[str]],
    *,
    d_model: int,
    window: int = 5,
    n_negatives: int = 5,
    epochs: int = 5,
    learning_rate: float = 0.025,
    last_learning_rate: float = 0.0001,
    min_count: int = 1,
    power: int | float = 0.75,
    subsample: float | None = None,
    shrink_window: bool = False,
    batch_size: int = 512,
    generator: torch.Generator,
    after_epoch: AfterEpoch | None = None,
) -> Word2Vec:
    r"""Skip-gram with negative sampling, by stochastic gradient descent on batches of pairs.

    Each pair takes a step of the learning rate along its own ``negative_sampling_gradient``; the
    steps of a batch are taken together, from the same tables. So the batch size changes the speed
    and hardly the result, as long as no word has very many pairs in one batch.

    Args:
        sentences: Nothing but text: the words of each sentence. There are no labels.
        d_model: The length of the vectors.
        window: How far the context reaches, at least 1.
        n_negatives: Noise words for each pair, at least 1.
        epochs: Passes over the text.
        learning_rate: The step of a pair at the beginning; it falls in a straight line with the
            share of words that are done.
        last_learning_rate: The step at the end; from 0 to ``learning_rate``.
        min_count: Words that occur less often are taken out of the text before anything else.
        power: Of the counts, in ``noise_distribution``.
        subsample: The threshold of ``keep_probability``: frequent words are taken out at random,
            anew in each epoch, before the pairs are made. With None all stay.
        shrink_window: Draw each word's window from 1 to ``window``, as the authors' program does,
            so that near neighbours count more.
        batch_size: Pairs in a batch.
        generator: The only source of chance: the same seed gives the same vectors.
        after_epoch: Called with the epoch's number, from 1, its mean loss over the pairs, and the
            model as it then is.

    Returns:
        The model; its vocabulary is sorted by falling count, words of one count by the alphabet.

    Raises:
        ValueError: An option is out of range, a sentence is one string, no sentence has two words
            that are kept, or the vectors grow beyond all bounds.

    Source: Mikolov et al. 2013, "Distributed representations"; lecture 000, "Word2Vec".
    Chapter: word2vec#training.

    Example:
        >>> text = [["a", "b", "a", "b"], ["c", "d", "c", "d"]] * 50
        >>> model = train_word2vec(text, d_model=2, generator=torch.Generator().manual_seed(0))
        >>> model.vocabulary.tokens, model.centre.weight.shape
        (['a', 'b', 'c', 'd'], torch.Size([4, 2]))
    """
    require_int(1, window=window, n_negatives=n_negatives, epochs=epochs, batch_size=batch_size)
    _require_rates(learning_rate, last_learning_rate)
    vocabulary, counts, blocks = _numbered(sentences, min_count)
    sampler = _Sampler(
        window=window,
        shrink_window=shrink_window,
        keep=None if subsample is None else keep_probability(counts, subsample),
        noise=noise_distribution(counts, power),
        n_negatives=n_negatives,
        batch_size=batch_size,
        generator=generator,
    )
    model = Word2Vec(vocabulary, d_model, generator=generator)
    for epoch in range(epochs):
        losses = []
        for centres, words, share in sampler.batches(blocks):
            progress = (epoch + share) / epochs
            rate = learning_rate - (learning_rate - last_learning_rate) * progress
            losses.append(_step(model.centre.weight, model.context.weight, centres, words, rate))
        _after(epoch, losses, model, after_epoch)
    return model


@dataclass(frozen=True)
class _Sampler:
    """What chance decides in an epoch: which words stay, who sees whom, and the noise."""

    window: int
    shrink_window: bool
    keep: Tensor | None
    noise: Tensor
    n_negatives: int
    batch_size: int
    generator: torch.Generator

    def batches(self, blocks: list[tuple[Tensor, Tensor]]) -> Iterator[tuple]:
        """Centres, their words (context first, then noise), and the share of the epoch done."""
        done, total = 0, sum(len(ids) for ids, _ in blocks)
        for ids, sentence in blocks:
            pairs = self.pairs(ids, sentence)
            n_noise = len(pairs) * self.n_negatives
            noise = torch.multinomial(self.noise, n_noise, True, generator=self.generator)
            words = torch.cat((pairs[:, 1:], noise.view(len(pairs), -1)), dim=1)
            for start in range(0, len(pairs), self.batch_size):
                batch = slice(start, start + self.batch_size)
                yield pairs[batch, 0], words[batch], (done + start / len(pairs) * len(ids)) / total
            done += len(ids)

    def pairs(self, ids: Tensor, sentence: Tensor) -> Tensor:
        """The pairs of one block, in random order."""
        if self.keep is not None:
            kept = torch.rand(len(ids), generator=self.generator) < self.keep[ids]
            ids, sentence = ids[kept], sentence[kept]
        reach = None
        if self.shrink_window:
            reach = torch.randint(1, self.window + 1, (len(ids),), generator=self.generator)
        pairs = _pairs(ids, sentence, self.window, reach)
        return pairs.index_select(0, torch.randperm(len(pairs), generator=self.generator))


@torch.no_grad()
def _step(U: Tensor, U_context: Tensor, centres: Tensor, words: Tensor, rate: float) -> Tensor:
    """Move both tables along the gradient of every pair of a batch; the pairs' losses."""
    u = U.index_select(0, centres).unsqueeze(1)
    v = U_context.index_select(0, words.flatten()).view(*words.shape, -1)
    scores = (u * v).sum(dim=2)
    error = _errors(scores, words).mul_(-rate).unsqueeze(2)
    _add_rows(U, centres, (error * v).sum(dim=1))
    _add_rows(U_context, words.flatten(), (error * u).flatten(0, 1))
    return _surprise(scores, words)


def _add_rows(table: Tensor, ids: Tensor, rows: Tensor) -> None:
    """Add a row to each row of the table that ``ids`` names; one named twice gets both."""
    table.scatter_add_(0, ids[:, None].expand_as(rows), rows)  # much faster than index_add_


def train_cbow(
    sentences: list[list[str]],
    *,
    d_model: int,
    window: int = 5,
    past_only: bool = False,
    epochs: int = 5,
    learning_rate: float = 0.01,
    min_count: int = 1,
    batch_size: int = 256,
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
        >>> text = [["a", "b", "a", "b"]] * 50
        >>> options = {"d_model": 2, "window": 1, "past_only": True}
        >>> model = train_cbow(text, **options, generator=torch.Generator().manual_seed(0))
        >>> tables = model.centre.weight, model.context.weight
        >>> next_word_probabilities(*tables, torch.tensor([0, 1]), 1).argmax(dim=1)
        tensor([1, 0])
    """
    require_int(1, window=window, epochs=epochs, batch_size=batch_size)
    _require_rates(learning_rate, 0.0)
    vocabulary, _, blocks = _numbered(sentences, min_count)
    examples = [_examples(ids, sentence, window, past_only) for ids, sentence in blocks]
    contexts, mask, centres = (torch.cat(parts) for parts in zip(*examples, strict=True))
    model = Word2Vec(vocabulary, d_model, generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for epoch in range(epochs):
        losses = []
        for batch in torch.randperm(len(centres), generator=generator).split(batch_size):
            tables = model.centre.weight, model.context.weight
            loss = cbow_loss(*tables, contexts[batch], mask[batch], centres[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach().expand(len(batch)))
        _after(epoch, losses, model, after_epoch)
    return model


def _numbered(
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


def _after(
    epoch: int, losses: list[Tensor], model: Word2Vec, after_epoch: AfterEpoch | None
) -> None:
    """Refuse vectors that are no numbers; tell the caller how the epoch went."""
    loss = torch.cat([*losses, torch.zeros(0)]).mean().item()
    finite = all(bool(torch.isfinite(table).all()) for table in model.parameters())
    rule = "the vectors must stay finite: lower learning_rate or batch_size"
    require(finite, rule, epoch=epoch + 1, loss=loss)
    if after_epoch is not None:
        after_epoch(epoch + 1, loss, model)


def _require_rates(first: float, last: float) -> None:
    rule = "learning_rate must be positive and finite, and last_learning_rate from 0 to it"
    in_order = 0 < first < float("inf") and 0 <= last <= first
    require(in_order, rule, learning_rate=first, last_learning_rate=last)
