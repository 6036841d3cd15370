"""Checks: a gradient, where it is zero, and how near one table comes to that."""

import math

import torch
from torch import Tensor

from softlookup.exercises.compare import Mistakes, close, compare, numbers
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.words.word2vec import skip_gram_gradient

f64 = torch.float64
NAMES = ("U", "U'")
TABLES = "Return two tables: the gradient of U and that of U'."


@exercise("return the gradients of both tables.")
def check_gradient(answer: Answer) -> str:
    """Check a function of (U, U', centres, contexts, tau): gradients of a skip-gram of directions.

    The loss is that of skip-gram, with cosines divided by tau in the place of dot products.

    Args:
        answer: The learner's function; it returns two tables, of the shapes of U and U'.

    Chapter: word2vec#exercises
    """
    generator = torch.Generator().manual_seed(4)
    cases = [(5, 3, [2], [4], 0.5), (7, 2, [1, 3, 1, 1, 6], [0, 3, 5, 5, 2], 0.2)]
    for vocab, d, centres, contexts, tau in cases:
        U, V = (torch.randn(vocab, d, generator=generator, dtype=f64) for _ in range(2))
        centres, contexts = torch.tensor(centres), torch.tensor(contexts)
        found = answer.several(2, TABLES, U, V, centres, contexts, tau)
        yours = [
            numbers(table, U, f"The gradient of {name}")
            for name, table in zip(NAMES, found, strict=True)
        ]
        expected = _gradient_of_directions(U, V, centres, contexts, tau)
        mistakes = _direction_mistakes(U, V, centres, contexts, tau)
        compare(torch.stack(yours), expected, "Both tables", mistakes, _wrong_table)
    return "Each row of both tables stands at right angles to its vector: only directions count."


@exercise("return one score per pair of words.")
def check_optimum(answer: Answer) -> str:
    """Check a function of (pair_counts, k): the scores at which negative sampling is content.

    Args:
        answer: The learner's function; it returns one score per pair of words.

    Chapter: word2vec#exercises
    """
    generator = torch.Generator().manual_seed(4)
    counts = torch.tensor([[0.0, 3, 1], [3, 0, 4], [1, 4, 2]], dtype=f64)
    more = torch.randint(0, 5, (5, 5), generator=generator).double() + torch.eye(5, dtype=f64)
    for pair_counts, k in (counts, 5), (more, 2):
        noise = pair_counts.sum(dim=0) / pair_counts.sum()
        expected = (pair_counts / (k * pair_counts.sum(dim=1, keepdim=True) * noise)).log()
        yours = numbers(answer(pair_counts, k), expected, "The scores")
        _same_optimum(yours, expected, pair_counts, k)
    return "That is the pointwise mutual information, less log k: word2vec counts after all."


@exercise("return the table U, with a row for each word.")
def check_one_table(answer: Answer) -> str:
    """Check a function of (S, e): the table U of M x e whose products come nearest to S.

    Args:
        answer: The learner's function. Tables with the same products are equally good.

    Chapter: word2vec#exercises
    """
    generator = torch.Generator().manual_seed(4)
    cases = [([5.0, 3, 1, -2, -4], 2), ([4.0, -6], 1), ([2.0, -1, -3, -5], 3), ([3.0, 2, 1], 2)]
    for values, e in cases:
        turn, _ = torch.linalg.qr(
            torch.randn(len(values), len(values), generator=generator, dtype=f64)
        )
        directions = torch.eye(2, dtype=f64) if e == 1 else turn
        S = directions @ torch.tensor(values, dtype=f64).diag() @ directions.T
        S = (S + S.T) / 2
        case = f"For S with the eigenvalues {', '.join(f'{v:g}' for v in values)} and e = {e}: "
        yours = numbers(answer(S.clone(), e), torch.zeros(len(S), e, dtype=f64), "The table")
        _same_products(yours, S, e, case)
    return "The directions of the largest eigenvalues; where equals repel, one table is silent."


def _same_products(U: Tensor, S: Tensor, e: int, case: str) -> None:
    """Whether U U' is the nearest to S that a table can make; if not, which mistake it is."""

    def products(values: Tensor, directions: Tensor, power: float = 0.5) -> Tensor:
        table = directions * values.clamp(min=0) ** power
        return table @ table.T

    values, directions = torch.linalg.eigh(S)
    first, by_size = slice(-e, None), values.abs().argsort(descending=True)[:e]
    expected = products(values[first], directions[:, first])
    found = U @ U.T
    if close(found, expected):
        return
    mistakes = [
        (
            products(values[by_size].abs(), directions[:, by_size]),
            "you took the sizes of the eigenvalues, as a singular value decomposition gives them. "
            "A negative one then becomes an attraction, which is worse than nothing.",
        ),
        (
            products(values[by_size], directions[:, by_size]),
            "you chose the eigenvalues by their size, and then found negative ones among them, "
            "for which a table can do nothing. Choose the largest instead.",
        ),
        (
            products(values[:e].abs(), directions[:, :e]),
            "eigh sorts from the smallest to the largest; you took the smallest.",
        ),
        (
            torch.zeros_like(S),
            "your table holds nothing but 0. Did you take the first columns of eigh? It sorts from "
            "the smallest to the largest.",
        ),
        (
            products(values[first], directions[:, first], 1.0),
            "each eigenvalue comes into the "
            "product twice, once from each side: take its square root.",
        ),
    ]
    for mistaken, advice in mistakes:
        if close(found, mistaken):
            raise Wrong(case + advice)
    distance, least = ((found - S) ** 2).sum(), ((expected - S) ** 2).sum()
    raise Wrong(
        f"{case}the squared differences sum to {distance:.4g}; with the best table it "
        f"would be {least:.4g}."
    )


def _gradient_of_directions(
    U: Tensor,
    V: Tensor,
    centres: Tensor,
    contexts: Tensor,
    tau: float,
    *,
    sideways: bool = True,
    shortened: bool = True,
) -> Tensor:
    """Both gradients, right or without one of the two things that a norm does to them."""
    lengths = [table.norm(dim=1, keepdim=True) for table in (U, V)]
    A, B = U / lengths[0], V / lengths[1]
    dA, dB = skip_gram_gradient(A / tau, B, centres, contexts)
    found = []
    for unit, length, upstream in zip((A, B), lengths, (dA / tau, dB), strict=True):
        along = (upstream * unit).sum(dim=1, keepdim=True) * unit
        found.append((upstream - sideways * along) / (length if shortened else 1))
    return torch.stack(found)


def _direction_mistakes(
    U: Tensor, V: Tensor, centres: Tensor, contexts: Tensor, tau: float
) -> Mistakes:
    """Known wrong gradients, with what to say about each."""
    batch = (U, V, centres, contexts)
    right = _gradient_of_directions(*batch, tau)
    units = [table / table.norm(dim=1, keepdim=True) for table in (U, V)]
    bare = torch.stack(skip_gram_gradient(*units, centres, contexts))
    return [
        (
            torch.stack(skip_gram_gradient(*batch)),
            "That is the gradient for dot products. Here each row is brought to length 1 first.",
        ),
        (bare, "These are gradients of the rows of length 1, with τ = 1; the tables are U and U'."),
        (
            _gradient_of_directions(*batch, tau, sideways=False, shortened=False),
            "These are the gradients of the rows of length 1. One step of the chain rule is left: "
            "how do these rows move with U and U'?",
        ),
        (
            _gradient_of_directions(*batch, tau, sideways=False),
            "A longer vector has the same direction: take away the part along the vector itself.",
        ),
        (
            _gradient_of_directions(*batch, tau, shortened=False),
            "A long vector turns less with the same step: divide by its length.",
        ),
        (_gradient_of_directions(*batch, 1.0), "Your τ is always 1; it is given as tau."),
        (tau * right, "The scores are divided by τ; so the chain rule divides once more."),
        (
            torch.stack([tau * right[0], right[1]]),
            "U' is right. In U one factor is missing: the scores are divided by τ.",
        ),
        (right.flip(0), "The two tables are right, in the other order: U first, then U'."),
        (-right, "Both have the wrong sign: that is the way downhill, the gradient is uphill."),
        (len(centres) * right, "You summed over the pairs; the loss is their mean."),
    ]


def _wrong_table(yours: Tensor, expected: Tensor) -> str:
    k = next(k for k in range(2) if not close(yours[k], expected[k]))
    i, j = ((yours[k] - expected[k]).abs() > 1e-6).nonzero()[0].tolist()
    right = f"The gradient of {NAMES[k]} at [{i}, {j}] is"
    return (
        f"{right} {expected[k][i, j]:.4f}; yours is {yours[k][i, j]:.4f}. Try a finite "
        "difference there."
    )


def _same_optimum(yours: Tensor, expected: Tensor, counts: Tensor, k: int) -> None:
    if close(yours, expected):
        return
    seen, log_k = counts > 0, math.log(k)
    conditional = (counts / counts.sum(dim=1, keepdim=True)).log()
    below = "with more noise words, each score must be lower."
    mistakes = [
        (expected + log_k, f"You left out k: {below}"),
        (expected + 2 * log_k, f"You added log k: {below}"),
        (
            conditional,
            "Those are log P(x | w), what the full softmax wants. Here the noise stands "
            "below the fraction line.",
        ),
        (expected.sigmoid(), "Those are chances, σ of the score; undo σ: log(p / (1 − p))."),
        (-expected, "Your fraction is upside down: a frequent pair wants a high score."),
        (expected / math.log(2), "Your logarithm has another base: σ is made with e."),
    ]
    for mistaken, advice in mistakes:
        if close(yours[seen], mistaken[seen]):
            raise Wrong(advice)
    if close(yours[seen], expected[seen]):
        raise Wrong(
            "Right for all pairs that occur. One that never does is only ever pushed "
            "down: no score is low enough for it, so write −inf."
        )
    i, j = (seen & ((yours - expected).abs() > 1e-6)).nonzero()[0].tolist()
    raise Wrong(
        f"The score of pair [{i}, {j}], seen {counts[i, j]:.0f} times, should be "
        f"{expected[i, j]:.4f} for k = {k}; yours is {yours[i, j]:.4f}. Where is the "
        "derivative of the hint zero?"
    )
