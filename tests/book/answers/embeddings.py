"""Answers to the exercises of chapter 3: right, and wrong with the words that they get."""

import math
from functools import partial

import numpy as np
import torch
from sklearn.decomposition import PCA

from softlookup.exercises.embeddings import (
    check_int8,
    check_lookup,
    check_pca,
    check_set_cosine,
    check_stack,
)

RIGHT, WRONG = {}, {}


# lookup


def fetched(table, ids, rows=None, product=None, fetch=0):
    """Another right solution of the first exercise, in plain Python, with places to go wrong."""
    n, n_words, d = len(ids), len(table), len(table[0])
    found = [table[i].tolist() for i in ids.tolist()] if rows is None else rows(table, ids)
    return found, n * n_words * d if product is None else product(n, n_words, d), fetch


RIGHT[check_lookup] = [
    (fetched,),
    (lambda t, i: list(map(torch.as_tensor, fetched(t, i))),),
]


def overwritten(table, ids):
    found = table[ids].clone()
    table.zero_()
    return found


WRONG_LOOKUPS = {
    "columns": ({"rows": lambda t, i: t[:, : len(i)].T}, "The rows should have shape"),
    "sorted": ({"rows": lambda t, i: t[i.sort().values]}, "in the order of ids"),
    "from the end": ({"rows": lambda t, i: t[-i]}, "at the places that ids name"),
    "one id only": ({"product": lambda n, v, d: v * d}, "That is for one id"),
    "no vocabulary": ({"product": lambda n, v, d: n * d}, "a sum over the whole vocabulary"),
    "no dimension": ({"product": lambda n, v, d: n * v}, "has d entries"),
    "no zeros": ({"product": lambda n, v, d: n * (v - 1) * d}, "with 0 are computed as well"),
    "something": ({"product": lambda n, v, d: 1}, "How many products"),
    "copies": ({"fetch": 3}, "It copies numbers"),
    "words": ({"fetch": "none"}, "The second number should be numbers"),
    "overwritten": ({"rows": overwritten}, "changed the table"),
}


WRONG[check_lookup] = {
    name: (partial(fetched, **changes), message)
    for name, (changes, message) in WRONG_LOOKUPS.items()
}


# set cosine


def set_cosine(one, other, over=None):
    """Another right solution of the second exercise: sums over a union, with places to go wrong."""
    union = set(one) | set(other)
    x, y = ([word in words for word in union] for words in (one, other))
    shared = sum(a and b for a, b in zip(x, y, strict=True))
    if not shared:
        return 0
    return shared / (math.sqrt(sum(x)) * math.sqrt(sum(y)) if over is None else over(one, other))


RIGHT[check_set_cosine] = [
    (set_cosine,),
    (lambda a, b: torch.tensor(set_cosine(a, b)),),
]


def counted(one, other):
    words = sorted(set(one) | set(other))
    x, y = (np.array([w.count(word) for word in words], dtype=float) for w in (one, other))
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y))) if one and other else 0.0


WRONG[check_set_cosine] = {
    "counts": (counted, "binary bag knows only whether"),
    "jaccard": (
        lambda a, b: set_cosine(a, b, lambda a, b: len({*a, *b})),
        "Jaccard",
    ),
    "dice": (
        lambda a, b: set_cosine(a, b, lambda a, b: (len(set(a)) + len(set(b))) / 2),
        "Dice",
    ),
    "no root": (
        lambda a, b: set_cosine(a, b, lambda a, b: len(set(a)) * len(set(b))),
        "take the square root",
    ),
    "lists": (
        lambda a, b: set_cosine(a, b, lambda a, b: math.sqrt(len(a) * len(b))),
        "lengths of the lists",
    ),
    "nan": (lambda a, b: set_cosine(a, b) if a and b else math.nan, "NaN"),
    "one for empty": (lambda a, b: set_cosine(a, b) if a and b else 1.0, "has cosine 0; yours"),
    "constant": (lambda a, b: 5 / math.sqrt(35), "For ['a'] and ['b'] the cosine is 0.0000"),
    "angle": (lambda a, b: math.acos(set_cosine(a, b)), "the cosine is 0.8452; yours is"),
}


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


# PCA


def sklearn_pca(x, k):
    """Another right solution of the fourth exercise: scikit-learn, with its axes turned around."""
    found = PCA(k, svd_solver="full").fit(x.numpy())
    return -found.transform(x.numpy()), found.explained_variance_ratio_.tolist()


def eigen_pca(x, k):
    """A third: eigenvectors of the covariance, which come in rising order."""
    centred = x - x.mean(0)
    values, vectors = torch.linalg.eigh(centred.T @ centred)
    values, vectors = values.flip(0), vectors.flip(1)
    return centred @ vectors[:, :k], (values / values.sum())[:k]


RIGHT[check_pca] = [(sklearn_pca,), (eigen_pca,)]


def svd_pca(x, k, shares=None, coordinates=None, dtype=torch.float64, centre=True):
    """The fourth exercise with places to go wrong."""
    x = x.to(dtype)
    centred = x - x.mean(0) if centre else x
    U, S, Vt = torch.linalg.svd(centred, full_matrices=False)
    right = (S**2 / (S**2).sum())[:k]
    return (
        (U * S)[:, :k] if coordinates is None else coordinates(x, U[:, :k], S[:k], Vt[:k]),
        right if shares is None else shares(S, k, len(x)),
    )


WRONG_PCAS = {
    "singular values": (
        {"shares": lambda S, k, n: S[:k] / S.sum()},
        "goes with their square",
    ),
    "of the kept only": (
        {"shares": lambda S, k, n: S[:k] ** 2 / (S[:k] ** 2).sum()},
        "along all axes",
    ),
    "no mean": ({"centre": False}, "Take off the mean first"),
    "variances": ({"shares": lambda S, k, n: S[:k] ** 2 / (n - 1)}, "Those are variances"),
    "squares": ({"shares": lambda S, k, n: S[:k] ** 2}, "squared singular values"),
    "float32": ({"dtype": torch.float32}, "Stay in float64"),
    "cumulated": (
        {"shares": lambda S, k, n: (S**2 / (S**2).sum())[:k].cumsum(0)},
        "The share of axis 1 should be",
    ),
    "smallest first": (
        {"shares": lambda S, k, n: (S**2 / (S**2).sum()).flip(0)[:k]},
        "The share of axis 0 should be",
    ),
    "coordinates of raw points": (
        {"coordinates": lambda x, U, S, Vt: x @ Vt.T},
        "measured from the mean",
    ),
    "unit coordinates": ({"coordinates": lambda x, U, S, Vt: U}, "all have length 1"),
    "axes swapped": (
        {"coordinates": lambda x, U, S, Vt: (U * S).flip(1)},
        "along the rows of V",
    ),
    "transposed": ({"coordinates": lambda x, U, S, Vt: (U * S).T}, "coordinates should have shape"),
}


WRONG[check_pca] = {
    name: (partial(svd_pca, **changes), message) for name, (changes, message) in WRONG_PCAS.items()
}


WRONG[check_pca]["coordinates alone"] = (lambda x, k: svd_pca(x, k)[0], "Return two things")


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


def swapped(table, ids):
    rows, product, fetch = fetched(table, ids)
    return rows, fetch, product


WRONG[check_lookup]["swapped"] = (swapped, "wrong way round")
WRONG[check_lookup]["rows alone"] = (lambda t, i: t[i], "Return three things")
