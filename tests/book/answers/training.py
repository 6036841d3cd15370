"""Answers to the exercises of chapter 20: right, and wrong with the words that they get."""

import math

import torch

from softlookup.exercises.training import (
    check_count,
    check_gradients,
    check_likelihood,
    check_memory,
    check_rate,
    check_rounding,
    check_shares,
    check_writing,
)
from softlookup.language_models import next_token_log_probabilities

RIGHT, WRONG = {}, {}


# Shares


def book_shares(share, hidden, replaced):
    return share * hidden, share * replaced, share * (1 - hidden - replaced)


def drawn_shares(share, hidden, replaced):
    kept = torch.tensor([hidden, replaced, 1 - hidden - replaced], dtype=torch.float64)
    return kept * share


RIGHT[check_shares] = [(shares, "12%") for shares in [book_shares, drawn_shares]]


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


RIGHT[check_likelihood] = [(book_likelihood,), (by_library,)]


# Parameters


def book_count(vocab_size, context, d_model, n_layers):
    attention = 4 * d_model * d_model + 4 * d_model
    feed_forward = 8 * d_model * d_model + 5 * d_model
    norms = 2 * 2 * d_model
    return (vocab_size + context) * d_model + n_layers * (attention + feed_forward + norms)


def by_formula(V, n, d, L):
    return d * (V + n + L * (12 * d + 13))


RIGHT[check_count] = [
    (count, f"{count(40_478, 512, 768, 12):,}") for count in [book_count, by_formula]
]


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


RIGHT[check_gradients] = [(book_gradients,), (gradients_by_formula,)]


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


WRONG[check_shares] = [
    (..., "Nothing to check"),
    (lambda s, h, r: ..., "Nothing to check"),
    (lambda s, h, r: (h, r, 1 - h - r), "shares of the chosen"),
    (lambda s, h, r: (s, 0.0, 0.0), "the slide's claim"),
    (lambda s, h, r: (s * h, s * (1 - h - r), s * r), "exchanged"),
    (lambda s, h, r: (s * h, 0.1, 0.2), "they should sum to 0.2"),
    (lambda s, h, r: s * h, "shape"),
]


def likelihood_with(change):
    return lambda *given: change(book_likelihood(*given))


WRONG[check_likelihood] = [
    (..., "Nothing to check"),
    (with_window(1), "one token too wide: it should hold 2"),
    (with_window(-1), "too narrow"),
    (unlimited, "no end: it should hold 2 tokens at most"),
    (with_first, "The first token is given"),
    (no_history, "a negative index counts from the end"),
    (from_the_kth, "fewer than k before them count too"),
    (lambda ids, k, row_of: -1.0, "For k = 2 yours is -1, and it is"),
    (likelihood_with(math.exp), "its logarithm"),
    (likelihood_with(lambda x: -x), "The sign"),
    (likelihood_with(lambda x: x / 5), "a mean"),
    (likelihood_with(lambda x: x / math.log(2)), "natural logarithms"),
]


def count_off(off):
    return lambda V, n, d, L: book_count(V, n, d, L) + off(V, n, d, L)


WRONG[check_count] = [
    (..., "Nothing to check"),
    (count_off(lambda V, n, d, L: V * d), "no table of its own"),
    (count_off(lambda V, n, d, L: -n * d), "table of positions"),
    (count_off(lambda V, n, d, L: -11 * L * d), "each linear map has one"),
    (count_off(lambda V, n, d, L: -9 * L * d), "biases of the linear maps"),
    (count_off(lambda V, n, d, L: -4 * L * d), "two LayerNorms"),
    (count_off(lambda V, n, d, L: 2 * d), "no norm behind"),
    (count_off(lambda V, n, d, L: 1), "yours is"),
]


def lookup_alone(E, ids):
    return book_gradients(E, ids)[0], torch.zeros_like(E)


WRONG[check_gradients] = [
    (..., "Nothing to check"),
    (lambda E, ids: ..., "Nothing to check"),
    (lambda E, ids: book_gradients(E, ids)[::-1], "exchanged"),
    (whole_twice, "the whole gradient"),
    (summed, "the mean"),
    (without_shift, "through the lookup is off"),
    (lookup_alone, "through the scores is off"),
    (lambda E, ids: E, "Return two matrices"),
    (lambda E, ids: (E, E[0]), "shape"),
]


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


# A rate


def book_rate(step, n_steps, n_warmup, peak):
    if step <= n_warmup:
        return peak * step / n_warmup
    return peak * (n_steps - step) / (n_steps - n_warmup)


def smaller_line(step, n_steps, n_warmup, peak):
    down = (n_steps - step) / (n_steps - n_warmup) if n_steps > n_warmup else 1.0
    return torch.tensor(peak * min(step / n_warmup, down))


RIGHT[check_rate] = [(book_rate,), (smaller_line,)]
WRONG[check_rate] = [
    (..., "Nothing to check"),
    (lambda *given: ..., "Nothing to check"),
    (lambda step, n, up, peak: book_rate(step, n, up, 1.0), "multiply it by peak"),
    (lambda step, n, up, peak: peak * (step - 1) / up, "must not have the rate 0"),
    (lambda step, n, up, peak: peak * min(step / up, (n - step + 1) / (n - up + 1)),
     "At the last step the rate is 0"),
    (lambda step, n, up, peak: peak * (step / up if step <= up else 1 - step / n),
     "count the steps after it"),
    (lambda step, n, up, peak: peak * min(step / up, 1), "After the peak the rate falls"),
    (lambda step, n, up, peak: 7.0, "yours is 7, and it is"),
    (lambda step, n, up, peak: [peak, peak], "shape"),
]  # fmt: skip


# What is left of a step


def book_memory(rates, weight_decay):
    kept, shares = 1.0, []
    for rate in reversed(rates):
        shares.append(rate * kept)
        kept *= 1 - rate * weight_decay
    return [kept, *reversed(shares)]


def by_running_it(rates, weight_decay):
    """The factors as rows of a linear map: start and updates are unit vectors."""
    w = torch.zeros(len(rates) + 1, dtype=torch.float64)
    w[0] = 1
    for t, rate in enumerate(rates, 1):
        w = w - rate * weight_decay * w
        w[t] += rate  # its sign is turned in the formula
    return w


def own_decay(rates, weight_decay):
    c = book_memory(rates, weight_decay)
    return [c[0], *(x * (1 - rate * weight_decay) for x, rate in zip(c[1:], rates, strict=True))]


def without_rates(rates, weight_decay):
    c = book_memory(rates, weight_decay)
    return [c[0], *(x / rate for x, rate in zip(c[1:], rates, strict=True))]


def memory_with(change):
    return lambda *given: change(book_memory(*given))


RIGHT[check_memory] = [(book_memory,), (by_running_it,)]
WRONG[check_memory] = [
    (..., "Nothing to check"),
    (lambda rates, decay: ..., "Nothing to check"),
    (own_decay, "by those that come later"),
    (without_rates, "the factor eta_t"),
    (memory_with(lambda c: [c[0], *c[:0:-1]]), "in the wrong order"),
    (memory_with(lambda c: [c[0], *(-x for x in c[1:])]), "The minus stands"),
    (memory_with(lambda c: c[1:]), "The first number is the factor of w_0"),
    (memory_with(lambda c: [*c[1:], c[0]]), "comes first"),
    (memory_with(lambda c: [1.0, *c[1:]]), "The weight at the start decays"),
    (lambda rates, decay: [1.0, *rates], "Each later step shrinks the weight"),
    (lambda rates, decay: book_memory([1.0] * len(rates), decay), "not 1"),
    (lambda rates, decay: [0.5] * (len(rates) + 1), "Try two steps with a pencil"),
    (lambda rates, decay: 1.0, "shape"),
]


# Rounding by chance


def book_round(x, generator):
    near = x.bfloat16()
    away = torch.where(x > near.float(), 1, -1) * torch.full_like(near, torch.inf)
    other, near = torch.nextafter(near, away).float(), near.float()
    drawn = torch.rand(x.shape, generator=generator)
    return torch.where(drawn < (x - near) / (other - near), other, near)


def by_bits(x, generator):
    """Noise below the last digit that is kept, and then those digits are cut off."""
    noise = torch.randint(2**16, x.shape, generator=generator, dtype=torch.int32)
    return ((x.view(torch.int32) + noise) & -65536).view(torch.float32)


def as_bfloat16(x, generator):
    return book_round(x, generator).bfloat16()


def rounded(chance):
    """With another chance of the farther neighbour."""

    def my_round(x, generator):
        near = x.bfloat16()
        away = torch.where(x > near.float(), 1, -1) * torch.full_like(near, torch.inf)
        other, near = torch.nextafter(near, away).float(), near.float()
        share = (x - near) / (other - near)
        drawn = torch.rand(x.shape, generator=generator)
        return torch.where((drawn < chance(share)) & (x != near), other, near)

    return my_round


def always_upward(x, generator):
    """The other neighbour is looked for above, even where the number lies below."""
    near = x.bfloat16()
    other = torch.nextafter(near, torch.full_like(near, torch.inf)).float()
    near = near.float()
    drawn = torch.rand(x.shape, generator=generator)
    return torch.where(drawn < ((x - near) / (other - near)).abs(), other, near)


def one_chance(x, generator):
    """One draw for each column: the rows have all the same luck."""
    near = x.bfloat16()
    away = torch.where(x > near.float(), 1, -1) * torch.full_like(near, torch.inf)
    other, near = torch.nextafter(near, away).float(), near.float()
    drawn = torch.rand(x.shape[-1], generator=generator)
    return torch.where(drawn < (x - near) / (other - near), other, near)


def own_luck(x, generator):
    return book_round(x, torch.Generator().manual_seed(8))


def in_place(x, generator):
    return x.copy_(book_round(x, generator))


RIGHT[check_rounding] = [(book_round,), (by_bits,), (as_bfloat16,)]
WRONG[check_rounding] = [
    (..., "Nothing to check"),
    (lambda x, generator: ..., "Nothing to check"),
    (lambda x, generator: x, "do not exist in bfloat16"),
    (lambda x, generator: x.bfloat16().float(), "always rounds one way"),
    (rounded(lambda share: 0.5), "A coin is not enough"),
    (rounded(lambda share: 1 - share), "The chances are exchanged"),
    (rounded(lambda share: share**2), "so that the mean is the number itself"),
    (always_upward, "Which side"),
    (lambda x, generator: book_round(x + 1e-3, generator), "must stay as it is"),
    (one_chance, "a chance of its own"),
    (own_luck, "Another generator"),
    (lambda x, generator: book_round(x, torch.default_generator), "The same generator"),
    (in_place, "Leave x as it is"),
    (lambda x, generator: 1.0, "shape"),
]
