"""Checks of chapter 4: pairs, a column, a gradient, the noise, analogies, and an optimum."""

import math
from collections import Counter
from collections.abc import Iterable

import torch
from torch import Tensor

from softlookup.exercises.verdict import Verdict, Wrong, call, close, numbers, verdict
from softlookup.ops import softmax
from softlookup.word2vec import analogy_accuracy, noise_distribution, skip_gram_gradient

EIGHT = ["my", "bus", "needs", "fuel", "before", "the", "next", "hill"]
ROSE = ["a", "rose", "is", "a", "rose", "is", "a", "rose"]
SLIDE_TABLE = ((17.0, 24, 1), (23, 5, 7), (4, 6, 13), (10, 12, 19), (11, 18, 25))
f64 = torch.float64


def check_pairs(answer: object) -> Verdict:
    """Check a function of (tokens, window) that lists all pairs (centre, context).

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


def check_gradient(answer: object) -> Verdict:
    """Check a function of (U, U', centres, contexts): the gradients of the mean skip-gram loss.

    Args:
        answer: The learner's function; it returns two tables, of the shapes of U and U'.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: word2vec#exercises

    Example:
        >>> check_gradient(...)
        Not yet. Nothing to check so far: return the gradients of both tables.
    """
    return verdict(lambda: _gradient(answer))


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


def check_optimum(answer: object) -> Verdict:
    """Check a function of (pair_counts, k): the scores at which negative sampling is content.

    Args:
        answer: The learner's function; it returns one score per pair of words.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: word2vec#exercises

    Example:
        >>> check_optimum(...)
        Not yet. Nothing to check so far: return one score per pair of words.
    """
    return verdict(lambda: _optimum(answer))


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
        f"{case}a word may stand beside itself. Compare positions, not words.":
            not extra and all(a == b for a, b in missing),
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
    if isinstance(item, str) or not isinstance(item, list | tuple) or len(item) != 2:
        raise Wrong(f"Each entry should be a pair (centre, context); one of yours is {item!r}.")
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


# The gradient


def _gradient(function: object) -> str:
    generator = torch.Generator().manual_seed(4)
    cases = [(5, 3, [2], [4]), (7, 2, [1, 3, 1, 1, 6], [0, 3, 5, 5, 2])]
    for vocab, d, centres, contexts in cases:
        U, V = (torch.randn(vocab, d, generator=generator, dtype=f64) for _ in range(2))
        centres, contexts = torch.tensor(centres), torch.tensor(contexts)
        asked = (U.clone(), V.clone(), centres.clone(), contexts.clone())
        found = call(function, *asked, what="return the gradients of both tables.")
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise Wrong("Return two tables: the gradient of U and that of U'.")
        expected = skip_gram_gradient(U, V, centres, contexts)
        yours = [numbers(table, U, f"The gradient of {name}")
                 for name, table in zip(("U", "U'"), found, strict=True)]  # fmt: skip
        _same_gradient(yours, expected, U, V, centres, contexts)
    return "Both tables, with words that occur more than once among the pairs."


def _same_gradient(yours: list[Tensor], expected, U, V, centres, contexts) -> None:
    right = [close(mine, table) for mine, table in zip(yours, expected, strict=True)]
    if all(right):
        return
    n, names = len(centres), ("U", "U'")
    if close(yours[0], expected[1]) and close(yours[1], expected[0]):
        raise Wrong("The two tables are right, in the other order: U first, then U'.")
    if all(close(mine, -table) for mine, table in zip(yours, expected, strict=True)):
        raise Wrong("Both have the wrong sign: that is the way downhill, the gradient is uphill.")
    if all(close(mine, n * table) for mine, table in zip(yours, expected, strict=True)):
        raise Wrong("You summed over the pairs; the loss is their mean.")
    errors = (softmax(U[centres] @ V.mT) - torch.eye(len(V), dtype=f64)[contexts]) / n
    overwritten = torch.zeros_like(U)
    for centre, row in zip(centres.tolist(), errors @ V, strict=True):
        overwritten[centre] = row
    if not right[0] and close(yours[0], overwritten):
        raise Wrong("A word that is the centre of several pairs keeps only the last one's share: "
                    "dU[centres] = ... overwrites, index_add_ adds.")  # fmt: skip
    truth_only = torch.zeros_like(V).index_add_(0, contexts, -U[centres] / n)
    if not right[1] and close(yours[1], truth_only):
        raise Wrong("Only the true context words move in your U'. All words of the vocabulary are "
                    "in the denominator, so every row has a gradient.")  # fmt: skip
    k = right.index(False)
    i, j = ((yours[k] - expected[k]).abs() > 1e-6).nonzero()[0].tolist()
    raise Wrong(f"The gradient of {names[k]} at [{i}, {j}] is {expected[k][i, j]:.4f}; yours is "
                f"{yours[k][i, j]:.4f}. Try a finite difference there.")  # fmt: skip


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
    for n in (4, 7):
        table, questions = _planted(n, generator)
        both = [
            analogy_accuracy(table, questions, exclude_inputs=exclude) for exclude in (True, False)
        ]
        found = call(function, table.clone(), questions.clone(), what="return the two accuracies.")
        expected = torch.tensor([float(share) for share in both], dtype=f64)
        yours = numbers(found, expected, "The two accuracies")
        if close(yours, expected):
            continue
        if close(yours, expected.flip(0)):
            raise Wrong("Both are right, in the other order: inputs excluded first.")
        if close(yours, expected * len(questions)):
            raise Wrong("Those are numbers of right answers; return shares of the questions.")
        if close(yours, 100 * expected):
            raise Wrong("Those are per cent; return shares from 0 to 1.")
        backwards = analogy_accuracy(table, questions[:, [1, 0, 2, 3]])
        if close(yours[0], torch.tensor(float(backwards), dtype=f64)):
            raise Wrong("You computed a − b + c. To get from a to b, add b − a: b − a + c.")
        which = "excluded" if not close(yours[0], expected[0]) else "allowed"
        right, mine = (pair[0 if which == "excluded" else 1] for pair in (expected, yours))
        raise Wrong(f"With the three inputs {which} the accuracy is {right:.3f}; yours is "
                    f"{mine:.3f}. Nearest by cosine?")  # fmt: skip
    return f"{both[0]:.2f} with the inputs excluded, {both[1]:.2f} with them allowed."


def _planted(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Pairs that differ by one short step, vectors of many lengths, and all questions on them."""
    first = torch.randn(n, 5, generator=generator, dtype=f64)
    step = 0.8 * torch.randn(5, generator=generator, dtype=f64)
    second = first + step + 0.3 * torch.randn(n, 5, generator=generator, dtype=f64)
    lengths = 0.5 + 2 * torch.rand(2 * n, 1, generator=generator, dtype=f64)
    questions = [(i, n + i, j, n + j) for i in range(n) for j in range(n) if i != j]
    return torch.cat([first, second]) * lengths**0.3, torch.tensor(questions)


# The optimum


def _optimum(function: object) -> str:
    generator = torch.Generator().manual_seed(4)
    counts = torch.tensor([[0.0, 3, 1], [3, 0, 4], [1, 4, 2]], dtype=f64)
    more = torch.randint(0, 5, (5, 5), generator=generator).double()
    more = more + more.T + torch.eye(5, dtype=f64)
    for pair_counts, k in (counts, 5), (more, 2):
        noise = pair_counts.sum(dim=0) / pair_counts.sum()
        expected = (pair_counts / (k * pair_counts.sum(dim=1, keepdim=True) * noise)).log()
        found = call(function, pair_counts.clone(), k, what="return one score per pair of words.")
        yours = numbers(found, expected, "The scores")
        _same_optimum(yours, expected, pair_counts, k)
    return "That is the pointwise mutual information, less log k: word2vec counts after all."


def _same_optimum(yours: Tensor, expected: Tensor, counts: Tensor, k: int) -> None:
    if close(yours, expected):
        return
    seen, log_k = counts > 0, math.log(k)
    conditional = (counts / counts.sum(dim=1, keepdim=True)).log()
    known = {
        "You left out k: with more noise words, each score must be lower.": expected + log_k,
        "You added log k: with more noise words, each score must be lower.": expected + 2 * log_k,
        "Those are log P(x | w), what the full softmax wants. Here the noise stands below the "
        "fraction line.": conditional,
        "Those are chances, σ of the score; undo σ: log(p / (1 − p)).": expected.sigmoid(),
        "Your fraction is upside down: a frequent pair wants a high score.": -expected,
        "Your logarithm has another base: σ is made with e.": expected / math.log(2),
    }  # fmt: skip
    for advice, variant in known.items():
        if close(yours[seen], variant[seen]):
            raise Wrong(advice)
    if close(yours[seen], expected[seen]):
        raise Wrong("Right for all pairs that occur. One that never does is only ever pushed "
                    "down: no score is low enough for it, so write −inf.")  # fmt: skip
    i, j = (seen & ((yours - expected).abs() > 1e-6)).nonzero()[0].tolist()
    raise Wrong(f"The score of pair [{i}, {j}], seen {counts[i, j]:.0f} times, should be "
                f"{expected[i, j]:.4f} for k = {k}; yours is {yours[i, j]:.4f}. Where is the "
                "derivative of the hint zero?")  # fmt: skip
