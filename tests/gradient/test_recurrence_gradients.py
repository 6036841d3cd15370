"""Derivatives through time: autograd against finite differences, and none from the padding."""

import math

import pytest
import torch
from torch.autograd import gradcheck
from torch.func import functional_call
from torch.testing import assert_close

from softlookup.layers import GRUCell, LSTMCell, RNNCell, rnn_step, unroll


@pytest.fixture(params=[RNNCell, GRUCell, LSTMCell])
def cell(request):
    torch.manual_seed(3)
    return request.param(3, 2).double()


def leaf(*shape, generator):
    return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()


def outputs(cell, x, lengths=None, reverse=False):
    hidden, last = unroll(cell, x, lengths=lengths, reverse=reverse)
    return (hidden, *(last if isinstance(last, tuple) else (last,)))


def test_one_step(generator):
    shapes = [(2, 3), (2, 5), (5, 3), (5, 5), (5,)]
    assert gradcheck(rnn_step, [leaf(*shape, generator=generator) for shape in shapes])


@pytest.mark.parametrize("reverse", [False, True])
def test_unrolled_with_respect_to_inputs_and_weights(cell, generator, reverse):
    names = list(dict(cell.named_parameters()))
    x = leaf(2, 5, 3, generator=generator)

    def forward(x, *parameters):
        given = dict(zip(names, parameters, strict=True))
        return functional_call(_Unrolled(cell), {"cell." + n: p for n, p in given.items()},
                               (x, [5, 2], reverse))  # fmt: skip

    assert gradcheck(forward, (x, *cell.parameters()))


class _Unrolled(torch.nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x, lengths, reverse):
        return outputs(self.cell, x, lengths, reverse)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("filler", [math.nan, math.inf, 1e30])
def test_filler_gets_no_gradient_and_reaches_none(cell, generator, filler, reverse):
    clean = leaf(2, 7, 3, generator=generator)
    dirty = clean.detach().clone()
    dirty[1, 4:] = filler
    dirty.requires_grad_()
    gradients = []
    for x in (clean, dirty):
        loss = sum(part.sin().sum() for part in outputs(cell, x, [7, 4], reverse))
        gradients.append(torch.autograd.grad(loss, (x, *cell.parameters())))
    assert gradients[1][0][1, 4:].eq(0).all()
    assert_close(gradients[1], gradients[0], rtol=0, atol=0)


def test_a_state_answers_only_to_what_was_read_before_it(cell, generator):
    x = leaf(1, 7, 3, generator=generator).detach()
    for reverse in (False, True):
        jacobian = torch.autograd.functional.jacobian(
            lambda x, reverse=reverse: unroll(cell, x, reverse=reverse)[0], x
        )
        reads = (jacobian[0, :, :, 0] != 0).any(dim=-1).any(dim=1)
        past = torch.ones(7, 7).tril().bool()
        assert reads.equal(past.mT if reverse else past)
