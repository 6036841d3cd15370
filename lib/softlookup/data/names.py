"""Planted news: short sentences with people, places and organisations, and where they stand.

A pattern is filled slot by slot, so the spans are known because we made them. Eight words name a
person in one sentence and a place in another. Half of the names are "seen", the others "unseen":
labelled text can be drawn with one half and tested with the other.
"""

from dataclasses import dataclass

import torch

from softlookup.checks import require_choice, require_int

NAME_PARTS = ("all", "seen", "unseen")
"""Which names ``tagged_sentences`` may use."""

PERSON_OR_PLACE = ("Jordan", "Florence", "Austin", "Georgia", "Sydney", "Chelsea", "Victoria",
                   "Lincoln")  # fmt: skip
"""Words that are first names and places: seen and unseen by turns, as in every list here."""

_FIRST = ("Mina", "Jonas", "Leila", "Tomas", "Aisha", "Pavel", "Ingrid", "Samir", "Chiara", "Kenji",
          "Amara", "Lukas", "Noor", "Diego", "Freya", "Wei", *PERSON_OR_PLACE)  # fmt: skip
_LAST = ("Karimi", "Weber", "Okafor", "Lindqvist", "Tanaka", "Moreau", "Haddad", "Novak", "Rossi",
         "Mensah", "Petrov", "Silva")  # fmt: skip
_PLACES = ("Lund", "Shiraz", "Turin", "Kyoto", "Accra", "Lyon", "Porto", "Tromso", "Quito", "Izmir",
           "Graz", "Dakar", "Cork", "Hanoi", *PERSON_OR_PLACE)  # fmt: skip
_FIRMS = ("Norvik", "Helion", "Quanta", "Brightwell", "Tessera", "Oakline", "Zephyr", "Calderon",
          "Lumina", "Ferrox")  # fmt: skip
_KINDS = ("Motors", "Labs", "Bank", "Foods")

_PERSONS = ("{first}", "{first} {last}", "{last}")
_ORGANISATIONS = ("{firm}", "{firm} {kind}", "University of {town}")
_PATTERNS = (
    "[PERSON] works for [ORG]",
    "[PERSON] lives in [PLACE]",
    "[PERSON] left [ORG] last year",
    "[PERSON] left [PLACE] last year",
    "[ORG] hired [PERSON] in May",
    "[ORG] opened an office in [PLACE]",
    "[PERSON] flew to [PLACE]",
    "[PERSON] flew to [PLACE] with [PERSON]",
    "in [PLACE] it rained when [PERSON] arrived",
    "the director of [ORG] met [PERSON]",
    "the mayor of [PLACE] praised [ORG]",
    "[PERSON] told [PERSON] about [PLACE]",
    "shares of [ORG] fell after [PERSON] spoke",
    "a train from [PLACE] to [PLACE] was late",
    "[PERSON] and [PERSON] studied at [ORG]",
    "the streets of [PLACE] were empty",
    "there was no rain in the valley last year",
    "the director spoke about the office",
    "it was late when the train arrived",
)


@dataclass(frozen=True)
class TaggedSentence:
    """A sentence and the names in it.

    Attributes:
        tokens: The words.
        spans: (start, end, label) for each name, in order; the label is PERSON, PLACE or ORG.

    Chapter: data_card#the-planted-names

    Example:
        >>> TaggedSentence(["Mina", "left"], [(0, 1, "PERSON")]).spans
        [(0, 1, 'PERSON')]
    """

    tokens: list[str]
    spans: list[tuple[int, int, str]]


def tagged_sentences(
    n: int, generator: torch.Generator, *, names: str = "all"
) -> list[TaggedSentence]:
    """Sentences with their names marked, each drawn independently of the others.

    Args:
        n: How many sentences.
        generator: The only source of chance: the same seed gives the same sentences.
        names: "all" names, or only the "seen" or only the "unseen" half of each list.

    Returns:
        One ``TaggedSentence`` each; some hold no name.

    Raises:
        ValueError: ``n`` is no integer of at least 0, or ``names`` is unknown.

    Chapter: data_card#the-planted-names

    Example:
        >>> sentence = tagged_sentences(1, torch.Generator().manual_seed(158))[0]
        >>> " ".join(sentence.tokens), sentence.spans
        ('Jordan flew to Chelsea', [(0, 1, 'PERSON'), (3, 4, 'PLACE')])
    """
    require_int(0, n=n)
    require_choice(NAME_PARTS, names=names)
    lists = {"first": _FIRST, "last": _LAST, "place": _PLACES, "firm": _FIRMS, "town": _PLACES}
    start, step = {"all": (0, 1), "seen": (0, 2), "unseen": (1, 2)}[names]
    lists = {slot: words[start::step] for slot, words in lists.items()} | {"kind": _KINDS}
    return [_sentence(lists, generator) for _ in range(n)]


def _sentence(lists: dict[str, tuple[str, ...]], generator: torch.Generator) -> TaggedSentence:
    tokens, spans = [], []
    for word in _choose(_PATTERNS, generator).split():
        start = len(tokens)
        if not word.startswith("["):
            tokens.append(word)
            continue
        label = word.strip("[]")
        forms = {"PERSON": _PERSONS, "ORG": _ORGANISATIONS, "PLACE": ("{place}",)}[label]
        form = _choose(forms, generator)
        for part in form.split():
            is_slot = part.startswith("{")
            tokens.append(_choose(lists[part.strip("{}")], generator) if is_slot else part)
        spans.append((start, len(tokens), label))
    return TaggedSentence(tokens, spans)


def _choose(options: tuple[str, ...], generator: torch.Generator) -> str:
    return options[int(torch.randint(len(options), (), generator=generator))]
