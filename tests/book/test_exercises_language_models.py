"""The exercises of chapter 7: blank, solved, solved otherwise, and wrong in the known ways."""

import itertools
import math

import pytest
import torch

from softlookup.exercises.language_models import (
    check_edges,
    check_forward,
    check_perplexity,
    check_table,
    check_window,
)
from softlookup.exercises.verdict import Verdict
from softlookup.language_models import NGramModel


def assert_wrong(verdict, advice):
    assert isinstance(verdict, Verdict)
    assert not verdict
    assert advice in verdict.message


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


@pytest.mark.parametrize("table", [book_table, tensor_table])
def test_a_right_table_passes(table):
    assert check_table(table, "runs")
    assert check_table(table, " Runs")


def test_wrong_tables():
    assert_wrong(check_table(..., ...), "Nothing to check")
    assert_wrong(check_table(lambda tokens: ..., "runs"), "Nothing to check")
    assert_wrong(check_table(lambda t: tensor_table(t).mT, "runs"), "Rows and columns")
    assert_wrong(check_table(counts_of, "runs"), "These are counts")
    assert_wrong(check_table(lambda t: counts_of(t) / len(t), "runs"), "length of the text")
    assert_wrong(check_table(by_followers, "runs"), "what follows")
    assert_wrong(check_table(lambda t: tensor_table(t) + 0.1, "runs"), "after")
    assert_wrong(check_table(lambda t: [[1.0]], "runs"), "shape")
    assert_wrong(check_table(book_table, ...), "name the word")
    assert_wrong(check_table(book_table, "dog"), "not the odd one")


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


@pytest.mark.parametrize("probability", [book_probability, by_library])
def test_right_edges_pass(probability):
    assert check_edges(probability)


def test_wrong_edges():
    assert_wrong(check_edges(...), "Nothing to check")
    assert_wrong(check_edges(no_end), "The empty text")
    later = lambda texts, text: no_end(texts, text) if text else book_probability(texts, [])  # noqa: E731
    assert_wrong(check_edges(later), "Too much for")
    assert_wrong(check_edges(run_together), "Too little for")
    assert_wrong(check_edges(no_start), "Too much for")
    assert_wrong(check_edges(lambda texts, text: "one"), "should be numbers")


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


@pytest.mark.parametrize("forward", [book_forward, loop_forward])
def test_a_right_forward_passes(forward):
    assert check_forward(forward)


def turned(words, initial, A, B):
    return book_forward(words, initial, A.mT, B)


def early(words, initial, A, B):
    return book_forward(words, initial @ A, A, B)


def test_wrong_forward():
    assert_wrong(check_forward(...), "Nothing to check")
    assert_wrong(check_forward(turned), "wrong way round")
    assert_wrong(check_forward(early), "before any change of state")
    assert_wrong(check_forward(lambda w, i, A, B: 0.5), "Already one word")
    assert_wrong(
        check_forward(lambda w, i, A, B: book_forward(w, i, A, B) if len(w) < 5 else 0.0), "yours"
    )


# Perplexity


def test_a_right_perplexity_passes():
    assert check_perplexity(lambda p: math.exp(-sum(map(math.log, p)) / len(p)))
    assert check_perplexity(lambda p: 2 ** -torch.tensor(p, dtype=torch.float64).log2().mean())


def test_wrong_perplexity():
    assert_wrong(check_perplexity(...), "Nothing to check")
    logs = lambda p: -sum(map(math.log, p)) / len(p)  # noqa: E731
    assert_wrong(check_perplexity(logs), "Undo the logarithm")
    assert_wrong(check_perplexity(lambda p: math.exp(logs(p) / math.log(2))), "one base")
    assert_wrong(check_perplexity(lambda p: sum(1 / q for q in p) / len(p)), "mean of 1/p")
    power = lambda p: (math.prod(p) or 1e-300) ** (-1 / len(p))  # noqa: E731
    assert_wrong(check_perplexity(power), "Add logarithms")
    assert_wrong(check_perplexity(lambda p: 7.0), "must give V")


# The window


def test_a_right_window_passes():
    assert check_window(lambda sentences: len(sentences[0]) - 1)
    assert check_window(lambda sentences: max(len(s) for s in sentences) - 2 + 1)


def test_wrong_windows():
    assert_wrong(check_window(...), "Nothing to check")
    assert_wrong(check_window(lambda s: len(s[0]) - 2), "counts the predicted word")
    assert_wrong(check_window(lambda s: len(s[0])), "One too many")
    assert_wrong(check_window(lambda s: 5 if len(s[0]) == 6 else 4), "yours is 4")
