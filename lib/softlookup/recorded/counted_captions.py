"""Counted vectors of 29,000 captions: neighbours in English, and a rotation onto German.

Each language of Multi30k gets vectors by counting alone: company, PPMI, the first directions of
its singular value decomposition. Neither table knows of the other. Then a dictionary of word pairs
teaches one rotation, and words that were no part of it are translated by it: their vectors are
turned, and the nearest German word is the answer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from softlookup.ops import unit_vectors
from softlookup.recorded.captions import parallel_captions
from softlookup.recorded.word2vec_captions import SHOWN
from softlookup.words import (
    cooccurrence_matrix,
    nearest,
    positive_pmi,
    procrustes,
    top_words,
    word_tokens,
)

DATA = ("multi30k",)
SEED = 0
SIZES = (100, 200, 350)
"""How many pairs of the dictionary teach the rotation: no fewer than it has directions."""

SMALL_TEXTS = {
    "en": """a brown dog runs in the snow
two dogs play in the deep snow
the dog runs after a red ball
a cat sleeps on the kitchen table
the chef cuts meat in a kitchen
a man in a red shirt cuts meat
two men play ball in the street
a man runs down the street
a woman eats soup in the kitchen
the woman and the dog sleep""",
    "de": """ein brauner hund rennt im schnee
zwei hunde spielen im tiefen schnee
der hund rennt einem roten ball nach
eine katze schläft auf dem küchentisch
der koch schneidet fleisch in einer küche
ein mann in einem roten hemd schneidet fleisch
zwei männer spielen ball auf der straße
ein mann rennt die straße hinunter
eine frau isst suppe in der küche
die frau und der hund schlafen""",
}


def load() -> dict[str, list[str]] | None:
    """The captions in English and German, or None after a printed line that says why."""
    parts = parallel_captions(["train"], ["en", "de"])
    return parts and parts["train"]


def run_small() -> dict:
    """The same on ten captions of our own, with their translations.

    Nothing in it is decided by a last digit: of so few captions rarer words keep the same company,
    and their vectors tie; fewer pairs than directions leave the rotation open.
    """
    texts = {language: text.split("\n") for language, text in SMALL_TEXTS.items()}
    return run(texts, n_words=17, d=4, shown=("dog", "kitchen"), sizes=(4, 6), least=2)


def run(
    captions: Mapping[str, Sequence[str]],
    *,
    languages: Sequence[str] = ("en", "de"),
    n_words: int = 2000,
    d: int = 100,
    window: int = 5,
    shown: Sequence[str] = SHOWN,
    sizes: Sequence[int] = SIZES,
    least: int = 10,
) -> dict:
    """Count vectors for each language; then learn to turn the one space onto the other.

    Args:
        captions: The texts of each language, a sentence a line; line i says the same in both.
        languages: Which to read; English alone gives the neighbours alone.
        n_words: How many words of each language get a vector, the most frequent.
        d: The length of the vectors.
        window: How far company reaches.
        shown: The words whose neighbours are kept.
        sizes: How many pairs of words teach the rotation.
        least: In how many captions both words of a pair must stand.

    Returns:
        The sizes of the texts, neighbours, and how many of the words that are no part of the
        dictionary find their translation first, or among the first five: before the rotation,
        after it, and after one that was learned from shuffled pairs.
    """
    texts = {name: [word_tokens(line) for line in captions[name]] for name in languages}
    words = {name: top_words(texts[name], n_words) for name in languages}
    tables = {name: counted_vectors(texts[name], words[name], d, window) for name in languages}
    neighbours = {}
    for word in shown:
        place = words["en"].index(word)
        ids = nearest(tables["en"][place], tables["en"], 5, exclude=[place])[1]
        neighbours[word] = [words["en"][i] for i in ids.tolist()]
    found = {"captions": len(captions["en"]), "words": n_words, "d": d, "neighbours": neighbours}
    if "de" not in languages:
        return found
    pairs = dictionary(texts, words, least)
    generator = torch.Generator().manual_seed(SEED)
    pairs = pairs[torch.randperm(len(pairs), generator=generator)]
    known, new = pairs[: sizes[-1]], pairs[sizes[-1] :]
    asked, answers = (unit_vectors(tables[name]) for name in ("en", "de"))
    rows = {"before": translated(asked, answers, new)}
    for size in sizes:
        x, y = asked[known[:size, 0]], answers[known[:size, 1]]
        shuffled = y[torch.randperm(size, generator=generator)]
        rotation = procrustes(x, y)
        rows[str(size)] = translated(asked @ rotation, answers, new)
        rows[f"{size}, shuffled"] = translated(asked @ procrustes(x, shuffled), answers, new)
    first = nearest((asked @ rotation)[new[:12, 0]], answers, 3)[1]
    examples = [
        [words["en"][i], words["de"][j], [words["de"][k] for k in row]]
        for (i, j), row in zip(new[:12].tolist(), first.tolist(), strict=True)
    ]
    found["dictionary"] = {"learned_from_at_most": len(known), "tested": len(new)}
    return found | {"translated": rows, "examples": examples}


def counted_vectors(
    texts: Sequence[Sequence[str]], words: list[str], d: int, window: int
) -> Tensor:
    """A row of d numbers for each word: PPMI, then the first d directions of its SVD."""
    portraits = positive_pmi(cooccurrence_matrix(texts, words, window))
    U, sizes, _ = torch.linalg.svd(portraits)
    return U[:, :d] * sizes[:d].sqrt()


def dictionary(
    texts: Mapping[str, Sequence[Sequence[str]]], words: Mapping[str, list[str]], least: int
) -> Tensor:
    """Pairs of words, English and German, that choose each other by Dice's coefficient.

    Dice's coefficient of two words is twice the number of captions in which both stand, divided by
    the sum of the numbers in which each stands. A pair counts if neither word has a better partner,
    and if the two are not spelled alike.
    """
    row, column = ({word: i for i, word in enumerate(words[name])} for name in ("en", "de"))
    both = torch.zeros(len(row), len(column), dtype=torch.float64)
    n_english, n_german = Counter(), Counter()
    for english, german in zip(texts["en"], texts["de"], strict=True):
        rows = sorted(row[word] for word in set(english) if word in row)
        columns = sorted(column[word] for word in set(german) if word in column)
        both[torch.tensor(rows).long()[:, None], torch.tensor(columns).long()] += 1
        n_english.update(rows)
        n_german.update(columns)
    in_english = torch.tensor([n_english[i] for i in range(len(row))])
    in_german = torch.tensor([n_german[j] for j in range(len(column))])
    dice = 2 * both / (in_english[:, None] + in_german)
    partner, back = dice.argmax(dim=1).tolist(), dice.argmax(dim=0).tolist()
    found = []
    for i, j in enumerate(partner):
        apart = words["en"][i] != words["de"][j]
        if back[j] == i and both[i, j] >= least and dice[i, j] > 0.5 and apart:
            found.append((i, j))
    return torch.tensor(found)


def translated(asked: Tensor, answers: Tensor, pairs: Tensor) -> list[float]:
    """The share of pairs whose German word is the first answer, and among the first five."""
    ids = nearest(asked[pairs[:, 0]], answers, min(5, len(answers)))[1]
    right = ids == pairs[:, 1:]
    shares = right[:, 0].double().mean(), right.any(dim=1).double().mean()
    return [round(share.item(), 2) for share in shares]
