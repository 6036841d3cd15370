"""Answers to the exercises of vector search: right, and wrong with the words that they get."""

import math
from functools import partial

import numpy as np
import torch
from sklearn.metrics import pairwise_distances

from softlookup.exercises.vector_search import (
    check_index,
    check_int8,
    check_map,
    check_recall,
    check_stack,
    check_start,
)

RIGHT, WRONG = {}, {}


# recall


def recalled(queries, table, right, k, score=None, share=None):
    """Another right solution: a loop over the queries, with places to go wrong."""
    n_found = 0
    for query, row in zip(queries.numpy(), right.tolist(), strict=True):
        scores = table.numpy() @ query if score is None else score(table.numpy(), query)
        n_found += row in np.argsort(-scores)[:k]
    return n_found / len(queries) if share is None else share(n_found, len(queries), k)


RIGHT[check_recall] = [(recalled,)]


def cosines(table, query):
    return table @ query / np.linalg.norm(table, axis=1)


WRONG_RECALLS = {
    "cosine": ({"score": cosines}, "You ranked by the cosine"),
    "distance": (
        {"score": lambda table, query: -np.linalg.norm(table - query, axis=1)},
        "You ranked by the distance",
    ),
    "the worst": ({"score": lambda table, query: -table @ query}, "the worst answers"),
    "over k": ({"share": lambda found, n, k: found / n / k}, "divided by k"),
    "a number": ({"share": lambda found, n, k: found}, "That is a number of queries"),
    "constant": ({"share": lambda found, n, k: 0.5}, "For 31 queries, 17 rows and k = 3"),
}
WRONG[check_recall] = {
    name: (partial(recalled, **changes), words) for name, (changes, words) in WRONG_RECALLS.items()
}
WRONG[check_recall]["the first alone"] = (
    lambda q, t, r, k: recalled(q, t, r, 1),
    "Only your first answer counts",
)
WRONG[check_recall]["a list"] = (lambda q, t, r, k: [0.5], "The recall should have")


# stack


def outer(h1, h2):
    """Another right solution of the third exercise, with NumPy and only some of the products."""
    a, b = h1.numpy(), h2.numpy()
    return np.concatenate([a, b, *(a * column[:, None] for column in b.T)], axis=1)


RIGHT[check_stack] = [
    (outer, "Dimension 10 + 5 + 50, accuracy 0.9"),
]


def centred_on_all(h1, h2):
    return torch.cat([h1, h2, (h1[:, :, None] * (h2 - h2.mean(0))[:, None]).flatten(1)], 1)


WRONG[check_stack] = {
    "plain": (lambda a, b: torch.cat([a, b], 1), "side by side are not enough"),
    "the wrong way round": (lambda a, b: torch.cat([b, a], 1), "The first 10 columns should be h1"),
    "below each other": (lambda a, b: torch.cat([a, b[:, :1].expand_as(a)], 0), "should have 360"),
    "products of one half": (
        lambda a, b: torch.cat([a, b, (b[:, :, None] * b[:, None]).flatten(1)], 1),
        "0.9 is possible",
    ),
    "products alone": (
        lambda a, b: (a[:, :, None] * b[:, None]).flatten(1),
        "The first 10 columns should be h1",
    ),
    "infinite": (lambda a, b: torch.cat([a, b, 1 / (0 * b)], 1), "finite numbers"),
    "words": (lambda a, b: "stack", "Return a matrix of numbers; you returned a str"),
    "the mean of all pairs": (centred_on_all, "seven pairs alone got other rows"),
}


# a map


def landmark_map(distances, k, square=True, half=True, power=0.5, first=True):
    """Another right solution: the centred products by a matrix, with places to go wrong."""
    table = distances.numpy() ** (2 if square else 1)
    centre = np.eye(len(table)) - 1 / len(table)
    values, vectors = np.linalg.eigh(-(centre @ table @ centre) / (2 if half else 1))
    order = np.argsort(-values if first else values)[:k]
    return vectors[:, order] * values[order].clip(min=0) ** power


RIGHT[check_map] = [(landmark_map,), (lambda distances, k: (-landmark_map(distances, k)).tolist(),)]


def turned(distances, k):
    x = landmark_map(distances, k)
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(k, k)))[0]
    return x @ rotation


WRONG[check_map] = {
    name: (partial(landmark_map, **changes), words)
    for name, (changes, words) in {
        "not squared": ({"square": False}, "Square the distances first"),
        "no half": ({"half": False}, "too large by √2"),
        "unit axes": ({"power": 0}, "all have length 1"),
        "no root": ({"power": 1}, "take their roots"),
        "least spread": ({"first": False}, "the least spread"),
    }.items()
}
WRONG[check_map]["shifted"] = (lambda d, k: landmark_map(d, k) + 1, "it is shifted or turned")
WRONG[check_map]["turned"] = (turned, "it is shifted or turned")
WRONG[check_map]["stretched"] = (
    lambda d, k: 3 * landmark_map(d, k),
    "a distance on your map is off",
)
WRONG[check_map]["transposed"] = (lambda d, k: landmark_map(d, k).T, "should have shape")


# an index


def located(index, distance):
    """Another right solution: seventeen distances say where the query is; then all can be computed.

    The difference of two squared distances is linear in the query. (An index of another kind finds
    nothing.)
    """
    if not isinstance(index, torch.Tensor) or index.ndim != 2:
        return 0
    table = index.numpy()
    rows = list(range(0, 600, 24))
    told = np.array([distance(i) for i in rows])
    anchors = table[rows]
    left = 2 * (anchors[1:] - anchors[0])
    squares = (anchors**2).sum(axis=1)
    right = told[0] ** 2 - told[1:] ** 2 + squares[1:] - squares[0]
    query = np.linalg.lstsq(left, right, rcond=None)[0]
    return int(np.argmin(((table - query) ** 2).sum(axis=1)))


def bounded(index, distance, n_pivots=40, exact=True, slack=1.0):
    """A third: pivots first, then the others in the order of their bounds."""
    between = pairwise_distances(index.numpy())
    pivots = list(range(0, 600, 600 // n_pivots))
    told = {i: distance(i) for i in pivots}
    bounds = np.max([abs(between[i] - told[i]) for i in pivots], axis=0) * slack
    for i in np.argsort(bounds):
        if exact and bounds[i] >= min(told.values()):
            break
        if int(i) not in told:
            told[int(i)] = distance(int(i))
        if not exact and len(told) > n_pivots + 5:
            break
    return min(told, key=told.get)


def keep(table):
    return table


RIGHT[check_index] = [(keep, located, "with 25 of 600"), (keep, bounded)]


def everywhere(index, distance):
    return min(range(600), key=distance)


def stubborn(index, distance):
    while True:
        distance(0)


WRONG[check_index] = {
    "everywhere": (keep, everywhere, "600 of 600 distances on average (that is nearly all)"),
    "the first": (keep, lambda index, distance: 0, "You returned row 0, at a distance of"),
    "bounds too large": (keep, partial(bounded, slack=3.0), "Only a lower bound allows"),
    "stopped early": (keep, partial(bounded, n_pivots=5, exact=False), "Only a lower bound allows"),
    "many pivots": (keep, partial(bounded, n_pivots=300), "Always right, but you asked for"),
    "no row": (keep, lambda index, distance: 600, "should return the number of a row"),
    "half a row": (keep, lambda index, distance: 0.5, "should return the number of a row"),
    "asks for no row": (keep, lambda index, distance: distance(-1), "there is no row -1"),
    "never stops": (keep, stubborn, "was called 1800 times"),
    "a row and its distance": (
        keep,
        lambda index, distance: (3, distance(3)),
        "The number of a row should",
    ),
}


# int8


def rounded(table, scale=None, step=torch.round):
    """Another right solution of the fifth exercise, with places to go wrong."""
    scales = table.abs().amax(1) / 127 if scale is None else scale(table)
    safe = torch.where(scales == 0, 1.0, scales)
    return step(table / safe[:, None]), scales


def proved(d):
    """Another right bound: the angle by which the errors of all but the largest entry turn."""
    return 2 * math.asin(math.sqrt(d - 1) / 254)


def by_largest(d):
    """A bound that counts an error in the largest entry, which is exact."""
    return 2 * math.asin(math.sqrt(d) / 254)


OTHER_BOUNDS = [
    lambda d: 2 * math.tan(math.sqrt(d - 1) / 254),
    lambda d: 1.09 * math.sqrt(d - 1) / 127,
    lambda d: math.sqrt(d - 1) / 127,
    lambda d: 0.75 * math.sqrt(d) / 127,
]
RIGHT[check_int8] = [(rounded, bound) for bound in OTHER_BOUNDS]


RIGHT[check_int8] += [
    (rounded, proved),
    (partial(rounded, scale=lambda t: t.abs().amax(1).where(t.any(1), 127.0) / 127), proved),
    (lambda t: [part.tolist() for part in rounded(t)], proved),
]


WRONG_ROUNDINGS = {
    "cut off": ({"step": torch.trunc}, "more than half a scale"),
    "one scale for all": (
        {"scale": lambda t: (t.abs().max() / 127).expand(len(t))},
        "larger than needed",
    ),
    "127 forgotten": ({"scale": lambda t: t.abs().amax(1)}, "larger than needed"),
    "128": ({"scale": lambda t: t.abs().amax(1) / 128}, "does not fit"),
    "not rounded": ({"step": lambda z: z}, "should be whole numbers"),
    "signed maximum": ({"scale": lambda t: t.amax(1) / 127}, "does not fit"),
}


WRONG[check_int8] = {
    name: (partial(rounded, **changes), proved, message)
    for name, (changes, message) in WRONG_ROUNDINGS.items()
}


WRONG_BOUNDS = {
    "one vector turns": (lambda d: math.asin(math.sqrt(d) / 254), "Do both vectors turn"),
    "too small": (lambda d: 1 / 254, "whose cosine changes by"),
    "zero": (lambda d: 0.0, "whose cosine changes by"),
    "half of the turn": (lambda d: 0.5 * math.sqrt(d) / 127, "whose cosine changes by"),
    "true at few dimensions only": (
        lambda d: (d - 1) ** 0.4 / 127,
        "For d = 256 there are two vectors whose",
    ),
    "one peak only": (
        lambda d: 0.6495 * math.sqrt(d - 1) / 127,
        "For d = 2 there are two vectors whose",
    ),
    "a little too small": (
        lambda d: max(1 / 127, 0.64 * math.sqrt(d) / 127) if d != 3 else 0.01,
        "For d = 5 there are two vectors whose",
    ),
    "a little too small at the end": (
        lambda d: 0.643 * math.sqrt(d) / 127 if d > 64 else math.sqrt(d - 1) / 127,
        "For d = 256 there are two vectors whose",
    ),
    "too large": (lambda d: 2.0, "a smaller one can be proved"),
    "twice": (lambda d: 2 * math.sqrt(d) / 127, "a smaller one can be proved"),
    "a quarter too large": (lambda d: 1.25 * math.sqrt(d) / 127, "a smaller one can be proved"),
    "not a number": (lambda d: math.nan, "NaN"),
    "words": (lambda d: "small", "The bound should be numbers"),
    "blank": (lambda d: None, "Nothing to check so far: let my_bound return one number"),
    "no dimension": (lambda d: 0.02, "a smaller one can be proved"),
}


WRONG[check_int8] |= {
    name: (rounded, function, message) for name, (function, message) in WRONG_BOUNDS.items()
}

LARGEST = "The largest entry of a row is exact: how many others can be off?"
WRONG[check_int8] |= {
    "an error in the largest entry": (rounded, lambda d: math.sqrt(d) / 127, LARGEST),
    "the same by the angle": (rounded, by_largest, LARGEST),
    "the same by the tangent": (rounded, lambda d: 2 * math.tan(math.sqrt(d) / 254), LARGEST),
    "with a margin": (rounded, lambda d: 2.2 * math.sqrt(d) / 254, LARGEST),
}


def naive(table):
    scales = table.abs().amax(1) / 127
    return (table / scales[:, None]).round(), scales


WRONG[check_int8]["a row of zeros becomes NaN"] = (naive, proved, "NaN")


# a bad start


def started(points=((0, 0), (9, 0), (0, 1), (9, 1)), centres=((4, 0), (4, 1))):
    """Another right solution: four points, and centres between the long sides."""
    return [list(point) for point in points], torch.tensor(centres)


RIGHT[check_start] = [(started,)]


WRONG[check_start] = {
    "a good start": (lambda: started(centres=((0, 0), (9, 1))), "the best is 1. 50 times"),
    "not bad enough": (lambda: started(((0, 0), (2, 0), (0, 1), (2, 1)), ((1, 0), (1, 1))), "50 t"),
    "an idle centre": (lambda: started(centres=((4, 0), (400, 1))), "gets no point"),
    "three centres": (
        lambda: started(centres=((4, 0), (4, 1), (0, 0))),
        "should have shape (2, 2)",
    ),
    "two points": (lambda: started(points=((0, 0), (1, 1))), "from 3 to 10 points"),
    "words": (lambda: ("points", "centres"), "should be rows of numbers"),
    "infinite": (lambda: started(points=((0, 0), (math.inf, 1), (2, 2))), "finite numbers"),
    "one thing": (lambda: 3, "two things"),
}
