"""n-grams: the lecture's worked line, sums over all texts, Kneser-Ney by lists, bad input."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softlookup.language_models import AddK, KneserNey, NGramModel, follower_counts, unseen_share
from softlookup.language_models.language_model import EOS

DOG = [["the", "dog", "barks", "the", "dog", "runs"]]
TEXTS = [text.split() for text in ("a b a c", "b a", "a b b", "c", "a b a", "")]
MODELS = [
    lambda texts, n, words=None: NGramModel(texts, n, words),
    lambda texts, n, words=None: AddK(texts, n, 0.3, words),
    lambda texts, n, words=None: KneserNey(texts, n, words, discount=0.6),
]


@pytest.fixture(params=MODELS, ids=["count ratios", "add-k", "Kneser-Ney"])
def make(request):
    return request.param


def grams(texts, n):
    """All n-grams of the texts as tuples, edges included: a list, nothing counted yet."""
    found = []
    for text in texts:
        padded = ["<s>"] * (n - 1) + list(text) + [EOS]
        found += [tuple(padded[i : i + n]) for i in range(len(padded) - n + 1)]
    return found


def kneser_ney_by_lists(texts, n, vocabulary, discount, word, history):
    """The formula of Chen and Goodman word for word, each count a walk through lists."""

    def count(run):
        """c(run), or in how many places it occurs if its order is below the highest."""
        if len(run) == n:
            return grams(texts, n).count(run)
        if run[0] == "<s>":
            return grams(texts, len(run)).count(run)
        return len({gram[0] for gram in grams(texts, len(run) + 1) if gram[1:] == run})

    def p(history):
        rest = 1 / len(vocabulary) if not history else None
        counts = {w: count((*history, w)) for w in vocabulary}
        total = sum(counts.values())
        if rest is None:
            rest = p(history[1:])
        if total == 0:
            return rest
        kept = max(counts[word] - discount, 0)
        kinds = sum(c > 0 for c in counts.values())
        return kept / total + discount * kinds / total * rest

    padded = ["<s>"] * (n - 1) + list(history)
    return p(tuple(padded[len(padded) - n + 1 :]))


def test_the_lectures_line():
    bigram = NGramModel(DOG, n=2)
    assert bigram.words == ["barks", "dog", "runs", "the", "</s>"]
    assert bigram.next_word(["dog"]).tolist() == [0.5, 0, 0.5, 0, 0]
    assert bigram.next_word(["runs"]).tolist() == [0, 0, 0, 0, 1]
    assert bigram.probability("the") == 1
    unigram = NGramModel(DOG, n=1)
    assert unigram.next_word(["dog"]).tolist() == pytest.approx([1 / 7, 2 / 7, 1 / 7, 2 / 7, 1 / 7])


def test_a_ratio_is_of_counts(make):
    """A word's probability is the row's, and a text's is the product."""
    model = make(TEXTS, 3)
    text, product = ["a", "b", "a"], 1.0
    for i, word in enumerate([*text, EOS]):
        row = model.next_word(text[:i])
        assert row.sum().item() == pytest.approx(1, abs=1e-12)
        assert model.probability(word, text[:i]) == row[model.words.index(word)].item()
        product *= model.probability(word, text[:i])
    assert math.exp(model.log_probability(text)) == pytest.approx(product, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_kneser_ney_equals_lists(n):
    model = KneserNey(TEXTS, n, discount=0.7)
    for length in range(4):
        for history in itertools.product("abc", repeat=length):
            row = model.next_word(history).tolist()
            for word, p in zip(model.words, row, strict=True):
                oracle = kneser_ney_by_lists(TEXTS, n, model.words, 0.7, word, history)
                assert p == pytest.approx(oracle, rel=1e-12), (history, word)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_add_k_by_hand(n):
    model = AddK(TEXTS, n, 0.3)
    for history in itertools.product("abc", repeat=2):
        padded = ("<s>",) * (n - 1) + history
        h = padded[len(padded) - n + 1 :]
        total = sum(gram[:-1] == h for gram in grams(TEXTS, n))
        for word in model.words:
            expected = (grams(TEXTS, n).count((*h, word)) + 0.3) / (total + 0.3 * 4)
            assert model.probability(word, history) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_all_texts_sum_to_one(make, n):
    """The texts of up to 5 words, and, for those that are longer, the histories not ended yet."""
    model, total, open_ends = make(TEXTS, n), 0.0, 0.0
    words = model.words[:-1]
    for length in range(6):
        for text in itertools.product(words, repeat=length):
            total += math.exp(model.log_probability(text))
    for text in itertools.product(words, repeat=6):
        p = 1.0
        for i, word in enumerate(text):
            p *= model.probability(word, text[:i]) if p else 0
        open_ends += p
    assert total + open_ends == pytest.approx(1, abs=1e-12)
    assert open_ends < 0.2


@pytest.mark.parametrize("n", [1, 2, 3])
def test_only_the_last_words_count(make, n):
    model = make(TEXTS, n)
    assert model.next_word(["c", *"ab"[: n - 1]]).equal(model.next_word(["b", *"ab"[: n - 1]]))


def test_a_unigram_does_not_see_the_order(make):
    model = make(TEXTS, 1)
    first, second = model.log_probability(["a", "b", "c"]), model.log_probability(["c", "a", "b"])
    assert first == pytest.approx(second, rel=1e-12)


def test_count_ratios_are_most_likely(generator):
    """No other rows of probabilities give the text that was counted more."""
    model = NGramModel(TEXTS, 2)
    pairs = [(h, w, c) for h, row in model.followers.items() for w, c in row.items()]
    ratios = {h: model.next_word_ids([] if h[0] == model.bos else list(h)) for h, _, _ in pairs}
    best = sum(c * math.log(ratios[h][w]) for h, w, c in pairs)
    assert best == pytest.approx(sum(model.log_probability(text) for text in TEXTS), rel=1e-12)
    for size in (1e-3, 0.1, 1.0):
        moved = {}
        for h, row in ratios.items():
            noise = size * torch.randn(len(row), generator=generator, dtype=row.dtype)
            moved[h] = row * noise.exp() / (row * noise.exp()).sum()
        assert sum(c * math.log(moved[h][w]) for h, w, c in pairs) < best


def test_a_text_that_was_never_seen_is_impossible_or_not():
    assert NGramModel(TEXTS, 2).log_probability(["c", "c", "a"]) == -math.inf
    assert NGramModel(TEXTS, 3).log_probability(["c", "b", "b"]) == -math.inf
    for model in AddK(TEXTS, 3, 0.1), KneserNey(TEXTS, 3):
        assert math.isfinite(model.log_probability(["c", "c", "a"]))


def test_more_history_fits_the_counted_text_better():
    totals = [sum(NGramModel(TEXTS, n).log_probability(t) for t in TEXTS) for n in (1, 2, 3)]
    assert totals[0] < totals[1] < totals[2]


def test_other_words_are_unknown(make):
    model = make(TEXTS, 2, words=["b", "a"])
    assert model.words == ["<unk>", "b", "a", "</s>"]
    assert model.probability("c", ["zebra"]) == model.probability("<unk>", ["c"])
    plain = make([["u" if w == "c" else w for w in text] for text in TEXTS], 2)
    assert model.log_probability(["a", "c"]) == pytest.approx(plain.log_probability(["a", "u"]))


def test_kneser_ney_asks_in_how_many_places():
    """francisco is frequent, but always after san; so after a new word it is improbable."""
    texts = [["san", "francisco"]] * 9 + [["the", "glass"], ["a", "glass"], ["my", "glass"]]
    model, adding = KneserNey(texts, 2), AddK(texts, 1, 0.1)
    assert model.probability("glass", ["glass"]) > model.probability("francisco", ["glass"])
    assert adding.probability("glass") < adding.probability("francisco")


@pytest.mark.repeats
def test_samples_come_as_often_as_the_model_says(generator):
    model, n = NGramModel(TEXTS, 2), 4000
    found = [tuple(model.sample(generator)) for _ in range(n)]
    for text in [("c",), (), ("a", "b", "a")]:
        p = math.exp(model.log_probability(text))
        assert abs(found.count(text) / n - p) < 4 * math.sqrt(p * (1 - p) / n)


def test_a_sample_goes_on_from_its_prefix():
    model = KneserNey(TEXTS, 3)
    first, second = (model.sample(torch.Generator().manual_seed(5), ["a", "b"]) for _ in range(2))
    assert first == second
    assert first[:2] == ["a", "b"]
    assert len(model.sample(torch.Generator().manual_seed(5), ["a"], max_length=1)) <= 2


def test_greedy_takes_the_most_probable():
    model = NGramModel([["a", "b", "c"], ["a", "b"], ["a", "b", "c"]], 2)
    assert model.greedy() == model.greedy(["a"]) == ["a", "b", "c"]


def test_the_share_of_new_ngrams():
    seen, new = [list("abcab")], [list("abd"), list("ca")]
    assert unseen_share(seen, new, 1) == pytest.approx(1 / 5)
    assert unseen_share(seen, new, 2) == pytest.approx(1 / 3)
    assert unseen_share(seen, new, 3) == 1


tokens = st.lists(st.sampled_from("abc"), max_size=6)


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(tokens, min_size=1, max_size=5), history=tokens, n=st.integers(1, 4))
def test_rows_are_distributions(texts, history, n):
    texts = [*texts, ["a", "b", "c"]]
    for model in AddK(texts, n, 0.5), KneserNey(texts, n):
        row = model.next_word(history)
        assert bool((row > 0).all())
        assert row.sum().item() == pytest.approx(1, abs=1e-12)


@given(texts=st.lists(tokens, max_size=5), n=st.integers(1, 4))
def test_follower_counts_count_every_ngram(texts, n):
    counts = follower_counts(texts, n)
    expected = sum(max(len(text) - n + 1, 0) for text in texts)
    assert sum(sum(row.values()) for row in counts.values()) == expected
    for history, row in counts.items():
        for token, count in row.items():
            runs = [tuple(text[i : i + n]) for text in texts for i in range(len(text) - n + 1)]
            assert runs.count((*history, token)) == count


def test_no_history_no_ratio():
    with pytest.raises(ValueError, match=r"never has the history; got \['c', 'c'\]"):
        NGramModel(TEXTS, 3).next_word(["c", "c"])


def test_an_empty_corpus_is_refused(make):
    with pytest.raises(ValueError, match="at least one text; got n_texts=0"):
        make([], 2)
    with pytest.raises(ValueError, match="words must hold at least one word"):
        make([[], []], 2)


@pytest.mark.bad_input
@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_n_must_be_at_least_one(make, n):
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got n="):
        make(TEXTS, n)
    with pytest.raises(ValueError, match="n must be an integer of at least 1"):
        unseen_share(TEXTS, TEXTS, n)


def test_words_must_be_known(make):
    with pytest.raises(ValueError, match=r"every token must be known; got missing=\['zebra'"):
        make(TEXTS, 2).next_word(["zebra"])
    with pytest.raises(ValueError, match="not the symbols of its edges"):
        make(TEXTS, 2).log_probability(["a", "</s>"])
    with pytest.raises(ValueError, match="none of the symbols"):
        make([["a", "<s>"]], 2)


def test_there_must_be_something_to_share():
    with pytest.raises(ValueError, match="at least one n-gram"):
        unseen_share(TEXTS, [["a"]], 2)
