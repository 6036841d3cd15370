"""Answers to the exercises of chapter 19: right, and wrong with the words that they get."""

import math

import numpy as np
import torch

from softlookup.attention.positions import period, shift_rotation, sinusoidal
from softlookup.exercises.positions import (
    check_codes,
    check_first_rise,
    check_found,
    check_period,
    check_rotation,
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


# The period

EXACT = 2 * math.pi * 10000**0.96
BASE = 10000 ** (50 / 48)


RIGHT[check_period] = [
    (EXACT, BASE),
    (43469.02, 14678),
    (torch.tensor([period(24, 50)]), np.float64(BASE)),
]
WRONG[check_period] = [
    (..., ..., "Nothing to check so far: compute the period"),
    (EXACT, ..., "Nothing to check so far: which base"),
    (20000 * math.pi, BASE, "That is the slide's 20000π"),
    (EXACT / math.pi, BASE, "divided by π"),
    (10000**0.96, BASE, "A full turn is 2π"),
    (1 / EXACT, BASE, "how often it turns"),
    (10000**-0.96, BASE, "That is ω"),
    (2 * math.pi * 10000**0.48, BASE, "The exponent is 2i/d with i = 24"),
    (2 * math.pi * 10000**1.92, BASE, "48 is already 2i"),
    (43469, BASE, "To two decimals"),
    (50000, BASE, "Solve ω · period = 2π"),
    (EXACT, 1.4454, "That is the factor between the two periods"),
    (EXACT, 14454, "to the power of 48/50 only"),
    (EXACT, 6918.31, "The other way round"),
    (EXACT, 10000, "you have just computed"),
    (EXACT, 15000, "With a base of 15000 the period is 64155, not 20000π."),
    (EXACT, -3, "With a base of -3 the period is 0"),
    ("long", BASE, "should be one number"),
    ([1, 2], BASE, "should have shape (1,)"),
    (math.nan, BASE, "holds NaN"),
]


# The rotation


def book_rotation(offset, d, base):
    R = torch.zeros(d, d)
    for i in range(d // 2):
        angle = torch.tensor(offset * base ** (-2 * i / d))
        c, s = angle.cos(), angle.sin()
        R[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[c, s], [-s, c]])
    return R


def fitted_rotation(offset, d, base):
    codes = sinusoidal(101, d, base=base, dtype=torch.float64)
    later = sinusoidal(101, d, base=base, start=offset, dtype=torch.float64)
    return torch.linalg.lstsq(codes, later).solution.T.numpy()


MISS = (0.3, 5, 2)


RIGHT[check_rotation] = [
    (book_rotation, MISS, f"misses by {2 * math.sin(0.7):.3f}."),  # a chord: 1.4 radians too far
    (fitted_rotation, [0.1, 0, 1]),
    (lambda o, d, b: shift_rotation(o, d, base=b).tolist(), torch.tensor(MISS)),
]
WRONG[check_rotation] = [
    (..., ..., "Nothing to check so far: return the d-by-d matrix"),
    (book_rotation, ..., "Nothing to check so far: give (omega, t, offset)"),
    (book_rotation, (0.3, ..., 2), "Nothing to check so far: give (omega, t, offset)"),
    (lambda o, d, b: book_rotation(o, d, 1.0), MISS, "That is the slide's matrix"),
    (lambda o, d, b: book_rotation(o, d, b).T, MISS, "It turns the wrong way"),
    (
        lambda o, d, b: shift_rotation(o, d, base=b, layout="concatenated"),
        MISS,
        "the blocks for all sines first",
    ),
    (lambda o, d, b: book_rotation(o, d, 10000.0), MISS, "row 2, column 2"),
    (lambda o, d, b: book_rotation(o, d, b)[:2, :2], MISS, "should have shape (4, 4)"),
    (lambda o, d, b: 2 * book_rotation(o, d, b), MISS, "row 0, column 0"),
    (book_rotation, (1.0, 5, 2), "With ω = 1 the slide is right."),
    (book_rotation, (0.3, 5, 0), "Offset 0 moves nothing."),
    (book_rotation, (0.999, 5, 1), "Try another offset."),
    (book_rotation, (0, 5, 2), "belongs to no pair"),
    (book_rotation, (3, 5, 2), "belongs to no pair"),
    (book_rotation, (0.3, 5), "should have shape (3,)"),
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
