"""Answers to the exercises of chapter 19: right, and wrong with the words that they get."""

import math

import numpy as np
import torch

from softlookup.attention.positions import period, sinusoidal
from softlookup.exercises.positions import (
    check_back,
    check_clock,
    check_codes,
    check_first_rise,
    check_found,
    check_unknown_rotary,
)

RIGHT, WRONG = {}, {}


# The slide's matrix


def book_codes(n, d, base):
    t = torch.arange(n)[:, None]
    angles = t * base ** (-2 * torch.arange(d // 2) / d)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def loop_codes(
    n, d, base, *, exponent=lambda k, d: 2 * (k // 2) / d, first=0, turn=1.0, order=(0, 1)
):
    functions = [(math.sin, math.cos)[which] for which in order]
    return [
        [functions[k % 2](turn * (pos + first) / base ** exponent(k, d)) for k in range(d)]
        for pos in range(n)
    ]


RIGHT[check_codes] = [
    (book_codes,),
    (loop_codes,),
    (lambda n, d, b: np.array(loop_codes(n, d, b), dtype=np.float32),),
    (lambda n, d, b: sinusoidal(n, d, base=b),),
]


WRONG[check_codes] = [
    (..., "Nothing to check so far: return one row of d numbers"),
    (lambda n, d, b: None, "Nothing to check so far"),
    (lambda n, d, b: loop_codes(n, d, 10000.0), "Your base is always 10,000"),
    (lambda n, d, b: loop_codes(n, d, 100.0), "Your base is always 100;"),
    (
        lambda n, d, b: loop_codes(n, d, b, exponent=lambda k, d: (k // 2) / d),
        "The exponent is 2i/d",
    ),
    (lambda n, d, b: loop_codes(n, d, b, exponent=lambda k, d: 2 * k / d), "That is E82."),
    (lambda n, d, b: loop_codes(n, d, b, first=1), "Your first row is position 1"),
    (lambda n, d, b: loop_codes(n, d, b, order=(1, 0)), "Sine comes first"),
    (lambda n, d, b: sinusoidal(n, d, base=b, layout="concatenated"), "their order is not"),
    (lambda n, d, b: loop_codes(n, d, b, turn=math.pi / 180), "in degrees"),
    (
        lambda n, d, b: loop_codes(n, d, b, exponent=lambda k, d: -2 * (k // 2) / d),
        "You multiply by base^(2i/d)",
    ),
    (lambda n, d, b: book_codes(n, d, b).round(decimals=2), "Compute, do not copy"),
    (lambda n, d, b: 2 * book_codes(n, d, b), "row 0, column 1 (both counted from 0) should b"),
    (lambda n, d, b: book_codes(n, d, b).T, "column"),
    (lambda n, d, b: book_codes(d, n, b), "should have shape (7, 10)"),
    (lambda n, d, b: book_codes(n, d, b)[1:], "should have shape (4, 4); yours has (3, 4)"),
    (lambda n, d, b: 1 / 0, "ZeroDivisionError"),
]


# The table without labels

FOUND = [41, 7, 163, 90]


RIGHT[check_found] = [
    (36, 6, FOUND),
    (np.int64(36), torch.tensor([6]), torch.tensor(FOUND).double()),
    (36.0, 6, tuple(np.array(FOUND))),
]


WRONG[check_found] = [
    (..., 6, FOUND, "Nothing to check so far: give the width d"),
    (36, ..., FOUND, "Nothing to check so far: give the number of the first column"),
    (36, 6, ..., "Nothing to check so far: give the four positions"),
    (36, 6, [41, ..., 163, 90], "Nothing to check so far: give the position of p1"),
    (36, 6, [7, 41, 90, 163], "These are the four, but in another order"),
    (36, 6, [42, 8, 164, 91], "You count positions from 1"),
    (36, 7, FOUND, "You count columns from 1"),
    (
        36,
        6,
        [0, 7, 163, 90],
        "With d = 36, columns 6 to 9 of position 0 hold (0.000, 1.000, "
        "0.000, 1.000); the table has (0.558, -0.830, -0.835, 0.551) for p0.",
    ),
    (36, 6, [41, 7, 163, 91], "the table has (0.514, 0.858, -0.809, 0.588) for p3."),
    (50, 4, [2, 13, 8, 3], "With d = 50, columns 4 to 7 of position 2 hold (0.818, "),
    (34, 6, FOUND, "With d = 34, columns 6 to 9 of position 41"),
    (36, 8, FOUND, "With d = 36, columns 8 to 11 of position 41"),
    (35, 6, FOUND, "an even number of at most 64; yours is 35"),
    (66, 6, FOUND, "an even number of at most 64; yours is 66"),
    (2, 0, FOUND, "an even number of at most 64; yours is 2"),
    (36, 33, FOUND, "Four columns of 36 begin at 0 to 32, not 33"),
    (36, -1, FOUND, "begin at 0 to 32, not -1"),
    (36, 6.5, FOUND, "begin at 0 to 32, not 6.5"),
    (36, 6, [41, 7, 163], "should have shape (4,)"),
    (36, 6, [41, 7, 163, -90], "integers from 0 to 199"),
    (36, 6, [41.5, 7, 163, 90], "integers from 0 to 199"),
    (36, 6, [41, 7, 163, 200], "integers from 0 to 199"),
    (36, 6, "41, 7, 163, 90", "should be numbers"),
    ("wide", 6, FOUND, "should be one number"),
]


# A clock for long texts

BASE = (100_000 / (2 * math.pi)) ** (128 / 126)


RIGHT[check_clock] = [
    (BASE, 29),
    (round(BASE), 29.0),
    (torch.tensor([BASE]), np.int64(sum(period(i, 128, base=BASE) <= 512 for i in range(64)))),
]
WRONG[check_clock] = [
    (..., ..., "Nothing to check so far: compute the base"),
    (BASE, ..., "Nothing to check so far: how many pairs"),
    (100_000 / (2 * math.pi), 29, "number 63, not 64"),
    (100_000 ** (128 / 126), 29, "A full turn is 2π"),
    (100_000, 29, "That is the period itself"),
    ((100_000 / (2 * math.pi)) ** (126 / 128), 29, "The other way round"),
    ((100_000 / (2 * math.pi)) ** (128 / 63), 29, "The exponent is 2i/d"),
    ((100_000 * 2 * math.pi) ** (128 / 126), 29, "Divide by 2π"),
    (10_000, 29, "With a base of 10000 the last period is 54,410, not 100,000."),
    (-3, 29, "With a base of -3 the last period is 0"),
    (BASE, 28, "they start at 0"),
    (BASE, 35, "how many do not come round"),
    (BASE, 58, "the number of columns"),
    (BASE, 12, "Compare each of the 64 periods"),
    ("long", 29, "should be one number"),
    (BASE, [1, 2], "should have shape (1,)"),
    (math.nan, 29, "holds NaN"),
]


# Seven back


def planted(base, shares=(0.25,) * 4, back=7, length=12.0):
    """A query along the first of each pair, and the key that stands there after `back` steps."""
    query, key = [], []
    for i, share in enumerate(shares):
        angle = back * base ** (-i / 4)
        loud = length * math.sqrt(share)
        query += [loud, 0.0]
        key += [loud * math.cos(angle), loud * math.sin(angle)]
    return base, query, key


BASE_OF_BACK = 4.0663485550442955


def ahead(base):
    base, query, key = planted(base)
    return base, key, query


RIGHT[check_back] = [
    planted(BASE_OF_BACK),
    (np.float64(2100.081349564602), *map(torch.tensor, planted(2100.081349564602)[1:])),
    planted(11.3704561830317),
]
WRONG[check_back] = [
    (..., [1] * 8, [1] * 8, "Nothing to check so far: give a base"),
    (4.0, ..., [1] * 8, "Nothing to check so far: give the query"),
    (4.0, [1] * 8, ..., "Nothing to check so far: give the key"),
    (1.0, [1] * 8, [1] * 8, "a number above 1; yours is 1"),
    (math.inf, [1] * 8, [1] * 8, "a number above 1"),
    (4.0, [1] * 4, [1] * 8, "The query should have shape (8,); yours has (4,)."),
    (4.0, [20] * 8, [1] * 8, "The query has length 56.57; at most 12 is allowed"),
    (4.0, [1] * 8, [20] * 8, "The key has length 56.57; at most 12 is allowed"),
    (4.0, [0] * 8, [0] * 8, "the token looks everywhere alike"),
    (*ahead(BASE_OF_BACK), "seven tokens AHEAD"),
    (*planted(10000.0), "Its strongest rival is 70 back, an impostor"),
    (*planted(BASE_OF_BACK, back=8), "of the weight is on seven back"),
    (*planted(10000.0, shares=(0.001, 0.9, 0.05, 0.049)), "a neighbour: the fast pairs"),
    ("four", [1] * 8, [1] * 8, "should be one number"),
]


# A rotary of unknown make


def by_unit_vectors(score, d_k):
    unit, found = torch.eye(d_k, dtype=torch.float64), []
    for a in range(d_k):
        for b in range(d_k):
            sine = score(unit[b], unit[a], 0, 1)
            if a != b and sine > 1e-9:
                found.append((a, b, math.atan2(sine, score(unit[a], unit[a], 0, 1))))
    return found


def as_an_array(score, d_k):
    return np.array(by_unit_vectors(score, d_k))


def by_cosines(score, d_k):
    unit = torch.eye(d_k, dtype=torch.float64)
    return [
        (a, b, math.acos(min(1, float(np.float32(score(unit[a], unit[a], 0, 1))))))
        for a, b, _ in by_unit_vectors(score, d_k)
    ]


def flipped(score, d_k):
    return [(b, a, omega) for a, b, omega in by_unit_vectors(score, d_k)]


def neighbours(score, d_k):
    return [(2 * i, 2 * i + 1, 10000 ** (-2 * i / d_k)) for i in range(d_k // 2)]


def halves(score, d_k):
    return [(i, i + d_k // 2, 0.5) for i in range(d_k // 2)]


RIGHT[check_unknown_rotary] = [
    (by_unit_vectors,),
    (as_an_array,),
    (lambda score, d_k: [(b, a, -w) for a, b, w in by_unit_vectors(score, d_k)],),
]
WRONG[check_unknown_rotary] = [
    (..., "Nothing to check so far: return a list"),
    (lambda score, d_k: None, "Nothing to check so far: return a list"),
    (lambda score, d_k: 3, "Return a list with one (first, second, omega)"),
    (lambda score, d_k: [(0, 1)], "Return a list with one (first, second, omega)"),
    (lambda score, d_k: by_unit_vectors(score, d_k)[1:], "belongs to one pair; yours are"),
    (neighbours, "a step, not 1."),
    (halves, "do not turn into each other"),
    (flipped, "turn the other way"),
    (by_cosines, "ask the sine as well"),
    (
        lambda score, d_k: [(a, b, 2 * w) for a, b, w in by_unit_vectors(score, d_k)],
        "a step, not",
    ),
    (lambda score, d_k: score([1.0], [1.0], 0, 1), "ValueError: a query or key has 4 numbers"),
]


# The first rise


def by_difference():
    P = sinusoidal(200, 512)
    return ((P @ P[0]).diff() > 0).nonzero()[0, 0] + 1


RIGHT[check_first_rise] = [(by_difference(),), (44,), (np.array([44]),)]
WRONG[check_first_rise] = [
    (..., "Nothing to check so far: give the first offset"),
    (43, "43 is the bottom of the dip"),
    (45, "One too far"),
    (12, "the answer for d = 128"),
    (4, "the answer for d = 8"),
    (20, "From 19 to 20 it falls: "),
    (50, "It has risen before 50 already"),
    (0, "a whole number from 1 to 499"),
    (500, "a whole number from 1 to 499"),
    (43.5, "a whole number from 1 to 499"),
    ("44?", "should be one number"),
    (lambda: 44, "should be one number"),
]
