"""Answers to the exercises of chapter 7: right, and wrong with the words that they get."""

import itertools
import math

import torch

from softlookup.exercises.language_models import (
    check_edges,
    check_forward,
    check_perplexity,
    check_table,
)
from softlookup.language_models import NGramModel

RIGHT, WRONG = {}, {}


# A table with a hole


def book_table(tokens):
    words, pairs = sorted(set(tokens)), list(itertools.pairwise(tokens))
    return [[pairs.count((a, b)) / tokens.count(a) for b in words] for a in words]


def tensor_table(tokens):
    words = sorted(set(tokens))
    C = torch.zeros(len(words), len(words))
    for a, b in itertools.pairwise(tokens):
        C[words.index(a), words.index(b)] += 1
    return C / torch.tensor([tokens.count(a) for a in words])[:, None]


def counts_of(tokens):
    totals = torch.tensor([tokens.count(a) for a in sorted(set(tokens))])
    return tensor_table(tokens) * totals[:, None]


def by_followers(tokens):
    C = counts_of(tokens)
    return C / C.sum(dim=1, keepdim=True).clamp(min=1)


RIGHT[check_table] = [
    row for table in [book_table, tensor_table] for row in [(table, "runs"), (table, " Runs")]
]


WRONG[check_table] = [
    (..., ..., "Nothing to check"),
    (lambda tokens: ..., "runs", "Nothing to check"),
    (lambda t: tensor_table(t).mT, "runs", "Rows and columns"),
    (counts_of, "runs", "These are counts"),
    (lambda t: counts_of(t) / len(t), "runs", "length of the text"),
    (by_followers, "runs", "what follows"),
    (lambda t: tensor_table(t) + 0.1, "runs", "after"),
    (lambda t: [[1.0]], "runs", "shape"),
    (book_table, ..., "name the word"),
    (book_table, "dog", "not the odd one"),
]


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
    (no_end, "The empty text"),
    (later, "Too much for"),
    (run_together, "Too little for"),
    (no_start, "Too much for"),
    (lambda texts, text: "one", "should be numbers"),
]
RIGHT[check_edges] = [(book_probability,), (by_library,)]


# Forward


def book_forward(words, initial, A, B):
    alpha = initial * B[:, words[0]]
    for word in words[1:]:
        alpha = (alpha @ A) * B[:, word]
    return alpha.sum()


def loop_forward(words, initial, A, B):
    n = len(initial)
    alpha = [float(initial[s] * B[s, words[0]]) for s in range(n)]
    for word in words[1:]:
        alpha = [sum(alpha[r] * float(A[r, s]) for r in range(n)) * float(B[s, word])
                 for s in range(n)]  # fmt: skip
    return sum(alpha)


RIGHT[check_forward] = [(book_forward,), (loop_forward,)]


def turned(words, initial, A, B):
    return book_forward(words, initial, A.mT, B)


def early(words, initial, A, B):
    return book_forward(words, initial @ A, A, B)


WRONG[check_forward] = [
    (..., "Nothing to check"),
    (turned, "wrong way round"),
    (early, "before any change of state"),
    (lambda w, i, A, B: 0.5, "Already one word"),
    (lambda w, i, A, B: book_forward(w, i, A, B) if len(w) < 5 else 0.0, "yours"),
]


# Perplexity


def mean_surprise(p):
    return -sum(map(math.log, p)) / len(p)


WRONG[check_perplexity] = [
    (..., "Nothing to check"),
    (mean_surprise, "Undo the logarithm"),
    (lambda p: math.exp(mean_surprise(p) / math.log(2)), "one base"),
    (lambda p: sum(1 / q for q in p) / len(p), "mean of 1/p"),
    (lambda p: (math.prod(p) or 1e-300) ** (-1 / len(p)), "Add logarithms"),
    (lambda p: math.prod(p) ** (-1 / len(p)), "Add logarithms", "ZeroDivisionError"),
    (lambda p: math.exp(-math.log(math.prod(p)) / len(p)), "Add logarithms", "ValueError"),
    (lambda p: torch.tensor(p).prod() ** (-1 / len(p)), "Add logarithms"),
    (lambda p: 7.0, "must give V"),
]
RIGHT[check_perplexity] = [
    (lambda p: math.exp(-sum(map(math.log, p)) / len(p)),),
    (lambda p: 2 ** -torch.tensor(p, dtype=torch.float64).log2().mean(),),
]
