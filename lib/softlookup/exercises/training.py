"""Checks of chapter 21: writing with a cache."""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from softlookup.exercises.compare import numbers
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.models import GPT, GPTConfig


@exercise("return the n new tokens.")
def check_writing(my_writing: Answer) -> str:
    """Check a function of (model, prompt, n) that writes n tokens and reads each token once.

    Args:
        my_writing: The learner's function. ``model`` is called as ``model(ids, cache=cache)``, with
            ids of shape (1, some tokens) and a cache from ``model.new_cache()``; ``prompt`` is a
            list of ids. It returns the n most probable next ids, one after the other.

    Chapter: training#exercises
    """
    model = _small_gpt()
    for prompt, n in (([3, 1, 4], 5), ([5], 9), ([0, 6, 2, 2, 7, 1, 3], 1)):
        expected, counted = _greedy(model, prompt, n), _Counted(model)
        least = len(prompt) + n - 1
        again = (
            f"The model read {{}} tokens; {least} would do. What the cache holds must not be read "
            "again: after the prompt, hand over one token at a time."
        )
        try:
            answer = my_writing(counted, prompt, n)
        except Wrong as wrong:
            if counted.full or counted.n_read <= least + 1:
                raise
            raise Wrong(again.format(counted.n_read)) from wrong
        answer = numbers(answer, torch.zeros(n), "Your text").long().tolist()
        if counted.full:
            raise Wrong("The model was called without the cache, so it read all again. Make one "
                        "with model.new_cache() and hand it to every call.")  # fmt: skip
        if answer != expected and answer == [*prompt, *expected][:n]:
            raise Wrong("Return only the new tokens, without the prompt.")
        if counted.n_read > least + 1:
            raise Wrong(again.format(counted.n_read))
        if answer != expected or counted.n_read < least:
            raise Wrong(f"After {prompt} you wrote {answer}, and the model says {expected}. The "
                        "next token has the largest score in the last row.")  # fmt: skip
    return "The same tokens as with recomputing everything, and each was read once."


class _Counted:
    """A model that notes what it is asked; it can be called in no other way than the tests say."""

    def __init__(self, model: GPT) -> None:
        self.model, self.n_read, self.full = model, 0, 0
        self.new_cache = model.new_cache

    def __call__(self, ids: Tensor, cache: object = None) -> Tensor:
        self.n_read += ids.shape[-1]
        self.full += cache is None
        with torch.no_grad():
            return self.model(ids, cache=cache)


def _greedy(model: Callable[[Tensor], Tensor], prompt: list[int], n: int) -> list[int]:
    ids = list(prompt)
    with torch.no_grad():
        for _ in range(n):
            ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
    return ids[len(prompt) :]


@cache
def _small_gpt() -> GPT:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = GPT(GPTConfig(8, context=16, d_model=12, n_heads=3, n_layers=2)).double()
        for parameter in model.parameters():  # large enough that each token tells
            torch.nn.init.normal_(parameter, std=0.5)
    return model.eval()
