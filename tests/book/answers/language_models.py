"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import itertools
import math
from collections import Counter

import torch

from softlookup.exercises.language_models import (
    check_bits,
    check_choice,
    check_edges,
    check_gap,
    check_mean_length,
    check_perplexity,
    check_shares,
    check_smoothed,
    check_text,
    check_two_steps,
)
from softlookup.language_models import NGramModel

RIGHT, WRONG = {}, {}


# Perplexity, for a word


def mean_surprise(words):
    return -sum(math.log(p) for pieces in words for p in pieces) / len(words)


def product_of(words):
    return math.prod(p for pieces in words for p in pieces)


RIGHT[check_perplexity] = [
    (lambda words: math.exp(mean_surprise(words)),),
    (lambda words: 2 ** (-sum(torch.tensor(w).double().log2().sum() for w in words) / len(words)),),
]
WRONG[check_perplexity] = [
    (..., "Nothing to check"),
    (lambda w: math.exp(mean_surprise(w) * len(w) / sum(map(len, w))), "perplexity of a piece"),
    (mean_surprise, "Undo the logarithm"),
    (lambda words: math.exp(mean_surprise(words) / math.log(2)), "one base"),
    (lambda words: product_of(words) ** (-1 / len(words)), "Add logarithms", "ZeroDivisionError"),
    (lambda words: (product_of(words) or 1e-200) ** (-1 / len(words)), "Add logarithms"),
    (lambda words: 7.0, "must give V"),
]


# Two steps


RIGHT[check_two_steps] = [
    (lambda P: P @ P,),
    (lambda P: torch.einsum("ab,bc->ac", P, P),),
]
WRONG[check_two_steps] = [
    (..., "Nothing to check"),
    (lambda P: P * P, "squared each entry"),
    (lambda P: P + P, "multiply"),
    (lambda P: P @ P.T, "where the first ended"),
    (lambda P: (P @ P).T, "exchanged"),
    (lambda P: P, "two places on"),
    (lambda P: P.mul_(P), "changes the table"),
]


# Bits per byte


def book_bits(perplexity, n_tokens, n_bytes):
    return math.log2(perplexity) * n_tokens / n_bytes


RIGHT[check_bits] = [
    (book_bits,),
    (lambda p, n, b: math.log2(p ** (n / b)),),
]
WRONG[check_bits] = [
    (..., "Nothing to check"),
    (lambda p, n, b: math.log(p) * n / b, "base 2"),
    (lambda p, n, b: math.log2(p), "bits of a token"),
    (lambda p, n, b: math.log2(p) * b / n, "divide by n_bytes"),
    (lambda p, n, b: math.log2(p) * n, "whole text"),
    (lambda p, n, b: p * n / b, "back to the loss"),
    (lambda p, n, b: 7.0, "yours is 7"),
]


# A text


def written(texts, n, generator, *, back=None, draw=None, pad=True, joined=False, most=50):
    back = n - 1 if back is None else back
    if joined:
        texts = [[word for text in texts for word in [*text, "</s>"]][:-1]]
    counts = {}
    for text in texts:
        line = ["<s>"] * back * pad + text + ["</s>"]
        for end in range(back, len(line)):
            counts.setdefault(tuple(line[end - back : end]), Counter())[line[end]] += 1
    line = ["<s>"] * back if pad else list(texts[0][:back])
    while len(line) < most:
        row = counts[tuple(line[len(line) - back :])]
        if draw is not None:
            word = draw(row)
        else:
            shares = torch.tensor([float(count) for count in row.values()])
            word = list(row)[torch.multinomial(shares, 1, generator=generator)]
        if word == "</s>":
            break
        line.append(word)
    return line[back * pad :]


def evenly(texts, n, generator):
    return written(
        texts,
        n,
        generator,
        draw=lambda row: list(row)[torch.randint(len(row), (), generator=generator)],
    )


def run_on(texts, n, generator):
    text = written(texts, n, generator)
    return text + written(texts, n, generator) if n == 2 else text


def half_even(texts, n, generator):
    if torch.rand((), generator=generator) < 0.5:
        return evenly(texts, n, generator)
    return written(texts, n, generator)


RIGHT[check_text] = [
    (written,),
    (lambda texts, n, generator: NGramModel(texts, n).sample(generator),),
]
WRONG[check_text] = [
    (..., "Nothing to check"),
    (lambda *given: " ".join(written(*given)), "Return a list of words"),
    (lambda *given: ["<s>", *written(*given)], "holds <s>"),
    (lambda *given: [*written(*given), "</s>"], "holds </s>"),
    (lambda *given: written(*given, draw=lambda row: row.most_common(1)[0][0]), "All your texts"),
    (lambda texts, n, generator: written(texts, n, None), "another text"),
    (evenly, "draw all words alike"),
    (half_even, "In the counted texts it came"),
    (lambda *given: written(*given)[1:], "begins with"),
    (lambda *given: written(*given)[:-1], "ends where no counted text did"),
    (run_on, "another began"),
    (lambda texts, n, generator: written(texts, n, generator, back=n - 2 if n > 2 else None),
     "which was never read"),
    (lambda texts, n, generator: written(texts, n, generator, back=n), "nothing but counted"),
]  # fmt: skip


# Both edges


def book_probability(texts, text):
    pairs = [pair for t in texts for pair in itertools.pairwise(["<s>", *t, "</s>"])]
    p = 1.0
    for a, b in itertools.pairwise(["<s>", *text, "</s>"]):
        before = sum(first == a for first, _ in pairs)
        p *= pairs.count((a, b)) / before
    return p


def by_library(texts, text):
    return math.exp(NGramModel(texts, 2).log_probability(text))


def no_end(texts, text):
    pairs = [pair for t in texts for pair in itertools.pairwise(["<s>", *t, "</s>"])]
    p = 1.0
    for a, b in itertools.pairwise(["<s>", *text]):
        p *= pairs.count((a, b)) / sum(first == a for first, _ in pairs)
    return p


def run_together(texts, text):
    line = ["<s>", *(word for t in texts for word in t), "</s>"]
    pairs = list(itertools.pairwise(line))
    p = 1.0
    for a, b in itertools.pairwise(["<s>", *text, "</s>"]):
        p *= pairs.count((a, b)) / max(line.count(a), 1)
    return p


def no_start(texts, text):
    return 0.0 if not text else book_probability(texts, text) * 2


def later(texts, text):
    return no_end(texts, text) if text else book_probability(texts, [])


WRONG[check_edges] = [
    (..., "Nothing to check"),
    (no_end, "leave out the factor of </s>"),
    (later, "Too much for"),
    (run_together, "Too little for"),
    (no_start, "Too much for"),
    (lambda texts, text: "one", "should be numbers"),
]
RIGHT[check_edges] = [(book_probability,), (by_library,)]


# A smoother


def book_smoothed(C, D, *, shared_by=lambda C: (C > 0).double().sum(0), given=None, least=0.0):
    rows = []
    short = shared_by(C) / shared_by(C).sum()
    for row in C:
        n_after = (row > 0).sum()
        taken = D * n_after if given is None else given * D
        kept = (row - D).clamp(min=least)
        rows.append((kept + taken * short) / row.sum() if n_after else short)
    return torch.stack(rows)


def as_the_chapters_lowest_level(C, D):
    places = (C > 0).double().sum(dim=0)
    size = len(places)
    lowest = (places - D + D * size * torch.full((size,), 1 / size)) / places.sum()
    kept = torch.where(C > 0, C - D, 0)
    taken = D * (C > 0).sum(dim=1)
    rows = (kept + torch.outer(taken, lowest)) / C.sum(dim=1, keepdim=True)
    return torch.where(rows.isnan(), lowest, rows)


def without_a_special_row(C, D):
    places = (C > 0).double().sum(dim=0)
    taken = D * (C > 0).sum(dim=1, keepdim=True)
    return ((C - D).clamp(min=0) + taken * places / places.sum()) / C.sum(dim=1, keepdim=True)


RIGHT[check_smoothed] = [(book_smoothed,), (as_the_chapters_lowest_level,)]
WRONG[check_smoothed] = [
    (..., "Nothing to check"),
    (lambda C, D: book_smoothed(C, D, shared_by=lambda C: C.sum(0)), "how often"),
    (lambda C, D: book_smoothed(C, D, shared_by=lambda C: torch.ones(C.shape[1])), "evenly"),
    (lambda C, D: book_smoothed(C, D, given=1), "gave D, not one for all"),
    (lambda C, D: book_smoothed(C, D, given=0), "gave it to nobody"),
    (lambda C, D: book_smoothed(C, D, least=-1.0), "below zero"),
    (without_a_special_row, "0/0"),
    (lambda C, D: without_a_special_row(C, D).nan_to_num(), "stays zero"),
    (lambda C, D: C / C.sum(dim=1, keepdim=True), "count ratios"),
    (lambda C, D: torch.ones_like(C), "rows sum to one"),
    (lambda C, D: C.add_(1), "changes the table"),
]


# Chosen here, reported there


def mixed_perplexity(weight, table):
    logs = [math.log((1 - weight) * u + weight * b) for u, b in table.tolist()]
    return math.exp(-sum(logs) / len(logs))


def chosen_on(part, reported):
    def choose(*given):
        texts, weights = given[:3], given[3]
        best = min(weights, key=lambda weight: mixed_perplexity(weight, texts[part]))
        return best, mixed_perplexity(best, texts[reported])

    return choose


def worst(counted, development, test, weights):
    found = max(weights, key=lambda weight: mixed_perplexity(weight, development))
    return found, mixed_perplexity(found, test)


def turned_columns(*given):
    return chosen_on(1, 2)(*[table.flip(1) for table in given[:3]], given[3])


def by_mean_probability(counted, development, test, weights):
    mean = {w: ((1 - w) * development[:, 0] + w * development[:, 1]).mean() for w in weights}
    found = max(mean, key=mean.get)
    return found, mixed_perplexity(found, test)


RIGHT[check_choice] = [(chosen_on(1, 2),), (lambda *given: list(chosen_on(1, 2)(*given)),)]
WRONG[check_choice] = [
    (..., "Nothing to check"),
    (lambda *given: chosen_on(1, 2)(*given)[0], "two numbers"),
    (chosen_on(0, 2), "on the counted text"),
    (chosen_on(2, 2), "on the test text"),
    (worst, "Lower is better"),
    (by_mean_probability, "not their logarithms"),
    (turned_columns, "the second column"),
    (chosen_on(1, 1), "that it was chosen by"),
    (chosen_on(1, 0), "report the counted text"),
    (lambda *g: (chosen_on(1, 2)(*g)[0], math.log(chosen_on(1, 2)(*g)[1])), "Undo the logarithm"),
    (lambda *given: (chosen_on(1, 2)(*given)[0], 7.0), "has not 7"),
    (lambda *given: (0.123, 7.0), "You chose 0.123"),
]


# What was taken


def book_shares(C, taken):
    return taken.sum(dim=0) / taken.sum()


def by_the_demand(C, taken):
    return (C.sum(dim=0) - (C - taken).sum(dim=0)) / taken.sum(dim=1).sum()


def kept(C, taken):
    return (C - taken).sum(dim=0) / (C - taken).sum()


def rows_alike(C, taken):
    given = (taken / C.sum(dim=1, keepdim=True)).sum(dim=0)
    return given / given.sum()


RIGHT[check_shares] = [(book_shares,), (by_the_demand,)]
WRONG[check_shares] = [
    (..., "Nothing to check"),
    (lambda C, taken: C.sum(dim=0) / C.sum(), "count ratios"),
    (lambda C, taken: (C > 0).sum(dim=0) / (C > 0).sum(), "These are the places"),
    (kept, "what was kept"),
    (rows_alike, "all rows count alike"),
    (lambda C, taken: taken.sum(dim=0), "does not sum to one"),
    (lambda C, taken: taken.sum(dim=1) / taken.sum(), "for the rows"),
    (lambda C, taken: torch.full((5,), 0.2), "than it came"),
]


# How long its texts are


def book_mean_length(start, P):
    ones = torch.ones(len(P), dtype=P.dtype)
    return start @ torch.linalg.solve(torch.eye(len(P), dtype=P.dtype) - P, ones)


def by_flow(start, P):
    total, flow = 0.0, start
    for _ in range(2000):
        total, flow = total + flow.sum(), flow @ P
    return total


def cut_short(start, P):
    total, flow = 0.0, start
    for _ in range(12):
        total, flow = total + flow.sum(), flow @ P
    return total


RIGHT[check_mean_length] = [(book_mean_length,), (by_flow,)]
WRONG[check_mean_length] = [
    (..., "Nothing to check"),
    (lambda start, P: book_mean_length(start, P) + 1, "the end is no word"),
    (lambda start, P: book_mean_length(start / start.sum(), P), "length 0"),
    (lambda start, P: book_mean_length(torch.ones(len(P)).double() / len(P), P), "use start"),
    (cut_short, "Solve the equations"),
    (lambda start, P: 99.0, "yours is 99"),
]


# The word that is missing


def book_gap(words, gap, initial, A, B):
    before = initial
    for word in words[:gap]:
        before = (before * B[:, word]) @ A
    behind = torch.ones_like(initial)
    for word in reversed(words[gap + 1 :]):
        behind = A @ (B[:, word] * behind)
    p = (before * behind) @ B
    return p / p.sum()


def by_trying(words, gap, initial, A, B):
    found = []
    for trial in range(B.shape[1]):
        text = [*words[:gap], trial, *words[gap + 1 :]]
        alpha = initial * B[:, text[0]]
        for word in text[1:]:
            alpha = (alpha @ A) * B[:, word]
        found.append(alpha.sum())
    return torch.stack(found) / sum(found)


RIGHT[check_gap] = [(book_gap,), (by_trying,)]
WRONG[check_gap] = [
    (..., "Nothing to check"),
    (lambda w, gap, i, A, B: book_gap(w[: gap + 1], gap, i, A, B), "Those behind it"),
    (lambda w, gap, i, A, B: book_gap(w[gap:], 0, i, A, B), "began at the gap"),
    (lambda w, gap, i, A, B: book_gap(w, gap, i, A.mT, B), "it is wrong"),
    (lambda w, gap, i, A, B: i, "not for each state"),
    (lambda w, gap, i, A, B: 2 * book_gap(w, gap, i, A, B), "Your numbers sum to 2;"),
    (lambda w, gap, i, A, B: book_gap([*w, w[gap]], gap, i, A, B), "it is wrong"),
]
