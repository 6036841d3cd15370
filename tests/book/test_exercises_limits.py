"""The exercises of chapter 12: blank, solved in several ways, and the known wrong answers."""

import itertools
import math

import numpy as np
import pytest
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


def assert_wrong(verdict, advice):
    assert not verdict
    assert advice in verdict.message, verdict.message


def assert_right(verdict):
    assert verdict, verdict.message


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


COUNTER_EXAMPLE_SLIPS = {
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


@pytest.mark.parametrize("solution", [book_counter_examples, matrix_counter_examples])
def test_counter_examples_accepts_right_solutions(solution):
    assert_right(check_counter_examples(solution))


@pytest.mark.parametrize("slip", COUNTER_EXAMPLE_SLIPS)
def test_counter_examples_names_the_slip(slip):
    answer, advice = COUNTER_EXAMPLE_SLIPS[slip]
    assert_wrong(check_counter_examples(answer), advice)


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


KIND_SLIPS = {
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


@pytest.mark.parametrize("solution", [book_kind, swap_kind])
def test_kind_accepts_right_solutions(solution):
    assert_right(check_kind("invariant", solution))


@pytest.mark.parametrize("slip", KIND_SLIPS)
def test_kind_names_the_slip(slip):
    word, answer, advice = KIND_SLIPS[slip]
    assert_wrong(check_kind(word, answer), advice)


# A third key


def test_third_key_accepts_right_solutions():
    assert_right(check_third_key(0.731, 0.245, (-10, 0)))
    e = math.e
    assert_right(check_third_key(e / (e + 1), e / (e + 1 + e**2), np.array([-7.5, 3.0])))
    q, keys = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    before = attention_weights(q, keys[:2], scale=False)[0, 0]
    after = attention_weights(q, keys, scale=False)[0, 0]
    assert_right(check_third_key(before, after, torch.tensor([-20.0, 100.0])))


@pytest.mark.parametrize(
    ("before", "after", "key", "advice"),
    [
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
    ],
)
def test_wrong_third_keys(before, after, key, advice):
    assert_wrong(check_third_key(before, after, key), advice)


# Where the core gets dearer


def smallest(cost, d=512):
    return next(n for n in itertools.count(1) if attention_multiplications(n, n, d, d) > cost(n, d))


def test_crossover_accepts_right_solutions():
    assert_right(check_crossover(513, 1025))
    core = smallest(lambda n, d: recurrent_multiplications(n, d, d))
    projections = smallest(lambda n, d: projection_multiplications(n, n, d))
    assert_right(check_crossover(core, torch.tensor([projections])))


@pytest.mark.parametrize(
    ("core", "projections", "advice"),
    [
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
    ],
)
def test_wrong_crossovers(core, projections, advice):
    assert_wrong(check_crossover(core, projections), advice)


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


LONGEST_SLIPS = {
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
    "no number": (lambda graph, n: "long", "should be one number"),
    "a matrix": (lambda graph, n: path_lengths(graph), "should have shape (1,)"),
}


@pytest.mark.parametrize("solution", [book_longest_path, queue_longest_path])
def test_longest_path_accepts_right_solutions(solution):
    assert_right(check_longest_path(solution))


@pytest.mark.parametrize("slip", LONGEST_SLIPS)
def test_longest_path_names_the_slip(slip):
    answer, advice = LONGEST_SLIPS[slip]
    assert_wrong(check_longest_path(answer), advice)
