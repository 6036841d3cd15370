"""Labels that spread along a graph: the iteration itself, islands, and bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.words import label_spreading, similarity_graph

F64 = torch.float64


def tensor(values):
    return torch.tensor(values, dtype=F64)


def spread_by_loop(graph, labels, alpha, n_steps=3000):
    """The rule as it is told: again and again, each point takes from its neighbours."""
    n, classes = len(labels), max(labels) + 1
    ties = [[graph[i][j] if i != j else 0.0 for j in range(n)] for i in range(n)]
    degree = [sum(row) for row in ties]
    known = [[float(label == c) for c in range(classes)] for label in labels]
    mass = [row.copy() for row in known]
    for _ in range(n_steps):
        mass = [
            [
                alpha * sum(ties[i][j] / math.sqrt(degree[i] * degree[j]) * mass[j][c]
                            for j in range(n) if ties[i][j])
                + (1 - alpha) * known[i][c]
                for c in range(classes)
            ]
            for i in range(n)
        ]  # fmt: skip
    return [[value / (sum(row) or 1) for value in row] for row in mass]


@pytest.mark.parametrize("alpha", [0.2, 0.9])
def test_the_closed_form_is_where_the_rule_comes_to_rest(alpha, generator):
    x = torch.randn(7, 2, dtype=F64, generator=generator)
    graph = similarity_graph(x, width=0.8)
    labels = torch.tensor([1, -1, -1, 0, -1, 2, -1])
    expected = spread_by_loop(graph.tolist(), labels.tolist(), alpha, n_steps=400)
    assert_close(label_spreading(graph, labels, alpha=alpha), tensor(expected))


def test_two_half_moons_are_told_apart_by_one_label_each():
    """Half moons bend around each other: nearness to the labelled point fails, the graph not."""
    t = torch.linspace(0, math.pi, 41, dtype=F64)
    upper = torch.stack([t.cos(), t.sin()], dim=1)
    lower = torch.stack([1 - t.cos(), 0.4 - t.sin()], dim=1)
    x, truth = torch.cat([upper, lower]), torch.arange(2).repeat_interleave(41)
    labels = torch.full((82,), -1)
    labels[0], labels[-1] = 0, 1
    shares = label_spreading(similarity_graph(x, width=0.08), labels, alpha=0.99)
    assert torch.equal(shares.argmax(dim=1), truth)
    nearest_label = torch.cdist(x, x[[0, -1]]).argmin(dim=1)
    assert (nearest_label == truth).double().mean() < 0.9


def test_an_island_without_a_label_gets_zeros_not_nan():
    graph = torch.zeros(5, 5, dtype=F64)
    graph[0, 1] = graph[1, 0] = graph[2, 3] = graph[3, 2] = 1
    shares = label_spreading(graph, torch.tensor([0, -1, -1, -1, 1]))
    assert shares.tolist() == [[1, 0], [1, 0], [0, 0], [0, 0], [0, 1]]


def test_the_diagonal_is_not_used(generator):
    x = torch.randn(5, 2, dtype=F64, generator=generator)
    graph, labels = similarity_graph(x, width=1.0), torch.tensor([0, -1, 1, -1, -1])
    with_self = graph + 7 * torch.eye(5, dtype=F64)
    assert_close(label_spreading(with_self, labels), label_spreading(graph, labels))
    assert with_self.diagonal().tolist() == [7.0] * 5


def test_half_precision_spreads_the_same_labels():
    chain = tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]])
    labels = torch.tensor([0, -1, 1])
    found = label_spreading(chain.half(), labels)
    assert found.dtype == torch.float16
    assert_close(found.double(), label_spreading(chain, labels), atol=1e-2, rtol=0)


def test_ties_by_hand():
    graph = similarity_graph(tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]]), width=5.0)
    by_hand = math.exp(-25 / 50)
    assert_close(graph, tensor([[0, by_hand, 1], [by_hand, 0, by_hand], [1, by_hand, 0]]))


def test_label_spreading_refuses_what_is_no_graph():
    graph, labels = torch.ones(3, 3), torch.tensor([0, -1, -1])
    with pytest.raises(ValueError, match="alpha must be more than 0 and less than 1; got alpha=1"):
        label_spreading(graph, labels, alpha=1.0)
    with pytest.raises(ValueError, match="alpha must be more than 0 and less than 1; got alpha=0"):
        label_spreading(graph, labels, alpha=0.0)
    with pytest.raises(ValueError, match=r"at least one label must be known; got labels=\[-1"):
        label_spreading(graph, torch.tensor([-1, -1, -1]))
    with pytest.raises(ValueError, match="labels must be from -1 to 1000000; got sm"):
        label_spreading(graph, torch.tensor([0, -2, 1]))
    one_way = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match=r"graph must be symmetric; got largest_difference=1\.0"):
        label_spreading(one_way, labels)
    for wrong in -1.0, math.nan, math.inf:
        with pytest.raises(ValueError, match="graph must be at least 0 and finite"):
            label_spreading(torch.full((3, 3), wrong), labels)


def test_a_graph_has_a_width():
    for width in 0.0, -1.0, math.inf, math.nan:
        with pytest.raises(ValueError, match="width must be positive and finite; got width="):
            similarity_graph(torch.ones(2, 2), width=width)
    with pytest.raises(ValueError, match="x must be finite"):
        similarity_graph(torch.tensor([[math.nan]]), width=1.0)
