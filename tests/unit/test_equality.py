"""What a check cell asserts of numbers: it fails where it should, and says where."""

import math

import numpy as np
import pytest
import torch

from softlookup.show import assert_equal

REAL = torch.tensor([[1.0, -2.0, 3.0], [40.0, 5.0, -6.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    "expected",
    [
        REAL.clone(),
        REAL.numpy(),
        REAL.tolist(),
        [*REAL.clone().requires_grad_(False)],
        REAL + 39e-12,  # of 40, the largest
        REAL.float(),
    ],
    ids=["tensor", "array", "lists", "rows", "rounded", "float32"],
)
def test_the_same_numbers_pass(expected):
    assert_equal(REAL, expected)


@pytest.mark.parametrize("value", [7, True, 2.5, 1 + 2j, -math.inf])
def test_single_numbers_pass(value):
    assert_equal(value, torch.tensor(value))


def test_nothing_equals_nothing_of_the_same_shape():
    assert_equal(torch.zeros(0, 3), np.zeros((0, 3)))
    with pytest.raises(AssertionError, match=r"the shapes differ: found \(0, 3\), expected \(0,\)"):
        assert_equal(torch.zeros(0, 3), [])


@pytest.mark.parametrize("where", [(0, 0), (0, 2), (1, 0)])
def test_one_number_that_differs_is_named(where):
    found = REAL.clone()
    found[where] += 0.5
    told = rf"the largest difference is 0\.5 at \[{where[0]}, {where[1]}\]: found {found[where]}, "
    with pytest.raises(AssertionError, match=told + f"expected {REAL[where]}"):
        assert_equal(found, REAL)


def test_the_largest_of_several_differences_is_named():
    found = REAL + torch.tensor([[0.1, 0, 0], [0, -0.75, 0.2]])
    with pytest.raises(AssertionError, match=r"largest difference is 0\.75 at \[1, 1\]"):
        assert_equal(found, REAL)


def test_a_difference_beyond_the_tolerance_fails():
    with pytest.raises(AssertionError, match=r"largest difference is 4\.1e-11"):
        assert_equal(REAL + 41e-12, REAL)
    small = torch.tensor([1e-3], dtype=torch.float64)
    assert_equal(small + 0.9e-12, small)
    with pytest.raises(AssertionError, match=r"1\.1e-12"):
        assert_equal(small + 1.1e-12, small)


def test_rounded_numbers_need_a_tolerance():
    assert_equal(torch.tensor([-1.3416]), [-1.34164], tolerance=5e-5)
    with pytest.raises(AssertionError, match="6e-05"):
        assert_equal(torch.tensor(-1.34164, dtype=torch.float64), -1.3417, tolerance=5e-5)
    with pytest.raises(AssertionError, match=r"0\.006"):  # however large the numbers are
        assert_equal([1234.0, 12.344], [1234.0, 12.35], tolerance=5e-3)


@pytest.mark.parametrize(
    ("found", "expected"),
    [([math.nan], [math.nan]), ([math.nan], [1.0]), ([1.0], [math.nan]), ([1.0], [math.inf]),
     ([math.inf], [-math.inf]), ([-math.inf], [1e300])],
)  # fmt: skip
def test_nan_equals_nothing_and_an_infinity_only_itself(found, expected):
    with pytest.raises(AssertionError, match=r"the largest difference is inf at \[0\]"):
        assert_equal(found, expected, tolerance=1.0)


def test_infinities_do_not_widen_the_tolerance():
    scores = [[0.5, -math.inf], [math.inf, 2.0]]
    assert_equal(scores, torch.tensor(scores))
    with pytest.raises(AssertionError, match=r"0\.1 at \[0, 0\]"):
        assert_equal([[0.6, -math.inf], [math.inf, 2.0]], scores)


@pytest.mark.parametrize(
    ("found", "expected", "told"),
    [
        ([1.0, 2.0], [1, 2], "found real numbers, expected whole numbers"),
        ([1, 0], [True, False], "found whole numbers, expected booleans"),
        ([1.0], [1 + 0j], "found real numbers, expected complex numbers"),
    ],
)
def test_kinds_of_numbers_must_agree(found, expected, told):
    with pytest.raises(AssertionError, match=told):
        assert_equal(found, expected)


def test_shapes_must_agree_even_where_they_would_broadcast():
    told = r"the shapes differ: found \(2, 3\), expected \(3,\)"
    with pytest.raises(AssertionError, match=told):
        assert_equal(torch.ones(2, 3), torch.ones(3))


def test_whole_numbers_and_booleans_must_be_the_same():
    large = 2**53
    assert_equal(torch.tensor(large + 1), large + 1)
    with pytest.raises(AssertionError, match=f"is 1: found {large + 1}, expected {large}"):
        assert_equal(torch.tensor(large + 1), large, tolerance=1.0)
    with pytest.raises(AssertionError, match="found True, expected False"):
        assert_equal(torch.tensor([True]), [False], tolerance=1.0)


def test_complex_numbers_are_compared_by_their_distance():
    assert_equal([1 + 1e-13j], [1 + 0j])
    with pytest.raises(AssertionError, match=r"largest difference is 5 at \[0\]"):
        assert_equal([4 + 4j], [1 + 0j])


@pytest.mark.parametrize("value", ["7", None, ["a"], {"a": 1}])
def test_what_holds_no_numbers_is_refused(value):
    with pytest.raises(TypeError, match="found must be numbers; got"):
        assert_equal(value, [1.0])
    with pytest.raises(TypeError, match="expected must be numbers; got"):
        assert_equal([1.0], value)


@pytest.mark.parametrize("tolerance", [-1e-9, math.nan, math.inf])
def test_a_tolerance_is_a_size(tolerance):
    with pytest.raises(ValueError, match="tolerance must be finite and not negative"):
        assert_equal([1.0], [1.0], tolerance=tolerance)
