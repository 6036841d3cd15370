"""The French-English grammar: spelling, agreement and alignment, checked by rules written anew."""

import pytest
import torch

from softlookup.data.french import french_english, il_m_a_entarte
from softlookup.data.french_words import ADJECTIVES, AUXILIARY, NOUNS, VERBS
from softlookup.translation import is_monotone

VOWEL = "aeiouhâéê"
SUBJECTS = {
    "je": 0,
    "j'": 0,
    "tu": 1,
    "il": 2,
    "elle": 2,
    "nous": 3,
    "vous": 4,
    "ils": 5,
    "elles": 5,
}
FULL = {"l'": "le", "n'": "ne", "m'": "me", "t'": "te", "j'": "je", "d'": "de", "qu'": "que"}
MASCULINE = {"le", "un", "ce", "cet", "du"}
FEMININE = {"la", "une", "cette", "ma"}
PLURAL = {"les", "des", "ces", "mes", "nos"}
NOUN = {form: (n, form == n.plural) for n in NOUNS for form in (n.singular, n.plural)}
FINITE = {form for verb in VERBS for form in verb.present} | set(AUXILIARY)


@pytest.fixture(scope="module")
def pairs():
    return french_english(4001, torch.Generator().manual_seed(7))


@pytest.fixture(scope="module")
def short():
    return french_english(3001, torch.Generator().manual_seed(1), max_clauses=1)


def find(pairs, source):
    return next(pair for pair in pairs if " ".join(pair.source) == source)


def triples(words):
    return zip(["", *words[:-1]], words, [*words[1:], ""], strict=True)


def forms(a):
    return {a.masculine, a.before_vowel, a.feminine, a.masculine_plural, a.feminine_plural}


BEFORE = {form for a in ADJECTIVES if a.before for form in forms(a)}
FEELINGS = {
    form for a in ADJECTIVES if a.english in ("happy", "sad", "clever") for form in forms(a)
}
AFTER = {form for a in ADJECTIVES if not a.before for form in forms(a)}


# what the lecture shows


def test_sentence_of_lecture_001():
    """E37, W14: with the right word order the links cross."""
    pair = il_m_a_entarte()
    assert " ".join(pair.source) == "il m' a entarté"
    assert " ".join(pair.target) == "he hit me with a pie"
    assert pair.alignment == {(0, 0), (1, 3), (2, 1), (3, 3), (4, 3), (5, 3)}
    assert pair.possible - pair.alignment == {(1, 2)}
    assert not is_monotone({(j, i) for i, j in pair.possible})
    grid = [[(i, j) in pair.possible for i in range(6)] for j in (0, 2, 1, 3)]  # as printed
    assert [sum(row) for row in grid] == [1, 1, 1, 4]
    assert [sum(column) for column in zip(*grid, strict=True)] == [1, 2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("source", "target", "links"),
    [
        ("elles ne t' aiment pas", "they do not love you", {(0, 0), (2, 4), (3, 3), (4, 2)}),
        ("nous n' avons pas aimé notre reine", "we did not love our queen",
         {(0, 0), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)}),
        ("il l' a regardée", "he watched her", {(0, 0), (1, 3), (2, 1)}),
        ("notre voisine ne les a jamais achetés", "our neighbour never bought them",
         {(0, 0), (1, 1), (2, 5), (3, 6), (4, 3)}),
        ("il achète des pommes", "he buys apples", {(0, 0), (1, 1), (2, 3)}),
        ("ils dorment", "they sleep", {(0, 0), (1, 1)}),
    ],
)  # fmt: skip
def test_translations_by_hand(short, source, target, links):
    pair = find(short, source)
    assert " ".join(pair.target) == target
    assert pair.alignment == links


def test_an_adjective_after_its_noun_changes_sides(pairs):
    """The little cat black: the little black cat; the little king sad: the sad little king."""
    checked = 0
    for source, _, sure, _ in pairs:
        english = {j: i for i, j in sure}
        for place, word in enumerate(source):
            if word in NOUN and source[place + 1 : place + 2] and source[place + 1] in AFTER:
                checked += 1
                feeling = source[place + 1] in FEELINGS and source[place - 1] in BEFORE
                assert english[place] == english[place + 1] + 1 + feeling
                if source[place - 1] in BEFORE:
                    assert english[place - 1] == english[place] - 2 + feeling
    assert checked > 100


# draws


def test_draws_are_repeatable_and_differ_by_seed(pairs):
    again = french_english(4001, torch.Generator().manual_seed(7))
    assert again == pairs
    assert french_english(11, torch.Generator().manual_seed(8)) != pairs[:11]
    generator = torch.Generator().manual_seed(7)
    assert french_english(11, generator) != french_english(11, generator)


def test_no_french_sentence_comes_twice_and_each_has_one_translation(pairs):
    assert len(pairs) == 4001
    known = {pair.source: pair for pair in pairs}
    assert len(known) == 4001
    again = 0
    for seed in (1, 2):
        for pair in french_english(4001, torch.Generator().manual_seed(seed), max_clauses=1):
            other = known.setdefault(pair.source, pair)
            again += other is not pair
            assert other == pair
    assert again > 100


def test_lengths_spread_widely_and_grow_with_the_clauses(pairs):
    lengths = {len(pair.source) for pair in pairs}
    assert set(range(2, 31)) <= lengths
    means = []
    for clauses in (1, 2, 3):
        some = french_english(997, torch.Generator().manual_seed(1), max_clauses=clauses)
        joins = [sum(word in ("et", "mais", "parce") for word in pair.source) for pair in some]
        assert set(joins) == set(range(clauses))
        means.append(sum(len(pair.source) for pair in some) / 997)
    assert means[0] + 2 < means[1] < means[2] - 2


def test_every_word_of_the_lexicon_is_used(pairs):
    source = {word for pair in pairs for word in pair.source}
    target = {word for pair in pairs for word in pair.target}
    assert {form for noun in NOUNS for form in (noun.singular, noun.plural)} <= source
    assert {form for verb in VERBS for form in verb.present} <= source
    assert {word for verb in VERBS for word in (verb.english, verb.third, verb.past)} <= target
    assert {a.english for a in ADJECTIVES} <= target
    assert {"aimée", "vus", "entartées", "vieil", "bel", "cet", "du", "d'", "qu'"} <= source


# spelling


def test_words_are_elided_before_a_vowel_and_only_there(pairs):
    for pair in pairs:
        for _, word, after in triples(pair.source):
            if word in FULL.values() or word == "la":
                assert after[0] not in VOWEL, pair.source
            if word.endswith("'"):
                assert word in FULL
                assert after[0] in VOWEL, pair.source


def test_de_and_le_are_drawn_together(pairs):
    for pair in pairs:
        for _, word, after in triples(pair.source):
            assert (word, after) != ("de", "le")
            assert word != "du" or after[0] not in VOWEL


def test_a_becomes_an_before_a_vowel(pairs):
    for pair in pairs:
        for _, word, after in triples(pair.target):
            if word in ("a", "an"):
                assert (word == "an") == (after[0] in "aeiou"), pair.target


# agreement


def noun_phrases(words):
    """Each noun with its determiner, the adjective before it and the one after it."""
    for place, word in enumerate(words):
        if word in NOUN:
            start = place - 1 - (words[place - 1] in BEFORE)
            end = (
                place + 2
                if words[place + 1 : place + 2] and words[place + 1] in AFTER
                else place + 1
            )
            yield words[start], words[start + 1 : place], word, words[place + 1 : end]


def agreeing(noun, plural, adjective, following):
    if plural:
        return adjective.feminine_plural if noun.gender == "f" else adjective.masculine_plural
    if noun.gender == "f":
        return adjective.feminine
    return adjective.before_vowel if following[0] in VOWEL else adjective.masculine


def test_genders_are_those_of_the_dictionary():
    """Everything else asks the lexicon."""
    feminine = {noun.singular for noun in NOUNS if noun.gender == "f"}
    assert feminine == {"reine", "voisine", "étudiante", "souris", "pomme", "tarte", "lettre",
                        "image", "maison", "école"}  # fmt: skip
    assert {noun.gender for noun in NOUNS} == {"m", "f"}


def test_determiners_and_adjectives_agree_with_their_noun(pairs):
    for pair in pairs:
        for determiner, before, word, after in noun_phrases(list(pair.source)):
            noun, plural = NOUN[word]
            first = [*before, word][0]
            if word not in ("souris",):
                assert (
                    determiner in PLURAL or (determiner == "de" and before != [])
                ) == plural or (determiner == "de"), pair.source
                assert determiner not in (MASCULINE if noun.gender == "f" else FEMININE)
            assert determiner != "des" or not before  # "des chats", but "de petits chats"
            assert (determiner == "cet") <= (first[0] in VOWEL)
            assert (determiner in ("ce", "ma")) <= (first[0] not in VOWEL)
            for adjective in before + after:
                entry = next(a for a in ADJECTIVES if adjective in forms(a))
                if word == "souris":
                    assert adjective in (entry.feminine, entry.feminine_plural)
                elif adjective in before:
                    assert adjective == agreeing(noun, plural, entry, word)
                else:
                    assert adjective == agreeing(noun, plural, entry, "x")


def test_verbs_agree_with_a_pronoun_before_them(pairs):
    skipped = {"ne", "n'", "me", "m'", "te", "t'", "le", "la", "l'", "les"}
    for pair in pairs:
        words = list(pair.source)
        for place, word in enumerate(words):
            if (
                word in ("nous", "vous")
                and place
                and words[place - 1] not in ("et", "mais", "que", "qu'")
            ):
                continue  # an object
            if word in SUBJECTS:
                rest = [w for w in words[place + 1 :] if w not in skipped]
                rest = rest[1:] if rest[0] in ("nous", "vous") else rest
                person = SUBJECTS[word]
                ok = {verb.present[person] for verb in VERBS} | {AUXILIARY[person]}
                assert rest[0] in ok, pair.source


def test_participles_agree_with_an_object_before_them(pairs):
    stems = {verb.participle for verb in VERBS}
    seen = set()
    for pair in pairs:
        words = list(pair.source)
        for place, word in enumerate(words):
            stem = next(
                (word[: len(word) - k] for k in range(3) if word[: len(word) - k] in stems), None
            )
            if stem is None or word in FINITE:
                continue
            auxiliary = place - 1 - (words[place - 1] in ("pas", "jamais"))
            assert words[auxiliary] in AUXILIARY
            clitic, ending = words[auxiliary - 1], word[len(stem) :]
            relative = any(w in ("que", "qu'") and words[max(k - 1, 0)] != "parce"
                           for k, w in enumerate(words[:place]))  # fmt: skip
            if clitic == "les":
                assert ending in ("s", "es")
                seen.add(ending)
            elif clitic in ("l'", "m'", "t'"):
                assert ending in ("", "e")
                seen.add(ending)
            elif not relative and clitic not in ("nous", "vous"):
                assert ending == "", pair.source
    assert seen == {"", "e", "s", "es"}


def test_relative_participle_agrees_with_its_head(pairs):
    checked = 0
    for pair in pairs:
        words = list(pair.source)
        for place, word in enumerate(words[1:-2], start=1):
            if word in ("que", "qu'") and words[place - 1] in NOUN:
                noun, plural = NOUN[words[place - 1]]
                rest = words[place + 1 :]
                if rest[0] in SUBJECTS and rest[1] in AUXILIARY and words[place - 1] != "souris":
                    ending = "e" * (noun.gender == "f") + "s" * plural
                    assert rest[2] in {verb.participle + ending for verb in VERBS}, words
                    checked += 1
    assert checked > 20


def test_him_or_her_is_never_in_doubt(pairs):
    """Before a vowel both are "l'": then the participle tells them apart, or it is a thing."""
    for pair in pairs:
        for place, word in enumerate(pair.source):
            if word == "l'" and pair.source[place + 1] in FINITE - set(AUXILIARY):
                english = next(pair.target[i] for i, j in pair.alignment if j == place)
                assert english in ("it", "the")


def test_nobody_acts_on_himself(pairs):
    for pair in pairs:
        text = " ".join(pair.source) + " "
        for pronouns in (("je", "j'"), ("nous",)):
            for subject in pronouns:
                for clitic in ("me ", "m' ", "nous "):
                    for ne in ("", "ne "):
                        assert f" {subject} {ne}{clitic}" not in " " + text
        for second in ("tu te ", "tu t' ", "tu vous ", "vous vous ", "vous te ", "vous t' "):
            assert f" {second}" not in " " + text
            assert f" {second.replace(' ', ' ne ', 1)}" not in " " + text


# negation


def test_negation_has_two_halves(pairs):
    for pair in pairs:
        source = [FULL.get(word, word) for word in pair.source]
        negated = source.count("pas") + source.count("jamais")
        assert source.count("ne") == negated
        assert pair.target.count("not") == source.count("pas")
        assert pair.target.count("never") == source.count("jamais")
        for i, word in enumerate(pair.target):
            if word in ("not", "never"):
                half = {source[j] for k, j in pair.alignment if k == i}
                both = {source[j] for k, j in pair.possible if k == i}
                assert half == {"pas" if word == "not" else "jamais"}
                assert both == half | {"ne"}


def test_do_stands_before_not_and_the_verb_is_bare(pairs):
    bare = {verb.english for verb in VERBS}
    for pair in pairs:
        for before, word, after in triples(pair.target):
            if word == "not":
                assert before in ("do", "does", "did")
                assert after in bare


# alignment


def test_links_point_into_the_sentences(pairs):
    for source, target, sure, possible in pairs:
        assert sure <= possible
        assert all(0 <= i < len(target) and 0 <= j < len(source) for i, j in possible)


def test_every_english_word_comes_from_somewhere(pairs):
    for source, target, sure, possible in pairs:
        linked, perhaps = {i for i, _ in sure}, {i for i, _ in possible}
        for i, word in enumerate(target):
            assert i in perhaps
            assert i in linked or word in ("do", "does")
        idle = {source[j] for j in range(len(source))} - {source[j] for _, j in possible}
        assert idle <= {"des", "de", "d'"}  # English says "cats" for "des chats"


def test_links_are_those_of_a_dictionary(pairs):
    words = {n.singular: {n.english} for n in NOUNS}
    for noun in NOUNS:
        words.setdefault(noun.plural, set()).add(noun.english_plural)
    for a in ADJECTIVES:
        for form in forms(a):
            words.setdefault(form, set()).add(a.english)
    for verb in VERBS:
        english = {verb.english, verb.third, verb.past, *verb.particle, *verb.tail}
        heads = [*verb.present, *(verb.participle + end for end in ("", "e", "s", "es"))]
        for form in heads:
            words.setdefault(form, set()).update(english)
    words |= {"et": {"and"}, "mais": {"but"}, "parce": {"because"}, "dans": {"in"},
              "qui": {"who", "that"}, "du": {"of", "the"}}  # fmt: skip
    for source, target, sure, _ in pairs:
        for i, j in sure:
            if source[j] in words:
                assert target[i] in words[source[j]], (source, target, i, j)


def test_clitics_and_pronouns_keep_their_person(pairs):
    english = {"me": {"me"}, "te": {"you"}, "les": {"them", "the"}, "je": {"I"}, "tu": {"you"},
               "il": {"he"}, "elle": {"she"}, "ils": {"they"}, "elles": {"they"},
               "nous": {"we", "us"}, "vous": {"you"}, "le": {"him", "it", "the"},
               "la": {"her", "it", "the"}}  # fmt: skip
    for source, target, sure, _ in pairs:
        for i, j in sure:
            word = FULL.get(source[j], source[j])
            if word in english and source[j] != "l'":
                assert target[i] in english[word], (source, target)


# bad input


def test_refuses_numbers():
    generator = torch.Generator().manual_seed(1)
    with pytest.raises(ValueError, match="n must be an integer of at least 0; got n=-1"):
        french_english(-1, generator)
    with pytest.raises(ValueError, match=r"max_clauses must be an integer of at least 1; got .*=0"):
        french_english(1, generator, max_clauses=0)


def test_no_sentences_are_an_empty_list():
    assert french_english(0, torch.Generator().manual_seed(1)) == []


def test_refuses_more_sentences_than_it_finds(monkeypatch):
    monkeypatch.setattr(
        "softlookup.data.french_grammar.VERBS", VERBS[:1]
    )  # nobody does more than sleep
    monkeypatch.setattr(
        "softlookup.data.french_grammar.Grammar.happens", lambda self, probability: False
    )
    with pytest.raises(ValueError, match=r"must have n different .* got n=100, max_clauses=1"):
        french_english(100, torch.Generator().manual_seed(1), max_clauses=1)
