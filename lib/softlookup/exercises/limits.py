"""Checks of chapter 15: counter-examples, invariance, a third key, a crossover, long ways."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from softlookup.attention import (
    attention,
    attention_multiplications,
    attention_weights,
    dependency_graph,
    path_lengths,
    projection_multiplications,
    recurrent_multiplications,
)
from softlookup.exercises.compare import advised, draw, numbers, one_number
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import causal_mask

_KINDS = ("invariant", "equivariant", "neither")
_TOLERANCE, _ORDERS, _WIDTH = 1e-9, 100, 512
CHANGED = "Your function changed X itself; index it, X[p], which makes a copy."
KINDS = {
    "equivariant": "So lecture 004 says, but Pᵀ P is the identity: what is left of P?",
    "neither": "Multiply out: Pᵀ P stands in the middle of A Pᵀ P V.",
}


@exercise("return the list of orders that break the layer's promise.")
def check_counter_examples(answer: Answer) -> str:
    """Check a property test of equivariance, on layers that have the property and that lack it.

    Args:
        answer: The learner's function of (layer, X): the orders, of 100 random ones, for which
            ``layer(X[p])`` is not ``layer(X)[p]``.

    Chapter: limits#exercises
    """
    n = 7
    ends = (torch.arange(n) == n - 1)[:, None]
    layers = [
        ("self-attention", True, _self_attention()),
        ("causal self-attention", False, _self_attention(causal_mask(n))),
        ("a layer for each row alone", True, lambda X: X.relu()),
        ("self-attention with a mark at the end", False, lambda X: _self_attention()(X + ends)),
    ]
    found = 0
    for name, keeps, layer in layers:
        X, watched = draw(n, 5, seed=12), _Watched(layer)
        orders = answer(watched, X, kept=CHANGED)
        _check_orders(name, orders, n)
        _check_breaks(name, keeps, layer, X, [torch.as_tensor(order) for order in orders])
        if watched.calls < _ORDERS:
            raise Wrong(f"You called the layer {watched.calls} times: too few for 100 orders.")
        found += len(orders) if name == "causal self-attention" else 0
    return f"Self-attention withstood all orders; the causal mask broke it under {found} of yours."


@exercise("choose a word for (A Pᵀ)(P V).", "return one of three words for f.")
def check_kind(word: Answer, answer: Answer) -> str:
    r"""Check the word for $(AP^\top)(PV)$, and a function that finds the word for any other.

    Args:
        word: "invariant", "equivariant" or "neither".
        answer: The learner's function of (f, X) that returns one of these words.

    Chapter: limits#exercises
    """
    if word.value not in _KINDS:
        raise Wrong(f"The word is one of {', '.join(_KINDS)}; yours is {word.value!r}.")
    if word.value in KINDS:
        raise Wrong(KINDS[word.value])
    Q, mix = draw(3, 5, seed=2), draw(7, seed=3)
    cases = [
        ("self-attention", "equivariant", _self_attention()),
        ("attention whose context is X", "invariant", lambda X: attention(Q, X, X)),
        ("the mean over tokens", "invariant", lambda X: _self_attention()(X).mean(dim=0)),
        ("causal self-attention", "neither", _self_attention(causal_mask(7))),
        ("the first row alone", "neither", lambda X: X[0]),
        ("a fixed weighted mean", "neither", lambda X: mix @ X),
        ("the tokens in reverse", "neither", lambda X: X.flip(0)),
        ("a layer for each row alone", "equivariant", lambda X: X.tanh()),
    ]
    for name, right, f in cases:
        X = draw(7, 5, seed=4)
        said = answer(f, X, kept=CHANGED)
        if said not in _KINDS:
            raise Wrong(f"For {name} you return {said!r}; the words are {', '.join(_KINDS)}.")
        if said != right:
            raise Wrong(f"{name.capitalize()} is {right}; you say {said}. {_advice(right, said)}")
    return "The slide's case is invariant. Equivariant it is when the queries are moved as well."


@exercise(
    "give the weight before the third key joins.",
    "give the weight after the third key joins.",
    "choose a third key that hardly moves the weight.",
)
def check_third_key(before: Answer, after: Answer, quiet_key: Answer) -> str:
    """Check the weight of one key before and after another joins, and a key that hardly does.

    Args:
        before: The first key's weight among two, to three decimals.
        after: The same with the third key (2, 0).
        quiet_key: Another third key, which moves the weight by less than 0.001.

    Chapter: limits#exercises
    """
    q, third = torch.tensor([1.0, 0.0]).double(), torch.tensor([2.0, 0.0]).double()
    two = torch.eye(2, dtype=torch.float64)

    def weights(*more: Tensor, scale: bool = False) -> list[float]:
        keys = torch.cat([two, *(key[None] for key in more)])
        return attention_weights(q[None], keys, scale=scale)[0].tolist()

    scaled = "These scores have no scale: q · k, not q · k / √2."
    second_key = "That is the second key's weight."
    mistakes = [(weights(scale=True)[0], scaled), (weights()[1], second_key)]
    _weight(before, weights()[0], mistakes, "before")
    first, second, last = weights(third)
    mistakes = [
        (weights(third, scale=True)[0], scaled),
        (second, second_key),
        (last, "That is the third key's weight; the question is about the first."),
        (weights()[0], "The weight changed: the new key stands in the denominator, too."),
    ]
    _weight(after, first, mistakes, "after")
    key = numbers(quiet_key.value, q, "The key")
    if not key.isfinite().all():
        raise Wrong("The key should be two finite numbers: −∞ is a mask, not a key.")
    now = weights(key)[0]
    if abs(now - weights()[0]) >= 1e-3:
        if q @ key == 0:
            raise Wrong(
                f"A key of score 0 still counts e⁰ = 1 in the sum: the weight falls to {now:.3f}."
            )
        raise Wrong(f"With this key the weight is {now:.3f}; it should stay at 0.731.")
    return f"0.731, then 0.245. Your quiet key has the score {(q @ key).item():g}, far below 0."


@exercise(
    "give the smallest n at which the core costs more than the recurrence.",
    "give the smallest n at which the core costs more than its projections.",
)
def check_crossover(core: Answer, projections: Answer) -> str:
    """Check two lengths at width 512: where the core outgrows a recurrence, and its projections.

    Args:
        core: The smallest n at which the core needs more multiplications than the recurrence.
        projections: The smallest n at which it needs more than attention's four projections.

    Chapter: limits#exercises
    """
    d = _WIDTH
    rivals = [
        (core, "the recurrence", lambda n: recurrent_multiplications(n, d, d)),
        (projections, "its projections", lambda n: projection_multiplications(n, n, d)),
    ]
    found = []
    for answer, rival, cost in rivals:
        value = one_number(answer.value, "The length")
        if not 1 <= value <= 10**6 or value != int(value):
            raise Wrong(f"The length is a whole number of tokens; yours is {value:g}.")
        n = int(value)
        mine, theirs = attention_multiplications(n, n, d, d), cost(n)
        if mine == theirs:
            question = "both cost the same; the question is where attention costs more."
            raise Wrong(f"At n = {n} {question}")
        if mine < theirs:
            counts = f"the core needs {mine:,} multiplications, {rival} {theirs:,}"
            raise Wrong(f"At n = {n} {counts}: still more.")
        if n > 1 and attention_multiplications(n - 1, n - 1, d, d) > cost(n - 1):
            raise Wrong(f"At n = {n - 1} the core costs more than {rival}, too: look for less.")
        found.append(n)
    return f"n² against nd: from {found[0]} on, and against twice as much from {found[1]} on."


@exercise("return the number of edges on the longest of the shortest paths.")
def check_longest_path(answer: Answer) -> str:
    """Check the longest of the shortest paths from inputs to outputs, on several graphs.

    Args:
        answer: The learner's function of (graph, n).

    Chapter: limits#exercises
    """
    for name, graph, n in _graphs():
        found = one_number(answer(graph, n), "The number of edges")
        lengths = path_lengths(graph)
        right = lengths[n:, :n].max().item()
        if found != right:
            no_path = "graph[i, j] leads from j to i; some pairs have no path, and do not count."
            mistakes = [
                (right + 1, "Count edges, not nodes."),
                (right - 1, "The edge from an input to its state counts, too."),
                (0, no_path),
                (math.inf, no_path),
                (lengths.max(), "Only ways from an input to an output count: in the rest of the "
                 "matrix, outputs lead to outputs."),
            ]  # fmt: skip
            said = f"In {name} the longest way has {right} edges; you say {found:g}."
            raise Wrong(f"{said} {advised(found, mistakes)}".rstrip())
    return "Over 100 tokens: 100 edges in the recurrence, 1 in attention."


def _self_attention(mask: Tensor | None = None) -> Callable[[Tensor], Tensor]:
    W_Q, W_K, W_V = draw(3, 5, 5, seed=1)
    return lambda X: attention(X @ W_Q, X @ W_K, X @ W_V, mask)


class _Watched:
    """A layer that remembers how often it was called."""

    def __init__(self, layer: Callable[[Tensor], Tensor]) -> None:
        self.layer, self.calls = layer, 0

    def __call__(self, X: Tensor) -> Tensor:
        self.calls += 1
        return self.layer(X)


def _gap(layer: Callable[[Tensor], Tensor], X: Tensor, order: Tensor) -> float:
    return (layer(X[order]) - layer(X)[order]).abs().max().item()


def _check_orders(name: str, orders: object, n: int) -> None:
    if not isinstance(orders, Sequence | Tensor) or isinstance(orders, str):
        raise Wrong(f"Return a list of orders; for {name} you returned {orders!r}.")
    for order in orders:
        try:
            places = sorted(torch.as_tensor(order).tolist())
        except (TypeError, ValueError, RuntimeError):
            places = None
        if places != list(range(n)):
            raise Wrong(f"An order holds each place from 0 to {n - 1} once; yours is {order!r}.")


def _check_breaks(
    name: str, keeps: bool, layer: Callable, X: Tensor, orders: Sequence[Tensor]
) -> None:
    if keeps and len(orders):
        gap = _gap(layer, X, orders[0])
        raise Wrong(
            f"For {name} you call {orders[0].tolist()} a counter-example, but both sides agree to "
            f"{gap:.0e}. Compare with layer(X)[p], and allow for rounding."
        )
    if not keeps and not len(orders):
        raise Wrong(f"You found no counter-example for {name}; most orders are one.")
    for order in orders:
        if _gap(layer, X, order) <= _TOLERANCE:
            raise Wrong(f"For {name}, {order.tolist()} is no counter-example: both sides agree.")


def _advice(right: str, said: str) -> str:
    if right == "equivariant":
        return "Compare with f(X)[p], not with the inverse order, and allow for rounding."
    if right == "invariant":
        return "Compare with f(X) as it stands; it may have fewer rows than X, or none."
    return "One order can agree by luck: try many, and some that are not their own inverse."


def _weight(answer: Answer, right: float, mistakes: list[tuple[float, str]], name: str) -> None:
    found = one_number(answer.value, f"The weight {name}")
    if abs(found - right) > 6e-4:
        advice = advised(found, mistakes, rel_tol=0, abs_tol=6e-4)
        raise Wrong(f"The weight {name} is not {found:g}. {advice}".rstrip())


def _graphs() -> list[tuple[str, Tensor, int]]:
    """Graphs with names: what one layer of each kind computes from what."""
    short = dependency_graph("recurrence", 12)
    short[torch.arange(16, 24), torch.arange(12, 20)] = True  # each state, four states back
    partial = dependency_graph("attention", 5)
    partial[7:, :3] = False
    chained = dependency_graph("attention", 6)
    chained[torch.arange(7, 12), torch.arange(6, 11)] = True  # each output, the one before
    return [
        ("the recurrence over 100 tokens", dependency_graph("recurrence", 100), 100),
        ("attention over 100 tokens", dependency_graph("attention", 100), 100),
        ("a recurrence over 12 tokens with short cuts", short, 12),
        ("attention where some outputs do not read all", partial, 5),
        ("attention whose outputs also read each other", chained, 6),
    ]
