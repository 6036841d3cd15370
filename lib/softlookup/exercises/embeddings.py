"""Checks: lookup, set cosine, chance, a late word, judges, tables for a pencil."""

import math
import random
from collections.abc import Iterable
from itertools import permutations, product

import torch

from softlookup.exercises.compare import advised, close, compare, numbers, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.ops import cosine_similarity
from softlookup.words import count_matrix, one_hot

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


@exercise("return the table.")
def check_chance(my_table: Answer) -> str:
    """Check a function of (rows, columns): the table of counts in which every PMI is 0.

    Args:
        my_table: The learner's function of the sums of the rows and of the columns.

    Chapter: embeddings#exercises
    """
    cases = ([4, 4, 16], [12, 12]), ([6], [1, 2, 3]), ([2, 5, 1, 8], [3, 3, 4, 4, 2])
    for rows, columns in cases:
        n = sum(rows)
        tall, wide = torch.tensor(rows).double()[:, None], torch.tensor(columns).double()
        expected = tall * wide / n
        found = numbers(my_table(list(rows), list(columns)), expected, "The table")
        case = f"For rows {rows} and columns {columns}: "
        if close(found, tall * wide):
            raise Wrong(case + f"divide each product by the total, {n}.")
        if close(found, torch.full_like(expected, n / expected.numel())):
            raise Wrong(case + "all entries are equal, and so the sums are not those given.")
        if (found <= 0).any():
            raise Wrong(case + "an entry is not above 0, and its PMI is no number.")
        for sums, given, what in (found.sum(1), tall[:, 0], "row"), (found.sum(0), wide, "column"):
            if not close(sums, given):
                raise Wrong(case + f"a {what} of your table has another sum.")
        if not close(found, expected):
            ratio = found / expected
            i, j = divmod(int((ratio - 1).abs().argmax()), len(columns))
            raise Wrong(
                case + f"in row {i}, column {j} the pair stands together {ratio[i, j]:.2f} times "
                "as often as by chance."
            )
    return "In three tables every pair is as frequent as chance would have it."


@exercise("return the vector of the new word.")
def check_late(my_vector: Answer) -> str:
    """Check a function of (p, U, sizes, Vt, d): the row of E that belongs to a portrait.

    Args:
        my_vector: The learner's function.

    Chapter: embeddings#exercises
    """
    generator = torch.Generator().manual_seed(3)
    for n_words, n_company, d in (7, 7, 3), (11, 5, 2), (5, 13, 4):
        shape = n_words, n_company
        table = torch.rand(shape, dtype=torch.float64, generator=generator)
        U, sizes, Vt = torch.linalg.svd(table, full_matrices=False)
        new = torch.rand(n_company, dtype=torch.float64, generator=generator)
        for p, whose in (table[1], "row 1 of the table"), (new, "a new portrait"):
            along = Vt[:d] @ p
            mistakes = [
                (along, "That is the row of UΣ: the sizes are to be shared, so a root is left."),
                (along / sizes[:d], "That is the row of U. E has the roots of the sizes as well."),
                (
                    along * sizes[:d].sqrt(),
                    "You multiplied by the roots: p V = u Σ has too much of Σ already.",
                ),
                (Vt @ p / sizes.sqrt(), "Those are the numbers of all directions; d are wanted."),
            ]
            if n_words == n_company:
                mistakes.append((U[:, :d].mT @ p / sizes[:d].sqrt(), WORDS_AND_COMPANY))
            expected = along / sizes[:d].sqrt()
            compare(
                my_vector(p, U, sizes, Vt, d),
                expected,
                "The vector",
                mistakes,
                f"For {whose} ({n_words} words, {n_company} companions, d = {d}) it is another.",
            )
    return "Old portraits get their own rows, and new ones a place among them."


WORDS_AND_COMPANY = (
    "You used U, whose rows belong to words. A portrait has a number for each companion: that is V."
)


@exercise('return four points, or the word "impossible".')
def check_judges(my_points: Answer) -> str:
    """Check a function of three orders: a query and three points that are ranked just so.

    Args:
        my_points: The learner's function.

    Chapter: embeddings#exercises
    """
    orders = ["".join(order) for order in permutations("ABC")]
    n_impossible = 0
    for by_cosine, by_dot, by_distance in product(orders, repeat=3):
        wanted = {"cosine": by_cosine, "dot product": by_dot, "distance": by_distance}
        told = ", ".join(f"{name} {order}" for name, order in wanted.items())
        answer = my_points(by_cosine, by_dot, by_distance)
        impossible = by_cosine[0] == by_dot[1] == by_distance[2]
        n_impossible += impossible
        if isinstance(answer, str):
            if answer != "impossible":
                raise Wrong(f'Return four points or the word "impossible", not {answer!r}.')
            if not impossible:
                raise Wrong(f"There are such points for {told}.")
        else:
            _ranked_as_wanted(answer, wanted, told)
    return f"You found points for {216 - n_impossible} cases, and no way for {n_impossible}."


@exercise("return a list of tables.")
def check_pencil(my_tables: Answer) -> str:
    """Check a function of n: all tables whose first layer is rational.

    Args:
        my_tables: The learner's function.

    Chapter: embeddings#exercises
    """
    for n in 1, 3, 6:
        right = {table for table in _tables(n) if _trouble(table) is None}
        yours = _as_tables(my_tables(n))
        if len(set(yours)) < len(yours):
            raise Wrong(f"For n = {n} you return a table twice.")
        for table in sorted(set(yours) - right):
            if not all(0 <= entry <= n for row in table for entry in row):
                raise Wrong(f"For n = {n}, {table} has an entry that is not from 0 to {n}.")
            raise Wrong(f"{table} does not belong to them: {_trouble(table)}")
        for table in sorted(right - set(yours)):
            raise Wrong(f"For n = {n}, {table} is missing: {_merit(table)}")
    return f"All of them: {len(right)} of the {7**4} tables with entries up to 6."


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
        raise Wrong(
            f"{case} you say that a lookup multiplies {fetch:g} times. It copies numbers; "
            "what would it multiply?"
        )


def _same_cosine(value: float, one: list[str], other: list[str]) -> None:
    A, B = set(one), set(other)
    right = len(A & B) / math.sqrt(len(A) * len(B)) if A and B else 0.0
    if math.isclose(value, right, rel_tol=1e-6, abs_tol=1e-9):
        return
    if not (A and B):
        raise Wrong(f"By the library's rule a list without words has cosine 0; yours is {value:g}.")
    counts = count_matrix([one, other], sorted(A | B))
    mistakes = [
        (
            cosine_similarity(*counts),
            "You counted how often words come: a binary bag knows only whether. Use sets.",
        ),
        (
            len(A & B) / len(A | B),
            "That divides by the size of the union (Jaccard's index), not by √(|A||B|).",
        ),
        (
            2 * len(A & B) / (len(A) + len(B)),
            "That is Dice's coefficient: it divides by the mean "
            "size, not by the root of the product.",
        ),
        (len(A & B) / (len(A) * len(B)), "You divided by |A||B|: take the square root of it."),
        (
            len(A & B) / math.sqrt(len(one) * len(other)),
            "You divided by the lengths of the lists; a word that comes twice is one word.",
        ),
    ]
    right = f"For {sorted(A)} and {sorted(B)} the cosine is {right:.4f}; yours is {value:.4f}."
    raise Wrong(advised(value, mistakes, right))


def _ranked_as_wanted(answer: object, wanted: dict[str, str], told: str) -> None:
    try:
        points = torch.as_tensor(answer, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise Wrong('Return four points of two numbers, or the word "impossible".') from None
    if points.shape != (4, 2):
        raise Wrong(f"Return four points of two numbers; yours have shape {tuple(points.shape)}.")
    if not points.isfinite().all() or (points < 0).any():
        raise Wrong(f"For {told} a coordinate is not finite or below 0.")
    if (points.norm(dim=1) == 0).any():
        raise Wrong(f"For {told} a point is the origin, which has no direction.")
    query, candidates = points[0], points[1:]
    dots = candidates @ query
    across = (candidates[:, 0] * query[1] - candidates[:, 1] * query[0]).abs()
    worse = {  # the smaller, the better
        "cosine": torch.atan2(across, dots),
        "dot product": -dots,
        "distance": (candidates - query).norm(dim=1),
    }
    for name, order in wanted.items():
        values = worse[name]
        found = "".join("ABC"[k] for k in values.argsort().tolist())
        inorder = values.sort().values
        if (inorder.diff() <= 1e-12 * inorder[1:].abs()).any():
            raise Wrong(f"For {told} two of your candidates are equally good by {name}.")
        if found != order:
            raise Wrong(f"For {told} your points are ranked {found} by {name}.")


def _tables(n: int) -> Iterable[tuple[tuple[int, int], tuple[int, int]]]:
    for a, b, c, d in product(range(n + 1), repeat=4):
        yield (a, b), (c, d)


def _squares(table: tuple) -> tuple[int, int]:
    """The sum of the squared singular values, and the square of their difference."""
    (a, b), (c, d) = table
    total = a * a + b * b + c * c + d * d
    return total, total**2 - 4 * (a * d - b * c) ** 2


def _trouble(table: tuple) -> str | None:
    """Why a table does not belong to those of the exercise, if it does not."""
    (a, b), (c, d) = table
    total, gap = _squares(table)
    if a * d == b * c:
        return "a singular value is 0."
    if gap == 0:
        return "its singular values are equal, so no direction is the best."
    if math.isqrt(gap) ** 2 != gap:
        return f"the squares of its singular values are ({total} ± √{gap})/2, and √{gap} is a root."
    return None


def _merit(table: tuple) -> str:
    total, gap = _squares(table)
    larger, smaller = (total + math.isqrt(gap)) // 2, (total - math.isqrt(gap)) // 2
    told = f"the squares of its singular values are {larger} and {smaller}."
    if math.isqrt(larger) ** 2 != larger or math.isqrt(smaller) ** 2 != smaller:
        told += " They need not be squares themselves."
    return told


def _as_tables(answer: object) -> list[tuple]:
    try:
        return [tuple(tuple(int(entry) for entry in row) for row in table) for table in answer]
    except (TypeError, ValueError):
        raise Wrong("Return a list of tables ((a, b), (c, d)) of whole numbers.") from None
