"""Positions: the lectures' worked numbers, the formulas by loops, sizes 0 and 1, bad input."""

import math
import re

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention.positions import (
    LearnedPositions,
    Rotary,
    alibi_bias,
    alibi_slopes,
    bit_positions,
    frequencies,
    pairing_permutation,
    period,
    shift_rotation,
    sinusoidal,
    sinusoidal_at,
)
from softlookup.attention.positions.pairs import split_pairs

F64 = torch.float64


def tensor(values):
    return torch.tensor(values, dtype=F64)


def sinusoidal_by_loops(n, d_model, base):
    """The formula of lecture 003, cell by cell; i counts pairs."""
    rows = [[0.0] * d_model for _ in range(n)]
    for pos in range(n):
        for i in range(d_model // 2):
            rows[pos][2 * i] = math.sin(pos / base ** (2 * i / d_model))
            rows[pos][2 * i + 1] = math.cos(pos / base ** (2 * i / d_model))
    return tensor(rows).reshape(n, d_model)


# the lectures' numbers

PRINTED_D4 = [
    [0, 1, 0, 1],
    [0.84, 0.54, 0.10, 1.0],
    [0.91, -0.42, 0.20, 0.98],
    [0.14, -0.99, 0.30, 0.96],
]  # n = 100 is the base
PRINTED_D50 = [
    [0.818, -0.061, -0.635, 0.991],
    [0.576, 0.998, -0.773, 0.134],
    [0.615, -0.918, 0.473, 0.838],
    [0.789, -0.396, -0.881, 0.546],
]  # a row a feature, a column for each of p0 to p3


def test_matrix_of_lecture_003():
    """`pe-n100-d4-matrix`, W23: sixteen cells at two decimals."""
    codes = sinusoidal(4, 4, base=100.0, dtype=F64)
    assert [[round(value, 2) for value in row] for row in codes.tolist()] == PRINTED_D4


def test_table_of_lecture_003():
    """`pe-d50-table`, W24, E66: columns 4 to 7 of d = 50 at positions 2, 13, 8, 3."""
    codes = sinusoidal_at(torch.tensor([2, 13, 8, 3]), 50, dtype=F64)[:, 4:8]
    assert_close(codes.T, tensor(PRINTED_D50), rtol=0, atol=0.0005)
    every = sinusoidal(200, 50, dtype=F64)[:, 4:8]
    for column, position in enumerate((2, 13, 8, 3)):
        printed = tensor(PRINTED_D50)[:, column]
        fits = (every - printed).abs().amax(dim=1) <= 0.0005
        assert fits.nonzero().flatten().tolist() == [position]


def test_periods_of_lecture_003():
    """`pe-large-period-claim`, E65; `pe-period-vs-dmodel`, W27."""
    assert period(24, 50) == pytest.approx(43469.02, abs=0.005)
    assert period(24, 50) / math.pi == pytest.approx(13836.6, abs=0.05)
    assert [round(period(1, d), 2) for d in (16, 50, 128, 512)] == [19.87, 9.08, 7.26, 6.51]
    assert all(period(0, d) == 2 * math.pi for d in (2, 16, 50))


def test_slow_columns_stay_near_0_and_1():
    """`pe-near-0-1`, W26."""
    sine, cosine = sinusoidal_at(torch.tensor(50), 50, dtype=F64)[48:].tolist()
    assert (sine, cosine) == pytest.approx((0.00723, 0.99997), abs=5e-6)


def test_distances_between_codes():
    """`pe-uniqueness`: 1.4718 at least for d = 64; for d = 2 position 710 comes close to 0."""
    assert torch.pdist(sinusoidal(5000, 64, dtype=F64)).min().item() == pytest.approx(
        1.4718, abs=5e-5
    )
    plane = sinusoidal(1000, 2, dtype=F64)
    distances = (plane[1:] - plane[0]).norm(dim=1)
    assert distances.argmin() == 709
    assert distances.min().item() == pytest.approx(6.03e-5, abs=5e-8)


@pytest.mark.parametrize(("d_model", "first_rise"), [(512, 44), (128, 12), (8, 4)])
def test_similarity_ripples(d_model, first_rise):
    """`pe-similarity-decay`, E84: it falls up to here and then rises for the first time."""
    codes = sinusoidal(first_rise + 1, d_model, dtype=F64)
    steps = (codes @ codes[0]).diff()
    assert (steps[:-1] < 0).all()
    assert steps[-1] > 0


def test_slide_rotation_of_lecture_004():
    """E83: omega = 0.3, t = 5, offset 2; the printed matrix turns by 2 instead of 0.6."""
    base = 0.3**-2.0  # of four columns, the second pair then has omega = 0.3
    code = sinusoidal_at(torch.tensor(5), 4, base=base, dtype=F64)
    turn = [[math.cos(2), math.sin(2)], [-math.sin(2), math.cos(2)]]
    assert_close(tensor(turn) @ code[2:], tensor([-0.3508, -0.9365]), rtol=0, atol=5e-5)
    moved = shift_rotation(2, 4, base=base, dtype=F64) @ code
    assert_close(moved[2:], tensor([0.8632, -0.5048]), rtol=0, atol=5e-5)


# sinusoids


@pytest.mark.parametrize("base", [10000.0, 100.0, 1.5])
@pytest.mark.parametrize("d_model", [2, 4, 6, 14])
def test_sinusoids_equal_a_loop(d_model, base):
    assert_close(
        sinusoidal(11, d_model, base=base, dtype=F64), sinusoidal_by_loops(11, d_model, base)
    )


def test_layouts_are_one_up_to_the_order_of_columns():
    """E28: `pe-interleaved-vs-concatenated`."""
    codes = sinusoidal(7, 10, dtype=F64)
    halves = sinusoidal(7, 10, layout="concatenated", dtype=F64)
    angles = torch.arange(7, dtype=F64)[:, None] * frequencies(10)
    assert_close(halves, torch.cat([angles.sin(), angles.cos()], dim=1))
    assert halves.equal(codes[:, pairing_permutation(10)])
    assert codes.equal(halves[:, pairing_permutation(10).argsort()])


def test_start_continues_the_rows():
    assert sinusoidal(3, 6, start=5).equal(sinusoidal(8, 6)[5:])


def test_positions_in_any_order_and_shape():
    positions = torch.tensor([[3, 0, 7], [7, 7, 2]])
    expected = sinusoidal(8, 10)[positions]
    assert sinusoidal_at(positions, 10).equal(expected)
    assert sinusoidal_at(positions.to(torch.int32), 10).equal(expected)
    assert sinusoidal_at(torch.tensor(3), 10).equal(expected[0, 0])


@pytest.mark.parametrize("position", [1_000_003, 2**40 + 1])
def test_large_positions_lose_no_digits(position):
    """The first pair has omega = 1; float32 angles would be off by up to 65,536 radians."""
    code = sinusoidal_at(torch.tensor(position), 4, dtype=F64)
    assert_close(code[:2], tensor([math.sin(position), math.cos(position)]), rtol=0, atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_lower_precision_is_the_rounded_exact_code(dtype):
    exact = sinusoidal(5003, 6, dtype=F64)
    assert sinusoidal(5003, 6, dtype=dtype).equal(exact.to(dtype))
    exact = shift_rotation(5003, 6, dtype=F64)
    assert shift_rotation(5003, 6, dtype=dtype).equal(exact.to(dtype))


def test_dtype_is_torchs_default_if_left_out():
    made = {
        "sinusoidal": sinusoidal(3, 4),
        "shift_rotation": shift_rotation(3, 4),
        "bit_positions": bit_positions(3, 2),
        "alibi_slopes": alibi_slopes(3),
        "alibi_bias": alibi_bias(3, 2),
    }
    assert {name: t.dtype for name, t in made.items()} == dict.fromkeys(made, torch.float32)
    assert frequencies(4).dtype == F64


def test_frequencies_fall_by_one_factor():
    """`pe-fast-slow-dims`."""
    omega = frequencies(10, base=100.0)
    assert omega[0] == 1
    assert_close(omega[1:] / omega[:-1], torch.full((4,), 100 ** (-2 / 10), dtype=F64))
    assert_close(tensor([period(i, 10, base=100.0) for i in range(5)]), 2 * math.pi / omega)


def test_no_positions_and_one():
    assert sinusoidal(0, 6).shape == (0, 6)
    assert sinusoidal_at(torch.zeros(2, 0, dtype=torch.long), 6).shape == (2, 0, 6)
    assert sinusoidal(1, 6).tolist() == [[0, 1, 0, 1, 0, 1]]
    assert bit_positions(0, 3).shape == (0, 3)
    assert bit_positions(1, 3).tolist() == [[0, 0, 0]]
    assert alibi_bias(3, 0, 5).shape == (3, 0, 5)
    assert alibi_bias(3, 0).shape == (3, 0, 0)
    assert alibi_bias(3, 1).tolist() == [[[0]]] * 3
    rows = torch.randn(1, 6)
    assert Rotary(6)(rows[:0]).shape == (0, 6)
    assert Rotary(6)(rows).equal(rows)
    assert LearnedPositions(5, 3)(torch.zeros(0, dtype=torch.long)).shape == (0, 3)


# shifts


@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
@pytest.mark.parametrize("offset", [0, 1, 7, -3, 5003])
def test_rotation_moves_every_code(layout, offset):
    codes = sinusoidal(11, 6, layout=layout, start=13, dtype=F64)
    later = sinusoidal(11, 6, layout=layout, start=13 + offset, dtype=F64)
    rotation = shift_rotation(offset, 6, layout=layout, dtype=F64)
    assert_close(codes @ rotation.mT, later)


def test_rotation_is_made_of_blocks():
    """`relative-position-rotation-matrix`: nothing outside the blocks on the diagonal."""
    rotation = shift_rotation(3, 6, base=100.0, dtype=F64)
    expected = torch.zeros(6, 6, dtype=F64)
    for i in range(3):
        angle = 3 * 100 ** (-2 * i / 6)
        expected[2 * i, 2 * i] = expected[2 * i + 1, 2 * i + 1] = math.cos(angle)
        expected[2 * i, 2 * i + 1] = math.sin(angle)
        expected[2 * i + 1, 2 * i] = -math.sin(angle)
    assert_close(rotation, expected)


# bits


def test_bits_are_binary_numbers():
    rows = bit_positions(32, 5).int().tolist()
    assert rows == [[int(digit) for digit in reversed(f"{t:05b}")] for t in range(32)]


def test_neighbours_differ_in_1_2_1_3_bits():
    """`bit-pe-hamming`."""
    bits = bit_positions(9, 4)
    assert bits.diff(dim=0).abs().sum(dim=1).tolist() == [1, 2, 1, 3, 1, 2, 1, 4]
    assert (bits[8] - bits[0]).abs().sum() == 1


def test_more_bits_than_an_integer_has():
    bits = bit_positions(5, 512)
    assert bits[:, 3:].eq(0).all()
    assert bits[:, :3].equal(bit_positions(5, 3))


# learned positions


def test_learned_positions_are_rows_of_one_table():
    """`learned-positional`: 512 times max_length parameters."""
    learned = LearnedPositions(11, 5)
    positions = torch.tensor([[3, 0], [10, 3]])
    assert learned(positions).equal(learned.embedding.weight[positions])
    assert sum(p.numel() for p in LearnedPositions(512, 512).parameters()) == 262_144
    assert [name for name, _ in learned.named_parameters()] == ["embedding.weight"]


def test_learned_positions_start_small():
    torch.manual_seed(3)
    weight = LearnedPositions(503, 101).embedding.weight
    assert weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert weight.mean().item() == pytest.approx(0, abs=4e-4)
    assert LearnedPositions(7, 5, std=0.0).embedding.weight.eq(0).all()


# rotary positions


def rotary_by_loops(rows, positions, base, halves):
    """One row at a time, one pair at a time, in plain Python numbers; unbatched."""
    out, d = rows.clone(), rows.shape[-1]
    for row, t in zip(out, positions, strict=True):
        for i in range(d // 2):
            first, second = (i, i + d // 2) if halves else (2 * i, 2 * i + 1)
            angle = t * base ** (-2 * i / d)
            x, y = row[first].item(), row[second].item()
            row[first] = x * math.cos(angle) - y * math.sin(angle)
            row[second] = x * math.sin(angle) + y * math.cos(angle)
    return out


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
@pytest.mark.parametrize("d_k", [2, 4, 6, 14])
def test_rotary_equals_a_loop(pairing, d_k, generator):
    rows = torch.randn(7, d_k, dtype=F64, generator=generator)
    rotary = Rotary(d_k, base=100.0, pairing=pairing)
    halves = pairing == "halves"
    assert_close(rotary(rows), rotary_by_loops(rows, range(7), 100.0, halves))
    positions = [5, 0, 3, 3, 1009, 2, 1]
    expected = rotary_by_loops(rows, positions, 100.0, halves)
    assert_close(rotary(rows, torch.tensor(positions)), expected)


def test_rotary_turns_along_positions_not_along_heads(generator):
    rows = torch.randn(2, 3, 5, 6, dtype=F64, generator=generator)
    out = Rotary(6)(rows)
    for b in range(2):
        for h in range(3):
            assert_close(out[b, h], rotary_by_loops(rows[b, h], range(5), 10000.0, False))


def test_pairings_are_one_up_to_the_order_of_columns(generator):
    """The proof of `pairing_permutation`: reorder, then turn, or turn, then reorder."""
    rows, order = torch.randn(7, 10, dtype=F64, generator=generator), pairing_permutation(10)
    halves = Rotary(10, pairing="halves")
    assert halves(rows[:, order]).equal(Rotary(10)(rows)[:, order])
    assert not halves(rows).allclose(Rotary(10)(rows))


def test_pairings_give_the_same_scores_after_reordering(generator):
    query, key = torch.randn(2, 7, 10, dtype=F64, generator=generator)
    order = pairing_permutation(10)
    neighbours, halves = Rotary(10), Rotary(10, pairing="halves")
    expected = neighbours(query) @ neighbours(key).mT
    assert_close(halves(query[:, order]) @ halves(key[:, order]).mT, expected)


def test_rotary_keeps_nothing_to_train_or_to_save():
    rotary = Rotary(6)
    assert list(rotary.parameters()) == []
    assert list(rotary.buffers()) == []
    assert rotary.state_dict() == {}
    assert repr(rotary) == "Rotary(6, base=10000, pairing='interleaved')"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_rows_lose_digits_only_at_the_end(dtype, generator):
    """bfloat16 has 8 bits: a position above 256 in it, or its angle, would be nonsense."""
    rows = torch.randn(7, 6, generator=generator).to(dtype)
    positions = torch.arange(5003, 5010)
    expected = Rotary(6)(rows.float(), positions).to(dtype)
    out = Rotary(6).to(dtype)(rows, positions)
    assert out.dtype == dtype
    assert out.equal(expected)


def test_rotary_in_single_precision_is_the_rounded_exact_turn(generator):
    rows = torch.randn(7, 6, generator=generator)
    positions = torch.arange(1_000_003, 1_000_010)
    exact = Rotary(6)(rows.double(), positions)
    assert_close(Rotary(6)(rows, positions), exact.float(), rtol=1e-6, atol=1e-6)


# ALiBi


def test_slopes_of_the_paper():
    """Press et al. 2022, section 3: 1/2 to 1/256 for 8 heads, in between also for 16."""
    assert alibi_slopes(8, dtype=F64).tolist() == [2.0**-k for k in range(1, 9)]
    assert_close(alibi_slopes(16, dtype=F64), 2 ** (-torch.arange(1, 17, dtype=F64) / 2))
    assert alibi_slopes(1).tolist() == [2**-8]
    assert alibi_slopes(2).tolist() == [2**-4, 2**-8]


def test_slopes_for_other_numbers_of_heads():
    """The power of two below, then every second slope of the power of two above."""
    assert alibi_slopes(3, dtype=F64).tolist() == [2**-4, 2**-8, 2**-2]
    assert alibi_slopes(6, dtype=F64).tolist() == [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]
    twelve = [2.0**-k for k in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert_close(alibi_slopes(12, dtype=F64), tensor(twelve))


def test_bias_is_minus_slope_times_distance():
    bias = alibi_bias(3, 5, dtype=F64)
    for h, slope in enumerate((2**-4, 2**-8, 2**-2)):
        for i in range(5):
            for j in range(5):
                assert bias[h, i, j] == -slope * abs(i - j)


def test_fewer_queries_than_keys_are_the_last_positions():
    assert alibi_bias(3, 2, 7).equal(alibi_bias(3, 7)[:, -2:])


def test_bias_in_half_precision_is_the_rounded_exact_one():
    """bfloat16 cannot count to 257: the product is rounded once, at the end."""
    exact = alibi_bias(3, 1, 1009, dtype=F64)
    assert alibi_bias(3, 1, 1009, dtype=torch.bfloat16).equal(exact.bfloat16())


# bad input

MAKERS = {
    "frequencies": frequencies,
    "period": lambda d: period(0, d),
    "pairing_permutation": pairing_permutation,
    "sinusoidal": lambda d: sinusoidal(3, d),
    "sinusoidal_at": lambda d: sinusoidal_at(torch.arange(3), d),
    "shift_rotation": lambda d: shift_rotation(3, d),
    "Rotary": Rotary,
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("d", [3, 9])
def test_an_odd_width_has_no_pairs(name, d):
    width = "d_k" if name == "Rotary" else "d_model"
    message = f"{width} must be even: two columns to a frequency; got {width}={d}"
    with pytest.raises(ValueError, match=message):
        MAKERS[name](d)


def test_a_base_of_one_slows_nothing_down():
    with pytest.raises(ValueError, match=r"base must be more than 1 and finite; got base=1\.0"):
        frequencies(4, base=1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: period(2, 4), "pair must be less than d_model / 2; got pair=2, d_model=4"),
        (lambda: bit_positions(9, 3), r"n must be at most 2\*\*n_bits; got n=9, n_bits=3"),
        (lambda: alibi_bias(2, 5, 3), "n_k must be at least n_q; got n_q=5, n_k=3"),
        (
            lambda: split_pairs(torch.zeros(2, 3), True),
            r"rows must have an even number of columns; got rows=\(2, 3\)",
        ),
        (
            lambda: Rotary(4)(torch.zeros(3, 6)),
            r"shape \(\.\.\., n, d_k\) with d_k = 4; got rows=\(3, 6\)",
        ),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_codes_are_floating_point(dtype):
    for make in (sinusoidal, shift_rotation, bit_positions, alibi_bias):
        with pytest.raises(ValueError, match=f"must be a floating-point type; got dtype={dtype}"):
            make(2, 2, dtype=dtype)


def test_a_learned_table_has_an_end():
    learned = LearnedPositions(11, 5)
    with pytest.raises(ValueError, match=r"positions must be from 0 to 10; got .*largest=11"):
        learned(torch.tensor([0, 11]))
    with pytest.raises(ValueError, match="positions must be from 0 to 10; got smallest=-1"):
        learned(torch.tensor([0, -1]))


@pytest.mark.parametrize(
    ("rows", "positions"),
    [((3, 4), (1, 3)), ((3, 4), (3, 3)), ((2, 5, 3, 4), (5, 3)), ((2, 5, 3, 4), (2, 1, 3))],
)
def test_each_row_turned_has_one_position(rows, positions):
    came = re.escape(f"got positions={positions}, rows={rows}")
    with pytest.raises(ValueError, match=f"there must be one position for each row; {came}"):
        Rotary(4)(torch.zeros(rows), torch.zeros(positions, dtype=torch.int64))
