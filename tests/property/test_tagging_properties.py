"""Spans and tags undo each other, and scores stay within bounds, whatever hypothesis tries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlookup.words import bio_to_spans, span_scores, spans_to_bio, token_scores

LABEL = st.sampled_from(["PERSON", "PLACE", "ORG"])
TAG = st.one_of(st.just("O"), st.builds("{}-{}".format, st.sampled_from("BI"), LABEL))
TAGS = st.lists(TAG, max_size=17)


@st.composite
def texts(draw):
    """The length of a text, and spans in it that do not overlap."""
    n = draw(st.integers(0, 17))
    edges = sorted(draw(st.lists(st.integers(0, n), unique=True, max_size=10)))
    pairs = zip(edges[::2], edges[1::2], strict=False)
    return n, [(start, end, draw(LABEL)) for start, end in pairs]


@given(texts())
def test_from_spans_to_tags_and_back(text):
    n, spans = text
    assert bio_to_spans(spans_to_bio(spans, n)) == spans
    assert len(spans_to_bio(spans[::-1], n)) == n


@given(TAGS, st.sampled_from(["begin", "drop"]))
def test_what_is_read_from_any_tags_can_be_written_as_tags(tags, stray):
    spans = bio_to_spans(tags, stray=stray)
    written = spans_to_bio(spans, len(tags))
    assert bio_to_spans(written) == spans
    begun = [i for i, tag in enumerate(tags) if tag.startswith("B-")]
    assert set(begun) <= {start for start, _, _ in spans}


@given(TAGS)
def test_dropping_loses_and_beginning_keeps(tags):
    begun = spans_to_bio(bio_to_spans(tags, stray="begin"), len(tags))
    dropped = spans_to_bio(bio_to_spans(tags, stray="drop"), len(tags))
    assert [tag == "O" for tag in begun] == [tag == "O" for tag in tags]
    assert all(d in ("O", tag) for d, tag in zip(dropped, tags, strict=True))


@given(st.lists(st.tuples(TAGS, st.randoms(use_true_random=False)), min_size=1, max_size=5))
def test_scores_are_shares_and_swap_with_their_sides(rows):
    truth = [tags for tags, _ in rows]
    found = [rng.sample(tags, len(tags)) for tags, rng in rows]
    for scores, back in (
        (token_scores(truth, found), token_scores(found, truth)),
        (span_scores(*map(decoded, (truth, found))), span_scores(*map(decoded, (found, truth)))),
    ):
        assert all(0 <= share <= 1 for share in scores)
        assert (scores.precision, scores.recall) == (back.recall, back.precision)
        assert scores.f1 == pytest.approx(back.f1)


def decoded(rows):
    """The spans of several rows of tags."""
    return [bio_to_spans(tags, stray="begin") for tags in rows]


@given(st.lists(TAGS, max_size=5), TAG.filter(lambda tag: tag != "O"))
def test_the_truth_scores_one(rows, tag):
    rows = [*rows, [tag]]  # something to find
    assert span_scores(decoded(rows), decoded(rows)) == (1, 1, 1)
    assert token_scores(rows, rows) == (1, 1, 1)
