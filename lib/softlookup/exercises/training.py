"""Checks of chapter 17: shares of gaps, a likelihood, a count, two gradients, and a cache."""

import math
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from softlookup.exercises.verdict import Verdict, Wrong, call, close, numbers, started, verdict
from softlookup.models import GPT, GPTConfig
from softlookup.models.gpt import parameter_count

GPT1 = (40_478, 512, 768, 12)
SIZES = (GPT1, (7, 5, 4, 1), (50, 16, 12, 2), (11, 3, 8, 5))
"""Vocabulary, context, width, blocks."""


def check_shares(my_shares: object) -> Verdict:
    """Check a function of (share, hidden, replaced): of all tokens, which share has which fate.

    Args:
        my_shares: The learner's function; it returns three numbers: the share of all tokens that
            become the mask, that become another token, and that are chosen but stay.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: training#exercises

    Example:
        >>> check_shares(...)
        Not yet. Nothing to check so far: return three shares of all tokens.
    """
    return verdict(lambda: _shares(my_shares))


def check_likelihood(my_log_likelihood: object) -> Verdict:
    """Check a function of (ids, k, row_of): the log-likelihood of a text with a window of k.

    Args:
        my_log_likelihood: The learner's function. ``row_of(history)`` takes a list of ids and gives
            the probability of each next token; the first token of the text is given.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: training#exercises

    Example:
        >>> check_likelihood(...)
        Not yet. Nothing to check so far: return the log-likelihood.
    """
    return verdict(lambda: _likelihood(my_log_likelihood))


def check_count(my_count: object) -> Verdict:
    """Check a function of (vocab_size, context, d_model, n_layers): GPT-1's parameters.

    Args:
        my_count: The learner's function.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: training#exercises

    Example:
        >>> check_count(...)
        Not yet. Nothing to check so far: return the number of parameters.
    """
    return verdict(lambda: _count(my_count))


def check_gradients(my_gradients: object) -> Verdict:
    """Check a function of (E, ids): the two gradients of a tied table, one for each of its uses.

    The model is the smallest there is: row i is ``E[ids[i]]``, its scores are that row times
    $E^\\top$, and the loss is the mean cross-entropy of the next tokens.

    Args:
        my_gradients: The learner's function; it returns two matrices as large as E: the gradient
            through the lookup, and the gradient through the scores.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: training#exercises

    Example:
        >>> check_gradients(...)
        Not yet. Nothing to check so far: return the two gradients.
    """
    return verdict(lambda: _gradients(my_gradients))


def check_writing(my_writing: object) -> Verdict:
    """Check a function of (model, prompt, n) that writes n tokens and reads each token once.

    Args:
        my_writing: The learner's function. ``model`` is called as ``model(ids, cache=cache)``, with
            ids of shape (1, some tokens) and a cache from ``model.new_cache()``; ``prompt`` is a
            list of ids. It returns the n most probable next ids, one after the other.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: training#exercises

    Example:
        >>> check_writing(...)
        Not yet. Nothing to check so far: return the n new tokens.
    """
    return verdict(lambda: _writing(my_writing))


def _shares(my_shares: object) -> str:
    for share, hidden, replaced in ((0.2, 0.5, 0.3), (0.15, 0.8, 0.1), (0.4, 1.0, 0.0)):
        kept = 1 - hidden - replaced
        expected = share * torch.tensor([hidden, replaced, kept], dtype=torch.float64)
        answer = call(my_shares, share, hidden, replaced, what="return three shares of all tokens.")
        answer = numbers(answer, expected, "Your answer")
        if close(answer, expected):
            continue
        if close(answer, expected / share):
            raise Wrong("These are shares of the chosen tokens. Of all tokens, fewer: only some "
                        "are chosen.")  # fmt: skip
        if close(answer[:1], torch.tensor([share])):
            raise Wrong("That is the slide's claim: not all that are chosen become the mask.")
        if close(answer[[0, 2, 1]], expected):
            raise Wrong("The last two are exchanged: first the replaced, then the kept.")
        shown = ", ".join(f"{value:.4g}" for value in answer.tolist())
        raise Wrong(f"For {share}, {hidden}, {replaced} yours are {shown}; they should sum to "
                    f"{share}.")  # fmt: skip
    return "12% become the mask, 1.5% another token, 1.5% are kept: together the chosen 15%."


def _likelihood(my_log_likelihood: object) -> str:
    text = [0, 2, 1, 1, 2, 0]
    for k in (2, 1, 5, 3):
        expected = _window_sum(text, k)
        given = list(text), k, _row_of
        answer = call(my_log_likelihood, *given, what="return the log-likelihood.")
        answer = numbers(answer, torch.tensor(0.0), "The log-likelihood").item()
        if abs(answer - expected) <= 1e-9:
            continue
        known = {
            "This is the probability: GPT-1's objective is its logarithm.": math.exp(expected),
            "The sign is turned: this is the loss. A log-likelihood is at most 0.": -expected,
            "This is a mean over the tokens. The objective is their sum.": expected / 5,
            "Use natural logarithms.": expected / math.log(2),
            f"Your window is one token too wide: it should hold {k} at most.":
                _window_sum(text, k + 1),
            f"Your window is one token too narrow: it should hold {k}, where there are so many.":
                _window_sum(text, k - 1),
            "The first token is given: it is read, not predicted.":
                expected + math.log(_row_of([])[text[0]]),
            f"Your window has no end: it should hold {k} tokens at most.":
                _window_sum(text, len(text)),
            "Tokens with fewer than k before them count too: they are given all that there are.":
                _window_sum(text, k, first=k),
            "Look at ids[i - k : i] where i is less than k: a negative index counts from the end.":
                sum(math.log(_row_of(text[i - k : i])[text[i]]) for i in range(1, len(text))),
        }  # fmt: skip
        for advice, value in known.items():
            if abs(answer - value) <= 1e-9:
                raise Wrong(advice)
        raise Wrong(f"For k = {k} yours is {answer:.6g}, and it is {expected:.6g}.")
    return "Each token from the k before it: the sum is the log-likelihood, given the first token."


def _row_of(history: list[int]) -> list[float]:
    """Three probabilities that depend on every token of the history, and on its length."""
    code = sum((3**j) * (token + 1) for j, token in enumerate(reversed(list(history))))
    weights = [1 + (code * (7 + 4 * token)) % 13 for token in range(3)]
    return [weight / sum(weights) for weight in weights]


def _window_sum(text: list[int], k: int, first: int = 1) -> float:
    terms = [_row_of(text[max(0, i - k) : i])[text[i]] for i in range(first, len(text))]
    return sum(map(math.log, terms))


def _count(my_count: object) -> str:
    for sizes in SIZES[::-1]:
        vocab_size, context, d_model, n_layers = sizes
        config = GPTConfig(vocab_size, context, d_model, 1, n_layers, norm_first=False)
        expected = parameter_count(config)
        answer = call(my_count, *sizes, what="return the number of parameters.")
        answer = numbers(answer, torch.tensor(0.0), "The number").item()
        if answer == expected:
            continue
        off = answer - expected
        known = {
            "The output has no table of its own: W_e is used twice, and counted once.":
                vocab_size * d_model,
            "The table of positions is missing, one row for each place.": -context * d_model,
            "Biases are missing: each linear map has one, and so does each LayerNorm.":
                -n_layers * (4 * d_model + 5 * d_model + 2 * d_model),
            "The biases of the linear maps are missing.": -n_layers * 9 * d_model,
            "A block has two LayerNorms, each with a gain and a shift.": -n_layers * 4 * d_model,
            "GPT-1 has no norm behind the last block: it is post-norm.": 2 * d_model,
        }  # fmt: skip
        for advice, size in known.items():
            if off == size:
                raise Wrong(advice)
        raise Wrong(f"For {sizes} yours is {answer:,.0f}, and it is {expected:,}.")
    return "GPT-1 has 116,534,784 parameters, a quarter of them in its tables."


def _gradients(my_gradients: object) -> str:
    generator = torch.Generator().manual_seed(17)
    for n, vocab_size, d_model in ((4, 3, 2), (7, 5, 3)):
        E = torch.randn(vocab_size, d_model, generator=generator, dtype=torch.float64)
        ids = torch.randint(vocab_size, (n,), generator=generator)
        lookup, scores = _two_uses(E, ids)
        answer = call(my_gradients, E.clone(), ids.clone(), what="return the two gradients.")
        started(answer, "return the two gradients.")
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise Wrong("Return two matrices: the gradient through the lookup, and that through "
                        "the scores.")  # fmt: skip
        mine = [numbers(one, E, "Each gradient") for one in answer]
        if close(mine[0], lookup) and close(mine[1], scores):
            continue
        if close(mine[0], scores) and close(mine[1], lookup):
            raise Wrong("The two are exchanged: first through the lookup, then through the scores.")
        if close(mine[0], lookup + scores) and close(mine[1], lookup + scores):
            raise Wrong("Both are the whole gradient. Cut one use at a time off, with detach().")
        if close(mine[0], (n - 1) * lookup) and close(mine[1], (n - 1) * scores):
            raise Wrong("Take the mean of the losses, not their sum.")
        which = "lookup" if not close(mine[0], lookup) else "scores"
        worst = (mine[which == "scores"] - (lookup if which == "lookup" else scores)).abs().max()
        raise Wrong(f"The gradient through the {which} is off by up to {worst:.3g}. Which tokens "
                    "are read, and which are predicted?")  # fmt: skip
    return "Their sum is the gradient of the tied table: one row is moved by both of its jobs."


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


def _writing(my_writing: object) -> str:
    model = _small_gpt()
    for prompt, n in (([3, 1, 4], 5), ([5], 9), ([0, 6, 2, 2, 7, 1, 3], 1)):
        expected, counted = _greedy(model, prompt, n), _Counted(model)
        answer = call(my_writing, counted, list(prompt), n, what="return the n new tokens.")
        answer = numbers(answer, torch.zeros(n), "Your text").long().tolist()
        least = len(prompt) + n - 1
        if answer == expected and counted.full == 0 and least <= counted.n_read <= least + 1:
            continue
        if counted.full:
            raise Wrong("The model was called without the cache, so it read all again. Make one "
                        "with model.new_cache() and hand it to every call.")  # fmt: skip
        if answer == [*prompt, *expected][:n]:
            raise Wrong("Return only the new tokens, without the prompt.")
        if counted.n_read > least + 1:
            raise Wrong(f"The model read {counted.n_read} tokens; {least} would do. What the cache "
                        "holds must not be read again: after the prompt, hand over one token at a "
                        "time.")  # fmt: skip
        raise Wrong(f"After {prompt} you wrote {answer}, and the model says {expected}. The next "
                    "token has the largest score in the last row.")  # fmt: skip
    return "The same tokens as with recomputing everything, and each was read once."


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
