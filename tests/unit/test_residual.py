"""The residual block: what it adds, its Jacobian, the identity, and shapes that it refuses."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from softlookup.layers import Residual


@pytest.fixture
def x(generator):
    return torch.randn(7, 5, dtype=torch.float64, generator=generator)


def test_adds_the_branch_to_its_input(x):
    torch.manual_seed(3)
    branch = nn.Sequential(nn.Linear(5, 5), nn.Tanh()).double()
    weight, bias = branch[0].weight, branch[0].bias
    expected = [
        [
            row[i] + torch.tanh(sum(weight[i, j] * row[j] for j in range(5)) + bias[i])
            for i in range(5)
        ]
        for row in x
    ]
    found = Residual(branch)(x)
    assert_close(found, torch.stack([torch.stack(row) for row in expected]))


def test_jacobian_is_the_identity_plus_the_branch_s(x):
    """`residual-connection`."""
    torch.manual_seed(3)
    branch = nn.Sequential(nn.Linear(5, 5), nn.Tanh()).double()
    J, J_F = (torch.autograd.functional.jacobian(f, x[0]) for f in (Residual(branch), branch))
    assert_close(J, torch.eye(5, dtype=torch.float64) + J_F)


def test_silent_branch_is_the_identity_exactly(x):
    """`residual-learns-difference`."""
    branch = nn.Linear(5, 5).double()
    nn.init.zeros_(branch.weight)
    nn.init.zeros_(branch.bias)
    assert torch.equal(Residual(branch)(x), x)


def test_the_branch_may_not_change_its_input_in_the_sum(x):
    kept = x.clone()
    Residual(nn.ReLU())(x)
    assert torch.equal(x, kept)


@pytest.mark.bad_input
@pytest.mark.parametrize("d_out", [1, 3])  # 1 could be broadcast in silence
def test_branch_that_changes_the_shape_is_refused(x, d_out):
    message = rf"branch must keep the shape of x.*got x=\(7, 5\), output=\(7, {d_out}\)"
    with pytest.raises(ValueError, match=message):
        Residual(nn.Linear(5, d_out).double())(x)
