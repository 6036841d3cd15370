"""Answers to the exercises of chapter 20: right, and wrong with the words that they get."""

import math
from itertools import product

import torch

from softlookup.exercises.objectives import (
    check_count,
    check_fill,
    check_gradients,
    check_joint,
    check_likelihood,
    check_shares,
)
from softlookup.language_models import next_token_log_probabilities

RIGHT, WRONG = {}, {}


# Shares


def book_shares(share, hidden, replaced):
    return share * hidden, share * replaced, share * (1 - hidden - replaced)


def drawn_shares(share, hidden, replaced):
    kept = torch.tensor([hidden, replaced, 1 - hidden - replaced], dtype=torch.float64)
    return kept * share


RIGHT[check_shares] = [(shares, "12%") for shares in [book_shares, drawn_shares]]


# Likelihood


def book_likelihood(ids, k, row_of):
    return sum(math.log(row_of(ids[max(0, i - k) : i])[ids[i]]) for i in range(1, len(ids)))


def by_library(ids, k, row_of):
    def model(batch):
        rows = [[row_of(text[: i + 1]) for i in range(len(text))] for text in batch.tolist()]
        return torch.tensor(rows, dtype=torch.float64).log()

    return next_token_log_probabilities(model, torch.tensor(ids), k).sum()


def with_window(change):
    return lambda ids, k, row_of: book_likelihood(ids, max(k + change, 0), row_of)


def unlimited(ids, k, row_of):
    return book_likelihood(ids, len(ids), row_of)


def with_first(ids, k, row_of):
    return book_likelihood(ids, k, row_of) + math.log(row_of([])[ids[0]])


def no_history(ids, k, row_of):
    return sum(math.log(row_of(ids[i - k : i])[ids[i]]) for i in range(1, len(ids)))


def from_the_kth(ids, k, row_of):
    return sum(math.log(row_of(ids[i - k : i])[ids[i]]) for i in range(k, len(ids)))


RIGHT[check_likelihood] = [(book_likelihood,), (by_library,)]


# Parameters


def book_count(vocab_size, context, d_model, n_layers):
    attention = 4 * d_model * d_model + 4 * d_model
    feed_forward = 8 * d_model * d_model + 5 * d_model
    norms = 2 * 2 * d_model
    return (vocab_size + context) * d_model + n_layers * (attention + feed_forward + norms)


def by_formula(V, n, d, L):
    return d * (V + n + L * (12 * d + 13))


RIGHT[check_count] = [
    (count, f"{count(40_478, 512, 768, 12):,}") for count in [book_count, by_formula]
]


# Two gradients


def book_gradients(E, ids):
    read, said = E.clone().requires_grad_(True), E.clone().requires_grad_(True)
    scores = read[ids[:-1]] @ said.mT
    torch.nn.functional.cross_entropy(scores, ids[1:]).backward()
    return read.grad, said.grad


def gradients_by_formula(E, ids):
    rows, n = E[ids[:-1]], len(ids) - 1
    error = torch.softmax(rows @ E.mT, dim=-1)
    error[torch.arange(n), ids[1:]] -= 1
    lookup = torch.zeros_like(E).index_add(0, ids[:-1], error @ E / n)
    return [lookup, error.mT @ rows / n]


def whole_twice(E, ids):
    lookup, scores = book_gradients(E, ids)
    return lookup + scores, lookup + scores


def summed(E, ids):
    return tuple((len(ids) - 1) * one for one in book_gradients(E, ids))


def without_shift(E, ids):
    read, said = E.clone().requires_grad_(True), E.clone().requires_grad_(True)
    torch.nn.functional.cross_entropy(read[ids] @ said.mT, ids).backward()
    return read.grad, said.grad


RIGHT[check_gradients] = [(book_gradients,), (gradients_by_formula,)]


WRONG[check_shares] = [
    (..., "Nothing to check"),
    (lambda s, h, r: ..., "Nothing to check"),
    (lambda s, h, r: (h, r, 1 - h - r), "shares of the chosen"),
    (lambda s, h, r: (s, 0.0, 0.0), "the slide's claim"),
    (lambda s, h, r: (s * h, s * (1 - h - r), s * r), "exchanged"),
    (lambda s, h, r: (s * h, 0.1, 0.2), "they should sum to 0.2"),
    (lambda s, h, r: s * h, "shape"),
]


def likelihood_with(change):
    return lambda *given: change(book_likelihood(*given))


WRONG[check_likelihood] = [
    (..., "Nothing to check"),
    (with_window(1), "one token too wide: it should hold 2"),
    (with_window(-1), "too narrow"),
    (unlimited, "no end: it should hold 2 tokens at most"),
    (with_first, "The first token is given"),
    (no_history, "a negative index counts from the end"),
    (from_the_kth, "fewer than k before them count too"),
    (lambda ids, k, row_of: -1.0, "For k = 2 yours is -1, and it is"),
    (likelihood_with(math.exp), "its logarithm"),
    (likelihood_with(lambda x: -x), "The sign"),
    (likelihood_with(lambda x: x / 5), "a mean"),
    (likelihood_with(lambda x: x / math.log(2)), "natural logarithms"),
]


def count_off(off):
    return lambda V, n, d, L: book_count(V, n, d, L) + off(V, n, d, L)


WRONG[check_count] = [
    (..., "Nothing to check"),
    (count_off(lambda V, n, d, L: V * d), "no table of its own"),
    (count_off(lambda V, n, d, L: -n * d), "table of positions"),
    (count_off(lambda V, n, d, L: -11 * L * d), "each linear map has one"),
    (count_off(lambda V, n, d, L: -9 * L * d), "biases of the linear maps"),
    (count_off(lambda V, n, d, L: -4 * L * d), "two LayerNorms"),
    (count_off(lambda V, n, d, L: 2 * d), "no norm behind"),
    (count_off(lambda V, n, d, L: 1), "yours is"),
]


def lookup_alone(E, ids):
    return book_gradients(E, ids)[0], torch.zeros_like(E)


WRONG[check_gradients] = [
    (..., "Nothing to check"),
    (lambda E, ids: ..., "Nothing to check"),
    (lambda E, ids: book_gradients(E, ids)[::-1], "exchanged"),
    (whole_twice, "the whole gradient"),
    (summed, "the mean"),
    (without_shift, "through the lookup is off"),
    (lookup_alone, "through the scores is off"),
    (lambda E, ids: E, "Return two matrices"),
    (lambda E, ids: (E, E[0]), "shape"),
]


# Gaps, filled from the left


def probability(log_p, whole, end):
    return math.exp(sum(float(log_p(whole[:i])[whole[i]]) for i in range(1, end)))


def filled(log_p, ids, gaps, vocab_size, reach=None):
    table = [[0.0] * vocab_size for _ in gaps]
    for row, gap in zip(table, gaps, strict=True):
        end = len(ids) if reach is None else min(len(ids), gap + 1 + reach)
        for choice in product(range(vocab_size), repeat=len(gaps)):
            given = dict(zip(gaps, choice, strict=True))
            whole = [given.get(i, w) for i, w in enumerate(ids)]
            row[whole[gap]] += probability(log_p, whole, end)
    return [[p / sum(row) for p in row] for row in table]


def from_the_left(log_p, ids, gaps, vocab_size):
    return filled(log_p, ids, gaps, vocab_size, reach=0)


def one_further(log_p, ids, gaps, vocab_size):
    return filled(log_p, ids, gaps, vocab_size, reach=1)


def one_by_one_filled(log_p, ids, gaps, vocab_size):
    return [filled(log_p, ids, [gap], vocab_size)[0] for gap in gaps]


RIGHT[check_fill] = [(filled,)]
WRONG[check_fill] = [
    (..., "Nothing to check"),
    (lambda log_p, ids, gaps, n: ..., "Nothing to check"),
    (from_the_left, "only what stands before it"),
    (one_further, "one token past the last gap"),
    (one_by_one_filled, "one gap at a time"),
    (lambda *given: torch.tensor(filled(*given)).log(), "These are logarithms"),
    (lambda *given: 2 * torch.tensor(filled(*given)), "Each row should sum to 1"),
    (lambda log_p, ids, gaps, n: torch.full((len(gaps), n), 1 / n), "is off by"),
    (lambda log_p, ids, gaps, n: torch.ones(n), "shape"),
]


# Do the gaps agree?


def joint_of(first, second, tolerance=1e-6):
    ratio = second / first  # p(y given x) / p(x given y) = p(y) / p(x)
    p_y = ratio[0] / ratio[0].sum()
    joint = first * p_y
    again = joint / joint.sum(dim=1, keepdim=True)
    return joint if (again - second).abs().max() < tolerance else False


def always(first, second):
    return joint_of(first, second, tolerance=10)


RIGHT[check_joint] = [(joint_of,)]
WRONG[check_joint] = [
    (..., "Nothing to check"),
    (lambda first, second: ..., "Nothing to check"),
    (lambda first, second: False, "but one does"),
    (always, "do not agree were given"),
    (lambda first, second: joint_of(first, second, 0.04), "changed by one per cent"),
    (lambda first, second: second / len(second), "each x the same"),
    (lambda first, second: first / first.shape[1], "each y the same"),
    (lambda first, second: first * second / (first * second).sum(), "no joint distribution"),
    (lambda first, second: always(first, second).mT, "exchanged"),
    (lambda first, second: 2 * always(first, second), "sums to 1; yours sums to 2"),
    (lambda first, second: torch.ones_like(first) / first.numel(), "is off by"),
]
