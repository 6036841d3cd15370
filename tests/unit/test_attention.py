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


def test_queries_and_keys_have_one_width():
    message = r"query and key must have the same d_k, .*; got query=\(5, 3\), key=\(7, 2\)"
    with pytest.raises(ValueError, match=message):
        attention_weights(torch.zeros(5, 3), torch.zeros(7, 2))


def test_a_mask_has_a_column_for_each_key():
    with pytest.raises(ValueError, match=r"mask must have the same n_k, .* mask=\(5, 1\)"):
        attention_weights(torch.zeros(5, 3), torch.zeros(7, 3), torch.ones(5, 1).bool())
