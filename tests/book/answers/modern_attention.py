"""Answers to the exercises of chapter 22: right, and wrong with the words that they get."""

import torch
import torch.nn.functional as F

from softlookup.attention import attention, path_lengths
from softlookup.attention.efficient import (
    elu_plus_one,
    linear_attention,
    linear_step,
    sliding_mask,
    window_attention,
)
from softlookup.exercises.modern_attention import (
    check_eviction,
    check_linear,
    check_pairs,
    check_reach,
    check_window,
)
from softlookup.masks import causal_mask, window_mask

RIGHT, WRONG = {}, {}


# The band


def book_window(query, key, value, width):
    near = [slice(max(0, i + 1 - width), i + 1) for i in range(len(query))]
    return torch.cat([attention(query[i.stop - 1 : i.stop], key[i], value[i]) for i in near])


def masked(mask):
    return lambda q, k, v, w: attention(q, k, v, mask(len(q), w))


def from_below_zero(query, key, value, width):
    near = [slice(i + 1 - width, i + 1) for i in range(len(query))]
    return torch.cat([attention(query[i.stop - 1 : i.stop], key[i], value[i]) for i in near])


def without_itself(n, width):
    return sliding_mask(n, width + 1) & ~torch.eye(n, dtype=torch.bool)


RIGHT[check_window] = [
    (book_window,),
    (window_attention,),
    (lambda *args: book_window(*args).tolist(),),
]


WRONG[check_window] = [
    (..., "Nothing to check so far: return one row per query"),
    (lambda q, k, v, w: None, "Nothing to check so far"),
    (masked(sliding_mask), "Compute only what the band needs"),
    (masked(lambda n, w: sliding_mask(n, w + 1)), "one key too many"),
    (masked(lambda n, w: sliding_mask(n, w - 1 or 1)), "one key too few"),
    (
        masked(lambda n, w: sliding_mask(n, w + 1) & ~torch.eye(n).bool()),
        "does not read itself",
    ),
    (from_below_zero, "Right from row 3 on; the rows before have fewer than 4 keys"),
    (masked(lambda n, w: window_mask(n, w - 1)), "what comes later"),
    (masked(lambda n, w: causal_mask(n)), "the window is missing"),
    (lambda q, k, v, w: attention(q, k, v), "reads all keys; the window"),
    (lambda *args: 2 * book_window(*args), "Other numbers than the masked square gives"),
    (lambda *args: book_window(*args)[1:], "should have shape (13, 3)"),
    (lambda q, k, v: q, "Your code stopped with TypeError"),
    (7, "wants the function itself"),
]


# The pairs


def book_pairs(n, width):
    w = min(n, width)
    return n * w - w * (w - 1) // 2


RIGHT[check_pairs] = [
    (book_pairs,),
    (lambda n, w: sum(min(i + 1, w) for i in range(n)),),
    (lambda n, w: sliding_mask(n, w).sum(),),
]


WRONG[check_pairs] = [
    (..., "Nothing to check so far: return the number of pairs"),
    (lambda n, w: n * w, "The first rows have no w keys before them"),
    (lambda n, w: n * w - w * (w + 1) // 2, "One slip at the corner"),
    (lambda n, w: n * (n + 1) // 2, "without a window"),
    (lambda n, w: n * (2 * w - 1), "No row reads what comes later"),
    (lambda n, w: n * w - w * (w - 1) // 2, "A window wider than the text is the whole past"),
    (lambda n, w: 3, "At n = 1, w = 1: There are 1; yours says 3"),
    (lambda n, w: "many", "should be one number; you gave"),
]


# Linear attention


def book_linear(query, key, value):
    written = torch.cat([value, torch.ones_like(value[:, :1])], dim=1)
    state, rows = 0, []
    for q, k, v in zip(elu_plus_one(query), elu_plus_one(key), written, strict=True):
        state = state + k.outer(v)
        rows.append(q @ state)
    sums = torch.stack(rows)
    return sums[:, :-1] / sums[:, -1:]


def with_the_step(query, key, value):
    state, rows = None, []
    for q, k, v in zip(query, key, value, strict=True):
        row, state = linear_step(q, k, v, state)
        rows.append(row)
    return torch.stack(rows)


def read_first(query, key, value):
    phi_q, phi_k = elu_plus_one(query), elu_plus_one(key)
    before = (phi_q @ phi_k.mT).tril(-1)
    return before @ value / before.sum(dim=-1, keepdim=True)


def read_first_safely(query, key, value):
    return read_first(query, key, value).nan_to_num()


def plain_elu(query, key, value):
    products = (F.elu(query) @ F.elu(key).mT).tril()
    return products @ value / products.sum(dim=-1, keepdim=True)


def undivided(query, key, value):
    return (elu_plus_one(query) @ elu_plus_one(key).mT).tril() @ value


RIGHT[check_linear] = [
    (book_linear,),
    (with_the_step,),
]


WRONG[check_linear] = [
    (..., "Nothing to check so far: return one row per position"),
    (undivided, "Divide each row by its sum"),
    (linear_attention, "what comes later"),
    (read_first, "The first row is 0/0"),
    (read_first_safely, "a position reads itself, too"),
    (lambda q, k, v: attention(q, k, v, causal_mask(len(q))), "That is softmax attention"),
    (plain_elu, "Features must be positive"),
    (lambda *a: linear_attention(*a, causal=True, form="quadratic"), "it takes all pairs"),
    (lambda *a: book_linear(*a) + 1, "Off by up to 1 from"),
    (lambda *a: book_linear(*a)[:3], "should have shape (11, 3)"),
]


# Reach


def book_reach(mask, n_layers):
    one_layer = (mask | torch.eye(len(mask), dtype=torch.bool)).double()
    return torch.linalg.matrix_power(one_layer, n_layers) > 0


def without_skip(mask, n_layers):
    return torch.linalg.matrix_power(mask.double(), n_layers) > 0


def by_formula(mask, n_layers):
    return sliding_mask(len(mask), n_layers * 3 + 1)


RIGHT[check_reach] = [
    (book_reach,),
    (lambda mask, L: (path_lengths(mask) >= 0) & (path_lengths(mask) <= L),),
]


WRONG[check_reach] = [
    (..., "Nothing to check so far: return a boolean matrix"),
    (lambda mask, L: mask, "That is one layer"),
    (without_skip, "i always reaches itself"),
    (lambda mask, L: torch.linalg.matrix_power(mask.double(), L), "not how many"),
    (by_formula, "Right for other masks; not for a stride"),
    (lambda mask, L: sliding_mask(13, 4 * L), "A layer goes w - 1 steps back"),
    (lambda mask, L: book_reach(mask, L)[0], "should have shape (13, 13)"),
]


# Eviction


def book_eviction(weights, n_sinks):
    mass, kept = weights[:, :n_sinks].sum(dim=1), weights[:, n_sinks:]
    return mass, kept / kept.sum(dim=1, keepdim=True)


def through_scores(weights, n_sinks):
    return 1 - weights[:, n_sinks:].sum(dim=1), weights.log()[:, n_sinks:].softmax(dim=1)


RIGHT[check_eviction] = [
    (book_eviction,),
    (through_scores,),
]


WRONG[check_eviction] = [
    (..., "Nothing to check so far: return the mass and the new weights"),
    (lambda p, s: book_eviction(p, s)[1], "Return two things"),
    (lambda p, s: (p[:, 0], book_eviction(p, s)[1]), "the sum of both weights"),
    (lambda p, s: (p[:, -1], p[:, s:]), "the weight that the sinks had"),
    (lambda p, s: (p[:, :s].sum(1), p[:, s:]), "A softmax always sums to 1"),
    (
        lambda p, s: (p[:, :s].sum(1), p[:, s:] + p[:, :s].sum(1)[:, None] / (7 - s)),
        "Not in equal parts",
    ),
    (lambda p, s: (p[:, :s].sum(1), p[:, s:].softmax(1)), "these are weights already"),
    (lambda p, s: (p[:, :s].sum(1), 2 * p[:, s:]), "Compare with the softmax over"),
    (lambda p, s: (p[:, :s].sum(1), p), "should have shape (5, 6)"),
]
