"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import math

import numpy as np
import torch

from softlookup.attention.positions import period, sinusoidal
from softlookup.exercises.positions import (
    check_added,
    check_back,
    check_clock,
    check_first_rise,
    check_found,
    check_unknown_rotary,
)

RIGHT, WRONG = {}, {}


# Two positions added


def added(one, other, *, sign=1, order=(0, 1)):
    """A right solution, pair by pair, with places to go wrong."""
    found = []
    for k in range(0, len(one), 2):
        (a, b), (x, y) = one[k : k + 2].tolist(), other[k : k + 2].tolist()
        both = a * y + sign * b * x, b * y - sign * a * x
        found += [both[which] for which in order]
    return found


def by_angles(one, other):
    angles = [torch.atan2(code[0::2], code[1::2]) for code in (one, other)]
    return torch.stack([sum(angles).sin(), sum(angles).cos()], dim=-1).flatten()


def with_halves(one, other):
    found = torch.tensor(added(one, other))
    return torch.cat([found[0::2], found[1::2]])


def searched(one, other):
    """It finds both positions in a table of base 10,000."""
    table = sinusoidal(200, len(one), dtype=torch.float64)
    places = [int((table @ code).argmax()) for code in (one, other)]
    return sinusoidal(400, len(one), dtype=torch.float64)[sum(places)]


RIGHT[check_added] = [
    (added,),
    (by_angles,),
    (lambda s, t: np.array(added(s, t), dtype=np.float32),),
    (lambda s, t: added(t, s),),
]


WRONG[check_added] = [
    (..., "Nothing to check so far: return the code of the sum"),
    (lambda s, t: None, "Nothing to check so far"),
    (lambda s, t: s + t, "not the sum of the codes"),
    (lambda s, t: (s + t) / 2, "the mean of the two codes"),
    (lambda s, t: s * t, "each sine needs the cosine beside it"),
    (lambda s, t: added(s, t, sign=-1), "the code of s − t"),
    (lambda s, t: added(t, s, sign=-1), "the code of t − s"),
    (lambda s, t: added(s, t, order=(1, 0)), "the sine comes first"),
    (with_halves, "their order is not"),
    (searched, "With s = 41, t = 163, d = 16, base 100 that is not the code of 204."),
    (lambda s, t: s, "With s = 3, t = 4, d = 8, base 10000 that is not the code of 7."),
    (lambda s, t: s.add_(t), "changes the codes that it is given"),
    (lambda s, t: added(s, t)[:2], "should have shape (8,); yours has (2,)"),
    (lambda s, t: 1 / 0, "ZeroDivisionError"),
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
    (*planted(BASE_OF_BACK, length=6.0), "length 6.00 and the key 6.00, and 12 is allowed"),
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


def by_exact_cosines(score, d_k):
    unit = torch.eye(d_k, dtype=torch.float64)
    return [
        (a, b, math.acos(score(unit[a], unit[a], 0, 1))) for a, b, _ in by_unit_vectors(score, d_k)
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
    (by_exact_cosines, "ask the sine as well"),
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


RIGHT[check_first_rise] = [
    (by_difference(), 147),
    (44, 147.0),
    (np.array([44]), torch.tensor([147])),
]
WRONG[check_first_rise] = [
    (..., 147, "Nothing to check so far: give the first offset"),
    (44, ..., "Nothing to check so far: give the smallest such base"),
    (43, 147, "43 is the bottom of the dip"),
    (45, 147, "One too far"),
    (12, 147, "the answer for d = 128"),
    (4, 147, "the answer for d = 8"),
    (20, 147, "From 19 to 20 it falls: "),
    (50, 147, "It has risen before 50 already"),
    (0, 147, "a whole number from 1 to 499"),
    (500, 147, "a whole number from 1 to 499"),
    (43.5, 147, "a whole number from 1 to 499"),
    ("44?", 147, "should be one number"),
    (lambda: 44, 147, "should be one number"),
    (44, 146, "With a base of 146 the first rise is at 38. Try a larger one."),
    (44, 2, "With a base of 2 the first rise is at 5. Try a larger one."),
    (44, 148, "With 147 the first rise is at 44, too. Try a smaller one."),
    (44, 10_000, "With 9999 the first rise is at 44, too."),
    (44, 146.5, "a whole number from 2 to 10,000; yours is 146.5"),
    (44, 1, "a whole number from 2 to 10,000"),
    (44, "small", "should be one number"),
]
