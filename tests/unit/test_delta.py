"""The delta rule: by hand, by a loop over the formula, what it overwrites and what it keeps."""

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention import count_operations
from softlookup.attention.efficient import delta_attention, delta_step

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def problem(generator, *lead, n=13, d_k=3, d_v=5):
    """Query, key of length 1, value and rate."""
    query, key = (
        torch.randn(*lead, n, d_k, dtype=torch.float64, generator=generator) for _ in range(2)
    )
    value = torch.randn(*lead, n, d_v, dtype=torch.float64, generator=generator)
    rate = torch.rand(*lead, n, dtype=torch.float64, generator=generator)
    return query, key / key.norm(dim=-1, keepdim=True), value, rate


def by_formula(query, key, value, rate):
    """S becomes (I - beta k k^T) S + beta k v^T, number by number."""
    n, d_k, d_v = len(query), key.shape[1], value.shape[1]
    S, rows = [[0.0] * d_v for _ in range(d_k)], []
    for q, k, v, beta in zip(*(x.tolist() for x in (query, key, value, rate)), strict=True):
        keep = [[(a == b) - beta * k[a] * k[b] for b in range(d_k)] for a in range(d_k)]
        S = [
            [sum(keep[a][b] * S[b][c] for b in range(d_k)) + beta * k[a] * v[c] for c in range(d_v)]
            for a in range(d_k)
        ]
        rows.append([sum(q[a] * S[a][c] for a in range(d_k)) for c in range(d_v)])
    return tensor(rows).reshape(n, d_v)


@pytest.mark.parametrize("chunk", [1, 2, 5, 13, 64])
def test_all_chunks_give_what_the_formula_says(generator, chunk):
    given = problem(generator)
    assert_close(delta_attention(*given, chunk=chunk), by_formula(*given), **EXACT)


def test_the_steps_of_a_stream_give_the_whole_and_the_state_does_not_grow(generator):
    query, key, value, rate = problem(generator, 2, n=11)
    whole, state = delta_attention(query, key, value, rate), None
    for t in range(11):
        out, state = delta_step(query[:, t], key[:, t], value[:, t], rate[:, t], state)
        assert_close(out, whole[:, t], **EXACT)
        assert state.shape == (2, 3, 5)


@pytest.mark.parametrize("chunk", [1, 3])
def test_by_hand_a_second_value_replaces_the_first_as_far_as_the_rate_says(chunk):
    """Key 0 gets 4, key 1 gets 7; then key 0 gets 8, with rate 3/4: 4 + 3/4 (8 - 4) = 7."""
    key = tensor([[1, 0], [0, 1], [1, 0]])
    value, rate = tensor([[4], [7], [8]]), tensor([1, 1, 0.75])
    query = tensor([[1, 1], [1, 1], [1, 0]])
    out = delta_attention(query, key, value, rate, chunk=chunk)
    assert_close(out, tensor([[4], [11], [7]]))


def test_the_work_grows_as_n(generator):
    def products(n):
        given = problem(generator, n=n)
        return count_operations(lambda *x: delta_attention(*x, chunk=4), *given).multiplications

    assert products(64) == 4 * products(16)


def test_the_state_fits_the_key():
    row, rate = torch.zeros(3), torch.tensor(0.5)
    with pytest.raises(ValueError, match=r"state must have one row per entry of the key"):
        delta_step(row, row, torch.zeros(2), rate, torch.zeros(4, 2))


@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan")])
def test_a_rate_outside_0_and_1_is_refused(wrong):
    rows = torch.ones(2, 3)
    with pytest.raises(ValueError, match="rate must be from 0 to 1"):
        delta_attention(rows, rows, rows, torch.tensor([0.5, wrong]))
    with pytest.raises(ValueError, match="rate must be from 0 to 1"):
        delta_step(rows[0], rows[0], rows[0], torch.tensor(wrong))
