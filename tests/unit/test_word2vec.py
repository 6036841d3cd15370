"""word2vec's pairs, losses and analogies: worked numbers, loop oracles, bad input."""

import math
import re

import pytest
import torch
from torch.testing import assert_close

from softlookup.words.word2vec import (
    analogy,
    analogy_accuracy,
    cbow_examples,
    cbow_loss,
    cbow_probabilities,
    context_pairs,
    keep_probability,
    negative_sampling_gradient,
    negative_sampling_loss,
    next_word_probabilities,
    noise_distribution,
    sample_next_words,
    skip_gram_gradient,
    skip_gram_loss,
)
from softlookup.words.word2vec.neighbours import pairs_within

VOCAB, D_MODEL, PAIRS, NEGATIVES = 11, 5, 13, 3


def table(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def ids(*rows):
    return torch.tensor(rows, dtype=torch.int64)


def says(rule, **values):
    """The beginning of an error message, and the values that it must show."""
    shown = "".join(f".*{name}={value}" for name, value in values.items())
    return re.escape(rule) + shown


@pytest.fixture
def tables(generator):
    shape = VOCAB, D_MODEL
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)]


@pytest.fixture
def pairs(generator):
    """Centres and contexts, with repetitions, and a word that is nobody's centre."""
    return [torch.randint(1, VOCAB, (PAIRS,), generator=generator) for _ in range(2)]


@pytest.fixture
def negatives(generator, pairs):
    """Noise with a true context in it, and with one word twice in a row."""
    drawn = torch.randint(VOCAB, (PAIRS, NEGATIVES), generator=generator)
    drawn[0, 1] = pairs[1][0]
    drawn[1] = drawn[1, 0]
    return drawn


# pairs


def pairs_by_hand(text, k):
    return [
        [text[t], text[j]]
        for t in range(len(text))
        for j in range(max(0, t - k), min(len(text), t + k + 1))
        if j != t
    ]


@pytest.mark.parametrize("k", [1, 2, 3, 7, 8, 100])
def test_pairs_of_a_sentence_of_eight(k):
    text = [3, 1, 4, 1, 5, 9, 2, 6]
    assert context_pairs(ids(*text), k).tolist() == pairs_by_hand(text, k)


@pytest.mark.parametrize("reach", [None, [2, 1, 2, 1, 1, 2, 2, 1]])
def test_pairs_end_at_the_sentence_and_at_the_reach(reach):
    text, sentence, window = [3, 0, 5, 2, 7, 1, 6, 4], [0, 0, 0, 1, 1, 2, 2, 2], 2
    by_hand = [
        [text[t], text[j]]
        for t in range(8)
        for j in range(8)
        if 1 <= abs(j - t) <= (window if reach is None else reach[t]) and sentence[j] == sentence[t]
    ]
    reaches = None if reach is None else ids(*reach)
    assert pairs_within(ids(*text), ids(*sentence), window, reaches).tolist() == by_hand


def test_the_exercise_of_eight_words_has_26_pairs():
    assert len(context_pairs(torch.arange(8), 2)) == 26


@pytest.mark.parametrize("n", [0, 1])
def test_a_text_without_neighbours_has_no_pairs(n):
    pairs = context_pairs(torch.arange(n), 2)
    assert pairs.shape == (0, 2)
    assert pairs.dtype == torch.int64
    for part in cbow_examples(torch.arange(n), 2):
        assert len(part) == 0


def test_a_word_is_not_its_own_neighbour_but_its_repetition_is():
    assert context_pairs(ids(7, 7), 5).tolist() == [[7, 7], [7, 7]]


@pytest.mark.parametrize("past_only", [False, True])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_cbow_examples_against_a_loop(k, past_only):
    text = [3, 1, 4, 1, 5, 9, 2]
    contexts, mask, centres = cbow_examples(ids(*text), k, past_only=past_only)
    expected = []
    for t, word in enumerate(text):
        right = [] if past_only else text[t + 1 : t + 1 + k]
        context = text[max(0, t - k) : t] + right
        if context:
            expected.append((context, word))
    assert contexts.shape == mask.shape == (len(expected), k if past_only else 2 * k)
    found = [
        (row[seen].tolist(), w.item()) for row, seen, w in zip(contexts, mask, centres, strict=True)
    ]
    assert found == expected
    assert (contexts[~mask] == 0).all()


def test_the_slots_of_cbow_are_places():
    contexts, mask, _ = cbow_examples(ids(5, 6, 7, 8), 2)
    assert contexts[1].tolist() == [0, 5, 7, 8]
    assert mask[1].tolist() == [False, True, True, True]


# noise and subsampling


def test_noise_of_counts_that_are_fourth_powers():
    expected = table(27, 8, 1, 0) / 36
    assert_close(noise_distribution(ids(81, 16, 1, 0)), expected)
    assert_close(noise_distribution(table(8100, 1600, 100, 0)), expected)


@pytest.mark.parametrize("power", [0, 0.5, 1, 2.0])
def test_noise_of_other_powers(power):
    counts = [7, 0, 2, 11]
    weights = [count**power if count else 0.0 for count in counts]
    expected = table(*(weight / sum(weights) for weight in weights))
    assert_close(noise_distribution(ids(*counts), power), expected)


def test_noise_of_huge_counts_and_powers_is_finite():
    assert_close(noise_distribution(table(1e200, 1e200, 1.0), 5), table(0.5, 0.5, 0.0))


def test_keep_probability_is_the_papers():
    counts, t = [60, 30, 9, 1, 0], 0.05
    expected = [1 - (1 - math.sqrt(t / f)) if f > t else 1.0 for f in (0.6, 0.3, 0.09, 0.01, 0)]
    assert_close(keep_probability(ids(*counts), t), table(*expected))


def test_a_threshold_of_1_keeps_everything():
    assert_close(keep_probability(ids(5, 3, 0), 1), table(1, 1, 1))


BAD_COUNTS = {
    "negative": (table(1, -2), "counts must be finite and not negative", {"wrong": r"\[-2.0\]"}),
    "nan": (table(1, math.nan), "counts must be finite and not negative", {"wrong": r"\[nan\]"}),
    "infinite": (table(1, math.inf), "counts must be finite", {"wrong": r"\[inf\]"}),
    "all zero": (table(0, 0), "at least one count must be above 0", {"counts": r"\(2,\)"}),
    "empty": (table(), "at least one count must be above 0", {"counts": r"\(0,\)"}),
    "a table": (table([1, 2]), "counts must be one row", {"counts": r"\(1, 2\)"}),
}


@pytest.mark.parametrize("threshold", [0, -0.1, math.nan, math.inf])
def test_bad_threshold(threshold):
    rule = says("threshold must be positive and finite", threshold=threshold)
    with pytest.raises(ValueError, match=rule):
        keep_probability(ids(1, 2), threshold)


# skip-gram with the full softmax


def softmax_by_hand(U, U_context, w):
    exponentials = [math.exp(sum(a * b for a, b in zip(U[w], v, strict=True))) for v in U_context]
    return [e / sum(exponentials) for e in exponentials]


def test_skip_gram_loss_against_a_loop(tables, pairs):
    U, U_context = (one.tolist() for one in tables)
    costs = [
        -math.log(softmax_by_hand(U, U_context, w)[x])
        for w, x in zip(*(p.tolist() for p in pairs), strict=True)
    ]
    assert_close(skip_gram_loss(*tables, *pairs), table(sum(costs) / PAIRS).squeeze())


def test_equal_scores_cost_the_logarithm_of_the_vocabulary(pairs):
    zeros = torch.zeros(VOCAB, D_MODEL, dtype=torch.float64)
    assert skip_gram_loss(zeros, zeros, *pairs).item() == pytest.approx(math.log(VOCAB), rel=1e-15)


def test_large_scores_do_not_overflow():
    U, U_context = table([1e4], [-1e4]), table([1.0], [-1.0])
    assert skip_gram_loss(U, U_context, ids(0), ids(1)).item() == 2e4
    assert negative_sampling_loss(U, U_context, ids(0), ids(1), ids([0])).item() == 2e4
    assert skip_gram_gradient(U, U_context, ids(0), ids(1))[0].tolist() == [[2.0], [0.0]]
    found = negative_sampling_gradient(U, U_context, ids(0), ids(1), ids([0]))
    assert found[0].tolist() == [[2.0], [0.0]]


def test_skip_gram_gradient_against_a_loop(tables, pairs):
    U, U_context = tables
    by_U, by_context = torch.zeros_like(U), torch.zeros_like(U)
    for w, x in zip(*(p.tolist() for p in pairs), strict=True):
        p = softmax_by_hand(U.tolist(), U_context.tolist(), w)
        mean = sum(p[r] * U_context[r] for r in range(VOCAB))
        by_U[w] += -(U_context[x] - mean) / PAIRS
        for r in range(VOCAB):
            by_context[r] += (p[r] - (r == x)) * U[w] / PAIRS
    assert_close(skip_gram_gradient(*tables, *pairs), (by_U, by_context))
    assert (skip_gram_gradient(*tables, *pairs)[0][0] == 0).all()


# negative sampling


def sigma(x):
    return 1 / (1 + math.exp(-x))


def test_negative_sampling_loss_against_a_loop(tables, pairs, negatives):
    U, U_context = tables
    total = 0.0
    for i in range(PAIRS):
        w, x = pairs[0][i].item(), pairs[1][i].item()
        total -= math.log(sigma((U[w] @ U_context[x]).item()))
        for k in negatives[i].tolist():
            if k != x:
                total -= math.log(sigma(-(U[w] @ U_context[k]).item()))
    found = negative_sampling_loss(*tables, *pairs, negatives)
    assert_close(found, table(total / PAIRS).squeeze())


def test_negative_sampling_gradient_against_a_loop(tables, pairs, negatives):
    U, U_context = tables
    by_U, by_context = torch.zeros_like(U), torch.zeros_like(U)
    for i in range(PAIRS):
        w, x = pairs[0][i].item(), pairs[1][i].item()
        for word, truth in [(x, 1), *((k, 0) for k in negatives[i].tolist() if k != x)]:
            error = (sigma((U[w] @ U_context[word]).item()) - truth) / PAIRS
            by_U[w] += error * U_context[word]
            by_context[word] += error * U[w]
    found = negative_sampling_gradient(*tables, *pairs, negatives)
    assert_close(found, (by_U, by_context))


def test_a_pair_whose_noise_is_all_true_costs_its_context_alone(tables):
    noise = ids([4, 4, 4])
    cost = negative_sampling_loss(*tables, ids(2), ids(4), noise)
    assert_close(cost, -torch.log(torch.sigmoid(tables[0][2] @ tables[1][4])))


def test_scores_of_zero_cost_one_logarithm_of_two_a_word():
    U, U_context = torch.zeros(VOCAB, D_MODEL), torch.ones(VOCAB, D_MODEL)
    loss = negative_sampling_loss(U, U_context, ids(1, 2), ids(3, 4), ids([5, 6], [7, 7]))
    assert loss.item() == pytest.approx(3 * math.log(2), rel=1e-6)


def test_the_losses_leave_their_input_alone(tables, pairs, negatives):
    arguments = [*tables, *pairs, negatives]
    before = [one.clone() for one in arguments]
    negative_sampling_loss(*arguments)
    negative_sampling_gradient(*arguments)
    skip_gram_gradient(*arguments[:4])
    skip_gram_loss(*arguments[:4])
    assert all(torch.equal(one, was) for one, was in zip(arguments, before, strict=True))


# CBOW


@pytest.fixture
def examples():
    text = ids(3, 1, 4, 1, 5, 9, 2, 6)
    return cbow_examples(text, 2)


def test_cbow_probabilities_against_a_loop(tables, examples):
    U, U_context = tables
    contexts, mask, _ = examples
    rows = cbow_probabilities(*tables, contexts, mask)
    for row, seen, found in zip(contexts, mask, rows, strict=True):
        words = row[seen].tolist()
        mean = sum(U[w] for w in words) / len(words)
        exponentials = torch.stack([torch.exp(mean @ v) for v in U_context])
        assert_close(found, exponentials / exponentials.sum())


def test_cbow_loss_is_the_mean_surprise(tables, examples):
    contexts, mask, centres = examples
    p = cbow_probabilities(*tables, contexts, mask)
    costs = [-math.log(row[w].item()) for row, w in zip(p, centres, strict=True)]
    expected = table(sum(costs) / len(costs)).squeeze()
    assert_close(cbow_loss(*tables, contexts, mask, centres), expected)


def test_what_stands_in_a_masked_slot_never_matters(tables, examples):
    contexts, mask, centres = examples
    assert not mask.all()
    for junk in (1, VOCAB - 1, VOCAB, -1, 10**9):
        other = contexts.masked_fill(~mask, junk)
        assert torch.equal(
            cbow_loss(*tables, other, mask, centres), cbow_loss(*tables, contexts, mask, centres)
        )


def test_next_word_probabilities_are_those_of_the_last_words(tables):
    text = ids(3, 1, 4, 1, 5)
    found = next_word_probabilities(*tables, text, 3)
    for i in range(5):
        context = text[max(0, i - 2) : i + 1]
        mask = torch.ones(1, len(context), dtype=torch.bool)
        assert_close(found[i], cbow_probabilities(*tables, context[None], mask)[0])


def test_no_word_has_no_next(tables):
    assert next_word_probabilities(*tables, ids(), 3).shape == (0, VOCAB)


@pytest.mark.parametrize("window", [1, 2, 3, 7])
def test_only_the_last_words_influence_the_next(tables, window):
    """The perturbation test: change one word, see whose prediction changes."""
    text = ids(3, 1, 4, 1, 5, 9, 2)
    before = next_word_probabilities(*tables, text, window)
    for s in range(len(text)):
        other = text.clone()
        other[s] = 8
        changed = (next_word_probabilities(*tables, other, window) != before).any(dim=1)
        assert changed.tolist() == [s <= i < s + window for i in range(len(text))]


def test_sampling_follows_the_probabilities(tables):
    generator = torch.Generator().manual_seed(3)
    drawn = torch.stack([
        sample_next_words(*tables, ids(4, 2), 2, 1, generator=generator)[-1] for _ in range(5_000)
    ])  # fmt: skip
    p = next_word_probabilities(*tables, ids(4, 2), 2)[-1]
    share = torch.bincount(drawn, minlength=VOCAB) / len(drawn)
    assert ((share - p).abs() < 5 * torch.sqrt(p / len(drawn))).all()


def test_sampling_goes_on_from_its_own_words():
    """Each word points to the one after it, round and round."""
    U, U_context = 90 * torch.eye(5).roll(1, dims=1), torch.eye(5)
    drawn = sample_next_words(U, U_context, ids(1, 2), 1, 6, generator=torch.Generator())
    assert drawn.tolist() == [1, 2, 3, 4, 0, 1, 2, 3]
    start = sample_next_words(U, U_context, ids(1, 2), 1, 0, generator=torch.Generator())
    assert start.tolist() == [1, 2]


def test_sampling_repeats_with_its_seed(tables):
    texts = [
        sample_next_words(*tables, ids(4), 3, 30, generator=torch.Generator().manual_seed(seed))
        for seed in (1, 1, 2)
    ]
    assert texts[0].tolist() == texts[1].tolist()
    assert texts[0].tolist() != texts[2].tolist()


# analogies


@pytest.fixture
def planted():
    """Families along some axes, roles along another, and lengths that should not matter."""
    family = 3 * torch.eye(5, dtype=torch.float64)
    rows = torch.cat((family, family))
    rows = torch.cat((rows, torch.zeros(10, 1, dtype=torch.float64)), dim=1)
    rows[5:, 5] = 1.0
    return rows * torch.arange(1, 11, dtype=torch.float64)[:, None]


def questions_of(n):
    return ids(*([a, a + n, c, c + n] for a in range(n) for c in range(n) if a != c))


def test_planted_analogies_are_all_found_and_none_without_exclusion(planted):
    questions = questions_of(5)
    assert analogy_accuracy(planted, questions) == 1.0
    for a, b, c, d in questions.tolist():
        assert analogy(planted, a, b, c) == d
        assert analogy(planted, b, a, d) == c


def analogy_by_hand(rows, a, b, c, exclude):
    unit = [row / row.norm() if row.norm() > 0 else row for row in rows]
    target = unit[b] - unit[a] + unit[c]
    similar = {
        i: (target @ v / target.norm()).item()
        for i, v in enumerate(unit)
        if not (exclude and i in (a, b, c))
    }
    return max(similar, key=similar.get)


@pytest.mark.parametrize("exclude_inputs", [True, False])
def test_analogies_against_a_loop(tables, exclude_inputs):
    rows = tables[0] * torch.arange(1, VOCAB + 1)[:, None]
    questions = torch.cartesian_prod(*[torch.arange(0, VOCAB, 2)] * 3)
    expected = [analogy_by_hand(rows, *q, exclude_inputs) for q in questions.tolist()]
    found = [analogy(rows, *q, exclude_inputs=exclude_inputs) for q in questions.tolist()]
    assert found == expected
    right = torch.cat((questions, ids(*expected)[:, None]), dim=1)
    right[::3, 3] = (right[::3, 3] + 1) % VOCAB
    share = 1 - len(right[::3]) / len(right)
    assert analogy_accuracy(rows, right, exclude_inputs=exclude_inputs) == pytest.approx(share)


def test_inputs_come_back_unless_they_are_excluded():
    """b - a is short here: its own third word is the nearest."""
    rows = table([1, 0, 0], [1, 0.1, 0], [0, 0, 1], [0, 0.1, 1], [1, 1, 1])
    assert analogy(rows, 0, 1, 2, exclude_inputs=False) in (2, 3)
    assert analogy(rows, 0, 1, 2) == 3
    rows[3] = table(0, 0.5, 1)
    assert analogy(rows, 0, 1, 2, exclude_inputs=False) == 2
    assert analogy_accuracy(rows, ids([0, 1, 2, 3]), exclude_inputs=False) == 0.0
    assert analogy_accuracy(rows, ids([0, 1, 2, 3])) == 1.0


def test_a_vector_of_zeros_is_no_answer_and_no_nan(planted):
    rows = torch.cat((planted, torch.zeros(1, 6, dtype=torch.float64)))
    assert analogy_accuracy(rows, questions_of(5)) == 1.0
    assert analogy(rows, 10, 10, 2) == analogy_by_hand(rows, 10, 10, 2, exclude=True)


# bad input


@pytest.mark.bad_input
@pytest.mark.parametrize("window", [0, -1, 1.5, True])
@pytest.mark.parametrize("function", [context_pairs, cbow_examples])
def test_bad_window(function, window):
    rule = says("window must be an integer of at least 1", window=window)
    with pytest.raises(ValueError, match=rule):
        function(torch.arange(3), window)


LOSSES = {
    "loss": lambda U, V, w, x, n: skip_gram_loss(U, V, w, x),
    "gradient": lambda U, V, w, x, n: skip_gram_gradient(U, V, w, x),
    "negative loss": negative_sampling_loss,
    "negative gradient": negative_sampling_gradient,
    "cbow": lambda U, V, w, x, n: cbow_loss(U, V, n, torch.ones_like(n, dtype=torch.bool), w),
    "next word": lambda U, V, w, x, n: next_word_probabilities(U, V, w, 2),
    "samples": lambda U, V, w, x, n: sample_next_words(U, V, w, 2, 0, generator=None),
}


@pytest.mark.bad_input
def test_bad_cbow_examples(tables, examples):
    contexts, mask, centres = examples
    rule = "mask must be boolean and have the shape of contexts"
    lonely = mask.clone()
    lonely[[2, 5]] = False
    rule = says("each example must have at least one context word", alone=r"\[2, 5\]")
    with pytest.raises(ValueError, match=rule):
        cbow_loss(*tables, contexts, lonely, centres)
    rule = "centres must hold one word for each context, and at least one"


@pytest.mark.bad_input
def test_bad_sampling(tables):
    generator = torch.Generator()
    with pytest.raises(
        ValueError, match="n_words must be an integer of at least 0; got n_words=-1"
    ):
        sample_next_words(*tables, ids(1), 2, -1, generator=generator)
    for window in (0, -2):
        with pytest.raises(ValueError, match="window must be an integer of at least 1"):
            sample_next_words(*tables, ids(1), window, 0, generator=generator)


@pytest.mark.bad_input
def test_bad_analogies(tables):
    rows = tables[0]
    rule = "questions must be at least one row of four word ids"
    rule = "the vocabulary must hold a word besides the three inputs; got vocab_size=3"
    with pytest.raises(ValueError, match=rule):
        analogy(rows[:3], 0, 1, 2)
    with pytest.raises(ValueError, match=rule):
        analogy_accuracy(rows[:3], ids([0, 1, 0, 2], [0, 1, 2, 1]))
    assert analogy(rows[:3], 0, 1, 0) == 2
    with pytest.raises(ValueError, match=r"table must have the shape \(vocab, d_model\)"):
        analogy(rows[0], 0, 1, 2)
