"""Checks: the number of pairs, one column of a table, the noise, analogies."""

import torch
from torch import Tensor

from softlookup.exercises.compare import Mistakes, close, compare, one_number
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.ops import softmax
from softlookup.words.word2vec import analogy_accuracy, noise_distribution

SLIDE_TABLE = ((17.0, 24, 1), (23, 5, 7), (4, 6, 13), (10, 12, 19), (11, 18, 25))
f64 = torch.float64


@exercise("return the number of pairs.")
def check_count(answer: Answer) -> str:
    """Check a function of (n, k): how many pairs a text of n tokens has with a window of k.

    Args:
        answer: The learner's function.

    Chapter: word2vec#exercises
    """
    for n, k in [(8, 2), (8, 1), (40, 5), (3, 5), (5, 4), (2, 2), (1, 3), (0, 2)]:
        expected = sum(min(t, k) + min(n - 1 - t, k) for t in range(n))
        found = one_number(answer(n, k), "The number of pairs")
        if found != expected:
            raise Wrong(_wrong_count(found, expected, n, k))
    return "Eight words have 26 pairs at k = 2, and short texts are right, too."


def _wrong_count(found: float, expected: int, n: int, k: int) -> str:
    case = f"For n = {n} and k = {k} "
    if 2 * found == expected:
        return f"{case}you counted each two neighbours once; each of them is once the centre."
    if found == 2 * k * n:
        return f"{case}you gave every word 2k neighbours; those near the ends have fewer."
    if found == 2 * k * n - k * (k + 1):
        return f"{case}the text is shorter than the window: no two places are {n} apart."
    if found == expected + n:
        return f"{case}you paired each word with itself, too."
    return f"{case}there are {expected} pairs; yours are {found:g}."


@exercise("return the vector of word i.")
def check_column(answer: Answer) -> str:
    """Check a function of (U, i) that returns the vector of word i from a table U of e x M.

    Args:
        answer: The learner's function.

    Chapter: word2vec#exercises
    """
    generator = torch.Generator().manual_seed(4)
    tables = [torch.tensor(SLIDE_TABLE, dtype=f64).T.contiguous()]
    tables += [
        torch.randn(e, m, generator=generator, dtype=f64) for e, m in ((3, 3), (2, 7), (5, 4))
    ]
    for U, i in zip(tables, (3, 1, 5, 2), strict=True):
        size = f"Word {i} of a table of {U.shape[0]} × {U.shape[1]}"
        mistakes = [(U[:, i - 1], f"{size}: you took the column before. We count from 0.")]
        if i < len(U):
            row = f"{size}: you took row {i}. Here every word has a column."
            mistakes.insert(0, (U[i], row))

        def otherwise(found: Tensor, right: Tensor, size: str = size) -> str:
            return f"{size}: its first number is {right[0]:.4g}; yours is {found[0]:.4g}."

        vector = _flat(answer(U, i))
        compare(vector, U[:, i], f"{size}: the vector", mistakes, otherwise)
    return "The fourth column: [10, 12, 19]. Row 3 does not exist in a table of 3 × 5."


@exercise("return one probability per word.")
def check_noise(answer: Answer) -> str:
    """Check a function of (counts, power) that returns the noise distribution.

    Args:
        answer: The learner's function.

    Chapter: word2vec#exercises
    """
    cases = [([1.0, 16.0, 81.0], 0.75), ([4.0, 9.0, 25.0, 1.0], 0.5), ([7.0, 2.0], 0.0)]
    for counts, power in cases:
        counts = torch.tensor(counts, dtype=f64)
        expected = noise_distribution(counts, power)
        case = f"For counts {counts.int().tolist()} and power {power}"
        shares, powers = counts / counts.sum(), counts**power
        mistakes = [
            (powers, f"{case} yours sum to {powers.sum():.4g}: divide by the sum."),
            (
                shares**power,
                f"{case} yours sum to {(shares**power).sum():.4g}: the power comes "
                "first, then divide by the sum.",
            ),
            (shares, f"{case} you left the power out: those are the plain shares."),
            (
                softmax(powers),
                f"{case} you took a softmax: divide by the sum, with no exponentials.",
            ),
        ]

        def otherwise(found: Tensor, right: Tensor, case: str = case) -> str:
            return f"{case} the first probability is {right[0]:.4f}; yours is {found[0]:.4f}."

        compare(answer(counts, power), expected, "The noise", mistakes, otherwise)
    return "It sums to 1: (1, 16, 81) became (1, 8, 27) thirty-sixths."


@exercise("return the two accuracies.")
def check_accuracies(answer: Answer) -> str:
    """Check a function of (table, questions): analogy accuracy without, and with, the inputs.

    Args:
        answer: The learner's function; it returns two shares, inputs excluded first.

    Chapter: word2vec#exercises
    """
    generator = torch.Generator().manual_seed(11)
    for n, d, noise in (5, 5, 0.1), (7, 3, 0.3):
        table, questions = _planted(n, d, noise, generator)
        both = [analogy_accuracy(table, questions, exclude_inputs=e) for e in (True, False)]
        expected = torch.tensor(both, dtype=f64)
        mistakes = _share_mistakes(table, questions, expected)
        found = answer(table, questions)
        compare(found, expected, "The two accuracies", mistakes, _wrong_share)
    return f"{both[0]:.2f} with the inputs excluded, {both[1]:.2f} with them allowed."


def _flat(found: object) -> object:
    try:
        return torch.as_tensor(found, dtype=f64).flatten()
    except (TypeError, ValueError, RuntimeError):
        return found


def _share_mistakes(table: Tensor, questions: Tensor, right: Tensor) -> Mistakes:
    return [
        (right.flip(0), "Both are right, in the other order: inputs excluded first."),
        (
            right * len(questions),
            "Those are numbers of right answers; return shares of the questions.",
        ),
        (100 * right, "Those are per cent; return shares from 0 to 1."),
        (
            _shares(table, questions[:, [1, 0, 2, 3]]),
            "You computed a − b + c. To get from a to b, add b − a: b − a + c.",
        ),
        (
            _shares(table, questions, unit=False),
            "Bring all vectors to length 1 first: yours are as long as they came.",
        ),
        (
            _shares(table, questions, excluded=slice(2, 3)),
            "With the inputs excluded, a and b may not be the answer either, not only c.",
        ),
    ]


def _wrong_share(yours: Tensor, right: Tensor) -> str:
    k = 1 if close(yours[0], right[0]) else 0
    case = f"With the three inputs {('excluded', 'allowed')[k]} the accuracy is"
    return f"{case} {right[k]:.3f}; yours is {yours[k]:.3f}. Nearest by cosine?"


def _shares(
    table: Tensor, questions: Tensor, *, unit: bool = True, excluded: slice = slice(0, 3)
) -> Tensor:
    """Both accuracies, right or with one of the known slips."""
    of_length_1 = torch.nn.functional.normalize(table, dim=1)
    vectors = of_length_1 if unit else table
    a, b, c, _ = questions.T
    scores = (vectors[b] - vectors[a] + vectors[c]) @ of_length_1.T
    answers = scores.scatter(1, questions[:, excluded], -torch.inf).argmax(1), scores.argmax(1)
    return torch.stack([(answer == questions[:, 3]).to(f64).mean() for answer in answers])


def _planted(n: int, d: int, noise: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Pairs that differ by about one step, vectors of many lengths, all questions on them."""
    first, far = (torch.randn(n, d, generator=generator, dtype=f64) for _ in range(2))
    step = torch.randn(d, generator=generator, dtype=f64)
    second = first + 1.2 * step / step.norm() + noise * far
    lengths = 0.3 + 3 * torch.rand(2 * n, 1, generator=generator, dtype=f64)
    questions = [(i, n + i, j, n + j) for i in range(n) for j in range(n) if i != j]
    return torch.cat([first, second]) * lengths, torch.tensor(questions)
