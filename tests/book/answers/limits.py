"""Answers to the exercises of chapter 15: right, and wrong with the words that they get."""

import itertools
import math

import numpy as np
import torch

from softlookup.attention import (
    attention_multiplications,
    attention_weights,
    critical_path,
    path_lengths,
    projection_multiplications,
    recurrent_multiplications,
)
from softlookup.exercises.limits import (
    check_counter_examples,
    check_crossover,
    check_kind,
    check_longest_path,
    check_third_key,
)

RIGHT, WRONG = {}, {}


def orders_of(X, count=100, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randperm(len(X), generator=generator) for _ in range(count)]


def differs(first, second):
    return not torch.allclose(first, second, rtol=0, atol=1e-9)


# A hundred orders


def book_counter_examples(layer, X):
    return [p for p in orders_of(X) if differs(layer(X[p]), layer(X)[p])]


def matrix_counter_examples(layer, X):
    """Another way: permutation matrices, one call less, plain lists."""
    found, Z = [], layer(X)
    for p in orders_of(X, seed=2):
        P = torch.eye(len(X), dtype=X.dtype)[p]
        if (layer(P @ X) - P @ Z).abs().max() > 1e-6:
            found.append(p.tolist())
    return found


def in_place_orders(layer, X):
    found = []
    for p in orders_of(X):
        before = layer(X)[p]
        X[:] = X[p]
        if differs(layer(X), before):
            found.append(p)
    return found


WRONG[check_counter_examples] = {
    "blank": (lambda layer, X: ..., "Nothing to check so far"),
    "invariance": (
        lambda layer, X: [p for p in orders_of(X) if differs(layer(X[p]), layer(X))],
        "Compare with layer(X)[p]",
    ),
    "exact": (
        lambda layer, X: [p for p in orders_of(X) if not layer(X[p]).equal(layer(X)[p])],
        "allow for rounding",
    ),
    "the inverse": (
        lambda layer, X: [p for p in orders_of(X) if differs(layer(X[p]), layer(X)[p.argsort()])],
        "Compare with layer(X)[p]",
    ),
    "columns": (
        lambda layer, X: [p for p in orders_of(X.mT) if differs(layer(X[:, p]), layer(X)[:, p])],
        "An order holds each place from 0 to 6 once",
    ),
    "one order": (
        lambda layer, X: [p for p in orders_of(X, 1) if differs(layer(X[p]), layer(X)[p])],
        "too few for 100 orders",
    ),
    "nothing tried": (lambda layer, X: [], "You called the layer 0 times"),
    "nothing found": (
        lambda layer, X: [layer(X[p]) for p in orders_of(X)][:0],
        "You found no counter-example for causal",
    ),
    "all of them": (lambda layer, X: orders_of(X), "Compare with layer(X)[p]"),
    "those that agree": (
        lambda layer, X: [p for p in orders_of(X) if not differs(layer(X[p]), layer(X)[p])],
        "both sides agree",
    ),
    "all if one breaks": (
        lambda layer, X: (
            [torch.arange(7), *orders_of(X)] if book_counter_examples(layer, X) else []
        ),
        "[0, 1, 2, 3, 4, 5, 6] is no counter-example",
    ),
    "a flag": (lambda layer, X: len(book_counter_examples(layer, X)) > 0, "Return a list"),
    "words": (lambda layer, X: "none", "Return a list of orders"),
    "from 1": (
        lambda layer, X: [p + 1 for p in book_counter_examples(layer, X)],
        "each place from 0 to 6 once",
    ),
    "words inside": (lambda layer, X: ["abc"], "each place from 0 to 6 once"),
    "in place": (in_place_orders, "changed X itself"),
    "an error": (lambda layer, X: layer(X[:, :2]), "RuntimeError"),
}


RIGHT[check_counter_examples] = [(book_counter_examples,), (matrix_counter_examples,)]


# Invariant or equivariant


def book_kind(f, X, orders=None):
    orders = orders_of(X, 20) if orders is None else orders
    if all(torch.allclose(f(X[p]), f(X)) for p in orders):
        return "invariant"
    moves = len(f(X)) == len(X) and all(torch.allclose(f(X[p]), f(X)[p]) for p in orders)
    return "equivariant" if moves else "neither"


def swap_kind(f, X):
    """Another way: every swap of neighbours, and one turn around."""
    n = len(X)
    swaps = [[*range(i), i + 1, i, *range(i + 2, n)] for i in range(n - 1)]
    return book_kind(f, X, [*swaps, [*range(1, n), 0]])


WRONG[check_kind] = {
    "blank": (..., ..., "Nothing to check so far: choose a word"),
    "blank function": ("invariant", lambda f, X: ..., "return one of three words"),
    "as on the slide": ("equivariant", book_kind, "Pᵀ P is the identity"),
    "neither": ("neither", book_kind, "Pᵀ P stands in the middle"),
    "another word": ("same", book_kind, "The word is one of invariant, equivariant, neither"),
    "another answer": ("invariant", lambda f, X: True, "For self-attention you return True"),
    "the order as it was": (
        "invariant",
        lambda f, X: book_kind(f, X, [torch.arange(7)]),
        "Self-attention is equivariant; you say invariant",
    ),
    "the inverse": (
        "invariant",
        lambda f, X: (
            "equivariant"
            if f(X).shape == X.shape
            and all(torch.allclose(f(X[p]), f(X)[p.argsort()]) for p in orders_of(X))
            else "invariant"
        ),
        "not with the inverse order",
    ),
    "a turn by half": (
        "invariant",
        lambda f, X: book_kind(f, X, [torch.arange(6, -1, -1)]),
        "The tokens in reverse is neither; you say equivariant",
    ),
    "rows that must be as many": (
        "invariant",
        lambda f, X: (
            "equivariant"
            if all(torch.allclose(f(X[p]), f(X)[p]) for p in orders_of(X))
            else "invariant"
        ),
        "IndexError",
    ),
    "never invariant": (
        "invariant",
        lambda f, X: "equivariant" if book_kind(f, X) == "equivariant" else "neither",
        "Compare with f(X) as it stands",
    ),
    "one swap": (
        "invariant",
        lambda f, X: book_kind(f, X, [[0, 1, 2, 3, 4, 6, 5]]),
        "The first row alone is neither; you say invariant. One order can agree by luck",
    ),
    "in place": (
        "invariant",
        lambda f, X: book_kind(f, X.copy_(X.flip(0))),
        "changed X itself",
    ),
}


RIGHT[check_kind] = [("invariant", solution) for solution in [book_kind, swap_kind]]


# A third key


E = math.e
Q, KEYS = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
BEFORE = attention_weights(Q, KEYS[:2], scale=False)[0, 0]
AFTER = attention_weights(Q, KEYS, scale=False)[0, 0]
RIGHT[check_third_key] = [
    (0.731, 0.245, (-10, 0)),
    (E / (E + 1), E / (E + 1 + E**2), np.array([-7.5, 3.0])),
    (BEFORE, AFTER, torch.tensor([-20.0, 100.0])),
]
WRONG[check_third_key] = [
    (..., ..., ..., "Nothing to check so far: give the weight before"),
    (0.731, ..., ..., "Nothing to check so far: give the weight after"),
    (0.731, 0.245, ..., "Nothing to check so far: choose a third key"),
    (0.670, 0.245, (-10, 0), "These scores have no scale"),
    (0.269, 0.245, (-10, 0), "the second key's weight"),
    (0.5, 0.245, (-10, 0), "The weight before is not 0.5."),
    ("most", 0.245, (-10, 0), "should be one number"),
    (0.731, 0.284, (-10, 0), "These scores have no scale"),
    (0.731, 0.090, (-10, 0), "the second key's weight"),
    (0.731, 0.665, (-10, 0), "the third key's weight"),
    (0.731, 0.731, (-10, 0), "stands in the denominator"),
    (0.731, 0.245, (0, 0), "A key of score 0 still counts"),
    (0.731, 0.245, (0, 9), "A key of score 0 still counts"),
    (0.731, 0.245, (-2, 0), "With this key the weight is 0.705"),
    (0.731, 0.245, (2, 0), "With this key the weight is 0.245"),
    (0.731, 0.245, (-math.inf, 0), "two finite numbers"),
    (0.731, 0.245, (math.nan, 0), "NaN"),
    (0.731, 0.245, -10, "should have shape (2,)"),
]


# Where the core gets dearer


def smallest(cost, d=512):
    return next(n for n in itertools.count(1) if attention_multiplications(n, n, d, d) > cost(n, d))


CORE = smallest(lambda n, d: recurrent_multiplications(n, d, d))
PROJECTIONS = smallest(lambda n, d: projection_multiplications(n, n, d))
RIGHT[check_crossover] = [(513, 1025), (CORE, torch.tensor([PROJECTIONS]))]
WRONG[check_crossover] = [
    (
        ...,
        ...,
        "Nothing to check so far: give the smallest n at which the core costs more than",
    ),
    (513, ..., "Nothing to check so far: give the smallest n"),
    (512, 1025, "At n = 512 both cost the same"),
    (513, 1024, "At n = 1024 both cost the same"),
    (257, 1025, "the core needs 67,634,176 multiplications, the recurrence 134,742,016"),
    (1, 1025, "still more"),
    (514, 1025, "At n = 513 the core costs more than the recurrence, too"),
    (513, 2049, "At n = 2048 the core costs more than its projections, too"),
    (512.5, 1025, "a whole number"),
    (0, 1025, "a whole number"),
    (math.inf, 1025, "a whole number"),
    ("many", 1025, "should be one number"),
]


# The longest way


def book_longest_path(graph, n):
    reached, longest = torch.eye(2 * n, dtype=torch.bool), 0
    seen = reached.clone()
    for length in range(1, 2 * n):
        reached = (graph.float() @ reached.float() > 0) & ~seen
        seen |= reached
        if reached[n:, :n].any():
            longest = length
    return longest


def queue_longest_path(graph, n):
    """Another way: a breadth-first search from each input, with plain lists."""
    readers = [graph[:, j].nonzero().flatten().tolist() for j in range(2 * n)]
    longest = 0
    for start in range(n):
        steps, queue = {start: 0}, [start]
        for node in queue:
            for after in readers[node]:
                if after not in steps:
                    steps[after] = steps[node] + 1
                    queue.append(after)
        longest = max(longest, *(steps.get(i, 0) for i in range(n, 2 * n)))
    return torch.tensor(longest)


def unreached_too(graph, n):
    lengths = path_lengths(graph)[n:, :n].double()
    return lengths.masked_fill(lengths < 0, math.inf).max()


WRONG[check_longest_path] = {
    "blank": (..., "Nothing to check so far"),
    "blank function": (lambda graph, n: ..., "Nothing to check so far"),
    "nodes": (lambda graph, n: book_longest_path(graph, n) + 1, "Count edges, not nodes"),
    "between states": (
        lambda graph, n: path_lengths(graph)[n:, n:].max(),
        "The edge from an input to its state counts",
    ),
    "the other way": (
        lambda graph, n: path_lengths(graph.mT)[n:, :n].clamp(min=0).max(),
        "leads from j to i",
    ),
    "no path": (unreached_too, "some pairs have no path"),
    "the longest chain": (
        lambda graph, n: critical_path(graph),
        "with short cuts the longest way has 6 edges; you say 12.",
    ),
    "always n": (lambda graph, n: n, "In attention over 100 tokens the longest way has 1 edges"),
    "one edge": (lambda graph, n: 1, "over 100 tokens the longest way has 100 edges; you say 1."),
    "all nodes": (lambda graph, n: path_lengths(graph).max(), "from an input to an output count"),
    "no number": (lambda graph, n: "long", "should be one number"),
    "a matrix": (lambda graph, n: path_lengths(graph), "should have shape (1,)"),
}


RIGHT[check_longest_path] = [(book_longest_path,), (queue_longest_path,)]
