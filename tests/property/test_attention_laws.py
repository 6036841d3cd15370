"""The laws of attention, for dot products and for any scores: sizes, axes, masks and dtypes free.

Two operations stand for all: ``attention``, and ``attend`` on the same scores.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck
from torch.testing import assert_close

from softlookup.attention import (
    attend,
    attention,
    attention_scores,
    bilinear_scores,
    cosine_scores,
    gaussian_scores,
    laplace_scores,
)
from softlookup.masks import causal_mask


def attend_to_products(query, key, value, mask=None):
    """Attention in two steps: the scores, then what is done with any scores."""
    return attend(attention_scores(query, key), value, mask)


EXACT = {"rtol": 1e-12, "atol": 1e-12}
ANYTHING = [math.nan, math.inf, -math.inf, 1e30, -1e30]
OPERATIONS = {"attention": attention, "attend": attend_to_products}
both = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
seeds = st.integers(0, 2**32 - 1)
any_lead = st.sampled_from([(), (1,), (3,), (2, 3)])


def normal(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


@st.composite
def masks(draw, lead, n_q, n_k, seed):
    """None, or a mask of any shape that fits; rows and columns may be empty."""
    shapes = [(n_q, n_k), (1, n_k), (*lead, n_q, n_k), (*lead, 1, n_k)]
    shapes += [(*(1 for _ in lead), n_q, n_k)]
    shape = draw(st.sampled_from([None, *shapes]))
    if shape is None:
        return None
    (noise,) = normal((seed + 1) % 2**32, shape)
    return noise < draw(st.sampled_from([-1.0, 0.0, 1.0]))


@st.composite
def problems(draw, lead=any_lead, least=0):
    """query, key, value and a mask or None; every size is free, 0 and 1 among them."""
    lead, seed = draw(lead), draw(seeds)
    n_q, n_k, d_v = (draw(st.integers(least, 7)) for _ in range(3))
    d_k = draw(st.integers(1, 7))
    query, key, value = normal(seed, (*lead, n_q, d_k), (*lead, n_k, d_k), (*lead, n_k, d_v))
    return 2 * query, 2 * key, value, draw(masks(lead, n_q, n_k, seed))


def full_mask(problem):
    query, key, _, mask = problem
    shape = (*query.shape[:-1], key.shape[-2])
    return torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)


def by_hand(query, key, value, mask):
    """One query at a time, in plain Python numbers, added up without rounding on the way."""
    rows = []
    for q, allowed in zip(query.tolist(), mask.tolist(), strict=True):
        scores = {j: math.fsum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q))
                  for j, k in enumerate(key.tolist()) if allowed[j]}  # fmt: skip
        exps = {j: math.exp(s - max(scores.values())) for j, s in scores.items()}
        total = math.fsum(exps.values())
        rows.append([math.fsum(e / total * value[j, c].item() for j, e in exps.items())
                     for c in range(value.shape[1])])  # fmt: skip
    return torch.tensor(rows, dtype=torch.float64).reshape(len(query), value.shape[1])


def each_by_hand(problem):
    query, key, value, _ = problem
    shape = (*query.shape[:-1], value.shape[-1])
    if 0 in (*shape, key.shape[-2]):
        return torch.zeros(shape, dtype=torch.float64)
    parts = [x.reshape(-1, *x.shape[-2:]) for x in (query, key, value, full_mask(problem))]
    return torch.stack([by_hand(*one) for one in zip(*parts, strict=True)]).reshape(shape)


# one number, three ways


@both
@given(problem=problems())
def test_naive_fused_and_by_hand_are_equal(operation, problem):
    """Down to no query, no key, no feature and no batch; an empty row gives zeros in all three."""
    out = operation(*problem)
    assert_close(out, each_by_hand(problem), **EXACT)
    query, key, value, mask = problem
    assert_close(out, F.scaled_dot_product_attention(query, key, value, mask), **EXACT)


@both
@given(problem=problems(least=1))
def test_gradients_are_those_of_the_fused_kernel(operation, problem):
    query, key, value, mask = problem
    gradients = []
    for function in operation, F.scaled_dot_product_attention:
        given = [x.clone().requires_grad_() for x in (query, key, value)]
        out = function(*given, mask)
        slope = normal(3, out.shape)[0]
        gradients.append(torch.autograd.grad((out * slope).sum(), given))
    assert_close(gradients[0], gradients[1], rtol=1e-10, atol=1e-11)


def root_mean_square(x):
    return x.square().mean().sqrt().item()


@both
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@given(problem=problems(lead=st.just((16,)), least=1))
def test_errors_are_at_most_twice_those_of_pytorch(operation, dtype, problem):
    """Against float64 on the very same rounded numbers, over 16 texts.

    PyTorch's error may be 0 by luck; so it counts as at least that of rounding the truth itself.
    For ``attend``, PyTorch starts from the same scores, which are rounded already.
    """
    query, key, value = (x.to(dtype) for x in problem[:3])
    mask = problem[3]
    if operation is attention:
        theirs = F.scaled_dot_product_attention(query, key, value, mask)
        truth = attention(query.double(), key.double(), value.double(), mask)
    else:
        scores = attention_scores(query, key)
        forbidden = torch.zeros(scores.shape, dtype=torch.bool) if mask is None else ~mask
        hidden = scores.masked_fill(forbidden, -math.inf)
        theirs = hidden.softmax(dim=-1).nan_to_num(0.0) @ value
        truth = attend(scores.double(), value.double(), mask)
    out = operation(query, key, value, mask)
    assert out.dtype == dtype
    of_rounding = root_mean_square(truth.to(dtype).double() - truth)
    of_pytorch = root_mean_square(theirs.double() - truth)
    assert root_mean_square(out.double() - truth) <= 2 * max(of_pytorch, of_rounding)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_does_not_overflow_where_the_fused_kernel_does_not(dtype):
    """300 · 300 · 2 is more than float16 can hold; divided by the root of 2, too."""
    query = key = torch.tensor([[300.0, 300.0], [299.0, 299.0]], dtype=dtype)
    value = torch.tensor([[1.0], [5.0]], dtype=dtype)
    expected = F.scaled_dot_product_attention(query[None], key[None], value[None])[0]
    assert_close(attention(query, key, value), expected)
    assert expected.isfinite().all()


# batches and order


@both
@given(problem=problems(lead=st.sampled_from([(1,), (3,), (2, 3)])))
def test_a_batch_of_n_is_n_batches_of_one(operation, problem):
    query, key, value, _ = problem
    mask, whole = full_mask(problem), operation(*problem)
    for b in torch.cartesian_prod(*(torch.arange(n) for n in query.shape[:-2])).reshape(
        -1, query.ndim - 2
    ):
        i = tuple(b.tolist())
        assert_close(operation(query[i], key[i], value[i], mask[i]), whole[i], **EXACT)


@both
@given(problem=problems())
def test_inputs_are_never_changed(operation, problem):
    copies = [None if x is None else x.clone() for x in problem]
    operation(*problem)
    unchanged = [x is None or x.equal(copy) for x, copy in zip(problem, copies, strict=True)]
    assert all(unchanged)


@both
@given(st.integers(1, 7), st.integers(0, 5), seeds)
def test_causal_rows_answer_as_if_later_keys_did_not_exist(operation, n_q, earlier, seed):
    """With n_k keys and n_q queries, the queries are the last positions."""
    n_k = n_q + earlier
    query, key, value = normal(seed, (n_q, 3), (n_k, 3), (n_k, 2))
    out = operation(query, key, value, causal_mask(n_q, n_k))
    for i in range(n_q):
        seen = earlier + i + 1
        alone = operation(query[i : i + 1], key[:seen], value[:seen], None)
        assert_close(out[i : i + 1], alone, **EXACT)


# what a mask hides


@both
@given(problem=problems())
def test_empty_rows_give_zeros_and_a_gradient_of_zero(operation, problem):
    query, key, value = (x.requires_grad_() for x in problem[:3])
    mask = full_mask(problem).clone()
    mask[..., ::2, :] = False
    out = operation(query, key, value, mask)
    assert out[..., ::2, :].eq(0).all()
    out[..., ::2, :].sum().backward()
    assert all(x.grad.eq(0).all() for x in (query, key, value))


@both
@pytest.mark.parametrize("content", ANYTHING)
@given(problem=problems(least=1), seed=seeds)
def test_a_masked_key_has_no_influence_whatever_it_holds(operation, content, problem, seed):
    """Neither on the output, bit by bit, nor on the gradient of what was read."""
    *qkv, _ = problem
    mask = full_mask(problem).clone()
    n_k = mask.shape[-1]
    hidden = torch.randperm(n_k, generator=torch.Generator().manual_seed(seed))[: (n_k + 1) // 2]
    mask[..., hidden] = False
    results = []
    for filler in 0.0, content:
        query, key, value = (x.clone() for x in qkv)
        if operation is attend_to_products:  # a score function has its own slope at such a key
            scores = attention_scores(query, key)
            scores[..., hidden] = filler
        key[..., hidden, :] = value[..., hidden, :] = filler
        given = (query, key, value) if operation is attention else (scores, value)
        given = [x.requires_grad_() for x in given]
        out = attention(*given, mask) if operation is attention else attend(*given, mask)
        results.append((out, *torch.autograd.grad(out.square().sum(), given)))
    assert all(a.equal(b) for a, b in zip(*results, strict=True))
    assert all(x.isfinite().all() for x in results[1])


@given(problem=problems(least=1), content=st.sampled_from(ANYTHING))
def test_a_masked_score_has_no_influence_pair_by_pair(problem, content):
    """A score belongs to one pair, so it may hold anything where just that pair is masked."""
    query, key, value, _ = problem
    scores, mask = attention_scores(query, key), full_mask(problem)
    dirty = scores.masked_fill(~mask, content)
    assert attend(dirty, value, mask).equal(attend(scores, value, mask))


# derivatives

SCORES = {
    "dot product": attention_scores,
    "Laplace": lambda q, k: laplace_scores(q, k, bandwidth=0.7),
    "Gaussian": lambda q, k: gaussian_scores(q, k, bandwidth=1.3),
    "cosine": cosine_scores,
    "bilinear": lambda q, k: bilinear_scores(q, k, normal(5, (3, 3))[0]),
}


@pytest.fixture
def mask(generator):
    """Query 1 may read nothing, and nobody may read key 4."""
    mask = torch.rand(3, 5, generator=generator) < 0.7
    mask[1] = False
    mask[:, 4] = False
    return mask


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("masked", [False, True])
def test_first_and_second_derivatives(scores, masked, mask):
    given = [x.requires_grad_() for x in normal(7, (2, 3, 3), (2, 5, 3), (2, 5, 2))]

    def attended(query, key, value):
        return attend(SCORES[scores](query, key), value, mask if masked else None)

    assert gradcheck(attended, given)
    assert gradgradcheck(attended, given)


def test_second_derivatives_of_attention(mask):
    given = [x.requires_grad_() for x in normal(7, (2, 3, 3), (2, 5, 3), (2, 5, 2))]
    assert gradgradcheck(attention, given)
    assert gradgradcheck(lambda q, k, v: attention(q, k, v, mask), given)
