"""The laws of many heads, on both paths: hypothesis draws sizes, axes, masks, dtypes and seeds."""

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close

from softlookup.attention import (
    GroupedQueryAttention,
    LayerCache,
    MultiHeadAttention,
    join_heads,
    split_heads,
)
from softlookup.masks import causal_mask, padding_mask

sizes = st.integers(1, 7)
seeds = st.integers(0, 2**32 - 1)
paths = pytest.mark.parametrize("fused", [True, False], ids=["fused", "step by step"])
EXACT = {"rtol": 1e-12, "atol": 1e-12}
ANYTHING = st.sampled_from([math.nan, math.inf, -math.inf, 1e30, -1e30])


def normal(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


def seeded(layer, seed):
    """The layer in float64, with weights and biases of a size that makes attention uneven."""
    layer = layer.double()
    numbers = normal(seed, *(p.shape for p in layer.parameters()))
    with torch.no_grad():
        for parameter, values in zip(layer.parameters(), numbers, strict=True):
            parameter.copy_(values / math.sqrt(parameter.shape[-1]) * 1.5)
    return layer


@st.composite
def masks(draw, lead, n_heads, n_q, n_k, seed):
    """None, the same for all heads or texts, padding, one for each head; rows may be empty."""
    kind = draw(st.sampled_from(["none", "plain", "short", "ones", "batch", "padding", "heads"]))
    shapes = {
        "plain": (n_q, n_k),
        "short": (*lead[1:], n_q, n_k),  # the same along the first axis
        "ones": (*lead[:-1], *[1 for _ in lead[-1:]], n_q, n_k),  # and along the last
        "batch": (*lead, n_q, n_k),
        "padding": (*lead, 1, n_k),
        "heads": (*lead, n_heads, n_q, n_k),
    }
    if kind == "none":
        return None
    (noise,) = normal(seed + 1, shapes[kind])
    return noise < draw(st.sampled_from([-1.0, 0.0, 1.0]))


any_lead = st.sampled_from([(), (1,), (3,), (2, 3)])


@st.composite
def problems(draw, lead=any_lead, least=1, biases=True):
    """A layer, x, a context, a mask and a bias of the scores; all sizes are free."""
    lead, seed = draw(lead), draw(seeds)
    n_heads, d_k, d_v, d_model, d_context = (draw(st.integers(1, 5)) for _ in range(5))
    n_q, n_k = (draw(st.integers(least, 7)) for _ in range(2))
    options = {"d_k": d_k, "d_v": d_v, "d_context": d_context, "bias": draw(st.booleans())}
    layer = seeded(GroupedQueryAttention(d_model, n_heads, **options), seed)
    shapes = [(*lead, n_q, d_model), (*lead, n_k, d_context), (n_heads, n_q, n_k)]
    x, context, score_bias = normal(seed, *shapes)
    mask = draw(masks(lead, n_heads, n_q, n_k, seed % 2**31))
    return layer, x, context, mask, score_bias if biases and draw(st.booleans()) else None


def run(problem, fused):
    layer, x, context, mask, score_bias = problem
    layer.fused = fused
    return layer(x, context, mask, score_bias=score_bias)


def full_mask(problem):
    """The mask over (*lead, heads, n_q, n_k)."""
    layer, x, context, mask, _ = problem
    shape = (*x.shape[:-2], layer.n_heads, x.shape[-2], context.shape[-2])
    if mask is None:
        return torch.ones(shape, dtype=torch.bool)
    return (mask.unsqueeze(-3) if mask.ndim <= x.ndim else mask).expand(shape)


def one_head_by_hand(query, key, value, mask, bias):
    """One query at a time, in plain Python numbers."""
    rows = []
    for i, q in enumerate(query.tolist()):
        allowed = [j for j in range(len(key)) if mask[i, j]]
        scores = {
            j: math.fsum(a * b for a, b in zip(q, key[j].tolist(), strict=True)) / len(q) ** 0.5
            + bias[i, j].item()
            for j in allowed
        }
        top = max(scores.values(), default=0.0)
        exps = {j: math.exp(score - top) for j, score in scores.items()}
        total = math.fsum(exps.values())
        rows.append([
            math.fsum(exps[j] / total * value[j, c].item() for j in allowed)
            for c in range(value.shape[1])
        ])  # fmt: skip
    return torch.tensor(rows, dtype=torch.float64).reshape(len(query), value.shape[1])


def by_hand(problem):
    """One text, one head, one query at a time; head h's rows of W_Q start at h · d_k."""
    layer, x, context, _, score_bias = problem
    lead, (n_q, n_k) = x.shape[:-2], (x.shape[-2], context.shape[-2])
    mask = full_mask(problem).reshape(lead.numel(), layer.n_heads, n_q, n_k)
    if score_bias is None:
        score_bias = torch.zeros(layer.n_heads, n_q, n_k)
    d_k, d_v = (w.out_features // layer.n_heads for w in (layer.W_Q, layer.W_V))
    outputs = []
    for b in range(lead.numel()):
        x_b = x.reshape(lead.numel(), *x.shape[-2:])[b]
        c_b = context.reshape(lead.numel(), *context.shape[-2:])[b]
        side_by_side = []
        for h in range(layer.n_heads):
            query, key, value = (
                rows @ w.weight[h * d : (h + 1) * d].mT
                + (0 if w.bias is None else w.bias[h * d : (h + 1) * d])
                for rows, w, d in [
                    (x_b, layer.W_Q, d_k), (c_b, layer.W_K, d_k), (c_b, layer.W_V, d_v)
                ]
            )  # fmt: skip
            head = one_head_by_hand(query, key, value, mask[b, h], score_bias[h])
            side_by_side.append(head)
        outputs.append(layer.W_O(torch.cat(side_by_side, dim=1)))
    return torch.stack(outputs).reshape(*lead, n_q, -1)


# The plain layer is the one inside the models, with nothing added


@paths
@given(problems(biases=False))
def test_the_plain_layer_is_the_full_one_with_nothing_added(fused, problem):
    layer, x, context, mask, _ = problem
    assume(mask is None or mask.ndim <= x.ndim)  # the plain one has one mask for all heads
    widths = {"d_k": layer.W_Q.out_features // layer.n_heads, "d_context": context.shape[-1]}
    widths["d_v"] = layer.W_V.out_features // layer.n_heads
    has_bias = layer.W_Q.bias is not None
    plain = MultiHeadAttention(x.shape[-1], layer.n_heads, bias=has_bias, **widths).double()
    plain.load_state_dict(layer.state_dict())
    layer.fused = fused
    inputs = [x.clone().requires_grad_(), context.clone().requires_grad_()]
    outs = [one(*inputs, mask) for one in (plain, layer)]
    assert_close(*outs, **EXACT)
    ours, theirs = (torch.autograd.grad(out.square().sum(), inputs) for out in outs)
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a, b, rtol=1e-10, atol=1e-10)


@given(problems(biases=False), ANYTHING, seeds)
def test_in_the_plain_layer_too_nobody_reads_what_nobody_may_read(problem, content, seed):
    layer, x, context, _, _ = problem
    plain = MultiHeadAttention(
        x.shape[-1], layer.n_heads, d_context=context.shape[-1], d_k=2, d_v=3
    )
    plain = seeded(plain, seed)
    mask = torch.ones(x.shape[-2], context.shape[-2], dtype=torch.bool)
    mask[:, 0] = mask[0] = False
    expected = plain(x, context, mask)
    x[..., 0, :], context[..., 0, :] = content, content
    assert_close(plain(x, context, mask), expected, **EXACT)


# The three agree


@settings(max_examples=150)
@given(problems())
def test_step_by_step_and_fused_and_by_hand_agree_to_1e_12(problem):
    expected = by_hand(problem)
    assert_close(run(problem, fused=False), expected, **EXACT)
    assert_close(run(problem, fused=True), expected, **EXACT)


@settings(max_examples=100)
@given(problems())
def test_both_paths_have_the_same_gradients(problem):
    layer, x, context, _, score_bias = problem
    leaves = [t.requires_grad_() for t in (x, context, score_bias) if t is not None]
    wanted = [*leaves, *layer.parameters()]
    results = [
        torch.autograd.grad(run(problem, fused).square().sum(), wanted) for fused in (True, False)
    ]
    assert_close(results[0], results[1], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@given(sizes, sizes, sizes, sizes, st.sampled_from([-0.5, 0.5, math.inf]), seeds)
def test_errors_are_at_most_twice_those_of_pytorch(dtype, n_heads, d_k, n_q, n_k, limit, seed):
    """Root mean square over 64 texts, against float64 with the very same rounded numbers."""
    d_model = n_heads * d_k
    layer = seeded(GroupedQueryAttention(d_model, n_heads), seed).to(dtype)
    exact = GroupedQueryAttention(d_model, n_heads, fused=False).double()
    exact.load_state_dict(layer.state_dict())
    x, context, noise = normal(seed, (64, n_q, d_model), (64, n_k, d_model), (n_q, n_k))
    x, context = x.to(dtype), context.to(dtype)
    mask = noise < limit
    mask[:, 0] = True
    peer = nn.MultiheadAttention(d_model, n_heads, batch_first=True, dtype=dtype)
    with torch.no_grad():
        inner = (layer.W_Q, layer.W_K, layer.W_V)
        peer.in_proj_weight.copy_(torch.cat([w.weight for w in inner]))
        peer.in_proj_bias.copy_(torch.cat([w.bias for w in inner]))
        peer.out_proj.load_state_dict(layer.W_O.state_dict())
    truth = exact(x.double(), context.double(), mask)
    theirs = peer(x, context, context, attn_mask=~mask, need_weights=False)[0]
    allowed = 2 * (theirs.double() - truth).square().mean().sqrt()
    for fused in (True, False):
        out = run((layer, x, context, mask, None), fused)
        assert out.dtype == dtype
        assert (out.double() - truth).square().mean().sqrt() <= allowed


# What a mask hides


@paths
@given(problems())
def test_a_row_that_may_read_nothing_is_the_last_bias_and_passes_no_gradient(fused, problem):
    layer, x, context, mask, _ = problem
    assume(mask is not None)
    leaves = [x.requires_grad_(), context.requires_grad_()]
    out = run(problem, fused)
    empty = ~full_mask(problem).any(dim=-1).any(dim=-2)
    expected = torch.zeros(len(out[empty]), layer.W_O.out_features, dtype=torch.float64)
    expected = expected if layer.W_O.bias is None else expected + layer.W_O.bias
    assert out[empty].equal(expected)
    inner = [p for name, p in layer.named_parameters() if not name.startswith("W_O")]
    for gradient in torch.autograd.grad(out[empty].square().sum(), [*leaves, *inner]):
        assert gradient.eq(0).all()


@paths
@given(problems(), ANYTHING, seeds)
def test_what_nobody_may_read_has_no_influence_whatever_it_holds(fused, problem, content, seed):
    """Neither on the output nor on any gradient; the same for a query that may read nothing."""
    layer, x, context, _, score_bias = problem
    mask = full_mask(problem).clone()
    generator = torch.Generator().manual_seed(seed)
    unread = torch.rand(context.shape[:-1], generator=generator) < 0.5
    idle = torch.rand(x.shape[:-1], generator=generator) < 0.3
    mask &= ~unread[..., None, None, :] & ~idle[..., None, :, None]
    unread, idle = (~mask.any(dim=-3).any(dim=axis) for axis in (-2, -1))

    def answers(x, context):
        out = run((layer, x, context, mask, score_bias), fused)
        return out, torch.autograd.grad(out.square().sum(), [*layer.parameters()])

    clean = answers(x, context)
    x, context = x.clone(), context.clone()
    x[idle] = context[unread] = content
    dirty = answers(x, context)
    assert dirty[0].equal(clean[0])
    assert_close(dirty[1], clean[1], rtol=0, atol=0)


@paths
@given(problems(), seeds)
def test_a_masked_pair_has_no_influence(fused, problem, seed):
    """Query i answers as if the keys that no head lets it read were not there."""
    layer, x, context, _, score_bias = problem
    mask = full_mask(problem)
    out = run(problem, fused)
    bias = torch.zeros(mask.shape[-3:]).double() if score_bias is None else score_bias
    (other,) = normal(seed, context.shape)
    for i in range(x.shape[-2]):
        read = mask[..., i, :].any(dim=-2).unsqueeze(-1)
        changed = torch.where(read, context, 1e3 * other)
        after = layer(x, changed, mask, score_bias=bias)
        assert_close(after[..., i, :], out[..., i, :], rtol=1e-9, atol=1e-9)


@paths
@given(st.integers(2, 7), st.data(), seeds)
def test_the_causal_mask_hides_the_future(fused, n, data, seed):
    """By perturbation, bit by bit; and by gradient, exactly zero."""
    s = data.draw(st.integers(1, n - 1))
    layer = seeded(GroupedQueryAttention(6, 3, fused=fused), seed)
    (x,) = normal(seed, (n, 6))
    before = layer(x, mask=causal_mask(n))
    changed = x.clone()
    changed[s:] += 1e6
    after = layer(changed, mask=causal_mask(n))
    assert after[:s].equal(before[:s])
    assert not after[s].equal(before[s])
    x.requires_grad_()
    (gradient,) = torch.autograd.grad(layer(x, mask=causal_mask(n))[s - 1].square().sum(), x)
    assert gradient[s:].eq(0).all()
    assert gradient[:s].ne(0).any(dim=-1).all()


@paths
@given(sizes, st.data(), seeds)
def test_last_queries_with_all_keys_equal_the_end_of_the_whole_pass(fused, n, data, seed):
    """The causal mask is aligned to the end where there are fewer queries than keys."""
    n_q = data.draw(st.integers(1, n))
    layer = seeded(GroupedQueryAttention(6, 3, fused=fused), seed)
    (x,) = normal(seed, (2, n, 6))
    whole = layer(x, mask=causal_mask(n), rotary=turn)
    last = layer(x[:, n - n_q :], x, causal_mask(n_q, n), rotary=turn)
    assert_close(last, whole[:, n - n_q :], **EXACT)


@paths
@given(sizes, st.integers(1, 5), ANYTHING, seeds)
def test_filler_has_no_influence_on_the_real_tokens(fused, n, extra, content, seed):
    layer = seeded(GroupedQueryAttention(6, 2, fused=fused), seed)
    (x,) = normal(seed, (3, n + extra, 6))
    x[:, n:] = content
    out = layer(x, mask=padding_mask([n] * 3, n + extra))
    assert_close(out[:, :n], layer(x[:, :n]), **EXACT)


@paths
@given(problems())
def test_a_mask_of_each_head_hides_only_from_that_head(fused, problem):
    """Muting head 0 by its mask is leaving out its share of the sum."""
    layer, x, context, _, score_bias = problem
    mask = full_mask(problem).clone()
    mask[..., 0, :, :] = False
    seen = []
    handle = layer.heads.register_forward_hook(lambda module, args, heads: seen.append(heads))
    run(problem, fused)
    out = run((layer, x, context, mask, score_bias), fused)
    handle.remove()
    before, after = seen
    assert after[..., 0, :, :].eq(0).all()
    assert_close(after[..., 1:, :, :], before[..., 1:, :, :], **EXACT)
    assert_close(out, layer.W_O(join_heads(after)), **EXACT)


# What the heads are


@paths
@given(problems())
def test_the_output_is_the_sum_of_what_each_head_adds(fused, problem):
    r"""`mha-output-projection`: Concat(head_h) W^O is the sum of head_h W^O_h."""
    layer = problem[0]
    seen = []
    handle = layer.heads.register_forward_hook(lambda module, args, heads: seen.append(heads))
    out = run(problem, fused)
    handle.remove()
    blocks = layer.W_O.weight.chunk(layer.n_heads, dim=1)
    total = sum(seen[0][..., h, :, :] @ blocks[h].mT for h in range(layer.n_heads))
    assert_close(out, total if layer.W_O.bias is None else total + layer.W_O.bias, **EXACT)


@paths
@given(problems(), seeds)
def test_the_order_of_the_heads_is_of_no_account(fused, problem, seed):
    layer, x, context, _, score_bias = problem
    mask, out = full_mask(problem), run(problem, fused)
    order = torch.randperm(layer.n_heads, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for w in (layer.W_Q, layer.W_K, layer.W_V):
            for p in w.parameters():
                p.copy_(p.unflatten(0, (layer.n_heads, -1))[order].flatten(0, 1))
        w_o = layer.W_O.weight.unflatten(1, (layer.n_heads, -1))
        layer.W_O.weight.copy_(w_o[:, order].flatten(1, 2))
    bias = None if score_bias is None else score_bias[order]
    permuted = (layer, x, context, mask[..., order, :, :], bias)
    assert_close(run(permuted, fused), out, **EXACT)


@given(problems(biases=False))
def test_the_weights_of_every_head_are_distributions_or_zero(problem):
    layer, mask = problem[0], full_mask(problem)
    seen = []
    handle = layer.weights.register_forward_hook(lambda module, args, weights: seen.append(weights))
    run(problem, fused=False)
    handle.remove()
    assert seen[0].shape == mask.shape
    assert (seen[0] >= 0).all()
    assert seen[0][~mask].eq(0).all()
    assert_close(seen[0].sum(dim=-1), mask.any(dim=-1).double())


@given(st.sampled_from([(), (2,), (2, 3)]), sizes, sizes, st.integers(0, 7), seeds)
def test_joining_undoes_splitting(lead, n_heads, d, n, seed):
    (rows,) = normal(seed, (*lead, n, n_heads * d))
    heads = split_heads(rows, n_heads)
    assert heads.shape == (*lead, n_heads, n, d)
    assert join_heads(heads).equal(rows)
    for h in range(n_heads):
        assert heads[..., h, :, :].equal(rows[..., h * d : (h + 1) * d])


# Positions


def turn(rows, *, positions):
    """Turn each pair of numbers by an angle that grows with the position."""
    angle = positions.to(rows.dtype).unsqueeze(-1) * 0.7
    a, b = rows[..., 0:1], rows[..., 1:2]
    turned = [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
    return torch.cat([*turned, rows[..., 2:]], dim=-1)


@paths
@given(problems(lead=st.just((3,)), biases=False))
def test_rotary_turns_queries_and_keys_of_every_head_and_no_value(fused, problem):
    layer, x, context, mask, _ = problem
    n_q, n_k = x.shape[-2], context.shape[-2]
    assume(layer.W_Q.out_features // layer.n_heads >= 2)
    assume(n_q <= n_k)
    layer.fused = fused
    out = layer(x, context, mask, rotary=turn)
    places = torch.arange(n_k)
    query = turn(split_heads(layer.W_Q(x), layer.n_heads), positions=places[n_k - n_q :])
    key = turn(split_heads(layer.W_K(context), layer.n_heads), positions=places)
    scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~full_mask(problem), -math.inf)
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    expected = layer.W_O(join_heads(weights @ split_heads(layer.W_V(context), layer.n_heads)))
    assert_close(out, expected, **EXACT)


# Shared keys and values, normalized queries and keys


@st.composite
def grouped(draw):
    """A layer whose heads share keys, and one with a copy of them for every head."""
    n_kv_heads, group, d_k, d_v, d_model, d_context = (draw(st.integers(1, 3)) for _ in range(6))
    n_q, extra, seed, n_heads = (
        draw(sizes),
        draw(st.integers(0, 3)),
        draw(seeds),
        n_kv_heads * group,
    )
    options = {"d_k": 2 * d_k, "d_v": d_v, "d_context": d_context, "bias": draw(st.booleans()),
               "qk_norm": draw(st.booleans())}  # fmt: skip
    shared = GroupedQueryAttention(d_model, n_heads, n_kv_heads=n_kv_heads, **options)
    layer, full = seeded(shared, seed), GroupedQueryAttention(d_model, n_heads, **options).double()
    state = layer.state_dict()
    for name in state:
        if name.startswith(("W_K", "W_V")):
            heads = state[name].unflatten(0, (n_kv_heads, -1))
            state[name] = torch.cat([heads[h // group] for h in range(n_heads)])
    full.load_state_dict(state)
    lead = draw(any_lead)
    n_k = n_q + extra
    x, context, bias = normal(seed, (*lead, n_q, d_model), (*lead, n_k, d_context),
                              (n_heads, n_q, n_k))  # fmt: skip
    mask = draw(masks(lead, n_heads, n_q, n_k, seed % 2**31))
    return layer, full, x, context, mask, bias if draw(st.booleans()) else None


@paths
@given(grouped())
def test_shared_keys_are_equal_keys(fused, problem):
    """Grouped-query attention is the full one whose neighbouring heads have the same W^K, W^V.

    Its gradients are the sums over the copies.
    """
    layer, full, x, context, mask, bias = problem
    layer.fused = fused
    outs = [one(x, context, mask, score_bias=bias, rotary=turn) for one in (layer, full)]
    assert_close(*outs, **EXACT)
    for one, out in zip((layer, full), outs, strict=True):
        one.zero_grad()
        out.square().sum().backward()
    for name, parameter in layer.named_parameters():
        wanted = full.get_parameter(name).grad
        if name.startswith(("W_K", "W_V")):
            copies = wanted.unflatten(0, (layer.n_kv_heads, layer.n_heads // layer.n_kv_heads, -1))
            wanted = copies.sum(dim=1).flatten(0, 1)
        assert_close(parameter.grad, wanted, rtol=1e-9, atol=1e-9)


@paths
@given(grouped())
def test_normalised_queries_and_keys_by_hand(fused, problem):
    """RMSNorm of each head's rows, before they are turned; values are left alone."""
    _, layer, x, context, _, _ = problem
    assume(layer.query_norm is not None)
    layer.fused = fused
    n_q, n_k = x.shape[-2], context.shape[-2]

    def normed(w, norm, rows):
        heads = split_heads(w(rows), layer.n_heads)
        size = (heads.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return norm.weight * heads / size

    places = torch.arange(n_k)
    query = turn(normed(layer.W_Q, layer.query_norm, x), positions=places[n_k - n_q :])
    key = turn(normed(layer.W_K, layer.key_norm, context), positions=places)
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, dim=-1)
    expected = layer.W_O(join_heads(weights @ split_heads(layer.W_V(context), layer.n_heads)))
    assert_close(layer(x, context, rotary=turn), expected, **EXACT)


@paths
@given(st.integers(1, 6), st.integers(1, 6), st.booleans(), seeds)
def test_a_cache_is_the_context_in_two_pieces(fused, n_kept, n_q, qk_norm, seed):
    """Under the causal mask, with places that each text has for itself."""
    layer = GroupedQueryAttention(12, 6, n_kv_heads=2, qk_norm=qk_norm, fused=fused)
    layer, n = seeded(layer, seed), n_kept + n_q
    (x,) = normal(seed, (3, n, 12))
    places = torch.stack([torch.arange(n) + 5 * b for b in range(3)])
    whole = layer(x, mask=causal_mask(n), rotary=turn_each, positions=places)
    cache = LayerCache()
    parts = [
        layer(x[:, :n_kept], mask=causal_mask(n_kept), rotary=turn_each,
              positions=places[:, :n_kept], cache=cache),
        layer(x[:, n_kept:], mask=causal_mask(n_q, n), rotary=turn_each, positions=places,
              cache=cache),
    ]  # fmt: skip
    assert_close(torch.cat(parts, dim=1), whole, **EXACT)
    assert cache.key.shape == (3, 2, n, 2)


def turn_each(rows, *, positions):
    """``turn`` with places of each text: the same for all of its heads."""
    return torch.stack([turn(text, positions=p) for text, p in zip(rows, positions, strict=True)])


# Derivatives


def check_gradients(problem, fused, second):
    layer, x, context, mask, score_bias = problem
    layer.fused = fused
    names = list(dict(layer.named_parameters()))

    def forward(x, context, *parameters):
        given_ = dict(zip(names, parameters, strict=True))
        return functional_call(layer, given_, (x, context, mask), {"score_bias": score_bias})

    inputs = (x.requires_grad_(), context.requires_grad_(), *layer.parameters())
    assert gradcheck(forward, inputs)
    if second:
        assert gradgradcheck(forward, inputs)


small = problems(lead=st.sampled_from([(), (2,)]))


@settings(max_examples=10)
@given(small)
def test_gradcheck_of_the_fused_path(problem):
    check_gradients(problem, fused=True, second=False)


@settings(max_examples=6)
@given(small)
def test_gradcheck_and_gradgradcheck_step_by_step(problem):
    check_gradients(problem, fused=False, second=True)


@settings(max_examples=6)
@given(small)
def test_gradgradcheck_of_the_fused_path_where_pytorch_has_second_derivatives(problem):
    """Its fast kernel for the CPU has none; the plain one has."""
    with sdpa_kernel(SDPBackend.MATH):
        check_gradients(problem, fused=True, second=True)


# Batches, sizes, no surprises


@paths
@given(problems(lead=st.sampled_from([(1,), (2,), (5,)])))
def test_a_batch_equals_its_parts(fused, problem):
    layer, x, context, _, score_bias = problem
    whole, mask = run(problem, fused), full_mask(problem)
    for b in range(len(x)):
        one = (layer, x[b : b + 1], context[b : b + 1], mask[b : b + 1], score_bias)
        assert_close(run(one, fused), whole[b : b + 1], **EXACT)
        alone = (layer, x[b], context[b], mask[b], score_bias)
        assert_close(run(alone, fused), whole[b], **EXACT)


@paths
@given(problems())
def test_inputs_are_never_changed(fused, problem):
    layer, *inputs = problem
    if problem[3] is not None:  # then the layer has something to hide
        unread = ~full_mask(problem).any(dim=-3).any(dim=-2)
        inputs[1][unread] = math.nan
    copies = [None if t is None else t.clone() for t in inputs]
    parameters = [p.detach().clone() for p in layer.parameters()]
    run((layer, *inputs), fused).square().sum().backward()
    for tensor, copy in zip(inputs, copies, strict=True):
        assert tensor is None or torch.equal(tensor.nan_to_num(7.0), copy.nan_to_num(7.0))
    for parameter, copy in zip(layer.parameters(), parameters, strict=True):
        assert parameter.equal(copy)


@paths
@given(problems(lead=st.sampled_from([(), (0,), (1,), (2, 0)]), least=0))
def test_sizes_of_0_and_1_work(fused, problem):
    layer, x, context, _, _ = problem
    out = run(problem, fused)
    assert out.shape == x.shape
    assert out.isfinite().all()
    if out.numel():
        assert_close(out, by_hand(problem), **EXACT)
    if context.shape[-2] == 0 and layer.W_O.bias is not None:
        assert out.equal(layer.W_O.bias.expand_as(out))
    out.square().sum().backward()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


@paths
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@given(problem=problems())
def test_the_dtype_is_preserved_and_all_is_finite(fused, dtype, problem):
    layer, x, context, mask, score_bias = problem
    score_bias = None if score_bias is None else score_bias.to(dtype)
    out = run((layer.to(dtype), x.to(dtype), context.to(dtype), mask, score_bias), fused)
    assert out.dtype == dtype
    assert out.isfinite().all()
