"""Relative and stretched positions: the pencil's numbers, the formulas by loops, bad input."""

import copy
import math
import re

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention.positions import (
    BucketBias,
    RelativeKeys,
    Rotary,
    StretchedRotary,
    clipped_distances,
    distance_buckets,
    frequencies,
    stretched_frequencies,
    yarn_gain,
)

F64 = torch.float64


def relative_scores_by_loops(query, table, n_k, max_distance):
    """One query and one key at a time; unbatched."""
    n_q = len(query)
    out = torch.zeros(n_q, n_k, dtype=query.dtype)
    for row in range(n_q):
        i = row + n_k - n_q
        for j in range(n_k):
            distance = max(-max_distance, min(max_distance, j - i))
            out[row, j] = query[row] @ table[distance + max_distance]
    return out


def bucket_by_hand(offset, n_buckets, max_distance, causal):
    """The words of the paper's program, one distance at a time, edges by search."""
    each_way = n_buckets if causal else n_buckets // 2
    right = 0 if causal or offset <= 0 else each_way
    distance = max(-offset, 0) if causal else abs(offset)
    exact = each_way // 2
    if distance < exact:
        return right + distance
    bucket = exact
    while bucket + 1 < each_way:
        edge = exact * (max_distance / exact) ** ((bucket + 1 - exact) / (each_way - exact))
        if distance < edge - 1e-6:
            break
        bucket += 1
    return right + bucket


def stretched_by_loops(d_k, method, factor, length, base, slow, fast):
    speeds = []
    for i in range(d_k // 2):
        speed = base ** (-2 * i / d_k)
        if method == "linear":
            speed = speed / factor
        elif method == "ntk":
            speed = (base * factor ** (d_k / (d_k - 2))) ** (-2 * i / d_k)
        else:
            turns = length * speed / (2 * math.pi)
            share = min(1, max(0, (turns - slow) / (fast - slow)))
            speed = share * speed + (1 - share) * speed / factor
        speeds.append(speed)
    return torch.tensor(speeds, dtype=F64)


# Shaw


def test_clipped_distances_of_four_tokens():
    assert clipped_distances(4, max_distance=2).tolist() == [
        [2, 3, 4, 4],
        [1, 2, 3, 4],
        [0, 1, 2, 3],
        [0, 0, 1, 2],
    ]
    assert clipped_distances(2, 5, max_distance=3).equal(clipped_distances(5, max_distance=3)[-2:])
    assert clipped_distances(0, 3, max_distance=1).shape == (0, 3)


@pytest.mark.parametrize("max_distance", [1, 2, 11])
@pytest.mark.parametrize(("n_q", "n_k"), [(7, 7), (3, 7), (1, 5)])
def test_relative_keys_equal_a_loop(max_distance, n_q, n_k, generator):
    keys = RelativeKeys(max_distance, 5, std=1.0).double()
    query = torch.randn(2, 3, n_q, 5, dtype=F64, generator=generator)
    out = keys(query, n_k)
    for b in range(2):
        for h in range(3):
            expected = relative_scores_by_loops(
                query[b, h], keys.embedding.weight, n_k, max_distance
            )
            assert_close(out[b, h], expected)


def test_relative_keys_start_small():
    torch.manual_seed(3)
    weight = RelativeKeys(251, 101).embedding.weight
    assert weight.shape == (503, 101)
    assert weight.std().item() == pytest.approx(0.02, rel=0.02)


# T5


def test_buckets_of_the_published_model():
    """32 buckets, causal: 0 to 15 alone, then ever wider; from 113 on the last one."""
    row = distance_buckets(1, 300)[0].flip(0).tolist()
    assert row[:17] == [*range(16), 16]
    edges = [distance for distance in range(1, 300) if row[distance] != row[distance - 1]]
    assert edges[15:] == [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
    assert row[-1] == 31


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("n_buckets", "max_distance"), [(4, 8), (6, 12), (7, 13), (32, 128)])
def test_buckets_equal_a_loop(causal, n_buckets, max_distance):
    buckets = distance_buckets(
        31, 31, n_buckets=n_buckets, max_distance=max_distance, causal=causal
    )
    for i in range(31):
        for j in range(31):
            expected = bucket_by_hand(j - i, n_buckets, max_distance, causal)
            assert buckets[i, j] == expected, (i, j)


def test_bias_is_a_number_for_each_head_and_bucket():
    bias = BucketBias(3, n_buckets=6, max_distance=12, causal=False, std=1.0)
    out = bias(2, 5)
    buckets = distance_buckets(2, 5, n_buckets=6, max_distance=12, causal=False)
    assert out.shape == (3, 2, 5)
    for h in range(3):
        for i in range(2):
            for j in range(5):
                assert out[h, i, j] == bias.embedding.weight[buckets[i, j], h]


def test_bucket_bias_starts_small():
    torch.manual_seed(3)
    weight = BucketBias(101, n_buckets=503, max_distance=1009).embedding.weight
    assert weight.std().item() == pytest.approx(0.02, rel=0.02)


# stretching


@pytest.mark.parametrize("method", ["linear", "ntk", "yarn"])
@pytest.mark.parametrize("factor", [1.0, 2.0, 7.5])
def test_stretched_frequencies_equal_a_loop(method, factor):
    found = stretched_frequencies(14, method, factor, 503, base=500.0, slow=0.5, fast=30.0)
    expected = stretched_by_loops(14, method, factor, 503, 500.0, 0.5, 30.0)
    assert_close(found, expected, rtol=1e-12, atol=0)


def test_the_first_pair_keeps_its_speed_and_the_last_is_slowed_down():
    old = frequencies(14)
    for method, first in {"linear": 0.25, "ntk": 1.0, "yarn": 1.0}.items():
        new = stretched_frequencies(14, method, 4.0, 4096)
        assert new[0] / old[0] == pytest.approx(first)
        assert new[-1] / old[-1] == pytest.approx(0.25)


def test_yarns_gain():
    assert yarn_gain(1.0) == 1
    assert yarn_gain(math.e) == pytest.approx(1.1)


def test_a_stretched_rotary_turns_by_its_frequencies(generator):
    rows, places = torch.randn(5, 6, dtype=F64, generator=generator), torch.arange(3, 8)
    for method in ("linear", "ntk", "yarn"):
        omega = stretched_frequencies(6, method, 4.0, 101)
        gain = yarn_gain(4.0) if method == "yarn" else 1.0
        expected = rows.clone()
        for row, t in zip(expected, places, strict=True):
            for i in range(3):
                a, b = row[2 * i].item(), row[2 * i + 1].item()
                c, s = math.cos(t * omega[i]), math.sin(t * omega[i])
                row[2 * i], row[2 * i + 1] = gain * (a * c - b * s), gain * (a * s + b * c)
        assert_close(StretchedRotary(6, method, 4.0, 101)(rows, places), expected)


def test_linear_interpolation_squeezes_the_positions(generator):
    """Position 4t of the stretched model is position t of the trained one."""
    rows = torch.randn(5, 6, dtype=F64, generator=generator)
    places = torch.tensor([0, 1, 7, 30, 101])
    stretched = StretchedRotary(6, "linear", 4.0, 16, base=100.0)
    assert_close(stretched(rows, 4 * places), Rotary(6, base=100.0)(rows, places))


@pytest.mark.parametrize("make", [lambda: Rotary(6), lambda: StretchedRotary(6, "yarn", 2.0, 16)])
def test_the_frequencies_stay_what_they_are_on_any_device_and_in_any_precision(make):
    """A model built on "meta", moved to half precision, or copied still knows its places."""
    expected = make().omega
    with torch.device("meta"):
        built = make()
    for rotary in (built, make().half(), copy.deepcopy(make()).to(torch.bfloat16)):
        assert rotary.omega.dtype == F64
        assert_close(rotary.angles(torch.tensor([3])), 3 * expected[None])


def test_a_stretched_rotary_keeps_nothing_to_train_or_to_save():
    assert StretchedRotary(6, "yarn", 2.0, 16).state_dict() == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clipped_distances(5, 3, max_distance=1), "n_k must be at least n_q"),
        (lambda: distance_buckets(5, 3), "n_k must be at least n_q; got n_q=5, n_k=3"),
        (lambda: distance_buckets(5, n_buckets=1), "at least two buckets; got n_buckets=1"),
        (lambda: distance_buckets(5, n_buckets=3, causal=False), "at least two buckets"),
        (lambda: BucketBias(2, n_buckets=8, max_distance=4), "max_distance must be more than"),
        (
            lambda: RelativeKeys(2, 3)(torch.zeros(4, 5)),
            "query must have width 3; got query=(4, 5)",
        ),
        (lambda: stretched_frequencies(2, "ntk", 2.0, 16), "d_k must be at least 4; got d_k=2"),
        (lambda: stretched_frequencies(4, "linear", 0.5, 16), "factor must be at least 1"),
        (lambda: stretched_frequencies(4, "yarn", 2.0, 16, slow=2, fast=1), "less than fast"),
        (lambda: yarn_gain(0.5), "factor must be at least 1"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
