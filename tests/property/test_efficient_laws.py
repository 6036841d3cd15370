"""The laws of attention for long texts: equal to the plain forms, at any size, mask and dtype."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck
from torch.testing import assert_close

from softlookup.attention import attention
from softlookup.attention.efficient import (
    linear_attention,
    online_softmax,
    sliding_mask,
    tiled_attention,
    window_attention,
)
from softlookup.masks import causal_mask
from softlookup.ops import softmax

EXACT = {"rtol": 1e-12, "atol": 1e-12}
FORMS = ["quadratic", "chunked", "recurrent"]
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(0, 13)
widths = st.integers(1, 7)
leads = st.sampled_from([(), (1,), (3,), (2, 3)])
OPERATIONS = {
    "window": lambda *rows: window_attention(*rows, 3),
    "tiled": lambda *rows: tiled_attention(*rows, tile=2),
    "tiled causal": lambda *rows: tiled_attention(*rows, causal=True, tile=3),
    **{f"linear {form}": lambda *rows, form=form: linear_attention(*rows, form=form, chunk=3)
       for form in FORMS},
    **{f"linear causal {form}":
       lambda *rows, form=form: linear_attention(*rows, causal=True, form=form, chunk=3)
       for form in FORMS},
}  # fmt: skip
each = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


def normal(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


@st.composite
def texts(draw, least=0, lead=leads):
    """query, key and value at the same positions; every size is free, 0 and 1 among them."""
    lead, n, seed = draw(lead), draw(st.integers(least, 13)), draw(seeds)
    d_k, d_v = draw(st.integers(1, 5)), draw(st.integers(0, 5))
    return normal(seed, (*lead, n, d_k), (*lead, n, d_k), (*lead, n, d_v))


@st.composite
def masked(draw, least=0):
    """query, key, value and a mask of any shape that fits, or None."""
    lead, n_q, n_k, seed = (
        draw(leads),
        *(draw(st.integers(least, 7)) for _ in range(2)),
        draw(seeds),
    )
    shapes = [(n_q, n_k), (1, n_k), (*lead, n_q, n_k), (*(1 for _ in lead), n_q, n_k)]
    shape = draw(st.sampled_from([None, *shapes]))
    rows = normal(seed, (*lead, n_q, 3), (*lead, n_k, 3), (*lead, n_k, 2))
    share = draw(st.sampled_from([-1.0, 0.0, 1.0]))
    noise = None if shape is None else normal((seed + 1) % 2**32, shape)[0]
    return *rows, None if noise is None else noise < share


def gradients(function, rows):
    given = [x.clone().requires_grad_() for x in rows]
    out = function(*given)
    return torch.autograd.grad((out * normal(3, out.shape)[0]).sum(), given)


def with_window(width):
    def square(query, key, value):
        n = query.shape[-2]
        return attention(query, key, value, sliding_mask(n, width) if n else None)

    return square


@given(rows=texts(), width=st.integers(1, 20))
def test_the_window_is_attention_under_its_mask(rows, width):
    out = window_attention(*rows, width)
    assert_close(out, with_window(width)(*rows), **EXACT)


@given(rows=texts(least=1), width=widths)
def test_gradients_of_the_window_are_those_under_its_mask(rows, width):
    found = gradients(lambda *x: window_attention(*x, width), rows)
    assert_close(found, gradients(with_window(width), rows), **EXACT)


@given(problem=masked(), tile=widths)
def test_tiles_are_attention(problem, tile):
    assert_close(tiled_attention(*problem, tile=tile), attention(*problem), **EXACT)


@given(problem=masked(least=1), tile=widths)
def test_gradients_through_tiles_are_those_of_attention(problem, tile):
    *rows, mask = problem
    found = gradients(lambda *x: tiled_attention(*x, mask, tile=tile), rows)
    assert_close(found, gradients(lambda *x: attention(*x, mask), rows), **EXACT)


@given(st.integers(1, 7), st.integers(0, 5), widths, seeds)
def test_causal_tiles_are_attention_under_the_causal_mask(n_q, earlier, tile, seed):
    rows = normal(seed, (n_q, 3), (n_q + earlier, 3), (n_q + earlier, 2))
    mask = causal_mask(n_q, n_q + earlier)
    out = tiled_attention(*rows, causal=True, tile=tile)
    assert_close(out, attention(*rows, mask), **EXACT)
    found = gradients(lambda *x: tiled_attention(*x, causal=True, tile=tile), rows)
    assert_close(found, gradients(lambda *x: attention(*x, mask), rows), **EXACT)


@given(st.integers(1, 13), widths, st.sampled_from([1.0, 1e2, 1e4]), leads, seeds)
def test_online_softmax_is_softmax_and_so_is_its_gradient(n, tile, size, lead, seed):
    scores = [size * normal(seed, (*lead, n))[0]]
    assert_close(online_softmax(*scores, tile=tile), softmax(*scores), **EXACT)
    found = gradients(lambda x: online_softmax(x, tile=tile), scores)
    assert_close(found, gradients(softmax, scores), **EXACT)


@given(rows=texts(), causal=st.booleans(), chunk=widths)
def test_quadratic_chunked_and_recurrent_are_equal(rows, causal, chunk):
    outs = [linear_attention(*rows, causal=causal, form=form, chunk=chunk) for form in FORMS]
    assert_close(outs[1], outs[0], **EXACT)
    assert_close(outs[2], outs[0], **EXACT)


@given(rows=texts(least=1), causal=st.booleans(), chunk=widths)
def test_gradients_of_the_three_forms_are_equal(rows, causal, chunk):
    one, *others = (
        gradients(lambda *x, f=form: linear_attention(*x, causal=causal, form=f, chunk=chunk), rows)
        for form in FORMS
    )
    for other in others:
        assert_close(other, one, rtol=1e-11, atol=1e-11)


@each
def test_slopes_and_their_slopes_are_those_of_finite_differences(operation):
    rows = [x.requires_grad_() for x in normal(7, (5, 2), (5, 2), (5, 3))]
    assert gradcheck(operation, rows)
    assert gradgradcheck(operation, rows)


@each
@given(rows=texts(lead=st.sampled_from([(1,), (3,), (2, 3)])))
def test_a_batch_of_n_is_n_batches_of_one(operation, rows):
    whole = operation(*rows).flatten(0, -3)
    singles = zip(*(x.flatten(0, -3) for x in rows), strict=True)
    for out, single in zip(whole, singles, strict=True):
        assert_close(operation(*single), out, **EXACT)


@each
@given(rows=texts())
def test_inputs_are_never_changed(operation, rows):
    copies = [x.clone() for x in rows]
    operation(*rows)
    assert all(x.equal(copy) for x, copy in zip(rows, copies, strict=True))


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@given(rows=texts(least=1))
def test_the_dtype_stays_and_half_precision_is_rounded_at_the_end(operation, dtype, rows):
    rows = [x.to(dtype) for x in rows]
    out, truth = operation(*rows), operation(*(x.double() for x in rows))
    assert out.dtype == dtype
    step = torch.finfo(dtype).eps
    factor = 64 if dtype == torch.float32 else 1
    assert_close(out.double(), truth, rtol=factor * step, atol=factor * step)


@given(masked(least=1), widths, st.sampled_from([math.nan, math.inf, -math.inf]), st.data())
def test_what_the_mask_hides_has_no_influence_on_tiles(problem, tile, anything, data):
    """Neither the output nor a gradient: a key that none may read, a query that reads none."""
    query, key, value, _ = problem
    mask = normal(5, (query.shape[-2], key.shape[-2]))[0] < 0.5
    i = data.draw(st.integers(0, query.shape[-2] - 1))
    j = data.draw(st.integers(0, key.shape[-2] - 1))
    mask[i], mask[:, j] = False, False
    broken = [x.clone() for x in (query, key, value)]
    broken[0][..., i, :], broken[1][..., j, :], broken[2][..., j, :] = anything, anything, anything

    def read(*rows):
        return tiled_attention(*rows, mask, tile=tile)

    assert_close(read(*broken), read(query, key, value), **EXACT)
    found, expected = gradients(read, broken), gradients(read, (query, key, value))
    assert_close(found, expected, **EXACT)


@given(st.integers(1, 13), widths, seeds, st.data())
def test_no_later_position_and_none_before_the_window_changes_an_answer(n, width, seed, data):
    rows = normal(seed, (n, 3), (n, 3), (n, 2))
    j = data.draw(st.integers(0, n - 1))
    changed = [x.clone() for x in rows]
    changed[1][j], changed[2][j] = 30.0, -30.0
    same = (torch.arange(n) < j) | (torch.arange(n) >= j + width)
    before, after = window_attention(*rows, width), window_attention(*changed, width)
    assert_close(after[same], before[same], rtol=0, atol=0)
    assert (after[j] != before[j]).any()
    for form in FORMS:
        before, after = (linear_attention(*x, causal=True, form=form, chunk=3)
                         for x in (rows, changed))  # fmt: skip
        assert_close(after[:j], before[:j], rtol=0, atol=0)


@given(st.integers(1, 13), seeds, st.data())
def test_in_the_recurrent_form_not_even_nan_reaches_back(n, seed, data):
    rows = normal(seed, (n, 3), (n, 3), (n, 2))
    j = data.draw(st.integers(0, n - 1))
    before = linear_attention(*rows, causal=True, form="recurrent")
    rows[1][j], rows[2][j] = math.nan, math.inf
    after = linear_attention(*rows, causal=True, form="recurrent")
    assert_close(after[:j], before[:j], rtol=0, atol=0)
