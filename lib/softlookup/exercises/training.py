"""Checks: a rate, a shared batch, what is left of a step, rounding, and a cache."""

import math
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from softlookup.exercises.compare import advised, compare, numbers, scalar
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


@exercise("return the rate.")
def check_rate(my_rate: Answer) -> str:
    """Check a function of (step, n_steps, n_warmup, peak): a rate that goes up, and down to 0.

    Args:
        my_rate: The learner's function.

    Chapter: training#exercises
    """
    for n_steps, n_warmup, peak in ((10, 4, 0.5), (7, 1, 2.0), (30, 29, 0.1), (5, 4, 1.0)):
        for step in range(1, n_steps + 1):
            sizes = {"step": step, "n_steps": n_steps, "n_warmup": n_warmup, "peak": peak}
            up, down = step / n_warmup, (n_steps - step) / (n_steps - n_warmup)
            expected = peak * (up if step <= n_warmup else down)
            found = scalar(my_rate(*sizes.values()), "The rate")
            if math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-6):
                continue
            mistakes = [
                (expected / peak, "This is a share of the peak: multiply it by peak."),
                (peak * (step - 1) / n_warmup if step <= n_warmup else math.nan,
                 "Steps count from 1: the first step must not have the rate 0."),
                (peak * (n_steps - step + 1) / (n_steps - n_warmup + 1) if step > n_warmup
                 else math.nan, "At the last step the rate is 0."),
                (peak * (1 - step / n_steps) if step > n_warmup else math.nan,
                 "The way down begins at the peak: count the steps after it."),
                (peak if step > n_warmup else math.nan, "After the peak the rate falls."),
            ]  # fmt: skip
            case = ", ".join(f"{name}={value:g}" for name, value in sizes.items())
            aside = f"For {case} yours is {found:.6g}, and it is {expected:.6g}."
            raise Wrong(advised(found, mistakes, aside, rel_tol=1e-5, abs_tol=1e-6))
    return "Up, and down to 0. The library's is warmup_stable_decay, with nothing level."


@exercise("return a list with one tensor for each layer.")
def check_shared(my_gradient: Answer) -> str:
    """Check a function of (parts, counts, limit): the clipped gradient of a batch read in parts.

    Args:
        my_gradient: The learner's function. ``parts`` has, for each machine, the mean gradient of
            its tokens, a tensor for each layer; ``counts`` has the machines' numbers of tokens.

    Chapter: training#exercises
    """
    one = [[[3.0, 4.0], [[12.0]]], [[-1.0, 2.0], [[0.5]]]]
    three = [*one, [[0.0, -6.0], [[2.0]]]]
    cases = (one, [6, 2], 1.0), (three, [1, 1, 8], 0.5), (one, [5, 3], 1000.0), (one, [4, 4], 2.0)
    for lists, counts, limit in cases:
        parts = [[torch.tensor(g, dtype=torch.float64) for g in part] for part in lists]
        whole = _shared(parts, counts)
        expected = _clipped(whole, limit)
        given = [[g.clone() for g in part] for part in parts]
        answer = my_gradient(given, list(counts), limit)
        if not isinstance(answer, list | tuple) or len(answer) != len(expected):
            raise Wrong("Return a list with one tensor for each layer.")
        case = f"With the token counts {counts} and the limit {limit:g}: "
        shares = [n / sum(counts) for n in counts]
        even = [1] * len(counts)
        mistakes = [
            (_clipped(_shared(parts, even), limit),
             "that is the mean of the means. A machine with more tokens must count for more."),
            (_shared([_clipped(part, limit) for part in parts], counts),
             "you clipped each machine's gradient. What is clipped is the gradient of the batch."),
            (_shared([_clipped(part, limit) for part in parts], even),
             "clip the gradient of the whole batch, not each machine's; and a machine with more "
             "tokens counts for more."),
            ([_clipped([g], limit)[0] for g in whole],
             "you clipped each layer by itself. The length is one number for the whole model."),
            ([g.clamp(-limit, limit) for g in whole],
             "you cut each number by itself. Clipping keeps the direction."),
            (whole, "it is the gradient of the batch, and it was not clipped."),
            ([g * limit / _length(whole) for g in whole],
             "you made a short gradient longer. Clipping shortens, or does nothing."),
            (_clipped([g * sum(counts) for g in whole], limit),
             "you clipped the sum over all tokens. The loss is a mean."),
            (_clipped([g / len(counts) for g in whole], limit),
             "the shares of the machines, such as "
             f"{shares[0]:.3g}, sum to 1 already: do not divide by their number again."),
        ]  # fmt: skip
        for layer, (found, right) in enumerate(zip(answer, expected, strict=True)):
            known = [(wrong[layer], advice) for wrong, advice in mistakes
                     if not all(map(torch.equal, wrong, expected))]  # fmt: skip
            compare(found, right, f"The gradient of layer {layer}", known, case=case)
    return (
        "As if one machine had read the whole batch. To clip, the machines need one number more "
        "of each other: the length of what they have together."
    )


@exercise("return the list of c_0, c_1, ..., c_n.")
def check_memory(my_memory: Answer) -> str:
    """Check a function of (rates, weight_decay): what AdamW leaves of each update at the end.

    Args:
        my_memory: The learner's function; it returns the factor of the weight at the start, and
            then that of each update.

    Chapter: training#exercises
    """
    for rates, decay in (([0.5, 0.25, 0.125], 0.4), ([0.1] * 6, 0.0), ([0.2, 0.1, 0.3, 0.4], 1.0)):
        expected = _memory(rates, decay)
        backwards = [expected[0], *expected[:0:-1]]
        own = [expected[0], *(c * (1 - rate * decay)
               for c, rate in zip(expected[1:], rates, strict=True))]  # fmt: skip
        bare = [expected[0], *(c / rate for c, rate in zip(expected[1:], rates, strict=True))]
        late = _memory([1.0] * len(rates), decay)
        mistakes = [
            (own, "The update of a step is not shrunk by the decay of the same step, only by "
                  "those that come later."),
            (bare, "An update enters with the rate of its step: c_t holds the factor eta_t, too."),
            (backwards, "The updates are in the wrong order: c_1 belongs to the first one."),
            (late, "The rate of each step counts, not 1."),
            ([1.0, *rates], "Each later step shrinks the weight, and with it what earlier steps "
                            "have done."),
            ([expected[0], *(-c for c in expected[1:])],
             "The minus stands in the formula already: all factors here are positive."),
            (expected[1:], "The first number is the factor of w_0."),
            ([*expected[1:], expected[0]], "The factor of w_0 comes first."),
            ([1.0, *expected[1:]], "The weight at the start decays, too, at every step."),
        ]  # fmt: skip
        mistakes = [
            (torch.tensor(wrong, dtype=torch.float64), advice)
            for wrong, advice in mistakes
            if wrong != expected
        ]
        shown = ", ".join(f"{rate:g}" for rate in rates)
        compare(
            my_memory(rates, decay),
            torch.tensor(expected, dtype=torch.float64),
            "The list",
            mistakes,
            f"For the rates {shown} and the decay {decay} that is not what is left. Try two "
            "steps with a pencil.",
        )
    return (
        "A constant rate remembers its last 1/(rate times decay) steps, each a little less; as "
        "the rate comes down to 0, the last steps add little, and the middle of the run stays."
    )


@exercise("return the rounded numbers.")
def check_rounding(my_round: Answer) -> str:
    """Check a function of (x, generator) that rounds to bfloat16 by chance, right in the mean.

    Args:
        my_round: The learner's function.

    Chapter: training#exercises
    """
    exact = torch.tensor([[1.0, -2.5, 0.0], [256.0, -0.0078125, 2.0**100]])
    found = _rounded(my_round, exact, seed=1)
    if not torch.equal(found, exact):
        raise Wrong("A number that exists in bfloat16, such as 1 or -2.5, must stay as it is.")
    first, again = (_rounded(my_round, torch.full((500,), 1.001), seed=2) for _ in range(2))
    other = _rounded(my_round, torch.full((500,), 1.001), seed=3)
    if not torch.equal(first, again):
        raise Wrong("The same generator must give the same result: draw all chance from it.")
    if torch.equal(first, other) and first.unique().numel() > 1:
        raise Wrong("Another generator must give another result: draw all chance from it.")
    for value in (1.001, 1.007, -1.001, -3.01, 0.3, 100.3, -0.999, 1.9999, 1e-3):
        x = torch.full((20_000,), value)
        found = _rounded(my_round, x, seed=4)
        low, high = _neighbours(value)
        _check_neighbours(found, value, low, high)
        share = (value - low) / (high - low)
        _check_share((found == high).double().mean().item(), value, low, high, share)
    several = _rounded(my_round, torch.full((100, 20), 1.0039), seed=5)
    if (several == several[:1]).all() or (several == several[:, :1]).all():
        raise Wrong("Each number needs a chance of its own: draw as many as x has.")
    return (
        "In the mean nothing is lost: a thousand steps of 0.001 bring the weight to about 2, "
        "although most of them leave it where it is."
    )


def _shared(parts: list[list[Tensor]], counts: list[int]) -> list[Tensor]:
    """The gradient of the mean loss of all tokens, layer by layer."""
    total = sum(counts)
    layers = zip(*parts, strict=True)
    return [sum(g * n / total for g, n in zip(layer, counts, strict=True)) for layer in layers]


def _length(layers: list[Tensor]) -> float:
    return torch.cat([g.flatten() for g in layers]).norm().item()


def _clipped(layers: list[Tensor], limit: float) -> list[Tensor]:
    """Shortened to a length, all layers together, if it is longer."""
    factor = min(1.0, limit / _length(layers))
    return [g * factor for g in layers]


def _memory(rates: list[float], decay: float) -> list[float]:
    kept, shares = 1.0, []
    for rate in reversed(rates):
        shares.append(rate * kept)
        kept *= 1 - rate * decay
    return [kept, *reversed(shares)]


def _rounded(my_round: Answer, x: Tensor, seed: int) -> Tensor:
    """The learner's result, all of whose numbers exist in bfloat16."""
    generator = torch.Generator().manual_seed(seed)
    found = my_round(x, generator, kept="Leave x as it is, and return a new tensor.")
    found = numbers(found, x, "The result").float()
    if not torch.equal(found.bfloat16().float(), found):
        raise Wrong("Some numbers of the result do not exist in bfloat16.")
    return found


def _neighbours(value: float) -> tuple[float, float]:
    """The two numbers of bfloat16 around a number that is none of them."""
    near = torch.tensor(value).bfloat16()
    towards = torch.inf if near.item() < value else -torch.inf
    other = torch.nextafter(near, torch.full_like(near, towards))
    low, high = sorted((near.item(), other.item()))
    return low, high


def _check_neighbours(found: Tensor, value: float, low: float, high: float) -> None:
    wrong = found[(found != low) & (found != high)]
    if len(wrong):
        raise Wrong(
            f"{value} lies between {low:.6g} and {high:.6g}, its neighbours in bfloat16; yours "
            f"became {wrong[0].item():.6g}, too. Which side is the other neighbour on, and for "
            "negative numbers?"
        )


def _check_share(up: float, value: float, low: float, high: float, share: float) -> None:
    """Of 20,000 draws, the share that went up; five standard deviations are luck."""
    if abs(up - share) < 5 * math.sqrt(share * (1 - share) / 20_000) + 1e-4:
        return
    case = f"{value} went up to {high:.6g} in {up:.1%} of the draws; it should in {share:.1%}"
    if up in (0, 1):
        raise Wrong(f"{case}. Yours always rounds one way.")
    if abs(up - (1 - share)) < 0.02:
        raise Wrong(f"{case}. The chances are exchanged: the nearer neighbour is the likelier.")
    if abs(up - 0.5) < 0.02:
        raise Wrong(f"{case}. A coin is not enough: the chance depends on the distances.")
    raise Wrong(f"{case}, so that the mean is the number itself.")


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
