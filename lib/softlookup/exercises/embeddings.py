"""Checks of chapter 3: lookup, set cosine, a stack that a line can read, PCA, one byte a number."""

import math
import random
from functools import lru_cache
from itertools import product

import torch
from torch import Tensor

from softlookup.data import captioned_digits
from softlookup.exercises.compare import Mistakes, advised, close, compare, numbers, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.ops import cosine_similarity
from softlookup.words import (
    count_matrix,
    dequantize,
    fit_logistic,
    logistic_probability,
    one_hot,
    principal_components,
    project,
    similarity,
)

REQUIRED_ACCURACY = 0.9
SEEN = 240  # of 360 pairs of a caption and a picture
DIMENSIONS = (2, 3, 5, 16, 64, 256)

LOOKUP = "Return three things: the rows, and two numbers of multiplications."
OVERWRITTEN = "Your code changed the table: a lookup only reads it."
ROWS = "The rows should be those of the table at the places that ids name, in the order of ids."


@exercise("return the rows and the two numbers.")
def check_lookup(answer: Answer) -> str:
    """Check a function of (table, ids) that returns rows and two numbers of multiplications.

    Args:
        answer: The learner's function.

    Chapter: embeddings#exercises
    """
    generator = torch.Generator().manual_seed(3)
    for (n_words, d), ids in ((5, 3), [3]), ((11, 7), [2, 10, 2, 0]), ((7, 2), [6, 0]):
        table = torch.randn(n_words, d, dtype=torch.float64, generator=generator)
        ids = torch.tensor(ids)
        rows, product, fetch = answer.several(3, LOOKUP, table, ids, kept=OVERWRITTEN)
        expected = one_hot(ids, n_words, dtype=torch.float64) @ table
        compare(rows, expected, "The rows", otherwise=ROWS)
        _count(product, fetch, len(ids), n_words, d)
    return "The same rows, without a single multiplication."


@exercise("return one number.")
def check_set_cosine(answer: Answer) -> str:
    """Check a function of two lists of words: the cosine of their binary bags.

    Args:
        answer: The learner's function.

    Chapter: embeddings#exercises
    """
    first = ["this", "is", "a", "sentence", "this", "is", "another", "sentence"]
    second = ["this", "is", "not", "a", "sentence", "yet", "another", "not", "a", "sentence"]
    draw = random.Random(3)
    pool = list("abcdefgh")
    cases = [(first, second), (second, first), (["a"], ["b"]), (["a", "a", "b"], ["b", "a"])]
    bags = [[draw.choice(pool) for _ in range(draw.randrange(1, 9))] for _ in range(80)]
    cases += zip(bags[:40], bags[40:], strict=True)
    for one, other in [*cases, ([], ["a"]), (["a"], []), ([], [])]:
        _same_cosine(scalar(answer(one, other), "The cosine"), one, other)
    return "For the lecture's two sentences it is 5/√35 = 0.8452, and 46 other pairs are right."


@exercise("return one row for each pair.")
def check_stack(answer: Answer) -> str:
    """Check a function of (h1, h2) that returns a stack in which a linear head can tell who lies.

    Args:
        answer: The learner's function.

    Chapter: embeddings#exercises
    """
    h1, h2, lies = _pairs()
    h = _matrix(answer(h1, h2), len(h1))
    d1, d2 = h1.shape[1], h2.shape[1]
    if h.shape[1] < d1 + d2 or not close(h[:, : d1 + d2], torch.cat([h1, h2], dim=1)):
        raise Wrong(f"The first {d1} columns should be h1, the next {d2} should be h2.")
    some = _matrix(answer(h1[:7], h2[:7]), 7)
    if some.shape[1] != h.shape[1] or not close(some, h[:7]):
        raise Wrong("A row should depend on its own pair only: seven pairs alone got other rows.")
    weight, bias = fit_logistic(h[:SEEN], lies[:SEEN].double(), l2=0.001)
    guess = logistic_probability(weight, bias, h[SEEN:]) > 0.5
    accuracy = (guess == lies[SEEN:]).double().mean().item()
    told = f"Dimension {d1} + {d2}" + (f" + {h.shape[1] - d1 - d2}" if h.shape[1] > d1 + d2 else "")
    told += f", accuracy {accuracy:.3f}"
    if h.shape[1] == d1 + d2:
        raise Wrong(f"{told}: the two halves side by side are not enough for a linear head. "
                    "Add columns that depend on both.")  # fmt: skip
    if accuracy < REQUIRED_ACCURACY:
        raise Wrong(f"{told}, and {REQUIRED_ACCURACY} is possible. Does every new column mix the "
                    "caption with the picture?")  # fmt: skip
    return f"{told} on {len(h) - SEEN} new pairs, with a linear head."


PCA = "Return two things: the coordinates and the shares of variance."


@exercise("return the coordinates and the shares.")
def check_pca(answer: Answer) -> str:
    """Check a function of (x, k) that returns coordinates and shares of variance.

    Args:
        answer: The learner's function.

    Chapter: embeddings#exercises
    """
    generator = torch.Generator().manual_seed(3)
    for n, d, k in (31, 5, 2), (7, 11, 3), (13, 3, 3):
        x = torch.randn(n, d, dtype=torch.float64, generator=generator)
        x = x * torch.linspace(1, 4, d, dtype=torch.float64) + 5
        mine, shares = answer.several(2, PCA, x, k)
        found = principal_components(x, k)
        mistakes = _share_mistakes(x, k, found.shares)
        compare(shares, found.shares, "The list of shares", mistakes, _wrong_share, tolerance=1e-10)
        expected = project(x, found)
        _same_coordinates(numbers(mine, expected, "The table of coordinates"), expected, x,
                          found.axes)  # fmt: skip
    return "Coordinates up to sign, and shares to ten digits."


ROUNDED = "my_int8 should return two things: the codes and the scales."


@exercise("return the codes and the scales.", "let my_bound return one number.")
def check_int8(quantise: Answer, bound: Answer) -> str:
    """Check a rounding of tables to one byte a number, and a bound on what it does to cosines.

    Args:
        quantise: The learner's function of a table; it returns codes and scales.
        bound: The learner's function of a dimension; it returns one number.

    Chapter: embeddings#exercises
    """
    generator = torch.Generator().manual_seed(3)
    tables = [torch.randn(13, d, dtype=torch.float64, generator=generator) for d in DIMENSIONS]
    tables[1][4] = 0
    tables[2][3] *= 1e6
    for table in tables:
        _same_rounding(*quantise.several(2, ROUNDED, table), table)
    worst = 0.0
    for d in DIMENSIONS:
        limit = scalar(bound(d), "The bound")
        worst = max(worst, _attacked(limit, d))
    return f"The rounding keeps its promise, and no attack came above {worst:.0%} of your bound."


def _count(product: object, fetch: object, n: int, n_words: int, d: int) -> None:
    product, fetch = scalar(product, "The first number"), scalar(fetch, "The second number")
    case = f"For {n} ids and a table of {n_words} × {d}"
    known = {
        n_words * d: "That is for one id; how many are there?",
        n * d: "Each entry of the result is a sum over the whole vocabulary.",
        n * n_words: "Each row of the result has d entries.",
        n * (n_words - 1) * d: "Products with 0 are computed as well.",
    }
    if product == 0 and fetch == n * n_words * d:
        raise Wrong(
            "You have the two numbers the wrong way round: the one-hot product comes first."
        )
    if product != n * n_words * d:
        hint = known.get(product, "How many products are there in one entry of the result?")
        raise Wrong(f"{case} the one-hot product does not take {product:g} multiplications. {hint}")
    if fetch != 0:
        raise Wrong(f"{case} you say that a lookup multiplies {fetch:g} times. It copies numbers; "
                    "what would it multiply?")  # fmt: skip


def _same_cosine(value: float, one: list[str], other: list[str]) -> None:
    A, B = set(one), set(other)
    right = len(A & B) / math.sqrt(len(A) * len(B)) if A and B else 0.0
    if math.isclose(value, right, rel_tol=1e-6, abs_tol=1e-9):
        return
    if not (A and B):
        raise Wrong(f"By the library's rule a list without words has cosine 0; yours is {value:g}.")
    counts = count_matrix([one, other], sorted(A | B))
    mistakes = [
        (cosine_similarity(*counts),
         "You counted how often words come: a binary bag knows only whether. Use sets."),
        (len(A & B) / len(A | B),
         "That divides by the size of the union (Jaccard's index), not by √(|A||B|)."),
        (2 * len(A & B) / (len(A) + len(B)), "That is Dice's coefficient: it divides by the mean "
         "size, not by the root of the product."),
        (len(A & B) / (len(A) * len(B)), "You divided by |A||B|: take the square root of it."),
        (len(A & B) / math.sqrt(len(one) * len(other)),
         "You divided by the lengths of the lists; a word that comes twice is one word."),
    ]  # fmt: skip
    right = f"For {sorted(A)} and {sorted(B)} the cosine is {right:.4f}; yours is {value:.4f}."
    raise Wrong(advised(value, mistakes, right))


@lru_cache(maxsize=1)
def _pairs() -> tuple[Tensor, Tensor, Tensor]:
    """Captions, pictures, and whether the caption lies: the chapter's data, drawn anew."""
    captions, pictures, lies = captioned_digits(torch.Generator().manual_seed(33))
    h1 = count_matrix(captions, sorted({word for caption in captions for word in caption}))
    h2 = project(pictures.flatten(1), principal_components(pictures.flatten(1), 5))
    return h1, h2, lies


def _matrix(answer: object, n: int) -> Tensor:
    try:
        values = torch.as_tensor(answer, dtype=torch.float64).detach()
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(
            f"Return a matrix of numbers; you returned a {type(answer).__name__}."
        ) from None
    if values.ndim != 2 or len(values) != n:
        raise Wrong(f"The stack should have {n} rows; its shape is {tuple(values.shape)}.")
    if not values.isfinite().all():
        raise Wrong("The stack should hold finite numbers.")
    return values


def _share_mistakes(x: Tensor, k: int, right: Tensor) -> Mistakes:
    sizes, raw = torch.linalg.svdvals(x - x.mean(0)), torch.linalg.svdvals(x)
    return [
        (sizes[:k] / sizes.sum(),
         "Your shares are of the singular values; a variance goes with their square."),
        (right / right.sum(), "Your shares sum to 1 over the axes that are kept; divide by the "
         "variance along all axes."),
        (raw[:k] ** 2 / (raw**2).sum(),
         "Take off the mean first: PCA looks at the spread around it."),
        (sizes[:k] ** 2 / (len(x) - 1), "Those are variances; a share is a part of their sum."),
        (sizes[:k] ** 2, "Those are squared singular values; a share is a part of their sum."),
    ]  # fmt: skip


def _wrong_share(yours: Tensor, right: Tensor) -> str:
    if close(yours, right, tolerance=1e-5):
        return "Nearly: the shares are right to five digits, but not to ten. Stay in float64."
    j = int(((yours - right).abs() > 1e-10).nonzero()[0])
    return f"The share of axis {j} should be {right[j]:.6f}; yours is {yours[j]:.6f}."


def _same_coordinates(yours: Tensor, right: Tensor, x: Tensor, axes: Tensor) -> None:
    signs = (yours * right).sum(0).sign()
    if close(yours * signs, right):
        return
    without_mean = x @ axes.mT
    if close(yours * (yours * without_mean).sum(0).sign(), without_mean):
        raise Wrong("The shares are right. The coordinates should be measured from the mean.")
    unit = right / right.norm(dim=0)
    if close(yours * (yours * unit).sum(0).sign(), unit):
        raise Wrong("The shares are right. Your coordinates all have length 1: stretch each axis "
                    "by its singular value.")  # fmt: skip
    raise Wrong("The shares are right, the coordinates are not: are they along the rows of Vᵀ?")


def _same_rounding(codes: object, scales: object, table: Tensor) -> None:
    codes = numbers(codes, table, "The table of codes")
    scales = numbers(scales, table[:, 0], "The list of scales")
    if not torch.equal(codes, codes.round()):
        raise Wrong("The codes should be whole numbers: round them.")
    if codes.abs().max() > 127:
        raise Wrong(f"A code of {codes.abs().max():.0f} does not fit: the largest is 127.")
    off = (codes * scales[:, None] - table).abs()
    if (scales < 0).any() or (off > scales[:, None] / 2 * (1 + 1e-6) + 1e-30).any():
        row = int((off - scales[:, None] / 2).amax(1).argmax())
        raise Wrong(f"In row {row} an entry is off by {off[row].max():.3g}, with a scale of "
                    f"{scales[row]:.3g}: more than half a scale. Rounded, not cut off? And by a "
                    "scale of its own row?")  # fmt: skip
    largest = table.abs().amax(1)
    if (scales > 1.01 * largest / 127 + 1e-30).any():
        raise Wrong("Your scales are larger than needed: the largest entry of a row should become "
                    "127 or -127.")  # fmt: skip


def _attacked(limit: float, d: int) -> float:
    """The largest change of a cosine that an attack finds, as a share of the bound."""
    if limit > 1.1 * math.sqrt(d - 1) / 127:
        if limit > 1.2 * math.sqrt(d) / 127:
            hint = "By what angle can an error turn a vector at most?"
        else:
            hint = "The largest entry of a row is exact: how many others can be off?"
        raise Wrong(
            f"For d = {d} your bound is {limit:.4f}, and a smaller one can be proved. {hint}"
        )
    table = _nasty(d)
    scales = table.abs().amax(1) / 127
    codes = (table / scales[:, None]).round().to(torch.int8)
    rounded = dequantize(codes, scales)
    change = (similarity(rounded, rounded) - similarity(table, table)).abs().max().item()
    if change > limit:
        raise Wrong(f"For d = {d} there are two vectors whose cosine changes by {change:.5f}; your "
                    f"bound says {limit:.5f}. Do both vectors turn?")  # fmt: skip
    return change / limit


def _nasty(d: int) -> Tensor:
    """Vectors that rounding hurts: a peak of 127, the rest next to the middle of two codes.

    To first order the worst pair of many dimensions shares its peak and has opposite entries of
    127 tan 30°/√(d-1) elsewhere: its cosine changes by 0.65 √(d-1)/127. The worst pair of few
    dimensions has two peaks, and at d = 2 its cosine changes by 1/127 (found by gradient ascent).
    """
    halves = sorted({math.floor(127 * k / 10 / math.sqrt(d - 1)) + 0.5 for k in range(10)})
    rows = []
    for nudge, sign, rest in product((-1e-4, 1e-4), (-1, 1), halves):
        row = torch.full((d,), sign * (rest + nudge), dtype=torch.float64)
        row[0] = 127
        rows.append(row)
        for across, peak in product(halves, (0, 1)):
            row = row.clone()
            row[peak], row[1 - peak] = 127, across - nudge
            rows.append(row)
    return torch.stack(rows)
