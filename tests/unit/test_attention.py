"""Attention: the lectures' worked numbers, a loop over queries and keys, shapes, bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention import Attention, attention, attention_scores, attention_weights
from softlookup.masks import causal_mask


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def attention_by_loops(query, key, value, mask=None, scale=True):
    """One query at a time, one key at a time, in plain Python numbers; unbatched."""
    outputs = []
    for i, q in enumerate(query.tolist()):
        allowed = [j for j in range(len(key)) if mask is None or mask[i, j]]
        scores = [sum(a * b for a, b in zip(q, key[j].tolist(), strict=True)) for j in allowed]
        exps = [math.exp(score / math.sqrt(len(q)) if scale else score) for score in scores]
        row = [0.0] * value.shape[-1]
        for j, e in zip(allowed, exps, strict=True):
            for column, entry in enumerate(value[j].tolist()):
                row[column] += e / sum(exps) * entry
        outputs.append(row)
    return tensor(outputs)


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture
def qkv(generator):
    """Five queries, seven keys; every width a prime of its own."""
    shapes = {"query": (5, 3), "key": (7, 3), "value": (7, 2)}
    return [torch.randn(s, dtype=torch.float64, generator=generator) for s in shapes.values()]


@pytest.fixture
def mask(generator):
    """Random, with one query that may read nothing and one key that no query may read."""
    mask = torch.rand(5, 7, generator=generator) < 0.6
    mask[2] = False
    mask[:, 4] = False
    return mask


@pytest.fixture
def head():
    return Attention(d_model=5, d_k=3, d_v=2, d_context=7).double().eval()


# the lectures' numbers


def test_raw_causal_self_attention_of_lecture_001():
    """`raw-self-attention`: no parameters, no scale, X = (1, 0), (0, 1), (1, 1)."""
    x = tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    weights = attention_weights(x, x, causal_mask(3), scale=False)
    expected = tensor([[1.0, 0.0], [0.268941, 0.731059], [0.788058, 0.788058]])
    assert_close(weights @ x, expected, rtol=0, atol=5e-7)


def test_a_third_key_changes_the_weight_of_the_first():
    """E59: 0.731 with two keys, 0.245 with three, though q and k_1 stay the same."""
    query, keys = tensor([[1.0, 0.0]]), tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    two = attention_weights(query, keys[:2], scale=False)
    three = attention_weights(query, keys, scale=False)
    assert two[0, 0].item() == pytest.approx(0.731, abs=5e-4)
    assert three[0, 0].item() == pytest.approx(0.245, abs=5e-4)


def test_scores_by_hand():
    query, key = (
        tensor([[1.0, 2.0, 0.0, 1.0]]),
        tensor([[2.0, 1.0, 5.0, 0.0], [0.0, 0.0, 1.0, 6.0]]),
    )
    assert attention_scores(query, key).tolist() == [[2.0, 3.0]]
    assert attention_scores(query, key, scale=False).tolist() == [[4.0, 6.0]]


def test_scaling_x_by_c_scales_the_scores_by_c_squared(qkv):
    x = qkv[1]
    assert_close(attention_scores(3 * x, 3 * x), 9 * attention_scores(x, x))


def test_scaled_scores_of_random_vectors_have_variance_one(generator):
    query = torch.randn(10007, 1, 61, dtype=torch.float64, generator=generator)
    key = torch.randn(10007, 1, 61, dtype=torch.float64, generator=generator)
    assert attention_scores(query, key).var().item() == pytest.approx(1, rel=0.05)
    assert attention_scores(query, key, scale=False).var().item() == pytest.approx(61, rel=0.05)


# against loops


@pytest.mark.parametrize("scale", [True, False])
def test_weights_equal_a_loop(qkv, mask, scale):
    query, key, _ = qkv
    identity = torch.eye(7, dtype=torch.float64)
    expected = attention_by_loops(query, key, identity, mask, scale)
    assert_close(attention_weights(query, key, mask, scale=scale), expected)
    expected = attention_by_loops(query, key, identity, scale=scale)
    assert_close(attention_weights(query, key, scale=scale), expected)


def test_attention_equals_a_loop(qkv, mask):
    assert_close(attention(*qkv), attention_by_loops(*qkv))
    assert_close(attention(*qkv, mask), attention_by_loops(*qkv, mask))


def test_attention_takes_several_leading_axes(generator):
    query = torch.randn(2, 11, 5, 3, dtype=torch.float64, generator=generator)
    key = torch.randn(2, 11, 7, 3, dtype=torch.float64, generator=generator)
    value = torch.randn(2, 11, 7, 13, dtype=torch.float64, generator=generator)
    mask = torch.rand(2, 1, 5, 7, generator=generator) < 0.5
    result = attention(query, key, value, mask)
    for b in range(2):
        for h in range(11):
            expected = attention_by_loops(query[b, h], key[b, h], value[b, h], mask[b, 0])
            assert_close(result[b, h], expected)


def test_a_query_that_may_read_nothing_gets_zeros(qkv, mask):
    assert attention_weights(*qkv[:2], mask)[2].tolist() == [0.0] * 7
    assert attention(*qkv, mask)[2].tolist() == [0.0] * 2


def test_one_key_is_read_whole_by_every_query(qkv):
    query, key, value = qkv
    assert_close(attention(query, key[:1], value[:1]), value[:1].expand(5, 2), rtol=0, atol=0)


def test_no_queries_give_no_rows(qkv, mask):
    query, key, value = qkv
    assert attention(query[:0], key, value).shape == (0, 2)
    assert attention(query[:0], key, value, mask[:0]).shape == (0, 2)


# the module


def test_head_is_attention_between_projections(head, generator):
    x = torch.randn(2, 11, 5, dtype=torch.float64, generator=generator)
    context = torch.randn(2, 13, 7, dtype=torch.float64, generator=generator)
    mask = torch.rand(2, 11, 13, generator=generator) < 0.5
    query, key = x @ head.W_Q.weight.mT, context @ head.W_K.weight.mT
    value = context @ head.W_V.weight.mT
    assert_close(head(x, context, mask), attention(query, key, value, mask))


def test_head_without_context_reads_x_itself(generator):
    head = Attention(5, 3, 2).double()
    x = torch.randn(11, 5, dtype=torch.float64, generator=generator)
    assert_close(head(x), head(x, x), rtol=0, atol=0)


def test_head_with_identity_projections_is_raw_self_attention(generator):
    """`qk-score`: with W = I nothing is left but x_i · x_j."""
    x = torch.randn(11, 5, dtype=torch.float64, generator=generator)
    head = Attention(5, 5, 5).double()
    for layer in (head.W_Q, head.W_K, head.W_V):
        torch.nn.init.eye_(layer.weight)
    assert_close(head(x, mask=causal_mask(11)), attention_by_loops(x, x, x, causal_mask(11)))


def test_head_with_biases_adds_them():
    head = Attention(5, 3, 2, bias=True).double()
    assert_close(head(torch.zeros(11, 5, dtype=torch.float64)), head.W_V.bias.expand(11, 2))
    assert Attention(5, 3, 2).W_V.bias is None


def test_head_has_three_matrices_of_these_shapes(head):
    shapes = {name: tuple(parameter.shape) for name, parameter in head.named_parameters()}
    assert shapes == {"W_Q.weight": (3, 5), "W_K.weight": (3, 7), "W_V.weight": (2, 7)}


def test_probe_sees_the_weights_before_dropout(generator):
    head = Attention(5, 3, 2, dropout=0.5).double().train()
    x = torch.randn(11, 5, dtype=torch.float64, generator=generator)
    seen = []
    head.weights.register_forward_hook(lambda module, inputs, output: seen.append(output))
    head(x)
    assert_close(seen[0], attention_weights(head.W_Q(x), head.W_K(x)))


def test_dropout_is_silent_in_evaluation(generator):
    head = Attention(5, 3, 2, dropout=0.5).double().eval()
    x = torch.randn(11, 5, dtype=torch.float64, generator=generator)
    expected = attention(head.W_Q(x), head.W_K(x), head.W_V(x))
    assert_close(head(x), expected, rtol=0, atol=0)
    assert not head.train()(x).equal(expected)
    assert_close(head.eval()(x), expected, rtol=0, atol=0)


def test_dropout_falls_on_the_weights_and_scales_the_rest():
    """With values that are all 1 the output is the row sum: 1 on average, but not each time."""
    head = Attention(5, 3, 1, dropout=0.1, bias=True).double().train()
    torch.nn.init.zeros_(head.W_V.weight)
    torch.nn.init.ones_(head.W_V.bias)
    sums = head(torch.randn(101, 101, 5, dtype=torch.float64)).flatten()
    assert sums.mean().item() == pytest.approx(1, abs=0.005)
    assert sums.std() > 0.01


def test_dropout_sets_single_weights_to_zero(generator):
    head = Attention(5, 3, 2, dropout=0.25).double().train()
    before, after = [], []
    head.weights.register_forward_hook(lambda module, inputs, output: before.append(output))
    head.dropout.register_forward_hook(lambda module, inputs, output: after.append(output))
    head(torch.randn(53, 5, dtype=torch.float64, generator=generator))
    kept = after[0] != 0
    assert kept.double().mean().item() == pytest.approx(0.75, abs=0.05)
    assert_close(after[0][kept], before[0][kept] / 0.75)


# bad input

ZEROS = {shape: torch.zeros(shape) for shape in [(3,), (5, 3), (7, 3), (7, 2), (2, 7, 3), (5, 0)]}


@pytest.mark.bad_input
@pytest.mark.parametrize("function", [attention_scores, attention_weights])
@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        ((5, 3), (7, 2), r"the same last dimension d_k .* got query=\(5, 3\), key=\(7, 2\)"),
        ((5, 0), (5, 0), r"last dimension d_k of at least 1; got query=\(5, 0\), key=\(5, 0\)"),
        ((5, 3), (2, 7, 3), r"same leading axes; got query=\(5, 3\), key=\(2, 7, 3\)"),
        ((3,), (7, 3), r"must be matrices with .* got query=\(3,\), key=\(7, 3\)"),
        ((5, 3), (3,), r"must be matrices with .* got query=\(5, 3\), key=\(3,\)"),
    ],
)
def test_scores_and_weights_refuse(function, query, key, message):
    with pytest.raises(ValueError, match=message):
        function(ZEROS[query], ZEROS[key])


@pytest.mark.bad_input
def test_weights_with_a_mask_refuse_the_same():
    mask = torch.ones(5, 7, dtype=torch.bool)
    with pytest.raises(ValueError, match="the same last dimension d_k"):
        attention_weights(ZEROS[5, 3], ZEROS[7, 2], mask)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        (torch.int64, torch.float32, "query must hold floating-point numbers; got dtype=torch.int"),
        (torch.float32, torch.int64, "key must hold floating-point numbers; got dtype=torch.int64"),
        (torch.float32, torch.float64, "same dtype; got query=torch.float32, key=torch.float64"),
    ],
)
def test_scores_refuse_other_dtypes(query, key, message):
    with pytest.raises(ValueError, match=message):
        attention_scores(ZEROS[5, 3].to(query), ZEROS[7, 3].to(key))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.zeros(5, 7), r"mask must be boolean \(True = may read\); got dtype=torch.float32"),
        (torch.ones(7, 5).bool(), r"fit scores of shape \(5, 7\); got mask=\(7, 5\)"),
        (torch.ones(5, 1).bool(), r"fit scores of shape \(5, 7\); got mask=\(5, 1\)"),
        (torch.ones(2, 5, 7).bool(), r"fit scores of shape \(5, 7\); got mask=\(2, 5, 7\)"),
        (torch.ones(7).bool(), r"an axis of queries and one of keys; got mask=\(7,\)"),
    ],
)
def test_weights_refuse_a_mask(mask, message):
    with pytest.raises(ValueError, match=message):
        attention_weights(ZEROS[5, 3], ZEROS[7, 3], mask)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((5, 3), r"one value for each key: .* got key=\(7, 3\), value=\(5, 3\)"),
        ((2, 7, 3), r"one value for each key: .* got key=\(7, 3\), value=\(2, 7, 3\)"),
        ((3,), r"one value for each key: .* got key=\(7, 3\), value=\(3,\)"),
    ],
)
def test_attention_refuses_values(value, message):
    with pytest.raises(ValueError, match=message):
        attention(ZEROS[5, 3], ZEROS[7, 3], ZEROS[value])


@pytest.mark.bad_input
def test_attention_refuses_values_of_another_dtype():
    message = "key and value must have the same dtype; got key=torch.float32, value=torch.float64"
    with pytest.raises(ValueError, match=message):
        attention(ZEROS[5, 3], ZEROS[7, 3], ZEROS[7, 2].double())


@pytest.mark.parametrize("name", ["d_model", "d_k", "d_v", "d_context"])
def test_head_refuses_a_width_below_one(name):
    widths = {"d_model": 5, "d_k": 3, "d_v": 2, "d_context": 7, name: 0}
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1; got {name}=0"):
        Attention(**widths)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, math.nan])
def test_head_refuses_a_dropout_that_is_no_share(dropout):
    with pytest.raises(ValueError, match=rf"dropout must be at least 0 .* got dropout={dropout}"):
        Attention(5, 3, 2, dropout=dropout)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("x", "context", "message"),
    [
        ((11, 7), (13, 7), r"x must be a matrix with rows of length 5; got x=\(11, 7\)"),
        ((5,), (13, 7), r"x must be a matrix with rows of length 5; got x=\(5,\)"),
        ((11, 5), (13, 5), r"context must be a matrix .* length 7; got context=\(13, 5\)"),
        ((11, 5), None, r"context must be a matrix with rows of length 7; got context=\(11, 5\)"),
        ((2, 11, 5), (3, 13, 7), r"x and context must be .* the same leading axes; got x=\(2, 11"),
    ],
)
def test_head_refuses_shapes(head, x, context, message):
    context = None if context is None else torch.zeros(context, dtype=torch.float64)
    with pytest.raises(ValueError, match=message):
        head(torch.zeros(x, dtype=torch.float64), context)


@pytest.mark.bad_input
def test_head_refuses_another_dtype_and_a_wrong_mask(head):
    x, context = torch.zeros(11, 5).double(), torch.zeros(13, 7).double()
    with pytest.raises(ValueError, match=r"x must have the layer's dtype torch.float64; got dtype"):
        head(x.float(), context)
    with pytest.raises(ValueError, match=r"context must have the layer's dtype torch.float64"):
        head(x, context.float())
    with pytest.raises(ValueError, match=r"mask must be boolean"):
        head(x, context, torch.zeros(11, 13))
    with pytest.raises(ValueError, match=r"fit scores of shape \(11, 13\); got mask=\(13, 11\)"):
        head(x, context, torch.ones(13, 11, dtype=torch.bool))
