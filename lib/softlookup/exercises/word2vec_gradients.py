"""Checks of chapter 4: a gradient, and the scores at which a gradient is zero."""

import math

import torch
from torch import Tensor

from softlookup.exercises.verdict import Verdict, Wrong, call, close, numbers, verdict
from softlookup.ops import softmax
from softlookup.words.word2vec import skip_gram_gradient

f64 = torch.float64


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


# The optimum


def _optimum(function: object) -> str:
    generator = torch.Generator().manual_seed(4)
    counts = torch.tensor([[0.0, 3, 1], [3, 0, 4], [1, 4, 2]], dtype=f64)
    more = torch.randint(0, 5, (5, 5), generator=generator).double() + torch.eye(5, dtype=f64)
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
