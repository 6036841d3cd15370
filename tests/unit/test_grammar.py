"""The planted grammar: what it says it plants is there, and nothing gives it away."""

from collections import Counter

import pytest
import torch

from softlookup.data import (
    GRAMMAR_ANALOGIES,
    GRAMMAR_SENSES,
    GRAMMAR_SYNONYMS,
    planted_senses,
    planted_sentences,
    planted_words,
)
from softlookup.data import grammar as grammar_module


def seeded(seed=7):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def sentences():
    return planted_sentences(20_000, seeded())


def company(sentences, word):
    """The sentences with the word, its place left open."""
    around = Counter()
    for sentence in sentences:
        if word in sentence:
            around[" ".join("_" if token == word else token for token in sentence)] += 1
    return around


def test_the_same_seed_says_the_same_and_another_does_not():
    assert planted_sentences(50, seeded()) == planted_sentences(50, seeded())
    assert planted_sentences(50, seeded()) != planted_sentences(50, seeded(8))
    assert planted_senses(50, seeded()) == planted_senses(50, seeded())
    assert planted_senses(50, seeded()) != planted_senses(50, seeded(8))


def test_few_sentences_are_the_beginning_of_many():
    assert planted_sentences(101, seeded())[:37] == planted_sentences(37, seeded())
    assert planted_senses(101, seeded())[:37] == planted_senses(37, seeded())
    assert planted_sentences(0, seeded()) == planted_senses(0, seeded()) == []


def test_the_generator_goes_on():
    generator = seeded()
    parts = planted_sentences(5, generator) + planted_sentences(6, generator)
    assert parts == planted_sentences(11, seeded())


def test_chance_comes_from_the_generator_alone():
    torch.manual_seed(1)
    state = torch.get_rng_state()
    planted_sentences(20, seeded())
    planted_senses(20, seeded())
    assert torch.equal(torch.get_rng_state(), state)


def test_the_words_are_those_that_are_said(sentences):
    said = {token for sentence in sentences for token in sentence}
    assert sorted(said) == planted_words()
    assert all(token.isalpha() and token.islower() for token in said)
    assert {len(sentence) for sentence in sentences} == set(range(5, 11))


def test_synonyms_stand_in_the_same_places_equally_often(sentences):
    for first, second in GRAMMAR_SYNONYMS:
        places, others = company(sentences, first), company(sentences, second)
        assert places.keys() == others.keys()
        for place in places:
            both = places[place] + others[place]
            assert abs(places[place] - others[place]) < 5 * both**0.5, place


def test_only_synonyms_stand_in_the_same_places(sentences):
    planted = {frozenset(pair) for pair in GRAMMAR_SYNONYMS}
    places = {word: company(sentences, word).keys() for word in planted_words()}
    words = planted_words()
    found = {
        frozenset((first, second))
        for i, first in enumerate(words)
        for second in words[i + 1 :]
        if places[first] == places[second]
    }
    assert found == planted


def test_the_analogies_are_all_ordered_pairs_of_pairs():
    assert {name: len(rows) for name, rows in GRAMMAR_ANALOGIES.items()} == {
        "gender": 20,
        "capital": 20,
        "plural": 20,
    }
    known = set(planted_words())
    for questions in GRAMMAR_ANALOGIES.values():
        assert len(set(questions)) == 20
        for question in questions:
            assert len(set(question)) == 4
            assert set(question) <= known
            a, b, c, d = question
            assert (c, d, a, b) in questions
            assert (b, a, d, c) not in questions
    assert ("man", "woman", "king", "queen") in GRAMMAR_ANALOGIES["gender"]
    assert ("greece", "athens", "germany", "berlin") in GRAMMAR_ANALOGIES["capital"]
    assert ("mouse", "mice", "dollar", "dollars") in GRAMMAR_ANALOGIES["plural"]


@pytest.mark.parametrize("relation", ["gender", "plural"])
def test_a_pair_differs_in_its_role_and_in_nothing_else(sentences, relation):
    role = {"her": "his", "these": "this", "were": "was"}
    for a, b, *_ in GRAMMAR_ANALOGIES[relation]:
        places, others = company(sentences, a), company(sentences, b)
        assert places.keys() != others.keys()
        renamed = {" ".join(role.get(word, word) for word in place.split()) for place in others}
        assert renamed == places.keys()


def test_a_relation_is_the_same_for_all_its_pairs(sentences):
    """What the second word of a pair stands with, less what the first does, is one set of words."""
    for questions in GRAMMAR_ANALOGIES.values():
        differences = set()
        for a, b in {question[:2] for question in questions}:
            near = [
                {w for place in company(sentences, word) for w in place.split()} for word in (a, b)
            ]
            differences.add((frozenset(near[0] - near[1]), frozenset(near[1] - near[0])))
        assert len(differences) == 1
        assert all(side for side in differences.pop())


def test_senses_are_named_placed_and_equally_frequent():
    examples = planted_senses(4_000, seeded())
    for example in examples:
        assert example.tokens[example.position] == example.word
        assert example.tokens.count(example.word) == 1
    counts = Counter((example.word, example.sense) for example in examples)
    assert counts.keys() == {(w, sense) for w, senses in GRAMMAR_SENSES.items() for sense in senses}
    assert all(abs(count - 1_000) < 5 * 1_000**0.5 for count in counts.values())


def test_a_sentence_has_one_sense_and_the_text_holds_them_all(sentences):
    senses = {}
    for example in planted_senses(1_000, seeded()):
        senses.setdefault(" ".join(example.tokens), set()).add((example.word, example.sense))
    assert all(len(found) == 1 for found in senses.values())
    ambiguous = {" ".join(s) for s in sentences if any(word in s for word in GRAMMAR_SENSES)}
    assert ambiguous == senses.keys()


def test_the_two_senses_share_only_common_words():
    said = {}
    for example in planted_senses(1_000, seeded()):
        said.setdefault((example.word, example.sense), set()).update(example.tokens)
    for word, (first, second) in GRAMMAR_SENSES.items():
        shared = said[word, first] & said[word, second]
        assert shared <= {word, "the", "a", "of", "on", "from", "with", "in", "we", "is"}
        assert len(said[word, first] - shared) >= 5
        assert len(said[word, second] - shared) >= 5


def test_every_row_of_a_frame_fills_every_pattern():
    for frame in grammar_module._FRAMES:
        for pattern in frame.patterns:
            for row in frame.rows:
                assert "{" not in pattern.format(**row)
                assert all(f"{{{slot}}}" in " ".join(frame.patterns) for slot in row)


@pytest.mark.bad_input
@pytest.mark.parametrize("draw", [planted_sentences, planted_senses])
@pytest.mark.parametrize("n", [-1, 2.0, True])
def test_bad_number(draw, n):
    with pytest.raises(ValueError, match=f"n must be an integer of at least 0; got n={n}"):
        draw(n, seeded())
