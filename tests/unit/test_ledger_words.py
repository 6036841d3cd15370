"""Words of the French grammar against rules of French, each written as a record of its forms."""

from softlookup.data.french_words import ADJECTIVES, NOUNS, VERBS, Adjective, Noun, Verb

THINGS = frozenset({"animal", "place"})


def plural(word):
    """-eau takes x, -al becomes -aux, -s and -x stay, the rest takes s."""
    if word.endswith(("s", "x")):
        return word
    if word.endswith("eau"):
        return f"{word}x"
    return f"{word[:-2]}aux" if word.endswith("al") else f"{word}s"


def test_plurals_follow_the_rules_of_french():
    assert Noun("cheval", "chevaux", "m", "horse", "horses", "animal") in NOUNS
    assert [noun.plural for noun in NOUNS] == [plural(noun.singular) for noun in NOUNS]
    white = ("blanc", "blanc", "blanche", "blancs", "blanches")
    assert Adjective(*white, "white", False, False, THINGS) in ADJECTIVES
    for word in ADJECTIVES:
        forms = plural(word.masculine), plural(word.feminine)
        assert (word.masculine_plural, word.feminine_plural) == forms


def test_verbs_of_the_first_group_take_its_endings():
    forms = ("mange", "manges", "mange", "mangeons", "mangez", "mangent")
    living, food = frozenset({"person", "animal"}), frozenset({"food"})
    assert Verb(forms, "mangé", "eat", "eats", "ate", living, food) in VERBS
    first = [verb for verb in VERBS if verb.participle.endswith("é")]
    assert len(first) == 7
    for verb in first:
        stem = verb.participle[:-1]
        ends = [form[-len(end) :] for form, end in zip(verb.present, ENDINGS, strict=True)]
        assert ends == ENDINGS
        soft = "e" if stem.endswith("g") else ""
        assert verb.present[3:5] == (f"{stem}{soft}ons", f"{stem}ez")


ENDINGS = ["e", "es", "e", "ons", "ez", "ent"]
