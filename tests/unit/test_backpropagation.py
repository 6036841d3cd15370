"""Backpropagation through time: by hand, against autograd, finite differences and the slides."""

import pytest
import torch
from torch.testing import assert_close

from softlookup.layers import bptt, hidden_gradients, rnn_step

NAMES = ("x", "hidden", "W_xh", "W_hh", "b", "W_hy")


@pytest.fixture
def problem(generator):
    """Seven steps, inputs of width five, three units, two classes too many to guess: eleven."""
    shapes = {"x": (7, 5), "hidden": (3,), "W_xh": (3, 5), "W_hh": (3, 3), "b": (3,),
              "W_hy": (11, 3)}  # fmt: skip
    given = {
        name: torch.randn(shape, dtype=torch.float64, generator=generator)
        for name, shape in shapes.items()
    }
    return given | {"targets": torch.randint(11, (7,), generator=generator)}


def states_by_loops(x, hidden, W_xh, W_hh, b):
    states = []
    for row in x:
        hidden = rnn_step(row, hidden, W_xh, W_hh, b)
        states.append(hidden)
    return states


def losses(states, targets, W_hy):
    return [-torch.log_softmax(W_hy @ h, dim=0)[y] for h, y in zip(states, targets, strict=True)]


def loss_of(x, hidden, W_xh, W_hh, b, W_hy, targets):
    return sum(losses(states_by_loops(x, hidden, W_xh, W_hh, b), targets, W_hy))


def test_loss_is_the_sum_over_steps(problem):
    """`sequence-loss-sum`."""
    assert_close(bptt(**problem)[0], loss_of(**problem))


def test_gradients_are_those_of_autograd_to_1e_9(problem):
    """`bptt-unroll`."""
    leaves = {name: problem[name].clone().requires_grad_() for name in NAMES}
    loss_of(**leaves, targets=problem["targets"]).backward()
    _, gradients = bptt(**problem)
    assert gradients._fields == NAMES
    for name in NAMES:
        assert_close(getattr(gradients, name), leaves[name].grad, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_finite_differences_to_1e_8(problem, name):
    """`bptt-parameter-gradients`: central differences, every single number."""
    expected = torch.empty_like(problem[name])
    step = 1e-5
    for place in range(expected.numel()):
        ends = []
        for sign in (1, -1):
            moved = problem[name].clone()
            moved.view(-1)[place] += sign * step
            ends.append(loss_of(**problem | {name: moved}))
        expected.view(-1)[place] = (ends[0] - ends[1]) / (2 * step)
    assert_close(getattr(bptt(**problem)[1], name), expected, rtol=0, atol=1e-8)


def direct_and_slopes(problem):
    """For each step: how its own loss answers to its state, the slope of tanh, and the delta."""
    names = ("x", "hidden", "W_xh", "W_hh", "b")
    states = states_by_loops(*(problem[name].requires_grad_() for name in names))
    each = losses(states, problem["targets"], problem["W_hy"])
    direct = torch.stack([torch.autograd.grad(loss, h, retain_graph=True)[0]
                          for loss, h in zip(each, states, strict=True)])  # fmt: skip
    deltas = torch.stack(torch.autograd.grad(sum(each), states))
    return direct, 1 - torch.stack(states).detach().square(), deltas


def test_hidden_gradients_are_those_of_autograd(problem):
    """`bptt-hidden-gradient`."""
    direct, slopes, deltas = direct_and_slopes(problem)
    assert_close(hidden_gradients(direct, slopes, problem["W_hh"]), deltas)


def test_the_recursion_of_lecture_003_gives_something_else(problem):
    """E52: printed is direct_t + delta_{t+1} W_hh^T * f'(a_t)."""
    direct, slopes, deltas = direct_and_slopes(problem)
    W_hh = problem["W_hh"].detach()
    printed = [direct[-1]]
    for t in reversed(range(6)):
        printed.append(direct[t] + printed[-1] @ W_hh.mT * slopes[t])
    printed = torch.stack(printed[::-1])
    assert_close(printed[-1], deltas[-1])
    assert ((printed - deltas)[:-1].norm(dim=-1) > 0.05 * deltas[:-1].norm(dim=-1)).all()


@pytest.mark.parametrize(("radius", "expected"), [(0.9, 0.00515), (1.0, 1.0), (1.1, 117.4)])
def test_linear_network_scales_the_gradient_by_the_spectral_radius(radius, expected, generator):
    """`vanishing-exploding-gradients`: a scaled orthogonal matrix, fifty steps back."""
    W_hh = torch.empty(7, 7, dtype=torch.float64)
    torch.nn.init.orthogonal_(W_hh, gain=radius, generator=generator)
    direct = torch.zeros(51, 7, dtype=torch.float64)
    direct[-1, 0] = 1.0
    norms = hidden_gradients(direct, torch.ones_like(direct), W_hh).norm(dim=-1)
    lags = torch.arange(50, -1, -1, dtype=torch.float64)
    assert_close(norms, radius**lags)
    assert norms[0].item() == pytest.approx(expected, rel=1e-3)


def test_one_step_has_no_future(problem):
    direct = problem["W_xh"][:1, :3]
    assert_close(hidden_gradients(direct, direct, problem["W_hh"]), direct)


def test_given_tensors_stay_as_they_were(problem):
    before = {name: tensor.clone() for name, tensor in problem.items()}
    bptt(**problem)
    assert all(tensor.equal(before[name]) for name, tensor in problem.items())


# bad input


