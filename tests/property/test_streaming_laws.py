"""Laws of streams, sinks and experts, on any shapes."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.testing import assert_close

from softlookup.attention import attention, path_lengths
from softlookup.attention.efficient import (
    sliding_mask,
    softmax_plus_one,
    stream_attention,
    streaming_mask,
    strided_mask,
)
from softlookup.layers import MixtureOfExperts, balance_loss, expert_load, route
from softlookup.masks import causal_mask

seeds = st.integers(0, 2**31)
sizes = st.integers(1, 12)


def normal(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


@given(n=sizes, width=sizes, n_sinks=st.integers(0, 5), lead=st.sampled_from([(), (2,), (2, 3)]),
       seed=seeds)  # fmt: skip
def test_a_stream_is_attention_under_its_mask_with_its_gradients(n, width, n_sinks, lead, seed):
    rows = normal(seed, (*lead, n, 5), (*lead, n, 5), (*lead, n, 3))
    rows = [x.requires_grad_() for x in rows]
    steps = stream_attention(*rows, width, n_sinks=n_sinks)
    streamed = torch.stack([step.out for step in steps], dim=-2)
    whole = attention(*rows, streaming_mask(n, width, n_sinks))
    assert_close(streamed, whole)
    for a, b in zip(*(torch.autograd.grad(out.square().sum(), rows) for out in (streamed, whole)),
                    strict=True):  # fmt: skip
        assert_close(a, b)


@given(n=sizes, width=sizes, n_sinks=st.integers(0, 5), seed=seeds)
def test_a_cache_never_holds_more_than_its_slots_and_its_weights_sum_to_one(
    n, width, n_sinks, seed
):
    steps = stream_attention(*normal(seed, *[(n, 3)] * 3), width, n_sinks=n_sinks)
    for i, step in enumerate(steps):
        assert len(step.positions) == min(i + 1, width + n_sinks)
        assert step.positions[-1] == i
        assert_close(step.weights.sum(), torch.tensor(1.0, dtype=torch.float64))


@given(n=st.integers(2, 40), width=sizes, n_layers=st.integers(1, 6))
def test_a_stack_of_windows_reaches_one_step_less_than_its_width_for_each_layer(n, width, n_layers):
    lengths = path_lengths(sliding_mask(n, width))
    reached = (lengths >= 0) & (lengths <= n_layers)
    reach = n_layers * (width - 1)
    assert torch.equal(reached, sliding_mask(n, reach + 1))


@given(n=st.integers(1, 40), stride=sizes)
def test_two_layers_of_strides_hear_all(n, stride):
    lengths = path_lengths(strided_mask(n, stride))
    past = causal_mask(n)
    assert lengths[past].max() <= 2
    assert (lengths[~past] == -1).all()


@given(n=sizes, size=st.floats(0.1, 30), sink=st.floats(-30, 30), seed=seeds)
def test_softmax_plus_one_keeps_the_ratios_and_gives_less(n, size, sink, seed):
    (scores,) = normal(seed, (4, n))
    scores = scores * size
    weights = softmax_plus_one(scores, sink=sink)
    total = weights.sum(dim=-1, keepdim=True)
    assert (total <= 1 + 1e-12).all()
    assert_close(weights, scores.softmax(-1) * total)
    expected = torch.sigmoid(scores.logsumexp(-1, keepdim=True) - sink)
    assert_close(total, expected)


def test_slopes_of_softmax_plus_one_are_those_of_finite_differences():
    scores, sink = (x.requires_grad_() for x in normal(0, (3, 5), (3,)))
    mask = torch.rand(3, 5, generator=torch.Generator().manual_seed(1)) < 0.6
    assert gradcheck(lambda s, b: softmax_plus_one(s, mask, sink=b), (scores, sink))


@given(n=st.integers(1, 9), n_experts=st.integers(1, 7), data=st.data(), seed=seeds)
def test_routing_shares_out_one_and_loads_sum_to_one(n, n_experts, data, seed):
    k = data.draw(st.integers(1, n_experts))
    (scores,) = normal(seed, (n, n_experts))
    experts, weights = route(scores, k)
    assert_close(weights.sum(-1), torch.ones(n, dtype=torch.float64))
    assert all(len(set(row)) == k for row in experts.tolist())
    load = expert_load(experts, n_experts)
    assert_close(load.sum(), torch.tensor(1.0, dtype=load.dtype))
    assert load.max() <= 1 / k + 1e-6  # at most one visit of each token
    assert 0 < balance_loss(scores, k) <= n_experts / k + 1e-9
    lifted = route(scores + 3, k)  # the same number more for all changes nothing
    assert torch.equal(lifted.experts, experts)
    assert_close(lifted.weights, weights)


@given(n=st.integers(1, 9), seed=seeds)
def test_experts_are_equivariant_in_the_tokens(n, seed):
    torch.manual_seed(seed)
    layer = MixtureOfExperts(5, 7, n_experts=4, k=2).double()
    (x,) = normal(seed, (n, 5))
    order = torch.randperm(n)
    kept = x.clone()
    assert_close(layer(x[order]), layer(x)[order])
    assert torch.equal(x, kept)
