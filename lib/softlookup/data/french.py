"""A small French-English grammar whose translations and word alignments are known.

Every sentence is grammatical in both languages and has exactly one translation here. The words
stand in ``french_words``, the rules in ``french_grammar``; the data card in the book says what is
covered and what is not.
"""

from typing import NamedTuple

import torch

from softlookup.checks import require, require_int
from softlookup.data.french_grammar import (
    Grammar,
    Link,
    Phrase,
    Word,
    predicate,
    starts_with_vowel,
)
from softlookup.data.french_words import VERBS

ELIDED = ("le", "la", "de", "ne", "me", "te", "je", "que")
ENGLISH_VOWELS = tuple("aeiou")
DRAWS_PER_SENTENCE = 100


class Pair(NamedTuple):
    """A French sentence, its English translation, and which word comes from which.

    Attributes:
        source: The French words; an elided word keeps its apostrophe.
        target: The English words.
        alignment: The sure links (i, j), counted from 0: English word i comes from French word j.
        possible: The sure links and those that are no error, like "not" to "ne" beside "pas".

    Chapter: seq2seq#a-small-french-english-grammar

    Example:
        >>> links = frozenset({(0, 0), (1, 1)})
        >>> Pair(("il", "dort"), ("he", "sleeps"), links, links).target
        ('he', 'sleeps')
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]


def french_english(n: int, generator: torch.Generator, *, max_clauses: int = 3) -> list[Pair]:
    """Draw pairs of sentences from the grammar, no French sentence twice.

    However the list is divided, the sentences of one part are unseen in the others.

    Args:
        n: How many pairs.
        generator: The source of chance; the same state gives the same list.
        max_clauses: How many main clauses a sentence may have, each number being as likely.
            Relative clauses come on top.

    Returns:
        ``n`` pairs with different sources, in the order they were drawn.

    Raises:
        ValueError: ``n`` is no integer of at least 0, ``max_clauses`` is none of at least 1, or
            100 n draws do not bring n different sentences.

    Chapter: seq2seq#a-small-french-english-grammar

    Example:
        >>> first = french_english(3, torch.Generator().manual_seed(1))
        >>> first == french_english(3, torch.Generator().manual_seed(1))
        True
    """
    require_int(0, n=n)
    require_int(1, max_clauses=max_clauses)
    grammar = Grammar(torch.randint(2**62, (1,), generator=generator).item())
    pairs: dict[tuple[str, ...], Pair] = {}
    draws = 0
    while len(pairs) < n:
        rule = "the grammar must have n different sentences of max_clauses or fewer"
        require(draws < DRAWS_PER_SENTENCE * n, rule, n=n, max_clauses=max_clauses)
        pair = _pair(grammar.sentence(max_clauses))
        pairs.setdefault(pair.source, pair)
        draws += 1
    return list(pairs.values())


def il_m_a_entarte() -> Pair:
    """The sentence of lecture 001 in the order of French, "il m'a entarté", by the same rules.

    Returns:
        Four French and six English words. "entarté" is all of "hit ... with a pie"; "hit" may come
        from the auxiliary too, as in the lecture's grid.

    Source: lecture 001, "Attention is great!". Chapter: seq2seq#a-small-french-english-grammar

    Example:
        >>> " ".join(il_m_a_entarte().target)
        'he hit me with a pie'
    """
    he, me, nothing = Word("il"), Word("me"), Phrase([], [])
    clitic = Phrase([me], [Link("me", (me,))], person=0)
    verb = next(verb for verb in VERBS if verb.participle == "entarté")
    hit = predicate(verb, 2, True, None, clitic, nothing, clitic)
    return _pair(Phrase([he], [Link("he", (he,))]) + hit)


def _pair(phrase: Phrase) -> Pair:
    """Words in a row: "le" elided before a vowel, "de le" drawn together, "a" made "an"."""
    texts = [word.text for word in phrase.french]
    source, place = [], {}
    for word, following in zip(phrase.french, [*texts[1:], ""], strict=True):
        elides = word.text in ELIDED and starts_with_vowel(following)
        if source[-1:] == ["de"] and word.text == "le" and not elides:
            source[-1] = "du"
        else:
            source.append(word.text[:-1] + "'" if elides else word.text)
        place[word] = len(source) - 1
    words = [link.text for link in phrase.english]
    target = [
        "an" if word == "a" and following.startswith(ENGLISH_VOWELS) else word
        for word, following in zip(words, [*words[1:], ""], strict=True)
    ]
    sure = {(i, place[w]) for i, link in enumerate(phrase.english) for w in link.sure}
    also = {(i, place[w]) for i, link in enumerate(phrase.english) for w in link.possible}
    return Pair(tuple(source), tuple(target), frozenset(sure), frozenset(sure | also))
