"""What holds for every soft lookup, score and smoothing: hypothesis draws sizes and seeds."""

import functools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.attention import (
    attend,
    cosine_scores,
    gaussian_process_weights,
    gaussian_scores,
    hard_lookup,
    laplace_scores,
    lookup_error_bound,
    lookup_weights,
    nadaraya_watson,
    row_shares,
    soft_lookup,
)

sizes = st.integers(1, 11)
seeds = st.integers(0, 2**32 - 1)
temperatures = st.floats(0.02, 20)
distance_scores = pytest.mark.parametrize("scores", [laplace_scores, gaussian_scores])


def normal(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


# lookup


@given(sizes, sizes, sizes, sizes, temperatures, seeds)
def test_soft_is_within_the_bound_of_hard(n_q, n_k, d_k, d_v, temperature, seed):
    query, key, value = normal(seed, (n_q, d_k), (n_k, d_k), (n_k, d_v))
    soft = soft_lookup(query, key, value, temperature=temperature)
    hard = hard_lookup(query, key, value)
    fit = query @ key.mT
    for i in range(n_q):
        best, *others = fit[i].sort(descending=True).values.tolist()
        gap = best - others[0] if others else 0.0
        spread = torch.linalg.vector_norm(value - hard[i], dim=1).max().item()
        error = torch.linalg.vector_norm(soft[i] - hard[i]).item()
        assert error <= lookup_error_bound(gap, n_k, temperature, spread) + 1e-12


@given(sizes, sizes, sizes, seeds)
def test_shares_are_what_a_loop_divides_and_their_rows_sum_to_one(batch, n_q, n_k, seed):
    (scores, choice) = normal(seed, (batch, n_q, n_k), (batch, n_q, n_k))
    scores, mask = scores.relu(), choice > -0.5
    weights = row_shares(scores, mask)
    for b, i in torch.cartesian_prod(torch.arange(batch), torch.arange(n_q)).tolist():
        row = [scores[b, i, j].item() if mask[b, i, j] else 0.0 for j in range(n_k)]
        total = sum(row)
        expected = [entry / total if total else 0.0 for entry in row]
        assert weights[b, i].tolist() == pytest.approx(expected, abs=1e-14)
        assert weights[b, i].sum().item() == pytest.approx(1.0 if total else 0.0)


@given(st.integers(2, 11), st.floats(0.0, 5.0), temperatures, st.floats(0.0, 9.0))
def test_the_bound_is_attained(n_keys, gap, temperature, spread):
    """All other keys lag by the same gap, and all hold the same other value."""
    key = torch.zeros(n_keys, 1, dtype=torch.float64)
    value = torch.full((n_keys, 1), spread, dtype=torch.float64)
    key[0], value[0] = gap, 0.0
    query = torch.ones(1, 1, dtype=torch.float64)
    error = soft_lookup(query, key, value, temperature=temperature).item()
    bound = lookup_error_bound(gap, n_keys, temperature, spread)
    assert error == pytest.approx(bound, rel=1e-12, abs=1e-300)


@given(sizes, sizes, st.integers(2, 11), seeds)
def test_the_colder_the_closer_to_the_dictionary(n_q, n_k, d, seed):
    """`soft-lookup-table`: at a temperature that the bound chooses, the error is below 1e-6."""
    query, key, value = normal(seed, (n_q, d), (n_k, d), (n_k, 2))
    fit = (query @ key.mT).sort(dim=-1, descending=True).values
    gap = (fit[:, 0] - fit[:, 1]).min().item() if n_k > 1 else 1.0
    soft = soft_lookup(query, key, value, temperature=gap / 25)
    assert_close(soft, hard_lookup(query, key, value), rtol=0, atol=1e-6)


@given(sizes, sizes, sizes, seeds)
def test_outputs_are_in_the_convex_hull_of_the_values(n_q, n_k, d_v, seed):
    """`convex-combination`: in every direction, no output lies beyond the last value."""
    scores, value, directions = normal(seed, (n_q, n_k), (n_k, d_v), (d_v, 7))
    out = attend(3 * scores, value)
    for z, v in (out, value), (out @ directions, value @ directions):
        assert (z >= v.amin(dim=0) - 1e-12).all()
        assert (z <= v.amax(dim=0) + 1e-12).all()


@given(sizes, sizes, sizes, seeds)
def test_attend_is_linear_in_the_values(n_q, n_k, d_v, seed):
    """`attention-linear-in-v-only`."""
    scores, one, two = normal(seed, (n_q, n_k), (n_k, d_v), (n_k, d_v))
    expected = attend(scores, one) + 3 * attend(scores, two)
    assert_close(attend(scores, one + 3 * two), expected)


@given(sizes, sizes, seeds, st.floats(-50, 50))
def test_weights_are_those_of_any_shift_of_the_scores(n_q, n_k, seed, shift):
    (scores,) = normal(seed, (n_q, n_k))
    weights = lookup_weights(scores)
    assert_close(weights.sum(dim=-1), torch.ones(n_q, dtype=torch.float64))
    assert_close(lookup_weights(scores + shift), weights, rtol=1e-10, atol=1e-12)


# scores


@distance_scores
@given(sizes, sizes, sizes, seeds, st.floats(0.1, 10))
def test_distance_scores_know_only_the_difference(scores, n_q, n_k, d, seed, bandwidth):
    query, key, shift = normal(seed, (n_q, d), (n_k, d), (d,))
    found = scores(query, key, bandwidth=bandwidth)
    assert (found <= 0).all()
    assert_close(scores(query + shift, key + shift, bandwidth=bandwidth), found)
    assert_close(scores(query / bandwidth, key / bandwidth), found)
    assert_close(scores(key, query, bandwidth=bandwidth).mT, found)


@distance_scores
@given(sizes, sizes, seeds)
def test_equal_rows_score_zero_with_a_gradient_of_zero(scores, n, d, seed):
    (x,) = normal(seed, (n, d))
    query, key = x.clone().requires_grad_(), x.clone().requires_grad_()
    own = scores(query, key).diagonal()
    assert own.eq(0).all()
    for gradient in torch.autograd.grad(own.sum(), (query, key)):
        assert gradient.eq(0).all()


@given(sizes, sizes, sizes, seeds, st.floats(1e-3, 1e3))
def test_cosine_knows_only_the_direction(n_q, n_k, d, seed, factor):
    query, key = normal(seed, (n_q, d), (n_k, d))
    found = cosine_scores(query, key)
    assert (found.abs() <= 1 + 1e-12).all()
    assert_close(cosine_scores(factor * query, key), found)
    assert_close(cosine_scores(query, -factor * key), -found)
    weights = lookup_weights(found)
    assert (weights.amax(dim=-1) <= math.exp(2 + 1e-9) * weights.amin(dim=-1)).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@given(sizes, sizes, sizes, seeds)
def test_scores_keep_the_dtype_and_are_finite(dtype, n_q, n_k, d, seed):
    query, key = (x.to(dtype) for x in normal(seed, (n_q, d), (n_k, d)))
    for scores in laplace_scores, gaussian_scores, cosine_scores:
        found = scores(query, key)
        assert found.dtype == dtype
        assert found.shape == (n_q, n_k)
        assert found.isfinite().all()


@distance_scores
@given(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), seeds)
def test_scores_of_no_query_no_key_and_no_batch(scores, lead, n_q, n_k, seed):
    query, key = normal(seed, (lead, n_q, 3), (lead, n_k, 3))
    assert scores(query, key).shape == (lead, n_q, n_k)
    assert cosine_scores(query, key).shape == (lead, n_q, n_k)


# smoothing


@distance_scores
@given(sizes, sizes, sizes, seeds, st.floats(-1e6, 1e6))
def test_constant_targets_are_reproduced(scores, n_q, n, d, seed, constant):
    query, x = normal(seed, (n_q, d), (n, d))
    y = torch.full((n,), constant, dtype=torch.float64)
    expected = torch.full((n_q,), constant, dtype=torch.float64)
    assert_close(nadaraya_watson(100 * query, x, y, scores), expected, rtol=1e-14, atol=1e-300)


@distance_scores
@given(sizes, sizes, seeds)
def test_predictions_stay_between_the_targets(scores, n_q, n, seed):
    query, x, y = normal(seed, (n_q, 2), (n, 2), (n, 3))
    found = nadaraya_watson(1000 * query, x, y, scores)
    assert (found >= y.amin(dim=0) - 1e-12).all()
    assert (found <= y.amax(dim=0) + 1e-12).all()


@given(sizes, sizes, seeds)
def test_a_narrow_kernel_finds_the_nearest_and_a_wide_one_the_mean(n_q, n, seed):
    query, x, y = normal(seed, (n_q, 2), (n, 2), (n,))
    narrow = nadaraya_watson(query, x, y, functools.partial(laplace_scores, bandwidth=1e-7))
    distance, nearest = torch.cdist(query, x).sort(dim=1)
    clear = distance[:, min(1, n - 1)] - distance[:, 0] > 1e-5 if n > 1 else torch.ones(n_q) > 0
    assert_close(narrow[clear], y[nearest[:, 0]][clear], rtol=0, atol=1e-9)
    wide = nadaraya_watson(query, x, y, functools.partial(laplace_scores, bandwidth=1e9))
    assert_close(wide, y.mean().expand(n_q), rtol=1e-6, atol=1e-7)


@distance_scores
@given(sizes, sizes, seeds, st.floats(0.01, 2))
def test_gaussian_process_weights_solve_their_equation(scores, n_q, n, seed, noise):
    query, x, y = normal(seed, (n_q, 2), (n, 2), (n, 3))
    weights = gaussian_process_weights(query, x, scores, noise=noise)
    noisy = scores(x, x).exp() + noise * torch.eye(n, dtype=torch.float64)
    assert_close(weights @ noisy, scores(query, x).exp(), rtol=1e-9, atol=1e-11)
    assert_close(gaussian_process_weights(query, x, scores, noise=noise) @ y, weights @ y)
