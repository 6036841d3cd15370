"""Answers to the exercises of chapter 21: right, and wrong with the words that they get."""

import torch

from softlookup.exercises.training import check_writing

RIGHT, WRONG = {}, {}


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


RIGHT[check_writing] = [(book_writing,), (one_by_one,)]


def reading_again_with_one_cache(model, prompt, n):
    cache, ids = model.new_cache(), list(prompt)
    for _ in range(n):  # until the model has no more places
        ids.append(model(torch.tensor([ids]), cache=cache)[0, -1].argmax().item())
    return ids[len(prompt) :]


def with_prompt(model, prompt, n):
    return (prompt + book_writing(model, prompt, n))[:n]


WRONG[check_writing] = [
    (..., "Nothing to check"),
    (recomputing, "without the cache"),
    (reading_again, "tokens; 7 would do"),
    (reading_again_with_one_cache, "tokens; 7 would do", "must not be read again"),
    (first_row, "the last row"),
    (with_prompt, "without the prompt"),
    (lambda model, prompt, n: [0] * (n + 1), "shape"),
    (lambda model, prompt, n: 1 / 0, "ZeroDivisionError"),
]
