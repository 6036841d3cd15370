"""Spans, BIO tags, windows and scores: worked cases, other implementations, bad input."""

import random
import re

import pytest
import torch

from softlookup.words import (
    STRAY,
    SpanScores,
    bio_to_spans,
    conflicting_labels,
    f1_score,
    precision,
    recall,
    span_scores,
    spans_to_bio,
    token_scores,
    window_features,
)

TAGS = ["B-A", "I-A", "B-B", "I-B", "O"]


def spans_by_pattern(tags, stray):
    """The same by a regular expression over one character a tag: a A b B and O."""
    text = "".join({"B-A": "a", "I-A": "A", "B-B": "b", "I-B": "B", "O": "O"}[tag] for tag in tags)
    pattern = {"begin": r"aA*|bB*|A+|B+", "drop": r"aA*|bB*"}[stray]
    return [(*match.span(), match.group()[0].upper()) for match in re.finditer(pattern, text)]


def random_tags(rng, n=13):
    return [rng.choice(TAGS) for _ in range(rng.randrange(n))]


# From spans to tags


def test_a_sentence_with_three_spans():
    tokens = ["In", "2007", "Sebastian", "Thrun", "went", "to", "Google"]
    spans = [(6, 7, "ORG"), (1, 2, "DATE"), (2, 4, "PERSON")]  # in any order
    tags = spans_to_bio(spans, len(tokens))
    assert tags == ["O", "B-DATE", "B-PERSON", "I-PERSON", "O", "O", "B-ORG"]
    assert bio_to_spans(tags) == sorted(spans)


def test_neighbours_with_one_label_stay_two_spans():
    spans = [(0, 2, "PERSON"), (2, 3, "PERSON")]
    assert spans_to_bio(spans, 3) == ["B-PERSON", "I-PERSON", "B-PERSON"]
    assert bio_to_spans(spans_to_bio(spans, 3)) == spans


def test_no_spans_and_no_tokens():
    assert spans_to_bio([], 3) == ["O"] * 3
    assert spans_to_bio([], 0) == bio_to_spans([]) == []


def test_a_label_may_hold_a_hyphen():
    assert bio_to_spans(spans_to_bio([(0, 2, "DATE-OF-BIRTH")], 2)) == [(0, 2, "DATE-OF-BIRTH")]


@pytest.mark.parametrize(
    ("spans", "n", "message"),
    [
        ([(0, 0, "A")], 2, r"at least one token: start < end; got span=\(0, 0, 'A'\)"),
        ([(2, 1, "A")], 2, "at least one token"),
        ([(1, 3, "A")], 2, r"within the text; got span=\(1, 3, 'A'\), n_tokens=2"),
        ([(0, 2, "A"), (1, 3, "B")], 3, r"must not overlap; got span=\(1, 3, 'B'\)"),
        ([(1, 3, "B"), (0, 2, "A")], 3, r"must not overlap; got span=\(0, 2, 'A'\)"),
        ([(-1, 1, "A")], 2, r"spans\[0\]\[0\] must be an integer of at least 0; got"),
        ([(0, 1, " ")], 2, "a text that is not blank"),
    ],
)
def test_spans_that_cannot_be_tagged(spans, n, message):
    with pytest.raises(ValueError, match=message):
        spans_to_bio(spans, n)


# From tags to spans


STRAY_CASES = {
    "at the start": (["I-A", "I-A"], [(0, 2, "A")], []),
    "after O": (["O", "I-A", "O"], [(1, 2, "A")], []),
    "after another label": (["B-A", "I-B", "I-B"], [(0, 1, "A"), (1, 3, "B")], [(0, 1, "A")]),
    "back again": (
        ["B-A", "I-B", "I-A"],
        [(0, 1, "A"), (1, 2, "B"), (2, 3, "A")],
        [(0, 1, "A")],
    ),
    "before a beginning": (["I-A", "B-A", "I-A"], [(0, 1, "A"), (1, 3, "A")], [(1, 3, "A")]),
}


@pytest.mark.parametrize(("tags", "begun", "dropped"), STRAY_CASES.values(), ids=list(STRAY_CASES))
def test_stray_tags_have_three_readings(tags, begun, dropped):
    assert bio_to_spans(tags, stray="begin") == begun
    assert bio_to_spans(tags, stray="drop") == dropped
    with pytest.raises(ValueError, match="I- tag must follow a B- or I- tag of the same label"):
        bio_to_spans(tags)


def test_the_refusal_names_the_place():
    with pytest.raises(ValueError, match=re.escape("got tags[2]='I-ORG', before='B-PERSON'")):
        bio_to_spans(["O", "B-PERSON", "I-ORG"])


@pytest.mark.parametrize("stray", ["begin", "drop"])
def test_any_tags_as_a_regular_expression_reads_them(stray):
    rng = random.Random(20170612)
    for _ in range(500):
        tags = random_tags(rng)
        assert bio_to_spans(tags, stray=stray) == spans_by_pattern(tags, stray)


def test_tags_without_strays_mean_the_same_in_every_reading():
    tags = ["B-A", "I-A", "B-A", "O", "B-B", "I-B", "I-B"]
    assert {tuple(bio_to_spans(tags, stray=stray)) for stray in STRAY} == {
        ((0, 2, "A"), (2, 3, "A"), (4, 7, "B"))
    }


@pytest.mark.parametrize("tag", ["B", "I-", "B- ", "X-A", "PERSON", "", "o", "O-A", "b-A"])
def test_a_tag_must_be_one(tag):
    with pytest.raises(ValueError, match="a tag must be O, or B- or I- and a label"):
        bio_to_spans(["O", tag])


def test_stray_must_be_known():
    with pytest.raises(ValueError, match="stray must be one of 'refuse', 'begin', 'drop'"):
        bio_to_spans(["O"], stray="keep")


# Windows


def window_by_hand(vectors, width):
    rows = []
    for i in range(len(vectors)):
        row = []
        for j in range(i - width, i + width + 1):
            inside = 0 <= j < len(vectors)
            row += vectors[j].tolist() if inside else [0.0] * vectors.shape[1]
        rows.append(row)
    return torch.tensor(rows, dtype=vectors.dtype)


@pytest.mark.parametrize("width", [0, 1, 2, 7])
def test_window_features_equal_a_loop(width, generator):
    vectors = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    features = window_features(vectors, width)
    assert torch.equal(features, window_by_hand(vectors, width))
    assert features.shape == (5, (2 * width + 1) * 3)


def test_a_window_of_no_tokens():
    assert window_features(torch.zeros(0, 3), 2).shape == (0, 15)


def test_a_window_passes_its_gradient_on(generator):
    vectors = torch.randn(5, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: window_features(x, 2), vectors)


def test_a_window_has_no_negative_width():
    with pytest.raises(ValueError, match="width must be an integer of at least 0; got width=-1"):
        window_features(torch.zeros(3, 2), -1)


# Scores


def test_span_scores_count_over_all_texts():
    truth = [[(0, 2, "A"), (3, 4, "B")], [(0, 1, "A")], []]
    found = [[(0, 2, "A"), (3, 4, "A")], [], [(0, 1, "A"), (1, 2, "B")]]
    scores = span_scores(truth, found)
    assert scores == SpanScores(precision=1 / 4, recall=1 / 3, f1=2 / 7)


def test_the_same_span_in_another_text_is_no_hit():
    assert span_scores([[(0, 1, "A")], []], [[], [(0, 1, "A")]]) == (0, 0, 0)


@pytest.mark.parametrize("near", [(0, 3, "A"), (1, 2, "A"), (0, 2, "B"), (0, 1, "A")])
def test_a_span_must_be_exactly_right(near):
    assert span_scores([[(0, 2, "A")]], [[near]]).f1 == 0


def test_nothing_to_find_and_nothing_found():
    assert span_scores([[]], [[]]) == token_scores([["O"]], [["O"]]) == (0.0, 0.0, 0.0)


def test_token_scores_equal_the_binary_metrics_label_by_label():
    rng = random.Random(7)
    truth = [random_tags(rng, 29) for _ in range(11)]
    found = [[rng.choice(TAGS) for _ in tags] for tags in truth]
    flat = [pair for texts in zip(truth, found, strict=True) for pair in zip(*texts, strict=True)]
    labels = [tag for tag in TAGS if tag != "O"]
    flags = [[[pair[k] == label for label in labels] for pair in flat] for k in (0, 1)]
    wanted, got = (torch.tensor(rows).flatten() for rows in flags)  # micro-average
    scores = token_scores(truth, found)
    assert scores.precision == pytest.approx(precision(wanted, got), abs=1e-12)
    assert scores.recall == pytest.approx(recall(wanted, got), abs=1e-12)
    assert scores.f1 == pytest.approx(f1_score(wanted, got), abs=1e-12)


def test_all_o_earns_nothing():
    assert token_scores([["O", "O", "O", "B-A"]], [["O"] * 4]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("function", "truth", "found", "message"),
    [
        (span_scores, [[]], [], "one entry for each text; got truth=1, predicted=0"),
        (token_scores, [["O"]], [], "one entry for each text; got truth=1, predicted=0"),
        (token_scores, [["O"]], [["O", "O"]], "as many tags on both sides; got truth=1, predi"),
        (token_scores, [["O"]], [["X"]], "a tag must be O"),
        (token_scores, [["X"]], [["O"]], "a tag must be O"),
        (span_scores, [[(1, 1, "A")]], [[]], "at least one token"),
        (span_scores, [[]], [[(0, 1, "A"), (0, 1, "A")]], "spans must be distinct"),
    ],
)
def test_scores_of_bad_input(function, truth, found, message):
    with pytest.raises(ValueError, match=message):
        function(truth, found)


# Labels that clash


def test_a_surname_alone_is_the_full_name():
    tokens = ["Ada", "Low", "met", "Low", "at", "Low", "House"]
    spans = [(0, 2, "PERSON"), (3, 4, "PLACE"), (5, 7, "PLACE")]
    assert conflicting_labels(tokens, spans) == {"Low": ["PERSON", "PLACE"]}


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("Low and Low", [(0, 1, "A"), (2, 3, "A")]),  # one label
        ("Low met High", [(0, 1, "A"), (2, 3, "B")]),  # two names
        ("Low Ada met Low", [(0, 2, "A"), (3, 4, "B")]),  # first, not last
        ("Barlow met low Low", [(0, 1, "A"), (2, 3, "B"), (3, 4, "C")]),  # letters, case
        ("Ada Low Jr met Low", [(0, 3, "A"), (4, 5, "B")]),  # in the middle
        ("", []),
    ],
)
def test_what_is_no_conflict(text, spans):
    assert conflicting_labels(text.split(), spans) == {}


def test_labels_come_in_order_of_appearance_and_once():
    tokens = ["Low"] * 4
    spans = [(3, 4, "B"), (2, 3, "A"), (0, 1, "C"), (1, 2, "A")]
    assert conflicting_labels(tokens, spans) == {"Low": ["C", "A", "B"]}


def test_two_full_names_that_share_a_surname_do_not_clash_by_themselves():
    tokens = ["Ada", "Low", "leads", "Fort", "Low"]
    assert conflicting_labels(tokens, [(0, 2, "PERSON"), (3, 5, "PLACE")]) == {}


def test_conflicts_of_bad_input():
    with pytest.raises(ValueError, match="span must end within the text"):
        conflicting_labels(["Low"], [(0, 2, "A")])
    with pytest.raises(ValueError, match="start < end"):
        conflicting_labels(["Low"], [(1, 1, "A")])
