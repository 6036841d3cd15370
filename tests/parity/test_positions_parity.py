"""Positions against other ways to compute them: complex numbers, NumPy, PyTorch, the papers'."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from softlookup.attention import GroupedQueryAttention, attention_weights
from softlookup.attention.positions import (
    LearnedPositions,
    Rotary,
    alibi_bias,
    alibi_slopes,
    bit_positions,
    shift_rotation,
    sinusoidal,
)
from softlookup.masks import causal_mask

F64 = torch.float64
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def random(generator, *shape):
    return torch.randn(shape, dtype=F64, generator=generator)


# sinusoids


def numpy_sinusoids(n, d_model, base):
    """Loops over positions and columns in NumPy; the exponent by the column's own number."""
    codes = np.zeros((n, d_model))
    for t in range(n):
        for column in range(d_model):
            angle = t / np.power(base, 2 * (column // 2) / d_model)
            codes[t, column] = np.cos(angle) if column % 2 else np.sin(angle)
    return torch.from_numpy(codes)


@pytest.mark.parametrize(("n", "d_model", "base"), [(101, 14, 10000.0), (23, 6, 100.0)])
def test_sinusoids_are_numpys(n, d_model, base):
    assert_close(sinusoidal(n, d_model, base=base, dtype=F64), numpy_sinusoids(n, d_model, base))


def test_sinusoids_are_the_powers_of_complex_numbers():
    r"""The pair is $(\operatorname{Im}, \operatorname{Re})$ of $z_i^t$, with $|z_i| = 1$."""
    i = torch.arange(7, dtype=F64)
    hands = torch.exp(1j * 10000 ** (-i / 7))
    power, rows = torch.ones(7, dtype=torch.complex128), []
    for _ in range(53):
        rows.append(torch.stack([power.imag, power.real], dim=1).flatten())
        power = power * hands
    assert_close(sinusoidal(53, 14, dtype=F64), torch.stack(rows), **EXACT)


@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
def test_the_shift_is_the_map_that_least_squares_finds(layout):
    """`relative-position-linear`: 101 pairs of codes leave no other matrix."""
    codes = sinusoidal(108, 6, base=100.0, layout=layout, dtype=F64)
    found = torch.linalg.lstsq(codes[:101], codes[7:]).solution.mT
    rotation = shift_rotation(7, 6, base=100.0, layout=layout, dtype=F64)
    assert_close(found, rotation, rtol=1e-9, atol=1e-9)


def test_the_shift_is_a_matrix_exponential():
    """A turn by one angle a pair is the exponential of a skew matrix."""
    omega = [10000 ** (-i / 3) for i in range(3)]
    skew = torch.block_diag(*[torch.tensor([[0.0, w], [-w, 0.0]], dtype=F64) for w in omega])
    assert_close(shift_rotation(11, 6, dtype=F64), torch.linalg.matrix_exp(11 * skew), **EXACT)


# bits


def test_bits_are_numpys():
    expected = np.unpackbits(np.arange(251, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    assert bit_positions(251, 8).equal(torch.from_numpy(expected).float())


# learned positions


def test_learned_positions_are_pytorchs_embedding(generator):
    learned, table = LearnedPositions(11, 5).double(), nn.Embedding(11, 5, dtype=F64)
    table.load_state_dict(learned.embedding.state_dict())
    positions = torch.randint(11, (3, 7), generator=generator)
    for module in (learned, table):
        module(positions).pow(3).sum().backward()
    assert learned(positions).equal(table(positions))
    assert_close(learned.embedding.weight.grad, table.weight.grad, **EXACT)


# rotary positions


def complex_rotary(rows, positions, base):
    """The paper's own view: each pair is a complex number, multiplied by one of length 1."""
    d = rows.shape[-1]
    omega = base ** (-torch.arange(0, d, 2, dtype=F64) / d)
    turns = torch.polar(torch.ones(len(positions), d // 2, dtype=F64), positions[:, None] * omega)
    pairs = torch.view_as_complex(rows.reshape(*rows.shape[:-1], d // 2, 2))
    return torch.view_as_real(pairs * turns).flatten(-2)


def rotate_half_rotary(rows, positions, base):
    """The program that pairs halves: cosines and sines are doubled, half a row is swapped."""
    d = rows.shape[-1]
    angles = torch.outer(positions, 1.0 / base ** (torch.arange(0, d, 2, dtype=F64) / d))
    angles = torch.cat([angles, angles], dim=-1)
    swapped = torch.cat([-rows[..., d // 2 :], rows[..., : d // 2]], dim=-1)
    return rows * angles.cos() + swapped * angles.sin()


@pytest.mark.parametrize(
    ("pairing", "other"), [("interleaved", complex_rotary), ("halves", rotate_half_rotary)]
)
@pytest.mark.parametrize("d_k", [2, 6, 14])
def test_rotary_is_that_of_the_papers(pairing, other, d_k, generator):
    rows = random(generator, 2, 3, 5, d_k)
    positions = torch.tensor([0, 1, 7, 101, 5003])
    rotary = Rotary(d_k, base=500.0, pairing=pairing)
    assert_close(rotary(rows, positions), other(rows, positions.double(), 500.0), **EXACT)


def test_rotary_is_the_shift_of_sinusoids_seen_from_the_other_side(generator):
    """Sine first: the code's matrix turns (cos, sin) backwards, hence its transpose here."""
    rows = random(generator, 5, 6)
    turned = torch.stack([shift_rotation(t, 6, dtype=F64).mT @ row for t, row in enumerate(rows)])
    assert_close(Rotary(6)(rows), turned, **EXACT)


def test_rotary_scores_in_scaled_dot_product_attention(generator):
    """The weights of PyTorch's kernel are those of scores that were turned by their distance."""
    query, key = random(generator, 7, 6), random(generator, 7, 6)
    rotary = Rotary(6)
    scores = torch.empty(7, 7, dtype=F64)
    for i in range(7):
        for j in range(7):
            turn = shift_rotation(j - i, 6, dtype=F64).mT
            scores[i, j] = query[i] @ turn @ key[j] / math.sqrt(6)
    ones = torch.eye(7, dtype=F64)
    expected = F.scaled_dot_product_attention(rotary(query), rotary(key), ones, is_causal=True)
    assert_close(scores.masked_fill(~causal_mask(7), -math.inf).softmax(dim=-1), expected, **EXACT)


def test_rotary_in_many_heads(generator):
    """The layer hands queries and keys of all heads over; the queries are the last positions."""
    layer = GroupedQueryAttention(6, 3, d_k=4, d_v=2, d_context=5).double()
    x, context = random(generator, 2, 3, 6), random(generator, 2, 7, 5)
    query, key, value = (
        linear(rows).unflatten(-1, (3, -1)).transpose(1, 2)
        for linear, rows in ((layer.W_Q, x), (layer.W_K, context), (layer.W_V, context))
    )
    places = torch.arange(7, dtype=F64)
    query = complex_rotary(query, places[-3:], 10000.0)
    key = complex_rotary(key, places, 10000.0)
    out = F.scaled_dot_product_attention(query, key, value)
    expected = layer.W_O(out.transpose(1, 2).flatten(-2))
    for fused in (True, False):
        layer.fused = fused
        assert_close(layer(x, context, rotary=Rotary(4)), expected, **EXACT)


def test_alibi_in_many_heads(generator):
    """Its bias in our layer, as the float mask of PyTorch's kernel."""
    layer = GroupedQueryAttention(6, 3).double()
    x = random(generator, 2, 7, 6)
    query, key, value = (
        linear(x).unflatten(-1, (3, 2)).transpose(1, 2)
        for linear in (layer.W_Q, layer.W_K, layer.W_V)
    )
    slopes = torch.tensor(published_slopes(3), dtype=F64)[:, None, None]
    bias = (slopes * torch.arange(7)).masked_fill(~causal_mask(7), -math.inf)
    out = F.scaled_dot_product_attention(query, key, value, bias)
    expected = layer.W_O(out.transpose(1, 2).flatten(-2))
    found = layer(x, mask=causal_mask(7), score_bias=alibi_bias(3, 7, dtype=F64))
    assert_close(found, expected, **EXACT)


# ALiBi


def published_slopes(n):
    """As Press et al. publish it: a geometric sequence, recursively for other numbers of heads."""
    if math.log2(n).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]
    nearest = 2 ** math.floor(math.log2(n))
    return published_slopes(nearest) + published_slopes(2 * nearest)[0::2][: n - nearest]


@pytest.mark.parametrize("n_heads", range(1, 34))
def test_slopes_are_those_of_the_papers_program(n_heads):
    expected = torch.tensor(published_slopes(n_heads), dtype=F64)
    assert_close(alibi_slopes(n_heads, dtype=F64), expected, **EXACT)


def test_causal_bias_is_that_of_the_papers_program(generator):
    """The paper adds the slope times j to row i; a row's constant falls out of the softmax."""
    query, key = random(generator, 3, 7, 5), random(generator, 3, 7, 5)
    scores = query @ key.mT / math.sqrt(5)
    forbidden = ~causal_mask(7)
    bias = torch.tensor(published_slopes(3), dtype=F64)[:, None, None] * torch.arange(7)
    expected = (scores + bias).masked_fill(forbidden, -math.inf).softmax(dim=-1)
    ours = (scores + alibi_bias(3, 7, dtype=F64)).masked_fill(forbidden, -math.inf)
    assert_close(ours.softmax(dim=-1), expected, **EXACT)


def test_bias_as_the_float_mask_of_scaled_dot_product_attention(generator):
    query, key = random(generator, 3, 2, 5), random(generator, 3, 7, 5)
    bias = alibi_bias(3, 2, 7, dtype=F64)
    out = F.scaled_dot_product_attention(query, key, torch.eye(7, dtype=F64).expand(3, 7, 7), bias)
    plain = attention_weights(query, key)
    expected = plain * bias.exp()
    assert_close(out, expected / expected.sum(dim=-1, keepdim=True), **EXACT)
