"""Attention on a graph: masks by hand, a loop over heads and neighbours, the club, bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention import GraphAttention, attend, attention, graph_mask, graph_scores
from softlookup.data import KARATE_EDGES, KARATE_INSTRUCTOR_SIDE, KARATE_PLACES


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture
def x(generator):
    return torch.randn(2, 7, 5, dtype=torch.float64, generator=generator)


@pytest.fixture
def mask():
    """Node 6 has no edge, node 5 one."""
    return graph_mask(7, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5)])


def layer_of(combine="concat", n_heads=3):
    return GraphAttention(5, 11, n_heads, combine=combine).double()


# masks


def test_an_edge_joins_both_ends():
    mask = graph_mask(4, [(0, 2), (3, 2)])
    assert mask.int().tolist() == [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 1], [0, 0, 1, 1]]
    mask = graph_mask(4, [(0, 2), (3, 2)], self_loops=False)
    assert mask.int().tolist() == [[0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]]


def test_an_edge_told_twice_and_a_loop_told_too_change_nothing():
    assert graph_mask(3, [(0, 1), (1, 0), (2, 2)]).equal(graph_mask(3, iter([(0, 1)])))
    assert graph_mask(3, [(1, 1)], self_loops=False).sum().item() == 1


def test_the_complete_graph_has_n_squared_pairs():
    """`attention-as-complete-graph`."""
    edges = [(i, j) for i in range(7) for j in range(i)]
    assert graph_mask(7, edges).all()


# the layer


def by_loops(layer, x, mask):
    """One head, node and neighbour at a time."""
    W = layer.W.weight.reshape(layer.n_heads, -1, x.shape[1])
    heads = []
    for h in range(layer.n_heads):
        a = torch.cat((layer.a_query[h], layer.a_key[h]))
        projected = [W[h] @ node for node in x]
        rows = []
        for i in range(len(x)):
            neighbours = [j for j in range(len(x)) if mask[i, j]]
            e = []
            for j in neighbours:
                s = (a @ torch.cat((projected[i], projected[j]))).item()
                e.append(math.exp(s if s > 0 else 0.2 * s))
            row = torch.zeros_like(projected[i])
            for e_j, j in zip(e, neighbours, strict=True):
                row = row + e_j / sum(e) * projected[j]
            rows.append(row)
        heads.append(torch.stack(rows))
    if layer.combine == "mean":
        return sum(heads) / len(heads)
    return torch.cat(heads, dim=1)


@pytest.mark.parametrize("combine", ["concat", "mean"])
def test_layer_equals_a_loop(x, mask, combine):
    layer = layer_of(combine)
    out = layer(x, mask)
    for b in range(2):
        assert_close(out[b], by_loops(layer, x[b], mask))


def test_edges_may_have_a_direction(x):
    """Node 0 reads nothing, but all others read it; node 6 is read by nobody."""
    mask = torch.ones(7, 7, dtype=torch.bool).tril(-1)
    layer = layer_of()
    assert_close(layer(x, mask)[1], by_loops(layer, x[1], mask))


def test_the_slope_reaches_the_scores(x, mask):
    steep, linear = layer_of(), GraphAttention(5, 11, 3, slope=1.0).double()
    linear.load_state_dict(steep.state_dict())
    heads = linear.W(x).unflatten(-1, (3, 11)).transpose(1, 2)
    scores = (heads @ linear.a_query[..., None]) + (heads @ linear.a_key[..., None]).mT
    expected = attend(scores, heads, mask).transpose(1, 2).flatten(-2)
    assert_close(linear(x, mask), expected)
    assert (linear(x, mask) - steep(x, mask)).abs().max() > 1e-3


def test_full_graph_is_attention_without_a_mask(x):
    """`graph-attention`: softmax of the scores times the values, over all nodes."""
    layer = layer_of(n_heads=1)
    full = graph_mask(7, [(i, j) for i in range(7) for j in range(i)])
    projected = layer.W(x)
    scores = graph_scores(projected, projected, layer.a_query[0], layer.a_key[0])
    expected = attend(scores, projected)
    assert_close(layer(x, full), expected)
    assert_close(layer(x), expected)
    assert_close(attention(x, x, x, full), attention(x, x, x))


def test_an_isolated_node_attends_only_to_itself_with_weight_one(x, mask):
    """`graph-attention`."""
    layer, seen = layer_of(), []
    layer.weights.register_forward_hook(lambda module, inputs, output: seen.append(output))
    out = layer(x, mask)
    alone = torch.zeros(2, 3, 7, dtype=torch.float64)
    alone[..., 6] = 1.0
    assert seen[0][..., 6, :].equal(alone)
    assert_close(out[:, 6], layer.W(x[:, 6]))


def test_probe_sees_the_weights_of_each_head(x, mask):
    layer, seen = layer_of(), []
    layer.weights.register_forward_hook(lambda module, inputs, output: seen.append(output))
    out = layer(x, mask)
    (weights,) = seen
    assert weights.shape == (2, 3, 7, 7)
    assert_close(weights.sum(dim=-1), torch.ones(2, 3, 7, dtype=torch.float64))
    assert weights[:, :, ~mask].eq(0).all()
    heads = layer.W(x).unflatten(-1, (3, 11))
    for h in range(3):
        assert_close(out[..., 11 * h : 11 * (h + 1)], weights[:, h] @ heads[..., h, :])


def test_without_loops_a_node_without_edges_gets_zeros(x):
    mask = graph_mask(7, [(0, 1)], self_loops=False)
    out = layer_of()(x, mask)
    assert out[:, 2:].eq(0).all()
    assert (out[:, :2] != 0).any(dim=-1).all()


@pytest.mark.parametrize("content", [math.nan, math.inf, 1e30])
def test_what_no_node_may_read_has_no_influence(x, content):
    """Neither on the outputs nor on a gradient, nor has a node that may read nothing."""
    mask = graph_mask(7, [(0, 1), (1, 2), (2, 4)], self_loops=False)  # 3, 5 and 6 stand apart
    layer, results = layer_of(), []
    for filler in (0.0, content):
        filled = x.clone()
        filled[:, [3, 5, 6]] = filler
        filled.requires_grad_()
        out = layer(filled, mask)
        results.append(
            (out, *torch.autograd.grad(out.square().sum(), (filled, *layer.parameters())))
        )
    assert_close(results[1], results[0], rtol=0, atol=0)
    assert all(part.isfinite().all() for part in results[1])


@pytest.mark.parametrize("combine", ["concat", "mean"])
def test_gradients_are_finite_differences(x, mask, combine):
    layer = GraphAttention(5, 2, 3, combine=combine).double()
    names = list(dict(layer.named_parameters()))

    def forward(x, *parameters):
        given = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(layer, given, (x, mask))

    given = (x.clone().requires_grad_(), *layer.parameters())
    assert torch.autograd.gradcheck(forward, given)
    assert torch.autograd.gradgradcheck(forward, given)


def test_every_weight_gets_a_gradient(x, mask):
    layer = layer_of()
    layer(x, mask).square().sum().backward()
    assert all((parameter.grad != 0).any() for parameter in layer.parameters())


def test_shapes_of_the_weights():
    shapes = {name: tuple(p.shape) for name, p in GraphAttention(5, 11, 3).named_parameters()}
    assert shapes == {"W.weight": (33, 5), "a_query": (3, 11), "a_key": (3, 11)}


def test_one_head_unless_more_are_asked_for():
    assert GraphAttention(5, 11)(torch.zeros(2, 5)).shape == (2, 11)


def test_the_halves_of_a_begin_within_one_over_the_root_of_the_width():
    layer = GraphAttention(5, 400, 3)
    for half in layer.a_query, layer.a_key:
        assert_close(
            half.detach().aminmax(), (torch.tensor(-0.05), torch.tensor(0.05)), rtol=0.05, atol=0
        )


def test_no_node_and_no_batch():
    layer = GraphAttention(5, 11, 3)
    for mask in None, torch.ones(0, 0, dtype=torch.bool):
        assert layer(torch.zeros(0, 5), mask).shape == (0, 33)
    assert layer(torch.zeros(0, 7, 5), graph_mask(7, [])).shape == (0, 7, 33)


# the karate club


def test_the_club_has_zachary_s_members_and_ties():
    degrees = [16, 9, 10, 6, 3, 4, 4, 4, 5, 2, 3, 1, 2, 5, 2, 2, 2, 2, 2, 3, 2, 2, 2, 5, 3, 3, 2, 4,
               3, 4, 4, 6, 12, 17]  # fmt: skip
    assert graph_mask(34, KARATE_EDGES, self_loops=False).sum(dim=1).tolist() == degrees
    assert len(set(KARATE_EDGES)) == len(KARATE_EDGES) == 78
    assert sum(degrees) == 2 * 78
    assert all(i < j for i, j in KARATE_EDGES)


def test_the_club_holds_together_and_split_in_halves():
    mask = graph_mask(34, KARATE_EDGES)
    reached = mask[0]
    for _ in range(4):  # five steps join any two members
        reached = (mask & reached).any(dim=1)
    assert reached.all()
    assert 0 in KARATE_INSTRUCTOR_SIDE
    assert 33 not in KARATE_INSTRUCTOR_SIDE
    assert len(set(KARATE_INSTRUCTOR_SIDE)) == 17
    side = torch.zeros(34, dtype=torch.bool)
    side[list(KARATE_INSTRUCTOR_SIDE)] = True
    across = [edge for edge in KARATE_EDGES if side[edge[0]] != side[edge[1]]]
    assert len(across) == 11


def test_the_places_of_the_club_are_as_far_apart_as_the_steps():
    mask, spot = graph_mask(34, KARATE_EDGES), torch.tensor(KARATE_PLACES)
    walks = [torch.matrix_power(mask.double(), k) for k in range(6)]
    steps = sum((walk == 0).double() for walk in walks)[*torch.triu_indices(34, 34, 1)]
    distances = torch.pdist(spot.double())
    assert distances.min() > 0.2  # no two members lie on each other
    assert torch.corrcoef(torch.stack([distances, steps]))[0, 1] > 0.85


# bad input


@pytest.mark.parametrize("edge", [(0, 3), (3, 0), (-1, 0), (0, -1)])
def test_an_edge_joins_two_nodes(edge):
    with pytest.raises(ValueError, match=r"edges must be pairs of nodes, .* got edge=\("):
        graph_mask(3, [edge])


def test_each_head_has_its_own_halves_of_a():
    query, key = torch.zeros(2, 5, 3), torch.zeros(2, 7, 3)
    with pytest.raises(ValueError, match=r"leading axes that fit; .* a_key=\(4, 3\)"):
        graph_scores(query, key, torch.zeros(3), torch.zeros(4, 3))
