"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import math
from itertools import product

import torch

from softlookup.exercises.objectives import (
    check_doubt,
    check_fill,
    check_joint,
    check_likelihood,
    check_masked,
    check_reads,
    check_width,
)
from softlookup.language_models import next_token_log_probabilities

RIGHT, WRONG = {}, {}


# How far an ordinary token can be trusted


def book_doubt(share, hidden, replaced):
    ordinary = 1 - share * hidden
    return share * (1 - hidden) / ordinary, share * replaced / ordinary


def counted_doubt(share, hidden, replaced):
    fates = torch.tensor([share * hidden, share * replaced, share * (1 - hidden - replaced)])
    fates = torch.cat([fates.double(), torch.tensor([1 - share])])
    asked, false = fates[1] + fates[2], fates[1]
    return torch.stack([asked, false]) / fates[1:].sum()


RIGHT[check_doubt] = [(doubt, "3.4%") for doubt in [book_doubt, counted_doubt]]
WRONG[check_doubt] = [
    (..., "Nothing to check"),
    (lambda s, h, r: ..., "Nothing to check"),
    (lambda s, h, r: (s * (1 - h), s * r), "These are shares of all tokens"),
    (lambda s, h, r: (1 - h, r), "shares of the chosen"),
    (lambda s, h, r: (s * (1 - h) / (1 - s), s * r / (1 - s)), "that were not chosen"),
    (lambda s, h, r: book_doubt(s, h, r)[::-1], "exchanged"),
    (
        lambda s, h, r: (s * (1 - h - r) / (1 - s * h), s * r / (1 - s * h)),
        "A replaced token is asked for, too",
    ),
    (lambda s, h, r: (0.5, 0.1), "How many of 1,000 tokens"),
    (lambda s, h, r: s * h, "shape"),
]


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


def in_float32(ids, k, row_of):
    rows = [torch.tensor(row_of(ids[max(0, i - k) : i])).log() for i in range(1, len(ids))]
    return sum(row[token] for row, token in zip(rows, ids[1:], strict=True))


RIGHT[check_likelihood] = [(book_likelihood,), (by_library,), (in_float32,)]


# The widest that fits


def count(d, vocab_size, context, n_layers):
    return (vocab_size + context) * d + n_layers * (12 * d * d + 13 * d)


def by_search(n_parameters, vocab_size, context, n_layers, cost=count):
    d = 0
    while cost(d + 1, vocab_size, context, n_layers) <= n_parameters:
        d += 1
    return d


def by_formula(n, vocab_size, context, n_layers):
    a, b = 12 * n_layers, vocab_size + context + 13 * n_layers
    return (math.isqrt(b * b + 4 * a * n) - b) // (2 * a)


def by_rounding(n, vocab_size, context, n_layers):
    a, b = 12 * n_layers, vocab_size + context + 13 * n_layers
    return round((math.sqrt(b * b + 4 * a * n) - b) / (2 * a))


def costing(extra):
    return lambda *given: by_search(*given, cost=lambda d, *g: count(d, *g) + extra(d, *g))


RIGHT[check_width] = [(by_search, "768"), (by_formula, "768")]
WRONG[check_width] = [
    (..., "Nothing to check"),
    (lambda *given: by_search(*given) + 1, "and it is"),
    (by_rounding, "You round to the nearest width"),
    (costing(lambda d, V, n, L: V * d), "no table of its own"),
    (costing(lambda d, V, n, L: -n * d), "The table of positions is missing"),
    (costing(lambda d, V, n, L: -(V + n) * d), "Both tables are missing"),
    (costing(lambda d, V, n, L: -13 * L * d), "The biases and the norms are missing"),
    (costing(lambda d, V, n, L: -4 * L * d), "two in each block"),
    (costing(lambda d, V, n, L: 2 * d), "no norm behind the last block"),
    (lambda n, *sizes: by_search(n - 1, *sizes), "needs exactly n_parameters"),
    (lambda *given: [1, 2], "shape"),
]


# A masked model


def masked(E, P, blocks, ids, gaps, mask_id, *, mask=None, n_blocks=None, hide=True):
    read = ids.clone()
    if hide:
        read[gaps] = mask_id
    x = E[read] + P[: len(ids)]
    for block in blocks[:n_blocks]:
        x = block(x, mask)
    return torch.softmax(x @ E.T, dim=-1)[gaps]


def with_full_mask(*given):
    n = len(given[3])
    return masked(*given, mask=torch.ones(n, n, dtype=torch.bool)).tolist()


def in_place(E, P, blocks, ids, gaps, mask_id):
    ids[gaps] = mask_id
    return masked(E, P, blocks, ids, gaps, mask_id)


def one_at_a_time(E, P, blocks, ids, gaps, mask_id):
    return torch.cat([masked(E, P, blocks, ids, [gap], mask_id) for gap in gaps])


def at_the_word_before(E, P, blocks, ids, gaps, mask_id):
    read = ids.clone()
    read[gaps] = mask_id
    x = E[read] + P[: len(ids)]
    for block in blocks:
        x = block(x)
    return torch.softmax(x @ E.T, dim=-1)[[gap - 1 for gap in gaps]]


def one_way(*given):
    n = len(given[3])
    return masked(*given, mask=torch.ones(n, n, dtype=torch.bool).tril())


RIGHT[check_masked] = [(masked,), (with_full_mask,), (in_place,)]
WRONG[check_masked] = [
    (..., "Nothing to check"),
    (one_way, "only what stands before them"),
    (lambda *given: masked(*given, hide=False), "The answers can be read"),
    (lambda E, P, *rest: masked(E, 0 * P, *rest), "The positions are missing"),
    (one_at_a_time, "one gap at a time"),
    (lambda *given: masked(*given, n_blocks=0), "The blocks are missing"),
    (lambda *given: masked(*given, n_blocks=1), "Only the first block"),
    (lambda *given: masked(*given).log(), "These are logarithms"),
    (lambda *given: 2 * masked(*given), "Each row should sum to 1"),
    (lambda *given: at_the_word_before(*given), "asked at the gap itself"),
    (lambda E, P, blocks, ids, gaps, m: masked(E, P, blocks, ids, sorted(gaps), m), "the order"),
    (lambda *given: masked(*given).flip(1), "is off by up to"),
    (lambda *given: masked(*given)[0], "shape"),
]


# Who reads whom


def by_changes_from(start, scores_of, n, vocab_size):
    plain = scores_of(start)
    table = []
    for j in range(n):
        column = torch.zeros(n, dtype=torch.bool)
        for token in range(vocab_size):
            changed = list(start)
            changed[j] = token
            column |= (scores_of(changed) != plain).any(dim=1)
        table.append(column)
    return torch.stack(table, dim=1)


def by_all_changes(scores_of, n, vocab_size):
    chance = torch.Generator().manual_seed(5)
    starts = torch.randint(vocab_size, (20, n), generator=chance).tolist()
    found = [by_changes_from(start, scores_of, n, vocab_size) for start in starts]
    return torch.stack(found).any(dim=0)


def by_every_text(scores_of, n, vocab_size):
    texts = list(product(range(vocab_size), repeat=n))
    rows = torch.stack([scores_of(list(text)) for text in texts])
    rows = rows.reshape(*[vocab_size] * n, n, -1)
    moved = [(rows != rows.roll(1, j)).any(dim=-1).flatten(0, n - 1).any(dim=0) for j in range(n)]
    return torch.stack(moved, dim=1)


def by_one_change(scores_of, n, vocab_size):
    return by_all_changes(scores_of, n, 2)


def around(token):
    return lambda scores_of, n, vocab_size: by_changes_from([token] * n, scores_of, n, vocab_size)


def all_together(scores_of, n, vocab_size):
    moved = (scores_of([0] * n) != scores_of([2] * n)).any(dim=1)
    return moved[:, None].expand(n, n)


RIGHT[check_reads] = [
    (by_all_changes, "Three nets"),
    (by_every_text, "Three nets"),
    (lambda *given: by_all_changes(*given).int().tolist(),),
]
WRONG[check_reads] = [
    (..., "Nothing to check"),
    (by_one_change, "Some tokens look alike"),
    (around(0), "draw these texts at random"),
    (around(1), "draw these texts at random"),
    (around(2), "draw these texts at random"),
    (all_together, "Change one token at a time"),
    (lambda *given: by_all_changes(*given).mT, "Rows and columns are exchanged"),
    (lambda *given: by_all_changes(*given).tril(), "Half of the table is missing"),
    (lambda *given: by_all_changes(*given).triu(1), "Half of the table is missing"),
    (lambda *given: by_all_changes(*given)[0], "shape"),
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


# Gaps, filled from the left


def log_probability(log_p, whole, end):
    return sum(float(log_p(whole[:i])[whole[i]]) for i in range(1, end))


def filled(log_p, ids, gaps, vocab_size, reach=None, apart=True):
    table = torch.zeros(len(gaps), vocab_size, dtype=torch.float64)
    for row, gap in zip(table, gaps, strict=True):
        shift = None
        end = len(ids) if reach is None else min(len(ids), gap + 1 + reach)
        for choice in product(range(vocab_size), repeat=len(gaps)):
            given = dict(zip(gaps, choice, strict=True))
            whole = [given.get(i, w) for i, w in enumerate(ids)]
            log = log_probability(log_p, whole, end)
            shift = log if apart and shift is None else shift  # only their differences count
            row[whole[gap]] += math.exp(log - (shift or 0))
    return table / table.sum(dim=1, keepdim=True)


def by_products(log_p, ids, gaps, vocab_size):
    return filled(log_p, ids, gaps, vocab_size, apart=False)


def from_the_left(log_p, ids, gaps, vocab_size):
    return filled(log_p, ids, gaps, vocab_size, reach=0)


def one_further(log_p, ids, gaps, vocab_size):
    return filled(log_p, ids, gaps, vocab_size, reach=1)


def one_by_one_filled(log_p, ids, gaps, vocab_size):
    return torch.stack([filled(log_p, ids, [gap], vocab_size)[0] for gap in gaps])


RIGHT[check_fill] = [(filled,), (lambda *given: filled(*given).tolist(),)]
WRONG[check_fill] = [
    (..., "Nothing to check"),
    (lambda log_p, ids, gaps, n: ..., "Nothing to check"),
    (from_the_left, "only what stands before it"),
    (one_further, "one token past the last gap"),
    (one_by_one_filled, "one gap at a time"),
    (by_products, "1000 tokens with the gaps [500]: The probability of the whole text"),
    (lambda *given: filled(*given).log(), "These are logarithms"),
    (lambda *given: 2 * filled(*given), "Each row should sum to 1"),
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
