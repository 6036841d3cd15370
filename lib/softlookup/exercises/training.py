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


@exercise("return the rate.")
def check_rate(my_rate: Answer) -> str:
    """Check a function of (step, n_steps, n_warmup, peak): a rate that goes up, and down to 0.

    Args:
        my_rate: The learner's function.

    Chapter: training#exercises
    """
    for n_steps, n_warmup, peak in ((10, 4, 0.5), (7, 1, 2.0), (30, 29, 0.1), (5, 5, 1.0)):
        for step in range(1, n_steps + 1):
            sizes = {"step": step, "n_steps": n_steps, "n_warmup": n_warmup, "peak": peak}
            up, down = step / n_warmup, (n_steps - step) / max(n_steps - n_warmup, 1)
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
