"""Checks of chapter 4: pairs of neighbours, one column of a table, the noise, analogies."""

from collections import Counter
from collections.abc import Iterable

import torch
from torch import Tensor

from softlookup.exercises.compare import Mistakes, close, compare
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.ops import softmax
from softlookup.words.word2vec import analogy_accuracy, noise_distribution

EIGHT = ["my", "bus", "needs", "fuel", "before", "the", "next", "hill"]
ROSE = ["a", "rose", "is", "a", "rose", "is", "a", "rose"]
SLIDE_TABLE = ((17.0, 24, 1), (23, 5, 7), (4, 6, 13), (10, 12, 19), (11, 18, 25))
f64 = torch.float64


@exercise("return the list of pairs (centre, context).")
def check_pairs(answer: Answer) -> str:
    """Check a function of (tokens, k) that lists all pairs (centre, context).

    Args:
        answer: The learner's function; the order of the pairs is free.

    Chapter: word2vec#exercises
    """
    for tokens, window in [
        (EIGHT, 2),
        (EIGHT, 1),
        (ROSE, 3),
        (EIGHT[:3], 5),
        (["hill"], 2),
        ([], 1),
    ]:
        _same_pairs(answer(tokens, window), tokens, window)
    return "Eight words have 26 pairs at k = 2; and at every edge you stopped in time."


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
            (shares**power, f"{case} yours sum to {(shares**power).sum():.4g}: the power comes "
             "first, then divide by the sum."),
            (shares, f"{case} you left the power out: those are the plain shares."),
            (softmax(powers),
             f"{case} you took a softmax: divide by the sum, with no exponentials."),
        ]  # fmt: skip

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


def _all_pairs(tokens: list[str], left: int, right: int) -> Counter:
    return Counter(
        (centre, tokens[j])
        for t, centre in enumerate(tokens)
        for j in range(max(0, t - left), min(len(tokens), t + right + 1))
        if j != t
    )


def _same_pairs(found: object, tokens: list[str], k: int) -> None:
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise Wrong(f"Return a list of pairs; you returned {found!r}.")
    yours = Counter(_pair(item) for item in found)
    expected = _all_pairs(tokens, k, k)
    if yours == expected:
        return
    extra, missing = yours - expected, expected - yours
    case = f"In {' '.join(tokens)!r} with k = {k}, "
    wrapped = len(tokens) > 2 * k and (tokens[0], tokens[-1]) in extra
    known = {
        f"{case}a word may stand beside itself. Compare positions, not words.":
            not extra and all(a == b for a, b in missing),
        "You look to the right only: the words before the centre are neighbours too.":
            yours == _all_pairs(tokens, 0, k),
        "You look to the left only: the words after the centre are neighbours too.":
            yours == _all_pairs(tokens, k, 0),
        "Your window reaches one word too far: k words on either side.":
            yours == _all_pairs(tokens, k + 1, k + 1),
        "Your window is one word too short on the right: range ends before its end.":
            yours == _all_pairs(tokens, k, k - 1),
        "Your window is one word too short: k words on either side.":
            yours == _all_pairs(tokens, k - 1, k - 1),
        f"{case}the first word and the last are no neighbours. An index below 0 counts from the "
        "end: stop at 0.": wrapped,
        "Each pair should be there as often as it occurs; yours are fewer. A set forgets repeats.":
            not extra and all(yours[pair] == 1 for pair in yours) and set(yours) == set(expected),
        f"{case}a centre is not its own context: leave out the position itself.":
            not missing and all(a == b for a, b in extra),
    }  # fmt: skip
    for advice, applies in known.items():
        if applies:
            raise Wrong(advice)
    if missing:
        raise Wrong(f"{case}the pair {next(iter(missing))} is missing.")
    raise Wrong(f"{case}{next(iter(extra))} is no pair, or is there too often.")


def _pair(item: object) -> tuple[str, str]:
    is_pair = isinstance(item, list | tuple) and len(item) == 2
    if not is_pair or not all(isinstance(word, str) for word in item):
        raise Wrong(
            f"Each entry should be a pair of words, (centre, context); one of yours is {item!r}."
        )
    return tuple(item)


def _flat(found: object) -> object:
    try:
        return torch.as_tensor(found, dtype=f64).flatten()
    except (TypeError, ValueError, RuntimeError):
        return found


def _share_mistakes(table: Tensor, questions: Tensor, right: Tensor) -> Mistakes:
    return [
        (right.flip(0), "Both are right, in the other order: inputs excluded first."),
        (right * len(questions),
         "Those are numbers of right answers; return shares of the questions."),
        (100 * right, "Those are per cent; return shares from 0 to 1."),
        (_shares(table, questions[:, [1, 0, 2, 3]]),
         "You computed a − b + c. To get from a to b, add b − a: b − a + c."),
        (_shares(table, questions, unit=False),
         "Bring all vectors to length 1 first: yours are as long as they came."),
        (_shares(table, questions, excluded=slice(2, 3)),
         "With the inputs excluded, a and b may not be the answer either, not only c."),
    ]  # fmt: skip


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
