"""The same weights copied into PyTorch's recurrent cells and layers: output and every gradient."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from softlookup.layers import GRUCell, LSTMCell, RNNCell, rnn_step, unroll

EXACT = {"rtol": 1e-10, "atol": 1e-10}
PEERS = [
    (RNNCell, nn.RNNCell, nn.RNN),
    (GRUCell, nn.GRUCell, nn.GRU),
    (LSTMCell, nn.LSTMCell, nn.LSTM),
]


@pytest.fixture(autouse=True)
def _seed():
    """The cells draw their weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture(params=PEERS, ids=["rnn", "gru", "lstm"])
def peers(request):
    """Our cell, PyTorch's cell and PyTorch's layer, all with the same numbers."""
    ours, their_cell, their_layer = request.param
    ours = ours(5, 3).double()
    cell = their_cell(5, 3, dtype=torch.float64)
    layer = their_layer(5, 3, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for name, parameter in weights(ours).items():
            getattr(cell, name).copy_(parameter)
            getattr(layer, name + "_l0").copy_(parameter)
    return ours, cell, layer


def weights(cell):
    """Our parameters by the names that PyTorch gives them."""
    return {
        "weight_ih": cell.W_xh.weight,
        "weight_hh": cell.W_hh.weight,
        "bias_ih": cell.W_xh.bias,
        "bias_hh": cell.W_hh.bias,
    }


def states(ours, *shape, generator):
    """One random state, with gradients, as two separate copies."""
    n = 2 if isinstance(ours, LSTMCell) else 1
    parts = [torch.randn(*shape, 3, dtype=torch.float64, generator=generator) for _ in range(n)]
    copies = [tuple(part.clone().requires_grad_() for part in parts) for _ in range(2)]
    return copies if n == 2 else [copy[0] for copy in copies]


def flat(state):
    return state if isinstance(state, tuple) else (state,)


def objective(*tensors):
    """A loss in which every number has a weight of its own."""
    loss = 0
    for tensor in tensors:
        steps = torch.arange(1, tensor.numel() + 1, dtype=torch.float64)
        loss = loss + (steps.reshape(tensor.shape).sin() * tensor).sum()
    return loss


def assert_same_gradients(ours, theirs, suffix=""):
    for name, parameter in weights(ours).items():
        assert_close(parameter.grad, getattr(theirs, name + suffix).grad, **EXACT)


def test_cell_is_pytorch_s(peers, generator):
    ours, cell, _ = peers
    x, y = (torch.randn(2, 5, dtype=torch.float64) for _ in range(2))
    y = x.clone().requires_grad_()
    x.requires_grad_()
    first, second = states(ours, 2, generator=generator)
    a, b = flat(ours(x, first)), flat(cell(y, second))
    assert_close(a, b, **EXACT)
    objective(*a).backward()
    objective(*b).backward()
    assert_close(x.grad, y.grad, **EXACT)
    for one, other in zip(flat(first), flat(second), strict=True):
        assert_close(one.grad, other.grad, **EXACT)
    assert_same_gradients(ours, cell)


def test_unrolled_cell_is_pytorch_s_layer(peers, generator):
    ours, _, layer = peers
    x = torch.randn(2, 7, 5, dtype=torch.float64, generator=generator).requires_grad_()
    y = x.detach().clone().requires_grad_()
    first, second = states(ours, 2, generator=generator)
    hidden, last = unroll(ours, x, first)
    lifted = tuple(part.unsqueeze(0) for part in flat(second))
    theirs, their_last = layer(y, lifted if len(lifted) == 2 else lifted[0])
    their_last = tuple(part.squeeze(0) for part in flat(their_last))
    assert_close(hidden, theirs, **EXACT)
    assert_close(flat(last), their_last, **EXACT)
    objective(hidden, *flat(last)).backward()
    objective(theirs, *their_last).backward()
    assert_close(x.grad, y.grad, **EXACT)
    assert_same_gradients(ours, layer, "_l0")


def test_ragged_batch_is_pytorch_s_packed_sequence(peers, generator):
    ours, _, layer = peers
    x = torch.randn(3, 7, 5, dtype=torch.float64, generator=generator)
    lengths = [4, 7, 1]
    hidden, last = unroll(ours, x, lengths=lengths)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    theirs, their_last = layer(packed)
    theirs, _ = pad_packed_sequence(theirs, batch_first=True)
    assert_close(hidden, theirs, **EXACT)
    assert_close(flat(last), tuple(part.squeeze(0) for part in flat(their_last)), **EXACT)
    objective(hidden, *flat(last)).backward()
    objective(theirs, *(part.squeeze(0) for part in flat(their_last))).backward()
    assert_same_gradients(ours, layer, "_l0")


def test_two_directions_are_pytorch_s_bidirectional_layer(generator):
    layer = nn.GRU(5, 3, batch_first=True, bidirectional=True, dtype=torch.float64)
    cells = [GRUCell(5, 3).double() for _ in range(2)]
    with torch.no_grad():
        for cell, suffix in zip(cells, ("_l0", "_l0_reverse"), strict=True):
            for name, parameter in weights(cell).items():
                parameter.copy_(getattr(layer, name + suffix))
    x = torch.randn(3, 7, 5, dtype=torch.float64, generator=generator)
    lengths = [4, 7, 1]
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    theirs, _ = pad_packed_sequence(layer(packed)[0], batch_first=True)
    there, _ = unroll(cells[0], x, lengths=lengths)
    back, _ = unroll(cells[1], x, lengths=lengths, reverse=True)
    assert_close(torch.cat((there, back), dim=-1), theirs, **EXACT)


def test_step_is_pytorch_s_cell_with_one_bias(generator):
    """`vanilla-rnn-equations`."""
    cell = nn.RNNCell(5, 3, dtype=torch.float64)
    x = torch.randn(2, 5, dtype=torch.float64, generator=generator)
    hidden = torch.randn(2, 3, dtype=torch.float64, generator=generator)
    b = cell.bias_ih + cell.bias_hh
    assert_close(rnn_step(x, hidden, cell.weight_ih, cell.weight_hh, b), cell(x, hidden), **EXACT)
