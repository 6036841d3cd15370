"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import itertools
import math

import torch
import torch.nn.functional as F

from softlookup.analysis import ablated_streams, random_stack, rank_residual
from softlookup.exercises.depth import (
    check_alike,
    check_backwards,
    check_collapse,
    check_paths,
    check_small_writes,
    check_without_skip,
    check_wrong_place,
)
from softlookup.layers import layer_norm

RIGHT, WRONG = {}, {}


# Two rows by hand


RESIDUALS = {"(3, 1) and (1, 3)": 0.447, "(2, 5) and (2, 5)": 0, "(2, 0) and (-2, 0)": 1}
SAME = {
    "all rows times 3": True,
    "(1, 1) added to each row": False,
    "rows in another order": True,
    "one row times 3": False,
}
FIRST = "(3, 1) and (1, 3)"
RIGHT[check_alike] = [
    (RESIDUALS, SAME, "It does not forget a common vector"),
    (RESIDUALS | {FIRST: torch.tensor(0.2).sqrt()}, SAME),
]
WRONG[check_alike] = [
    (..., SAME, "Nothing to check so far: give the rank residuals"),
    (RESIDUALS, ..., "Nothing to check so far: say which changes"),
    (RESIDUALS | {FIRST: 0.2}, SAME, "a length is a root"),
    (RESIDUALS | {FIRST: 2.0}, SAME, "divide by the whole length"),
    (RESIDUALS | {FIRST: 0.9}, SAME, "subtract the mean row from both"),
    ({FIRST: 0.447}, SAME, "(2, 5) and (2, 5)"),
    (RESIDUALS, SAME | {"all rows times 3": False}, "three times as long"),
    (RESIDUALS, SAME | {"(1, 1) added to each row": True}, "the rows become longer"),
    (RESIDUALS, SAME | {"rows in another order": False}, "so are all lengths"),
    (RESIDUALS, SAME | {"one row times 3": "no"}, "say True or False; you have 'no'"),
]


# Attention without a skip


I_64 = torch.eye(64).double()
RIGHT[check_without_skip] = [
    (2 * I_64, 2 * I_64, I_64, "your attention has become the skip"),
    ((9 * I_64).tolist(), I_64, -I_64),
    (10 * torch.linalg.qr(torch.randn(64, 64, dtype=torch.float64))[0],) * 2 + (0.9 * I_64,),
]
WRONG[check_without_skip] = [
    (..., I_64, I_64, "Nothing to check so far: give W_Q"),
    (I_64, ..., I_64, "Nothing to check so far: give W_K"),
    (I_64, I_64, ..., "Nothing to check so far: give W_V"),
    (I_64[:5], I_64, I_64, "W_Q should have shape (64, 64); yours has (5, 64)"),
    (0 * I_64, I_64, I_64, "gives 0.06 of its attention to itself"),
    (2 * I_64, -2 * I_64, I_64, "What should that share be?"),
    (2 * I_64, 2 * I_64, 0 * I_64, "W_V makes them shorter each time"),
    (0.1 * I_64, 0.1 * I_64, I_64, "What should that share be?"),
    (9 * I_64, 9 * I_64, 1e20 * I_64, "outgrow what a number can hold"),
]


# Paths


def slow_paths(weights, matrices, X):
    if len(weights) > 10:
        return paths_of(weights, matrices, X)
    parts = torch.zeros(len(weights) + 1, *X.shape, dtype=X.dtype)
    for crossed in itertools.product((False, True), repeat=len(weights)):
        rows = X
        for taken, A, W in zip(crossed, weights, matrices, strict=True):
            rows = A @ rows @ W if taken else rows
        parts[sum(crossed)] += rows
    return parts


def paths_of(weights, matrices, X):
    parts = [X]
    for A, W in zip(weights, matrices, strict=True):
        longer = [A @ rows @ W for rows in parts]
        parts = [sum(pair) for pair in zip([*parts, 0 * X], [0 * X, *longer], strict=True)]
    return torch.stack(parts)


RIGHT[check_paths] = [(paths_of, "no more than 40 steps"), (slow_paths,)]
WRONG[check_paths] = [
    (..., "Nothing to check so far: return the paths"),
    (lambda A, W, X: paths_of(A, W, X).flip(0), "X itself"),
    (lambda A, W, X: paths_of(A[::-1], W[::-1], X), "The lowest layer comes first"),
    (lambda A, W, X: paths_of(A, [w.mT for w in W], X), "A value is a row times W"),
    (lambda A, W, X: paths_of(A, W, X).cumsum(0), "do not add them up"),
    (lambda A, W, X: paths_of(A, W, X).sum(0), "should have shape (2, 2, 3)"),
    (lambda A, W, X: paths_of(A, W, 2 * X), "do not add up to what leaves"),
    (lambda A, W, X: paths_of(A, W, X).roll(1, 0).roll(0) if len(A) > 1 else paths_of(A, W, X),
     "at the wrong lengths"),
]  # fmt: skip


# Backwards


def backwards(y_1, y_2, g_1, g_2, layers):
    for f, g in reversed(layers):
        y_1, y_2 = y_1.detach(), y_2.detach()
        x_2 = y_2 - g(y_1)
        x_1 = y_1 - f(x_2)
        below = x_1.detach().requires_grad_(), x_2.detach().requires_grad_()
        first = below[0] + f(below[1])
        second = below[1] + g(first)
        g_1, g_2 = torch.autograd.grad((first, second), below, (g_1, g_2))
        y_1, y_2 = x_1, x_2
    return y_1, y_2, g_1, g_2


def with_part(k, change):
    def answer(*given):
        found = list(backwards(*given))
        found[k] = change(found, given)
        return found

    return answer


RIGHT[check_backwards] = [
    (backwards, "nothing was kept but the top"),
    (lambda *given: [part.numpy() for part in backwards(*given)],),
]
WRONG[check_backwards] = [
    (..., "Nothing to check so far: return both rows"),
    (lambda *given: backwards(*given)[:2], "Return four things"),
    (with_part(0, lambda found, given: found[1]), "That is x_2"),
    (with_part(0, lambda found, given: given[0]), "That is y_1, as it was at the top"),
    (with_part(0, lambda found, given: 0 * given[0]), "Undo it first"),
    (with_part(1, lambda found, given: found[0]), "That is x_1"),
    (with_part(1, lambda found, given: given[1]), "That is y_2, as it was at the top"),
    (with_part(2, lambda found, given: given[2]), "That is the gradient at the top"),
    (with_part(2, lambda found, given: found[3]), "That is the gradient of x_2"),
    (with_part(2, lambda found, given: 2 * found[2]), "and y_2 through G"),
    (with_part(3, lambda found, given: 2 * found[3]), "through y_1 it reaches y_2 again"),
]


# Small writes


def post_size(n_blocks, share):
    return (share ** (-1 / n_blocks) - 1) ** 0.5


def pre_size(n_blocks, share):
    return ((share**-2 - 1) / (2 * n_blocks)) ** 0.5


def halved(left):
    """A size found by halving, for a function of (size, blocks) that says what is left."""

    def find(n_blocks, share):
        low, high = 0.0, 10.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if left(middle, n_blocks) > share else (low, middle)
        return torch.tensor(low)

    return find


RIGHT[check_small_writes] = [
    (post_size, pre_size),
    (
        halved(lambda size, n: (1 + size**2) ** -n),
        halved(lambda size, n: (1 + 2 * n * size**2) ** -0.5),
    ),
    (lambda n, s: round(post_size(n, s), 4), lambda n, s: round(pre_size(n, s), 4)),
]
WRONG[check_small_writes] = [
    (..., pre_size, "Nothing to check so far: return the size for post"),
    (post_size, ..., "Nothing to check so far: return the size for pre"),
    (pre_size, post_size, "For post-norm, 0.5 left after 24 blocks, your 0.25 is not right: that"),
    (post_size, post_size, "that is for rows that are cut back at each sum"),
    (lambda n, s: post_size(n / 2, s), pre_size, "each block has two sums"),
    (lambda n, s: post_size(n, s) ** 2, pre_size, "so the size is a root"),
    (lambda n, s: s ** (-1 / (2 * n)) - 1, pre_size, "sqrt(1 + size²) times as long"),
    (lambda n, s: post_size(2 * n, s), pre_size, "the lengths multiply"),
    (lambda n, s: (math.log(1 / s) / n) ** 0.5, pre_size, "is not quite exp(size²)"),
    (lambda n, s: 1 / n**0.5, pre_size, "draw row and write as a triangle"),
    (post_size, lambda n, s: pre_size(n / 2, s), "each block adds two writes"),
    (post_size, lambda n, s: pre_size(n, s) ** 2, "so the size is a root"),
    (post_size, lambda n, s: (1 / s - 1) / (2 * n), "the squares of lengths add up"),
    (post_size, lambda n, s: pre_size(n, s**0.5), "the share is one of lengths"),
    (post_size, lambda n, s: 1 / (s * (2 * n) ** 0.5), "the word itself is one of the pieces"),
    (post_size, lambda n, s: pre_size(n - 0.5, s), "two writes each"),
    (post_size, lambda n, s: 0.1, "draw row and write as a triangle"),
    (post_size, 0.25, "The check wants the function itself"),
    (lambda n, s: "small", pre_size, "should be numbers"),
]


# The norm in the wrong place


def unit(x, *, correction=0):
    """A norm by hand, without a guard under the root."""
    return (x - x.mean(-1, keepdim=True)) / x.std(-1, correction=correction, keepdim=True)


def wrong_place_with(norm):
    def program(x, all_but_last, last):
        z = all_but_last(norm(x))
        return z + last(z)

    return program


def post_stack(x, all_but_last, last, *, begin=None, end=None):
    z = all_but_last(begin(x) if begin else x)
    y = z + last(z)
    return end(y) if end else y


RIGHT[check_wrong_place] = [
    (wrong_place_with(layer_norm),),
    (wrong_place_with(unit),),
    (wrong_place_with(lambda x: F.layer_norm(x, x.shape[-1:], eps=1e-3)),),
    (wrong_place_with(lambda x: layer_norm(x.float())),),
]


WRONG[check_wrong_place] = [
    (..., "Nothing to check so far: return what the wrong program gives"),
    (post_stack, "The program begins with a norm"),
    (lambda *a: post_stack(*a, end=layer_norm), "That is post-norm as it should be"),
    (lambda *a: post_stack(*a, begin=layer_norm, end=layer_norm), "no norm after the last layer"),
    (lambda x, f, g: f(layer_norm(x)), "The last layer has not written yet"),
    (lambda x, f, g: g(f(layer_norm(x))), "is added to what it reads"),
    (wrong_place_with(lambda x: unit(x, correction=1)), "divides by n − 1"),
    (lambda x, f, g: x, "Write both stacks down"),
    (lambda x, f, g: x + g(layer_norm(x)), "Write both stacks down"),
]


# What is left of the differences


def pre_half():
    x, blocks = random_stack(0)
    return ablated_streams(blocks, x, norm="pre", size=0.5)[24]


def left_of(X):
    return (X - X.mean(dim=0)).norm() / X.norm()


def by_rows(X):
    return (X - X.mean(dim=0)).norm(dim=1).div(X.norm(dim=1)).mean()


HALF, FULL = 0.084, 0.00048
RIGHT[check_collapse] = [
    (left_of, HALF),
    (lambda X: X.var(dim=0, correction=0).sum().div(X.square().mean(dim=0).sum()).sqrt(), 0.0843),
]
WRONG[check_collapse] = [
    (..., HALF, "Nothing to check so far: return the rank residual"),
    (left_of, ..., "Nothing to check so far: give what is left"),
    (lambda X: (X - X.mean(dim=1, keepdim=True)).norm() / X.norm(), HALF, "one over the tokens"),
    (lambda X: (X - X.mean(dim=0)).norm(), HALF, "divide by the length of the whole"),
    (lambda X: left_of(X) ** 2, HALF, "a length is a root"),
    (by_rows, HALF, "not of each row"),
    (lambda X: 1 - left_of(X), HALF, "subtract the mean row from each"),
    (left_of, FULL, "their full length"),
    (left_of, rank_residual(pre_half()), "that is pre-norm"),
    (left_of, 0.5, "Not 0.5: measure run_stack"),
]
