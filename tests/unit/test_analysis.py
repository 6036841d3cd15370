"""Looking into a model: probes, muted heads, patterns, distances, captured variance."""

import math

import pytest
import scipy.spatial.distance
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from softlookup.analysis import (
    capture,
    captured_variance,
    distance_pattern,
    head_distance,
    head_gates,
    head_importance,
    key_pattern,
    label_heads,
    offset_pattern,
    pattern_scores,
    prune_greedily,
    rarest_pattern,
    relation_pattern,
    score_matrices,
)
from softlookup.attention import (
    Attention,
    GroupedQueryAttention,
    attention_scores,
    attention_weights,
    split_heads,
)
from softlookup.masks import causal_mask

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture
def x(generator):
    return torch.randn(2, 11, 15, dtype=torch.float64, generator=generator)


@pytest.fixture
def layer():
    return GroupedQueryAttention(15, 3).double()


class TwoLayers(nn.Module):
    """A model with probes at several depths; one of its parts has another switch."""

    def __init__(self):
        super().__init__()
        self.first = GroupedQueryAttention(15, 3)
        self.rest = nn.ModuleList(
            [GroupedQueryAttention(15, 5, fused=False), Attention(15, 15, 15)]
        )

    def forward(self, x):
        x = self.first(x, mask=causal_mask(x.shape[-2]))
        return self.rest[1](self.rest[0](x))


def random_weights(seed, *shape):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).mul(3).softmax(dim=-1)


# probes


def test_capture_sees_what_the_heads_see(layer, x):
    with capture(layer) as seen:
        assert seen == {}
        out = layer(x, mask=causal_mask(11))
    assert set(seen) == {"weights", "heads"}
    query, key = (split_heads(w(x), 3) for w in (layer.W_Q, layer.W_K))
    assert_close(seen["weights"], attention_weights(query, key, causal_mask(11)))
    assert_close(seen["heads"], seen["weights"] @ split_heads(layer.W_V(x), 3))
    assert_close(out, layer(x, mask=causal_mask(11)))


def test_capture_finds_probes_by_their_full_name_or_its_end(x):
    model = TwoLayers().double()
    for names, expected in [
        (("weights",), {"first.weights", "rest.0.weights", "rest.1.weights"}),
        (("rest.0.weights",), {"rest.0.weights"}),
        (("0.heads", "first.weights"), {"rest.0.heads", "first.weights"}),
        ((), {"first.weights", "first.heads", "rest.0.weights", "rest.0.heads", "rest.1.weights"}),
    ]:
        with capture(model, *names) as seen:
            model(x)
        assert set(seen) == expected


def test_capture_leaves_the_switches_and_the_probes_as_they_were(x):
    model = TwoLayers().double()
    expected = model(x)

    def look():
        with capture(model) as seen:
            assert not model.first.fused
            model(x)
            raise KeyError(len(seen))

    with pytest.raises(KeyError, match="5"):
        look()
    assert [model.first.fused, model.rest[0].fused] == [True, False]
    assert not any(part._forward_hooks for part in model.modules())
    assert_close(model(x), expected, rtol=0, atol=0)


def test_capture_keeps_the_last_call_and_its_gradient(layer, x):
    with capture(layer, "weights") as seen:
        layer(x)
        layer(x[:1])
    assert seen["weights"].shape == (1, 3, 11, 11)
    (gradient,) = torch.autograd.grad(seen["weights"][..., 0].sum(), layer.W_Q.weight)
    assert gradient.ne(0).any()


def test_capture_refuses_what_is_not_there(layer):
    with pytest.raises(ValueError, match=r"no probe of the name 'ights'; got probes=\['weights'"):
        capture(layer, "ights").__enter__()
    with pytest.raises(ValueError, match="the model has no probe; got model='Linear'"):
        capture(nn.Linear(2, 2)).__enter__()


# muting


@pytest.mark.parametrize("fused", [True, False])
def test_a_gate_scales_what_its_head_adds(layer, x, fused):
    layer.fused = fused
    gates = torch.tensor([0.0, 1.0, -2.5])
    with capture(layer, "heads") as seen:
        expected = layer(x)
    blocks = layer.W_O.weight.chunk(3, dim=1)
    total = layer.W_O.bias + sum(
        gate * seen["heads"][:, h] @ blocks[h].mT for h, gate in enumerate(gates.tolist())
    )
    with head_gates(layer, gates) as gated:
        assert gated is layer
        assert_close(layer(x), total)
    with head_gates(layer, [0.0, 1.0, -2.5]):
        assert_close(layer(x), total)
    assert_close(layer(x), expected)
    assert not layer.heads._forward_hooks


def test_gates_of_1_change_nothing_and_what_was_gated_is_seen(layer, x):
    expected = layer(x)
    with head_gates(layer, torch.ones(3)):
        assert_close(layer(x), expected, rtol=0, atol=0)
    with head_gates(layer, torch.zeros(3)), capture(layer, "heads") as seen:
        layer(x)
    assert seen["heads"].eq(0).all()


def test_gates_can_be_learned(layer, x):
    gates = torch.ones(3, dtype=torch.float64, requires_grad=True)
    with head_gates(layer, gates):
        layer(x).square().sum().backward()
    assert gates.grad.ne(0).all()


def test_gates_are_gone_after_an_error(layer):
    def fail():
        with head_gates(layer, [1, 0, 1]):
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not layer.heads._forward_hooks


def test_gates_refuse(layer):
    with pytest.raises(ValueError, match=r"one gate for each head; got gates=\(2,\), n_heads=3"):
        head_gates(layer, [1.0, 0.0]).__enter__()
    with pytest.raises(ValueError, match="a probe named heads; got layer='Attention'"):
        head_gates(Attention(5, 3, 2), [1.0]).__enter__()


def test_importance_is_the_loss_of_each_absence(layer, x):
    target = torch.roll(x, 1, dims=1)

    def loss(gates):
        with head_gates(layer, gates), torch.no_grad():
            return (layer(x) - target).square().mean().item()

    found = head_importance(loss, 3)
    for h in range(3):
        gates = [float(other != h) for other in range(3)]
        assert found[h].item() == pytest.approx(loss(torch.tensor(gates)) - loss(torch.ones(3)))
    assert found.dtype == torch.float64


def test_pruning_takes_the_least_missed_head_first():
    """Heads 0 and 3 do the same job: one may go, then the other is needed."""

    def quality(gates):
        a, b, c, d = gates.tolist()
        return 4 * max(a, d) + 2 * b + c

    pruning = prune_greedily(quality, 4)
    assert pruning.removed == [0, 2, 1, 3]
    assert pruning.quality == [7.0, 7.0, 6.0, 4.0, 0.0]
    assert [pruning.kept(n) for n in range(5)] == [[], [3], [1, 3], [1, 2, 3], [0, 1, 2, 3]]


def test_pruning_asks_as_often_as_it_says():
    asked = []
    prune_greedily(lambda gates: asked.append(gates.clone()) or 0.0, 5)
    assert len(asked) == 5 * 6 // 2 + 1
    assert asked[0].equal(torch.ones(5))
    assert [int(gates.sum()) for gates in asked[1:6]] == [4] * 5


def test_greedy_pruning_may_miss_the_best_pair():
    """Alone head 2 is missed least; but 0 and 1 together could have gone."""
    table = {(1, 1, 1): 3, (0, 1, 1): 1, (1, 0, 1): 1, (1, 1, 0): 2, (0, 0, 1): 2}
    pruning = prune_greedily(lambda gates: table.get(tuple(gates.int().tolist()), 0), 3)
    assert pruning.removed[0] == 2
    assert pruning.quality[2] < table[0, 0, 1]


def test_muting_refuses():
    for function in (head_importance, prune_greedily):
        with pytest.raises(ValueError, match="n_heads must be an integer of at least 1; got n_hea"):
            function(lambda gates: 0.0, 0)
    pruning = prune_greedily(lambda gates: 0.0, 2)
    with pytest.raises(ValueError, match="at most the number of heads; got n=3, n_heads=2"):
        pruning.kept(3)
    with pytest.raises(ValueError, match="n must be an integer of at least 0; got n=-1"):
        pruning.kept(-1)


# patterns

IDS = torch.tensor([5, 3, 0, 3, 5, 5])
COUNTS = torch.tensor([9, 9, 9, 2, 9, 7])
FAMILIES = {
    "subject-verb": relation_pattern(6, [(2, 1), (5, 3)]),
    "long-range": distance_pattern(6, 4),
    "coreference": relation_pattern(6, [(4, 0)]),
    "style": key_pattern(6, [1, 4]),
    "positional": offset_pattern(6, -2),
    "phrase boundary": key_pattern(6, [2, 5]),
}


def planted(pattern):
    """A map that follows a pattern where it says anything, and reads evenly elsewhere."""
    weights = pattern.double() / pattern.sum(dim=-1, keepdim=True).clamp(min=1)
    return torch.where(pattern.any(dim=-1, keepdim=True), weights, 1 / len(pattern))


def test_patterns_by_hand():
    assert offset_pattern(4, 1).nonzero().tolist() == [[0, 1], [1, 2], [2, 3]]
    assert offset_pattern(4, -3).nonzero().tolist() == [[3, 0]]
    assert offset_pattern(4, 0).equal(torch.eye(4).bool())
    assert distance_pattern(4, 2).nonzero().tolist() == [
        [0, 2], [0, 3], [1, 3], [2, 0], [3, 0], [3, 1]
    ]  # fmt: skip
    assert key_pattern(3, [0, 2]).tolist() == [[True, False, True]] * 3
    assert relation_pattern(3, [(0, 2), (2, 1)]).nonzero().tolist() == [[0, 2], [2, 1]]
    assert rarest_pattern(IDS, COUNTS).tolist() == [[False, True, False, True, False, False]] * 6


def test_patterns_of_several_texts():
    ids = torch.stack([IDS, IDS.flip(0), IDS.roll(1)])
    for b in range(3):
        assert rarest_pattern(ids, COUNTS)[b].equal(rarest_pattern(ids[b], COUNTS))


@pytest.mark.parametrize("by", ["weight", "largest"])
@pytest.mark.parametrize("family", FAMILIES)
def test_each_detector_scores_1_on_its_planted_map(family, by):
    """`head-pattern-types`: the six families, and a head that reads evenly beside each."""
    even = torch.full((6, 6), 1 / 6, dtype=torch.float64)
    weights = torch.stack([planted(FAMILIES[family]), even])
    scores = pattern_scores(weights, FAMILIES[family], by=by)
    assert scores[0].item() == pytest.approx(1, abs=1e-12)
    assert scores[1] < 1


def test_each_planted_map_gets_its_own_name():
    weights = torch.stack([planted(pattern) for pattern in FAMILIES.values()])
    assert label_heads(weights, FAMILIES) == list(FAMILIES)


def test_scores_by_hand():
    """Rows 1 and 2 can follow; row 0 has no previous token."""
    weights = torch.tensor([[[0.2, 0.3, 0.5], [0.7, 0.1, 0.2], [0.4, 0.3, 0.3]]]).double()
    assert pattern_scores(weights, offset_pattern(3, -1)).item() == pytest.approx((0.7 + 0.3) / 2)
    assert pattern_scores(weights, offset_pattern(3, -1), by="largest").item() == 0.5
    assert pattern_scores(weights, key_pattern(3, [0, 2])).item() == pytest.approx(
        (0.7 + 0.9 + 0.7) / 3
    )


def test_rows_without_a_choice_do_not_count():
    """Under the causal mask the first token can read nothing but the first token."""
    weights = torch.tensor([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]]).double()
    first = key_pattern(3, [0])
    assert pattern_scores(weights, first, causal_mask(3)).item() == pytest.approx(0.25)
    assert pattern_scores(weights, first).item() == pytest.approx(0.5)


def test_scores_of_several_texts_pool_their_rows():
    """Each text has its own pattern; a text without any counts for nothing."""
    weights = random_weights(5, 3, 2, 6, 6)
    pairs = [[(2, 1), (5, 3)], [], [(4, 0)]]
    patterns = torch.stack([relation_pattern(6, some) for some in pairs])
    expected = (weights[0, :, 2, 1] + weights[0, :, 5, 3] + weights[2, :, 4, 0]) / 3
    assert_close(pattern_scores(weights, patterns), expected)


def test_positional_syntactic_and_rare_word_scores():
    """`head-types-voita`: how often the largest weight is where the role wants it."""
    to_previous, to_subject, to_rarest = torch.zeros(3, 6, 6).double()
    to_previous[range(6), [0, 0, 1, 2, 3, 0]] = 1  # four of five
    to_subject[range(6), [0, 0, 1, 0, 0, 3]] = 1
    to_rarest[range(6), [1, 3, 1, 0, 3, 1]] = 1  # five of six
    weights = torch.stack([to_previous, to_subject, to_rarest])
    roles = {
        "positional": (offset_pattern(6, -1), [4 / 5, 2 / 5, 2 / 5]),
        "syntactic": (FAMILIES["subject-verb"], [1 / 2, 1, 1 / 2]),
        "rare token": (rarest_pattern(IDS, COUNTS), [2 / 6, 2 / 6, 5 / 6]),
    }
    for pattern, expected in roles.values():
        found = pattern_scores(weights, pattern, by="largest")
        assert_close(found, torch.tensor(expected, dtype=torch.float64))


@given(seeds, st.integers(1, 3), st.sampled_from(sorted(FAMILIES)), st.booleans())
def test_scores_lie_between_0_and_1(seed, n_heads, family, causal):
    weights = random_weights(seed, 2, n_heads, 6, 6)
    mask = causal_mask(6) if causal else None
    for by in ("weight", "largest"):
        scores = pattern_scores(weights, FAMILIES[family], mask, by=by)
        assert scores.shape == (n_heads,)
        assert (scores >= 0).all()
        assert (scores <= 1 + 1e-12).all()


@given(seeds, st.sampled_from(sorted(FAMILIES)))
def test_a_pattern_and_its_opposite_share_the_attention(seed, family):
    weights = random_weights(seed, 2, 3, 6, 6)
    pattern = FAMILIES[family]
    rows = pattern.any(dim=-1) & ~pattern.all(dim=-1)
    opposite = ~pattern & rows.unsqueeze(-1)
    total = pattern_scores(weights, pattern) + pattern_scores(weights, opposite)
    assert_close(total, torch.ones(3, dtype=torch.float64))


def test_a_wide_pattern_is_not_named_for_being_wide():
    """Reading evenly hits a wide pattern often; the name must say more than that."""
    even = torch.full((1, 6, 6), 1 / 6).double()
    wide = distance_pattern(6, 1)
    assert pattern_scores(even, wide).item() == pytest.approx(5 / 6)
    assert label_heads(even, {"elsewhere": wide}) == [None]
    first = planted(key_pattern(6, [0])).unsqueeze(0)
    families = {"elsewhere": wide, "first": key_pattern(6, [0])}
    assert label_heads(first, families) == ["first"]
    causal = attention_weights(torch.zeros(6, 2), torch.zeros(6, 2), causal_mask(6)).unsqueeze(0)
    assert label_heads(causal, {"first": key_pattern(6, [0])}, causal_mask(6), least=0.01) == [None]


def test_the_least_score_decides():
    weights = torch.tensor([[[1.0, 0.0], [0.75, 0.25]]]).double()
    patterns = {"previous": offset_pattern(2, -1)}
    assert label_heads(weights, patterns, least=0.5) == ["previous"]
    assert label_heads(weights, patterns, least=0.51) == [None]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: offset_pattern(0, 1), "n must be an integer of at least 1; got n=0"),
        (lambda: offset_pattern(3, 0.5), "offset must be an integer; got offset=0.5"),
        (lambda: distance_pattern(3, 0), "least must be an integer of at least 1; got least=0"),
        (lambda: key_pattern(0, []), "n must be an integer of at least 1; got n=0"),
        (lambda: key_pattern(3, [3]), "a position must be less than n; got position=3, n=3"),
        (lambda: relation_pattern(0, []), "n must be an integer of at least 1; got n=0"),
        (lambda: relation_pattern(3, [(0, 3)]), "less than n; got reader=0, read=3, n=3"),
        (lambda: rarest_pattern(torch.tensor([3]), torch.ones(3)), "0 to 2; got smallest=3, larg"),
        (lambda: rarest_pattern(torch.tensor([-1]), torch.ones(3)), "0 to 2; got smallest=-1"),
    ],
)
def test_patterns_refuse(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("weights", "pattern", "mask", "message"),
    [
        ((2, 3, 3), (4, 4), None, r"boolean of shape \(3, 3\) or \(3, 3\); got pattern=\(4, 4\)"),
        ((5, 2, 3, 3), (2, 3, 3), None, r"of shape \(3, 3\) or \(5, 3, 3\); got pattern=\(2, 3"),
        ((2, 3, 3), (3, 3), (4, 3), r"mask must fit scores of shape \(3, 3\); got mask=\(4, 3\)"),
    ],
)
def test_scores_refuse_shapes(weights, pattern, mask, message):
    mask = None if mask is None else torch.ones(mask, dtype=torch.bool)
    with pytest.raises(ValueError, match=message):
        pattern_scores(torch.ones(weights), torch.eye(*pattern[-2:]).bool().expand(pattern), mask)


@pytest.mark.bad_input
def test_scores_refuse():
    weights = torch.ones(2, 3, 3) / 3
    with pytest.raises(ValueError, match="by must be one of 'weight', 'largest'; got by='mean'"):
        pattern_scores(weights, offset_pattern(3, 0), by="mean")
    with pytest.raises(ValueError, match="could do otherwise; got wanted=0, readable=9"):
        pattern_scores(weights, relation_pattern(3, []))
    with pytest.raises(ValueError, match="could do otherwise; got wanted=9, readable=9"):
        pattern_scores(weights, torch.ones(3, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"must be boolean .* dtype=torch.float32"):
        pattern_scores(weights, torch.eye(3))
    with pytest.raises(ValueError, match=r"at least one pattern; got patterns=\[\]"):
        label_heads(weights, {})


# distances


@pytest.mark.parametrize("measure", ["jensen-shannon", "total variation"])
@given(seed=seeds)
def test_distances_are_symmetric_with_zeros_on_the_diagonal(measure, seed):
    """`question-heads-different-concepts`."""
    weights = random_weights(seed, 2, 5, 7, 3)
    found = head_distance(weights, measure=measure)
    assert found.equal(found.mT)
    assert found.diagonal().eq(0).all()
    assert (found >= 0).all()
    assert (found <= 1 + 1e-12).all()
    for a in range(5):  # the triangle: no way round is shorter
        assert (found <= found[:, a : a + 1] + found[a : a + 1] + 1e-12).all()


def test_distances_equal_scipy_s():
    weights = random_weights(7, 2, 3, 5, 11)
    found = head_distance(weights)
    moved = head_distance(weights, measure="total variation")
    for a in range(3):
        for b in range(3):
            rows = [(p, q) for t in range(2) for p, q in zip(weights[t, a], weights[t, b],
                    strict=True)]  # fmt: skip
            js = [scipy.spatial.distance.jensenshannon(p, q, base=2) for p, q in rows]
            tv = [scipy.spatial.distance.cityblock(p, q) / 2 for p, q in rows]
            assert found[a, b].item() == pytest.approx(sum(js) / 10, abs=1e-9)
            assert moved[a, b].item() == pytest.approx(sum(tv) / 10, abs=1e-12)


def test_heads_that_never_meet_are_1_apart_and_equal_heads_0():
    one, other = torch.eye(3).double(), torch.eye(3).double().roll(1, dims=1)
    for measure in ("jensen-shannon", "total variation"):
        found = head_distance(torch.stack([one, other, one]), measure=measure)
        assert_close(found, torch.tensor([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).double())


def test_empty_rows_are_left_out():
    weights = random_weights(9, 3, 5, 7)
    padded = torch.cat([weights, torch.zeros(3, 2, 7).double()], dim=1)
    assert_close(head_distance(padded), head_distance(weights))


@pytest.mark.bad_input
def test_distances_refuse():
    with pytest.raises(ValueError, match="measure must be one of 'jensen-shannon', 'total var"):
        head_distance(torch.ones(2, 3, 3), measure="cosine")
    with pytest.raises(ValueError, match="there must be a row that is not all zeros"):
        head_distance(torch.zeros(2, 3, 3))


# rank


@given(seeds, st.integers(1, 7), st.integers(1, 7), st.sampled_from([1e-200, 1.0, 1e200]))
def test_captured_variance_rises_to_1(seed, m, n, scale):
    """`head-rank-variance`."""
    generator = torch.Generator().manual_seed(seed)
    matrix = scale * torch.randn(3, m, n, dtype=torch.float64, generator=generator)
    found = captured_variance(matrix)
    assert found.shape == (3, min(m, n))
    assert (found.diff(dim=-1) >= 0).all()
    assert_close(found[:, -1], torch.ones(3, dtype=torch.float64), rtol=0, atol=0)
    for b in range(3):
        assert_close(captured_variance(matrix[b]), found[b])


def test_captured_variance_by_hand():
    matrix = torch.diag(torch.tensor([1.0, 3.0, 0.0, 2.0])).double()
    expected = torch.tensor([9 / 14, 13 / 14, 1.0, 1.0], dtype=torch.float64)
    assert_close(captured_variance(matrix), expected)


def test_score_matrices_are_behind_the_scores(x):
    layer = GroupedQueryAttention(15, 3, d_k=2, d_v=5, bias=False).double()
    found = score_matrices(layer)
    query, key = (split_heads(w(x), 3) for w in (layer.W_Q, layer.W_K))
    expected = attention_scores(query, key) * math.sqrt(2)
    assert_close(x.unsqueeze(1) @ found @ x.unsqueeze(1).mT, expected)
    assert torch.linalg.matrix_rank(found).tolist() == [2, 2, 2]  # `representation-subspaces`
    assert_close(found.sum(dim=0), layer.W_Q.weight.mT @ layer.W_K.weight)


def test_heads_in_one_planted_subspace_have_a_concatenation_of_low_rank():
    """Each head is of full rank d_k = 5; together they use no more than the planted 7."""
    layer = GroupedQueryAttention(60, 12, bias=False).double()
    basis = torch.randn(7, 60, dtype=torch.float64)
    with torch.no_grad():
        layer.W_Q.weight.copy_(torch.randn(60, 7, dtype=torch.float64) @ basis)
        layer.W_K.weight.copy_(torch.randn(60, 7, dtype=torch.float64) @ basis)
    heads = captured_variance(score_matrices(layer))
    together = captured_variance(score_matrices(layer).sum(dim=0))
    assert (heads[:, 3] < 1 - 1e-9).all()
    assert (heads[:, 4] > 1 - 1e-12).all()
    assert together[5] < 1 - 1e-9
    assert together[6] > 1 - 1e-12
    free = GroupedQueryAttention(60, 12, bias=False).double()
    assert captured_variance(score_matrices(free).sum(dim=0))[6] < 0.6


@pytest.mark.bad_input
def test_captured_variance_refuses():
    with pytest.raises(ValueError, match="a matrix of zeros has no directions"):
        captured_variance(torch.stack([torch.eye(2), torch.zeros(2, 2)]))
