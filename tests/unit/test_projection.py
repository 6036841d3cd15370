"""Principal components and rotations: numbers by hand, what the SVD promises, and bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.words import principal_components, procrustes, project, reconstruct

F64 = torch.float64


def tensor(values):
    return torch.tensor(values, dtype=F64)


def random(*shape, generator):
    return torch.randn(*shape, dtype=F64, generator=generator)


@pytest.fixture
def points(generator):
    """13 points of dimension 5, stretched, not around the origin."""
    spread = tensor([5.0, 0.5, 2.0, 1.0, 3.0])
    return random(13, 5, generator=generator) * spread + 7


def test_components_of_four_points_by_hand():
    x = tensor([[3.0, 1.0], [-1.0, 1.0], [1.0, 2.0], [1.0, 0.0]])  # a cross around (1, 1)
    found = principal_components(x, 2)
    assert_close(found.mean, tensor([1.0, 1.0]))
    assert_close(found.axes, torch.eye(2, dtype=F64))
    assert_close(found.variances, tensor([8 / 3, 2 / 3]))
    assert_close(found.shares, tensor([0.8, 0.2]))
    assert_close(project(tensor([[4.0, 6.0]]), found), tensor([[3.0, 5.0]]))


def test_variances_are_those_of_the_coordinates_in_falling_order(points):
    found = principal_components(points, 5)
    coordinates = project(points, found)
    assert_close(coordinates.var(dim=0, unbiased=True), found.variances)
    assert found.variances.tolist() == sorted(found.variances.tolist(), reverse=True)
    assert_close(found.shares.sum(), torch.tensor(1.0, dtype=F64))
    assert_close(found.axes @ found.axes.mT, torch.eye(5, dtype=F64))


def test_axes_are_eigenvectors_of_the_covariance(points):
    found = principal_components(points, 3)
    centred = points - points.mean(0)
    covariance = centred.mT @ centred / 12
    assert_close(found.axes @ covariance, found.variances[:, None] * found.axes)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_what_k_axes_lose_is_the_tail_of_the_singular_values(points, k):
    found = principal_components(points, k)
    back = reconstruct(project(points, found), found)
    sizes = torch.linalg.svdvals(points - points.mean(0))
    assert_close((points - back).square().sum(), sizes[k:].square().sum(), atol=1e-9, rtol=1e-9)


def test_the_entry_of_largest_size_of_each_axis_is_positive(points):
    for x in points, -points, points.flip(0):
        axes = principal_components(x, 5).axes
        largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
        assert (largest > 0).all()


def test_shares_count_the_axes_that_are_left_out(points):
    first, full = principal_components(points, 2), principal_components(points, 5)
    assert_close(first.shares, full.shares[:2])
    assert first.shares.sum() < 1


def test_points_that_coincide_have_no_variance_to_share():
    found = principal_components(tensor([[1.0, 2.0]] * 3), 2)
    assert found.shares.tolist() == [0.0, 0.0]
    assert found.variances.tolist() == [0.0, 0.0]


def test_new_points_are_measured_from_the_old_mean(points):
    found = principal_components(points, 2)
    assert_close(project(found.mean[None], found), torch.zeros(1, 2, dtype=F64))


def test_components_refuse_what_has_no_spread():
    with pytest.raises(ValueError, match=r"x must hold at least two points; got x=\(1, 3\)"):
        principal_components(torch.ones(1, 3), 1)
    with pytest.raises(ValueError, match="k must be at most the smaller of n and d; got k=3, n=2"):
        principal_components(torch.ones(2, 5), 3)
    with pytest.raises(ValueError, match="k must be an integer of at least 1; got k=0"):
        principal_components(torch.ones(2, 5), 0)
    for wrong in math.nan, math.inf:
        with pytest.raises(ValueError, match="x must hold finite numbers"):
            principal_components(torch.tensor([[wrong, 1.0], [0.0, 1.0]]), 1)


def test_project_and_reconstruct_refuse_another_dimension(points):
    found = principal_components(points, 2)
    rule = r"x must have the dimension of the axes; got x=\(1, 3\), axes=\(2, 5\)"
    with pytest.raises(ValueError, match=rule):
        project(torch.ones(1, 3, dtype=F64), found)
    rule = r"coordinates must have one column per axis; got coordinates=\(1, 3\), axes=\(2, 5\)"
    with pytest.raises(ValueError, match=rule):
        reconstruct(torch.ones(1, 3, dtype=F64), found)


# procrustes


def test_a_quarter_turn_is_found():
    x = tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    turn = tensor([[0.0, 1.0], [-1.0, 0.0]])
    assert_close(procrustes(x, x @ turn), turn)


def test_a_planted_map_is_found_under_noise(generator):
    planted = torch.linalg.qr(random(5, 5, generator=generator))[0]
    x = random(101, 5, generator=generator)
    y = x @ planted + 1e-3 * random(101, 5, generator=generator)
    assert_close(procrustes(x, x @ planted), planted)
    assert_close(procrustes(x, y), planted, atol=1e-3, rtol=0)


def test_no_small_turn_is_better(generator):
    x, y = random(11, 3, generator=generator), random(11, 3, generator=generator)
    R = procrustes(x, y)
    assert_close(R.mT @ R, torch.eye(3, dtype=F64))
    least = (x @ R - y).norm()
    for _ in range(20):
        skew = 0.05 * random(3, 3, generator=generator)
        turned = R @ torch.linalg.matrix_exp(skew - skew.mT)
        assert (x @ turned - y).norm() > least


def test_procrustes_refuses_what_is_no_pairs():
    with pytest.raises(ValueError, match="y must hold finite numbers"):
        procrustes(torch.ones(2, 3), torch.full((2, 3), torch.nan))


@pytest.mark.bad_input
def test_procrustes_refuses_unequal_shapes():
    rule = r"the same shape: pairs of points; got x=\(2, 3\), y=\(2, 2\)"
    with pytest.raises(ValueError, match=rule):
        procrustes(torch.ones(2, 3), torch.ones(2, 2))


@pytest.mark.bad_input
@pytest.mark.parametrize("wrong", [torch.ones(3), torch.ones(0, 3), torch.ones(1, 2, 3)])
def test_points_are_a_matrix(wrong):
    with pytest.raises(ValueError, match="x must be a matrix with one point a row"):
        principal_components(wrong, 1)


@pytest.mark.bad_input
def test_points_are_floating_point():
    with pytest.raises(ValueError, match="x must hold floating-point numbers"):
        principal_components(torch.ones(3, 2, dtype=torch.long), 1)
