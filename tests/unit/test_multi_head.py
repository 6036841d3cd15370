"""Many heads: the lectures' shapes and counts, the probes, dropout, bad input."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from softlookup.attention import (
    Attention,
    GroupedQueryAttention,
    attention,
    join_heads,
    split_heads,
)
from softlookup.attention.grouped_query import is_causal
from softlookup.masks import causal_mask, window_mask


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture(params=[True, False], ids=["fused", "step by step"])
def layer(request):
    """Three heads of width 2; values of width 5, a context of width 11."""
    options = {"d_k": 2, "d_v": 5, "d_context": 11, "fused": request.param}
    return GroupedQueryAttention(7, 3, **options).double()


@pytest.fixture
def x(generator):
    return torch.randn(2, 13, 7, dtype=torch.float64, generator=generator)


@pytest.fixture
def context(generator):
    return torch.randn(2, 17, 11, dtype=torch.float64, generator=generator)


def seen_by(probe):
    """What a probe sees, call by call."""
    seen = []
    probe.register_forward_hook(lambda module, args, result: seen.append(result))
    return seen


# the lectures' shapes and counts


def test_shapes_of_the_base_model():
    """`multi-head-shapes`: 8 heads of 512 × 64, and W^O of 512 × 512."""
    layer = GroupedQueryAttention(512, 8)
    assert layer.W_Q.weight.chunk(8)[0].mT.shape == (512, 64)
    assert layer.W_V.weight.chunk(8)[0].mT.shape == (512, 64)
    assert layer.W_O.weight.mT.shape == (512, 512)


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8, 16, 64, 512])
def test_the_number_of_heads_does_not_change_the_number_of_parameters(n_heads):
    """`head-dim-split`: 8·3·512·64 + 512² = 4·512² = 1,048,576, for every number of heads."""
    layer = GroupedQueryAttention(512, n_heads, bias=False)
    assert sum(p.numel() for p in layer.parameters()) == 4 * 512**2 == 1_048_576
    assert layer.W_Q.out_features // n_heads == 512 // n_heads


def test_parameters_by_formula():
    layer = GroupedQueryAttention(7, 3, d_k=2, d_v=5, d_context=11)
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters()}
    assert shapes == {
        "W_Q.weight": (6, 7), "W_Q.bias": (6,), "W_K.weight": (6, 11), "W_K.bias": (6,),
        "W_V.weight": (15, 11), "W_V.bias": (15,), "W_O.weight": (7, 15), "W_O.bias": (7,),
    }  # fmt: skip
    assert sum(p.numel() for p in GroupedQueryAttention(64, 8).parameters()) == 16_640  # E77
    assert sum(p.numel() for p in GroupedQueryAttention(64, 8, bias=False).parameters()) == 16_384


def test_thinking_machines():
    """`mha-illustration-thinking-machines`: (2, 512) → 8 × (2, 64) → (2, 512) → (2, 512)."""
    layer = GroupedQueryAttention(512, 8)
    heads, joined = seen_by(layer.heads), seen_by(layer.W_O)
    x = torch.randn(2, 512)
    out = layer(x)
    assert heads[0].shape == (8, 2, 64)
    assert join_heads(heads[0]).shape == joined[0].shape == out.shape == (2, 512)


def test_a_head_starts_with_other_numbers_than_the_next():
    layer = GroupedQueryAttention(64, 8)
    for w in (layer.W_Q, layer.W_K, layer.W_V):
        blocks = w.weight.chunk(8)
        assert not any(blocks[h].equal(blocks[0]) for h in range(1, 8))
        assert w.weight.abs().max() <= 1 / math.sqrt(64)  # nn.Linear's own start


@pytest.mark.parametrize("n_kv_heads", [6, 3, 1])
def test_each_projection_is_drawn_once_and_in_order(n_kv_heads):
    """A seed gives what four linear layers would hold: nothing is drawn and thrown away."""
    sizes = {"W_Q": (7, 6 * 2), "W_K": (11, n_kv_heads * 2), "W_V": (11, n_kv_heads * 5)}
    sizes["W_O"] = (6 * 5, 7)
    torch.manual_seed(5)
    by_hand = nn.ModuleDict({name: nn.Linear(*size) for name, size in sizes.items()})
    drawn_next = torch.rand(3)
    torch.manual_seed(5)
    options = {"d_k": 2, "d_v": 5, "d_context": 11, "n_kv_heads": n_kv_heads}
    layer = GroupedQueryAttention(7, 6, **options)
    assert torch.rand(3).equal(drawn_next)
    assert list(layer.state_dict()) == list(by_hand.state_dict())
    for name, parameter in by_hand.named_parameters():
        assert layer.get_parameter(name).equal(parameter), name


def test_split_and_join_by_hand():
    """Head 1 gets entries 3 to 5 of each row, not every second one, and not the second row."""
    rows = torch.arange(12.0).reshape(2, 6)
    heads = split_heads(rows, 2)
    assert heads.tolist() == [[[0.0, 1.0, 2.0], [6.0, 7.0, 8.0]],
                              [[3.0, 4.0, 5.0], [9.0, 10.0, 11.0]]]  # fmt: skip
    assert heads.data_ptr() == rows.data_ptr()
    assert join_heads(heads).equal(rows)


# each head is one attention


def test_one_head_is_attention_and_a_projection(x, context):
    layer = GroupedQueryAttention(7, 1, d_k=3, d_v=5, d_context=11).double()
    single = Attention(7, 3, 5, d_context=11, bias=True).double()
    for name in ("W_Q", "W_K", "W_V"):
        getattr(single, name).load_state_dict(getattr(layer, name).state_dict())
    mask = causal_mask(13, 17)
    assert_close(layer(x, context, mask), layer.W_O(single(x, context, mask)))


def test_each_head_is_attention_among_its_own_blocks(layer, x, context, generator):
    mask = torch.rand(2, 3, 13, 17, generator=generator) < 0.6
    heads = seen_by(layer.heads)
    out = layer(x, context, mask)
    for h in range(3):
        query, key, value = (
            rows @ w.weight.chunk(3)[h].mT + w.bias.chunk(3)[h]
            for rows, w in [(x, layer.W_Q), (context, layer.W_K), (context, layer.W_V)]
        )
        assert_close(heads[0][:, h], attention(query, key, value, mask[:, h]))
    joined = torch.cat([heads[0][:, h] for h in range(3)], dim=-1)
    assert_close(out, joined @ layer.W_O.weight.mT + layer.W_O.bias)


def test_without_context_x_reads_itself(x):
    layer = GroupedQueryAttention(7, 7).double()
    assert_close(layer(x), layer(x, x), rtol=0, atol=0)


# masks and biases


def test_a_mask_has_an_axis_of_heads_if_it_has_one_more_than_x(layer, x, context, generator):
    """Three texts and three heads: the number of axes decides, not their lengths."""
    x, context = (torch.cat([t, t[:1]]) for t in (x, context))
    by_text = torch.rand(3, 13, 17, generator=generator) < 0.6
    expected = torch.stack([layer(x[b], context[b], by_text[b]) for b in range(3)])
    assert_close(layer(x, context, by_text), expected)
    assert_close(layer(x, context, by_text[:, None]), expected)
    by_head = by_text[None]
    assert_close(layer(x, context, by_head), layer(x, context, by_head.expand(3, 3, 13, 17)))
    assert not torch.allclose(layer(x, context, by_head), expected)
    assert_close(layer(x[0], context[0], by_text), layer(x, context, by_head)[0])


def test_a_score_bias_is_added_to_the_scaled_scores(layer, x, context, generator):
    layer.fused = False
    weights = seen_by(layer.weights)
    bias = torch.randn(3, 13, 17, dtype=torch.float64, generator=generator)
    layer(x, context)
    layer(x, context, score_bias=bias)
    expected = torch.softmax(weights[0].log() + bias, dim=-1)
    assert_close(weights[1], expected)


@pytest.mark.parametrize("shape", [(3, 1, 1), (13, 17), (1, 17), (2, 1, 13, 17), (2, 3, 13, 17)])
def test_a_score_bias_may_leave_out_axes(layer, x, context, shape, generator):
    bias = torch.randn(shape, dtype=torch.float64, generator=generator)
    mask = causal_mask(13, 17)
    expected = layer(x, context, mask, score_bias=bias.expand(2, 3, 13, 17))
    assert_close(layer(x, context, mask, score_bias=bias), expected)


def test_a_score_bias_may_be_learned(layer, x, context):
    bias = torch.zeros(3, 13, 17, dtype=torch.float64, requires_grad=True)
    mask = causal_mask(13, 17)
    layer(x, context, mask, score_bias=bias).square().sum().backward()
    assert bias.grad[:, ~mask].eq(0).all()
    assert bias.grad[:, mask].ne(0).all()


# the probes, the switch, dropout


def test_the_weights_are_seen_where_the_path_is_not_fused(layer, x, context):
    weights, heads = seen_by(layer.weights), seen_by(layer.heads)
    layer(x, context)
    assert len(weights) == (0 if layer.fused else 1)
    assert heads[0].shape == (2, 3, 13, 5)
    layer.fused = False
    layer(x, context)
    assert weights[-1].shape == (2, 3, 13, 17)
    assert_close(weights[-1].sum(dim=-1), torch.ones(2, 3, 13, dtype=torch.float64))


def test_what_a_hook_puts_in_the_place_of_the_heads_is_used(layer, x, context):
    handle = layer.heads.register_forward_hook(lambda module, args, heads: 0 * heads)
    assert layer(x, context).equal(layer.W_O.bias.expand(2, 13, 7))
    handle.remove()


def test_the_switch_changes_neither_the_parameters_nor_the_result(layer, x, context):
    before, keys = layer(x, context), list(layer.state_dict())
    layer.fused = not layer.fused
    assert list(layer.state_dict()) == keys
    assert_close(layer(x, context), before)


@pytest.mark.parametrize("fused", [True, False])
def test_dropout_falls_on_the_weights_in_training_alone(fused, x):
    """With values that are all 1 a head's output is its row sum: 1 on average, not each time."""
    layer = GroupedQueryAttention(7, 7, dropout=0.1, fused=fused).double()
    plain = GroupedQueryAttention(7, 7, fused=fused).double()
    plain.load_state_dict(layer.state_dict())
    assert_close(layer.eval()(x), plain(x), rtol=0, atol=0)
    torch.nn.init.zeros_(layer.W_V.weight)
    torch.nn.init.ones_(layer.W_V.bias)
    heads = seen_by(layer.heads)
    layer.eval()(torch.randn(101, 101, 7).double())
    layer.train()(torch.randn(101, 101, 7).double())
    assert_close(heads[0], torch.ones_like(heads[0]))
    assert heads[1].mean().item() == pytest.approx(1, abs=0.005)
    assert 0.01 < heads[1].std() < 0.1


def test_the_weights_are_seen_before_dropout(x):
    layer = GroupedQueryAttention(7, 7, dropout=0.5, fused=False).double().train()
    weights, dropped = seen_by(layer.weights), seen_by(layer.dropout)
    layer(x)
    assert_close(weights[0].sum(dim=-1), torch.ones(2, 7, 13, dtype=torch.float64))
    kept = dropped[0] != 0
    assert kept.double().mean().item() == pytest.approx(0.5, abs=0.05)
    assert_close(dropped[0][kept], 2 * weights[0][kept])


def test_rotary_gets_the_last_positions_for_fewer_queries(layer, x, context):
    asked = []

    def rotary(rows, *, positions):
        asked.append((tuple(rows.shape), positions.tolist()))
        return rows

    assert_close(layer(x, context, rotary=rotary), layer(x, context), rtol=0, atol=0)
    assert asked == [((2, 3, 13, 2), list(range(4, 17))), ((2, 3, 17, 2), list(range(17)))]


# shared keys and values


@pytest.mark.parametrize("n_kv_heads", [8, 4, 2, 1])
def test_parameters_with_shared_keys(n_kv_heads):
    """`W_Q` and `W_O` stay; `W_K` and `W_V` shrink with their heads."""
    layer = GroupedQueryAttention(512, 8, n_kv_heads=n_kv_heads, bias=False)
    assert layer.W_K.weight.shape == layer.W_V.weight.shape == (64 * n_kv_heads, 512)
    count = sum(p.numel() for p in layer.parameters())
    assert count == 2 * 512**2 + 2 * 512 * 64 * n_kv_heads


@pytest.mark.parametrize("fused", [True, False])
def test_neighbours_share_and_not_every_other_head(fused, x):
    """Of four heads, 0 and 1 read the values of the first, 2 and 3 those of the second."""
    layer = GroupedQueryAttention(7, 4, d_k=2, d_v=3, n_kv_heads=2, fused=fused).double()
    torch.nn.init.zeros_(layer.W_V.weight)
    with torch.no_grad():
        layer.W_V.bias.copy_(torch.tensor([1.0, 1.0, 1.0, 2.0, 2.0, 2.0]))
    heads = seen_by(layer.heads)
    layer(x)
    expected = torch.tensor([1.0, 1.0, 2.0, 2.0], dtype=torch.float64).view(4, 1, 1)
    assert_close(heads[0], expected.expand(2, 4, 13, 3))


def test_normalised_queries_and_keys_have_a_gain_each(x):
    layer = GroupedQueryAttention(7, 7, d_k=5, d_v=3, qk_norm=True, fused=False).double()
    assert layer.query_norm.weight.shape == layer.key_norm.weight.shape == (5,)
    weights = seen_by(layer.weights)
    layer(x)
    with torch.no_grad():  # longer queries are no sharper ones
        layer.W_Q.weight.mul_(1e6)
        layer.W_Q.bias.mul_(1e6)
        layer(x)
        assert_close(weights[1], weights[0], rtol=1e-3, atol=1e-4)
        layer.key_norm.weight.mul_(0.0)
        layer(x)
    assert_close(weights[2], torch.full_like(weights[2], 1 / 13))


def test_normalised_queries_under_autocast(x):
    layer = GroupedQueryAttention(7, 7, d_k=5, d_v=3, qk_norm=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = layer(x.float())
    assert_close(out.float(), layer(x.float()), rtol=0.05, atol=0.02)


def test_places_are_handed_to_rotary(layer, x, context):
    asked = []

    def rotary(rows, *, positions):
        asked.append(positions.tolist())
        return rows

    places = torch.stack([torch.arange(17), torch.arange(17) + 3])
    layer(x, context, rotary=rotary, positions=places)
    assert asked == [places[:, 4:].tolist(), places.tolist()]


# the causal mask is recognised

CAUSAL = {
    "causal": lambda n: causal_mask(n),
    "one for all texts and heads": lambda n: causal_mask(n)[None, None],
    "one for all texts": lambda n: causal_mask(n)[None],
}
OTHERS = {
    "one entry more": lambda n: causal_mask(n) | (torch.arange(n * n).view(n, n) == n - 1),
    "one entry less": lambda n: causal_mask(n) & (torch.arange(n * n).view(n, n) != n * n - n),
    "a window": lambda n: causal_mask(n) & window_mask(n, 2),
    "a mask for each of two texts": lambda n: causal_mask(n).expand(2, n, n),
    "more keys than queries": lambda n: causal_mask(n, n + 3),
}


@pytest.mark.parametrize("make", CAUSAL.values(), ids=CAUSAL)
@pytest.mark.parametrize("n", [1, 2, 5, 13])
def test_a_causal_mask_is_known(make, n):
    assert is_causal(make(n))


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("n", [5, 13])
def test_what_differs_in_one_entry_is_not_taken_for_it(make, n):
    assert not is_causal(make(n))


def test_a_mask_of_nothing_is_not_causal():
    assert not is_causal(torch.zeros(0, 0, dtype=torch.bool))


@pytest.mark.parametrize("make", (CAUSAL | OTHERS).values(), ids=CAUSAL | OTHERS)
@pytest.mark.parametrize("n", [1, 2, 5, 13, 64])
def test_told_or_not_the_kernel_gives_the_same_forward_and_backward(make, n, generator):
    fused = GroupedQueryAttention(12, 6, n_kv_heads=3).double()
    plain = GroupedQueryAttention(12, 6, n_kv_heads=3, fused=False).double()
    plain.load_state_dict(fused.state_dict())
    mask = make(n)
    context = torch.randn(2, mask.shape[-1], 12, dtype=torch.float64, generator=generator)
    mixed = torch.randn(2, n, 12, dtype=torch.float64, generator=generator)
    results = []
    for layer in (fused, plain):
        rows = context.clone().requires_grad_()
        out = layer(rows[:, -n:], rows, mask)
        (out * mixed).sum().backward()
        results.append([out, rows.grad, *(p.grad for p in layer.parameters())])
    assert_close(results[0], results[1], rtol=0, atol=1e-12)


def test_the_kernel_is_told_that_a_mask_is_causal(monkeypatch, generator):
    told = []
    kernel = torch.nn.functional.scaled_dot_product_attention

    def spy(query, key, value, mask, *, is_causal, **options):
        told.append((mask is None, is_causal))
        return kernel(query, key, value, mask, is_causal=is_causal, **options)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    layer, x = GroupedQueryAttention(12, 6), torch.randn(2, 7, 12, generator=generator)
    layer(x, mask=causal_mask(7))
    layer(x, mask=causal_mask(7) & window_mask(7, 2))
    layer(x, mask=causal_mask(7), score_bias=torch.zeros(7, 7))
    assert told == [(True, True), (False, False), (False, False)]


# bad input


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((7, 2), {}, "n_heads must divide d_model, .* got d_model=7, n_heads=2, d_k=None"),
        ((7, 2), {"d_k": 3}, "n_heads must divide d_model, .* d_k=3, d_v=None"),
        ((6, 6), {"n_kv_heads": 4}, "n_kv_heads must divide n_heads; got n_heads=6, n_kv_heads=4"),
    ],
)
def test_the_layer_refuses(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        GroupedQueryAttention(*arguments, **options)


def test_widths_that_are_given_need_not_divide():
    assert GroupedQueryAttention(7, 2, d_k=3, d_v=5).W_O.weight.shape == (7, 10)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((3, 13, 17), r"mask must fit scores of shape \(2, 13, 17\); got mask=\(3, 13, 17\)"),
        ((2, 2, 13, 17), r"fit scores of shape \(2, 3, 13, 17\); got mask=\(2, 2, 13, 17\)"),
    ],
)
@pytest.mark.bad_input
def test_forward_refuses_masks(layer, x, context, shape, message):
    with pytest.raises(ValueError, match=message):
        layer(x, context, torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize(
    ("score_bias", "message"),
    [
        (torch.zeros(2, 13, 17).double(), r"\(2, 3, 13, 17\); got score_bias=\(2, 13, 17\)"),
        (torch.full((13, 17), -math.inf).double(), "must be finite: what must not be read belongs"),
    ],
)
def test_forward_refuses_score_biases(layer, x, context, score_bias, message):
    with pytest.raises(ValueError, match=message):
        layer(x, context, score_bias=score_bias)


def test_rotary_needs_a_key_for_each_query(layer, x, context):
    with pytest.raises(ValueError, match="a key for each query; got n_q=13, n_k=5"):
        layer(x, context[:, :5], rotary=lambda rows, positions: rows)


def test_heads_divide_the_width(x):
    with pytest.raises(ValueError, match=r"divide the width .* got rows=\(2, 13, 7\), n_heads=2"):
        split_heads(x, 2)


def test_positions_are_at_least_0(layer, x, context):
    places = torch.arange(17) - 1
    with pytest.raises(ValueError, match=r"positions must be at least 0 .* got smallest=-1"):
        layer(x, context, rotary=lambda rows, positions: rows, positions=places)
