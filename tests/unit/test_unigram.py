"""The unigram model: all cuts by brute force, EM that never falls, the marker, bad input."""

import math
from collections import Counter
from itertools import product

import pytest

from softlookup.data import messages
from softlookup.tokenization import UnigramModel, UnigramTokenizer, split_at_markers

SCORES = {"a": -2.0, "b": -1.5, "ab": -2.25, "ba": -3.0, "aba": -4.5, "c": -4.0, "bc": -4.25}


def all_cuts(word):
    """Every way to cut a word: a choice of cut or no cut in each gap."""
    for choice in product([False, True], repeat=max(len(word) - 1, 0)):
        pieces = [word[:1]]
        for character, cut in zip(word[1:], choice, strict=True):
            pieces = [*pieces, character] if cut else [*pieces[:-1], pieces[-1] + character]
        yield pieces


def possible_cuts(word, scores):
    cuts = (pieces for pieces in all_cuts(word) if all(piece in scores for piece in pieces))
    return [(pieces, sum(scores[piece] for piece in pieces)) for pieces in cuts]


WORDS = ["a", "ab", "ba", "abab", "abba", "cabbabc", "babaabcba", "aaaa", "bcbcabab"]


@pytest.mark.parametrize("word", WORDS)
def test_best_pieces_by_brute_force(word):
    pieces, score = UnigramModel(SCORES).best_pieces(word)
    cuts = possible_cuts(word, SCORES)
    assert math.isclose(score, max(total for _, total in cuts), rel_tol=1e-12)
    assert "".join(pieces) == word
    assert math.isclose(score, sum(SCORES[piece] for piece in pieces), rel_tol=1e-12)


@pytest.mark.parametrize("word", [word for word in WORDS if len(word) > 1])
def test_the_best_pieces_of_a_divided_word(word):
    scores = SCORES | {word: -0.125}
    model = UnigramModel(scores)
    assert model.best_pieces(word) == ([word], -0.125)
    pieces, score = model.best_pieces(word, divided=True)
    others = [total for pieces, total in possible_cuts(word, scores) if len(pieces) > 1]
    assert math.isclose(score, max(others), rel_tol=1e-12)
    assert len(pieces) > 1


def test_of_equal_cuts_the_longest_last_piece():
    model = UnigramModel({"a": -1.0, "aa": -2.0, "aaa": -3.0})
    assert model.best_pieces("aaaa") == (["a", "aaa"], -4.0)
    assert model.best_pieces("") == ([], 0.0)


def test_unknown_characters_stand_alone():
    model = UnigramModel({"a": -1.0, "bc": -3.0})
    assert model.best_pieces("axbc") == (["a", "x", "bc"], -1 - 13 - 3)
    assert model.best_pieces("b") == (["b"], -13.0)


@pytest.mark.parametrize("word", WORDS)
def test_expected_counts_by_brute_force(word):
    cuts = possible_cuts(word, SCORES)
    whole = math.fsum(math.exp(total) for _, total in cuts)
    expected = Counter()
    for pieces, total in cuts:
        for piece in pieces:
            expected[piece] += 3 * math.exp(total) / whole
    counts, log_likelihood = UnigramModel(SCORES).expected_counts({word: 3})
    assert counts.keys() == SCORES.keys()
    for piece, count in counts.items():
        assert math.isclose(count, expected[piece], rel_tol=1e-12, abs_tol=1e-15)
    assert math.isclose(log_likelihood, 3 * math.log(whole), rel_tol=1e-12)
    covered = sum(len(piece) * count for piece, count in counts.items())
    assert math.isclose(covered, 3 * len(word), rel_tol=1e-12)


def test_expected_counts_of_a_long_word_do_not_vanish():
    word = "ab" * 3000  # e^-6750 is 0 as a float
    counts, log_likelihood = UnigramModel(SCORES).expected_counts({word: 1})
    assert -7000 < log_likelihood < -5000
    assert math.isclose(sum(len(p) * n for p, n in counts.items()), 6000, rel_tol=1e-9)


def test_dead_ends_count_nothing():
    counts, _ = UnigramModel({"a": -1.0, "ab": -1.0, "bc": -1.0}).expected_counts({"abc": 1})
    assert counts == {"a": 1.0, "ab": 0.0, "bc": 1.0}


def test_em_never_makes_the_text_less_probable():
    words = Counter(word for m in messages()[:60] for word in split_at_markers(m.text))
    pieces = {word[i:j] for word in words for i in range(len(word)) for j in range(i + 1, i + 4)}
    scores = {piece: -math.log(len(pieces)) for piece in sorted(pieces)}
    likelihoods = []
    for _ in range(6):
        counts, log_likelihood = UnigramModel(scores).expected_counts(words)
        likelihoods.append(log_likelihood)
        total = sum(counts.values())
        scores = {piece: math.log(max(n, 1e-12) / total) for piece, n in counts.items()}
    assert likelihoods == sorted(likelihoods)
    assert likelihoods[-1] > likelihoods[0] + 100


def test_training_gives_the_probabilities_of_em():
    text = "hug hugs pug pugs hug bun buns hug"
    tokenizer = UnigramTokenizer.train([text], 16, n_steps=300)
    scores = tokenizer.model.log_probabilities
    words = Counter(split_at_markers(text))
    counts, _ = tokenizer.model.expected_counts(words)
    total = sum(counts.values())
    for piece, score in scores.items():  # a fixed point: the next step changes nothing
        assert math.isclose(math.exp(score), counts[piece] / total, abs_tol=1e-4)
    assert math.isclose(sum(map(math.exp, scores.values())), 1, rel_tol=1e-9)
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


def test_more_steps_of_em_leave_less_to_do():
    texts = [message.text for message in messages()[:150]]
    words = Counter(word for text in texts for word in split_at_markers(text))

    def still_to_go(n_steps):
        model = UnigramTokenizer.train(texts, 200, n_steps=n_steps).model
        counts, _ = model.expected_counts(words)
        total = sum(counts.values())
        return max(abs(math.exp(model.log_probabilities[p]) - n / total) for p, n in counts.items())

    assert still_to_go(10) < 1e-5 < 1e-4 < still_to_go(1)


def test_training_keeps_what_covers_most():
    tokenizer = UnigramTokenizer.train(["the then there other " * 20 + "zq"], 16)
    assert len(tokenizer) == 16
    assert "▁the" in tokenizer.tokens
    assert set("▁thenrozq") <= set(tokenizer.tokens)  # every character stays
    assert len(tokenizer.encode("the")) == 1


def test_the_size_of_the_vocabulary():
    texts = [message.text for message in messages()[:200]]
    assert len(UnigramTokenizer.train(texts, 307)) == 307
    assert UnigramTokenizer.train(["ab"], 100).tokens[0] == "<unk>"
    assert set(UnigramTokenizer.train(["ab"], 100).tokens) == {"<unk>", "▁", "a", "b"}
    pieces = UnigramTokenizer.train(["abcdefghij abcdefghij"], 300, max_length=3).tokens[1:]
    assert max(map(len, pieces)) == 3


def test_more_pieces_fewer_tokens():
    texts = [message.text for message in messages()]
    lengths = [
        sum(len(tokenizer.encode(text)) for text in texts)
        for tokenizer in (UnigramTokenizer.train(texts, size) for size in (120, 250, 500))
    ]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < 0.7 * lengths[0]


def test_texts_come_back_with_all_their_spaces():
    train = [message.text for message in messages()[:300]]
    tokenizer = UnigramTokenizer.train(train, 400)
    known = set("".join(train))
    texts = [m.text for m in messages()[300:] if set(m.text) <= known]
    assert len(texts) > 200
    texts += ["", " ", "   ", " a", "a ", "  a   b  "]
    for text in texts:
        ids = tokenizer.encode(text)
        assert 0 not in ids
        assert tokenizer.decode(ids) == text


def test_runs_of_unknown_characters_are_one_token():
    tokenizer = UnigramTokenizer({"▁": -2.0, "a": -1.0, "▁a": -2.5})
    assert tokenizer.encode("?!a??") == [1, 0, 2, 0]
    assert tokenizer.encode("? ?") == [1, 0, 1, 0]
    assert tokenizer.decode([3, 0, 3]) == "a<unk> a"
    other = UnigramTokenizer({"a": -1.0}, unknown="⁇")
    assert other.encode("ba") == [0, 1]  # without the marker as a piece, it is unknown too
    assert other.decode([0]) == "⁇"


def test_the_unknown_token_is_no_piece():
    tokenizer = UnigramTokenizer.train(["<unk><unk><unk><unk>"], 30)
    assert tokenizer.tokens.count("<unk>") == 1
    assert 0 not in tokenizer.encode("<unk>")
    assert tokenizer.decode(tokenizer.encode("<unk>")) == "<unk>"


def test_split_at_markers():
    assert split_at_markers("") == []
    assert split_at_markers(" ") == ["▁", "▁"]
    assert split_at_markers("a  b\n c") == ["▁a", "▁", "▁b\n", "▁c"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: UnigramModel({}), "log_probabilities must hold at least one piece"),
        (lambda: UnigramModel({"": -1.0}), "a piece must hold at least one character"),
        (lambda: UnigramModel({"a": 0.5}), r"finite and at most 0; got wrong=\{'a': 0.5\}"),
        (lambda: UnigramModel({"a": -math.inf}), "finite and at most 0"),
        (lambda: UnigramModel(SCORES).best_pieces("a", divided=True), "at least two characters"),
        (lambda: UnigramModel(SCORES).expected_counts({"ax": 1}), "made of pieces; got word='ax'"),
        (lambda: UnigramTokenizer({}), "at least one piece"),
        (lambda: UnigramTokenizer({"<unk>": -1.0}), r"distinct; got repeated=\['<unk>'\]"),
        (lambda: UnigramTokenizer({"a": -1.0}).encode("a▁"), "hold the marker ▁; got position=1"),
        (lambda: UnigramTokenizer({"a": -1.0}).encode("\udfff"), "lone surrogate"),
        (lambda: UnigramTokenizer({"a": -1.0}).decode([2]), "ids must be integers from 0 to 1"),
        (lambda: UnigramTokenizer.train([""], 9), "texts must hold at least one character"),
        (lambda: UnigramTokenizer.train(["abc"], 4), "vocab_size must be at least 5"),
        (lambda: UnigramTokenizer.train(["a▁"], 9), "must not hold the marker"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
