"""Answers to the exercises of chapter 6: right, and wrong with the words that they get."""

import math
import re
from collections import Counter
from functools import partial
from itertools import pairwise

import torch

from softlookup.exercises.byte_pairs import encode_by_rank
from softlookup.exercises.tokenization import (
    check_encode,
    check_fertility,
    check_merge,
    check_parameters,
    check_patches,
    check_rejoin,
)

RIGHT, WRONG = {}, {}


def right_rejoin(pieces):
    """Glue the pieces together."""
    text = "".join(pieces).replace("_", " ")
    return text[1:] if text.startswith(" ") else text


# One merge


def merged(chunks, counts=None, choose=None, join=None, shape=None):
    """Another right solution of the first exercise, with places to go wrong."""
    found = counts(chunks) if counts else {}
    for chunk in [] if counts else chunks:
        for i in range(len(chunk) - 1):
            pair = (chunk[i], chunk[i + 1])
            found[pair] = found.get(pair, 0) + 1
    best = choose(found) if choose else next(p for p in found if found[p] == max(found.values()))
    new = []
    for chunk in chunks:
        tokens, i = [], 0
        while i < len(chunk):
            hit = tuple(chunk[i : i + 2]) == best
            tokens.append("".join(best) if hit else chunk[i])
            i += 2 if hit else 1
        new.append(tokens)
    new = join(chunks, best) if join else new
    return shape(best, new) if shape else (best, new)


RIGHT[check_merge] = [
    (merged,),
    (lambda c: merged(c, shape=lambda b, n: [list(b), map(tuple, n)]),),
]


def glued(chunks):
    """Counts over the borders of chunks, too."""
    return Counter(pairwise([token for chunk in chunks for token in chunk]))


def in_place(chunks, pair):
    """Joins the first occurrence in each chunk only."""
    new = []
    for chunk in chunks:
        tokens = list(chunk)
        for i, found in enumerate(pairwise(chunk)):
            if found == pair:
                tokens[i : i + 2] = ["".join(pair)]
                break
        new.append(tokens)
    return new


def overlapping(chunks, pair):
    """Joins at each place of the old chunk, so that one token serves twice."""
    new = []
    for chunk in chunks:
        hits = [i for i, found in enumerate(pairwise(chunk)) if found == pair]
        tokens = ["".join(pair) if i in hits else token for i, token in enumerate(chunk)
                  if i in hits or i - 1 not in hits]  # fmt: skip
        new.append(tokens)
    return new


WRONG_MERGES = {
    "the last of equals": (
        {"choose": lambda f: [p for p in f if f[p] == max(f.values())][-1]},
        "of equals, take the first",
    ),
    "the smallest of equals": (
        {"choose": lambda f: min(f, key=lambda p: (-f[p], p))},
        "of equals, take the first",
    ),
    "the rarest": ({"choose": lambda f: min(f, key=f.get)}, "('e', 'n') occurs 4 times"),
    "across chunks": ({"counts": glued}, "count pairs within a chunk"),
    "nothing joined": ({"join": lambda c, p: c}, "chunks are as they were"),
    "the first place only": ({"join": in_place}, "join every occurrence"),
    "a token used twice": ({"join": overlapping}, "Letters got lost or doubled"),
    "one chunk lost": ({"join": lambda c, p: merged(c)[1][:-1]}, "There are 10 chunks"),
    "no chunks": ({"join": lambda c, p: 3}, "should be a list of lists"),
    "the pair alone": ({"shape": lambda b, n: b[0]}, "Return two things"),
    "the token for the pair": ({"shape": lambda b, n: ("".join(b), n)}, "be two tokens"),
    "joined by a space": (
        {"join": lambda c, p: [[t.replace("en", "e n") for t in x] for x in merged(c)[1]]},
        "Letters got lost or doubled",
    ),
}


WRONG[check_merge] = {
    name: (partial(merged, **changes), message) for name, (changes, message) in WRONG_MERGES.items()
}


# Back to the text

LOSSES = {"broken": "hello", "missing": ["😁", "'", " ", " "]}
OTHER_LISTS = ["  '😁", (" ", "😁", " ", "'"), {" ": 2, "'": 1, "😁": 1}, Counter("' 😁 ")]


def by_substitution(pieces):
    return re.sub("^ ", "", re.sub("_", " ", "".join(pieces)))


RIGHT[check_rejoin] = [(right_rejoin, LOSSES)]
RIGHT[check_rejoin] += [
    (by_substitution, {"broken": "hello", "missing": missing}) for missing in OTHER_LISTS
]


WRONG[check_rejoin] = [
    (function, LOSSES, message)
    for function, message in [
        (lambda p: "".join(p).replace("_", " "), "that one falls away"),
        (lambda p: " ".join(p).replace("_", ""), "Only _ is a space"),
        (lambda p: "".join(p).replace("_", " ").strip(), "with all its spaces"),
        (lambda p: "".join(p).replace("_", " ").lstrip(), "with all its spaces"),
        (lambda p: "".join(p), "yours is '_The"),
        (lambda p: "".join(p).replace("_", " ")[1:], "yours is ' b'"),
        (lambda p: list(p), "Return a string; you returned a list"),
    ]
]


WRONG[check_rejoin] += [
    (right_rejoin, answer, message)
    for answer, message in [
        ({"broken": "gradient", "missing": []}, "comes back"),
        ({"broken": "hello", "missing": [" ", "'", "😁"]}, "another number of times than 1"),
        ({"broken": "hello", "missing": [" ", " ", "'"]}, "another number of times than 0"),
        ({"broken": "hello", "missing": [" ", " ", "'", "😁", "?"]}, "'?' is not missing"),
        ({"broken": "hello", "missing": [" ", " ", "’", "😁"]}, "'’' is not missing"),
        ({"broken": "hello", "missing": {" ", "'", "😁"}}, "A set cannot say how often"),
        ({"broken": "hello", "missing": 4}, "a list of characters"),
        ({"broken": "hello", "missing": [...]}, "Nothing to check so far"),
        ({"broken": ..., "missing": []}, "Nothing to check so far"),
        ({"broken": "hello"}, "the keys"),
        ("hello", "dictionary"),
    ]
]


# Numbers


RIGHT[check_fertility] = [
    (lambda p: len(p) / "".join(p).count("_"),),
    (lambda p: torch.tensor(len(p)) / len("".join(p).split("_")[1:]),),
]


WRONG[check_fertility] = [
    (lambda p: "".join(p).count("_") / len(p), "turn the fraction over"),
    (lambda p: round(len(p) / "".join(p).count("_"), 3), "Do not round"),
    (lambda p: len(p), "is the number of tokens"),
    (lambda p: len(p) // "".join(p).count("_"), "14 tokens and 9 words"),
    (lambda p: len("".join(p)) / "".join(p).count("_"), "14 tokens and 9 words"),
    (lambda p: "14/9", "should be a number"),
    (lambda p: 14 / 9, "1 tokens and 1 words"),
    (lambda p: math.nan, "14 tokens and 9 words"),
]


RIGHT[check_parameters] = [
    ({"three of words": words, "one of sub-words": 18_944_000},)
    for words in [1_536_000_000, 1.536e9, torch.tensor(1_536_000_000)]
]


WRONG[check_parameters] = [
    ({"three of words": words, "one of sub-words": subwords}, message)
    for words, subwords, message in [
        (512_000_000, 18_944_000, "there are three"),
        (3_000_000, 18_944_000, "These are the rows"),
        (1.5e9, 18_944_000, "That is rounded"),
        (1_536_000, 18_944_000, "not 1,536,000"),
        (1_536_000_000, 37_000, "These are the rows"),
        (1_536_000_000, 3 * 18_944_000, "count it once"),
        (1_536_000_000, 19_000_000, "not 19,000,000"),
        (1_536_000_000, math.nan, "37,000 rows"),
        ("many", 18_944_000, "should be a number"),
        (1_536_000_000, ..., "Nothing to check so far"),
    ]
]
WRONG[check_parameters] += [({"words": 1}, "the keys")]


def patches(tokens=None, numbers=None, side=14):
    """The right answer with one number changed."""
    answer = {P: {"tokens": (448 // P) ** 2, "numbers": 3 * P**2} for P in (14, 28)}
    answer[side] |= {} if tokens is None else {"tokens": tokens}
    answer[side] |= {} if numbers is None else {"numbers": numbers}
    return answer


RIGHT[check_patches] = [
    (patches(),),
    (patches(tokens=torch.tensor(1024), numbers=588.0),),
]


WRONG[check_patches] = [
    (patches(tokens=32), "32 patches fit side by side"),
    (patches(tokens=448 * 448), "These are the pixels"),
    (patches(tokens=3072), "all three colours"),
    (patches(tokens=256), "With patches of 14, 256 tokens is not right"),
    (patches(numbers=196), "each has three colours"),
    (patches(numbers=14), "14 pixels wide"),
    (patches(numbers=600), "600 numbers is not right"),
    (patches(tokens=512, side=28), "With patches of 28, 512 tokens"),
    (patches(numbers=1176, side=28), "With patches of 28, 1,176 numbers"),
    (patches(numbers=math.nan), "not right"),
    (patches(tokens="all"), "should be a number"),
    (patches(tokens=...), "Nothing to check so far"),
    ({14: {"tokens": 1024, "numbers": 588}}, "the keys 14, 28"),
    ({14: 1024, 28: 256}, "the keys 'tokens', 'numbers'"),
]


# Encode by rank


def by_rank(chunk, merges):
    """Another right solution of the last exercise: with ranks, and by indices."""
    ranks = {pair: k for k, pair in enumerate(merges)}
    tokens = list(chunk)
    while len(tokens) > 1:
        i = min(range(len(tokens) - 1), key=lambda i: ranks.get(tuple(tokens[i : i + 2]), math.inf))
        if tuple(tokens[i : i + 2]) not in ranks:
            break
        tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
    return tuple(tokens)


def as_found(chunk, merges):
    """Joins the first pair that has a merge."""
    tokens, i = list(chunk), 0
    while i < len(tokens) - 1:
        if (tokens[i], tokens[i + 1]) in merges:
            tokens[i : i + 2], i = [tokens[i] + tokens[i + 1]], -1
        i += 1
    return tokens


def one_walk(chunk, merges):
    """Walks once, joining on the way."""
    tokens = []
    for character in chunk:
        tokens.append(character)
        while len(tokens) > 1 and (tokens[-2], tokens[-1]) in merges:
            tokens[-2:] = [tokens[-2] + tokens[-1]]
    return tokens


def from_the_right(chunk, merges):
    """Joins each merge's places from right to left: aaa becomes a, aa."""
    tokens = list(chunk)
    for pair in merges:
        i = len(tokens) - 2
        while i >= 0:
            if tuple(tokens[i : i + 2]) == pair:
                tokens[i : i + 2] = ["".join(pair)]
                i -= 1
            i -= 1
    return tokens


def longest(chunk, merges):
    """The longest known token from the left."""
    known = {a + b for a, b in merges} | set(chunk)
    tokens = []
    while chunk:
        size = max(n for n in range(1, len(chunk) + 1) if chunk[:n] in known)
        tokens.append(chunk[:size])
        chunk = chunk[size:]
    return tokens


def once_each(chunk, merges):
    """Joins each merge at one place only."""
    tokens = list(chunk)
    for pair in merges:
        for i in range(len(tokens) - 1):
            if tuple(tokens[i : i + 2]) == pair:
                tokens[i : i + 2] = ["".join(pair)]
                break
    return tokens


def backwards(chunk, merges):
    """Goes once through the merges, from the last one."""
    for pair in reversed(merges):
        chunk = merged([list(chunk)], choose=lambda found, pair=pair: pair)[1][0]
    return list(chunk)


RIGHT[check_encode] = [
    (by_rank,),
    (encode_by_rank,),
]


WRONG[check_encode] = [
    (as_found, "The earliest merge goes first"),
    (one_walk, "' the' becomes [' the']"),
    (from_the_right, "from left to right?"),
    (longest, "as WordPiece does"),
    (once_each, "at all its places"),
    (lambda c, m: by_rank(c, m[::-1]), "Is the earliest merge first"),
    (lambda c, m: encode_by_rank(c, m[::-1]), "from the last learned to the first"),
    (backwards, "from the last learned to the first"),
    (lambda c, m: list(c), "Nothing was joined"),
    (lambda c, m: [c], "yours is"),
    (lambda c, m: by_rank(c, m)[:1], "do not join to the chunk"),
    (lambda c, m: "".join(by_rank(c, m)), "you returned the string"),
    (lambda c, m: 3, "Return a list of tokens; you returned 3"),
]
