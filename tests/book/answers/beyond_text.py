"""Answers to the exercises beyond text: right, and wrong with the words that they get."""

from itertools import combinations

import numpy as np
import torch

from softlookup.exercises.beyond_text import (
    check_edge,
    check_patches,
    check_sound,
    check_summary,
    check_twins,
)
from softlookup.tokenization import patchify

RIGHT, WRONG = {}, {}


# One more edge


def eccentricity(mask):
    """How many steps the farthest two nodes are apart."""
    known, n_steps = torch.eye(len(mask)), 0
    while (known == 0).any():
        known, n_steps = (mask.float() @ known > 0).float(), n_steps + 1
    return n_steps


def joined(mask, i, j):
    mask = mask.clone()
    mask[i, j] = mask[j, i] = True
    return mask


def by_all_pairs(mask):
    pairs = torch.combinations(torch.arange(len(mask))).tolist()
    return tuple(min(pairs, key=lambda pair: eccentricity(joined(mask, *pair))))


def by_shortest_paths(mask):
    """Another right solution: with all distances known, a new edge needs no search."""
    n = len(mask)
    far = np.where(mask.numpy(), 1.0, np.inf)
    np.fill_diagonal(far, 0)
    for k in range(n):
        far = np.minimum(far, far[:, k : k + 1] + far[k : k + 1])
    best = {}
    for i in range(n):
        for j in range(i):
            there = far[:, i : i + 1] + 1 + far[j : j + 1]
            best[i, j] = np.minimum(far, np.minimum(there, there.T)).max()
    return np.array(min(best, key=best.get))


def farthest(mask):
    known, pair = torch.eye(len(mask)), (0, 0)
    while (known == 0).any():
        pair = tuple((known == 0).nonzero()[0].tolist())
        known = (mask.float() @ known > 0).float()
    return pair


RIGHT[check_edge] = [
    (by_all_pairs, "4 blocks do what took 7"),
    (by_shortest_paths,),
]
WRONG[check_edge] = [
    (..., "Nothing to check so far: return the two nodes"),
    (lambda mask: ..., "Nothing to check so far: return the two nodes"),
    (farthest, "You join the two that are farthest apart"),
    (lambda mask: (0, 2), "With the edge (0, 2) 3 blocks are needed"),
    (lambda mask: (0, 1), "joined already"),
    (lambda mask: (2, 2), "twice the node 2"),
    (lambda mask: (0, 99), "There are the nodes 0 to 4"),
    (lambda mask: 4, "like (0, 3)"),
    (lambda: (0, 3), "Your code stopped with TypeError"),
]


# Sentences that stand for all


def cosines_of(vectors):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return unit @ unit.mT


def stand_for(likeness, chosen):
    return sum(max(row[k] for k in chosen) for row in likeness.tolist())


def best_of(likeness, k):
    choices = combinations(range(len(likeness)), k)
    return max(choices, key=lambda chosen: stand_for(likeness, chosen))


def book_summary(vectors, k):
    return best_of(cosines_of(vectors), k)


def by_the_last(vectors, k):
    """Another right solution: the sentences are tried in the other order, and numpy adds."""
    cosines = cosines_of(vectors).numpy()
    choices = list(combinations(reversed(range(len(cosines))), k))
    sums = [cosines[:, choice].max(axis=1).sum() for choice in choices]
    return np.array(choices[int(np.argmax(sums))])


def one_by_one(vectors, k):
    likeness, chosen = cosines_of(vectors), []
    for _ in range(k):
        rest = set(range(len(likeness))) - set(chosen)
        chosen.append(max(rest, key=lambda one: stand_for(likeness, [*chosen, one])))
    return chosen


def most_central(vectors, k):
    return cosines_of(vectors).sum(dim=1).topk(k).indices


RIGHT[check_summary] = [
    (book_summary, "not among the best two"),
    (by_the_last,),
    (lambda v, k: torch.tensor(book_summary(v, k)),),
]


WRONG[check_summary] = [
    (..., "Nothing to check so far: return the numbers"),
    (lambda v, k: ..., "Nothing to check so far: return the numbers"),
    (most_central, "These are the most central ones"),
    (one_by_one, "Two that are chosen together can do better"),
    (lambda v, k: best_of(v @ v.mT, k), "Use the cosine: in a dot product"),
    (lambda v, k: best_of(-torch.cdist(v, v), k), "Use the cosine: with distances"),
    (lambda v, k: best_of(cosines_of(v).fill_diagonal_(0), k), "represented by itself"),
    (lambda v, k: list(range(len(v) - k, len(v))), "another choice of"),
    (lambda v, k: [0] * k, "Return 3 different numbers from 0 to 7"),
    (lambda v, k: range(k + 1), "Return 3 different numbers from 0 to 7"),
    (lambda v, k: [99] * k, "different numbers from 0 to 7"),
    (lambda v, k: 3, "yours is 3"),
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


# The sound behind the strengths


def book_sound(strengths, first):
    sound = list(first)
    for row in strengths:
        likeness = torch.fft.irfft(row.square() + 0j, n=16)
        known = torch.stack([*sound[-15:], torch.zeros_like(sound[0])])
        lags = range(1, 9)
        rest = torch.stack([likeness[m] - known @ known.roll(m) for m in lags])
        beside = torch.stack([known[15 - m] + known[(15 + m) % 16] for m in lags])
        sound.append(rest @ beside / (beside @ beside))
    return torch.stack(sound)


def by_trying_both_signs(strengths, first):
    """Another right solution: the size from the energy, the sign by what fits the strengths."""
    sound = first.numpy().tolist()
    for row in strengths.numpy():
        energy = np.fft.irfft(row**2, n=16)[0]
        size = max(energy - sum(x * x for x in sound[-15:]), 0) ** 0.5
        tries = [np.array([*sound[-15:], sign * size]) for sign in (1, -1)]
        errors = [np.abs(np.abs(np.fft.rfft(frame)) - row).sum() for frame in tries]
        sound.append(tries[int(np.argmin(errors))][-1])
    return np.array(sound)


def sizes(strengths, first, power=1):
    found = book_sound(strengths, first)
    return torch.cat([first, found[15:].abs() ** power])


def symmetric(strengths, first):
    total, times = torch.zeros(2, 64, dtype=strengths.dtype)
    for k, frame in enumerate(torch.fft.irfft(strengths + 0j, n=16)):
        total[k : k + 16] += frame
        times[k : k + 16] += 1
    return total / times


RIGHT[check_sound] = [
    (book_sound, "its phase is not lost"),
    (by_trying_both_signs,),
]
WRONG[check_sound] = [
    (..., "Nothing to check so far: return the samples"),
    (lambda s, f: ..., "Nothing to check so far: return the samples"),
    (sizes, "its sign is not"),
    (lambda s, f: sizes(s, f, 2), "the squares of the new samples"),
    (lambda s, f: -book_sound(s, f), "All signs are turned around"),
    (symmetric, "as if each frame were symmetric"),
    (lambda s, f: book_sound(s, f)[15:], "belong in front"),
    (lambda s, f: torch.fft.irfft(s + 0j, n=16), "Those are frames"),
    (lambda s, f: torch.cat([f, torch.zeros(49)]), "Sample 15 is the first to be wrong"),
    (lambda s, f: book_sound(s, f)[:60], "should have shape (64,)"),
    (lambda s: s, "Your code stopped with TypeError"),
]
