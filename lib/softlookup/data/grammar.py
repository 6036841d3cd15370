"""The planted grammar: English-like sentences whose meanings are known, because we made them.

A frame is a handful of sentence patterns. In a pattern, ``a/b`` is one of two words by the toss of
a coin, and ``{slot}`` is filled from one row of the frame's table. What word2vec should find is
thereby planted: words of one slot mean the same, a table of two roles makes analogies, and a word
that two frames use has two senses.
"""

from dataclasses import dataclass
from itertools import permutations

import torch

from softlookup.checks import require_int

GRAMMAR_SYNONYMS = (
    ("big", "large"),
    ("little", "small"),
    ("glad", "happy"),
    ("fast", "quick"),
    ("begins", "starts"),
    ("doctor", "physician"),
)
"""Pairs of words that stand in the same places equally often."""

GENDERS = (
    ("man", "woman"), ("king", "queen"), ("prince", "princess"), ("boy", "girl"),
    ("father", "mother"),
)  # fmt: skip
CAPITALS = (
    ("greece", "athens"), ("germany", "berlin"), ("france", "paris"), ("italy", "rome"),
    ("egypt", "cairo"),
)  # fmt: skip
PLURALS = (
    ("mouse", "mice"), ("dollar", "dollars"), ("cat", "cats"), ("dog", "dogs"),
    ("horse", "horses"),
)  # fmt: skip


def _quadruples(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str, str, str], ...]:
    return tuple((*first, *second) for first, second in permutations(pairs, 2))


GRAMMAR_ANALOGIES = {
    "gender": _quadruples(GENDERS),
    "capital": _quadruples(CAPITALS),
    "plural": _quadruples(PLURALS),
}
"""For each relation, its quadruples (a, b, c, d): a is to b as c is to d."""

GRAMMAR_SENSES = {"bank": ("money", "river"), "light": ("lamp", "weight")}
"""The words of two senses, and the names of the senses."""


@dataclass(frozen=True)
class SenseExample:
    """A sentence around a word of two senses, and the sense that it has there.

    Attributes:
        tokens: The words of the sentence.
        position: Where the word stands: ``tokens[position]``.
        word: One of ``GRAMMAR_SENSES``.
        sense: One of ``GRAMMAR_SENSES[word]``.

    Chapter: data_card#the-planted-grammar

    Example:
        >>> SenseExample(["the", "bank", "gives", "interest"], 1, "bank", "money").sense
        'money'
    """

    tokens: list[str]
    position: int
    word: str
    sense: str


@dataclass(frozen=True)
class _Frame:
    """Patterns, the table their slots are filled from, and the sense they give to a word."""

    patterns: tuple[str, ...]
    rows: tuple[dict[str, str], ...] = ({},)
    sense: tuple[str, str] | None = None


_PEOPLE = _Frame(
    patterns=(
        "the {person} lost {his} {thing} in the {place}",
        "the {person} took the {thing} to the {place}",
        "the {person} left the {place} with the {thing}",
        "we saw the {person} of the {place} with the {thing}",
    ),
    rows=tuple(
        {"person": person, "his": his, "thing": thing, "place": place}
        for pair, thing, place in zip(
            GENDERS,
            ("coat", "crown", "sword", "ball", "children"),
            ("office", "palace", "castle", "school", "garden"),
            strict=True,
        )
        for person, his in zip(pair, ("his", "her"), strict=True)
    ),
)
_GOODS = ("olives", "potatoes", "grapes", "tomatoes", "dates")
_COUNTRIES = _Frame(
    patterns=(
        "the army of {country} crossed the sea with {goods}",
        "the farmers of {country} love {goods}",
        "a train from {country} carries {goods}",
        "we love the {goods} of {country}",
    ),
    rows=tuple(
        {"country": country, "goods": goods}
        for (country, _), goods in zip(CAPITALS, _GOODS, strict=True)
    ),
)
_CITIES = _Frame(
    patterns=(
        "the streets of {city} smell of {goods}",
        "tourists in {city} love {goods}",
        "a train from {city} carries {goods}",
        "we love the {goods} of {city}",
    ),
    rows=tuple(
        {"city": city, "goods": goods} for (_, city), goods in zip(CAPITALS, _GOODS, strict=True)
    ),
)
_NUMBERS = _Frame(
    patterns=(
        "{this} {noun} {was} near the {thing}",
        "we saw the {noun} near the {thing}",
        "we took the {noun} and the {thing}",
        "we love the {noun} with the {thing}",
    ),
    rows=tuple(
        {"noun": noun, "this": this, "was": was, "thing": thing}
        for pair, thing in zip(PLURALS, ("cheese", "purse", "milk", "bone", "hay"), strict=True)
        for noun, this, was in zip(pair, ("this", "these"), ("was", "were"), strict=True)
    ),
)
_SYNONYMS = (
    _Frame(
        (
            "a big/large ship crossed the sea",
            "the big/large mountain is near the sea",
            "a big/large ship passed the mountain",
        )
    ),
    _Frame(
        (
            "a little/small flower grows near the tree",
            "the little/small tree grows in the garden",
            "the little/small flower is near a tree",
        )
    ),
    _Frame(
        (
            "the children are glad/happy about the news",
            "we are glad/happy about the news",
            "we were glad/happy about that news",
        )
    ),
    _Frame(
        (
            "the fast/quick train passed the station",
            "the fast/quick runner left the station",
            "a fast/quick runner passed the train",
        )
    ),
    _Frame(
        (
            "the concert begins/starts at noon",
            "a lesson begins/starts at noon",
            "the lesson begins/starts with a concert",
        )
    ),
    _Frame(
        (
            "the doctor/physician gives the patient medicine",
            "a patient took the medicine of the doctor/physician",
            "the doctor/physician saw the patient",
        )
    ),
)
_SENSES = (
    _Frame(
        (
            "the bank gives interest on the money",
            "the bank gives a loan with interest",
            "a loan from the bank is money",
        ),
        sense=("bank", "money"),
    ),
    _Frame(
        (
            "the tree grows on the bank of the river",
            "we saw the water of the river from the bank",
            "a boat on the water left the bank",
        ),
        sense=("bank", "river"),
    ),
    _Frame(
        (
            "turn off the light in the room",
            "the lamp in the room gives light",
            "we saw the light of the lamp",
        ),
        sense=("light", "lamp"),
    ),
    _Frame(
        (
            "the bag is as light as a feather",
            "we carry a light bag with a feather",
            "the feather is light and we carry the bag",
        ),
        sense=("light", "weight"),
    ),
)
_FRAMES = (_PEOPLE, _PEOPLE, _COUNTRIES, _CITIES, _NUMBERS, _NUMBERS, *_SYNONYMS, *_SENSES)
"""One of these is drawn for each sentence; the tables with many rows stand twice."""


def planted_sentences(n: int, generator: torch.Generator) -> list[list[str]]:
    """Sentences of the planted grammar, each drawn independently of the others.

    Args:
        n: How many sentences.
        generator: The only source of chance: the same seed gives the same sentences, and fewer
            sentences are the beginning of more.

    Returns:
        The words of each sentence, 5 to 10 of them.

    Raises:
        ValueError: ``n`` is no integer of at least 0.

    Chapter: data_card#the-planted-grammar

    Example:
        >>> " ".join(planted_sentences(1, torch.Generator().manual_seed(5))[0])
        'a train from paris carries grapes'
    """
    require_int(0, n=n)
    return [_sentence(_choose(_FRAMES, generator), generator) for _ in range(n)]


def planted_senses(n: int, generator: torch.Generator) -> list[SenseExample]:
    """Sentences around the words of two senses, each with the sense that is meant.

    Args:
        n: How many sentences; all senses of all words are equally likely.
        generator: The only source of chance.

    Returns:
        One example for each sentence. ``planted_sentences`` draws these sentences too, without
        their senses.

    Raises:
        ValueError: ``n`` is no integer of at least 0.

    Chapter: data_card#the-planted-grammar

    Example:
        >>> example = planted_senses(1, torch.Generator().manual_seed(5))[0]
        >>> " ".join(example.tokens), example.word, example.sense
        ('the bag is as light as a feather', 'light', 'weight')
    """
    require_int(0, n=n)
    examples = []
    for _ in range(n):
        frame = _choose(_SENSES, generator)
        tokens, (word, sense) = _sentence(frame, generator), frame.sense
        examples.append(SenseExample(tokens, tokens.index(word), word, sense))
    return examples


def planted_words() -> list[str]:
    """Every word that the grammar can say, in alphabetical order.

    Returns:
        Distinct words.

    Chapter: data_card#the-planted-grammar

    Example:
        >>> words = planted_words()
        >>> len(words), "queen" in words
        (129, True)
    """
    filled = [
        pattern.format(**row)
        for frame in _FRAMES
        for pattern in frame.patterns
        for row in frame.rows
    ]
    return sorted({word for text in filled for word in text.replace("/", " ").split()})


def _sentence(frame: _Frame, generator: torch.Generator) -> list[str]:
    pattern = _choose(frame.patterns, generator).format(**_choose(frame.rows, generator))
    return [_choose(tuple(token.split("/")), generator) for token in pattern.split()]


def _choose(options: tuple, generator: torch.Generator) -> object:
    if len(options) == 1:
        return options[0]
    return options[int(torch.randint(len(options), (), generator=generator))]
