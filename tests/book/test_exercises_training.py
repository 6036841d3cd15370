"""The exercises of chapter 17: blank, solved, solved otherwise, and wrong in the known ways."""

import math

import pytest
import torch

from softlookup.exercises.training import (
    check_count,
    check_gradients,
    check_likelihood,
    check_shares,
    check_writing,
)
from softlookup.exercises.verdict import Verdict
from softlookup.language_models import next_token_log_probabilities


def assert_wrong(verdict, advice):
    assert isinstance(verdict, Verdict)
    assert not verdict
    assert advice in verdict.message


# Shares


def book_shares(share, hidden, replaced):
    return share * hidden, share * replaced, share * (1 - hidden - replaced)


def drawn_shares(share, hidden, replaced):
    kept = torch.tensor([hidden, replaced, 1 - hidden - replaced], dtype=torch.float64)
    return kept * share


@pytest.mark.parametrize("shares", [book_shares, drawn_shares])
def test_right_shares_pass(shares):
    verdict = check_shares(shares)
    assert verdict
    assert "12%" in verdict.message


def test_wrong_shares():
    assert_wrong(check_shares(...), "Nothing to check")
    assert_wrong(check_shares(lambda s, h, r: ...), "Nothing to check")
    assert_wrong(check_shares(lambda s, h, r: (h, r, 1 - h - r)), "shares of the chosen")
    assert_wrong(check_shares(lambda s, h, r: (s, 0.0, 0.0)), "the slide's claim")
    swapped = lambda s, h, r: (s * h, s * (1 - h - r), s * r)  # noqa: E731
    assert_wrong(check_shares(swapped), "exchanged")
    assert_wrong(check_shares(lambda s, h, r: (s * h, 0.1, 0.2)), "they should sum to 0.2")
    assert_wrong(check_shares(lambda s, h, r: s * h), "shape")


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


@pytest.mark.parametrize("likelihood", [book_likelihood, by_library])
def test_right_likelihoods_pass(likelihood):
    assert check_likelihood(likelihood)


def test_wrong_likelihoods():
    assert_wrong(check_likelihood(...), "Nothing to check")
    assert_wrong(check_likelihood(with_window(1)), "one token too wide: it should hold 2")
    assert_wrong(check_likelihood(with_window(-1)), "too narrow")
    assert_wrong(check_likelihood(unlimited), "no end: it should hold 2 tokens at most")
    assert_wrong(check_likelihood(with_first), "The first token is given")
    assert_wrong(check_likelihood(no_history), "a negative index counts from the end")
    assert_wrong(check_likelihood(from_the_kth), "fewer than k before them count too")
    assert_wrong(check_likelihood(lambda ids, k, row_of: -1.0), "For k = 2 yours is -1, and it is")
    wrong = {
        "its logarithm": math.exp,
        "The sign": lambda x: -x,
        "a mean": lambda x: x / 5,
        "natural logarithms": lambda x: x / math.log(2),
    }
    for advice, change in wrong.items():
        changed = lambda *given, change=change: change(book_likelihood(*given))  # noqa: E731
        assert_wrong(check_likelihood(changed), advice)


# Parameters


def book_count(vocab_size, context, d_model, n_layers):
    attention = 4 * d_model * d_model + 4 * d_model
    feed_forward = 8 * d_model * d_model + 5 * d_model
    norms = 2 * 2 * d_model
    return (vocab_size + context) * d_model + n_layers * (attention + feed_forward + norms)


def by_formula(V, n, d, L):
    return d * (V + n + L * (12 * d + 13))


@pytest.mark.parametrize("count", [book_count, by_formula])
def test_right_counts_pass(count):
    verdict = check_count(count)
    assert verdict
    assert f"{count(40_478, 512, 768, 12):,}" in verdict.message


def test_wrong_counts():
    assert_wrong(check_count(...), "Nothing to check")
    wrong = {
        "no table of its own": lambda V, n, d, L: V * d,
        "table of positions": lambda V, n, d, L: -n * d,
        "each linear map has one": lambda V, n, d, L: -11 * L * d,
        "biases of the linear maps": lambda V, n, d, L: -9 * L * d,
        "two LayerNorms": lambda V, n, d, L: -4 * L * d,
        "no norm behind": lambda V, n, d, L: 2 * d,
        "yours is": lambda V, n, d, L: 1,
    }
    for advice, off in wrong.items():
        changed = lambda *sizes, off=off: book_count(*sizes) + off(*sizes)  # noqa: E731
        assert_wrong(check_count(changed), advice)


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


@pytest.mark.parametrize("gradients", [book_gradients, gradients_by_formula])
def test_right_gradients_pass(gradients):
    assert check_gradients(gradients)


def test_wrong_gradients():
    assert_wrong(check_gradients(...), "Nothing to check")
    assert_wrong(check_gradients(lambda E, ids: ...), "Nothing to check")
    assert_wrong(check_gradients(lambda E, ids: book_gradients(E, ids)[::-1]), "exchanged")
    assert_wrong(check_gradients(whole_twice), "the whole gradient")
    assert_wrong(check_gradients(summed), "the mean")
    assert_wrong(check_gradients(without_shift), "through the lookup is off")
    half = lambda E, ids: (book_gradients(E, ids)[0], torch.zeros_like(E))  # noqa: E731
    assert_wrong(check_gradients(half), "through the scores is off")
    assert_wrong(check_gradients(lambda E, ids: E), "Return two matrices")
    assert_wrong(check_gradients(lambda E, ids: (E, E[0])), "shape")


# Writing with a cache


def book_writing(model, prompt, n):
    cache, new, ids = model.new_cache(), [], torch.tensor([prompt])
    for _ in range(n):
        new.append(model(ids, cache=cache)[0, -1].argmax().item())
        ids = torch.tensor([new[-1:]])
    return new


def one_by_one(model, prompt, n):
    cache, new = model.new_cache(), []
    for token in prompt:
        scores = model(torch.tensor([[token]]), cache=cache)
    for _ in range(n):
        new.append(int(scores[0, -1].argmax()))
        scores = model(torch.tensor([new[-1:]]), cache=cache)  # the last is read for nothing
    return torch.tensor(new)


def recomputing(model, prompt, n):
    ids = list(prompt)
    for _ in range(n):
        ids.append(model(torch.tensor([ids]))[0, -1].argmax().item())
    return ids[len(prompt) :]


def reading_again(model, prompt, n):
    ids = list(prompt)
    for _ in range(n):  # a new cache each time: right, and as slow as without
        ids.append(model(torch.tensor([ids]), cache=model.new_cache())[0, -1].argmax().item())
    return ids[len(prompt) :]


def first_row(model, prompt, n):
    cache, new, ids = model.new_cache(), [], torch.tensor([prompt])
    for _ in range(n):
        new.append(model(ids, cache=cache)[0, 0].argmax().item())
        ids = torch.tensor([new[-1:]])
    return new


@pytest.mark.parametrize("writing", [book_writing, one_by_one])
def test_right_writing_passes(writing):
    assert check_writing(writing)


def test_wrong_writing():
    assert_wrong(check_writing(...), "Nothing to check")
    assert_wrong(check_writing(recomputing), "without the cache")
    assert_wrong(check_writing(reading_again), "tokens; 7 would do")
    assert_wrong(check_writing(first_row), "the last row")
    whole = lambda model, prompt, n: (prompt + book_writing(model, prompt, n))[:n]  # noqa: E731
    assert_wrong(check_writing(whole), "without the prompt")
    assert_wrong(check_writing(lambda model, prompt, n: [0] * (n + 1)), "shape")
    assert_wrong(check_writing(lambda model, prompt, n: 1 / 0), "ZeroDivisionError")
