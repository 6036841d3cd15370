"""Laws of the filters, of windows and of gaps, on numbers that hypothesis chooses."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.language_models import (
    mask_tokens,
    min_p_filter,
    next_token_log_probabilities,
    top_k_filter,
    top_p_filter,
)

rows = st.lists(st.floats(-30, 30), min_size=1, max_size=13).map(
    lambda row: torch.tensor(row, dtype=torch.float64)
)
shares = st.floats(0.001, 1)


def left(scores):
    return scores > -math.inf


@given(rows, st.integers(1, 20))
def test_top_k_keeps_k_and_none_that_is_smaller_than_one_it_cuts(row, k):
    kept = left(top_k_filter(row, k))
    assert kept.sum() == min(k, len(row))
    if not kept.all():
        assert row[kept].min() >= row[~kept].max()


@given(rows, shares)
def test_top_p_is_enough_and_one_less_is_not(row, p):
    kept = left(top_p_filter(row, p))
    weights = torch.softmax(row, dim=-1)
    total, least = weights[kept].sum(), weights[kept].min()
    assert total >= p - 1e-12
    if p < 1:
        assert total - least < p + 1e-12
        assert not (~kept).any() or row[kept].min() >= row[~kept].max()


@given(rows, shares)
def test_min_p_keeps_by_the_ratio_to_the_best(row, p):
    weights = torch.softmax(row, dim=-1)
    ratio = weights / weights.max()
    clear = (ratio - p).abs() > 1e-9
    assert torch.equal(left(min_p_filter(row, p))[clear], (ratio >= p)[clear])


@given(rows, st.integers(1, 20), shares, st.floats(0, 1))
def test_any_filters_in_a_row_leave_the_best(row, k, p, least):
    found = min_p_filter(top_p_filter(top_k_filter(row, k), p), least)
    best = row.argmax()
    assert found[best] == row[best]


@given(rows, shares, st.floats(-50, 50))
def test_a_constant_added_to_all_scores_changes_no_choice(row, p, shift):
    for cut, limit in (top_k_filter, 3), (min_p_filter, 0.5 * p):
        moved = row + shift
        same = torch.equal(row[:, None] < row, moved[:, None] < moved)  # also what is equal
        ratio = torch.exp(row - row.max())
        clear = (ratio - 0.5 * p).abs().min() > 1e-9
        if same and clear:
            assert torch.equal(left(cut(row, limit)), left(cut(moved, limit)))


@given(st.integers(2, 40), st.integers(1, 17), st.integers(1, 17), st.integers(1, 9))
def test_any_stride_gives_one_term_per_token(n, window, stride, batch_size):
    """A model that is certain of (last token + 1): all terms are 0 exactly where it is right."""
    ids = torch.arange(n) % 19
    model = lambda x: 99.0 * torch.nn.functional.one_hot((x + 1) % 19, 19).double()  # noqa: E731
    found = next_token_log_probabilities(
        model, ids, window, stride=min(stride, window), batch_size=batch_size
    )
    assert_close(found, torch.zeros(n - 1, dtype=torch.float64))


@given(st.integers(0, 2**31), shares, shares, st.integers(0, 12))
def test_gaps_stand_only_where_they_were_chosen(seed, share, hidden, special):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(13, (3, 17), generator=generator)
    found = mask_tokens(
        ids, mask_id=0, vocab_size=13, generator=generator, share=share, hidden=hidden,
        replaced=1 - hidden, special=[special],
    )  # fmt: skip
    assert torch.equal(found.inputs[~found.chosen], ids[~found.chosen])
    assert not found.chosen[(ids == 0) | (ids == special)].any()
    assert found.inputs.min() >= 0
    assert found.inputs.max() < 13
