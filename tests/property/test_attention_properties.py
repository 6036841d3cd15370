"""What holds for every query, key, value and mask: hypothesis draws the sizes and the seed."""

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.attention import Attention, attention, attention_scores, attention_weights
from softlookup.masks import causal_mask, dilated_mask, global_mask, padding_mask, window_mask
from softlookup.ops import entropy, masked_softmax, softmax, softmax_jacobian

sizes = st.integers(1, 11)
seeds = st.integers(0, 2**32 - 1)


def normal(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


def seeded_head(*widths, **options):
    torch.manual_seed(3)
    return Attention(*widths, **options).double()


@st.composite
def problems(draw, n_batch=None):
    """query, key, value and a mask that may leave rows and columns empty; all sizes are free."""
    n_q, n_k, d_k, d_v = (draw(sizes) for _ in range(4))
    lead = () if n_batch is None else (draw(n_batch),)
    shapes = [(*lead, n_q, d_k), (*lead, n_k, d_k), (*lead, n_k, d_v), (*lead, n_q, n_k)]
    query, key, value, noise = normal(draw(seeds), *shapes)
    return 3 * query, 3 * key, value, noise < draw(st.sampled_from([-1.0, 0.0, 1.0]))


def order(n, seed):
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))


# rows


@given(problems())
def test_rows_are_distributions_or_all_zero(problem):
    query, key, _, mask = problem
    weights = attention_weights(query, key, mask)
    assert (weights >= 0).all()
    assert (weights <= 1 + 1e-12).all()
    assert weights[~mask].eq(0).all()
    assert_close(weights.sum(dim=-1), mask.any(dim=-1).double())


@given(problems())
def test_unmasked_rows_are_distributions(problem):
    query, key, _, _ = problem
    sums = attention_weights(query, key).sum(dim=-1)
    assert_close(sums, torch.ones_like(sums))


@given(problems())
def test_outputs_lie_between_the_values_that_were_read(problem):
    query, key, value, mask = problem
    out = attention(query, key, value, mask)
    for i in range(len(query)):
        read = value[mask[i]] if mask[i].any() else torch.zeros_like(value)
        assert (out[i] >= read.amin(dim=0) - 1e-12).all()
        assert (out[i] <= read.amax(dim=0) + 1e-12).all()


@given(problems(n_batch=st.integers(1, 3)))
def test_shapes_follow_from_the_inputs(problem):
    """`qkv-dimension-table`: A is n_q × n_k, the output n_q × d_v, whatever d_k is."""
    query, key, value, mask = problem
    (batch, n_q, _), (n_k, d_v) = query.shape, value.shape[-2:]
    assert attention_scores(query, key).shape == (batch, n_q, n_k)
    assert attention_weights(query, key, mask).shape == (batch, n_q, n_k)
    assert attention(query, key, value, mask).shape == (batch, n_q, d_v)


@given(sizes, sizes, sizes, sizes, sizes, sizes)
def test_head_shapes_follow_from_its_widths(n_q, n_k, d_model, d_context, d_k, d_v):
    head = Attention(d_model, d_k, d_v, d_context=d_context)
    out = head(torch.zeros(n_q, d_model), torch.zeros(n_k, d_context))
    assert out.shape == (n_q, d_v)


# order


@given(problems(), seeds)
def test_permuting_keys_with_their_values_leaves_the_output(problem, seed):
    query, key, value, mask = problem
    p = order(len(key), seed)
    expected = attention(query, key, value, mask)
    assert_close(attention(query, key[p], value[p], mask[:, p]), expected)


@given(problems(), seeds)
def test_permuting_keys_permutes_the_columns_of_the_weights(problem, seed):
    query, key, _, mask = problem
    p = order(len(key), seed)
    expected = attention_weights(query, key, mask)[:, p]
    assert_close(attention_weights(query, key[p], mask[:, p]), expected)


@given(problems(), seeds)
def test_permuting_queries_permutes_the_rows_of_the_output(problem, seed):
    query, key, value, mask = problem
    p = order(len(query), seed)
    expected = attention(query, key, value, mask)[p]
    assert_close(attention(query[p], key, value, mask[p]), expected)


@given(sizes, seeds)
def test_self_attention_without_a_mask_is_equivariant(n, seed):
    (x,) = normal(seed, (n, 5))
    head, p = seeded_head(5, 3, 2), order(n, seed)
    assert_close(head(x[p]), head(x)[p])


# what a mask hides


@given(problems(), seeds)
def test_masked_keys_have_no_influence_pair_by_pair(problem, seed):
    """Query i answers as if the keys it may not read were not there at all."""
    query, key, value, mask = problem
    out = attention(query, key, value, mask)
    for i in range(len(query)):
        if mask[i].any():
            read = mask[i]
            assert_close(out[i : i + 1], attention(query[i : i + 1], key[read], value[read]))


@given(problems(), st.sampled_from([math.nan, math.inf, -math.inf, 1e30, -1e30]), seeds)
def test_what_nobody_may_read_has_no_influence_whatever_it_holds(problem, content, seed):
    query, key, value, mask = problem
    hidden = order(len(key), seed)[: (len(key) + 1) // 2]
    mask[:, hidden] = False
    clean = attention(query, key, value, mask), attention_weights(query, key, mask)
    key[hidden] = value[hidden] = content
    assert attention(query, key, value, mask).equal(clean[0])
    assert attention_weights(query, key, mask).equal(clean[1])


@given(sizes, st.sampled_from([math.nan, math.inf, 1e30]), seeds)
def test_padding_has_no_influence_on_the_real_tokens(n, content, seed):
    (x,) = normal(seed, (2, n + 3, 5))
    head, mask = seeded_head(5, 3, 2), padding_mask([n, n], n + 3)
    clean = head(x, mask=mask)[:, :n]
    assert_close(clean, head(x[:, :n]))
    x[:, n:] = content
    assert head(x, mask=mask)[:, :n].equal(clean)


@pytest.mark.parametrize("content", [math.nan, math.inf])
def test_what_somebody_may_read_is_not_hidden(content, generator):
    """The other side of the promise: content that is not finite and is read shows in the output."""
    query, key, value = (torch.randn(s, generator=generator) for s in [(5, 3), (7, 3), (7, 2)])
    value[4] = content
    assert not attention(query, key, value, torch.ones(5, 7, dtype=torch.bool)).isfinite().any()


@given(st.integers(2, 11), st.data(), st.sampled_from([1e30, -1e30, 1.0]))
def test_causality_by_perturbation(n, data, change):
    """Whatever happens at position s leaves the outputs before s identical, bit by bit."""
    s = data.draw(st.integers(1, n - 1))
    (x,) = normal(n, (n, 5))
    head, mask = seeded_head(5, 3, 2), causal_mask(n)
    before = head(x, mask=mask)
    x[s:] += change
    after = head(x, mask=mask)
    assert after[:s].equal(before[:s])
    assert not after[s].equal(before[s])


@given(st.integers(2, 11), st.data(), seeds)
def test_causality_by_gradient(n, data, seed):
    t = data.draw(st.integers(0, n - 1))
    (x,) = normal(seed, (n, 5))
    x.requires_grad_()
    head = seeded_head(5, 3, 2)
    (gradient,) = torch.autograd.grad(head(x, mask=causal_mask(n))[t].sum(), x)
    assert gradient[t + 1 :].eq(0).all()
    assert gradient[: t + 1].ne(0).any(dim=-1).all()


@given(st.integers(2, 11), st.data(), seeds)
def test_outputs_for_a_prefix_are_the_prefix_of_the_outputs(n, data, seed):
    """`causal-enables-generation`."""
    end = data.draw(st.integers(1, n))
    (x,) = normal(seed, (n, 5))
    head = seeded_head(5, 3, 2)
    whole = head(x, mask=causal_mask(n))
    assert_close(head(x[:end], mask=causal_mask(end)), whole[:end])


@given(st.integers(1, 11), st.data(), seeds)
def test_last_queries_with_all_keys_equal_the_end_of_the_whole_pass(n, data, seed):
    n_q = data.draw(st.integers(1, n))
    (x,) = normal(seed, (n, 5))
    head = seeded_head(5, 3, 2)
    whole = head(x, mask=causal_mask(n))
    assert_close(head(x[-n_q:], context=x, mask=causal_mask(n_q, n)), whole[-n_q:])


# batches, types, no surprises


@given(problems(n_batch=st.integers(1, 5)))
def test_a_batch_equals_its_parts(problem):
    query, key, value, mask = problem
    whole = attention(query, key, value, mask)
    for b in range(len(query)):
        one = slice(b, b + 1)
        assert_close(attention(query[one], key[one], value[one], mask[one]), whole[one])
        assert_close(attention(query[b], key[b], value[b], mask[b]), whole[b])


@given(problems(n_batch=st.integers(1, 5)))
def test_a_mask_without_batch_axis_is_the_same_for_all(problem):
    query, key, value, mask = problem
    expected = attention(query, key, value, mask[:1].expand_as(mask))
    assert_close(attention(query, key, value, mask[0]), expected)
    assert_close(attention(query, key, value, mask[:1]), expected)
    one_row = mask[:, :1]
    expected = attention(query, key, value, one_row.expand_as(mask))
    assert_close(attention(query, key, value, one_row), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@given(problem=problems())
def test_dtype_is_preserved_and_all_is_finite(dtype, problem):
    query, key, value = (x.to(dtype) for x in problem[:3])
    mask = problem[3]
    results = [
        attention_scores(query, key),
        attention_weights(query, key),
        attention_weights(query, key, mask),
        attention(query, key, value, mask),
        softmax_jacobian(softmax(query)),
        entropy(softmax(query)),
    ]
    assert {result.dtype for result in results} == {dtype}
    assert all(result.isfinite().all() for result in results)


@given(problems())
def test_inputs_are_not_changed(problem):
    copies = [x.clone() for x in problem]
    attention(*problem)
    masked_softmax(attention_scores(*problem[:2]), problem[3])
    head = seeded_head(problem[0].shape[-1], 3, 2)
    head(problem[0], context=problem[1], mask=problem[3])
    assert all(x.equal(copy) for x, copy in zip(problem, copies, strict=True))


# softmax


@given(sizes, seeds, st.floats(-1e4, 1e4), st.floats(0.05, 20))
def test_softmax_is_a_distribution_that_no_shift_changes(n, seed, shift, temperature):
    (scores,) = normal(seed, (3, n))
    weights = softmax(scores, temperature=temperature)
    assert_close(weights.sum(dim=-1), torch.ones(3, dtype=torch.float64))
    assert_close(softmax(scores + shift, temperature=temperature), weights, rtol=1e-8, atol=1e-12)


@given(sizes, seeds)
def test_softmax_keeps_the_order_of_the_scores(n, seed):
    (scores,) = normal(seed, (n,))
    assert softmax(scores).argsort().equal(scores.argsort())


@given(sizes, seeds)
def test_entropy_lies_between_zero_and_log_n(n, seed):
    (scores,) = normal(seed, (3, n))
    bits = entropy(softmax(scores))
    assert (bits >= -1e-12).all()
    assert (bits <= math.log(n) + 1e-12).all()


@given(sizes, seeds)
def test_softmax_jacobian_rows_sum_to_zero(n, seed):
    (scores,) = normal(seed, (3, n))
    sums = softmax_jacobian(softmax(scores)).sum(dim=-1)
    assert_close(sums, torch.zeros(3, n, dtype=torch.float64), rtol=0, atol=1e-12)


# how many keys a row sees


@given(sizes, st.integers(0, 10))
def test_causal_rows_see_one_key_more_each(n_q, extra):
    visible = causal_mask(n_q, n_q + extra).sum(dim=-1).tolist()
    assert visible == [i + extra + 1 for i in range(n_q)]


@given(sizes, st.integers(0, 12))
@example(7, 2)
def test_window_rows_see_by_formula(n, w):
    visible = window_mask(n, w).sum(dim=-1).tolist()
    assert visible == [min(i, w) + 1 + min(n - 1 - i, w) for i in range(n)]
    past = (window_mask(n, w) & causal_mask(n)).sum(dim=-1).tolist()
    assert past == [min(i, w) + 1 for i in range(n)]


@given(sizes, st.integers(0, 12), st.integers(1, 5))
@example(11, 2, 3)
def test_dilated_rows_see_by_formula(n, w, r):
    visible = dilated_mask(n, w, r).sum(dim=-1).tolist()
    assert visible == [min(i // r, w) + 1 + min((n - 1 - i) // r, w) for i in range(n)]


@given(sizes, st.data())
def test_global_rows_see_everything_and_the_others_see_them(n, data):
    positions = data.draw(st.sets(st.integers(0, n - 1)))
    mask = global_mask(n, sorted(positions))
    expected = [n if i in positions else len(positions) for i in range(n)]
    assert mask.sum(dim=-1).tolist() == expected
    assert mask.equal(mask.mT)


@given(sizes, st.data())
def test_window_with_global_tokens_sees_by_formula(n, data):
    positions = data.draw(st.sets(st.integers(0, n - 1)))
    w = data.draw(st.integers(0, n))
    visible = (window_mask(n, w) | global_mask(n, sorted(positions))).sum(dim=-1).tolist()
    for i in range(n):
        near = set(range(max(0, i - w), min(n, i + w + 1)))
        assert visible[i] == (n if i in positions else len(near | positions))


@given(st.lists(st.integers(0, 11)))
def test_padding_rows_see_the_length_of_their_text(lengths):
    assert padding_mask(lengths, 11).sum(dim=(1, 2)).tolist() == lengths
