"""Answers to the projects: right, and wrong with the words that they get."""

import math

import torch

from softlookup.exercises.projects import check_book_model, check_by_hand, check_two_questions
from softlookup.language_models import KneserNey

RIGHT, WRONG = {}, {}


# The next word of this book


def counts_of(texts, words, discount, n=4):
    known = [word for word in words if word not in ("<unk>", "</s>")]
    return KneserNey(texts, n=n, words=known, discount=discount)


def with_a_cache(texts, words):
    counts = counts_of(texts, words, 0.9)
    place = {word: k for k, word in enumerate(words)}

    def next_word(history):
        p = counts.next_word(history)
        recent = torch.zeros(len(words), dtype=torch.float64)
        for age, word in enumerate(reversed(history)):
            recent[place[word]] += math.exp(-age / 150)
        return 0.85 * p + 0.15 * recent / recent.sum() if history else p

    return next_word


def plain(discount, n):
    return lambda texts, words: counts_of(texts, words, discount, n).next_word


def unsmoothed(texts, words):
    p = torch.zeros(len(words))
    p[0] = 1
    return lambda history: p


RIGHT[check_book_model] = [(with_a_cache, "less.")]
WRONG[check_book_model] = [
    (..., "Nothing to check"),
    (plain(0.75, n=3), "is the aim"),
    (plain(0.9, n=4), "whole passage"),
    (plain(0.9, n=5), "whole passage"),
    (unsmoothed, "impossible"),
    (lambda texts, words: lambda history: torch.ones(len(words)), "sum to"),
    (lambda texts, words: lambda history: torch.ones(3), "should have shape"),
    (lambda texts, words: lambda history: None, "Nothing to check"),
    (lambda texts, words: lambda history: 1 / 0, "ZeroDivisionError"),
    (lambda texts, words: 7, "should return a function"),
]


# Two questions at once


def trained(n_heads, by_distance):
    """Heads that are trained on the given answers, with a dot product or a distance as score."""

    def lookup(queries, keys, values, answers):
        generator = torch.Generator().manual_seed(0)

        def parameter(*shape):
            start = 0.3 * torch.randn(shape, generator=generator, dtype=torch.float64)
            return start.requires_grad_()

        W_Q, W_K, W_O = parameter(n_heads, 8, 8), parameter(n_heads, 8, 8), parameter(n_heads, 4, 4)
        if by_distance:
            W_K = W_Q

        def answer(queries, keys, values):
            q, k = queries[:, None, None] @ W_Q, keys[:, None] @ W_K
            scores = -(q - k).square().sum(dim=-1) if by_distance else (q * k).sum(dim=-1)
            return ((scores.softmax(dim=-1) @ values)[:, :, None] @ W_O).sum(dim=1)[:, 0]

        optimizer = torch.optim.Adam([W_Q, W_O] if by_distance else [W_Q, W_K, W_O], lr=0.02)
        for _ in range(300):
            rows = torch.randint(len(queries), (256,), generator=generator)
            loss = (answer(queries[rows], keys[rows], values[rows]) - answers[rows]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return answer

    return lookup


def nearest(*given):
    def answer(queries, keys, values):
        best = torch.cdist(queries[:, None], keys)[:, 0].argmin(dim=-1)
        return values[torch.arange(len(values)), best]

    return answer


RIGHT[check_two_questions] = [(trained(2, by_distance=True), "of the way")]
WRONG[check_two_questions] = [
    (..., "Nothing to check"),
    (nearest, "look softly"),
    (lambda *given: lambda queries, keys, values: values.mean(dim=1), "How many heads"),
    (trained(2, by_distance=False), "long keys"),
    (trained(1, by_distance=True), "do you have two?"),
    (lambda *given: lambda queries, keys, values: values, "should have shape"),
    (lambda *given: lambda *asked: None, "Nothing to check"),
    (lambda *given: "words", "should return a function"),
]


# A Transformer by hand


def induction(beta=100.0, shift=1, second=True, first_place=True, d=16 * 3 + 32):
    token, before, answer, place = slice(0, 16), slice(16, 32), slice(32, 48), slice(48, 80)
    E, P, U = torch.zeros(16, d), torch.zeros(32, d), torch.zeros(d, 16)
    E[:, token], P[:, place] = torch.eye(16), torch.eye(32)
    U[answer] = 100 * torch.eye(16)
    first = [torch.zeros(d, 32), torch.zeros(d, 32), torch.zeros(d, 16), torch.zeros(16, d)]
    first[0][place] = beta * torch.eye(32)
    first[1][place] = torch.eye(32).roll(shift, dims=1)
    first[2][token], first[3][:, before] = torch.eye(16), torch.eye(16)
    last = [torch.zeros(d, 16), torch.zeros(d, 16), torch.zeros(d, 16), torch.zeros(16, d)]
    last[0][token], last[1][before] = beta * torch.eye(16), torch.eye(16)
    # the first place has nobody before it, and reads itself
    last[1][48] = -torch.ones(16) * first_place
    last[2][token], last[3][:, answer] = torch.eye(16), second * torch.eye(16)
    return E, P, [tuple(first), tuple(last)], U


def spoilt(part, value):
    def weights():
        found = list(induction())
        found[part] = value
        return found

    return weights


RIGHT[check_by_hand] = [
    (induction, "nothing was trained"),
    (lambda: [one.tolist() if torch.is_tensor(one) else one for one in induction()],),
]
WRONG[check_by_hand] = [
    (..., "Nothing to check"),
    (lambda: induction(shift=0), "gives 0% of its weights to the token before"),
    (lambda: induction(second=False), "guessing has 2.773"),
    (lambda: induction(beta=1.0), "is the aim"),
    (lambda: induction(first_place=False), "row by row"),
    (lambda: induction()[:3], "Return four things"),
    (spoilt(0, torch.zeros(3, 80)), "E should have shape (16, 80)"),
    (spoilt(0, 7), "E should be a matrix; yours has shape ()"),
    (spoilt(2, [(1, 2, 3, 4)] * 2), "A matrix of layer 0 should be a matrix; yours has shape ()"),
    (spoilt(2, [(torch.eye(3),) * 4] * 2), "with d = 80"),
    (spoilt(2, [(torch.ones(80, 0),) * 2 + (torch.eye(80),) * 2] * 2), "with d = 80"),
    (spoilt(2, [(torch.eye(80),) * 3] * 2), "a list of two"),
    (spoilt(2, [1, 2]), "a list of two"),
    (spoilt(2, 7), "a list of two"),
]
