"""The rules of the French-English grammar: phrases that are built in both languages at once."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from softlookup.data.french_words import (
    ADJECTIVES,
    ANIMAL,
    AUXILIARY,
    CLITICS,
    CONJUNCTIONS,
    DETERMINERS,
    FOOD,
    NOUNS,
    PERSON,
    PLACE,
    PRONOUNS,
    THING,
    VERBS,
    Adjective,
    Noun,
    Verb,
)

OWNED = (ANIMAL, FOOD, THING)
VOWELS = tuple("aeiouhâàéèêîôû")  # every h of this lexicon is silent


class Word:
    """One French word. It is itself and no other, so that English words can point to it."""

    def __init__(self, text: str) -> None:
        self.text = text


class Link(NamedTuple):
    """An English word, the French words it surely comes from, and those it may come from too."""

    text: str
    sure: tuple[Word, ...]
    possible: tuple[Word, ...] = ()


@dataclass
class Phrase:
    """The two sides of a phrase; for a noun phrase, what its verb has to agree with."""

    french: list[Word]
    english: list[Link]
    person: int = 2
    feminine: bool = False

    def __add__(self, other: "Phrase") -> "Phrase":
        french, english = self.french + other.french, self.english + other.english
        return Phrase(french, english, self.person, self.feminine)


class Grammar:
    """Builds sentences at random; each method makes one kind of phrase.

    Chapter: seq2seq#a-small-french-english-grammar
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def sentence(self, max_clauses: int) -> Phrase:
        phrase = self.clause()
        for _ in range(self.chance.randrange(max_clauses)):
            french, english = self.chance.choice(CONJUNCTIONS)
            words = [Word(text) for text in french]
            join = Phrase(words, [Link(english, (words[0],), tuple(words[1:]))])
            phrase = phrase + join + self.clause()
        return phrase

    def clause(self) -> Phrase:
        verb = self.verb(VERBS)
        subject = self.subject(verb, owner=True)
        clause = subject + self.verb_phrase(verb, subject.person)
        return clause + self.place() if self.happens(0.1) else clause

    def subject(self, verb: Verb, *, owner: bool = False) -> Phrase:
        if self.happens(0.5):
            return self.noun_phrase(verb.subjects, owner=owner)
        text, person, english = self.chance.choice(PRONOUNS)
        word = Word(text)
        return Phrase([word], [Link(english, (word,))], person)

    def place(self) -> Phrase:
        word = Word("dans")
        return Phrase([word], [Link("in", (word,))]) + self.noun_phrase(frozenset({PLACE}))

    # nouns

    def noun_phrase(
        self,
        kinds: frozenset[str],
        *,
        owner: bool = False,
        relative: bool = False,
        indefinite: bool = True,
    ) -> Phrase:
        """A noun with its determiner and its adjectives, perhaps an owner or a relative clause."""
        noun = self.chance.choice([noun for noun in NOUNS if noun.kind in kinds])
        plural = self.happens(0.3)
        if owner and noun.kind in OWNED and self.happens(0.1):
            return self.owned(noun, plural)
        determiners = [english for english in DETERMINERS if indefinite or english != "a"]
        phrase = self.determined(self.chance.choice(determiners), noun, plural)
        return phrase + self.relative(noun, phrase) if relative and self.happens(0.12) else phrase

    def determined(self, english: str, noun: Noun, plural: bool) -> Phrase:
        inner = self.with_adjectives(noun, plural)
        first = inner.french[0].text
        text = _determiner(english, noun, plural, first)
        if text == "des" and first != noun.plural:
            text = "de"  # "des chats noirs", but "de petits chats"
        word = Word(text)
        inner.french.insert(0, word)
        if (english, plural) != ("a", True):  # "un chat": a cat; "des chats": cats
            shown = "these" if english == "this" and plural else english
            inner.english.insert(0, Link(shown, (word,)))
        return inner

    def with_adjectives(self, noun: Noun, plural: bool) -> Phrase:
        head = Word(noun.plural if plural else noun.singular)
        french, english = [head], [Link(noun.english_plural if plural else noun.english, (head,))]
        inner = 0  # where the English of an adjective before the noun goes
        for before in (False, True):
            fits = [a for a in ADJECTIVES if a.before == before and noun.kind in a.kinds]
            if fits and self.happens(0.2):
                adjective = self.chance.choice(fits)
                word = Word(_agreed(adjective, noun, plural, french[0].text))
                french.insert(0 if before else 1, word)
                english.insert(inner, Link(adjective.english, (word,)))
                inner = int(adjective.feeling)
        return Phrase(french, english, 5 if plural else 2, noun.gender == "f")

    def owned(self, noun: Noun, plural: bool) -> Phrase:
        """ "le chat du roi", "le chat d'un ami": the noun, "de" and its owner."""
        thing, of = self.with_adjectives(noun, plural), Word("de")
        article = Word(_determiner("the", noun, plural, thing.french[0].text))
        person = self.chance.choice([noun for noun in NOUNS if noun.kind == PERSON])
        owner = self.determined(self.chance.choice(list(DETERMINERS)), person, plural=False)
        french = [article, *thing.french, of, *owner.french]
        english = [Link("the", (article,)), *thing.english, Link("of", (of,)), *owner.english]
        return Phrase(french, english, thing.person, thing.feminine)

    def relative(self, noun: Noun, head: Phrase) -> Phrase:
        """With "qui", what the noun does; with "que", what somebody does to it."""
        does = [verb for verb in VERBS if noun.kind in verb.subjects]
        if does and self.happens(0.5):
            word = Word("qui")
            join = Phrase([word], [Link("who" if noun.kind == PERSON else "that", (word,))])
            return join + self.verb_phrase(self.verb(does), head.person, nested=True)
        verb = self.verb([verb for verb in VERBS if noun.kind in verb.objects])
        who, word = self.subject(verb), Word("que")
        join = Phrase([word], [Link("that", (word,))])
        return join + who + self.verb_phrase(verb, who.person, suffers=head)

    # verbs

    def verb(self, verbs: Sequence[Verb]) -> Verb:
        return self.chance.choices(verbs, [verb.weight for verb in verbs])[0]

    def verb_phrase(
        self, verb: Verb, person: int, *, nested: bool = False, suffers: Phrase | None = None
    ) -> Phrase:
        """A verb and its object; ``suffers`` is an object that has been named before."""
        past, negation = self.happens(0.5), self.chance.choice((None, None, None, "pas", "jamais"))
        before, after = Phrase([], []), Phrase([], [])
        named = suffers
        if verb.objects and not suffers:
            if self.happens(0.4):
                before = named = self.clitic(verb, person, past)
            else:
                after = self.noun_phrase(
                    verb.objects,
                    owner=not nested,
                    relative=not nested and not verb.tail,  # "hit the king who sleeps with a pie"
                    indefinite=not negation,  # "je ne vois pas de chat" is left out
                )
        return predicate(verb, person, past, negation, before, after, named)

    def clitic(self, verb: Verb, person: int, past: bool) -> Phrase:
        """An object before the verb, in a form that leaves no doubt who is meant."""
        is_thing = not verb.objects & {PERSON, ANIMAL}
        form = AUXILIARY[person] if past else verb.present[person]
        elides_blindly = (
            not past and not is_thing and starts_with_vowel(form)
        )  # "il l'aime": him or her?
        fits = [
            clitic
            for clitic in CLITICS
            if (clitic[1] % 3 == 2 or (clitic[1] % 3 != person % 3 and not is_thing))
            and not (elides_blindly and clitic[1] == 2)
        ]
        text, number, genders, english = self.chance.choice(fits)
        word, feminine = Word(text), self.chance.choice(genders.split()) == "f"
        english = "it" if is_thing and number == 2 else english
        return Phrase([word], [Link(english, (word,))], number, feminine)


def predicate(
    verb: Verb, person: int, past: bool, negation: str | None, before: Phrase, after: Phrase,
    named: Phrase | None,
) -> Phrase:  # fmt: skip
    """The verb and its object, which French may put before it and English never does."""
    group = _verb_group(verb, person, past, negation, before.french, named)
    main = group.english[-1]
    tail = [Link(text, main.sure) for text in verb.tail]
    english = [*group.english, *before.english, *after.english, *tail]
    return Phrase(group.french + after.french, english)


def _verb_group(
    verb: Verb, person: int, past: bool, negation: str | None, clitic: list[Word],
    named: Phrase | None,
) -> Phrase:  # fmt: skip
    """The verb with its auxiliary, its negation and its clitic; in English without the object."""
    finite = Word(AUXILIARY[person] if past else verb.present[person])
    main = Word(_participle(verb, named)) if past else finite
    ne, no = (Word("ne"), Word(negation)) if negation else (None, None)
    parts = [ne, *clitic, finite, no, main if past else None]
    also = (finite,) if past else ()
    third = verb.third if person == 2 else verb.english
    form, english = verb.past if past else third, []
    if negation == "pas":
        form, do = verb.english, "did" if past else "does" if person == 2 else "do"
        english = [Link(do, also, (ne, no, main)), Link("not", (no,), (ne,))]
    elif negation:
        english = [Link("never", (no,), (ne,))]
    english += [Link(text, (main,), also) for text in (form, *verb.particle)]
    return Phrase([part for part in parts if part], english)


def _participle(verb: Verb, named: Phrase | None) -> str:
    """It agrees with an object that has been named before it: "la pomme qu'il a mangée"."""
    if named is None:
        return verb.participle
    return verb.participle + "e" * named.feminine + "s" * (named.person > 2)


def _determiner(english: str, noun: Noun, plural: bool, following: str) -> str:
    forms = DETERMINERS[english]
    return forms[4] if plural else forms[2 * (noun.gender == "f") + starts_with_vowel(following)]


def _agreed(adjective: Adjective, noun: Noun, plural: bool, following: str) -> str:
    if noun.gender == "f":
        return adjective.feminine_plural if plural else adjective.feminine
    if plural:
        return adjective.masculine_plural
    return adjective.before_vowel if starts_with_vowel(following) else adjective.masculine


def starts_with_vowel(word: str) -> bool:
    """Whether a French word makes the one before it lose its last vowel."""
    return word.startswith(VOWELS)
