"""Checks: counter-examples, invariance, a third key, a crossover, places, hops."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from softlookup.attention import (
    attention,
    attention_multiplications,
    attention_weights,
    projection_multiplications,
)
from softlookup.exercises.compare import advised, draw, integers, matrix, numbers, one_number
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import causal_mask

_KINDS = ("invariant", "equivariant", "neither")
_TOLERANCE, _ORDERS = 1e-9, 100
CHANGED = "Your function changed X itself; index it, X[p], which makes a copy."
_TURNED = {
    "causal": "Turn the triangle around: the first token reads all, and the last itself alone. "
    "The causal mask does not allow that, so the outputs are others.",
    "both": "Not both: the causal triangle, turned around, is the other triangle.",
    "neither": "In a window each token reads as many on the left as on the right: turned around, "
    "its band lies where it was.",
}
"""What to say about a wrong answer to which mask survives when the text is turned around."""


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


@exercise(
    "choose a mask: causal, window, both or neither.",
    "return one of three words for f.",
)
def check_kind(mask: Answer, answer: Answer) -> str:
    """Check which mask survives a text turned around, and a function that names a symmetry.

    Args:
        mask: "causal", "window", "both" or "neither".
        answer: The learner's function of (f, X): "invariant", "equivariant" or "neither".

    Chapter: limits#exercises
    """
    said = mask.value.strip().lower() if isinstance(mask.value, str) else mask.value
    if said != "window":
        known = isinstance(said, str) and said in _TURNED
        raise Wrong(
            _TURNED[said]
            if known
            else f"The answer is causal, window, both or neither; yours is {said!r}."
        )
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
        what = name[0].upper() + name[1:]
        fewer = f"{what} may have fewer rows than X, and then f(X)[p] does not exist."
        hints = {"IndexError": f"{fewer} Compare the numbers of rows before you reorder."}
        said = answer(f, X, kept=CHANGED, hints=hints if len(f(X)) < len(X) else {})
        if said not in _KINDS:
            raise Wrong(f"For {name} you return {said!r}; the words are {', '.join(_KINDS)}.")
        if said != right:
            raise Wrong(f"{what} is {right}; you say {said}. {_advice(right, said)}")
    return "The window's band survives when it is turned; and you can tell the three kinds apart."


@exercise(
    "choose a third key that leaves the first one half of the weight.",
    "choose a third key that hardly moves the weight.",
)
def check_third_key(half_key: Answer, quiet_key: Answer) -> str:
    """Check two third keys: one that takes the first key's weight to a half, and a quiet one.

    Args:
        half_key: A key with which the first one keeps half of the weight, to three decimals.
        quiet_key: A key that moves the weight by less than 0.001.

    Chapter: limits#exercises
    """
    half, now = _third(half_key)
    if abs(now - 0.5) >= 6e-4:
        score = half[0].item()
        mistakes = [
            (math.e - 1, "e to the score should be e − 1: take the logarithm of it."),
            (1.0, "With the score 1 the third key gets as much as the first, beside the second."),
            (0.0, "A key of score 0 still counts e⁰ = 1 in the sum."),
            (math.log(math.e + 1), "The others together should weigh as much as the first alone."),
            (math.log(math.e - 1) * math.sqrt(2), "These scores have no scale: q · k."),
        ]
        advice = advised(score, mistakes, rel_tol=0, abs_tol=2e-3)
        raise Wrong(f"With this key the first one keeps {now:.3f} of the weight. {advice}".rstrip())
    quiet, now = _third(quiet_key)
    if abs(now - math.e / (math.e + 1)) >= 1e-3:
        if quiet[0] == 0:
            raise Wrong(
                f"A key of score 0 still counts e⁰ = 1 in the sum: the weight falls to {now:.3f}."
            )
        raise Wrong(f"With this key the weight is {now:.3f}; it should stay at 0.731.")
    return f"e / (e + 1 + (e − 1)) = ½. Your quiet key has the score {quiet[0]:g}, far below 0."


@exercise("give the n for d = 512.", "give the n for d = 4096.")
def check_crossover(narrow: Answer, wide: Answer) -> str:
    """Check from which length on the core is the larger part of a block's multiplications.

    Args:
        narrow: The smallest such n at width 512.
        wide: The smallest such n at width 4096.

    Chapter: limits#exercises
    """
    for answer, d in (narrow, 512), (wide, 4096):
        value = one_number(answer.value, "The length")
        if not 1 <= value <= 10**7 or value != int(value):
            raise Wrong(f"The length is a whole number of tokens; yours is {value:g}.")
        n = int(value)
        if n == 6 * d + 1:
            continue
        core, rest = attention_multiplications(n, n, d, d), _rest_of_block(n, d)
        mistakes = [
            (6 * d, "there both parts are the same; the question is where the core is larger."),
            (2 * d + 1, "so it is without the feed-forward layer, which takes 8 n d² more."),
            (4 * d + 1, "so it is without the projections, which take 4 n d² more."),
            (3 * d + 1, "count both of the core's products, and all four projections."),
            (12 * d + 1, "both products belong to the core, 2 n² d."),
        ]
        advice = advised(n, mistakes)
        counts = f"At n = {n} and d = {d} the core takes {core:,}, and all else {rest:,}"
        if not advice:
            advice = "still more." if core < rest else "but so it is for a smaller n, too."
        raise Wrong(f"{counts}: {advice}")
    return "2 n² d against 12 n d²: beyond n = 6 d the core is more than half, for every width."


@exercise(
    "give the matrix W_Q.",
    "give the matrix W_K.",
    "give the matrix W_V.",
    "give a text of five tokens.",
)
def check_place(W_Q: Answer, W_K: Answer, W_V: Answer, text: Answer) -> str:
    """Check a causal head that knows the place from a start token, and a text that hides it.

    Args:
        W_Q: Queries, 5 × d_k.
        W_K: Keys, 5 × d_k.
        W_V: Values, 5 × 1.
        text: Five tokens, numbers from 1 to 4, that no head without the start can tell apart.

    Chapter: limits#exercises
    """
    given = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V}
    Q, K, V = (_five_rows(name, matrix(given[name].value, name)) for name in given)
    if Q.shape != K.shape:
        raise Wrong(f"W_Q and W_K should have one shape; yours are {_size(Q)} and {_size(K)}.")
    if V.shape != (5, 1):
        raise Wrong(f"W_V should make one number of a token: 5 × 1, not {_size(V)}.")
    generator = torch.Generator().manual_seed(15)
    texts = [[0, *torch.randint(1, 5, (9,), generator=generator).tolist()] for _ in range(4)]
    texts += [[0, *[1] * 9], [0, *[4] * 9]]
    outputs = torch.stack([_causal_outputs(ids, Q, K, V) for ids in texts])
    if (outputs - outputs[0]).abs().max() > 1e-9:
        worst = int((outputs - outputs[0]).abs().amax(dim=0).argmax())
        raise Wrong(
            f"At place {worst} your head says {outputs[0, worst]:.3f} in one text and another "
            "number in another: it depends on the words. Which words may have a score or a value?"
        )
    gaps = (outputs[0][:, None] - outputs[0]).abs() + torch.eye(10)
    if gaps.min() < 1e-6:
        i, j = divmod(int(gaps.argmin()), 10)
        raise Wrong(f"Your head says {outputs[0, i]:.3f} at place {i} and at place {j}.")
    _hides(text.value)
    return "It hears how many share the weight with the start. Without it, equal tokens are alike."


@exercise("write my_masks(n), which returns one boolean mask for each layer.")
def check_hops(answer: Answer) -> str:
    """Check masks of at most three readings a token that join all tokens in few layers.

    Args:
        answer: The learner's function of n.

    Chapter: limits#exercises
    """
    for n in (9, 27, 3, 10, 64, 100, 2):
        masks = _masks(answer(n), n)
        most = max(int(mask.sum(dim=1).max()) for mask in masks)
        if most > 3:
            raise Wrong(f"For n = {n} a token reads {most} others, itself included; allowed are 3.")
        reached = torch.eye(n, dtype=torch.bool)
        for mask in masks:
            reached = mask.float() @ reached.float() > 0
        least = math.ceil(round(math.log(n, 3), 9))
        missing = int((~reached).sum())
        if missing:
            i, j = divmod(int((~reached).flatten().nonzero()[0]), n)
            raise Wrong(
                f"For n = {n}, after your {len(masks)} layers token {i} has not heard of token {j}."
            )
        if len(masks) > least:
            raise Wrong(f"For n = {n} you need {len(masks)} layers, and {least} will do.")
    return "Three readings a layer: nine tokens in two layers, a hundred in five, a million in 13."


def _rest_of_block(n: int, d: int) -> int:
    return projection_multiplications(n, n, d) + 8 * n * d**2


def _third(answer: Answer) -> tuple[Tensor, float]:
    """A learner's third key, and the first key's weight beside it."""
    q = torch.tensor([1.0, 0.0]).double()
    key = numbers(answer.value, q, "The key")
    if not key.isfinite().all():
        raise Wrong("The key should be two finite numbers: −∞ is a mask, not a key.")
    keys = torch.cat([torch.eye(2, dtype=torch.float64), key[None]])
    return key, attention_weights(q[None], keys, scale=False)[0, 0].item()


def _size(found: Tensor) -> str:
    return " × ".join(map(str, found.shape))


def _five_rows(name: str, found: Tensor) -> Tensor:
    if found.shape[0] != 5 or found.shape[1] == 0:
        raise Wrong(
            f"{name} should have a row for each of the five tokens; yours is {_size(found)}."
        )
    return found


def _causal_outputs(ids: Sequence[int], W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> Tensor:
    X = torch.eye(5, dtype=torch.float64)[list(ids)]
    return attention(X @ W_Q, X @ W_K, X @ W_V, causal_mask(len(ids)))[:, 0]


def _hides(text: object) -> None:
    rule = "The text should be five whole numbers from 1 to 4."
    ids = integers(text, rule, n=5)
    if not all(1 <= token <= 4 for token in ids):
        raise Wrong(rule)
    if len(set(ids)) > 1:
        W = draw(3, 5, 5, seed=7)
        found = _causal_outputs(ids, *W[:2], W[2][:, :1])
        said = ", ".join(f"{number:.2f}" for number in found)
        raise Wrong(
            f"There is a head that makes {said} of your text: not the same number each time."
        )


def _masks(found: object, n: int) -> list[Tensor]:
    rule = f"For n = {n} return a list of {n} × {n} masks of True and False, one for each layer."
    if isinstance(found, Tensor) and found.ndim == 2:
        found = [found]
    if not isinstance(found, Sequence | Tensor) or isinstance(found, str) or len(found) == 0:
        raise Wrong(rule)
    try:
        masks = [torch.as_tensor(mask) for mask in found]
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(rule) from None
    for mask in masks:
        if mask.shape != (n, n) or not bool(((mask == 0) | (mask == 1)).all()):
            raise Wrong(rule)
    return [mask.bool() for mask in masks]


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
