"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import itertools
import math

import numpy as np
import torch

from softlookup.attention import attention_multiplications, projection_multiplications
from softlookup.exercises.limits import (
    check_counter_examples,
    check_crossover,
    check_hops,
    check_kind,
    check_place,
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
    "blank": (..., ..., "Nothing to check so far: choose a mask"),
    "blank function": ("window", lambda f, X: ..., "return one of three words"),
    "causal": ("causal", book_kind, "Turn the triangle around"),
    "both": ("both", book_kind, "Not both"),
    "neither": ("neither", book_kind, "its band lies where it was"),
    "another word": ("invariant", book_kind, "The answer is causal, window, both or neither"),
    "a number": (1, book_kind, "The answer is causal, window, both or neither"),
    "another answer": ("window", lambda f, X: True, "For self-attention you return True"),
    "the order as it was": (
        "window",
        lambda f, X: book_kind(f, X, [torch.arange(7)]),
        "Self-attention is equivariant; you say invariant",
    ),
    "the inverse": (
        "window",
        lambda f, X: (
            "equivariant"
            if f(X).shape == X.shape
            and all(torch.allclose(f(X[p]), f(X)[p.argsort()]) for p in orders_of(X))
            else "invariant"
        ),
        "not with the inverse order",
    ),
    "a turn by half": (
        "window",
        lambda f, X: book_kind(f, X, [torch.arange(6, -1, -1)]),
        "The tokens in reverse is neither; you say equivariant",
    ),
    "rows that must be as many": (
        "window",
        lambda f, X: (
            "equivariant"
            if all(torch.allclose(f(X[p]), f(X)[p]) for p in orders_of(X))
            else "invariant"
        ),
        "Attention whose context is X may have fewer rows than X",
    ),
    "never invariant": (
        "window",
        lambda f, X: "equivariant" if book_kind(f, X) == "equivariant" else "neither",
        "Compare with f(X) as it stands",
    ),
    "one swap": (
        "window",
        lambda f, X: book_kind(f, X, [[0, 1, 2, 3, 4, 6, 5]]),
        "The first row alone is neither; you say invariant. One order can agree by luck",
    ),
    "in place": (
        "window",
        lambda f, X: book_kind(f, X.copy_(X.flip(0))),
        "changed X itself",
    ),
}


RIGHT[check_kind] = [("window", solution) for solution in [book_kind, swap_kind]]


# A third key


HALF = math.log(math.e - 1)
RIGHT[check_third_key] = [
    ((HALF, 0), (-10, 0)),
    (np.array([0.541, -3.0]), np.array([-7.5, 3.0])),
    (torch.tensor([HALF, 5.0]), torch.tensor([-20.0, 100.0])),
]
WRONG[check_third_key] = [
    (..., ..., "Nothing to check so far: choose a third key that leaves"),
    ((HALF, 0), ..., "Nothing to check so far: choose a third key that hardly"),
    ((math.e - 1, 0), (-10, 0), "take the logarithm"),
    ((1, 0), (-10, 0), "gets as much as the first"),
    ((0, 0.541), (-10, 0), "A key of score 0 still counts"),
    ((math.log(math.e + 1), 0), (-10, 0), "as much as the first alone"),
    ((HALF * 2**0.5, 0), (-10, 0), "no scale"),
    ((2, 0), (-10, 0), "the first one keeps 0.245"),
    ((-math.inf, 0), (-10, 0), "two finite numbers"),
    ((math.nan, 0), (-10, 0), "NaN"),
    (HALF, (-10, 0), "should have shape (2,)"),
    ((HALF, 0), (0, 0), "A key of score 0 still counts"),
    ((HALF, 0), (0, 9), "A key of score 0 still counts"),
    ((HALF, 0), (-2, 0), "With this key the weight is 0.705"),
    ((HALF, 0), (-math.inf, 0), "two finite numbers"),
    ((HALF, 0), "far", "should be numbers"),
]


# When the core becomes the larger part


def smallest(d):
    """Another way: count up."""
    rest = lambda n: projection_multiplications(n, n, d) + n * (d * 4 * d + 4 * d * d)  # noqa: E731
    return next(
        n for n in itertools.count(5 * d) if attention_multiplications(n, n, d, d) > rest(n)
    )


RIGHT[check_crossover] = [(3073, 24577), (smallest(512), torch.tensor([smallest(4096)]))]
WRONG[check_crossover] = [
    (..., ..., "Nothing to check so far: give the n for d = 512"),
    (3073, ..., "Nothing to check so far: give the n for d = 4096"),
    (3072, 24577, "both parts are the same"),
    (3073, 24576, "both parts are the same"),
    (1025, 24577, "without the feed-forward layer"),
    (2049, 24577, "without the projections"),
    (1537, 24577, "all four projections"),
    (6145, 24577, "both products belong to the core"),
    (100, 24577, "still more"),
    (4000, 24577, "for a smaller n, too"),
    (3073, 3073, "still more"),
    (512.5, 24577, "a whole number"),
    (0, 24577, "a whole number"),
    (math.inf, 24577, "a whole number"),
    ("many", 24577, "should be one number"),
]


# A mask that counts


ZERO, START = torch.zeros(5, 1), torch.tensor([[1.0], [0], [0], [0], [0]])
ALIKE = [2, 2, 2, 2, 2]
RIGHT[check_place] = [
    (ZERO, ZERO, START, ALIKE),
    ([[1.0]] * 5, (3 * START).tolist(), (-2 * START).numpy(), torch.tensor(ALIKE)),
    (torch.zeros(5, 3), torch.ones(5, 3), 1 - START, (4, 4, 4, 4, 4)),
]
WRONG[check_place] = {
    "blank": (..., ..., ..., ..., "Nothing to check so far: give the matrix W_Q"),
    "blank text": (ZERO, ZERO, START, ..., "Nothing to check so far: give a text"),
    "no value": (ZERO, ZERO, ZERO, ALIKE, "at place 0 and at place 1"),
    "all values": (ZERO, ZERO, ZERO + 1, ALIKE, "at place 0 and at place 1"),
    "words": (ZERO, ZERO, torch.arange(5.0)[:, None], ALIKE, "it depends on the words"),
    "scores of words": (torch.eye(5), torch.eye(5), START, ALIKE, "it depends on the words"),
    "two widths": (ZERO, torch.zeros(5, 2), START, ALIKE, "one shape"),
    "wide values": (ZERO, ZERO, torch.eye(5), ALIKE, "5 × 1, not 5 × 5"),
    "too few rows": (torch.zeros(4, 1), ZERO, START, ALIKE, "a row for each of the five tokens"),
    "a number": (1.0, ZERO, START, ALIKE, "should be a matrix"),
    "different tokens": (ZERO, ZERO, START, [1, 2, 3, 4, 1], "There is a head that makes"),
    "nearly alike": (ZERO, ZERO, START, [1, 1, 1, 1, 2], "There is a head that makes"),
    "with the start": (ZERO, ZERO, START, [0, 0, 0, 0, 0], "from 1 to 4"),
    "too short": (ZERO, ZERO, START, [2, 2], "five whole numbers"),
    "in words": (ZERO, ZERO, START, "same", "five whole numbers"),
}


# Everywhere in a few steps


def book_masks(n, base=3):
    masks, step = [], 1
    while step < n:
        mask = torch.zeros(n, n, dtype=torch.bool)
        for i in range(n):
            for digit in range(base):
                mask[i, (i - digit * step) % n] = True
        masks.append(mask)
        step *= base
    return masks


def both_sides(n):
    """Another way: a neighbour on each side, at 1, 3, 9, ..., the largest first, as lists."""
    steps = [3**k for k in range(10) if 3**k < n]
    masks = []
    for step in reversed(steps):
        mask = [[False] * n for _ in range(n)]
        for i in range(n):
            for j in (i - step, i, i + step):
                mask[i][j % n] = True
        masks.append(mask)
    return masks


def window_masks(n):
    places = torch.arange(n)
    return [(places[:, None] - places).abs() <= 1] * n


RIGHT[check_hops] = [(book_masks,), (both_sides,)]
WRONG[check_hops] = {
    "blank": (lambda n: ..., "Nothing to check so far"),
    "everything": (lambda n: [torch.ones(n, n, dtype=torch.bool)], "reads 9 others"),
    "four": (lambda n: book_masks(n, base=4), "reads 4 others"),
    "two": (lambda n: book_masks(n, base=2), "you need 4 layers, and 2 will do"),
    "a window": (window_masks, "and 2 will do"),
    "one window": (lambda n: window_masks(n)[:2], "has not heard of"),
    "one layer too few": (lambda n: book_masks(n)[:-1] or book_masks(n), "has not heard of"),
    "powers alone": (
        lambda n: book_masks(n)[: max(1, int(math.log(n + 0.5, 3)))],
        "For n = 10, after your 2 layers",
    ),
    "the wrong size": (lambda n: [torch.ones(3, 3, dtype=torch.bool)], "9 × 9 masks"),
    "weights": (lambda n: [torch.full((n, n), 1 / n)], "masks of True and False"),
    "words": (lambda n: "all", "return a list"),
    "none": (lambda n: [], "return a list"),
}
