"""Gradients of what is trained, or lies on the way of what is trained."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.testing import assert_close

from softlookup.attention.positions import LearnedPositions, Rotary


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
@pytest.mark.parametrize("positions", [None, torch.tensor([7, 0, 101, 3, 3])])
def test_rotary(pairing, positions, generator):
    rows = torch.randn(2, 5, 6, dtype=torch.float64, generator=generator, requires_grad=True)
    rotary = Rotary(6, pairing=pairing)
    assert gradcheck(lambda r: rotary(r, positions), (rows,))
    assert gradgradcheck(lambda r: rotary(r, positions), (rows,))
    assert gradgradcheck(lambda r: rotary(r, positions).pow(3), (rows,))


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_the_gradient_of_a_turn_is_turned_back(pairing, generator):
    rows = torch.randn(5, 6, dtype=torch.float64, generator=generator, requires_grad=True)
    other = torch.randn(5, 6, dtype=torch.float64, generator=generator)
    rotary = Rotary(6, pairing=pairing)
    (gradient,) = torch.autograd.grad((rotary(rows) * other).sum(), rows)
    assert_close(rotary(gradient), other)


def test_learned_positions(generator):
    learned = LearnedPositions(7, 3).double()
    weight = torch.randn(7, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    positions = torch.tensor([[2, 2, 5], [0, 6, 2]])

    def rows(weight):
        return torch.func.functional_call(learned, {"embedding.weight": weight}, (positions,))

    assert gradcheck(rows, (weight,))
    assert gradgradcheck(lambda w: rows(w).pow(3), (weight,))


def test_a_position_that_is_read_twice_collects_its_gradient_twice():
    learned = LearnedPositions(7, 3).double()
    learned(torch.tensor([2, 5, 2])).sum().backward()
    expected = torch.zeros(7, 3, dtype=torch.float64)
    expected[5], expected[2] = 1, 2
    assert_close(learned.embedding.weight.grad, expected, rtol=0, atol=0)
