"""Soft lookup, scores and smoothing: the lectures' numbers, loops, far points, bad input."""

import functools
import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention import (
    SoftLookup,
    attend,
    attention_scores,
    bilinear_scores,
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
from softlookup.ops import softmax


def tensor(rows):
    return torch.tensor(rows, dtype=torch.float64)


X, Y = tensor([[1.36], [3.40], [6.05]]), tensor([1.79, -1.77, -2.17])
QUERY = tensor([[4.25]])
A = tensor([[0.6, 0.1, 0.3], [0.3, 0.5, 0.2], [0.2, 0.1, 0.7]])
V = tensor([[2.0, 1.0], [-0.5, 2.0], [-1.0, -0.5]])


@pytest.fixture
def query(generator):
    return torch.randn(2, 5, 3, dtype=torch.float64, generator=generator)


@pytest.fixture
def key(generator):
    return torch.randn(2, 7, 3, dtype=torch.float64, generator=generator)


@pytest.fixture
def value(generator):
    return torch.randn(2, 7, 11, dtype=torch.float64, generator=generator)


# lookup


def test_i_am_sam():
    """`i-am-sam-worked-product`: the scores whose softmax is the slide's matrix are its logs."""
    expected = tensor([[0.85, 0.65], [0.15, 1.20], [-0.35, 0.05]])
    assert_close(attend(A.log(), V), expected)
    assert_close(lookup_weights(A.log() + 3), A)


def test_attend_equals_a_loop(query, key, value):
    scores = attention_scores(query, key)
    out, weights = attend(scores, value), lookup_weights(scores)
    for b in range(2):
        for i in range(5):
            exps = [math.exp(s) for s in scores[b, i].tolist()]
            row = sum(e / sum(exps) * value[b, j] for j, e in enumerate(exps))
            assert_close(out[b, i], row)
            assert_close(weights[b, i], tensor(exps) / sum(exps))


def test_the_mask_leaves_out_pairs(query, key, value, generator):
    mask = torch.rand(5, 7, generator=generator) < 0.5
    mask[3] = False
    scores = gaussian_scores(query, key)
    out = attend(scores, value, mask)
    for b in range(2):
        for i in range(5):
            read = mask[i]
            row = softmax(scores[b, i, read]) @ value[b, read] if read.any() else value[b, 0] * 0
            assert_close(out[b, i], row)


def test_without_a_key_there_is_nothing_to_read():
    for mask in None, torch.ones(5, 0, dtype=torch.bool):
        assert lookup_weights(torch.zeros(5, 0), mask).shape == (5, 0)
        assert attend(torch.zeros(5, 0), torch.zeros(0, 3), mask).equal(torch.zeros(5, 3))


def test_shares_by_hand():
    """Each score by the sum of what its query may read; a row of zeros stays one."""
    scores = tensor([[3, 1, 4], [0, 0, 0], [2, 2, 0]])
    assert_close(row_shares(scores), tensor([[3 / 8, 1 / 8, 1 / 2], [0, 0, 0], [1 / 2, 1 / 2, 0]]))
    mask = torch.tensor([[True, True, False]])
    assert_close(row_shares(scores, mask), tensor([[0.75, 0.25, 0], [0, 0, 0], [0.5, 0.5, 0]]))


def test_shares_of_exponentials_are_the_softmax(query, key, value, generator):
    """One lookup, two ways to make weights of scores."""
    scores, mask = query @ key.mT, torch.rand(5, 7, generator=generator) < 0.6
    mask[2] = False
    assert_close(row_shares(scores.exp(), mask), lookup_weights(scores, mask))
    mixed = attend(scores.exp(), value, mask, normalize=row_shares)
    assert_close(mixed, attend(scores, value, mask))


def test_a_layer_of_lookup_shows_its_weights_and_drops_some_behind_them(query, key, value):
    scores, seen = query @ key.mT, []
    layer = SoftLookup(dropout=0.5)
    layer.weights.register_forward_hook(lambda module, args, result: seen.append(result))
    assert_close(layer.eval().mix(scores, value), attend(scores, value))
    torch.manual_seed(0)
    dropped = layer.train().mix(scores, torch.eye(7, dtype=torch.float64).expand(2, 7, 7))
    assert_close(seen, [lookup_weights(scores)] * 2)
    kept = dropped != 0
    assert 0 < kept.sum() < kept.numel()
    assert_close(dropped[kept], 2 * seen[1][kept])


def test_hard_lookup_takes_the_value_as_it_stands(query, key, value):
    out = hard_lookup(query, key, value)
    for b in range(2):
        for i in range(5):
            fits = [(query[b, i] @ k).item() for k in key[b]]
            assert out[b, i].equal(value[b, fits.index(max(fits))])


def test_hard_lookup_takes_the_first_of_equals():
    key = tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    assert hard_lookup(tensor([[1.0, 0.0]]), key, tensor([[7.0], [8.0], [9.0]])).tolist() == [[8.0]]


@pytest.mark.parametrize("temperature", [0.1, 1.0, 7.0])
def test_soft_lookup_divides_the_scores_by_the_temperature(query, key, value, temperature):
    expected = attend(query @ key.mT / temperature, value)
    assert_close(soft_lookup(query, key, value, temperature=temperature), expected)


def test_soft_lookup_becomes_a_dictionary():
    """`soft-lookup-table`: the error is below 1e-6 at temperature 0.05."""
    keys, values = torch.eye(3, dtype=torch.float64), tensor([[10.0], [20.0], [40.0]])
    for j in range(3):
        found = soft_lookup(keys[j : j + 1], keys, values, temperature=0.05)
        assert abs(found.item() - values[j].item()) < 1e-6
        warm = soft_lookup(keys[j : j + 1], keys, values, temperature=1e6).item()
        assert warm == pytest.approx(70 / 3, abs=1e-4)


def test_the_error_bound_by_hand():
    """Three keys, a gap of 2 and temperature 1: r = 2 e^-2."""
    r = 2 * math.exp(-2)
    assert lookup_error_bound(2.0, 3, 1.0, 5.0) == pytest.approx(5 * r / (1 + r), rel=1e-15)
    assert lookup_error_bound(4.0, 3, 2.0, 5.0) == pytest.approx(5 * r / (1 + r), rel=1e-15)
    assert lookup_error_bound(2.0, 1, 1.0, 5.0) == 0.0
    assert lookup_error_bound(1e9, 3, 1e-300, 5.0) == 0.0


# scores


def test_laplace_and_gaussian_scores_equal_a_loop(query, key):
    by_laplace = laplace_scores(query, key, bandwidth=0.7)
    by_gauss = gaussian_scores(query, key, bandwidth=0.7)
    for b in range(2):
        for i in range(5):
            for j in range(7):
                d = math.dist(query[b, i].tolist(), key[b, j].tolist())
                assert by_laplace[b, i, j].item() == pytest.approx(-d / 0.7, rel=1e-12)
                assert by_gauss[b, i, j].item() == pytest.approx(-(d**2) / 0.98, rel=1e-12)


def test_gaussian_weights_of_the_lecture():
    """`gaussian-kernel`: q = 1.1, keys 0, 1, 2, 5. As printed, the farthest key takes all."""
    query, key = tensor([[1.1]]), tensor([[0.0], [1.0], [2.0], [5.0]])
    weights = lookup_weights(gaussian_scores(query, key))
    assert_close(weights, tensor([[0.2473, 0.4505, 0.3020, 0.0002]]), rtol=0, atol=5e-5)
    as_printed = lookup_weights(-2 * gaussian_scores(query, key))
    assert as_printed.argmax().item() == 3
    assert as_printed.max() > 0.9999


def test_cosine_scores_equal_a_loop(query, key):
    scores = cosine_scores(query, key)
    for b in range(2):
        for i, q in enumerate(query[b].tolist()):
            for j, k in enumerate(key[b].tolist()):
                cosine = (
                    sum(x * y for x, y in zip(q, k, strict=True)) / math.hypot(*q) / math.hypot(*k)
                )
                assert scores[b, i, j].item() == pytest.approx(cosine, rel=1e-12)


def test_cosine_of_a_row_with_itself_is_one_and_of_zeros_zero(key):
    assert_close(cosine_scores(key, key).diagonal(dim1=1, dim2=2), torch.ones(2, 7).double())
    assert cosine_scores(torch.zeros(5, 3), torch.ones(7, 3)).equal(torch.zeros(5, 7))


def test_bilinear_scores_are_products_of_projections(query, generator):
    """`general-bilinear-kernel`: W = W_Q W_K^T gives the projected dot product."""
    key = torch.randn(2, 7, 11, dtype=torch.float64, generator=generator)
    W_Q = torch.randn(3, 2, dtype=torch.float64, generator=generator)
    W_K = torch.randn(11, 2, dtype=torch.float64, generator=generator)
    expected = attention_scores(query @ W_Q, key @ W_K, scale=False)
    assert_close(bilinear_scores(query, key, W_Q @ W_K.mT), expected)


@pytest.mark.parametrize("scores", [laplace_scores, gaussian_scores])
def test_small_distances_far_from_the_origin_do_not_cancel(scores):
    """The shortcut with ||q||² − 2qk + ||k||² has no digit left here."""
    near = tensor([[0.0, 0.0], [3e-4, 4e-4]])
    far = near + 1e6  # in float64 the difference stays to ten digits
    assert_close(scores(far, far), scores(near, near), rtol=1e-6, atol=0)
    square = far.square().sum(dim=1)
    by_the_shortcut = (square[0] + square[1] - 2 * far[0] @ far[1]).item()
    assert abs(by_the_shortcut / 2.5e-7 - 1) > 0.1


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_distances_neither_overflow_nor_vanish(size):
    key = tensor([[3.0, 4.0], [0.0, 0.0]]) * size
    assert_close(laplace_scores(key[1:], key), tensor([[-5.0 * size, 0.0]]), rtol=1e-12, atol=0)
    assert_close(gaussian_scores(key[1:], key, bandwidth=size), tensor([[-12.5, 0.0]]))


# smoothing


def test_nadaraya_watson_of_the_lecture():
    """`nadaraya-watson-example`."""
    distances = -laplace_scores(QUERY, X)
    assert_close(distances, tensor([[2.89, 0.85, 1.80]]))
    weights = lookup_weights(-distances)
    assert_close(weights, tensor([[0.0857, 0.6593, 0.2550]]), rtol=0, atol=5e-5)
    prediction = nadaraya_watson(QUERY, X, Y, laplace_scores)
    assert prediction.shape == (1,)
    assert prediction.item() == pytest.approx(-1.56680, abs=5e-6)


@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 5.0])
def test_nadaraya_watson_equals_the_classical_fraction(generator, bandwidth):
    x, query = (torch.randn(n, 2, dtype=torch.float64, generator=generator) for n in (7, 5))
    y = torch.randn(7, 3, dtype=torch.float64, generator=generator)
    scores = functools.partial(gaussian_scores, bandwidth=bandwidth)
    found = nadaraya_watson(query, x, y, scores)
    one = nadaraya_watson(query, x, y[:, 0], scores)
    for i in range(5):
        kernel = [math.exp(-(math.dist(query[i], x[j]) ** 2) / 2 / bandwidth**2) for j in range(7)]
        expected = sum(k * y[j] for j, k in enumerate(kernel)) / sum(kernel)
        assert_close(found[i], expected, rtol=1e-12, atol=1e-12)
        assert_close(one[i], expected[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scores", [laplace_scores, gaussian_scores])
def test_far_from_all_data_the_nearest_point_answers_and_not_0_over_0(scores):
    found = nadaraya_watson(tensor([[-5000.0], [5000.0]]), X, Y, scores)
    if scores is gaussian_scores:
        assert_close(found, Y[[0, 2]], rtol=0, atol=0)
    else:  # the ratios of the Laplace kernel are the same everywhere on one side
        expected = nadaraya_watson(tensor([[1.36], [6.05]]), X, Y, scores)
        assert_close(found, expected, rtol=1e-9, atol=0)


def test_gaussian_process_of_the_lecture():
    """`gp-weighted-targets`, E22: noise 0.01; neither the weights nor the mean are raw."""
    raw = gaussian_scores(QUERY, X).exp()
    assert_close(raw, tensor([[0.0154, 0.6968, 0.1979]]), rtol=0, atol=5e-5)
    assert (raw @ Y).item() == pytest.approx(-1.6353, abs=5e-5)
    weights = gaussian_process_weights(QUERY, X, gaussian_scores, noise=0.01)
    assert_close(weights, tensor([[-0.0705, 0.6934, 0.1754]]), rtol=0, atol=5e-5)
    mean = gaussian_process_weights(QUERY, X, gaussian_scores, noise=0.01) @ Y
    assert mean.shape == (1,)
    assert mean.item() == pytest.approx(-1.7343, abs=5e-5)


def test_gaussian_process_without_noise_goes_through_the_points(generator):
    y = torch.randn(3, 2, dtype=torch.float64, generator=generator)
    assert_close(gaussian_process_weights(X, X, gaussian_scores, noise=0.0) @ y, y)
    far = gaussian_process_weights(tensor([[900.0]]), X, gaussian_scores, noise=0.0) @ y
    assert far.tolist() == [[0.0, 0.0]]


def test_gaussian_process_discounts_a_point_told_twice():
    """Two equal points share the weight of one; Nadaraya-Watson counts both."""
    x = tensor([[0.0], [0.0], [1.0]])
    weights = gaussian_process_weights(tensor([[0.5]]), x, gaussian_scores, noise=1e-8)
    assert weights[0, 0].item() == pytest.approx(weights[0, 2].item() / 2, rel=1e-5)
    assert weights[0, 0].item() == pytest.approx(weights[0, 1].item(), rel=1e-5)


# bad input

ZEROS = {s: torch.zeros(s) for s in [(3,), (5, 3), (7, 3), (7, 2), (2, 7, 3), (5, 0), (0, 3)]}


def test_shares_of_a_negative_score_are_none():
    with pytest.raises(ValueError, match=r"scores must be at least 0 and finite; got smallest=-1"):
        row_shares(torch.tensor([[2.0, -1.0]]))


def test_gaussian_process_refuses_what_has_no_inverse():
    message = (
        r"kernel of the known points plus noise must be positive definite; got noise=0.0, x=\(3"
    )
    with pytest.raises(ValueError, match=message):
        gaussian_process_weights(QUERY, X[[0, 0, 1]], gaussian_scores, noise=0.0)
