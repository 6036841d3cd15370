"""What training finds in the planted grammar, over several seeds, and how it may go wrong."""

import inspect
import math
from itertools import pairwise

import pytest
import torch
from torch.testing import assert_close

from softlookup.data import GRAMMAR_ANALOGIES, GRAMMAR_SYNONYMS, planted_sentences
from softlookup.ops import cosine_similarity
from softlookup.words import Vocabulary
from softlookup.words.word2vec import (
    Word2Vec,
    analogy_accuracy,
    cbow_examples,
    cbow_loss,
    negative_sampling_gradient,
    negative_sampling_loss,
    next_word_probabilities,
    numbering,
    skip_gram_training,
    train_cbow,
    train_word2vec,
)

SEEDS = (0, 1, 2)
OPTIONS = {"d_model": 32, "window": 5, "n_negatives": 5, "epochs": 5}
PAST = {"d_model": 32, "window": 3, "past_only": True, "epochs": 3}
SMALL = [["a", "b", "a", "c", "d"], ["e", "a", "b"], ["f"], []] * 7


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def sentences_of(seed, n=10_000):
    return planted_sentences(n, seeded(seed))


@pytest.fixture(scope="module")
def trained():
    """For each seed: the model, and the mean loss of each epoch."""
    models = {}
    for seed in SEEDS:
        losses = []
        model = train_word2vec(
            sentences_of(seed),
            **OPTIONS,
            generator=seeded(100 + seed),
            after_epoch=lambda _, loss, __, losses=losses: losses.append(loss),
        )
        models[seed] = model, losses
    return models


def tables(model):
    """U, U′ and their mean."""
    U, U_context = model.centre.weight.detach(), model.context.weight.detach()
    return {"U": U, "U_context": U_context, "mean": (U + U_context) / 2}


def nearest(model, table, word):
    (id_,) = model.vocabulary.encode([word])
    similar = cosine_similarity(table[id_], table)
    similar[id_] = -2
    return model.vocabulary.decode([int(similar.argmax())])[0]


def questions(model, relation):
    return torch.tensor([model.vocabulary.encode(list(q)) for q in GRAMMAR_ANALOGIES[relation]])


# what was planted


@pytest.mark.parametrize("which", ["U", "U_context", "mean"])
@pytest.mark.parametrize("seed", SEEDS)
def test_planted_synonyms_are_nearest_neighbours(trained, seed, which):
    model, _ = trained[seed]
    for pair in GRAMMAR_SYNONYMS:
        for word, partner in (pair, pair[::-1]):
            assert nearest(model, tables(model)[which], word) == partner


@pytest.mark.parametrize("relation", GRAMMAR_ANALOGIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_planted_analogies_are_solved(trained, seed, relation):
    model, _ = trained[seed]
    U = tables(model)["U"]
    with_exclusion = analogy_accuracy(U, questions(model, relation))
    without = analogy_accuracy(U, questions(model, relation), exclude_inputs=False)
    assert with_exclusion >= 0.9
    assert without <= with_exclusion
    if (
        relation == "gender"
    ):  # his and her alone: the pairs are close, and the inputs get in the way
        assert without <= 0.6


@pytest.mark.parametrize("seed", SEEDS)
def test_the_loss_falls_in_every_epoch_and_to_less_than_half(trained, seed):
    _, losses = trained[seed]
    assert len(losses) == OPTIONS["epochs"]
    assert losses == sorted(losses, reverse=True)
    start = (1 + OPTIONS["n_negatives"]) * math.log(2)  # U′ is zero before the first step
    assert losses[0] < start
    assert losses[-1] < 0.5 * start


def test_the_tables_differ_and_no_word_is_its_own_context(trained):
    model, _ = trained[0]
    U, U_context, _ = tables(model).values()
    assert (U - U_context).norm() > 1
    (big,) = model.vocabulary.encode(["big"])
    own = torch.softmax(U_context @ U[big], dim=0)
    assert own[big] < 1 / len(own)
    assert own[model.vocabulary.encode(["ship"])] > 5 / len(own)


def test_shrinking_windows_and_subsampling_find_the_synonyms_too():
    model = train_word2vec(
        sentences_of(3), **OPTIONS, shrink_window=True, subsample=0.05, generator=seeded(3)
    )
    U = tables(model)["U"]
    found = [nearest(model, U, word) == partner for word, partner in GRAMMAR_SYNONYMS]
    assert sum(found) >= 5


def test_a_large_batch_and_a_high_rate_stay_finite():
    """Without a brake, "the" takes hundreds of steps at once and the vectors explode."""
    options = OPTIONS | {"batch_size": 4096, "learning_rate": 0.05}
    model = train_word2vec(sentences_of(0, 5_000), **options, generator=seeded(1))
    for word, partner in GRAMMAR_SYNONYMS:
        assert nearest(model, tables(model)["U"], word) == partner


# chance


def test_the_same_seed_gives_the_same_vectors_and_another_does_not():
    first, again, other = (
        train_word2vec(SMALL, d_model=3, subsample=0.3, generator=seeded(seed))
        for seed in (5, 5, 6)
    )
    assert torch.equal(first.centre.weight, again.centre.weight)
    assert torch.equal(first.context.weight, again.context.weight)
    assert not torch.equal(first.centre.weight, other.centre.weight)
    one, two = (train_cbow(SMALL, d_model=3, generator=seeded(5)) for _ in range(2))
    assert torch.equal(one.centre.weight, two.centre.weight)


def test_chance_comes_from_the_generator_alone():
    state = torch.get_rng_state()
    train_word2vec(SMALL, d_model=3, subsample=0.3, shrink_window=True, generator=seeded(5))
    train_cbow(SMALL, d_model=3, generator=seeded(5))
    assert torch.equal(torch.get_rng_state(), state)


def test_the_tables_start_as_in_the_authors_program():
    vocabulary = Vocabulary([f"w{i}" for i in range(101)], unknown=None)
    model = Word2Vec(vocabulary, 7, generator=seeded(1))
    U, U_context = model.centre.weight, model.context.weight
    assert (U_context == 0).all()
    assert U.abs().max() <= 0.5 / 7
    assert U.min() < -0.4 / 7
    assert U.max() > 0.4 / 7
    assert U.requires_grad
    assert U_context.requires_grad


# one step, one epoch


def test_a_step_goes_down_the_gradient_of_every_pair(generator):
    vocab, pairs, rate = 97, 11, 0.3
    U, V = (torch.randn(vocab, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    centres = torch.randint(vocab, (pairs,), generator=generator)
    words = torch.randint(vocab, (pairs, 4), generator=generator)
    words[2, 3] = words[2, 0]
    before, arguments = (U.clone(), V.clone()), (centres, words[:, 0], words[:, 1:])
    by_U, by_V = negative_sampling_gradient(*before, *arguments)
    rates = torch.full((vocab,), rate, dtype=torch.float64)
    scores = skip_gram_training._step(U, V, centres, words, rates, rates)
    assert_close(U, before[0] - rate * pairs * by_U)
    assert_close(V, before[1] - rate * pairs * by_V)
    expected = torch.stack(
        [before[1][row] @ before[0][c] for c, row in zip(centres, words, strict=True)]
    )
    assert_close(scores, expected)


def test_each_word_of_a_step_has_its_own_rate(generator):
    U, V = (torch.randn(7, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    centres, words = torch.tensor([1, 2]), torch.tensor([[3, 4], [5, 6]])
    rate, rate_context = torch.zeros(7).double(), torch.zeros(7).double()
    rate[1], rate_context[6] = 1.0, 1.0
    before = U.clone(), V.clone()
    skip_gram_training._step(U, V, centres, words, rate, rate_context)
    assert (before[0] != U).any(dim=1).nonzero().flatten().tolist() == [1]
    assert (before[1] != V).any(dim=1).nonzero().flatten().tolist() == [6]


def sampler(**changes):
    noise = torch.tensor([0.5, 0.25, 0.25, 0.0], dtype=torch.float64)
    options = {
        "window": 2, "shrink_window": False, "keep": None, "noise": noise, "n_negatives": 3,
        "batch_size": 4, "generator": seeded(1),
    }  # fmt: skip
    return skip_gram_training._Sampler(**(options | changes))


BLOCKS = [
    (torch.tensor([0, 1, 2, 0, 1]), torch.tensor([0, 0, 0, 1, 1])),
    (torch.tensor([3, 3, 1]), torch.tensor([2, 2, 2])),
]


def test_an_epoch_holds_every_pair_once_and_the_noise_it_should():
    batches = list(sampler().batches(BLOCKS))
    pairs = sorted(
        (c.item(), w[0].item()) for cs, ws, _ in batches for c, w in zip(cs, ws, strict=True)
    )
    first = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (0, 1), (1, 0)]
    second = [(3, 3), (3, 1), (3, 3), (3, 1), (1, 3), (1, 3)]
    assert pairs == sorted(first + second)
    assert [len(centres) for centres, _, _ in batches] == [4, 4, 4, 2]
    assert all(words.shape[1] == 4 for _, words, _ in batches)
    assert all((words[:, 1:] != 3).all() for _, words, _ in batches)
    shares = [share for *_, share in batches]
    assert shares == pytest.approx([0, 4 / 8 * 5 / 8, 5 / 8, (5 + 4 / 6 * 3) / 8])


def test_the_pairs_come_in_a_new_order():
    text = torch.arange(97), torch.zeros(97, dtype=torch.int64)
    one = sampler()
    first, second = one.pairs(*text), one.pairs(*text)
    assert not torch.equal(first, second)
    assert sorted(first.tolist()) == sorted(second.tolist())


def test_noise_is_drawn_as_often_as_it_should():
    drawn = sampler().negatives(20_000).flatten()
    share = torch.bincount(drawn, minlength=4) / len(drawn)
    assert_close(share, torch.tensor([0.5, 0.25, 0.25, 0.0]), atol=0.01, rtol=0)


@pytest.mark.parametrize("power", [0.0, 0.75, 2.0])
def test_the_power_reaches_the_noise(monkeypatch, power):
    """Words that an epoch scores: each pair's own context, and noise after the power."""
    drawn = []
    step = skip_gram_training._step

    def watched(U, V, centres, words, *rates):
        drawn.append(words[:, 1:].flatten())
        return step(U, V, centres, words, *rates)

    monkeypatch.setattr(skip_gram_training, "_step", watched)
    text = [["a", "b"], ["a", "a", "a", "a", "a", "a", "a"]] * 50
    train_word2vec(text, d_model=2, power=power, n_negatives=20, epochs=1, generator=seeded(0))
    share = (torch.cat(drawn) == 0).double().mean().item()
    assert share == pytest.approx(8**power / (8**power + 1), abs=0.02)


def test_shrunk_windows_are_equally_often_of_each_size():
    n = 30_000
    text = torch.arange(n), torch.zeros(n, dtype=torch.int64)
    pairs = sampler(window=3, shrink_window=True).pairs(*text)
    distance = (pairs[:, 0] - pairs[:, 1]).abs()
    share = torch.bincount(distance, minlength=4) / (2 * n)
    assert_close(share, torch.tensor([0, 1, 2 / 3, 1 / 3]), atol=0.02, rtol=0)
    right = pairs[pairs[:, 1] > pairs[:, 0]]
    left = pairs[pairs[:, 1] < pairs[:, 0]]
    inner = {c for c in pairs[:, 0].tolist() if 3 <= c < n - 3}
    reach = [
        {c: max(d for d in group) for c, group in by_centre(side).items() if c in inner}
        for side in (left, right)
    ]
    assert reach[0] == reach[1]


def by_centre(pairs):
    groups = {}
    for centre, context in pairs.tolist():
        groups.setdefault(centre, set()).add(abs(centre - context))
    return groups


def test_subsampling_takes_words_out_before_the_pairs_are_made():
    keep = torch.tensor([1.0, 0.0, 1.0, 1.0], dtype=torch.float64)
    pairs = sampler(window=1, keep=keep).pairs(*BLOCKS[0])
    assert sorted(pairs.tolist()) == [[0, 2], [2, 0]]
    keep = torch.full((1,), 0.3, dtype=torch.float64)
    text = torch.zeros(20_000, dtype=torch.int64), torch.zeros(20_000, dtype=torch.int64)
    pairs = sampler(window=1, keep=keep).pairs(*text)
    assert len(pairs) / 2 == pytest.approx(6_000, rel=0.05)


def test_the_brake_holds_frequent_words_back():
    counts = torch.tensor([900, 90, 10, 0])
    noise = torch.tensor([0.6, 0.3, 0.1, 0.0], dtype=torch.float64)
    one = sampler(noise=noise, n_negatives=5, batch_size=100)
    by_hand = [16 / 90, 1, 1, 1], [16 / (90 + 300), 16 / (9 + 150), 16 / 51, 1]
    for found, expected in zip(one.brakes(counts), by_hand, strict=True):
        assert_close(found, torch.tensor(expected))
    kept = sampler(keep=torch.tensor([0.1, 1.0, 1.0, 1.0]), noise=noise, batch_size=100)
    assert_close(
        kept.brakes(counts)[0], torch.tensor([16 / (100 * 90 / 190), 16 / (100 * 90 / 190), 1, 1])
    )


def test_the_rate_falls_in_a_straight_line(monkeypatch):
    rates = []
    step = skip_gram_training._step

    def watched(U, V, centres, words, rate, rate_context):
        rates.append(rate.max().item())
        return step(U, V, centres, words, rate, rate_context)

    monkeypatch.setattr(skip_gram_training, "_step", watched)
    options = {"d_model": 2, "window": 1, "batch_size": 2, "epochs": 2}
    text = [["a", "b"], ["b", "c"], ["a", "c"], ["c", "c"]]
    train_word2vec(text, **options, learning_rate=0.8, last_learning_rate=0.4, generator=seeded(0))
    assert rates == pytest.approx([0.8 - 0.4 * i / 8 for i in range(8)])


def test_blocks_are_cut_between_sentences_and_lose_nothing(monkeypatch):
    (whole,) = numbering.number_sentences(SMALL, 1)[2]
    monkeypatch.setattr(numbering, "BLOCK", 7)
    vocabulary, _, blocks = numbering.number_sentences(SMALL, 1)
    assert len(blocks) > 3
    assert all(len(ids) >= 7 for ids, _ in blocks[:-1])
    ids, numbers = (torch.cat(parts) for parts in zip(*blocks, strict=True))
    assert vocabulary.decode(ids.tolist()) == [word for sentence in SMALL for word in sentence]
    assert numbers.tolist() == [i for i, sentence in enumerate(SMALL) for _ in sentence]
    assert all(set(a[1].tolist()).isdisjoint(b[1].tolist()) for a, b in pairwise(blocks))
    one = sampler(window=3)
    cut = torch.cat([one.pairs(*block) for block in blocks])
    assert sorted(cut.tolist()) == sorted(one.pairs(*whole).tolist())


def test_a_block_without_pairs_is_passed_over(monkeypatch):
    monkeypatch.setattr(numbering, "BLOCK", 2)
    text = [["a"], ["b"], ["a", "b"]]
    model = train_word2vec(text, d_model=2, n_negatives=2, generator=seeded(0))
    assert model.context.weight.abs().sum() > 0


def test_the_vocabulary_is_sorted_and_rare_words_leave_no_gap():
    text = [["b", "rare", "a"], ["a", "b", "c", "c"], ["a"]]
    vocabulary, counts, blocks = numbering.number_sentences(text, 2)
    assert vocabulary.tokens == ["a", "b", "c"]
    assert counts.tolist() == [3, 2, 2]
    assert [ids.tolist() for ids, _ in blocks] == [[1, 0, 0, 1, 2, 2, 0]]
    model = train_word2vec(text, d_model=2, min_count=2, generator=seeded(0))
    assert model.vocabulary.tokens == ["a", "b", "c"]


def test_the_reported_loss_is_the_mean_over_the_pairs(monkeypatch):
    """With a rate of nearly nothing, every epoch costs what the untrained tables cost."""
    seen, calls = [], []
    step = skip_gram_training._step

    def watched(U, V, centres, words, *rates):
        seen.append(
            negative_sampling_loss(U, V, centres, words[:, 0], words[:, 1:]).item() * len(words)
        )
        return step(U, V, centres, words, *rates)

    monkeypatch.setattr(skip_gram_training, "_step", watched)
    model = train_word2vec(
        SMALL, d_model=3, epochs=2, batch_size=5, learning_rate=0.5, generator=seeded(0),
        after_epoch=lambda *report: calls.append(report),
    )  # fmt: skip
    n = 7 * (5 * 4 + 3 * 2)
    half = len(seen) // 2
    assert [number for number, *_ in calls] == [1, 2]
    assert [loss for _, loss, _ in calls] == pytest.approx(
        [sum(seen[:half]) / n, sum(seen[half:]) / n]
    )
    assert all(reported is model for *_, reported in calls)


def test_watching_changes_nothing():
    silent = train_word2vec(SMALL, d_model=3, generator=seeded(0))
    watched = train_word2vec(SMALL, d_model=3, generator=seeded(0), after_epoch=lambda *_: None)
    assert torch.equal(silent.centre.weight, watched.centre.weight)


@pytest.mark.parametrize("train", [train_word2vec, train_cbow])
def test_there_are_no_labels(train):
    names = inspect.signature(train).parameters
    assert next(iter(names)) == "sentences"
    assert not any("label" in name or name in ("y", "targets", "classes") for name in names)


# CBOW


@pytest.fixture(scope="module")
def next_word():
    losses = []
    model = train_cbow(
        sentences_of(0), **PAST, generator=seeded(1),
        after_epoch=lambda _, loss, __: losses.append(loss),
    )  # fmt: skip
    return model, losses


def test_cbow_learns_the_next_word(next_word):
    model, losses = next_word
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.5 * math.log(len(model.vocabulary))
    text = torch.tensor(model.vocabulary.encode(["the", "army", "of"]))
    U, U_context = (model.centre.weight.detach(), model.context.weight.detach())
    after = next_word_probabilities(U, U_context, text, 3)[-1]
    best = model.vocabulary.decode(after.topk(5).indices.tolist())
    assert sorted(best) == ["egypt", "france", "germany", "greece", "italy"]
    assert after.topk(5).values.sum() > 0.8


def test_cbow_of_both_sides_finds_the_synonyms():
    model = train_cbow(sentences_of(2), d_model=32, window=5, epochs=3, generator=seeded(2))
    U = tables(model)["U"]
    for word, partner in GRAMMAR_SYNONYMS:
        assert nearest(model, U, word) == partner


def test_cbow_minimises_its_own_loss():
    losses = []
    model = train_cbow(
        SMALL, d_model=3, window=2, epochs=40, learning_rate=0.05, generator=seeded(2),
        after_epoch=lambda _, loss, __: losses.append(loss),
    )  # fmt: skip
    texts = [torch.tensor(model.vocabulary.encode(s)) for s in SMALL if len(s) > 1]
    parts = [cbow_examples(text, 2) for text in texts]
    contexts, mask, centres = (torch.cat(part) for part in zip(*parts, strict=True))
    loss = cbow_loss(model.centre.weight, model.context.weight, contexts, mask, centres).item()
    assert loss == pytest.approx(losses[-1], rel=0.05)
    assert losses[-1] < 0.7 * losses[0]


# bad input


@pytest.mark.parametrize("last", [0.2, 1])
def test_a_rate_does_not_rise(last):
    rule = "last_learning_rate must be at most learning_rate; got learning_rate=0.1, last_.*"
    with pytest.raises(ValueError, match=rule + str(last)):
        train_word2vec(
            SMALL, d_model=2, learning_rate=0.1, last_learning_rate=last, generator=seeded(0)
        )


@pytest.mark.bad_input
@pytest.mark.parametrize("train", [train_word2vec, train_cbow])
def test_bad_texts(train):
    rule = "a sentence must hold two words that occur at least min_count = 1 times"
    for text, shown in (([], "sentences=0, longest=0"), ([[], []], "sentences=2, longest=0"),
                        ([["a"], ["b"]], "sentences=2, longest=1")):  # fmt: skip
        with pytest.raises(ValueError, match=f"{rule}; got {shown}"):
            train(text, d_model=2, generator=seeded(0))
    with pytest.raises(ValueError, match="min_count = 9 times; got sentences=28, longest=1"):
        train([["a", "x"]] + [["a"]] * 27, d_model=2, min_count=9, generator=seeded(0))


def test_subsampling_leaves_a_pair():
    rule = "subsample must leave at least one pair; got subsample=1e-30"
    with pytest.raises(ValueError, match=rule):
        train_word2vec(SMALL, d_model=2, subsample=1e-30, generator=seeded(0))


def test_vectors_that_explode_are_refused():
    with pytest.raises(ValueError, match=r"the vectors must stay finite: .*; got epoch=\d"):
        train_word2vec(SMALL, d_model=2, learning_rate=1e38, generator=seeded(0))


def test_a_model_needs_words():
    with pytest.raises(ValueError, match="vocabulary must hold at least one word; got size=0"):
        Word2Vec(Vocabulary([], unknown=None), 3, generator=seeded(0))
