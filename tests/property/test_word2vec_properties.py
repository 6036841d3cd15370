"""What holds for every text, table and count, tried on whatever hypothesis thinks of."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.words import Vocabulary
from softlookup.words.word2vec import (
    Word2Vec,
    analogy,
    cbow_examples,
    cbow_loss,
    context_pairs,
    keep_probability,
    load_word2vec,
    negative_sampling_loss,
    next_word_probabilities,
    noise_distribution,
    save_word2vec,
    skip_gram_gradient,
    skip_gram_loss,
)

VOCAB, D_MODEL = 7, 3
TEXT = st.lists(st.integers(0, VOCAB - 1), max_size=17)
LONG = st.lists(st.integers(0, VOCAB - 1), min_size=2, max_size=17)
WINDOW = st.integers(1, 19)
COUNTS = st.lists(st.integers(0, 10**9), min_size=1, max_size=13).filter(any)
SEED = st.integers(0, 2**31)


def tables(seed, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    shape = VOCAB, D_MODEL
    return [scale * torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)]


@given(TEXT, WINDOW)
def test_the_number_of_pairs(text, k):
    T = len(text)
    expected = sum(min(t, k) + min(T - 1 - t, k) for t in range(T))
    assert len(context_pairs(torch.tensor(text, dtype=torch.int64), k)) == expected


@given(TEXT, WINDOW)
def test_being_neighbours_is_mutual(text, k):
    pairs = context_pairs(torch.tensor(text, dtype=torch.int64), k).tolist()
    assert sorted(pairs) == sorted([x, w] for w, x in pairs)


@given(TEXT, WINDOW)
def test_pairs_and_cbow_examples_hold_the_same_neighbours(text, k):
    ids = torch.tensor(text, dtype=torch.int64)
    contexts, mask, centres = cbow_examples(ids, k)
    rows = zip(contexts, mask, centres, strict=True)
    flat = [[w.item(), x] for row, seen, w in rows for x in row[seen].tolist()]
    assert flat == context_pairs(ids, k).tolist()


@given(TEXT, WINDOW)
def test_the_past_and_its_mirror_image_are_the_whole_context(text, k):
    ids = torch.tensor(text, dtype=torch.int64)
    past = cbow_examples(ids, k, past_only=True)[1].sum()
    future = cbow_examples(ids.flip(0), k, past_only=True)[1].sum()
    assert past + future == cbow_examples(ids, k)[1].sum()


@given(COUNTS, st.floats(0, 5))
def test_noise_is_a_distribution_over_the_words_that_occur(counts, power):
    noise = noise_distribution(torch.tensor(counts), power)
    assert_close(noise.sum(), torch.tensor(1.0, dtype=torch.float64))
    assert (noise[torch.tensor(counts) == 0] == 0).all()
    order = torch.tensor(counts).argsort()
    assert (torch.diff(noise[order]) >= 0).all()


@given(COUNTS, st.integers(1, 1000))
def test_only_the_ratios_of_counts_matter(counts, factor):
    counts = torch.tensor(counts)
    assert_close(noise_distribution(factor * counts), noise_distribution(counts))
    assert_close(keep_probability(factor * counts, 0.01), keep_probability(counts, 0.01))


@given(COUNTS, st.floats(1e-9, 1))
def test_a_more_frequent_word_is_kept_less_often(counts, threshold):
    counts = torch.tensor(counts)
    keep = keep_probability(counts, threshold)
    assert ((keep > 0) & (keep <= 1)).all()
    assert (torch.diff(keep[counts.argsort()]) <= 0).all()
    frequency = counts.double() / counts.sum()
    assert (keep[frequency <= threshold] == 1).all()
    assert_close((keep**2 * frequency).clamp(max=threshold), frequency.clamp(max=threshold))


@given(LONG, WINDOW, SEED)
def test_the_objective_is_the_loss_times_the_pairs_per_word(text, k, seed):
    """(1/T) times the sum of log p over all pairs, as the lecture writes it."""
    U, U_context = tables(seed)
    pairs = context_pairs(torch.tensor(text), k)
    log_p = (U @ U_context.mT).log_softmax(dim=1)
    objective = sum(log_p[w, x] for w, x in pairs.tolist()) / len(text)
    loss = skip_gram_loss(U, U_context, *pairs.unbind(dim=1))
    assert_close(objective, -loss * len(pairs) / len(text))


@given(LONG, SEED, st.floats(-50, 50))
def test_one_vector_added_to_all_contexts_changes_no_probability(text, seed, shift):
    U, U_context = tables(seed)
    pairs = context_pairs(torch.tensor(text), 2).unbind(dim=1)
    moved = skip_gram_loss(U, U_context + shift, *pairs)
    assert_close(moved, skip_gram_loss(U, U_context, *pairs), rtol=1e-9, atol=1e-9)


@given(LONG, SEED)
def test_a_batch_is_the_mean_of_its_pairs(text, seed):
    U, U_context = tables(seed)
    pairs = context_pairs(torch.tensor(text), 1)
    noise = torch.randint(VOCAB, (len(pairs), 2), generator=torch.Generator().manual_seed(seed))
    alone = [
        negative_sampling_loss(U, U_context, *pair[:, None], row[None])
        for pair, row in zip(pairs, noise, strict=True)
    ]
    together = negative_sampling_loss(U, U_context, *pairs.unbind(dim=1), noise)
    assert_close(together, torch.stack(alone).mean())


@given(LONG, SEED)
def test_the_gradients_of_the_context_table_sum_to_zero(text, seed):
    """Softmax errors sum to 0, so what one context gains the others lose."""
    pairs = context_pairs(torch.tensor(text), 2).unbind(dim=1)
    _, by_context = skip_gram_gradient(*tables(seed), *pairs)
    assert_close(by_context.sum(dim=0), torch.zeros(D_MODEL, dtype=torch.float64))


@given(LONG, SEED, st.data())
def test_cbow_forgets_the_order_of_its_context(text, seed, data):
    contexts, mask, centres = cbow_examples(torch.tensor(text), 2)
    order = data.draw(st.permutations(range(contexts.shape[1])))
    assert_close(
        cbow_loss(*tables(seed), contexts[:, order], mask[:, order], centres),
        cbow_loss(*tables(seed), contexts, mask, centres),
    )


@given(LONG, WINDOW, SEED, st.data())
def test_the_next_word_never_depends_on_the_future(text, window, seed, data):
    ids = torch.tensor(text)
    i = data.draw(st.integers(0, len(text) - 2))
    other = ids.clone()
    other[i + 1 :] = torch.tensor(data.draw(st.permutations(text)))[i + 1 :]
    before = next_word_probabilities(*tables(seed), ids, window)
    after = next_word_probabilities(*tables(seed), other, window)
    assert torch.equal(before[: i + 1], after[: i + 1])
    assert_close(before.sum(dim=1), torch.ones(len(text), dtype=torch.float64))


@given(SEED, st.floats(1e-3, 1e3), st.permutations(range(VOCAB)))
def test_analogies_care_neither_for_lengths_nor_for_numbering(seed, factor, order):
    table, _ = tables(seed)
    lengths = torch.linspace(1, factor, VOCAB, dtype=torch.float64)[:, None]
    answer = analogy(table, 0, 1, 2)
    assert analogy(table * lengths, 0, 1, 2) == answer
    place = [order.index(i) for i in range(VOCAB)]
    assert order[analogy(table[order], *place[:3])] == answer


@given(st.lists(st.text(), min_size=1, max_size=11, unique=True), SEED, st.integers(1, 5))
def test_any_vocabulary_survives_a_file(tmp_path_factory, words, seed, d_model):
    generator = torch.Generator().manual_seed(seed)
    model = Word2Vec(Vocabulary(words, unknown=None), d_model, generator=generator)
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    save_word2vec(model, path)
    found = load_word2vec(path)
    assert found.vocabulary.tokens == words
    assert torch.equal(found.centre.weight, model.centre.weight)


def test_the_uniform_model_scores_minus_the_contexts_times_the_logarithm():
    """The lecture's objective where every word is equally likely: -(contexts per word) log M."""
    zeros = torch.zeros(VOCAB, D_MODEL, dtype=torch.float64)
    pairs = context_pairs(torch.arange(VOCAB), 2)
    objective = -skip_gram_loss(zeros, zeros, *pairs.unbind(dim=1)).item() * len(pairs) / VOCAB
    assert math.isclose(objective, -(len(pairs) / VOCAB) * math.log(VOCAB), rel_tol=1e-12)
