"""What holds for all relative and stretched positions: hypothesis draws them."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.attention.positions import (
    BucketBias,
    RelativeKeys,
    StretchedRotary,
    clipped_distances,
    distance_buckets,
    frequencies,
    stretched_frequencies,
    yarn_gain,
)

F64 = torch.float64
widths = st.integers(2, 11).map(lambda pairs: 2 * pairs)
methods = st.sampled_from(["linear", "ntk", "yarn"])
factors = st.floats(1, 64)
seeds = st.integers(0, 2**32 - 1)


def normal(seed, *shape):
    return torch.randn(shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def along_diagonals(matrix):
    """Whether each diagonal of the last two axes holds one number."""
    return torch.equal(matrix[..., 1:, 1:], matrix[..., :-1, :-1])


@given(st.integers(1, 13), st.integers(1, 17))
def test_clipped_distances_know_the_distance_alone(n, max_distance):
    rows = clipped_distances(n, max_distance=max_distance)
    assert along_diagonals(rows)
    assert (rows + rows.mT == 2 * max_distance).all()  # left and right are mirror images


@given(st.integers(1, 13), st.integers(1, 7), seeds)
def test_relative_keys_of_equal_queries_know_the_distance_alone(n, max_distance, seed):
    keys = RelativeKeys(max_distance, 3, std=1.0).double()
    assert along_diagonals(keys(normal(seed, 3).expand(n, 3)).round(decimals=9))


@given(st.integers(4, 40), st.integers(30, 200), st.booleans())
def test_farther_keys_are_never_in_an_earlier_bucket(n_buckets, max_distance, causal):
    options = {"n_buckets": n_buckets, "max_distance": max_distance, "causal": causal}
    buckets = distance_buckets(1, 300, **options)[0].flip(0)
    steps = buckets.diff()
    assert buckets[0] == 0
    assert (steps >= 0).all()
    assert buckets[-1] == (n_buckets if causal else n_buckets // 2) - 1
    assert along_diagonals(distance_buckets(9, **options))


@given(st.integers(1, 13), st.integers(1, 5))
def test_a_bias_knows_the_distance_alone(n, n_heads):
    assert along_diagonals(BucketBias(n_heads, n_buckets=6, max_distance=7, causal=False)(n))


@given(widths, methods, factors, st.integers(1, 5003))
def test_no_pair_is_slowed_down_by_more_than_the_factor(d_k, method, factor, length):
    old, new = frequencies(d_k), stretched_frequencies(d_k, method, factor, length)
    assert (new <= old * (1 + 1e-12)).all()
    assert (new >= old / factor * (1 - 1e-12)).all()
    assert (new.diff() < 0).all()


@given(widths, methods, factors, seeds, st.integers(0, 1009))
def test_a_stretched_score_knows_the_distance_alone(d_k, method, factor, seed, start):
    query, key = normal(seed, 2, 1, d_k).expand(2, 7, d_k)
    rotary = StretchedRotary(d_k, method, factor, 101)
    scores = [
        rotary(query, places) @ rotary(key, places).mT
        for places in (torch.arange(7), torch.arange(start, start + 7))
    ]
    assert_close(*scores, rtol=0, atol=1e-9)


@given(factors)
def test_longer_texts_need_sharper_scores(factor):
    assert yarn_gain(factor) <= yarn_gain(2 * factor)
