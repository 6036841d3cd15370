"""Planted agreement: the verb has the number of a noun that stands some phrases before it.

*the dogs near the tree by the old bridge sleep*: between subject and verb stand phrases whose
nouns have a number of their own, by the toss of a coin. Only the subject tells the verb.
"""

from typing import NamedTuple

import torch

from softlookup.checks import require_int

SUBJECTS = (
    ("dog", "dogs"), ("cat", "cats"), ("boy", "boys"), ("girl", "girls"), ("king", "kings"),
    ("singer", "singers"),
)  # fmt: skip
PHRASE_NOUNS = (
    ("tree", "trees"), ("river", "rivers"), ("house", "houses"), ("bridge", "bridges"),
)  # fmt: skip
PREPOSITIONS = ("near", "behind")
AGREEMENT_VERBS = (("sleeps", "sleep"), ("waits", "wait"), ("sings", "sing"))
"""Each verb as it stands with one, and with many."""


class AgreementSentence(NamedTuple):
    """A sentence whose verb agrees with its subject.

    Attributes:
        tokens: The words; the verb is the last.
        verb: Its right form.
        wrong: The form for the other number.

    Chapter: data_card#planted-agreement

    Example:
        >>> AgreementSentence(["the", "dogs", "wait"], "wait", "waits").tokens[-1]
        'wait'
    """

    tokens: list[str]
    verb: str
    wrong: str


def agreement_sentences(
    n: int, n_phrases: int, generator: torch.Generator
) -> list[AgreementSentence]:
    """Sentences of the form *the SUBJECT (near the NOUN) ... VERB*.

    The subject is 3 · ``n_phrases`` + 1 words before the verb, so an n-gram sees it if n is at
    least 3 · ``n_phrases`` + 2. Every choice is made by chance, all words alike; a noun within a
    phrase tells nothing of the subject.

    Args:
        n: How many sentences.
        n_phrases: How many phrases stand between subject and verb.
        generator: The source of chance.

    Returns:
        The sentences; they may repeat.

    Raises:
        ValueError: ``n`` or ``n_phrases`` is no integer of at least 0.

    Source: Linzen et al. 2016, section 2. Chapter: data_card#planted-agreement

    Example:
        >>> generator = torch.Generator().manual_seed(1)
        >>> sentence = agreement_sentences(1, 1, generator)[0]
        >>> len(sentence.tokens), sentence.tokens[-1] == sentence.verb
        (6, True)
    """
    require_int(0, n=n, n_phrases=n_phrases)
    return [_sentence(n_phrases, generator) for _ in range(n)]


def _sentence(n_phrases: int, generator: torch.Generator) -> AgreementSentence:
    def pick(options: tuple) -> object:
        return options[torch.randint(len(options), (), generator=generator).item()]

    number = pick((0, 1))
    tokens = ["the", pick(SUBJECTS)[number]]
    for _ in range(n_phrases):
        tokens += [pick(PREPOSITIONS), "the", pick(pick(PHRASE_NOUNS))]
    verb = pick(AGREEMENT_VERBS)
    return AgreementSentence([*tokens, verb[number]], verb[number], verb[1 - number])
