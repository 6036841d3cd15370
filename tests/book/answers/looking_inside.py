"""Answers to the exercises of chapter 22: right, and wrong with the words that they get."""

import numpy as np
import torch

from softlookup.exercises.looking_inside import (
    check_drift,
    check_patches,
    check_patching,
    check_previous_head,
    check_summary,
    check_two_maps,
)
from softlookup.tokenization import patchify

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


# Drift


def displacement(before, after):
    return (after - before).norm(dim=1)


RIGHT[check_drift] = [
    (displacement, [6, 7]),
    (lambda a, b: np.sqrt(((a - b).numpy() ** 2).sum(1)), {7, 6}),
    (displacement, torch.tensor([6, 7])),
]


WRONG[check_drift] = [
    (..., ..., "Nothing to check so far: return one length"),
    (displacement, ..., "Nothing to check so far: name the tokens"),
    (lambda a, b: (b - a).norm(), [6, 7], "one number for the whole table"),
    (lambda a, b: (b - a).norm(dim=0), [6, 7], "a token is a row"),
    (lambda a, b: (b - a).square().sum(1), [6, 7], "take the root"),
    (lambda a, b: b.norm(dim=1) - a.norm(dim=1), [6, 7], "subtract the tables first"),
    (lambda a, b: (b - a).abs().mean(1), [6, 7], "the root of the sum of squares"),
    (lambda a, b: (b - a).abs().sum(1), [6, 7], "the root of the sum of squares"),
    (lambda a, b: (b - a).norm(dim=1) / a.norm(dim=1), [6, 7], "relative to the row's length"),
    (lambda a, b: -(b - a).norm(dim=1), [6, 7], "not negative"),
    (lambda a, b: 2 * (b - a).norm(dim=1), [6, 7], "yours says 10"),
    (lambda a, b: torch.zeros(8), [6, 7], "should have shape (3,)"),
    (displacement, range(8), "fine_tuned(frozen=False)"),
    (displacement, [6], "exactly 0"),
    (displacement, [], "exactly 0"),
    (displacement, [5, 6, 7], "exactly 0"),
    (displacement, 6, "like [0, 3]"),
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


# The central sentence


def book_order(vectors):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return (unit @ unit.mT).sum(dim=1).argsort(descending=True)


def by_centroid(vectors):
    """Another right solution: the cosine with the mean of all unit vectors."""
    unit = torch.nn.functional.normalize(vectors, dim=1)
    likeness = unit @ unit.mean(dim=0)
    return sorted(range(len(unit)), key=lambda k: -likeness[k].item())


RIGHT[check_summary] = [
    (book_order,),
    (by_centroid,),
]


WRONG[check_summary] = [
    (..., "Nothing to check so far: return the sentences"),
    (lambda v: book_order(v).flip(0), "the wrong way round"),
    (
        lambda v: (v @ v.mT - (v @ v.mT).diag().diag()).sum(1).argsort(descending=True),
        "use the cosine",
    ),
    (lambda v: torch.cdist(v, v).sum(1).argsort(), "with distances, length counts too"),
    (lambda v: v.norm(dim=1).argsort(descending=True), "an order by length"),
    (lambda v: [2, 3, 4, 0, 5, 1], "Sentence 2 is not the most central"),
    (lambda v: [3, 2, 0, 4, 5, 1], "The first is right"),
    (lambda v: book_order(v)[:3], "Each sentence should stand there once"),
    (lambda v: "3", "Each sentence should stand there once"),
    (lambda v: 3, "Return the numbers of the sentences"),
]


# Sixteen tokens


def book_patches(image):
    return image.view(4, 2, 4, 2).transpose(1, 2).reshape(16, 4)


def patches_by_loops(image):
    return [
        [image[2 * row + a, 2 * column + b].item() for a in range(2) for b in range(2)]
        for row in range(4)
        for column in range(4)
    ]


RIGHT[check_patches] = [
    (book_patches,),
    (patches_by_loops,),
    (lambda image: patchify(image[None], 2),),
]


WRONG[check_patches] = [
    (..., "Nothing to check so far: return one row"),
    (lambda image: image.view(16, 4), "four pixels of one row"),
    (lambda image: book_patches(image.mT).view(16, 2, 2).mT.reshape(16, 4), "go down first"),
    (lambda image: book_patches(image).view(16, 2, 2).mT.reshape(16, 4), "Inside a patch"),
    (
        lambda image: image.view(2, 4, 2, 4).permute(1, 3, 0, 2).reshape(16, 4),
        "not as (2, 4, 2, 4)",
    ),
    (lambda image: book_patches(image).flip(0), "Patch 0 should hold [0.0, 1.0, 8.0, 9.0]"),
    (lambda image: book_patches(image).mT, "should have shape (16, 4)"),
    (lambda image: torch.arange(64.0).view(4, 2, 4, 2).transpose(1, 2).reshape(16, 4), "Patch"),
]
