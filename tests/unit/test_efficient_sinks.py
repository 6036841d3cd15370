"""Streams with sinks, the strided mask, softmax plus one, the cache's size."""

import math
import re

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention import attention, attention_weights, path_lengths, readable
from softlookup.attention.efficient import (
    cache_bytes,
    sliding_mask,
    softmax_plus_one,
    stream_attention,
    streaming_mask,
    strided_mask,
)
from softlookup.masks import causal_mask
from softlookup.models import GPT, GPTConfig
from softlookup.ops import softmax

CASES = [(1, 1, 0), (7, 3, 0), (7, 3, 2), (7, 1, 1), (7, 5, 3), (7, 11, 2), (3, 2, 5)]


def normal(generator, *shapes):
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


# the streaming mask


@pytest.mark.parametrize(("n", "width", "n_sinks"), CASES)
def test_a_stream_sees_the_first_and_the_last_and_nothing_else(n, width, n_sinks):
    mask = streaming_mask(n, width, n_sinks).tolist()
    expected = [[j <= i and (j < n_sinks or j > i - width) for j in range(n)] for i in range(n)]
    assert mask == expected
    assert [sum(row) for row in mask] == [min(i + 1, n_sinks + width) for i in range(n)]


def test_without_sinks_it_is_the_sliding_window_and_with_enough_the_whole_past():
    assert torch.equal(streaming_mask(13, 5), sliding_mask(13, 5))
    assert torch.equal(streaming_mask(13, 5, 8), causal_mask(13))


@pytest.mark.parametrize(("n", "width", "n_sinks"), CASES)
def test_the_mask_is_the_rule_of_the_models_own_cache(n, width, n_sinks):
    places = torch.arange(n)
    expected = readable(places, places, window=width, n_sinks=n_sinks)
    assert torch.equal(streaming_mask(n, width, n_sinks), expected)


# the simulator


@pytest.mark.parametrize(("n", "width", "n_sinks"), CASES)
def test_token_by_token_the_cache_gives_what_the_mask_gives(generator, n, width, n_sinks):
    query, key, value = normal(generator, (2, n, 5), (2, n, 5), (2, n, 3))
    mask = streaming_mask(n, width, n_sinks)
    steps = stream_attention(query, key, value, width, n_sinks=n_sinks)
    out = torch.stack([step.out for step in steps], dim=-2)
    assert_close(out, attention(query, key, value, mask), rtol=1e-12, atol=1e-12)
    weights = attention_weights(query, key, mask)
    for i, step in enumerate(steps):
        assert step.positions == mask[i].nonzero().flatten().tolist()
        assert_close(step.weights, weights[:, i, step.positions], rtol=1e-12, atol=1e-12)


def test_a_key_that_was_evicted_never_comes_back(generator):
    query, key, value = normal(generator, (11, 5), (11, 5), (11, 3))
    before = stream_attention(query, key, value, 3, n_sinks=1)
    key[2], value[2] = torch.nan, torch.nan  # in the cache at steps 2, 3 and 4 alone
    after = stream_attention(query, key, value, 3, n_sinks=1)
    touched = [bool(step.out.isnan().any()) for step in after]
    assert touched == [i in (2, 3, 4) for i in range(11)]
    for a, b in zip(before, after, strict=True):
        assert a.positions == b.positions
        assert 2 in b.positions or torch.equal(a.out, b.out)


def test_eviction_moves_the_mass_of_the_sink_in_proportion(generator):
    query, key, value = normal(generator, (9, 5), (9, 5), (9, 3))
    whole = attention_weights(query, key, causal_mask(9))[8]
    kept = stream_attention(query, key, value, 8)[8]
    assert kept.positions == [1, 2, 3, 4, 5, 6, 7, 8]
    assert_close(kept.weights, whole[1:] / (1 - whole[0]))


def test_a_text_of_no_token_takes_no_step():
    assert stream_attention(torch.zeros(0, 3), torch.zeros(0, 3), torch.zeros(0, 2), 4) == []


def test_half_precision_stays_and_inputs_are_not_changed(generator):
    rows = [x.half() for x in normal(generator, (7, 5), (7, 5), (7, 3))]
    kept = [x.clone() for x in rows]
    steps = stream_attention(*rows, 2, n_sinks=1)
    assert all(step.out.dtype == torch.float16 for step in steps)
    assert all(map(torch.equal, rows, kept))
    expected = attention(*rows, streaming_mask(7, 2, 1))
    assert torch.equal(torch.stack([step.out for step in steps]), expected)


# strides


@pytest.mark.parametrize(("n", "stride"), [(1, 1), (7, 1), (7, 3), (16, 4), (17, 4), (5, 9)])
def test_a_stride_sees_its_window_and_every_rth_key_before(n, stride):
    mask = strided_mask(n, stride).tolist()
    assert mask == [
        [j <= i and (i - j < stride or (i - j) % stride == 0) for j in range(n)] for i in range(n)
    ]


def test_two_layers_of_a_stride_hear_the_whole_past():
    lengths = path_lengths(strided_mask(64, 8))
    assert lengths[causal_mask(64)].max() == 2
    assert (lengths[~causal_mask(64)] == -1).all()
    assert path_lengths(sliding_mask(64, 8))[causal_mask(64)].max() == 9  # 63 steps, 7 a layer
    assert strided_mask(64, 8).sum(dim=1).max() == 8 + 7  # about twice the root


# softmax plus one


def test_one_more_term_below_by_hand():
    scores = torch.tensor([math.log(2), math.log(3)], dtype=torch.float64)
    assert_close(softmax_plus_one(scores), torch.tensor([2 / 6, 3 / 6], dtype=torch.float64))
    learned = softmax_plus_one(scores, sink=math.log(5))
    assert_close(learned, torch.tensor([0.2, 0.3], dtype=torch.float64))


def test_it_is_the_softmax_with_one_more_key_whose_value_is_zero(generator):
    scores, value = normal(generator, (2, 7, 5), (2, 5, 3))
    longer = torch.cat([scores, torch.zeros(2, 7, 1, dtype=torch.float64)], dim=-1)
    values = torch.cat([value, torch.zeros(2, 1, 3, dtype=torch.float64)], dim=-2)
    assert_close(softmax_plus_one(scores) @ value, softmax(longer) @ values)


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_scores_of_any_size_stay_finite(generator, size):
    (scores,) = normal(generator, (11, 5))
    weights = softmax_plus_one(size * scores)
    assert weights.isfinite().all()
    quiet = softmax_plus_one(-1e4 * torch.ones(3, dtype=torch.float64))
    loud = softmax_plus_one(1e4 * torch.ones(3, dtype=torch.float64))
    assert quiet.tolist() == [0, 0, 0]
    assert_close(loud, torch.full((3,), 1 / 3, dtype=torch.float64))


def test_what_the_mask_hides_gets_nothing_whatever_it_is(generator):
    (scores,) = normal(generator, (5, 7))
    mask = sliding_mask(7, 3)[2:]  # key 0 is hidden from all rows but one
    scores[~mask] = torch.nan
    weights = softmax_plus_one(scores, mask)
    assert (weights[~mask] == 0).all()
    expected = [s[m].exp() / (1 + s[m].exp().sum()) for s, m in zip(scores, mask, strict=True)]
    assert_close(weights[mask], torch.cat(expected))
    empty = softmax_plus_one(scores, torch.zeros_like(mask))
    assert (empty == 0).all()


def test_each_head_may_have_a_sink_of_its_own(generator):
    scores, sink = normal(generator, (3, 2, 7), (3, 1))
    weights = softmax_plus_one(scores, sink=sink)
    for h in range(3):
        assert_close(weights[h], softmax_plus_one(scores[h], sink=sink[h].item()))
    sink.requires_grad_()
    softmax_plus_one(scores, sink=sink).sum().backward()
    assert (sink.grad < 0).all()  # the louder the sink, the quieter the rest


# the size of the cache


@pytest.mark.parametrize("kv_heads", [6, 3, 1])
@pytest.mark.parametrize("n", [0, 1, 17])
def test_the_formula_is_what_a_models_cache_takes(kv_heads, n):
    config = GPTConfig(13, 20, 12, 6, n_layers=5, n_kv_heads=kv_heads, positions="none")
    kept = GPT(config).start(torch.zeros(1, n, dtype=torch.long)).n_bytes
    shape = {"n_layers": 5, "n_kv_heads": kv_heads, "d_head": 2, "dtype": torch.float32}
    assert cache_bytes(n, **shape) == kept == 2 * 5 * kv_heads * 2 * n * 4


def test_published_sizes():
    llama3_8b = {"n_layers": 32, "n_kv_heads": 8, "d_head": 128}
    assert cache_bytes(1, **llama3_8b) == 128 * 2**10
    assert cache_bytes(2**17, **llama3_8b) == 16 * 2**30
    assert cache_bytes(2**17, **llama3_8b, window=4096, n_sinks=4) == 4100 * 128 * 2**10
    assert cache_bytes(100, **llama3_8b, window=4096, n_sinks=4) == 100 * 128 * 2**10


# bad input


def test_a_sink_is_one_finite_number_or_one_for_each_row():
    kinds = "a finite number or a tensor of real numbers with the shape (...)"
    with pytest.raises(ValueError, match=re.escape(f"sink must be {kinds}; got sink=inf")):
        softmax_plus_one(torch.zeros(3), sink=math.inf)
    with pytest.raises(ValueError, match="scores and sink must have leading axes that fit"):
        softmax_plus_one(torch.zeros(2, 3), sink=torch.zeros(5))
