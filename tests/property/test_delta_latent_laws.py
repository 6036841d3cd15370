"""Laws of the delta rule and of latent attention: equal forms, slopes, causality, batches."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.testing import assert_close

from softlookup.attention.efficient import LatentAttention, delta_attention, delta_step
from softlookup.masks import causal_mask
from softlookup.ops import unit_vectors

EXACT = {"rtol": 1e-11, "atol": 1e-11}
seeds = st.integers(0, 2**32 - 1)


def texts(seed, n, *lead, d_k=3, d_v=2):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(*lead, n, d_k), (*lead, n, d_k), (*lead, n, d_v), (*lead, n)]
    query, key, value, rate = (
        torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes
    )
    return query, unit_vectors(key), value, rate.sigmoid()


@given(seed=seeds, n=st.integers(0, 13), chunk=st.integers(1, 15))
def test_every_chunk_is_the_recurrence_with_its_gradients(seed, n, chunk):
    upstream = torch.randn(n, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    found = []
    for size in (1, chunk):
        rows = [x.clone().requires_grad_() for x in texts(seed, n)]
        out = delta_attention(*rows, chunk=size)
        found.append([out, *torch.autograd.grad((out * upstream).sum(), rows)])
    assert_close(found[1], found[0], **EXACT)


@given(seed=seeds, n=st.integers(1, 9))
def test_with_orthogonal_keys_and_rate_1_the_last_value_of_a_key_is_read(seed, n):
    which = torch.randint(4, (n,), generator=torch.Generator().manual_seed(seed))
    value = texts(seed, n)[2]
    state, ones = None, torch.ones((), dtype=torch.float64)
    eye = torch.eye(4, dtype=torch.float64)
    for k, v in zip(which, value, strict=True):
        _, state = delta_step(eye[k], eye[k], v, ones, state)
    for k in range(4):
        written = (which == k).nonzero().flatten().tolist()
        expected = value[written[-1]] if written else torch.zeros(2, dtype=torch.float64)
        assert_close(eye[k] @ state, expected, **EXACT)


@given(seed=seeds, n=st.integers(1, 13), chunk=st.integers(1, 5), data=st.data())
def test_what_comes_later_changes_nothing_and_what_has_rate_0_is_never_written(
    seed, n, chunk, data
):
    rows = texts(seed, n)
    j = data.draw(st.integers(0, n - 1))
    other = [x.clone() for x in rows]
    other[2][j] += 1
    before, after = (delta_attention(*x, chunk=chunk) for x in (rows, other))
    assert_close(after[:j], before[:j], rtol=0, atol=0)
    for x in (rows, other):
        x[3][j] = 0
    before, after = (delta_attention(*x, chunk=chunk) for x in (rows, other))
    assert_close(after, before, **EXACT)


def test_slopes_of_the_delta_rule_are_those_of_finite_differences():
    rows = [x.requires_grad_() for x in texts(7, 5)]
    assert gradcheck(lambda *x: delta_attention(*x[:3], x[3].clamp(0, 1), chunk=2), rows)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_dtype_stays_and_half_precision_is_rounded_at_the_end(dtype):
    rows = [x.to(dtype) for x in texts(5, 9, 2)]
    out, truth = delta_attention(*rows, chunk=4), delta_attention(*(x.double() for x in rows))
    assert out.dtype == dtype
    step = torch.finfo(dtype).eps * (64 if dtype == torch.float32 else 1)
    assert_close(out.double(), truth, rtol=step, atol=step)


@given(seed=seeds, n=st.integers(1, 7), causal=st.booleans())
def test_absorbed_latent_attention_is_the_unfolded_one_with_its_gradients(seed, n, causal):
    generator = torch.Generator().manual_seed(seed)
    layer = LatentAttention(d_model=5, n_heads=2, d_head=3, d_latent=4).double()
    for weight in layer.parameters():
        weight.data = torch.randn(weight.shape, dtype=torch.float64, generator=generator)
    x = torch.randn(3, n, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    mask, found = causal_mask(n) if causal else None, []
    for form in ("unfolded", "absorbed"):
        out = layer(x, mask=mask, form=form)
        slopes = torch.autograd.grad((out**2).sum(), [x, *layer.parameters()])
        found.append([out, *slopes])
    assert_close(found[1], found[0], **EXACT)


def test_slopes_of_latent_attention_are_those_of_finite_differences():
    generator = torch.Generator().manual_seed(1)
    layer = LatentAttention(d_model=3, n_heads=2, d_head=2, d_latent=2).double()
    x = torch.randn(4, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    assert gradcheck(lambda rows: layer(rows, mask=causal_mask(4)), x)
