"""Chapter 3's exercises: blank, solved by the book, solved otherwise, and wrong in known ways."""

import json
import math
import re

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

import registry
from softlookup.exercises import embeddings as exercises
from softlookup.words import similarity

NOTEBOOK = registry.by_name()["embeddings"].path
CHAPTER = {"math": math, "np": np, "torch": torch, "exercises": exercises}


def cell(key: str) -> str:
    """The code of one cell of the chapter."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return "".join(next(cell["source"] for cell in cells if cell["id"] == key))


def verdict_of(key: str) -> exercises.Verdict:
    """Run an exercise's cell; the verdict is its last line."""
    *lines, check = cell(key).splitlines()
    names = dict(CHAPTER)
    exec("\n".join(lines), names)
    return eval(check, names)


@pytest.mark.parametrize("exercise", ["lookup", "sets", "stack", "pca", "int8"])
def test_the_blank_exercise_asks_for_a_start_and_the_books_solution_passes(exercise):
    blank = verdict_of(f"ex-{exercise}-start")
    assert not blank
    assert "Nothing to check so far" in blank.message
    solved = verdict_of(f"ex-{exercise}-solution")
    assert solved, solved.message


CHECKS = [
    exercises.check_lookup,
    exercises.check_set_cosine,
    exercises.check_stack,
    exercises.check_pca,
    lambda answer: exercises.check_int8(answer, lambda d: 2 * math.asin(math.sqrt(d) / 254)),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("blank", [None, ..., lambda *arguments: None, lambda *arguments: ...])
def test_none_and_dots_are_a_blank_answer(check, blank):
    assert "Nothing to check so far" in check(blank).message


@pytest.mark.parametrize("check", CHECKS)
def test_an_error_in_the_learners_code_is_told(check):
    verdict = check(lambda *arguments: 1 / 0)
    assert not verdict
    told = "Your code stopped with ZeroDivisionError: division by zero"
    assert verdict.message.startswith(told)  # and perhaps what it was given


@pytest.mark.bad_input
@pytest.mark.parametrize("check", CHECKS)
def test_a_result_in_place_of_the_function_is_told(check):
    assert "wants the function itself" in check([1, 2]).message


# lookup


def fetched(table, ids, rows=None, product=None, fetch=0):
    """Another right solution of the first exercise, in plain Python, with places to go wrong."""
    n, n_words, d = len(ids), len(table), len(table[0])
    found = [table[i].tolist() for i in ids.tolist()] if rows is None else rows(table, ids)
    return found, n * n_words * d if product is None else product(n, n_words, d), fetch


def test_lookup_by_plain_lists_passes():
    assert exercises.check_lookup(fetched)
    assert exercises.check_lookup(lambda t, i: list(map(torch.as_tensor, fetched(t, i))))


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


@pytest.mark.parametrize("wrong", WRONG_LOOKUPS)
def test_wrong_lookups_are_told_what_is_wrong(wrong):
    changes, message = WRONG_LOOKUPS[wrong]
    verdict = exercises.check_lookup(lambda table, ids: fetched(table, ids, **changes))
    assert not verdict
    assert message in verdict.message


def test_two_numbers_the_wrong_way_round_are_told():
    def swapped(table, ids):
        rows, product, fetch = fetched(table, ids)
        return rows, fetch, product

    assert "wrong way round" in exercises.check_lookup(swapped).message
    assert "Return three things" in exercises.check_lookup(lambda t, i: t[i]).message


# set cosine


def set_cosine(one, other, over=None):
    """Another right solution of the second exercise: sums over a union, with places to go wrong."""
    union = set(one) | set(other)
    x, y = ([word in words for word in union] for words in (one, other))
    shared = sum(a and b for a, b in zip(x, y, strict=True))
    if not shared:
        return 0
    return shared / (math.sqrt(sum(x)) * math.sqrt(sum(y)) if over is None else over(one, other))


def test_set_cosine_with_vectors_of_flags_passes():
    assert exercises.check_set_cosine(set_cosine)
    assert exercises.check_set_cosine(lambda a, b: torch.tensor(set_cosine(a, b)))


def counted(one, other):
    words = sorted(set(one) | set(other))
    x, y = (np.array([w.count(word) for word in words], dtype=float) for w in (one, other))
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y))) if one and other else 0.0


WRONG_COSINES = {
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


@pytest.mark.parametrize("wrong", WRONG_COSINES)
def test_wrong_cosines_are_told_what_is_wrong(wrong):
    function, message = WRONG_COSINES[wrong]
    verdict = exercises.check_set_cosine(function)
    assert not verdict
    assert message in verdict.message


# stack


def outer(h1, h2):
    """Another right solution of the third exercise, with NumPy and only some of the products."""
    a, b = h1.numpy(), h2.numpy()
    return np.concatenate([a, b, *(a * column[:, None] for column in b.T)], axis=1)


def test_a_stack_with_numpy_passes_and_reports():
    verdict = exercises.check_stack(outer)
    assert verdict, verdict.message
    assert "Dimension 10 + 5 + 50, accuracy 0.9" in verdict.message


def centred_on_all(h1, h2):
    return torch.cat([h1, h2, (h1[:, :, None] * (h2 - h2.mean(0))[:, None]).flatten(1)], 1)


WRONG_STACKS = {
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


@pytest.mark.parametrize("wrong", WRONG_STACKS)
def test_wrong_stacks_are_told_what_is_wrong(wrong):
    function, message = WRONG_STACKS[wrong]
    verdict = exercises.check_stack(function)
    assert not verdict
    assert message in verdict.message


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


@pytest.mark.parametrize("function", [sklearn_pca, eigen_pca])
def test_other_ways_to_a_pca_pass(function):
    verdict = exercises.check_pca(function)
    assert verdict, verdict.message


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


@pytest.mark.parametrize("wrong", WRONG_PCAS)
def test_wrong_pcas_are_told_what_is_wrong(wrong):
    changes, message = WRONG_PCAS[wrong]
    verdict = exercises.check_pca(lambda x, k: svd_pca(x, k, **changes))
    assert not verdict
    assert re.search(message, verdict.message), verdict.message


def test_one_result_is_not_two():
    assert "Return two things" in exercises.check_pca(lambda x, k: svd_pca(x, k)[0]).message


# int8


def rounded(table, scale=None, step=torch.round):
    """Another right solution of the fifth exercise, with places to go wrong."""
    scales = table.abs().amax(1) / 127 if scale is None else scale(table)
    safe = torch.where(scales == 0, 1.0, scales)
    return step(table / safe[:, None]), scales


def by_largest(d):
    """Another right bound: the whole error, also of the largest entry, and twice its arcsine."""
    return 2 * math.asin(math.sqrt(d) / 254)


OTHER_BOUNDS = {
    "tangent": lambda d: 2 * math.tan(math.sqrt(d) / 254),
    "with a margin": lambda d: 2.2 * math.sqrt(d) / 254,
    "the largest entry is exact": lambda d: math.sqrt(d - 1) / 127,
    "smaller and still true": lambda d: 0.75 * math.sqrt(d) / 127,
}


@pytest.mark.parametrize("bound", OTHER_BOUNDS)
def test_other_bounds_that_hold_pass(bound):
    verdict = exercises.check_int8(rounded, OTHER_BOUNDS[bound])
    assert verdict, verdict.message


@pytest.mark.parametrize("d", [2, 3, 5, 16, 64, 256])
def test_the_attack_is_nearly_the_worst_that_an_ascent_finds_and_stays_below_the_proof(d):
    """The ascent climbs, from random starts, the first-order change of the cosine of two vectors
    with peaks at one place or at two; each other entry of either is off by half a scale. Of many
    dimensions it sticks at wrong signs; two vectors at 30° on either side of their peak do better.
    """
    table = exercises._nasty(d) / 127
    change = similarity((table * 127).round(), (table * 127).round()) - similarity(table, table)
    attack = change.abs().max().item()
    at_30_degrees = 2 * math.sin(math.pi / 3) * math.cos(math.pi / 6) ** 2 * math.sqrt(d - 1)
    worst = max(at_30_degrees, ascent(d, 0), ascent(d, 1)) / 254
    assert 0.99 * worst < attack < 1.001 * worst
    assert attack <= math.sqrt(d - 1) / 127


def ascent(d, second_peak, steps=300):
    """The largest first-order change found, in units of 1/254."""
    start = torch.randn(2, 30, d, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    start.requires_grad_()
    optimiser = torch.optim.Adam([start], lr=0.05)
    free = torch.ones(2, 1, d, dtype=torch.float64)
    free[0, 0, 0] = free[1, 0, second_peak] = 0
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = 0.05 * 0.99**step
        x, y = torch.tanh(start) * free + (1 - free)
        X, Y = x.norm(dim=1, keepdim=True), y.norm(dim=1, keepdim=True)
        cosine = (x * y).sum(1, keepdim=True) / (X * Y)
        turn_x = ((y / Y - cosine * x / X) / X * free[0]).abs().sum(1)
        turn_y = ((x / X - cosine * y / Y) / Y * free[1]).abs().sum(1)
        found = turn_x + turn_y
        optimiser.zero_grad()
        (-found.sum()).backward()
        optimiser.step()
    return found.max().item()


def test_other_roundings_pass():
    assert exercises.check_int8(rounded, by_largest)
    verdict = exercises.check_int8(lambda t: [part.tolist() for part in rounded(t)], by_largest)
    assert verdict, verdict.message


WRONG_ROUNDINGS = {
    "cut off": ({"step": torch.trunc}, "more than half a scale"),
    "one scale for all": (
        {"scale": lambda t: (t.abs().max() / 127).expand(len(t))},
        "larger than needed",
    ),
    "127 forgotten": ({"scale": lambda t: t.abs().amax(1)}, "larger than needed"),
    "128": ({"scale": lambda t: t.abs().amax(1) / 128}, "does not fit"),
    "not rounded": ({"step": lambda z: z}, "should be whole numbers"),
    "signed maximum": ({"scale": lambda t: t.amax(1) / 127}, "does not fit|more than half"),
}


@pytest.mark.parametrize("wrong", WRONG_ROUNDINGS)
def test_wrong_roundings_are_told_what_is_wrong(wrong):
    changes, message = WRONG_ROUNDINGS[wrong]
    verdict = exercises.check_int8(lambda table: rounded(table, **changes), by_largest)
    assert not verdict
    assert re.search(message, verdict.message), verdict.message


def test_a_zero_row_must_not_become_nan():
    def naive(table):
        scales = table.abs().amax(1) / 127
        return (table / scales[:, None]).round(), scales

    assert "NaN" in exercises.check_int8(naive, by_largest).message


WRONG_BOUNDS = {
    "one vector turns": (lambda d: math.asin(math.sqrt(d) / 254), "Do both vectors turn"),
    "too small": (lambda d: 1 / 254, "whose cosine changes by"),
    "zero": (lambda d: 0.0, "whose cosine changes by"),
    "half of the turn": (lambda d: 0.5 * math.sqrt(d) / 127, "whose cosine changes by"),
    "true at few dimensions only": (lambda d: (d - 1) ** 0.4 / 127, "d = 256 .* cosine changes"),
    "one peak only": (lambda d: 0.6495 * math.sqrt(d - 1) / 127, "d = 2 .* cosine changes"),
    "a little too small": (
        lambda d: max(1 / 127, 0.64 * math.sqrt(d) / 127) if d != 3 else 0.01,
        "d = 5 .* cosine changes",
    ),
    "a little too small at the end": (
        lambda d: 0.643 * math.sqrt(d) / 127 if d > 64 else math.sqrt(d - 1) / 127,
        "d = 256 .* cosine changes",
    ),
    "too large": (lambda d: 2.0, "a smaller one can be proved"),
    "twice": (lambda d: 2 * math.sqrt(d) / 127, "a smaller one can be proved"),
    "a quarter too large": (lambda d: 1.25 * math.sqrt(d) / 127, "a smaller one can be proved"),
    "not a number": (lambda d: math.nan, "NaN"),
    "words": (lambda d: "small", "The bound should be numbers"),
    "blank": (lambda d: None, "Nothing to check so far: let my_bound return one number"),
    "no dimension": (lambda d: 0.02, "a smaller one can be proved|whose cosine changes"),
}


@pytest.mark.parametrize("wrong", WRONG_BOUNDS)
def test_wrong_bounds_are_told_what_is_wrong(wrong):
    function, message = WRONG_BOUNDS[wrong]
    verdict = exercises.check_int8(rounded, function)
    assert not verdict
    assert re.search(message, verdict.message), verdict.message
