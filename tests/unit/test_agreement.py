"""Planted agreement: what is planted is there, and nothing else tells the number."""

from collections import Counter

import pytest

from softlookup.data.agreement import AGREEMENT_VERBS, PHRASE_NOUNS, SUBJECTS, agreement_sentences

MANY = {many for _, many in SUBJECTS}


@pytest.mark.parametrize("n_phrases", [0, 1, 3])
def test_the_verb_agrees_with_the_subject(generator, n_phrases):
    for sentence in agreement_sentences(200, n_phrases, generator):
        assert len(sentence.tokens) == 3 + 3 * n_phrases
        number = int(sentence.tokens[1] in MANY)
        right = {pair[number]: pair[1 - number] for pair in AGREEMENT_VERBS}
        assert sentence.tokens[-1] == sentence.verb
        assert right[sentence.verb] == sentence.wrong


def test_all_choices_are_made_alike(generator):
    n = 6000
    sentences = agreement_sentences(n, 1, generator)
    for place, size in ((1, 12), (2, 2), (4, 8), (5, 6)):
        counts = Counter(sentence.tokens[place] for sentence in sentences)
        assert len(counts) == size
        assert all(abs(c - n / size) < 5 * (n / size) ** 0.5 for c in counts.values())


def test_the_nearest_noun_tells_nothing(generator):
    sentences = agreement_sentences(4000, 2, generator)
    many = {many for _, many in PHRASE_NOUNS}
    same = sum((s.tokens[7] in many) == (s.tokens[1] in MANY) for s in sentences)
    assert 1850 < same < 2150


def test_none_is_allowed(generator):
    assert agreement_sentences(0, 1, generator) == []


@pytest.mark.bad_input
@pytest.mark.parametrize("bad", [-1, 1.5])
def test_numbers_must_be_counts(generator, bad):
    with pytest.raises(ValueError, match="n must be an integer of at least 0"):
        agreement_sentences(bad, 1, generator)
    with pytest.raises(ValueError, match="n_phrases must be an integer of at least 0"):
        agreement_sentences(1, bad, generator)
