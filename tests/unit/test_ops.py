"""softmax and its relatives: numbers that can be checked by hand, loops, and bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.ops import (
    cosine_similarity,
    cross_entropy,
    entropy,
    masked_softmax,
    sigmoid,
    softmax,
    softmax_jacobian,
    unit_vectors,
    without_idle,
    without_unread,
)


def random(*shape, generator):
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


# softmax


def test_softmax_of_logarithms_gives_back_the_proportions():
    assert_close(softmax(tensor([1.0, 2.0, 5.0]).log()), tensor([1 / 8, 2 / 8, 5 / 8]))


def test_softmax_equals_a_loop_over_every_entry(generator):
    scores = random(2, 3, 5, generator=generator)
    result = softmax(scores)
    for b in range(2):
        for i in range(3):
            total = sum(math.exp(s) for s in scores[b, i].tolist())
            for j in range(5):
                expected = math.exp(scores[b, i, j].item()) / total
                assert result[b, i, j].item() == pytest.approx(expected, rel=1e-12)


def test_softmax_takes_the_last_axis_of_a_square_matrix():
    scores = tensor([[0.0, 0.0], [math.log(3), 0.0]])
    assert_close(softmax(scores), tensor([[0.5, 0.5], [0.75, 0.25]]))


def test_softmax_does_not_change_when_all_scores_are_shifted(generator):
    scores = random(3, 5, generator=generator)
    assert_close(softmax(scores + 1000.0), softmax(scores), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [1e4, 1e300])
def test_softmax_does_not_overflow(size):
    assert_close(softmax(tensor([size, size, 0.0])), tensor([0.5, 0.5, 0.0]), rtol=0, atol=0)
    assert_close(softmax(tensor([-size, -size])), tensor([0.5, 0.5]), rtol=0, atol=0)


def test_softmax_treats_rows_apart_however_far_apart_they_are():
    scores = tensor([[0.0, 0.0], [1e4, 1e4], [-1e4, -1e4]])
    assert softmax(scores).tolist() == [[0.5, 0.5]] * 3


def test_softmax_temperature_divides_the_scores(generator):
    scores = random(3, 5, generator=generator)
    assert_close(softmax(scores, temperature=0.7), softmax(scores / 0.7))


def test_softmax_at_the_ends_of_the_temperature():
    scores = tensor([1.0, 3.0, 2.0])
    assert_close(softmax(scores, temperature=1e-310), tensor([0.0, 1.0, 0.0]), rtol=0, atol=0)
    assert_close(softmax(scores, temperature=1e9), torch.full((3,), 1 / 3, dtype=torch.float64))


def test_softmax_gives_no_weight_to_minus_infinity():
    assert softmax(tensor([0.0, -math.inf, 0.0])).tolist() == [0.5, 0.0, 0.5]


def test_softmax_of_minus_infinity_alone_is_nan_as_documented():
    result = softmax(tensor([[-math.inf, -math.inf], [0.0, 0.0]]))
    assert result[0].isnan().all()
    assert result[1].tolist() == [0.5, 0.5]


def test_softmax_of_one_score_is_one():
    assert softmax(tensor([[-7.0], [3.0]])).tolist() == [[1.0], [1.0]]








@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_softmax_refuses_a_temperature_that_is_not_positive(temperature):
    message = rf"temperature must be positive and finite; got temperature={temperature}"
    with pytest.raises(ValueError, match=message):
        softmax(tensor([1.0]), temperature=temperature)


# masked_softmax


def test_masked_softmax_equals_softmax_over_the_entries_left(generator):
    scores = random(3, 5, generator=generator)
    mask = torch.rand(3, 5, generator=generator) < 0.6
    mask[:, 0] = True
    result = masked_softmax(scores, mask)
    for i in range(3):
        assert_close(result[i, mask[i]], softmax(scores[i, mask[i]]))
        assert result[i, ~mask[i]].eq(0).all()


def test_masked_softmax_with_everything_allowed_is_softmax(generator):
    scores = random(2, 3, 5, generator=generator)
    assert_close(masked_softmax(scores, torch.ones(5, dtype=torch.bool)), softmax(scores))


def test_masked_softmax_empty_row_is_zero_not_uniform_not_nan():
    mask = torch.tensor([[False, False], [True, False]])
    assert masked_softmax(tensor([[1.0, 2.0], [3.0, 4.0]]), mask).tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("content", [math.nan, math.inf, -math.inf, 1e300])
def test_masked_softmax_ignores_what_the_masked_scores_hold(content):
    scores = tensor([[0.0, content, 0.0], [content, content, content]])
    mask = torch.tensor([[True, False, True], [False, False, False]])
    assert masked_softmax(scores, mask).tolist() == [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]


def test_masked_softmax_with_very_low_scores_still_gives_the_masked_ones_nothing():
    """Filling with -1e9 would let the masked score win here."""
    result = masked_softmax(tensor([-1e12, 0.0, -1e12]), torch.tensor([True, False, True]))
    assert result.tolist() == [0.5, 0.0, 0.5]






# softmax_jacobian


def test_softmax_jacobian_of_three_weights_by_hand():
    weights = tensor([0.5, 0.3, 0.2])
    expected = tensor([[0.25, -0.15, -0.10], [-0.15, 0.21, -0.06], [-0.10, -0.06, 0.16]])
    assert_close(softmax_jacobian(weights), expected)


def test_softmax_jacobian_vanishes_when_the_softmax_is_saturated():
    assert softmax_jacobian(tensor([0.0, 1.0, 0.0])).eq(0).all()


def test_softmax_jacobian_takes_leading_axes(generator):
    weights = softmax(random(2, 3, 5, generator=generator))
    result = softmax_jacobian(weights)
    for b in range(2):
        for i in range(3):
            assert_close(result[b, i], softmax_jacobian(weights[b, i]))




# sigmoid


def test_sigmoid_by_hand():
    x = tensor([0.0, math.log(3), -math.log(3)])
    assert_close(sigmoid(x), tensor([0.5, 0.75, 0.25]))


def test_sigmoid_is_the_softmax_of_two_scores_one_of_them_zero(generator):
    x = random(3, 5, generator=generator)
    pairs = torch.stack([x, torch.zeros_like(x)], dim=-1)
    assert_close(sigmoid(x), softmax(pairs)[..., 0])


def test_sigmoid_keeps_its_relative_precision_where_it_is_tiny():
    assert sigmoid(tensor(-40.0)).item() == pytest.approx(math.exp(-40), rel=1e-12, abs=0)




# unit_vectors


def test_unit_vectors_have_length_one_and_keep_their_direction(generator):
    x = random(3, 2, 5, generator=generator)
    unit = unit_vectors(x)
    assert_close(unit.norm(dim=-1), torch.ones(3, 2, dtype=torch.float64))
    assert_close(unit * x.norm(dim=-1, keepdim=True), x)


def test_unit_vectors_of_zeros_and_of_extremes():
    x = tensor([[0.0, 0.0], [3e200, 4e200], [3e-200, 4e-200], [0.0, -7.0]])
    expected = tensor([[0.0, 0.0], [0.6, 0.8], [0.6, 0.8], [0.0, -1.0]])
    assert_close(unit_vectors(x), expected)






# cosine_similarity


def test_cosine_similarity_by_hand():
    x = tensor([[3.0, 4.0], [1.0, 0.0], [2.0, 2.0]])
    y = tensor([[4.0, 3.0], [0.0, 5.0], [-1.0, -1.0]])
    assert_close(cosine_similarity(x, y), tensor([0.96, 0.0, -1.0]))


def test_cosine_similarity_of_all_pairs_equals_a_double_loop(generator):
    x, y = random(3, 7, generator=generator), random(5, 7, generator=generator)
    result = cosine_similarity(x[:, None], y[None])
    for i in range(3):
        for j in range(5):
            dot = sum(a * b for a, b in zip(x[i].tolist(), y[j].tolist(), strict=True))
            expected = dot / (math.hypot(*x[i].tolist()) * math.hypot(*y[j].tolist()))
            assert result[i, j].item() == pytest.approx(expected, rel=1e-12)


def test_cosine_similarity_ignores_length(generator):
    x, y = random(3, 7, generator=generator), random(3, 7, generator=generator)
    assert_close(cosine_similarity(1e200 * x, 1e-200 * y), cosine_similarity(x, y))


def test_cosine_similarity_with_the_zero_vector_is_zero():
    x = tensor([[0.0, 0.0], [0.0, 0.0]]).requires_grad_()
    result = cosine_similarity(x, tensor([[1.0, 2.0], [0.0, 0.0]]))
    assert result.tolist() == [0.0, 0.0]
    result.sum().backward()
    assert x.grad.isfinite().all()




# entropy


def test_entropy_of_equal_weights_is_the_logarithm_of_their_number():
    assert_close(entropy(torch.full((2, 7), 1 / 7, dtype=torch.float64)), tensor([math.log(7)] * 2))


def test_entropy_by_hand():
    expected = 0.5 * math.log(2) + 0.5 * math.log(4)
    assert_close(entropy(tensor([0.5, 0.25, 0.25])), tensor(expected))


def test_entropy_of_one_certain_choice_is_a_zero_without_a_sign():
    result = entropy(tensor([[0.0, 1.0], [0.0, 0.0]]))
    assert result.tolist() == [0.0, 0.0]
    assert not result.signbit().any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_entropy_takes_rounded_sums(dtype, generator):
    weights = torch.randn(3, 101, generator=generator).to(dtype).softmax(dim=-1)
    assert entropy(weights).dtype == dtype


def test_entropy_of_no_rows_is_no_numbers():
    assert entropy(torch.zeros(0, 3)).shape == (0,)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[0.5, 0.5], [2.0, 1.0]], r"sum to 1 or be all zeros; got sum=3.0"),
        ([[0.5, 0.5], [0.5, 0.25]], r"sum to 1 or be all zeros; got sum=0.75"),
    ],
)
def test_entropy_refuses_what_is_no_distribution(weights, message):
    with pytest.raises(ValueError, match=message):
        entropy(tensor(weights))




# cross_entropy


def test_cross_entropy_by_hand():
    """Probabilities (1/4, 3/4) and (1/2, 1/2): the mean of log 4 and log 2."""
    scores = tensor([[0.0, math.log(3)], [5.0, 5.0]])
    expected = (math.log(4) + math.log(2)) / 2
    assert_close(cross_entropy(scores, torch.tensor([0, 1])), tensor(expected))


def test_cross_entropy_is_minus_the_mean_log_softmax_at_the_targets(generator):
    scores = random(2, 3, 5, generator=generator)
    targets = torch.randint(5, (2, 3), generator=generator)
    rows = [(b, i) for b in range(2) for i in range(3)]
    log_p = [math.log(softmax(scores[b, i])[targets[b, i]]) for b, i in rows]
    assert_close(cross_entropy(scores, targets), tensor(-sum(log_p) / len(rows)))


def test_cross_entropy_does_not_overflow():
    assert cross_entropy(tensor([[1e4, 0.0]]), torch.tensor([0])).item() == 0
    assert cross_entropy(tensor([[1e4, 0.0]]), torch.tensor([1])).item() == 1e4


def test_cross_entropy_takes_short_integers():
    targets = torch.tensor([2], dtype=torch.int32)
    assert_close(cross_entropy(torch.zeros(1, 3), targets), torch.tensor(3.0).log())






def test_rows_that_nobody_reads_become_zeros_and_no_others():
    rows = torch.tensor([[1.0, 2.0], [3.0, math.nan], [5.0, 6.0]])
    mask = torch.tensor([[True, False, False], [True, False, True]])
    kept = rows.clone()
    expected = torch.tensor([[1.0, 2.0], [0.0, 0.0], [5.0, 6.0]])
    torch.testing.assert_close(without_unread(rows, mask), expected, rtol=0, atol=0)
    torch.testing.assert_close(rows, kept, rtol=0, atol=0, equal_nan=True)
    assert without_unread(rows, None) is rows


def test_rows_that_may_read_nothing_become_zeros_and_no_others():
    rows = torch.tensor([[1.0, 2.0], [3.0, math.nan], [5.0, 6.0]])
    mask = torch.tensor([[True, False], [False, False], [True, True]])
    kept = rows.clone()
    expected = torch.tensor([[1.0, 2.0], [0.0, 0.0], [5.0, 6.0]])
    torch.testing.assert_close(without_idle(rows, mask), expected, rtol=0, atol=0)
    torch.testing.assert_close(rows, kept, rtol=0, atol=0, equal_nan=True)
    assert without_idle(rows, None) is rows
