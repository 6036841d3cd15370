"""Skip-gram with negative sampling, trained on batches of pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from softlookup.checks import NotNegative, Positive, Size, checked, require
from softlookup.words.word2vec.neighbours import keep_probability, noise_distribution, pairs_within
from softlookup.words.word2vec.numbering import number_sentences
from softlookup.words.word2vec.skip_gram import pair_surprise, prediction_errors
from softlookup.words.word2vec.two_tables import AfterEpoch, Word2Vec, end_epoch

MOST_STEPS = 16
"""What the steps of one word in one batch may be worth together."""


@checked
def train_word2vec(
    sentences: Sequence[Sequence[str]],
    *,
    d_model: Size,
    window: Size = 5,
    n_negatives: Size = 5,
    epochs: Size = 5,
    learning_rate: Positive = 0.025,
    last_learning_rate: NotNegative = 0.0001,
    min_count: Size = 1,
    power: NotNegative = 0.75,
    subsample: Positive | None = None,
    shrink_window: bool = False,
    batch_size: Size = 512,
    generator: torch.Generator,
    after_epoch: AfterEpoch | None = None,
) -> Word2Vec:
    r"""Skip-gram with negative sampling, by stochastic gradient descent on batches of pairs.

    Each pair takes a step of the learning rate down its own ``negative_sampling_gradient``; the
    steps of a batch are taken together, all from the same place. A word that stands in hundreds of
    the batch's pairs would overshoot. So where a batch should hold a word more than ``MOST_STEPS``
    times, the word's rate is lowered until its steps are worth that many.

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
    rule = "last_learning_rate must be at most learning_rate"
    rates = {"learning_rate": learning_rate, "last_learning_rate": last_learning_rate}
    require(last_learning_rate <= learning_rate, rule, **rates)
    vocabulary, counts, blocks = number_sentences(sentences, min_count)
    keep = None if subsample is None else keep_probability(counts, subsample)
    noise = noise_distribution(counts, power)
    sampler = _Sampler(window, shrink_window, keep, noise, n_negatives, batch_size, generator)
    brakes = sampler.brakes(counts)
    model = Word2Vec(vocabulary, d_model, generator=generator)
    tables = model.centre.weight, model.context.weight
    for epoch in range(epochs):
        n_pairs, losses = 0, []
        for centres, words, share in sampler.batches(blocks):
            progress = (epoch + share) / epochs
            rate = learning_rate - (learning_rate - last_learning_rate) * progress
            scores = _step(*tables, centres, words, *(rate * brake for brake in brakes))
            n_pairs += len(centres)
            if after_epoch is not None:
                losses.append(pair_surprise(scores, words))
        require(n_pairs > 0, "subsample must leave at least one pair", subsample=subsample)
        end_epoch(epoch, losses, model, after_epoch)
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

    def batches(
        self, blocks: list[tuple[Tensor, Tensor]]
    ) -> Iterator[tuple[Tensor, Tensor, float]]:
        """Centres, their words (context first, then noise), and the share of the epoch done."""
        done, total = 0, sum(len(ids) for ids, _ in blocks)
        for ids, sentence in blocks:
            pairs = self.pairs(ids, sentence)
            words = torch.cat((pairs[:, 1:], self.negatives(len(pairs))), dim=1)
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
        pairs = pairs_within(ids, sentence, self.window, reach)
        return pairs.index_select(0, torch.randperm(len(pairs), generator=self.generator))

    def negatives(self, n_pairs: int) -> Tensor:
        """Noise words, a row for each pair."""
        size = n_pairs * self.n_negatives
        if size == 0:
            return torch.zeros(0, self.n_negatives, dtype=torch.int64)
        drawn = torch.multinomial(self.noise, size, replacement=True, generator=self.generator)
        return drawn.view(n_pairs, self.n_negatives)

    def brakes(self, counts: Tensor) -> tuple[Tensor, Tensor]:
        """For each word of either table, by how much to lower its rate: 1 for most words."""
        share = counts * (1.0 if self.keep is None else self.keep)
        as_centre = self.batch_size * share / share.sum()
        as_noise = self.batch_size * self.n_negatives * self.noise
        steps = as_centre, as_centre + as_noise  # a word is as often context as it is centre
        return tuple((MOST_STEPS / expected).clamp(max=1.0).float() for expected in steps)


@torch.no_grad()
def _step(
    U: Tensor, U_context: Tensor, centres: Tensor, words: Tensor, rate: Tensor, rate_context: Tensor
) -> Tensor:
    """Move both tables down the gradient of every pair of a batch; the scores before the step."""
    u = U.index_select(0, centres).unsqueeze(1)
    v = U_context.index_select(0, words.flatten()).view(*words.shape, -1)
    scores = (u * v).sum(dim=2)
    error = prediction_errors(scores, words).unsqueeze(2)
    by_centre = (error * v).sum(dim=1) * rate.index_select(0, centres).unsqueeze(1)
    by_word = error * rate_context.index_select(0, words.flatten()).view_as(error) * u
    _add_rows(U, centres, by_centre.neg_())
    _add_rows(U_context, words.flatten(), by_word.flatten(0, 1).neg_())
    return scores


def _add_rows(table: Tensor, ids: Tensor, rows: Tensor) -> None:
    """Add a row to each row of the table that ``ids`` names; one named twice gets both."""
    table.scatter_add_(0, ids[:, None].expand_as(rows), rows)  # much faster than index_add_
