"""What holds for every width, base, position and shift: hypothesis draws them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.attention.positions import (
    LearnedPositions,
    Rotary,
    alibi_bias,
    alibi_slopes,
    bit_positions,
    frequencies,
    pairing_permutation,
    shift_rotation,
    sinusoidal,
    sinusoidal_at,
)

F64 = torch.float64
widths = st.integers(1, 11).map(lambda pairs: 2 * pairs)
sizes = st.integers(0, 11)
bases = st.floats(1.01, 1e5)
layouts = st.sampled_from(["interleaved", "concatenated"])
pairings = st.sampled_from(["interleaved", "halves"])
offsets = st.integers(-2003, 2003)
places = st.integers(0, 5003)
seeds = st.integers(0, 2**32 - 1)


def normal(seed, *shape):
    return torch.randn(shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def close(actual, expected):
    assert_close(actual, expected, rtol=0, atol=1e-10)


# sinusoids


@given(sizes, widths, bases, layouts, places)
def test_every_code_has_the_same_length(n, d_model, base, layout, start):
    """`sinusoidal-formula`: the squared length is d / 2 at every position."""
    codes = sinusoidal(n, d_model, base=base, layout=layout, start=start, dtype=F64)
    close(codes.square().sum(dim=1), torch.full((n,), d_model / 2, dtype=F64))
    assert codes.abs().le(1).all()


@given(widths, bases, layouts, places, offsets)
def test_similarity_knows_only_the_offset(d_model, base, layout, t, offset):
    """It is the sum of the cosines, whatever t is."""
    options = {"base": base, "layout": layout, "dtype": F64}
    a, b = sinusoidal_at(torch.tensor([t, t + abs(offset)]), d_model, **options)
    expected = (abs(offset) * frequencies(d_model, base=base)).cos().sum()
    close(a @ b, expected)


@given(widths, bases, layouts, places, offsets)
def test_a_shift_is_one_rotation(d_model, base, layout, t, offset):
    options = {"base": base, "layout": layout, "dtype": F64}
    t = max(t, -offset)
    rotation = shift_rotation(offset, d_model, **options)
    before, after = sinusoidal_at(torch.tensor([t, t + offset]), d_model, **options)
    close(rotation @ before, after)


@given(widths, bases, layouts, offsets, offsets)
def test_rotations_form_a_group(d_model, base, layout, a, b):
    """`relative-position-rotation-matrix`: orthogonal, determinant 1, R(a) R(b) = R(a + b)."""

    def R(offset):
        return shift_rotation(offset, d_model, base=base, layout=layout, dtype=F64)

    close(R(a) @ R(b), R(a + b))
    close(R(a) @ R(b), R(b) @ R(a))
    close(R(a) @ R(a).mT, torch.eye(d_model, dtype=F64))
    close(R(-a), R(a).mT)
    close(torch.linalg.det(R(a)), torch.tensor(1.0, dtype=F64))


@given(widths)
def test_the_order_of_columns_is_a_permutation(d_model):
    order = pairing_permutation(d_model)
    assert order.sort().values.tolist() == list(range(d_model))
    assert order[: d_model // 2].tolist() == list(range(0, d_model, 2))


# bits


@given(st.integers(1, 9))
def test_bits_tell_all_patterns_apart(n_bits):
    """`bit-position-encoding`: distinct for t < 2^d; bit j flips with the period 2^(j+1)."""
    bits = bit_positions(2**n_bits, n_bits)
    assert len(set(map(tuple, bits.tolist()))) == 2**n_bits
    for j in range(n_bits):
        half = 2**j
        expected = torch.tensor([0.0] * half + [1.0] * half).repeat(2 ** (n_bits - j - 1))
        assert bits[:, j].equal(expected)


# rotary positions


@given(widths, bases, pairings, places, places, places, seeds)
def test_a_score_knows_only_the_distance(d_k, base, pairing, i, j, shift, seed):
    """`pe-alternatives`: to 1e-12 of the lengths involved."""
    query, key = normal(seed, 2, 1, d_k)
    rotary = Rotary(d_k, base=base, pairing=pairing)

    def score(i, j):
        return rotary(query, torch.tensor([i])) @ rotary(key, torch.tensor([j])).mT

    near = {"rtol": 0, "atol": 1e-10 * (1 + query.norm().item() * key.norm().item())}
    assert_close(score(i + shift, j + shift), score(i, j), **near)


@given(widths, st.integers(0, 61), st.integers(0, 61), seeds)
def test_a_score_of_nearby_positions_is_exact_to_1e_12(d_k, i, j, seed):
    query, key = normal(seed, 2, 1, d_k)
    rotary = Rotary(d_k)
    pair = rotary(query, torch.tensor([i])) @ rotary(key, torch.tensor([j])).mT
    low = min(i, j)
    first = rotary(query, torch.tensor([i - low])) @ rotary(key, torch.tensor([j - low])).mT
    assert_close(pair, first, rtol=0, atol=1e-12)


@given(widths, pairings, sizes, places, seeds)
def test_turning_keeps_lengths_and_can_be_undone(d_k, pairing, n, start, seed):
    rows = normal(seed, n, d_k)
    positions = torch.arange(start, start + n)
    out = Rotary(d_k, pairing=pairing)(rows, positions)
    close(out.norm(dim=-1), rows.norm(dim=-1))
    R = [shift_rotation(t, d_k, dtype=F64) for t in positions.tolist()]
    order = pairing_permutation(d_k)
    back = out if pairing == "interleaved" else out[:, order.argsort()]
    back = torch.stack([R_t @ row for R_t, row in zip(R, back, strict=True)]) if n else back
    close(back if pairing == "interleaved" else back[:, order], rows)


@given(widths, pairings, st.integers(0, 7), st.integers(0, 7), seeds)
def test_kept_rows_and_new_ones_are_the_whole_text(d_k, pairing, n_kept, n, seed):
    rows, rotary = normal(seed, n_kept + n, d_k), Rotary(d_k, pairing=pairing)
    new = rotary(rows[n_kept:], torch.arange(n_kept, n_kept + n))
    assert torch.cat([rotary(rows[:n_kept]), new]).equal(rotary(rows))


@given(st.integers(0, 5), st.integers(0, 5), widths, pairings, seeds)
def test_a_batch_is_its_members(n_batch, n, d_k, pairing, seed):
    rows, rotary = normal(seed, n_batch, 3, n, d_k), Rotary(d_k, pairing=pairing)
    out = rotary(rows)
    assert out.shape == rows.shape
    for b in range(n_batch):
        for h in range(3):
            assert out[b, h].equal(rotary(rows[b, h]))


@given(st.integers(1, 3), st.integers(0, 5), widths, pairings, seeds)
def test_each_text_may_have_places_of_its_own(n_batch, n, d_k, pairing, seed):
    """The same for all heads of a text, and each text as if it stood alone."""
    rows, rotary = normal(seed, n_batch, 3, n, d_k), Rotary(d_k, pairing=pairing)
    places = torch.randint(9, (n_batch, n), generator=torch.Generator().manual_seed(seed))
    out, flat = rotary(rows, places), rotary(rows[:, 0], places)
    for b in range(n_batch):
        assert out[b].equal(rotary(rows[b], places[b]))
        assert flat[b].equal(rotary(rows[b, 0], places[b]))


@given(widths, st.sampled_from([torch.bfloat16, torch.float16, torch.float32, F64]), seeds)
def test_dtypes_are_kept_and_inputs_are_not_changed(d_k, dtype, seed):
    rows, positions = normal(seed, 5, d_k).to(dtype), torch.tensor([4, 0, 2, 2, 61])
    before = rows.clone(), positions.clone()
    for pairing in ("interleaved", "halves"):
        assert Rotary(d_k, pairing=pairing)(rows, positions).dtype == dtype
    assert sinusoidal_at(positions, d_k, dtype=dtype).dtype == dtype
    learned = LearnedPositions(62, d_k).to(dtype)
    assert learned(positions).dtype == dtype
    assert rows.equal(before[0])
    assert positions.equal(before[1])


def test_a_tensor_that_is_not_contiguous_gives_the_same(generator):
    rows = torch.randn(6, 5, dtype=F64, generator=generator).mT
    for pairing in ("interleaved", "halves"):
        rotary = Rotary(6, pairing=pairing)
        assert rotary(rows).equal(rotary(rows.contiguous()))


# ALiBi


@given(st.integers(1, 67))
def test_slopes_are_positive_and_distinct(n_heads):
    slopes = alibi_slopes(n_heads, dtype=F64)
    assert slopes.shape == (n_heads,)
    assert len(set(slopes.tolist())) == n_heads
    assert slopes.gt(0).all()
    assert slopes.lt(1).all()


@given(st.integers(1, 9), sizes, sizes)
def test_bias_falls_by_the_same_price_a_step(n_heads, n_q, more):
    bias = alibi_bias(n_heads, n_q, n_q + more, dtype=F64)
    assert bias.shape == (n_heads, n_q, n_q + more)
    slopes = alibi_slopes(n_heads, dtype=F64)[:, None]
    for i in range(n_q):
        assert bias[:, i, i + more].eq(0).all()
        past, future = bias[:, i, : i + more + 1], bias[:, i, i + more :]
        close(past.diff(dim=-1), slopes.expand(-1, i + more))
        close(future.diff(dim=-1), -slopes.expand(-1, n_q - 1 - i))


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8, 16, 32])
def test_slopes_of_a_power_of_two_fall_by_one_ratio(n_heads):
    slopes = alibi_slopes(n_heads, dtype=F64)
    close(slopes[1:] / slopes[:-1], slopes[:1].expand(n_heads - 1))
    assert slopes[-1] == 2**-8
