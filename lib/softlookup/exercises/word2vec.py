"""Checks of chapter 4: pairs of neighbours, one column of a table, the noise, analogies."""

from collections import Counter
from collections.abc import Iterable

import torch
from torch import Tensor

from softlookup.exercises.verdict import Verdict, Wrong, call, close, numbers, verdict
from softlookup.ops import softmax
from softlookup.words.word2vec import analogy_accuracy, noise_distribution

EIGHT = ["my", "bus", "needs", "fuel", "before", "the", "next", "hill"]
ROSE = ["a", "rose", "is", "a", "rose", "is", "a", "rose"]
SLIDE_TABLE = ((17.0, 24, 1), (23, 5, 7), (4, 6, 13), (10, 12, 19), (11, 18, 25))
f64 = torch.float64


def check_pairs(answer: object) -> Verdict:
    """Check a function of (tokens, k) that lists all pairs (centre, context).

    Args:
        answer: The learner's function; the order of the pairs is free.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: word2vec#exercises

    Example:
        >>> check_pairs(...)
        Not yet. Nothing to check so far: return the list of pairs (centre, context).
    """
    return verdict(lambda: _pairs(answer))


def check_column(answer: object) -> Verdict:
    """Check a function of (U, i) that returns the vector of word i from a table U of e x M.

    Args:
        answer: The learner's function.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: word2vec#exercises

    Example:
        >>> check_column(...)
        Not yet. Nothing to check so far: return the vector of word i.
    """
    return verdict(lambda: _column(answer))


def check_noise(answer: object) -> Verdict:
    """Check a function of (counts, power) that returns the noise distribution.

    Args:
        answer: The learner's function.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: word2vec#exercises

    Example:
        >>> check_noise(...)
        Not yet. Nothing to check so far: return one probability per word.
    """
    return verdict(lambda: _noise(answer))


def check_accuracies(answer: object) -> Verdict:
    """Check a function of (table, questions): analogy accuracy without, and with, the inputs.

    Args:
        answer: The learner's function; it returns two shares, inputs excluded first.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: word2vec#exercises

    Example:
        >>> check_accuracies(...)
        Not yet. Nothing to check so far: return the two accuracies.
    """
    return verdict(lambda: _accuracies(answer))


# Pairs


def _all_pairs(tokens: list[str], left: int, right: int) -> Counter:
    return Counter(
        (centre, tokens[j])
        for t, centre in enumerate(tokens)
        for j in range(max(0, t - left), min(len(tokens), t + right + 1))
        if j != t
    )


def _pairs(function: object) -> str:
    for tokens, window in [
        (EIGHT, 2),
        (EIGHT, 1),
        (ROSE, 3),
        (EIGHT[:3], 5),
        (["hill"], 2),
        ([], 1),
    ]:
        found = call(
            function, list(tokens), window, what="return the list of pairs (centre, context)."
        )
        _same_pairs(found, tokens, window)
    return "Eight words have 26 pairs at k = 2; and at every edge you stopped in time."


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


# One column


def _column(function: object) -> str:
    generator = torch.Generator().manual_seed(4)
    tables = [torch.tensor(SLIDE_TABLE, dtype=f64).T.contiguous()]
    tables += [
        torch.randn(e, m, generator=generator, dtype=f64) for e, m in ((3, 3), (2, 7), (5, 4))
    ]
    for U, i in zip(tables, (3, 1, 5, 2), strict=True):
        found = call(function, U.clone(), i, what="return the vector of word i.")
        size = f"Word {i} of a table of {U.shape[0]} × {U.shape[1]}"
        try:
            flat = torch.as_tensor(found, dtype=f64).flatten()
        except (TypeError, ValueError, RuntimeError):
            flat = found
        vector = numbers(flat, U[:, i], f"{size}: the vector")
        if close(vector, U[:, i]):
            continue
        if i < len(U) and len(U[i]) == len(vector) and close(vector, U[i]):
            raise Wrong(f"{size}: you took row {i}. Here every word has a column.")
        if close(vector, U[:, i - 1]):
            raise Wrong(f"{size}: you took the column before. We count from 0.")
        raise Wrong(f"{size}: its first number is {U[0, i]:.4g}; yours is {vector[0]:.4g}.")
    return "The fourth column: [10, 12, 19]. Row 3 does not exist in a table of 3 × 5."


# Noise


def _noise(function: object) -> str:
    cases = [([1.0, 16.0, 81.0], 0.75), ([4.0, 9.0, 25.0, 1.0], 0.5), ([7.0, 2.0], 0.0)]
    for counts, power in cases:
        counts = torch.tensor(counts, dtype=f64)
        expected = noise_distribution(counts, power)
        found = call(function, counts.clone(), power, what="return one probability per word.")
        yours = numbers(found, expected, "The noise")
        case = f"For counts {counts.int().tolist()} and power {power}"
        if close(yours, expected):
            continue
        if close(yours, counts**power):
            raise Wrong(f"{case} yours sum to {yours.sum():.4g}: divide by the sum.")
        if close(yours, (counts / counts.sum()) ** power):
            raise Wrong(f"{case} yours sum to {yours.sum():.4g}: the power comes first, then "
                        "divide by the sum.")  # fmt: skip
        if close(yours, counts / counts.sum()):
            raise Wrong(f"{case} you left the power out: those are the plain shares.")
        if close(yours, softmax(counts**power)):
            raise Wrong(f"{case} you took a softmax: divide by the sum, with no exponentials.")
        raise Wrong(f"{case} the first probability is {expected[0]:.4f}; yours is {yours[0]:.4f}.")
    return "It sums to 1: (1, 16, 81) became (1, 8, 27) thirty-sixths."


# Analogies


def _accuracies(function: object) -> str:
    generator = torch.Generator().manual_seed(11)
    for n, d, noise in (5, 5, 0.1), (7, 3, 0.3):
        table, questions = _planted(n, d, noise, generator)
        both = [analogy_accuracy(table, questions, exclude_inputs=e) for e in (True, False)]
        found = call(function, table.clone(), questions.clone(), what="return the two accuracies.")
        expected = torch.tensor(both, dtype=f64)
        _same_shares(numbers(found, expected, "The two accuracies"), expected, table, questions)
    return f"{both[0]:.2f} with the inputs excluded, {both[1]:.2f} with them allowed."


def _same_shares(yours: Tensor, expected: Tensor, table: Tensor, questions: Tensor) -> None:
    if close(yours, expected):
        return
    known = {
        "Both are right, in the other order: inputs excluded first.": expected.flip(0),
        "Those are numbers of right answers; return shares of the questions.":
            expected * len(questions),
        "Those are per cent; return shares from 0 to 1.": 100 * expected,
        "You computed a − b + c. To get from a to b, add b − a: b − a + c.":
            _shares(table, questions[:, [1, 0, 2, 3]]),
        "Bring all vectors to length 1 first: yours are as long as they came.":
            _shares(table, questions, unit=False),
        "With the inputs excluded, a and b may not be the answer either, not only c.":
            _shares(table, questions, excluded=slice(2, 3)),
    }  # fmt: skip
    for advice, shares in known.items():
        if close(yours, shares):
            raise Wrong(advice)
    k = 1 if close(yours[0], expected[0]) else 0
    raise Wrong(f"With the three inputs {('excluded', 'allowed')[k]} the accuracy is "
                f"{expected[k]:.3f}; yours is {yours[k]:.3f}. Nearest by cosine?")  # fmt: skip


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
