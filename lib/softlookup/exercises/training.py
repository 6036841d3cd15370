"""Checks of chapter 20: shares of gaps, a likelihood, a count, two gradients, and a cache."""

import math
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from softlookup.exercises.compare import advised, close, compare, numbers, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.models import GPT, GPTConfig
from softlookup.models.gpt import parameter_count

GPT1 = (40_478, 512, 768, 12)
SIZES = (GPT1, (7, 5, 4, 1), (50, 16, 12, 2), (11, 3, 8, 5))
"""Vocabulary, context, width, blocks."""
TWO = "Return two matrices: the gradient through the lookup, and that through the scores."


@exercise("return three shares of all tokens.")
def check_shares(my_shares: Answer) -> str:
    """Check a function of (share, hidden, replaced): of all tokens, which share has which fate.

    Args:
        my_shares: The learner's function; it returns three numbers: the share of all tokens that
            become the mask, that become another token, and that are chosen but stay.

    Chapter: training#exercises
    """
    for share, hidden, replaced in ((0.2, 0.5, 0.3), (0.15, 0.8, 0.1), (0.4, 1.0, 0.0)):
        kept = 1 - hidden - replaced
        expected = share * torch.tensor([hidden, replaced, kept], dtype=torch.float64)
        case = f"For {share}, {hidden}, {replaced} yours are"

        def otherwise(found: Tensor, _: Tensor, share: float = share, case: str = case) -> str:
            if math.isclose(found[0], share, rel_tol=1e-6):
                return "That is the slide's claim: not all that are chosen become the mask."
            shown = ", ".join(f"{value:.4g}" for value in found.tolist())
            return f"{case} {shown}; they should sum to {share}."

        mistakes = [
            (expected / share,
             "These are shares of the chosen tokens. Of all tokens, fewer: only some are chosen."),
            (expected[[0, 2, 1]],
             "The last two are exchanged: first the replaced, then the kept."),
        ]  # fmt: skip
        compare(my_shares(share, hidden, replaced), expected, "Your answer", mistakes, otherwise)
    return "12% become the mask, 1.5% another token, 1.5% are kept: together the chosen 15%."


@exercise("return the log-likelihood.")
def check_likelihood(my_log_likelihood: Answer) -> str:
    """Check a function of (ids, k, row_of): the log-likelihood of a text with a window of k.

    Args:
        my_log_likelihood: The learner's function. ``row_of(history)`` takes a list of ids and gives
            the probability of each next token; the first token of the text is given.

    Chapter: training#exercises
    """
    text = [0, 2, 1, 1, 2, 0]
    for k in (2, 1, 5, 3):
        expected = _window_sum(text, k)
        found = scalar(my_log_likelihood(text, k, _row_of), "The log-likelihood")
        if abs(found - expected) > 1e-9:
            mistakes = _likelihood_mistakes(text, k, expected)
            aside = f"For k = {k} yours is {found:.6g}, and it is {expected:.6g}."
            raise Wrong(advised(found, mistakes, aside, rel_tol=0, abs_tol=1e-9))
    return "Each token from the k before it: the sum is the log-likelihood, given the first token."


@exercise("return the number of parameters.")
def check_count(my_count: Answer) -> str:
    """Check a function of (vocab_size, context, d_model, n_layers): GPT-1's parameters.

    Args:
        my_count: The learner's function.

    Chapter: training#exercises
    """
    for sizes in SIZES[::-1]:
        vocab_size, context, d_model, n_layers = sizes
        config = GPTConfig(vocab_size, context, d_model, 1, n_layers, norm_first=False)
        expected = parameter_count(config)
        found = scalar(my_count(*sizes), "The number")
        if found != expected:
            mistakes = [
                (vocab_size * d_model,
                 "The output has no table of its own: W_e is used twice, and counted once."),
                (-context * d_model,
                 "The table of positions is missing, one row for each place."),
                (-n_layers * (4 + 5 + 2) * d_model,
                 "Biases are missing: each linear map has one, and so does each LayerNorm."),
                (-n_layers * 9 * d_model, "The biases of the linear maps are missing."),
                (-n_layers * 4 * d_model,
                 "A block has two LayerNorms, each with a gain and a shift."),
                (2 * d_model, "GPT-1 has no norm behind the last block: it is post-norm."),
            ]  # fmt: skip
            aside = f"For {sizes} yours is {found:,.0f}, and it is {expected:,}."
            raise Wrong(advised(found - expected, mistakes, aside, rel_tol=0))
    return "GPT-1 has 116,534,784 parameters, a quarter of them in its tables."


@exercise("return the two gradients.")
def check_gradients(my_gradients: Answer) -> str:
    """Check a function of (E, ids): the two gradients of a tied table, one for each of its uses.

    The model is the smallest there is: row i is ``E[ids[i]]``, its scores are that row times
    $E^\\top$, and the loss is the mean cross-entropy of the next tokens.

    Args:
        my_gradients: The learner's function; it returns two matrices as large as E: the gradient
            through the lookup, and the gradient through the scores.

    Chapter: training#exercises
    """
    generator = torch.Generator().manual_seed(17)
    for n, vocab_size, d_model in ((4, 3, 2), (7, 5, 3)):
        E = torch.randn(vocab_size, d_model, generator=generator, dtype=torch.float64)
        ids = torch.randint(vocab_size, (n,), generator=generator)
        lookup, scores = _two_uses(E, ids)
        found = [numbers(one, E, "Each gradient") for one in my_gradients.several(2, TWO, E, ids)]
        mistakes = [
            ((scores, lookup),
             "The two are exchanged: first through the lookup, then through the scores."),
            ((lookup + scores, lookup + scores),
             "Both are the whole gradient. Cut one use at a time off, with detach()."),
            (((n - 1) * lookup, (n - 1) * scores), "Take the mean of the losses, not their sum."),
        ]  # fmt: skip
        mistakes = [(torch.stack(pair), advice) for pair, advice in mistakes]
        expected = torch.stack([lookup, scores])
        compare(torch.stack(found), expected, "The pair", mistakes, _wrong_gradient)
    return "Their sum is the gradient of the tied table: one row is moved by both of its jobs."


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


def _row_of(history: list[int]) -> list[float]:
    """Three probabilities that depend on every token of the history, and on its length."""
    code = sum((3**j) * (token + 1) for j, token in enumerate(reversed(list(history))))
    weights = [1 + (code * (7 + 4 * token)) % 13 for token in range(3)]
    return [weight / sum(weights) for weight in weights]


def _window_sum(text: list[int], k: int, first: int = 1) -> float:
    terms = [_row_of(text[max(0, i - k) : i])[text[i]] for i in range(first, len(text))]
    return sum(map(math.log, terms))


def _likelihood_mistakes(text: list[int], k: int, right: float) -> list[tuple[float, str]]:
    from_the_end = [_row_of(text[i - k : i])[text[i]] for i in range(1, len(text))]
    return [
        (math.exp(right), "This is the probability: GPT-1's objective is its logarithm."),
        (-right, "The sign is turned: this is the loss. A log-likelihood is at most 0."),
        (right / 5, "This is a mean over the tokens. The objective is their sum."),
        (right / math.log(2), "Use natural logarithms."),
        (_window_sum(text, k + 1),
         f"Your window is one token too wide: it should hold {k} at most."),
        (_window_sum(text, k - 1),
         f"Your window is one token too narrow: it should hold {k}, where there are so many."),
        (right + math.log(_row_of([])[text[0]]),
         "The first token is given: it is read, not predicted."),
        (_window_sum(text, len(text)),
         f"Your window has no end: it should hold {k} tokens at most."),
        (_window_sum(text, k, first=k),
         "Tokens with fewer than k before them count too: they are given all that there are."),
        (sum(map(math.log, from_the_end)),
         "Look at ids[i - k : i] where i is less than k: a negative index counts from the end."),
    ]  # fmt: skip


def _wrong_gradient(found: Tensor, expected: Tensor) -> str:
    k = 0 if not close(found[0], expected[0]) else 1
    worst = (found[k] - expected[k]).abs().max()
    off = f"The gradient through the {('lookup', 'scores')[k]} is off by up to {worst:.3g}."
    return f"{off} Which tokens are read, and which are predicted?"


def _two_uses(E: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    read, said = (E.clone().requires_grad_(True) for _ in range(2))
    scores = read[ids[:-1]] @ said.mT
    torch.nn.functional.cross_entropy(scores, ids[1:]).backward()
    return read.grad, said.grad


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
