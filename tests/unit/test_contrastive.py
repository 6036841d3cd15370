"""The contrastive loss and recall@k: by hand, by loops, at their edges, on bad input."""

import math
import re

import pytest
import torch
from torch.testing import assert_close

from softlookup.words import contrastive_loss, recall_at_k

F64 = torch.float64


def loss_by_loop(queries, documents, temperature):
    total = 0.0
    for i, q in enumerate(queries.tolist()):
        scores = []
        for d in documents.tolist():
            dot = sum(a * b for a, b in zip(q, d, strict=True))
            scores.append(dot / math.hypot(*q) / math.hypot(*d) / temperature)
        total -= math.log(math.exp(scores[i]) / sum(math.exp(s) for s in scores))
    return total / len(queries)


def test_two_right_angles_by_hand():
    right = torch.eye(2, dtype=F64)
    for temperature in (1.0, 0.5, 0.1):
        expected = math.log(1 + math.exp(-1 / temperature))
        found = contrastive_loss(right, right, temperature)
        assert_close(found, torch.tensor(expected, dtype=F64))


@pytest.mark.parametrize("temperature", [0.05, 0.3, 1.0, 7.0])
def test_equals_a_loop(temperature, generator):
    queries, documents = torch.randn(2, 7, 5, dtype=F64, generator=generator)
    expected = torch.tensor(loss_by_loop(queries, documents, temperature), dtype=F64)
    assert_close(contrastive_loss(queries, documents, temperature), expected)


def test_a_query_finds_its_document_among_those_of_other_queries(generator):
    """The rows of the scores are queries: the loss of queries and documents exchanged differs."""
    queries, documents = torch.randn(2, 7, 5, dtype=F64, generator=generator)
    there, back = contrastive_loss(queries, documents), contrastive_loss(documents, queries)
    assert abs(there - back) > 1e-3


def test_lengths_do_not_matter_and_shared_order_does_not(generator):
    queries, documents = torch.randn(2, 7, 5, dtype=F64, generator=generator)
    order = torch.randperm(7, generator=generator)
    loss = contrastive_loss(queries, documents)
    assert_close(contrastive_loss(3 * queries, documents / 11), loss)
    assert_close(contrastive_loss(queries[order], documents[order]), loss)


def test_a_document_that_stands_in_the_batch_twice_costs_log_two():
    queries = torch.eye(3, dtype=F64)[[0, 0]]
    found = contrastive_loss(queries, queries, 0.01)
    assert_close(found, torch.tensor(math.log(2), dtype=F64))


@pytest.mark.parametrize(
    ("queries", "documents", "temperature", "message"),
    [
        (torch.ones(2, 3), torch.ones(3, 3), 1.0, r"documents.*\(3, 3\)"),
        (torch.zeros(0, 3), torch.zeros(0, 3), 1.0, "queries"),
        (
            torch.eye(2),
            torch.eye(2),
            0.0,
            "temperature must be positive and finite",
        ),
        (torch.eye(2) * math.nan, torch.eye(2), 1.0, "queries must be finite"),
    ],
)
def test_the_loss_refuses(queries, documents, temperature, message):
    with pytest.raises(ValueError, match=message):
        contrastive_loss(queries, documents, temperature)


def test_recall_by_hand():
    scores = torch.tensor([[0.9, 0.1, 0.0, 0.2], [0.5, 0.4, 0.3, 0.6], [0.1, 0.2, 0.3, 0.0]])
    assert [recall_at_k(scores, k) for k in (1, 2, 3, 4)] == [2 / 3, 2 / 3, 1.0, 1.0]


def test_recall_equals_a_loop(generator):
    scores = torch.randn(13, 17, dtype=F64, generator=generator)
    for k in (1, 3, 5, 17):
        found = 0
        for i, row in enumerate(scores.tolist()):
            best = sorted(range(17), key=lambda j, row=row: -row[j])[:k]
            found += i in best
        assert recall_at_k(scores, k) == found / 13


def test_a_tie_counts_against_the_document():
    assert recall_at_k(torch.zeros(2, 3), 2) == 0.0
    assert recall_at_k(torch.zeros(2, 3), 3) == 1.0


@pytest.mark.parametrize(
    ("scores", "k", "message"),
    [
        (torch.zeros(3, 2), 1, "each query needs a document of its own; got queries=3"),
        (torch.zeros(2, 3), 4, re.escape("k must be at most the number of documents; got k=4")),
        (torch.zeros(2, 3), 0, "k must be"),
        (torch.zeros(0, 3), 1, "scores"),
        (torch.full((2, 2), math.nan), 1, "scores must be finite"),
    ],
)
def test_recall_refuses(scores, k, message):
    with pytest.raises(ValueError, match=message):
        recall_at_k(scores, k)
