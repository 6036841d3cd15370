"""What holds for every mask and every combination: hypothesis draws sizes, texts and widths."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.attention import attention
from softlookup.masks import (
    block_mask,
    causal_mask,
    dilated_mask,
    global_mask,
    padding_mask,
    window_mask,
)

lengths = st.lists(st.integers(1, 5), min_size=1, max_size=4)
seeds = st.integers(0, 2**32 - 1)


def normal(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


@st.composite
def sizes_of_masks(draw):
    """n positions, and the numbers that six masks over them are made from."""
    n = draw(st.integers(1, 9))
    width, dilation = draw(st.integers(0, 9)), draw(st.integers(1, 4))
    real, one = draw(st.integers(0, n)), draw(st.integers(0, n - 1))
    return n, width, dilation, real, one, draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))


@given(sizes_of_masks())
def test_every_pair_of_masks_combines_as_its_rules_do(sizes):
    n, width, dilation, real, one, texts = sizes
    reach = range(0, width * dilation + 1, dilation)
    rules = [
        (causal_mask(n), lambda i, j: j <= i),
        (window_mask(n, width), lambda i, j: abs(i - j) <= width),
        (dilated_mask(n, width, dilation), lambda i, j: abs(i - j) in reach),
        (global_mask(n, [one]), lambda i, j: one in (i, j)),
        (padding_mask([real], n)[0], lambda i, j: j < real),
        (block_mask(texts), lambda i, j: texts[i] == texts[j]),
    ]
    cells = list(itertools.product(range(n), repeat=2))
    for (first, rule), (second, other) in itertools.product(rules, repeat=2):
        both, either = (first & second).expand(n, n), (first | second).expand(n, n)
        assert both.flatten().tolist() == [rule(*cell) and other(*cell) for cell in cells]
        assert either.flatten().tolist() == [rule(*cell) or other(*cell) for cell in cells]


@given(st.integers(1, 9), st.integers(0, 9))
def test_causal_mask_of_the_last_queries_is_the_end_of_the_square_one(n_q, more):
    n_k = n_q + more
    mask = causal_mask(n_q, n_k)
    assert mask.equal(causal_mask(n_k)[more:])
    assert mask.sum(dim=1).tolist() == list(range(more + 1, n_k + 1))


@given(st.integers(1, 7), st.integers(0, 7), seeds)
def test_the_last_queries_alone_read_what_they_read_among_all(n_q, more, seed):
    n_k = n_q + more
    query, key, value = normal(seed, (n_k, 5), (n_k, 5), (n_k, 3))
    whole = attention(query, key, value, causal_mask(n_k))
    assert_close(attention(query[more:], key, value, causal_mask(n_q, n_k)), whole[more:])


@pytest.mark.parametrize("causal", [False, True])
@given(sizes=lengths, seed=seeds)
def test_texts_in_one_row_are_read_as_if_alone(causal, sizes, seed):
    n = sum(sizes)
    query, key, value = normal(seed, (n, 5), (n, 5), (n, 3))
    segments = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    mask = block_mask(segments) & causal_mask(n) if causal else block_mask(segments)
    parts = zip(*(rows.split(sizes) for rows in (query, key, value)), strict=True)
    alone = [attention(*part, causal_mask(len(part[0])) if causal else None) for part in parts]
    assert_close(attention(query, key, value, mask), torch.cat(alone))


@given(lengths, seeds)
def test_what_stands_in_another_text_has_no_influence_at_all(sizes, seed):
    n = sum(sizes) + 1
    query, key, value = normal(seed, (n, 5), (n, 5), (n, 3))
    segments = torch.tensor([0] * (n - 1) + [1])
    before = attention(query, key, value, block_mask(segments))
    key[-1], value[-1] = 1e30, -1e30
    assert attention(query, key, value, block_mask(segments))[:-1].equal(before[:-1])


@given(lengths, seeds)
def test_padding_and_blocks_combine_in_a_batch(sizes, seed):
    n, real = sum(sizes) + 3, [sum(sizes), sum(sizes) + 3]
    query, key, value = normal(seed, (2, n, 5), (2, n, 5), (2, n, 3))
    segments = torch.arange(len(sizes) + 1).repeat_interleave(torch.tensor([*sizes, 3]))
    mask = padding_mask(real, n) & causal_mask(n) & block_mask(segments)
    assert mask.shape == (2, n, n)
    whole = attention(query, key, value, mask)
    for text, length in enumerate(real):
        rows = (part[text, :length] for part in (query, key, value))
        alone = attention(*rows, (block_mask(segments) & causal_mask(n))[:length, :length])
        assert_close(whole[text, :length], alone)
