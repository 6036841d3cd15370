"""The exercises of chapter 16: blank, solved in two ways, and the known wrong answers."""

import math

import numpy as np
import pytest
import torch

from softlookup.exercises.positions import (
    check_codes,
    check_first_rise,
    check_found,
    check_period,
    check_rotation,
)
from softlookup.positions import period, shift_rotation, sinusoidal


def assert_wrong(verdict, advice):
    assert not verdict
    assert advice in verdict.message


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


def test_codes_solved():
    assert check_codes(book_codes)
    assert check_codes(loop_codes)
    assert check_codes(lambda n, d, b: np.array(loop_codes(n, d, b), dtype=np.float32))
    assert check_codes(lambda n, d, b: sinusoidal(n, d, base=b))


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
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
    ],
)
def test_wrong_codes(answer, advice):
    assert_wrong(check_codes(answer), advice)


# The four positions


def test_found_solved():
    assert check_found([2, 13, 8, 3])
    assert check_found(torch.tensor([2.0, 13.0, 8.0, 3.0]))
    assert check_found((np.int64(2), 13, 8, 3))


@pytest.mark.parametrize(
    ("positions", "advice"),
    [
        (..., "Nothing to check so far: give the four positions"),
        ([2, ..., 8, 3], "Nothing to check so far: give the position of p1"),
        ([2, 3, 8, 13], "These are the four, but in another order"),
        ([3, 14, 9, 4], "You count from 1"),
        ([0, 1, 2, 3], "At position 0, columns 4 to 7 hold (0.000, 1.000, 0.000, 1.000); the slide "
         "prints (0.818, 0.576, 0.615, 0.789) for p0."),
        ([2, 13, 8, 4], "the slide prints (0.991, 0.134, 0.838, 0.546) for p3."),
        ([2260, 13, 8, 3], "At position 2260, columns 4 to 7 hold"),  # off by 0.03 at most
        ([2, 13, 8], "should have shape (4,)"),
        ([2, 13, 8, -3], "integers from 0 on"),
        ([2.5, 13, 8, 3], "integers from 0 on"),
        ([2, 13, 8, 10**9], "a million words"),
        ("2, 13, 8, 3", "should be numbers"),
    ],
)  # fmt: skip
def test_wrong_positions(positions, advice):
    assert_wrong(check_found(positions), advice)


# The period

EXACT = 2 * math.pi * 10000**0.96


def test_period_solved():
    assert check_period(EXACT, 20000 * math.pi / EXACT)
    assert check_period(43469.02, 1.445)
    assert check_period(torch.tensor([period(24, 50)]), np.float64(1.4454))


@pytest.mark.parametrize(
    ("true_period", "factor", "advice"),
    [
        (..., ..., "Nothing to check so far: compute the period"),
        (EXACT, ..., "Nothing to check so far: divide the slide's period"),
        (20000 * math.pi, 1.0, "That is the slide's 20000π"),
        (EXACT / math.pi, 1.445, "divided by π"),
        (10000**0.96, 1.445, "A full turn is 2π"),
        (1 / EXACT, 1.445, "how often it turns"),
        (10000**-0.96, 1.445, "That is ω"),
        (2 * math.pi * 10000**0.48, 1.445, "The exponent is 2i/d with i = 24"),
        (2 * math.pi * 10000**1.92, 1.445, "48 is already 2i"),
        (43469, 1.445, "To two decimals"),
        (50000, 1.445, "Solve ω · period = 2π"),
        (EXACT, 1 / 1.4454, "The other way round"),
        (EXACT, 0.445, "is not 0.445"),
        ("long", 1.445, "should be one number"),
        ([1, 2], 1.445, "should have shape (1,)"),
        (math.nan, 1.445, "holds NaN"),
    ],
)
def test_wrong_periods(true_period, factor, advice):
    assert_wrong(check_period(true_period, factor), advice)


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


def test_rotation_solved():
    assert check_rotation(book_rotation, MISS)
    assert check_rotation(fitted_rotation, [0.1, 0, 1])
    assert check_rotation(lambda o, d, b: shift_rotation(o, d, base=b).tolist(), torch.tensor(MISS))
    said = check_rotation(book_rotation, MISS).message
    assert f"misses by {2 * math.sin(0.7):.3f}." in said  # a chord: 1.4 radians too far


@pytest.mark.parametrize(
    ("answer", "miss", "advice"),
    [
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
    ],
)
def test_wrong_rotations(answer, miss, advice):
    assert_wrong(check_rotation(answer, miss), advice)


# The first rise


def test_first_rise_solved():
    P = sinusoidal(200, 512)
    rises = (P @ P[0]).diff() > 0
    assert check_first_rise(rises.nonzero()[0, 0] + 1)
    assert check_first_rise(44)
    assert check_first_rise(np.array([44]))


@pytest.mark.parametrize(
    ("offset", "advice"),
    [
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
    ],
)
def test_wrong_first_rises(offset, advice):
    assert_wrong(check_first_rise(offset), advice)
