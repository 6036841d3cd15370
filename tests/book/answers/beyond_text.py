"""Answers to the exercises beyond text: right, and wrong with the words that they get."""

import numpy as np
import torch

from softlookup.exercises.beyond_text import (
    check_drift,
    check_patches,
    check_sound,
    check_summary,
    check_twins,
    faded_frames,
)
from softlookup.tokenization import patchify

RIGHT, WRONG = {}, {}


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


# Two graphs that no block can tell apart

PRISM = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)]
ACROSS = [(i, j) for i in (0, 1, 2) for j in (3, 4, 5)]
RING = [(k, (k + 1) % 8) for k in range(8)]
CUBE = [(i, i ^ bit) for i in range(8) for bit in (1, 2, 4) if i < i ^ bit]
LADDER = [*RING, (0, 4), (1, 5), (2, 6), (3, 7)]
CHAIN = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]

RIGHT[check_twins] = [
    (6, PRISM, ACROSS),
    (8, CUBE, LADDER),
    (torch.tensor(6), torch.tensor(ACROSS), PRISM),
]
WRONG[check_twins] = [
    (..., ..., ..., "Nothing to check so far: give the number of nodes"),
    (6, PRISM, ..., "Nothing to check so far: give its edges"),
    (6, PRISM, [((a + 1) % 6, (b + 1) % 6) for a, b in PRISM], "These are one graph"),
    (6, [(k, (k + 1) % 6) for k in range(6)], PRISM[:6], "The second graph falls apart"),
    (6, PRISM, CHAIN, "The degrees tell them apart"),
    (6, [*CHAIN[:4], (1, 5)], [*CHAIN[:4], (2, 5)], "after three blocks the rows differ"),
    (9, RING, RING, "a whole number from 1 to 8"),
    (6, PRISM, [(0, 6)], "leaves the nodes 0 to 5"),
    (6, PRISM, [(0, 0)], "leads from a node to itself"),
    (6, PRISM, 7, "Give edges as pairs"),
]


# The sound behind the frames


def summed(frames, length=64):
    total = torch.zeros(length, dtype=frames.dtype)
    for k, frame in enumerate(frames):
        total[4 * k : 4 * k + 16] += frame
    return total


def book_sound(frames, window):
    return summed(frames) / summed(window.expand(13, 16))


def first_that_holds_it(frames, window):
    """Another right solution: each sample from the last frame that holds it."""
    plain = frames / window
    return [plain[min(i // 4, 12)][i - 4 * min(i // 4, 12)].item() for i in range(64)]


def by_least_squares(frames, window):
    """Another right solution: cutting is linear, so solve for the sound."""
    cuts = [faded_frames(one, window).flatten() for one in torch.eye(64, dtype=frames.dtype)]
    found = torch.linalg.lstsq(torch.stack(cuts).mT, frames.flatten()[:, None])
    return found.solution[:, 0].numpy()


RIGHT[check_sound] = [
    (book_sound,),
    (first_that_holds_it,),
    (by_least_squares,),
]
WRONG[check_sound] = [
    (..., "Nothing to check so far: return the samples"),
    (lambda f, w: ..., "Nothing to check so far: return the samples"),
    (lambda f, w: summed(f), "Those are the sums"),
    (lambda f, w: summed(f) / summed(torch.ones_like(f)), "They hold it faded"),
    (lambda f, w: summed(f) / summed(w.expand(13, 16))[32], "at the ends it is not"),
    (lambda f, w: summed(f) / 4, "At the ends fewer than four"),
    (lambda f, w: f / w, "Those are still frames"),
    (lambda f, w: (f / w).flatten(), "Frames overlap"),
    (lambda f, w: -book_sound(f, w), "Sample"),
    (lambda f, w: book_sound(f, w)[:60], "should have shape (64,)"),
    (lambda f: f, "Your code stopped with TypeError"),
]
