"""Answers to the exercises of chapter 23: right, and wrong with the words that they get."""

import torch

from softlookup.exercises.looking_inside import (
    check_patching,
    check_previous_head,
    check_two_maps,
)

RIGHT, WRONG = {}, {}


# Two maps, one output


def with_ones(values):
    return torch.cat([values, torch.ones(len(values), 1, dtype=values.dtype)], dim=1)


def null_step(values):
    return torch.linalg.svd(values.mT, full_matrices=True).Vh[-1]


def book_map(weights, values):
    step = null_step(with_ones(values))
    return weights + step * (weights / step.abs()).amin(dim=-1, keepdim=True)


def by_projection(weights, values):
    """Another right solution: a step towards even reading, projected to what changes nothing."""
    kept = with_ones(values)
    wish = torch.arange(len(values), dtype=values.dtype).expand_as(weights)
    step = wish - wish @ kept @ torch.linalg.pinv(kept)
    length = (weights / step.abs()).amin(dim=-1, keepdim=True)
    return (weights + 0.9 * length * step).numpy()


def one_row_only(weights, values):
    found = weights.clone()
    found[0] = book_map(weights, values)[0]
    return found


RIGHT[check_two_maps] = [
    (book_map, "up to 6% of a row"),
    (by_projection,),
]
WRONG[check_two_maps] = [
    (..., "Nothing to check so far: return other weights"),
    (lambda weights, values: ..., "Nothing to check so far: return other weights"),
    (3, "wants the function itself"),
    (lambda weights, values: weights, "the weights as they were"),
    (lambda weights, values: weights.flip(-1), "should agree to 1e-10"),
    (lambda weights, values: weights + 1e-2 * null_step(values), "a column of ones"),
    (lambda weights, values: weights + 9 * null_step(with_ones(values)), "a shorter step"),
    (lambda weights, values: weights[0], "should have shape"),
    (one_row_only, "move each of them"),
    (lambda weights, values: weights / 0, "The outputs differ"),
    (lambda weights, values: weights * torch.nan, "holds NaN"),
    (lambda weights: weights, "Your code stopped with TypeError"),
]


# One place given back


def book_effects(score, good, bad):
    patched = [torch.cat([bad[:k], good[k : k + 1], bad[k + 1 :]]) for k in range(len(bad))]
    return [(score(rows) - score(bad)) / (score(good) - score(bad)) for rows in patched]


def in_a_loop(score, good, bad):
    """Another right solution: one row is written, scored, and taken back."""
    rows, shares = bad.clone(), []
    for k in range(len(rows)):
        rows[k] = good[k]
        shares.append(((score(rows) - score(bad)) / (score(good) - score(bad))).item())
        rows[k] = bad[k]
    return shares


def piling_up(score, good, bad):
    shares, worst, lost = [], score(bad), score(good) - score(bad)
    for k in range(len(bad)):
        bad[k] = good[k]
        shares.append((score(bad) - worst) / lost)
    return torch.stack(shares)


def effects(score, good, bad):
    return torch.stack(book_effects(score, good, bad))


def lost(score, good, bad):
    return score(good) - score(bad)


RIGHT[check_patching] = [
    (book_effects,),
    (in_a_loop,),
]


WRONG[check_patching] = [
    (..., "Nothing to check so far: return one share"),
    (lambda s, g, b: ..., "Nothing to check so far: return one share"),
    (lambda s, g, b: effects(s, g, b) * lost(s, g, b) + s(b), "the scores themselves"),
    (lambda s, g, b: effects(s, g, b) * lost(s, g, b), "Divide it by what was lost"),
    (lambda s, g, b: effects(s, g, b) * lost(s, g, b) / s(g), "and not by the clean score"),
    (lambda s, g, b: 1 - effects(s, g, b), "still missing"),
    (lambda s, g, b: effects(s, b, g), "You spoil one row of the clean run"),
    (lambda s, g, b: 1 - effects(s, b, g), "You spoil one row of the clean run"),
    (piling_up, "Your patches pile up"),
    (lambda s, g, b: effects(s, g, b).abs().sqrt(), "So the share is"),
    (lambda s, g, b: effects(s, g, b)[:2], "should have shape (4,)"),
    (lambda s, g, b: s(g), "should have shape (4,)"),
    (lambda s, g: s(g), "Your code stopped with TypeError"),
]


# The head that reads the token before


def score(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)


def score_by_loops(weights):
    return [
        [sum(head[i, i - 1].item() for i in range(1, 12)) / 11 for head in layer]
        for layer in weights
    ]


RIGHT[check_previous_head] = [
    (score, (1, 0)),
    (score_by_loops, torch.tensor([1, 0])),
]


WRONG[check_previous_head] = [
    (..., ..., "Nothing to check so far: return one score"),
    (score, ..., "Nothing to check so far: name the head"),
    (lambda w: score(w).mean(), (1, 0), "each head has a score of its own"),
    (lambda w: score(w) * 11 / 12, (1, 0), "average over the 11 others"),
    (lambda w: score(w) * 11, (1, 0), "That is a sum"),
    (lambda w: w.diagonal(1, -2, -1).mean(-1), (1, 0), "column i - 1"),
    (lambda w: w.diagonal(0, -2, -1).mean(-1), (1, 0), "reads itself"),
    (lambda w: w[..., 0].mean(-1), (1, 0), "the first token"),
    (lambda w: w.amax((-1, -2)), (1, 0), "on the token before, on average"),
    (lambda w: score(w).mT, (1, 0), "should have shape (2, 4)"),
    (score, 4, "Give two numbers"),
    (score, (0, 4), "heads 0 to 3"),
    (score, (-1, 0), "heads 0 to 3"),
    (score, (0, 3), "scores 0.63; another one scores 0.90"),
    (score, (0, 0), "another one scores 0.90"),
]
