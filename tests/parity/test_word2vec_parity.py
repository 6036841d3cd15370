"""The same numbers from PyTorch's losses and from gensim."""

import math

import numpy as np
import pytest
import torch
from gensim.models import KeyedVectors, fasttext
from gensim.models import Word2Vec as TheirWord2Vec
from torch.nn.functional import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    embedding_bag,
    one_hot,
)
from torch.testing import assert_close

from softlookup.data import GRAMMAR_ANALOGIES, planted_sentences
from softlookup.words.word2vec import (
    analogy_accuracy,
    cbow_examples,
    cbow_loss,
    character_ngrams,
    context_pairs,
    keep_probability,
    load_word2vec_text,
    negative_sampling_gradient,
    negative_sampling_loss,
    noise_distribution,
    skip_gram_gradient,
    skip_gram_loss,
    train_word2vec,
)

VOCAB, D_MODEL, PAIRS, NEGATIVES = 13, 5, 17, 3


@pytest.fixture
def tables(generator):
    shape = VOCAB, D_MODEL
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)]


@pytest.fixture
def batch(generator):
    centres, contexts = (torch.randint(VOCAB, (PAIRS,), generator=generator) for _ in range(2))
    negatives = torch.randint(VOCAB, (PAIRS, NEGATIVES), generator=generator)
    negatives[0, 2] = contexts[0]
    return centres, contexts, negatives


# PyTorch


def test_skip_gram_is_two_linear_layers_and_a_cross_entropy(tables, batch):
    U, U_context = tables
    centres, contexts, _ = batch
    scores = one_hot(centres, VOCAB).double() @ U @ U_context.mT
    assert_close(skip_gram_loss(*tables, centres, contexts), cross_entropy(scores, contexts))


def test_skip_gram_gradient_is_that_of_pytorch(tables, batch):
    leaves = [one.clone().requires_grad_() for one in tables]
    cross_entropy(leaves[0][batch[0]] @ leaves[1].mT, batch[1]).backward()
    assert_close(skip_gram_gradient(*tables, *batch[:2]), tuple(one.grad for one in leaves))


def their_negative_sampling(U, U_context, centres, contexts, negatives):
    """Yes-or-no questions with PyTorch's loss; a weight of 0 leaves a question out."""
    words = torch.cat((contexts[:, None], negatives), dim=1)
    scores = torch.einsum("pd,pwd->pw", U[centres], U_context[words])
    truth = torch.zeros_like(scores)
    truth[:, 0] = 1
    weight = torch.ones_like(scores)
    weight[:, 1:] = (negatives != contexts[:, None]).double()
    total = binary_cross_entropy_with_logits(scores, truth, weight=weight, reduction="sum")
    return total / len(centres)


def test_negative_sampling_is_a_binary_cross_entropy(tables, batch):
    assert_close(negative_sampling_loss(*tables, *batch), their_negative_sampling(*tables, *batch))


def test_negative_sampling_gradient_is_that_of_pytorch(tables, batch):
    leaves = [one.clone().requires_grad_() for one in tables]
    their_negative_sampling(*leaves, *batch).backward()
    found = negative_sampling_gradient(*tables, *batch)
    assert_close(found, tuple(one.grad for one in leaves))


def test_cbow_is_an_embedding_bag_and_a_cross_entropy(tables):
    U, U_context = tables
    contexts, mask, centres = cbow_examples(torch.tensor([3, 1, 4, 1, 5, 9, 2, 6]), 2)
    offsets = torch.cat((torch.zeros(1).long(), mask.sum(dim=1).cumsum(0)[:-1]))
    means = embedding_bag(contexts[mask], U, offsets, mode="mean")
    expected = cross_entropy(means @ U_context.mT, centres)
    assert_close(cbow_loss(U, U_context, contexts, mask, centres), expected)


# gensim


@pytest.fixture(scope="module")
def text():
    return planted_sentences(3_000, torch.Generator().manual_seed(1))


def theirs(text, **options):
    defaults = {"vector_size": 32, "sg": 1, "min_count": 1, "workers": 1, "seed": 1}
    return TheirWord2Vec(text, **(defaults | options))


def counts_of(model):
    return torch.tensor([model.wv.get_vecattr(w, "count") for w in model.wv.index_to_key])


def test_noise_is_gensims_cumulative_table(text):
    model = theirs(text, negative=5, epochs=1)
    table = torch.tensor(model.cum_table.astype(np.float64))
    expected = torch.diff(table, prepend=torch.zeros(1).double()) / table[-1]
    assert_close(noise_distribution(counts_of(model)), expected, rtol=0, atol=2e-9)


def test_gensim_keeps_a_little_more_than_the_paper(text):
    """Ours is the paper's sqrt(t / f); theirs is sqrt(t / f) + t / f, at most 1."""
    t = 0.01
    model = theirs(text, negative=5, epochs=1, sample=t)
    counts = counts_of(model)
    limit = 2**32 - 1
    kept = [model.wv.get_vecattr(w, "sample_int") / limit for w in model.wv.index_to_key]
    frequency = counts / counts.sum()
    expected = (torch.sqrt(t / frequency) + t / frequency).clamp(max=1.0).double()
    assert_close(torch.tensor(kept, dtype=torch.float64), expected, rtol=1e-6, atol=1e-6)
    ours = keep_probability(counts, t)
    rare = frequency <= t
    assert (ours[rare] == 1).all()
    assert (ours[~rare] < torch.tensor(kept).double()[~rare]).all()


def test_their_program_counts_the_same_words(text):
    model = theirs(text, negative=5, epochs=1)
    ours = train_word2vec(text, d_model=2, epochs=1, generator=torch.Generator().manual_seed(0))
    their_counts = dict(zip(model.wv.index_to_key, counts_of(model).tolist(), strict=True))
    assert sorted(their_counts) == sorted(ours.vocabulary.tokens)
    ranked = [their_counts[word] for word in ours.vocabulary.tokens]
    assert ranked == sorted(ranked, reverse=True)
    assert model.corpus_total_words == sum(len(sentence) for sentence in text)


def test_gensims_step_is_ours():
    """Two pairs, (b, a) and then (a, b), each with one negative: four ways to draw the noise.

    gensim's vectors are where our gradient leads for exactly one of them.
    """
    rate = 0.5
    model = theirs([["a", "b"]], vector_size=3, negative=1, epochs=1, window=1, sample=0,
                   alpha=rate, min_alpha=rate, shrink_windows=False, seed=3)  # fmt: skip
    assert model.wv.vectors.shape == (2, 3)
    words = model.wv.index_to_key
    first = theirs([["a", "b"]], vector_size=3, negative=1, epochs=1, window=1, sample=0,
                   alpha=0.0, min_alpha=0.0, shrink_windows=False, seed=3)  # fmt: skip
    U = torch.tensor(first.wv.vectors).double()
    V = torch.zeros_like(U)
    assert words == first.wv.index_to_key
    possible = []
    for noise in torch.cartesian_prod(torch.arange(2), torch.arange(2)):
        u, v = U.clone(), V.clone()
        order = [(0, 1), (1, 0)] if words == ["a", "b"] else [(1, 0), (0, 1)]
        for (context, centre), k in zip(order, noise, strict=True):
            # gensim reads the pair the other way round: the neighbour is the input
            pair = torch.tensor([centre]), torch.tensor([context]), k.view(1, 1)
            by_u, by_v = negative_sampling_gradient(u, v, *pair)
            u, v = u - rate * by_u, v - rate * by_v
        possible.append((u, v))
    found = torch.tensor(model.wv.vectors).double(), torch.tensor(model.syn1neg).double()
    close = [
        all(torch.allclose(a, b, atol=3e-3) for a, b in zip(found, one, strict=True))
        for one in possible
    ]
    assert sum(close) == 1
    moved = (found[0] - U).abs().max(), found[1].abs().max()
    assert min(moved) > 0.02  # far more than the error of gensim's table of sigmoids


def test_pairs_are_as_many_as_gensim_trains():
    """Each pair costs log 2 twice while U′ is zero: the first loss of gensim counts its pairs."""
    n, window = 23, 4
    text = [[f"w{i}" for i in range(n)]]
    model = theirs(text, vector_size=2, negative=1, window=window, sample=0, epochs=1,
                   alpha=0.0, min_alpha=0.0, shrink_windows=False, compute_loss=True)  # fmt: skip
    n_pairs = len(context_pairs(torch.arange(n), window))
    cost = model.get_latest_training_loss() / math.log(2)
    assert n_pairs <= round(cost) <= 2 * n_pairs  # a negative that is the context costs nothing
    assert cost == pytest.approx(2 * n_pairs, rel=0.1)


def test_their_text_format_is_read(text, tmp_path):
    model = theirs(text, negative=5, epochs=2)
    path = tmp_path / "gensim.txt"
    model.wv.save_word2vec_format(str(path), binary=False)
    vocabulary, table = load_word2vec_text(path)
    assert vocabulary.tokens == model.wv.index_to_key
    assert torch.equal(table, torch.tensor(model.wv.vectors))
    assert_close(table, torch.tensor(KeyedVectors.load_word2vec_format(str(path)).vectors))
    few, rows = load_word2vec_text(path, limit=7)
    assert few.tokens == vocabulary.tokens[:7]
    assert torch.equal(rows, table[:7])


def test_analogies_are_gensims(text):
    model = theirs(text, negative=5, epochs=10)
    index = model.wv.key_to_index
    for questions in GRAMMAR_ANALOGIES.values():
        hits = []
        for a, b, c, d in questions:
            (answer, _), *_ = model.wv.most_similar(positive=[b, c], negative=[a], topn=1)
            hits.append(answer == d)
        rows = torch.tensor([[index[word] for word in question] for question in questions])
        share = analogy_accuracy(torch.tensor(model.wv.vectors), rows)
        assert share == pytest.approx(sum(hits) / len(hits))


@pytest.mark.parametrize("word", ["a", "mice", "banana", "skateboarders", "été"])
@pytest.mark.parametrize(("shortest", "longest"), [(3, 6), (2, 4), (5, 5)])
def test_pieces_are_gensims(word, shortest, longest):
    marked = f"<{word}>"
    found = [p for p in character_ngrams(word, shortest, longest) if p != marked]
    theirs = fasttext.compute_ngrams(word, shortest, longest)
    assert sorted(found) == sorted(piece for piece in theirs if piece != marked)
