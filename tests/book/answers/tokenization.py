"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import math
from collections import Counter
from functools import partial
from itertools import pairwise

import torch

from softlookup.exercises.byte_pairs import (
    byte_pair_pieces,
    check_merge,
    check_pieces,
    fewest_tokens,
)
from softlookup.exercises.tokenization import (
    begins,
    check_fertility,
    check_next_character,
    check_share,
    check_ways,
    cut_probabilities,
    next_character,
)

RIGHT, WRONG = {}, {}


# Fertility

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
    (lambda p: "14/9", "The fertility"),
    (lambda p: 14 / 9, "1 tokens and 1 words"),
    (lambda p: math.nan, "The fertility"),
]


# What tables cost

RIGHT[check_share] = [
    (lambda v, d, n, tied: (2 - bool(tied)) * v * d / n,),
    (lambda v, d, n, tied: torch.tensor(v * d / n * (1 if tied else 2)).double(),),
]


WRONG[check_share] = [
    (lambda v, d, n, tied: v * d / n, "For Llama 3 8B yours is 0.0654196. Without tying"),
    (lambda v, d, n, tied: 2 * v * d / n, "With tying one table"),
    (lambda v, d, n, tied: (1 + tied) * v * d / n, "With tying one table"),
    (lambda v, d, n, tied: 100 * v * d / n, "per cent"),
    (lambda v, d, n, tied: n / (v * d), "Turn the fraction over"),
    (lambda v, d, n, tied: v * d, "how many parameters the tables have"),
    (lambda v, d, n, tied: v / n, "For GPT-2, small yours is 0.000403866."),
    (lambda v, d, n, tied: "a third", "The share"),
]


# One merge, with counts


def merged(counts, often=None, choose=None, join=None, count=None, shape=None):
    """Another right solution, with places to go wrong."""
    found = {}
    for chunk, n in counts.items():
        for i in range(len(chunk) - 1):
            pair = chunk[i], chunk[i + 1]
            found[pair] = found.get(pair, 0) + (often(n) if often else n)
    best = choose(found) if choose else next(p for p in found if found[p] == max(found.values()))
    new = {}
    for chunk, n in counts.items():
        tokens, i = [], 0
        while i < len(chunk):
            hit = chunk[i : i + 2] == best
            tokens.append("".join(best) if hit else chunk[i])
            i += 2 if hit else 1
        new[tuple(join(chunk, best) if join else tokens)] = count(n) if count else n
    return shape(best, new) if shape else (best, new)


RIGHT[check_merge] = [
    (merged,),
    (lambda c: merged(c, shape=lambda b, n: [list(b), Counter(n)]),),
]


def first_place_only(chunk, pair):
    tokens = list(chunk)
    for i, found in enumerate(pairwise(chunk)):
        if found == pair:
            tokens[i : i + 2] = ["".join(pair)]
            break
    return tokens


def in_place(counts):
    best, new = merged(counts)
    counts.clear()
    return best, new


WRONG_MERGES = {
    "counts forgotten": ({"often": lambda n: 1}, "counts five times"),
    "the last of equals": (
        {"choose": lambda f: [p for p in f if f[p] == max(f.values())][-1]},
        "of equals, take the first",
    ),
    "the alphabet's first of equals": (
        {"choose": lambda f: max(sorted(f), key=f.get)},
        "of equals, take the first",
    ),
    "the rarest": ({"choose": lambda f: min(f, key=f.get)}, "times, your"),
    "nothing joined": ({"join": lambda c, p: c}, "yours has none like it"),
    "the first place only": ({"join": first_place_only}, "join every occurrence"),
    "counts lost": ({"count": lambda n: 1}, "but not their counts"),
    "the pair alone": ({"shape": lambda b, n: b[0]}, "Return two things"),
    "the token for the pair": ({"shape": lambda b, n: ("".join(b) + "!", n)}, "be two tokens"),
    "chunks in a list": ({"shape": lambda b, n: (b, list(n))}, "dictionary from tuples"),
    "one too many": ({"shape": lambda b, n: (b, {**n, ("x",): 1})}, "too many"),
}


WRONG[check_merge] = {
    name: (partial(merged, **changes), message) for name, (changes, message) in WRONG_MERGES.items()
}
WRONG[check_merge]["changes what it was given"] = (in_place, "changes the dictionary")


# One text, many rows


def ways(text, pieces):
    """Another right solution: forwards, place by place."""
    found = [1] + [0] * len(text)
    for start in range(len(text)):
        for piece in pieces:
            if text.startswith(piece, start):
                found[start + len(piece)] += found[start]
    return found[-1]


RIGHT[check_ways] = [(ways,), (lambda t, p: float(ways(t, p)) if len(t) < 50 else ways(t, p),)]


WRONG[check_ways] = [
    (lambda t, p: 2 ** (len(t) - 1), "Not every cut gives pieces"),
    (lambda t, p: 1, "Several rows of tokens"),
    (lambda t, p: ways(t, p) - 1, "among them?"),
    (lambda t, p: ways(t, set(p) - {"bab"}), "is right"),
    (lambda t, p: ways(t, p) + 1, "is right"),
    (lambda t, p: max(1, ways(t, p)), "For 'abc' with ab, bc yours is 1, and 0 is right"),
    (lambda t, p: ways(t[:20], p), "For 50 letters a"),
    (lambda t, p: [t], "The number of ways"),
]


# The next character


def by_pieces(prefix, p):
    """Another right solution: piece by piece, from each place where the last one may begin."""
    found = dict.fromkeys("".join(p), 0.0)
    cut = cut_probabilities(prefix, p)
    for start, probability in enumerate(cut):
        rest = prefix[start:]
        for piece, share in p.items():
            if piece.startswith(rest) and len(piece) > len(rest):
                found[piece[len(rest)]] += probability * share
    total = sum(found.values())
    return {letter: value / total for letter, value in found.items()}


def after_a_cut(prefix, p):
    return by_pieces("", p)


def ends_there(prefix, p):
    found = {one: cut_probabilities(prefix + one, p)[-1] for one in set("".join(p))}
    return {one: value / sum(found.values()) for one, value in found.items()}


def not_divided(prefix, p):
    return {one: begins(prefix + one, p) for one in set("".join(p))}


RIGHT[check_next_character] = [
    (by_pieces,),
    (lambda s, p: {k: torch.tensor(v, dtype=torch.float64) for k, v in by_pieces(s, p).items()},),
    (lambda s, p: {k: v for k, v in by_pieces(s, p).items() if v > 0},),
]


WRONG[check_next_character] = [
    (after_a_cut, "You assume that a token ends where the prefix ends"),
    (ends_there, "right after the next character"),
    (not_divided, "Divide by the probability of the prefix"),
    (lambda s, p: dict.fromkeys(next_character(s, p), 1.0), "sum to 2, not to 1"),
    (lambda s, p: dict.fromkeys("ab", 0.5), "Which token covers the last character"),
    (lambda s, p: {**by_pieces(s, p), "z": 0.1}, "'z' is no character of the pieces"),
    (lambda s, p: max(by_pieces(s, p)), "Return a dictionary"),
    (lambda s, p: {**by_pieces(s, p), "a": "often"}, "The probability of 'a'"),
]


# Better than BPE


def pruned(words, n):
    """Another right solution: twice as many merges, and then out with what is missed least."""
    pieces = byte_pair_pieces(words, 2 * n)
    while len(pieces) > n:

        def loss(piece):
            touched = {word: count for word, count in words.items() if piece in word}
            rest = [other for other in pieces if other != piece]
            return fewest_tokens(touched, rest) - fewest_tokens(touched, pieces)

        pieces.remove(min(pieces, key=loss))
    return pieces


def whole_words(words, n):
    longer = [word for word in words if len(word) > 1]
    return sorted(longer, key=lambda word: -words[word] * (len(word) - 1))[:n]


RIGHT[check_pieces] = [(pruned,)]


WRONG[check_pieces] = [
    (byte_pair_pieces, "BPE's own pieces"),
    (whole_words, "Your pieces leave"),
    (lambda words, n: byte_pair_pieces(words, n + 1), "these are 41"),
    (lambda words, n: ["e", *byte_pair_pieces(words, n - 1)], "'e' is none"),
    (lambda words, n: [*byte_pair_pieces(words, n - 1), " t"], "comes twice"),
    (lambda words, n: 40, "Return a list of pieces"),
]
