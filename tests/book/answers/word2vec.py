"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import math

import torch

from softlookup.exercises.word2vec import check_accuracies, check_column, check_count, check_noise
from softlookup.exercises.word2vec_gradients import (
    check_gradient,
    check_one_table,
    check_optimum,
)
from softlookup.ops import softmax
from softlookup.words.word2vec import skip_gram_gradient

RIGHT, WRONG = {}, {}


# The number of pairs


def count(n, k):
    """Another right solution: a sum over the distances."""
    return sum(2 * (n - d) for d in range(1, k + 1) if d < n)


RIGHT[check_count] = [
    (count, "26 pairs"),
    (lambda n, k: torch.tensor(count(n, k)),),
]
WRONG[check_count] = {
    "once": (lambda n, k: count(n, k) // 2, "each of them is once the centre"),
    "ends forgotten": (lambda n, k: 2 * k * n, "those near the ends have fewer"),
    "no short texts": (lambda n, k: 2 * k * n - k * (k + 1), "shorter than the window"),
    "itself": (lambda n, k: count(n, k) + n, "with itself"),
    "one side": (lambda n, k: k * n, "there are 26 pairs; yours are 16"),
    "a list": (lambda n, k: [count(n, k)] * 2, "should have shape (1,)"),
}


# One column


ONE_HOT = torch.eye(9).double()
RIGHT[check_column] = [
    (lambda U, i: U[:, i],),
    (lambda U, i: U.T[i].tolist(),),
    (lambda U, i: U[:, [i]],),
    (lambda U, i: (U @ ONE_HOT[: U.shape[1], i]).numpy(),),
    (lambda U, i: [row[i] for row in U],),
]
WRONG[check_column] = {
    "a row": (lambda U, i: U[i], "IndexError"),
    "a row where there is one": (
        lambda U, i: U[i] if U.shape[0] == U.shape[1] else U[:, i],
        "you took row 1",
    ),
    "counted from 1": (lambda U, i: U[:, i - 1], "We count from 0"),
    "the table": (lambda U, i: U, "should have shape (3,)"),
    "the slide's numbers": (lambda U, i: [10, 12, 19], "its first number is"),
    "reshaped": (lambda U, i: U.reshape(U.shape[1], U.shape[0])[i], "its first number is"),
}


# Noise


def plain_noise(counts, power):
    weights = [count.item() ** power for count in counts]
    return [weight / sum(weights) for weight in weights]


RIGHT[check_noise] = [(plain_noise,)]
WRONG[check_noise] = {
    "no division": (lambda c, p: c**p, "divide by the sum"),
    "shares first": (lambda c, p: (c / c.sum()) ** p, "the power comes first"),
    "no power": (lambda c, p: c / c.sum(), "left the power out"),
    "softmax": (lambda c, p: softmax(c**p), "no exponentials"),
    "always 3/4": (lambda c, p: c**0.75 / (c**0.75).sum(), "the first probability is"),
    "upside down": (lambda c, p: c**-p / (c**-p).sum(), "the first probability is"),
    "one number": (lambda c, p: 1.0, "should have shape (3,)"),
}


# Vectors of length 1


def by_autograd(U, V, centres, contexts, tau):
    """A right solution that derives nothing."""
    tables = [U.requires_grad_(), V.requires_grad_()]
    A, B = (torch.nn.functional.normalize(table, dim=1) for table in tables)
    loss = torch.nn.functional.cross_entropy(A[centres] @ B.T / tau, contexts)
    return list(torch.autograd.grad(loss, tables))


def gradient(U, V, centres, contexts, tau, *, along=True, length=True, mean=True, inner=True):
    """Another right solution, pair by pair, with places to go wrong."""
    A, B = U / U.norm(dim=1)[:, None], V / V.norm(dim=1)[:, None]
    dA, dB, n = torch.zeros_like(U), torch.zeros_like(V), len(centres) if mean else 1
    for w, x in zip(centres.tolist(), contexts.tolist(), strict=True):
        errors = torch.softmax(B @ A[w] / tau, dim=0)
        errors[x] -= 1
        dA[w] += errors @ B / n / (tau if inner else 1)
        dB += torch.outer(errors, A[w]) / n / tau
    found = []
    for table, unit, upstream in ((U, A, dA), (V, B, dB)):
        rows = []
        for row, one, above in zip(table, unit, upstream, strict=True):
            turn = torch.eye(len(row), dtype=row.dtype) - along * torch.outer(one, one)
            rows.append(turn @ above / (row.norm() if length else 1))
        found.append(torch.stack(rows))
    return tuple(found)


def of_unit_rows(U, V, centres, contexts, tau):
    A, B = U / U.norm(dim=1)[:, None], V / V.norm(dim=1)[:, None]
    return skip_gram_gradient(A, B, centres, contexts)


RIGHT[check_gradient] = [
    (gradient,),
    (by_autograd,),
]


WRONG[check_gradient] = {
    "dot products": (lambda *a: skip_gram_gradient(*a[:4]), "the gradient for dot products"),
    "the library's, as it is": (skip_gram_gradient, "Your code stopped with TypeError"),
    "unit rows, no tau": (of_unit_rows, "with τ = 1; the tables are U and U'"),
    "unit rows": (
        lambda *a: gradient(*a, along=False, length=False),
        "One step of the chain rule is left",
    ),
    "along itself": (lambda *a: gradient(*a, along=False), "take away the part along"),
    "length": (lambda *a: gradient(*a, length=False), "divide by its length"),
    "tau is 1": (lambda *a: gradient(*a[:4], 1.0), "Your τ is always 1"),
    "tau not in the chain": (
        lambda *a: [a[4] * table for table in gradient(*a)],
        "the chain rule divides once more",
    ),
    "tau in one table": (lambda *a: gradient(*a, inner=False), "In U one factor is missing"),
    "sum": (lambda *a: gradient(*a, mean=False), "the loss is their mean"),
    "downhill": (lambda *a: [-table for table in gradient(*a)], "the gradient is uphill"),
    "swapped": (lambda *a: gradient(*a)[::-1], "in the other order"),
    "one table": (lambda *a: gradient(*a)[0], "Return two tables"),
    "rows of the pairs": (lambda U, V, c, x, tau: (U[c], V[x]), "should have shape"),
    "only one": (
        lambda *a: (gradient(*a)[0], torch.zeros_like(a[1])),
        "Try a finite difference there",
    ),
}


# Analogies


def accuracies(table, questions, *, unit=True, sign=1, only_c=False, euclid=False):
    """Another right solution, question by question, with places to go wrong."""
    rows = table / table.norm(dim=1, keepdim=True) if unit else table
    right = [0, 0]
    for a, b, c, d in questions.tolist():
        wanted = sign * (rows[b] - rows[a]) + rows[c]
        scores = torch.nn.functional.cosine_similarity(rows, wanted[None])
        if euclid:
            scores = -(rows - wanted).norm(dim=1)
        right[1] += int(scores.argmax()) == d
        scores[[c] if only_c else [a, b, c]] = -math.inf
        right[0] += int(scores.argmax()) == d
    return [count / len(questions) for count in right]


RIGHT[check_accuracies] = [(accuracies,)]
WRONG[check_accuracies] = {
    "swapped": (lambda t, q: accuracies(t, q)[::-1], "inputs excluded first"),
    "no exclusion": (lambda t, q: 2 * accuracies(t, q)[1:], "inputs excluded the accuracy"),
    "always excluded": (lambda t, q: 2 * accuracies(t, q)[:1], "inputs allowed the accuracy"),
    "numbers": (lambda t, q: [s * len(q) for s in accuracies(t, q)], "return shares"),
    "per cent": (lambda t, q: [100 * s for s in accuracies(t, q)], "per cent"),
    "a - b + c": (lambda t, q: accuracies(t, q, sign=-1), "b − a + c"),
    "lengths kept": (lambda t, q: accuracies(t, q, unit=False), "length 1"),
    "only c excluded": (lambda t, q: accuracies(t, q, only_c=True), "not only c"),
    "perfect": (lambda t, q: (1.0, 1.0), "the accuracy is"),
    "one share": (lambda t, q: accuracies(t, q)[0], "should have shape (2,)"),
}


# The optimum


def scores(counts, k):
    """Another right solution, by the formula of pointwise mutual information."""
    total = counts.sum()
    joint, first, second = counts / total, counts.sum(1) / total, counts.sum(0) / total
    return torch.log(joint / (first[:, None] * second)) - math.log(k)


def swapped_axes(counts, k):
    """Takes the sums of the columns for the rows', and the other way round."""
    by_chance = counts.sum(0)[:, None] * counts.sum(1) / counts.sum()
    return (counts / (k * by_chance)).log()


CONDITIONAL = "Those are log P(x | w)"
RIGHT[check_optimum] = [(scores,)]
WRONG[check_optimum] = {
    "no k": (lambda c, k: scores(c, k) + math.log(k), "You left out k"),
    "k on top": (lambda c, k: scores(c, k) + 2 * math.log(k), "You added log k"),
    "conditional": (lambda c, k: (c / c.sum(1, keepdim=True)).log(), CONDITIONAL),
    "chances": (lambda c, k: scores(c, k).sigmoid(), "undo σ"),
    "upside down": (lambda c, k: -scores(c, k), "upside down"),
    "base 2": (lambda c, k: scores(c, k) / math.log(2), "another base"),
    "zeros for unseen": (lambda c, k: scores(c, k).where(c > 0, 0.0), "write −inf"),
    "positive only": (lambda c, k: scores(c, k).clamp(min=0), "Where is the derivative"),
    "axes swapped": (swapped_axes, "Where is the derivative"),
    "counts": (lambda c, k: c, "Where is the derivative"),
    "transposed shape": (lambda c, k: scores(c, k)[0], "should have shape"),
}


# One table


def one_table(S, e, *, order=None, size=False, power=0.5):
    """Another right solution, direction by direction, with places to go wrong."""
    values, directions = torch.linalg.eigh(S)
    chosen = sorted(range(len(S)), key=order or (lambda i: -values[i].item()))
    if size:
        chosen = sorted(range(len(S)), key=lambda i: -abs(values[i].item()))
    columns = []
    for i in chosen[:e]:
        value = values[i].item()
        columns.append(directions[:, i] * max(abs(value) if size == "abs" else value, 0) ** power)
    return torch.stack(columns, dim=1)


def by_svd(S, e):
    left, values, _ = torch.linalg.svd(S)
    return left[:, :e] * values[:e].sqrt()


RIGHT[check_one_table] = [
    (one_table,),
    (lambda S, e: -one_table(S, e).flip(1),),
    (lambda S, e: one_table(S, e).tolist(),),
]
WRONG[check_one_table] = {
    "svd": (by_svd, "sizes of the eigenvalues"),
    "by size": (lambda S, e: one_table(S, e, size=True), "Choose the largest"),
    "smallest": (lambda S, e: one_table(S, e, order=lambda i: i), "from the smallest"),
    "smallest, turned round": (
        lambda S, e: one_table(-S, e),
        "from the smallest",
    ),
    "no root": (lambda S, e: one_table(S, e, power=1.0), "take its square root"),
    "nan": (
        lambda S, e: torch.linalg.eigh(S)[1][:, -e:] * torch.linalg.eigh(S)[0][-e:].sqrt(),
        "NaN",
    ),
    "nothing": (lambda S, e: torch.zeros(len(S), e), "nothing but 0"),
    "too small": (lambda S, e: 0.9 * one_table(S, e), "the squared differences sum to"),
    "all directions": (lambda S, e: one_table(S, len(S)), "should have shape"),
    "turned": (lambda S, e: one_table(S, e).T, "should have shape"),
}
