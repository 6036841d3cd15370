"""Attention for long texts: worked numbers, loop oracles, what is never held, bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention import attention, count_operations, peak_memory
from softlookup.attention.efficient import (
    block_sparse_mask,
    elu_plus_one,
    linear_attention,
    linear_step,
    online_softmax,
    sliding_mask,
    tiled_attention,
    window_attention,
)
from softlookup.masks import causal_mask

FORMS = ["quadratic", "chunked", "recurrent"]


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def normal(generator, *shapes):
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


def zeros(*shapes):
    return [torch.zeros(shape) for shape in shapes]


# windows


@pytest.mark.parametrize(("n", "width"), [(1, 1), (7, 1), (7, 3), (7, 7), (7, 11)])
def test_a_query_sees_itself_and_what_is_less_than_width_before_it(n, width):
    mask = sliding_mask(n, width)
    assert mask.tolist() == [[i - width < j <= i for j in range(n)] for i in range(n)]


def test_the_window_sees_an_eighth_of_the_causal_pairs():
    assert sliding_mask(4096, 256).sum().item() == 1_015_936
    assert causal_mask(4096).sum().item() == 8_390_656


def test_window_attention_by_hand():
    query = key = torch.zeros(4, 1, dtype=torch.float64)
    value = tensor([[1], [2], [4], [8]])
    assert_close(window_attention(query, key, value, 3), tensor([[1], [1.5], [7 / 3], [14 / 3]]))


@pytest.mark.parametrize("n", [0, 1, 5, 6, 7, 13])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 7, 100])
def test_the_band_gives_what_the_masked_square_gives(generator, n, width):
    query, key, value = normal(generator, (2, n, 5), (2, n, 5), (2, n, 3))
    mask = sliding_mask(n, width) if n else torch.ones(0, 0, dtype=torch.bool)
    expected = attention(query, key, value, mask)
    assert_close(window_attention(query, key, value, width), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("width", [8, 32])
def test_work_and_memory_of_the_window_grow_as_n_not_as_its_square(generator, width):
    small, large = ([torch.randn(n, 5, generator=generator) for _ in range(3)] for n in (128, 512))
    work, memory = [], []
    for rows in small, large:
        work.append(count_operations(window_attention, *rows, width))
        memory.append(peak_memory(window_attention, *rows, width))
    assert work[0].exponentials == 128 * 2 * width
    assert work[0].multiplications == 128 * 2 * width * (5 + 5)
    assert work[1].multiplications == 4 * work[0].multiplications
    assert memory[1] <= 4 * memory[0]


def test_a_window_wider_than_the_text_costs_no_more_than_two_squares(generator):
    rows = normal(generator, (11, 3), (11, 3), (11, 2))
    assert count_operations(window_attention, *rows, 1000).exponentials == 2 * 11**2


def test_what_stands_in_other_blocks_never_meets_the_query(generator):
    query, key, value = normal(generator, (12, 5), (12, 5), (12, 3))
    expected = window_attention(query, key, value, 3)
    key[4], value[4] = math.nan, math.inf
    out = window_attention(query, key, value, 3)
    assert_close(out[:3], expected[:3], rtol=0, atol=0)
    assert_close(out[9:], expected[9:], rtol=0, atol=0)
    assert out[4].isnan().all()


# blocks


def test_block_sparse_mask_by_hand():
    """Five positions in blocks of two: {0, 1}, {2, 3}, {4}."""
    local = block_sparse_mask(5, 2)
    assert local.int().tolist() == [[1, 1, 1, 1, 0]] * 2 + [[1] * 5] * 2 + [[0, 0, 1, 1, 1]]
    alone = block_sparse_mask(5, 2, neighbours=0, n_global=1)
    assert alone.int().tolist() == [[1] * 5] * 2 + [[1, 1, 1, 1, 0]] * 2 + [[1, 1, 0, 0, 1]]


@pytest.mark.parametrize(("neighbours", "n_global"), [(0, 0), (1, 0), (0, 1), (1, 2), (2, 1)])
@pytest.mark.parametrize(("n", "block"), [(1, 1), (11, 3), (12, 3), (13, 2), (3, 5)])
def test_block_sparse_mask_is_what_its_formula_says(n, block, neighbours, n_global):
    n_global = min(n_global, math.ceil(n / block))
    mask = block_sparse_mask(n, block, neighbours=neighbours, n_global=n_global)
    for i in range(n):
        for j in range(n):
            near = abs(i // block - j // block) <= neighbours
            is_global = i // block < n_global or j // block < n_global
            assert mask[i, j].item() == (near or is_global)


# online softmax and tiles


def test_the_running_sum_shrinks_when_the_maximum_rises():
    """0 and log 2, then log 5: sums 1, 1 + 2 and 3 + 5, whatever is subtracted."""
    scores = tensor([0.0, math.log(2), math.log(5)])
    for tile in (1, 2, 3, 100):
        assert_close(online_softmax(scores, tile=tile), tensor([1 / 8, 2 / 8, 5 / 8]))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("tile", [1, 2, 5])
def test_online_softmax_holds_very_large_scores_in_any_order(sign, tile):
    scores = sign * tensor([0.0, 1e4, -1e4, 1e4, 3.0])
    assert_close(online_softmax(scores, tile=tile), scores.softmax(dim=-1), rtol=1e-12, atol=0)


def test_a_score_of_minus_infinity_gets_no_weight_and_a_row_of_them_is_zero():
    gone = -math.inf
    rows = tensor([[gone, 1, gone, 1], [gone, gone, gone, gone], [0, gone, gone, gone]])
    expected = tensor([[0, 0.5, 0, 0.5], [0, 0, 0, 0], [1, 0, 0, 0]])
    for tile in (1, 2, 3, 4):
        assert_close(online_softmax(rows, tile=tile), expected)


@pytest.mark.parametrize("tile", [1, 2, 3, 7, 64])
def test_tiles_give_what_the_whole_table_gives(generator, tile):
    query, key, value = normal(generator, (2, 5, 3), (2, 7, 3), (2, 7, 11))
    mask = torch.rand(2, 5, 7, generator=generator) < 0.6
    mask[0, 2], mask[:, :, 4] = False, False
    exact = {"rtol": 1e-12, "atol": 1e-12}
    assert_close(
        tiled_attention(query, key, value, tile=tile), attention(query, key, value), **exact
    )
    expected = attention(query, key, value, mask)
    assert_close(tiled_attention(query, key, value, mask, tile=tile), expected, **exact)
    assert (expected[0, 2] == 0).all()
    both = attention(query, key, value, mask & causal_mask(5, 7))
    out = tiled_attention(query, key, value, mask, causal=True, tile=tile)
    assert_close(out, both, **exact)


@pytest.mark.parametrize("tile", [1, 3])
def test_tiles_hold_scores_of_ten_thousand(generator, tile):
    query, key, value = normal(generator, (5, 3), (7, 3), (7, 2))
    query = 1e4 * query
    expected = attention(query, key, value)
    assert_close(tiled_attention(query, key, value, tile=tile), expected, rtol=1e-12, atol=1e-12)


def test_tiles_never_hold_the_table_of_all_pairs():
    """Four times the text: four times the memory, forward and on the way back; the table is n²."""
    peaks = {}
    for n in (256, 1024):
        rows = [torch.zeros(n, 8, requires_grad=True) for _ in range(3)]
        with torch.no_grad():
            peaks[n] = peak_memory(tiled_attention, *rows)
        peaks["back", n] = peak_memory(lambda *x: tiled_attention(*x).sum().backward(), *rows)
    assert peaks[1024] <= 4 * peaks[256]
    assert peaks["back", 1024] <= 4 * peaks["back", 256]
    assert peaks[1024] < 1024**2 * 4 / 30
    assert peaks["back", 1024] < 1024**2 * 4 / 6


def test_tiles_in_the_future_are_left_out(generator):
    rows = normal(generator, (8, 3), (8, 3), (8, 5))
    whole = count_operations(lambda *x: tiled_attention(*x, tile=2), *rows)
    causal = count_operations(lambda *x: tiled_attention(*x, tile=2, causal=True), *rows)
    assert whole.multiplications == 8 * 8 * (3 + 5)
    assert causal.multiplications == (4 + 3 + 2 + 1) * 2 * 2 * (3 + 5)


# linear attention


def test_elu_plus_one_by_hand_and_its_slope():
    x = tensor([-100.0, -1, 0, 2]).requires_grad_()
    out = elu_plus_one(x)
    assert_close(out, tensor([math.exp(-100), math.exp(-1), 1, 3]), rtol=1e-12, atol=0)
    slope = tensor([math.exp(-100), math.exp(-1), 1, 1])
    assert_close(torch.autograd.grad(out.sum(), x)[0], slope, rtol=1e-12, atol=0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("causal", [False, True])
def test_linear_attention_is_a_mean_weighted_by_products_of_features(generator, form, causal):
    query, key, value = normal(generator, (7, 3), (7, 3), (7, 2))
    out = linear_attention(query, key, value, causal=causal, form=form, chunk=3)
    feature = [[[x + 1 if x > 0 else math.exp(x) for x in row] for row in rows.tolist()]
               for rows in (query, key)]  # fmt: skip
    for i, q in enumerate(feature[0]):
        seen = range(i + 1 if causal else 7)
        weights = [math.fsum(a * b for a, b in zip(q, feature[1][j], strict=True)) for j in seen]
        mean = sum(w * value[j] for w, j in zip(weights, seen, strict=True)) / sum(weights)
        assert_close(out[i], mean, rtol=1e-12, atol=1e-12)


def test_linear_attention_reads_all_unless_it_is_told_otherwise(generator):
    query, key, value = normal(generator, (7, 3), (7, 3), (7, 2))
    every = linear_attention(query, key, value, causal=False)
    assert_close(linear_attention(query, key, value), every, rtol=0, atol=0)


def test_the_steps_of_a_stream_give_the_whole_and_the_state_does_not_grow(generator):
    query, key, value = normal(generator, (2, 11, 3), (2, 11, 3), (2, 11, 5))
    whole, state = linear_attention(query, key, value, causal=True, form="quadratic"), None
    for t in range(11):
        out, state = linear_step(query[:, t], key[:, t], value[:, t], state)
        assert_close(out, whole[:, t], rtol=1e-12, atol=1e-12)
        assert state.shape == (2, 3, 5 + 1)


def test_linear_attention_is_neither_softmax_nor_a_window(generator):
    query, key, value = normal(generator, (7, 3), (7, 3), (7, 2))
    linear = linear_attention(query, key, value, causal=True)
    for other in (
        attention(query, key, value, causal_mask(7)),
        window_attention(query, key, value, 3),
    ):
        assert (linear - other).abs().max() > 0.1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("causal", [False, True])
def test_any_feature_map_may_be_given_and_a_sum_of_zero_gives_zeros(form, causal):
    """relu of the first key is 0: the first query has nothing to divide by."""
    query = key = tensor([[-1], [2], [1]])
    value = tensor([[4], [6], [9]])
    options = {"causal": causal, "form": form, "chunk": 2, "feature_map": torch.relu}
    out = linear_attention(query, key, value, **options)
    assert_close(out, tensor([[0], [6], [7]]) if causal else tensor([[0], [7], [7]]))
    doubled = {**options, "feature_map": lambda x: torch.cat([x.relu(), x.relu()], dim=-1)}
    assert_close(linear_attention(query, key, value, **doubled), out)


@pytest.mark.parametrize("form", ["chunked", "recurrent"])
def test_work_of_the_linear_forms_grows_as_n(generator, form):
    costs = [
        count_operations(
            lambda *x: linear_attention(*x, causal=True, form=form, chunk=4),
            *normal(generator, (n, 3), (n, 3), (n, 2)),
        ).multiplications
        for n in (16, 64)
    ]
    assert costs[1] == 4 * costs[0]
    square = {"causal": True, "form": "quadratic"}
    rows = normal(generator, (64, 3), (64, 3), (64, 2))
    whole = count_operations(lambda *x: linear_attention(*x, **square), *rows)
    assert whole.multiplications == 64 * 64 * (3 + 2)


# bad input


def test_no_more_blocks_are_global_than_there_are():
    with pytest.raises(ValueError, match="number of blocks; got n_global=4, n_blocks=3"):
        block_sparse_mask(5, 2, n_global=4)


def test_linear_attention_along_time_needs_a_key_at_each_position():
    message = r"as many keys as queries, one at each position; got query=\(5, 3\), key=\(7, 3\)"
    with pytest.raises(ValueError, match=message):
        linear_attention(*zeros((5, 3), (7, 3), (7, 2)), causal=True)


def test_causal_tiles_refuse_fewer_keys_than_queries():
    message = "at least as many keys as queries; got n_q=7, n_k=5"
    with pytest.raises(ValueError, match=message):
        tiled_attention(*zeros((7, 3), (5, 3), (5, 2)), causal=True)


@pytest.mark.parametrize(
    "feature_map",
    [
        lambda x: x[..., : len(x)],  # as many features as there are rows
        lambda x: x[:2],
        lambda x: x[..., :0],
    ],
    ids=["of two lengths", "of two rows", "of none"],
)
def test_features_of_queries_and_keys_fit(feature_map):
    rule = "feature_map must give each query and key a row of features, all of one length"
    with pytest.raises(ValueError, match=rule):
        linear_attention(*zeros((2, 3), (5, 3), (5, 2)), feature_map=feature_map)


def test_a_feature_map_gives_a_row_of_features():
    with pytest.raises(ValueError, match=r"a row of features, .* got query=\(5,\), key=\(5,\)"):
        linear_attention(*zeros((5, 3), (5, 3), (5, 2)), feature_map=lambda x: x.sum(dim=-1))


def test_a_state_has_one_row_per_feature():
    message = r"state must have one row per feature; got state=\(5, 3\), features=\(3,\)"
    with pytest.raises(ValueError, match=message):
        linear_step(*zeros((3,), (3,), (2,)), torch.zeros(5, 3))
