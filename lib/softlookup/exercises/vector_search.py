"""Checks of vector search: recall, a bad start, a stack, a map, an index, a byte a number."""

import math
from functools import lru_cache
from itertools import product

import torch
from torch import Tensor

from softlookup.data import captioned_digits
from softlookup.exercises.compare import advised, close, numbers, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.ops import unit_vectors
from softlookup.words import (
    count_matrix,
    dequantize,
    fit_logistic,
    lloyd,
    logistic_probability,
    principal_components,
    project,
    similarity,
)

REQUIRED_ACCURACY = 0.9
SEEN = 240  # of 360 pairs of a caption and a picture
DIMENSIONS = (2, 3, 5, 16, 64, 256)
MOST_POINTS, WORSE = 10, 50  # of the bad start: points, and how many times worse it should be
STARTED = "my_start should return two things: the points and the two centres."
N_ROWS, MOST = 600, 100  # of the index: rows, and how many a search may ask for on average


@exercise("return one number.")
def check_recall(my_recall: Answer) -> str:
    """Check a function of (queries, table, right, k) that returns a share of queries.

    Args:
        my_recall: The learner's function.

    Chapter: vector_search#exercises
    """
    generator = torch.Generator().manual_seed(3)
    for n_queries, n, d, k in (31, 17, 5, 3), (13, 11, 2, 1), (7, 5, 3, 5):
        queries = torch.randn(n_queries, d, dtype=torch.float64, generator=generator)
        table = torch.randn(n, d, dtype=torch.float64, generator=generator)
        table *= torch.linspace(0.5, 3, n)[:, None]
        places = torch.randint(min(2 * k, n), (n_queries, 1), generator=generator)
        ranked = (queries @ table.mT).argsort(dim=1, descending=True)
        right = ranked.gather(1, places)[:, 0]
        expected = _recall(queries @ table.mT, right, k)
        found = scalar(my_recall(queries, table, right, k), "The recall")
        mistakes = [
            (
                _recall(unit_vectors(queries) @ unit_vectors(table).mT, right, k),
                "You ranked by the cosine; the exercise wants the dot product.",
            ),
            (
                _recall(-torch.cdist(queries, table), right, k),
                "You ranked by the distance; the exercise wants the dot product.",
            ),
            (_recall(-queries @ table.mT, right, k), "You took the worst answers."),
            (_recall(queries @ table.mT, right, 1), "Only your first answer counts; use all k."),
            (expected / k, "That is divided by k: a query has one right row, found or not."),
            (expected * n_queries, "That is a number of queries; divide it by how many there are."),
        ]
        if not math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-9):
            case = f"For {n_queries} queries, {n} rows and k = {k} it is {expected:.4f}."
            raise Wrong(advised(found, mistakes, case))
    return "Three tables agree; with k as large as the table nothing is missed."


@exercise("return the points and the two centres.")
def check_start(my_start: Answer) -> str:
    """Check points and two centres from which k-means comes to rest in a bad place.

    Args:
        my_start: The learner's function without arguments; it returns points and centres.

    Chapter: vector_search#exercises
    """
    points, centres = my_start.several(2, STARTED)
    points, centres = _rows(points, "The points"), _rows(centres, "The centres")
    if not 3 <= len(points) <= MOST_POINTS:
        raise Wrong(f"Return from 3 to {MOST_POINTS} points; you returned {len(points)}.")
    if centres.shape != (2, points.shape[1]):
        raise Wrong(
            f"The centres should have shape (2, {points.shape[1]}), two places like those of the "
            f"points; yours have {tuple(centres.shape)}."
        )
    nearest = torch.cdist(points, centres).argmin(dim=1)
    if len(nearest.unique()) < 2:
        raise Wrong("One of your centres gets no point in the first step, and has no mean.")
    reached = lloyd(points, centres).inertia
    best = min(_spread(points, chosen) for chosen in product((False, True), repeat=len(points)))
    if reached < WORSE * best or reached <= best * (1 + 1e-9):
        raise Wrong(
            f"The sum of the squared distances comes to rest at {reached:.4g}, and the best is "
            f"{best:.4g}. {WORSE} times the best is asked for."
        )
    return f"The start comes to rest at {reached:.4g}, where {best:.4g} is possible."


@exercise("return one row for each pair.")
def check_stack(answer: Answer) -> str:
    """Check a function of (h1, h2) that returns a stack in which a linear head can tell who lies.

    Args:
        answer: The learner's function.

    Chapter: vector_search#exercises
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
        raise Wrong(
            f"{told}: the two halves side by side are not enough for a linear head. "
            "Add columns that depend on both."
        )
    if accuracy < REQUIRED_ACCURACY:
        raise Wrong(
            f"{told}, and {REQUIRED_ACCURACY} is possible. Does every new column mix the "
            "caption with the picture?"
        )
    return f"{told} on {len(h) - SEEN} new pairs, with a linear head."


@exercise("return the coordinates.")
def check_map(my_map: Answer) -> str:
    """Check a function of (distances, k) that returns coordinates along the principal axes.

    Args:
        my_map: The learner's function.

    Chapter: vector_search#exercises
    """
    generator = torch.Generator().manual_seed(3)
    for n, d, k in (13, 5, 2), (7, 11, 3), (17, 2, 2):
        x = torch.randn(n, d, dtype=torch.float64, generator=generator)
        x = x * torch.linspace(1, 4, d, dtype=torch.float64) + 5
        distances = torch.cdist(x, x)
        expected = project(x, principal_components(x, k))
        mine = numbers(my_map(distances, k), expected, "The table of coordinates")
        if _same_but_for_signs(mine, expected):
            continue
        for mistaken, advice in _map_mistakes(distances, k):
            if _same_but_for_signs(mine, mistaken):
                raise Wrong(advice)
        off = (torch.cdist(mine, mine) - torch.cdist(expected, expected)).abs().max()
        if off < 1e-6:
            raise Wrong(
                "The distances on your map are right, but it is shifted or turned: put "
                "the mean at the origin, and the widest spread along the first axis."
            )
        raise Wrong(f"For {n} points and k = {k} a distance on your map is off by {off:.3g}.")
    return "The map of the principal axes, and you never saw a vector."


def _same_but_for_signs(mine: Tensor, expected: Tensor) -> bool:
    opposite = (mine * expected).sum(dim=0) < 0
    return close(torch.where(opposite, -mine, mine), expected)


def _map_mistakes(distances: Tensor, k: int) -> list[tuple[Tensor, str]]:
    def drawn(table: Tensor, power: float = 0.5, first: bool = True) -> Tensor:
        values, vectors = torch.linalg.eigh(table)
        values, vectors = (values.flip(0), vectors.flip(1)) if first else (values, vectors)
        return vectors[:, :k] * values[:k].clamp(min=0) ** power

    def centred(table: Tensor) -> Tensor:
        return table - table.mean(dim=1, keepdim=True) - table.mean(dim=0) + table.mean()

    products = -centred(distances**2) / 2
    return [
        (drawn(2 * products), "Your map is too large by √2: where does the 2 in -2 x·y go?"),
        (drawn(-centred(distances) / 2), "Square the distances first."),
        (drawn(products, power=0), "Your axes all have length 1: what do they stretch to?"),
        (drawn(products, power=1), "The eigenvalues are squares of the sizes: take their roots."),
        (
            drawn(products, first=False),
            "Those are the axes of the least spread: eigh sorts from the smallest up.",
        ),
    ]


@exercise("prepare the index.", "search with it.")
def check_index(my_index: Answer, my_search: Answer) -> str:
    """Check an index, and an exact search that asks for few distances.

    Args:
        my_index: The learner's function of a table.
        my_search: The learner's function of the index and of a function that tells distances.

    Chapter: vector_search#exercises
    """
    table, queries = _towns()
    index = my_index(table)
    n_asked = 0
    for query in queries:
        distances = (table - query).norm(dim=1).tolist()
        asked = []

        def distance(i: int, distances: list[float] = distances, asked: list = asked) -> float:
            if not 0 <= int(i) < N_ROWS:
                raise IndexError(f"there is no row {int(i)}")
            if len(asked) >= 3 * N_ROWS:
                raise RuntimeError(f"distance was called {3 * N_ROWS} times for one query")
            asked.append(int(i))
            return distances[int(i)]

        found = my_search(index, distance)
        best = min(range(N_ROWS), key=distances.__getitem__)
        place = _row(found)
        if distances[place] > distances[best] + 1e-9:
            raise Wrong(
                f"You returned row {place}, at a distance of {distances[place]:.3f}; row {best} is "
                f"at {distances[best]:.3f}. Only a lower bound allows to leave a row out."
            )
        n_asked += len(asked)
    mean = n_asked / len(queries)
    if mean > MOST:
        told = " (that is nearly all)" if mean > 0.9 * N_ROWS else ""
        raise Wrong(
            f"Always right, but you asked for {mean:.0f} of {N_ROWS} distances on average"
            f"{told}; {MOST} are enough."
        )
    return f"Always right, with {mean:.0f} of {N_ROWS} distances on average."


def _row(found: object) -> int:
    place = scalar(found, "The number of a row")
    if place != int(place) or not 0 <= place < N_ROWS:
        raise Wrong(f"my_search should return the number of a row; you returned {place:g}.")
    return int(place)


@lru_cache(maxsize=1)
def _towns() -> tuple[Tensor, Tensor]:
    """A table of 600 rows in twenty heaps, and queries within the heaps, between and outside."""
    generator = torch.Generator().manual_seed(3)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=torch.float64, generator=generator)

    centres = 3 * normal(20, 16)
    table = (centres[:, None] + 0.5 * normal(20, N_ROWS // 20, 16)).flatten(0, 1)
    table = table[torch.randperm(N_ROWS, generator=generator)]
    within = centres + 0.5 * normal(20, 16)
    between = (centres[:10] + centres[10:]) / 2
    return table, torch.cat([within, between, 3 * normal(10, 16)])


def _recall(scores: Tensor, right: Tensor, k: int) -> float:
    return (scores.topk(k).indices == right[:, None]).any(dim=1).double().mean().item()


ROUNDED = "my_int8 should return two things: the codes and the scales."


@exercise("return the codes and the scales.", "let my_bound return one number.")
def check_int8(quantise: Answer, bound: Answer) -> str:
    """Check a rounding of tables to one byte a number, and a bound on what it does to cosines.

    Args:
        quantise: The learner's function of a table; it returns codes and scales.
        bound: The learner's function of a dimension; it returns one number.

    Chapter: vector_search#exercises
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


@lru_cache(maxsize=1)
def _pairs() -> tuple[Tensor, Tensor, Tensor]:
    """Captions, pictures, and whether the caption lies: the chapter's data, drawn anew."""
    captions, pictures, lies = captioned_digits(torch.Generator().manual_seed(33))
    h1 = count_matrix(captions, sorted({word for caption in captions for word in caption}))
    h2 = project(pictures.flatten(1), principal_components(pictures.flatten(1), 5))
    return h1, h2, lies


def _rows(answer: object, what: str) -> Tensor:
    try:
        values = torch.as_tensor(answer, dtype=torch.float64).detach()
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"{what} should be rows of numbers, such as [[0, 1], [2, 3]].") from None
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.numel() == 0 or not values.isfinite().all():
        raise Wrong(f"{what} should be rows of finite numbers, such as [[0, 1], [2, 3]].")
    return values


def _spread(points: Tensor, chosen: tuple[bool, ...]) -> float:
    """The sum of the squared distances of two groups to their means."""
    one = torch.tensor(chosen)
    groups = [group for group in (points[one], points[~one]) if len(group)]
    return sum((group - group.mean(dim=0)).square().sum().item() for group in groups)


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
        raise Wrong(
            f"In row {row} an entry is off by {off[row].max():.3g}, with a scale of "
            f"{scales[row]:.3g}: more than half a scale. Rounded, not cut off? And by a "
            "scale of its own row?"
        )
    largest = table.abs().amax(1)  # a row of zeros has no largest entry: any scale will do
    if ((largest > 0) & (scales > 1.01 * largest / 127 + 1e-30)).any():
        raise Wrong(
            "Your scales are larger than needed: the largest entry of a row should become "
            "127 or -127."
        )


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
        raise Wrong(
            f"For d = {d} there are two vectors whose cosine changes by {change:.5f}; your "
            f"bound says {limit:.5f}. Do both vectors turn?"
        )
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
