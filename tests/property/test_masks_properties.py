"""What holds for every mask and every combination: hypothesis draws sizes, texts and widths."""

import itertools

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.attention import attention
from softlookup.masks import (
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
    """n positions, and the numbers that five masks over them are made from."""
    n = draw(st.integers(1, 9))
    width, dilation = draw(st.integers(0, 9)), draw(st.integers(1, 4))
    real, one = draw(st.integers(0, n)), draw(st.integers(0, n - 1))
    return n, width, dilation, real, one


@given(sizes_of_masks())
def test_every_pair_of_masks_combines_as_its_rules_do(sizes):
    n, width, dilation, real, one = sizes
    reach = range(0, width * dilation + 1, dilation)
    rules = [
        (causal_mask(n), lambda i, j: j <= i),
        (window_mask(n, width), lambda i, j: abs(i - j) <= width),
        (dilated_mask(n, width, dilation), lambda i, j: abs(i - j) in reach),
        (global_mask(n, [one]), lambda i, j: one in (i, j)),
        (padding_mask([real], n)[0], lambda i, j: j < real),
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
