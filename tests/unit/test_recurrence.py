"""Recurrence: the worked example of lecture 003, loops over units, padding, bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.layers import GRUCell, LSTMCell, RNNCell, rnn_step, unroll

CELLS = [RNNCell, GRUCell, LSTMCell]


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def parts(state):
    return state if isinstance(state, tuple) else (state,)


def dot(row, vector):
    return sum(a * b for a, b in zip(row, vector, strict=True))


def logistic(a):
    return 1 / (1 + math.exp(-a))


def maps_by_loops(cell, x, hidden):
    """W x + b for each of the two linear maps, one unit at a time, cut into as many gates."""
    results = []
    for linear, vector in ((cell.W_xh, x), (cell.W_hh, hidden)):
        weight, bias = linear.weight.tolist(), linear.bias.tolist()
        values = [dot(row, vector) + b for row, b in zip(weight, bias, strict=True)]
        n = len(hidden)
        results.append([values[i : i + n] for i in range(0, len(values), n)])
    return results


def rnn_by_loops(cell, x, hidden):
    (from_x,), (from_h,) = maps_by_loops(cell, x, hidden)
    return ([math.tanh(a + b) for a, b in zip(from_x, from_h, strict=True)],)


def gru_by_loops(cell, x, hidden):
    from_x, from_h = maps_by_loops(cell, x, hidden)
    new = []
    for u, old in enumerate(hidden):
        r = logistic(from_x[0][u] + from_h[0][u])
        z = logistic(from_x[1][u] + from_h[1][u])
        candidate = math.tanh(from_x[2][u] + r * from_h[2][u])
        new.append((1 - z) * candidate + z * old)
    return (new,)


def lstm_by_loops(cell, x, hidden, memory):
    from_x, from_h = maps_by_loops(cell, x, hidden)
    new, kept = [], []
    for u, old in enumerate(memory):
        i, f, g, o = (from_x[gate][u] + from_h[gate][u] for gate in range(4))
        kept.append(logistic(f) * old + logistic(i) * math.tanh(g))
        new.append(logistic(o) * math.tanh(kept[-1]))
    return new, kept


LOOPS = {RNNCell: rnn_by_loops, GRUCell: gru_by_loops, LSTMCell: lstm_by_loops}


@pytest.fixture(autouse=True)
def _seed():
    """The cells draw their weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture(params=CELLS)
def cell(request):
    return request.param(5, 3).double()


@pytest.fixture
def x(generator):
    """Two texts, seven steps, width five."""
    return torch.randn(2, 7, 5, dtype=torch.float64, generator=generator)


def random_state(cell, *lead, generator):
    shape = (*lead, cell.d_hidden)
    n_parts = 2 if isinstance(cell, LSTMCell) else 1
    drawn = [torch.randn(shape, dtype=torch.float64, generator=generator) for _ in range(n_parts)]
    return tuple(drawn) if n_parts == 2 else drawn[0]


# the lecture's numbers


def test_worked_example_of_lecture_003():
    """`rnn-worked-example`, E48: y is 0.8209; the slide prints 0.8215."""
    x, hidden = tensor([1.0, 0.0]), tensor([0.5, -0.5])
    W_hh, W_xh = tensor([[0.1, 0.2], [-0.1, 0.3]]), tensor([[0.4, 0.5], [0.6, 0.7]])
    b, W_hy = tensor([0.1, 0.2]), tensor([0.8, 0.9])
    after = rnn_step(x, hidden, W_xh, W_hh, b)
    assert_close(after.atanh(), tensor([0.45, 0.60]))
    assert_close(after, tensor([0.421899, 0.537050]), rtol=0, atol=5e-7)
    assert (W_hy @ after).item() == pytest.approx(0.820864, abs=5e-7)
    assert_close(W_hh @ hidden, tensor([-0.05, -0.20]))  # E50: a vector, not a 2 x 2 block


def test_step_equals_the_cell_whose_two_biases_are_added(generator, x):
    cell = RNNCell(5, 3).double()
    hidden = random_state(cell, 2, generator=generator)
    b = cell.W_xh.bias + cell.W_hh.bias
    expected = rnn_step(x[:, 0], hidden, cell.W_xh.weight, cell.W_hh.weight, b)
    assert_close(cell(x[:, 0], hidden), expected)


# one step


def test_cell_equals_a_loop_over_units(cell, x, generator):
    state = random_state(cell, 2, generator=generator)
    result = parts(cell(x[:, 0], state))
    for text in range(2):
        before = [part[text].tolist() for part in parts(state)]
        expected = LOOPS[type(cell)](cell, x[text, 0].tolist(), *before)
        for got, wanted in zip(result, expected, strict=True):
            assert_close(got[text], tensor(wanted))


def test_left_out_state_is_zero(cell, x):
    zeros = torch.zeros(2, 3, dtype=torch.float64)
    state = (zeros, zeros) if isinstance(cell, LSTMCell) else zeros
    assert_close(cell(x[:, 0]), cell(x[:, 0], state), rtol=0, atol=0)


@pytest.mark.parametrize(("kind", "n_maps"), [(RNNCell, 1), (GRUCell, 3), (LSTMCell, 4)])
def test_shapes_and_start_of_the_weights(kind, n_maps):
    """`rnn-time-invariance`: no shape depends on the number of steps."""
    cell = kind(5, 101)
    shapes = {name: tuple(parameter.shape) for name, parameter in cell.named_parameters()}
    rows = 101 * n_maps
    assert shapes == {
        "W_xh.weight": (rows, 5),
        "W_xh.bias": (rows,),
        "W_hh.weight": (rows, 101),
        "W_hh.bias": (rows,),
    }
    for name in ("W_xh.weight", "W_xh.bias", "W_hh.bias"):
        largest = cell.get_parameter(name).abs().max().item()
        assert largest == pytest.approx(101**-0.5, rel=0.05)
        assert largest <= 101**-0.5
    for square in cell.W_hh.weight.split(101):
        assert_close(square @ square.mT, torch.eye(101), rtol=0, atol=1e-5)


def test_lstm_with_open_forget_and_shut_input_gate_keeps_its_memory_exactly(generator, x):
    """`rnn-variants`."""
    cell = LSTMCell(5, 3).double()
    with torch.no_grad():
        cell.W_xh.bias[:3], cell.W_xh.bias[3:6] = -1e4, 1e4
    _, memory = state = random_state(cell, 2, generator=generator)
    _, (_, kept) = unroll(cell, x, state)
    assert kept.equal(memory)


def test_gru_with_update_gate_at_one_keeps_its_state_exactly(generator, x):
    cell = GRUCell(5, 3).double()
    with torch.no_grad():
        cell.W_xh.bias[3:6] = 1e4
    state = random_state(cell, 2, generator=generator)
    assert_close(unroll(cell, x, state)[1], state, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("kind", "gates"),
    [
        (GRUCell, {"reset_gate": 0, "update_gate": 1}),
        (LSTMCell, {"input_gate": 0, "forget_gate": 1, "output_gate": 3}),
    ],
)
def test_probes_see_the_gates(kind, gates, x, generator):
    cell = kind(5, 3).double()
    state, seen = random_state(cell, 2, generator=generator), {}
    for name in gates:
        getattr(cell, name).register_forward_hook(
            lambda module, inputs, output, name=name: seen.update({name: output})
        )
    cell(x[:, 0], state)
    total = cell.W_xh(x[:, 0]) + cell.W_hh(parts(state)[0])
    for name, place in gates.items():
        assert_close(seen[name], torch.sigmoid(total[:, 3 * place : 3 * place + 3]))


# many steps


def test_unroll_is_a_loop_of_steps(cell, x, generator):
    """`rnn-update-equation`: all inputs projected at once, or one by one."""
    state = random_state(cell, 2, generator=generator)
    hidden, last = unroll(cell, x, state)
    for t in range(7):
        state = cell(x[:, t], state)
        assert_close(hidden[:, t], parts(state)[0])
    assert_close(last, state)


def test_two_scans_chained_by_the_state_are_one(cell, x):
    """`recurrent-layer-state`."""
    whole, last = unroll(cell, x)
    first, between = unroll(cell, x[:, :4])
    second, end = unroll(cell, x[:, 4:], between)
    assert_close(torch.cat((first, second), dim=1), whole)
    assert_close(end, last)


def test_reverse_reads_from_the_end(cell, x, generator):
    state = random_state(cell, 2, generator=generator)
    hidden, last = unroll(cell, x, state, reverse=True)
    flipped, flipped_last = unroll(cell, x.flip(1), state)
    assert_close(hidden, flipped.flip(1))
    assert_close(last, flipped_last)


def test_unroll_takes_one_text_without_a_batch_and_several_leading_axes(cell, generator):
    x = torch.randn(2, 11, 7, 5, dtype=torch.float64, generator=generator)
    hidden, _ = unroll(cell, x)
    assert_close(hidden[1, 3], unroll(cell, x[1, 3])[0])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("filler", [0.0, 1e30, math.inf, math.nan])
def test_ragged_texts_come_out_as_if_alone(cell, x, generator, reverse, filler):
    state = random_state(cell, 2, generator=generator)
    x[1, 4:] = filler
    hidden, last = unroll(cell, x, state, lengths=[7, 4], reverse=reverse)
    for text, length in enumerate([7, 4]):
        alone = x[text : text + 1, :length]
        start = tuple(part[text : text + 1] for part in parts(state))
        start = start if isinstance(cell, LSTMCell) else start[0]
        expected, expected_last = unroll(cell, alone, start, reverse=reverse)
        assert_close(hidden[text, :length], expected[0])
        for got, wanted in zip(parts(last), parts(expected_last), strict=True):
            assert_close(got[text], wanted[0])
    assert hidden[1, 4:].eq(0).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_empty_text_leaves_the_state_as_it_was(cell, x, generator, reverse):
    state = random_state(cell, 2, generator=generator)
    hidden, last = unroll(cell, x, state, lengths=torch.tensor([0, 7]), reverse=reverse)
    assert hidden[0].eq(0).all()
    assert all(a[0].equal(b[0]) for a, b in zip(parts(last), parts(state), strict=True))


def test_unroll_changes_nothing_that_it_was_given(cell, x, generator):
    state = random_state(cell, 2, generator=generator)
    given = [x.clone(), *(part.clone() for part in parts(state))]
    unroll(cell, x, state, lengths=[7, 4])
    for before, after in zip(given, [x, *parts(state)], strict=True):
        assert before.equal(after)


def test_cells_keep_the_dtype(cell, x):
    hidden, last = unroll(cell.float(), x.float(), lengths=[7, 4])
    assert {hidden.dtype, *(part.dtype for part in parts(last))} == {torch.float32}


# bad input


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize(("d_in", "d_hidden", "name"), [(0, 3, "d_in"), (5, 0, "d_hidden")])
def test_cell_refuses_a_width_below_one(kind, d_in, d_hidden, name):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1; got {name}=0"):
        kind(d_in, d_hidden)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 5), (3,), (3, 5), (3, 3), (3,)], r"same leading axes; got x=\(2, 5\), hidden"),
    ],
)
def test_step_refuses_shapes(shapes, message):
    with pytest.raises(ValueError, match=message):
        rnn_step(*(torch.zeros(shape) for shape in shapes))


@pytest.mark.bad_input
def test_step_refuses_integers_and_mixed_dtypes():
    x, hidden, W_xh, W_hh, b = (torch.zeros(s) for s in [(5,), (3,), (3, 5), (3, 3), (3,)])
    with pytest.raises(ValueError, match=r"same dtype; got .*W_hh=torch.float64"):
        rnn_step(x, hidden, W_xh, W_hh.double(), b)




@pytest.mark.bad_input
@pytest.mark.parametrize("kind", [RNNCell, GRUCell])
def test_cell_refuses_a_state_that_is_no_row_per_text(kind):
    cell, x = kind(5, 3), torch.zeros(2, 5)
    with pytest.raises(ValueError, match=r"d_hidden for each row of x: \(2, 3\); got hidden=\(3,"):
        cell(x, torch.zeros(3))
    with pytest.raises(ValueError, match=r"state must be one tensor, .* got state='tuple'"):
        cell(x, (torch.zeros(2, 3), torch.zeros(2, 3)))
    with pytest.raises(ValueError, match=r"dtype torch.float32; got hidden=torch.float64"):
        cell(x, torch.zeros(2, 3).double())


@pytest.mark.bad_input
def test_lstm_refuses_a_state_that_is_no_pair():
    cell, x = LSTMCell(5, 3), torch.zeros(2, 5)
    with pytest.raises(ValueError, match=r"the pair \(hidden, memory\); got state='Tensor'"):
        cell(x, torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"memory must have one row .* got memory=\(1, 3\)"):
        cell(x, (torch.zeros(2, 3), torch.zeros(1, 3)))
