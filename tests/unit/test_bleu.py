"""BLEU: worked numbers, what counts and how often, brevity, cutting, bad input."""

import math

import pytest

from softlookup.translation import BLEU, bleu_tokens, corpus_bleu, matched_ngrams

PIE = "he hit me with a pie"


# worked numbers


def test_identical_texts_score_100():
    """`bleu`."""
    found = corpus_bleu([PIE, "I slept"], [PIE, "I slept"])
    assert found.score == pytest.approx(100, abs=1e-12)
    assert found.precisions == (1, 1, 1, 1)
    assert (found.matches, found.totals) == ((8, 6, 4, 3), (8, 6, 4, 3))
    assert (found.brevity_penalty, found.length, found.reference_length) == (1, 8, 8)


def test_one_wrong_word_by_hand():
    found = corpus_bleu([PIE], ["he hit me with the pie"])
    assert (found.matches, found.totals) == ((5, 3, 2, 1), (6, 5, 4, 3))
    assert found.precisions == (5 / 6, 3 / 5, 2 / 4, 1 / 3)
    assert found.score == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 / 3) ** 0.25, abs=1e-12)


def test_counts_are_summed_before_they_are_divided():
    """A mean of the two texts' scores would be 71.69 or so; the corpus has 8 of 12 right."""
    found = corpus_bleu(["a b c d", "x b x d x f x h"], ["a b c d", "a b c d e f g h"])
    assert (found.matches, found.totals) == ((8, 3, 2, 1), (12, 10, 8, 6))
    alone = [corpus_bleu([h], [r]).score for h, r in
             [("a b c d", "a b c d"), ("x b x d x f x h", "a b c d e f g h")]]  # fmt: skip
    assert found.score == pytest.approx(100 * (8 / 12 * 3 / 10 * 2 / 8 / 6) ** 0.25, abs=1e-12)
    assert abs(found.score - sum(alone) / 2) > 1


def test_a_word_counts_no_more_often_than_in_one_reference():
    """Papineni's example: seven times "the", of which two are allowed, though three are there."""
    the, references = ["the"] * 7, ["the cat is on the mat", "there is a cat on the mat"]
    assert matched_ngrams(the, [text.split() for text in references], 1) == 2
    found = corpus_bleu([" ".join(the)], [references], max_order=1)
    assert found.precisions == (2 / 7,)
    assert matched_ngrams(["a", "b"], [["a"], ["b"]], 1) == 2  # each from another reference
    assert matched_ngrams(["a", "b"], [["a", "x"], ["x", "b"]], 2) == 0


def test_what_is_too_short_is_punished_and_what_is_too_long_is_not():
    found = corpus_bleu(["a b c d"], ["a b c d e f"])
    assert found.brevity_penalty == math.exp(1 - 6 / 4)
    assert found.score == pytest.approx(100 * math.exp(-0.5), abs=1e-12)
    assert corpus_bleu(["a b c d e f"], ["a b c d"]).brevity_penalty == 1


@pytest.mark.parametrize(
    ("references", "length"),
    [(["a b c d", "a b c d e f g"], 4), (["a b c d", "a b c d e f"], 4), (["a", "a b c d e f"], 6)],
)
def test_of_several_references_the_nearest_length_counts(references, length):
    """Of two at the same distance the shorter one, in whatever order."""
    for order in (references, references[::-1]):
        assert corpus_bleu(["a b c d e"], [order]).reference_length == length


def test_smoothing_halves_with_each_order_that_has_no_match():
    found = corpus_bleu(["a x c y e"], ["a b c d e"])
    assert found.matches == (3, 0, 0, 0)
    assert found.precisions == (3 / 5, 1 / 2 / 4, 1 / 4 / 3, 1 / 8 / 2)
    plain = corpus_bleu(["a x c y e"], ["a b c d e"], smoothing="none")
    assert (plain.score, plain.precisions) == (0, (3 / 5, 0, 0, 0))


@pytest.mark.parametrize("smoothing", ["exp", "none"])
@pytest.mark.parametrize("text", ["", "x y z w"])
def test_nothing_right_is_0(smoothing, text):
    found = corpus_bleu([text], ["a b c d e"], smoothing=smoothing)
    assert (found.score, found.precisions) == (0, (0, 0, 0, 0))
    assert found.brevity_penalty == (math.exp(1 - 5 / 4) if text else 0)


def test_a_text_shorter_than_the_longest_ngram_scores_0():
    found = corpus_bleu(["a b"], ["a b"])
    assert (found.totals, found.score) == ((2, 1, 0, 0), 0)
    assert corpus_bleu(["a b"], ["a b"], max_order=2).score == pytest.approx(100)


def test_case_counts_unless_told():
    assert corpus_bleu(["A B c d"], ["a b c d"], max_order=1).score == pytest.approx(50)
    assert corpus_bleu(["A B c d"], ["a b c d"], lowercase=True).score == pytest.approx(100)


def test_tokens_may_be_given():
    texts = ["it's 5-6, so"], ["it's 5 - 6 , so"]
    assert corpus_bleu(*texts).score == pytest.approx(100)
    assert corpus_bleu(*texts, tokenized=True).totals == (3, 2, 1, 0)


def test_the_score_is_a_tuple_of_its_parts():
    found = corpus_bleu(["a b c d"], ["a b c d"])
    assert found == BLEU(found.score, (1, 1, 1, 1), 1, (4, 3, 2, 1), (4, 3, 2, 1), 4, 4)


# cutting


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("it's", ["it's"]),
        ("Hello, y'all!", ["Hello", ",", "y'all", "!"]),
        ("1,000.5 and 3.", ["1,000.5", "and", "3", "."]),
        ("end.", ["end", "."]),
        ("a.b", ["a", ".", "b"]),
        ("well-known 5-6", ["well-known", "5", "-", "6"]),
        ("«œuf» (x)", ["«œuf»", "(", "x", ")"]),
        ("&amp;lt; &quot;", ["<", '"']),
        ("half-\nway\nhome<skipped>", ["halfway", "home"]),
        (" $5 [a]{b}~`^_@#%*+=|\\/<>?:; ",
         ["$", "5", "[", "a", "]", "{", "b", "}", *"~`^_@#%*+=|\\/<>?:;"]),
    ],
)  # fmt: skip
def test_cutting_by_hand(text, tokens):
    assert bleu_tokens(text) == tokens


# bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([], []), "at least one text, .* got hypotheses=0, references=0"),
        ((["a"], ["a", "b"]), "references for each; got hypotheses=1, references=2"),
        ((["a"], [[]]), r"references\[0\] must hold at least one text; got n_texts=0"),
    ],
)
def test_texts_that_do_not_fit_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        corpus_bleu(*given)
