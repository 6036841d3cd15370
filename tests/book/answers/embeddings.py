"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import itertools
import math
from fractions import Fraction
from functools import cache, partial

import numpy as np
import torch

from softlookup.exercises.embeddings import (
    check_chance,
    check_judges,
    check_late,
    check_lookup,
    check_pencil,
    check_set_cosine,
)

RIGHT, WRONG = {}, {}


# lookup


def fetched(table, ids, rows=None, product=None, fetch=0):
    """Another right solution of the first exercise, in plain Python, with places to go wrong."""
    n, n_words, d = len(ids), len(table), len(table[0])
    found = [table[i].tolist() for i in ids.tolist()] if rows is None else rows(table, ids)
    return found, n * n_words * d if product is None else product(n, n_words, d), fetch


RIGHT[check_lookup] = [
    (fetched,),
    (lambda t, i: list(map(torch.as_tensor, fetched(t, i))),),
]


def overwritten(table, ids):
    found = table[ids].clone()
    table.zero_()
    return found


WRONG_LOOKUPS = {
    "columns": ({"rows": lambda t, i: t[:, : len(i)].T}, "The rows should have shape"),
    "sorted": ({"rows": lambda t, i: t[i.sort().values]}, "in the order of ids"),
    "from the end": ({"rows": lambda t, i: t[-i]}, "at the places that ids name"),
    "one id only": ({"product": lambda n, v, d: v * d}, "That is for one id"),
    "no vocabulary": ({"product": lambda n, v, d: n * d}, "a sum over the whole vocabulary"),
    "no dimension": ({"product": lambda n, v, d: n * v}, "has d entries"),
    "no zeros": ({"product": lambda n, v, d: n * (v - 1) * d}, "with 0 are computed as well"),
    "something": ({"product": lambda n, v, d: 1}, "How many products"),
    "copies": ({"fetch": 3}, "It copies numbers"),
    "words": ({"fetch": "none"}, "The second number should be numbers"),
    "overwritten": ({"rows": overwritten}, "changed the table"),
}


WRONG[check_lookup] = {
    name: (partial(fetched, **changes), message)
    for name, (changes, message) in WRONG_LOOKUPS.items()
}


# set cosine


def set_cosine(one, other, over=None):
    """Another right solution of the second exercise: sums over a union, with places to go wrong."""
    union = set(one) | set(other)
    x, y = ([word in words for word in union] for words in (one, other))
    shared = sum(a and b for a, b in zip(x, y, strict=True))
    if not shared:
        return 0
    return shared / (math.sqrt(sum(x)) * math.sqrt(sum(y)) if over is None else over(one, other))


RIGHT[check_set_cosine] = [
    (set_cosine,),
    (lambda a, b: torch.tensor(set_cosine(a, b)),),
]


def counted(one, other):
    words = sorted(set(one) | set(other))
    x, y = (np.array([w.count(word) for word in words], dtype=float) for w in (one, other))
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y))) if one and other else 0.0


WRONG[check_set_cosine] = {
    "counts": (counted, "binary bag knows only whether"),
    "jaccard": (
        lambda a, b: set_cosine(a, b, lambda a, b: len({*a, *b})),
        "Jaccard",
    ),
    "dice": (
        lambda a, b: set_cosine(a, b, lambda a, b: (len(set(a)) + len(set(b))) / 2),
        "Dice",
    ),
    "no root": (
        lambda a, b: set_cosine(a, b, lambda a, b: len(set(a)) * len(set(b))),
        "take the square root",
    ),
    "lists": (
        lambda a, b: set_cosine(a, b, lambda a, b: math.sqrt(len(a) * len(b))),
        "lengths of the lists",
    ),
    "nan": (lambda a, b: set_cosine(a, b) if a and b else math.nan, "NaN"),
    "one for empty": (lambda a, b: set_cosine(a, b) if a and b else 1.0, "has cosine 0; yours"),
    "constant": (lambda a, b: 5 / math.sqrt(35), "For ['a'] and ['b'] the cosine is 0.0000"),
    "angle": (lambda a, b: math.acos(set_cosine(a, b)), "the cosine is 0.8452; yours is"),
}


def swapped(table, ids):
    rows, product, fetch = fetched(table, ids)
    return rows, fetch, product


WRONG[check_lookup]["swapped"] = (swapped, "wrong way round")
WRONG[check_lookup]["rows alone"] = (lambda t, i: t[i], "Return three things")


# a late word


def folded_in(p, U, sizes, Vt, d, power=0.5):
    """Another right solution: by NumPy and least squares, with a place to go wrong."""
    whole = np.linalg.lstsq((np.asarray(Vt).T * np.asarray(sizes)), np.asarray(p), rcond=None)[0]
    return whole[:d] * np.asarray(sizes)[:d] ** power


RIGHT[check_late] = [(folded_in,)]


WRONG[check_late] = {
    "no division": (lambda p, U, s, Vt, d: Vt[:d] @ p, "the row of UΣ"),
    "divided by the sizes": (partial(folded_in, power=0), "the row of U. E has the roots"),
    "multiplied": (lambda p, U, s, Vt, d: Vt[:d] @ p * s[:d].sqrt(), "You multiplied"),
    "all directions": (lambda p, U, s, Vt, d: Vt @ p / s.sqrt(), "d are wanted"),
    "words": (lambda p, U, s, Vt, d: U[:, :d].T @ p / s[:d].sqrt(), "whose rows belong to words"),
    "another power": (partial(folded_in, power=0.7), "For row 1 of the table (7 words"),
}


# three judges


def searched(by_cosine, by_dot, by_distance):
    """Another right solution: random steepness and squared distance, from which p follows."""
    return drawn().get((by_cosine, by_dot, by_distance), "impossible")


@cache
def drawn():
    """For each case a query and the first three random candidates that are ranked just so.

    A candidate (p, y) has p ≥ 0 and s = 1 + (y/p)². Its squared distance from (1, 0) is
    1 - 2p + s p² = 1 - 1/s + (s p - 1)²/s.
    """
    generator = np.random.default_rng(3)
    n = 500_000
    s = 1 + np.exp(generator.uniform(-6, 6, (n, 1)) + generator.normal(0, 1, (n, 3)))
    p = (1 + generator.choice([-1, 1], (n, 3)) * generator.random((n, 3)) ** 2) / s
    p *= np.exp(generator.choice([0, 0.3, 2], (n, 1)) * generator.normal(0, 1, (n, 3)))
    values = s, -p, 1 - 1 / s + (s * p - 1) ** 2 / s
    orders = np.concatenate([one.argsort(axis=1) for one in values], axis=1)
    _, first = np.unique(orders @ 3 ** np.arange(9), return_index=True)
    found = {}
    for i in first:
        letters = "".join("ABC"[k] for k in orders[i])
        y = p[i] * np.sqrt(s[i] - 1)
        places = np.stack([p[i], y], axis=1).tolist()
        found[letters[:3], letters[3:6], letters[6:]] = [[1.0, 0.0], *places]
    return found


RIGHT[check_judges] = [(searched, "192 cases, and no way for 24")]


def some(change):
    """The right points, or the word, after a change."""
    return lambda *orders: change(searched(*orders), *orders)


def points_only(change):
    return some(lambda found, *orders: found if found == "impossible" else change(found))


WRONG[check_judges] = {
    "always impossible": (lambda *orders: "impossible", "There are such points for cosine ABC"),
    "another word": (lambda *orders: "none", "Return four points or the word"),
    "always the same": (
        lambda *orders: searched("ABC", "ABC", "ABC"),
        "are ranked ABC by distance",
    ),
    "worst first": (
        lambda *orders: searched(*(order[::-1] for order in orders)),
        "ranked CBA by cosine",
    ),
    "without the query": (points_only(lambda found: found[1:]), "yours have shape (3, 2)"),
    "below 0": (points_only(lambda found: [[-x for x in row] for row in found]), "or below 0"),
    "a tie": (points_only(lambda found: [found[0], *[found[1]] * 3]), "equally good by cosine"),
    "the origin": (points_only(lambda found: [[0, 0], *found[1:]]), "is the origin"),
    "a claim": (
        some(lambda found, *o: searched("ABC", "ABC", "ABC") if found == "impossible" else found),
        "your points are ranked ABC by",
    ),
    "not points": (lambda *orders: {"A": (1, 1)}, "Return four points of two numbers"),
}


# tables for a pencil


def rational(n, singular=False, equal=False, squares=False):
    """Another right solution: tries whole eigenvalues, with places to go wrong."""
    found = []
    for a, b, c, d in itertools.product(range(n + 1), repeat=4):
        total, det = a * a + b * b + c * c + d * d, a * d - b * c
        for small in range(total // 2 + 1):
            large = total - small
            roots = all(math.isqrt(value) ** 2 == value for value in (small, large))
            allowed = (det or singular) and (small != large or equal) and (roots or not squares)
            if allowed and large * small == det**2:
                found.append(((a, b), (c, d)))
    return found


RIGHT[check_pencil] = [
    (rational,),
    (lambda n: torch.tensor(rational(n)),),
    (lambda n: [[[Fraction(entry) for entry in row] for row in table] for table in rational(n)],),
]


WRONG[check_pencil] = {
    "singular": (partial(rational, singular=True), "a singular value is 0"),
    "equal": (partial(rational, equal=True), "no direction is the best"),
    "roots are whole": (partial(rational, squares=True), "They need not be squares themselves"),
    "all": (
        lambda n: [((a, b), (c, d)) for a, b, c, d in itertools.product(range(n + 1), repeat=4)],
        "does not belong to them",
    ),
    "irrational": (lambda n: [*rational(n), ((1, 1), (1, 0))], "is a root"),
    "too large": (lambda n: rational(n + 1), "that is not from 0 to"),
    "none": (lambda n: [], "is missing: the squares of its singular values are"),
    "twice": (lambda n: rational(n) * 2, "a table twice"),
    "a number": (len, "Your code stopped with TypeError"),
    "words": (lambda n: ["table"], "Return a list of tables"),
}


# a table by chance


def dealt(rows, columns, entry=None):
    """Another right solution, with NumPy, and places to go wrong."""
    n = sum(rows)
    if entry is None:
        return np.outer(rows, columns) / n
    return [[entry(r, c, n, len(rows) * len(columns)) for c in columns] for r in rows]


RIGHT[check_chance] = [(dealt,), (partial(dealt, entry=lambda r, c, n, cells: c * (r / n)),)]


def shifted(rows, columns):
    """A table with the sums asked for, in which two rows and two columns lean to each other."""
    table = dealt(rows, columns)
    if min(table.shape) > 1:
        table[:2, :2] += 0.1 * np.array([[1, -1], [-1, 1]])
    return table


WRONG[check_chance] = {
    "not divided": (partial(dealt, entry=lambda r, c, n, cells: r * c), "divide each product"),
    "all alike": (partial(dealt, entry=lambda r, c, n, cells: n / cells), "all entries are equal"),
    "zeros": (partial(dealt, entry=lambda r, c, n, cells: 0), "its PMI is no number"),
    "rows alone": (partial(dealt, entry=lambda r, c, n, cells: r), "has another sum"),
    "leaning": (shifted, "times as often as by chance"),
    "transposed": (lambda rows, columns: dealt(columns, rows), "The table should have shape"),
}
