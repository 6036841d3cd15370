"""The planted names: their spans are right, their halves share no name, bad input is refused."""

import pytest
import torch

from softlookup.data import NAME_PARTS, PERSON_OR_PLACE, tagged_sentences
from softlookup.words import bio_to_spans, spans_to_bio


def draw(n=2000, names="all", seed=3):
    return tagged_sentences(n, torch.Generator().manual_seed(seed), names=names)


def names_of(sentences):
    """The capitalised words of all spans, by label, but for what is no name by itself."""
    common = {"University", "Motors", "Labs", "Bank", "Foods", "of"}
    return {
        (word, label)
        for sentence in sentences
        for start, end, label in sentence.spans
        for word in sentence.tokens[start:end]
        if word not in common
    }


@pytest.mark.parametrize("names", NAME_PARTS)
def test_every_capital_stands_in_a_span_and_every_span_can_be_tagged(names):
    for sentence in draw(names=names):
        inside = {i for start, end, _ in sentence.spans for i in range(start, end)}
        capital = {i for i, token in enumerate(sentence.tokens) if token[0].isupper()}
        assert capital - inside <= {i for i, t in enumerate(sentence.tokens) if t == "May"}
        assert {sentence.tokens[i] for i in inside - capital} <= {"of"}
        tags = spans_to_bio(sentence.spans, len(sentence.tokens))
        assert bio_to_spans(tags) == sentence.spans


def test_all_labels_occur_and_so_do_sentences_without_names():
    sentences = draw()
    assert {label for s in sentences for *_, label in s.spans} == {"PERSON", "PLACE", "ORG"}
    assert any(not s.spans for s in sentences)
    assert {end - start for s in sentences for start, end, _ in s.spans} == {1, 2, 3}


def test_the_two_halves_share_no_name_and_make_the_whole():
    seen, unseen, both = (names_of(draw(names=part)) for part in ("seen", "unseen", "all"))
    assert {word for word, _ in seen} & {word for word, _ in unseen} == set()
    assert seen | unseen == both


def test_some_words_are_people_and_places_in_either_half():
    for part in "seen", "unseen":
        found = names_of(draw(names=part))
        twice = {word for word, label in found if label == "PERSON"} & {
            word for word, label in found if label == "PLACE"
        }
        assert twice == {word for word in PERSON_OR_PLACE if (word, "PERSON") in found}
        assert len(twice) == len(PERSON_OR_PLACE) / 2


def test_the_generator_is_the_only_source_of_chance():
    assert draw(31) == draw(31) != draw(31, seed=4)
    assert draw(31)[:7] == draw(7)
    assert draw(0) == []


def test_bad_input():
    with pytest.raises(ValueError, match="names must be one of 'all', 'seen', 'unseen'"):
        draw(names="new")
    with pytest.raises(ValueError, match="n must be an integer of at least 0; got n=-1"):
        draw(-1)
