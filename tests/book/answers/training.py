"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import torch

from softlookup.exercises.training import (
    check_memory,
    check_rate,
    check_rounding,
    check_shared,
    check_writing,
)

RIGHT, WRONG = {}, {}


# A batch on several machines


def book_shared(parts, counts, limit):
    total = sum(counts)
    whole = []
    for layer in zip(*parts, strict=True):
        whole.append(sum(n / total * g for n, g in zip(counts, layer, strict=True)))
    length = torch.cat([g.flatten() for g in whole]).norm()
    return [g * min(1, limit / length) for g in whole]


def in_one_row(parts, counts, limit):
    rows = torch.stack([torch.cat([g.flatten() for g in part]) for part in parts])
    row = torch.tensor(counts, dtype=rows.dtype) @ rows / sum(counts)
    if row.norm() > limit:
        row = row / row.norm() * limit
    ends = row.split([g.numel() for g in parts[0]])
    return tuple(end.reshape(g.shape) for end, g in zip(ends, parts[0], strict=True))


def clipped(layers, limit):
    length = sum(float(g.square().sum()) for g in layers) ** 0.5
    return [g * min(1, limit / length) for g in layers]


def shared(parts, counts):
    total = sum(counts)
    return [
        sum(n / total * g for n, g in zip(counts, layer, strict=True))
        for layer in zip(*parts, strict=True)
    ]


def mean_of_means(parts, counts, limit):
    return clipped(shared(parts, [1] * len(parts)), limit)


def each_machine(parts, counts, limit):
    return shared([clipped(part, limit) for part in parts], counts)


def each_machine_even(parts, counts, limit):
    return shared([clipped(part, limit) for part in parts], [1] * len(parts))


def each_layer(parts, counts, limit):
    return [clipped([g], limit)[0] for g in shared(parts, counts)]


def always_as_long(parts, counts, limit):
    whole = shared(parts, counts)
    length = sum(float(g.square().sum()) for g in whole) ** 0.5
    return [g * limit / length for g in whole]


def sum_of_all(parts, counts, limit):
    return clipped([sum(counts) * g for g in shared(parts, counts)], limit)


def divided_twice(parts, counts, limit):
    return clipped([g / len(parts) for g in shared(parts, counts)], limit)


RIGHT[check_shared] = [(book_shared,), (in_one_row,)]
WRONG[check_shared] = [
    (..., "Nothing to check"),
    (mean_of_means, "mean of the means"),
    (each_machine, "each machine's gradient"),
    (each_machine_even, "counts for more"),
    (each_layer, "each layer by itself"),
    (lambda *a: [g.clamp(-a[2], a[2]) for g in shared(*a[:2])], "each number by itself"),
    (lambda parts, counts, limit: shared(parts, counts), "not clipped"),
    (always_as_long, "made a short gradient longer"),
    (sum_of_all, "The loss is a mean"),
    (divided_twice, "sum to 1 already"),
    (lambda *a: torch.cat([g.flatten() for g in book_shared(*a)]), "one tensor for each layer"),
    (lambda *a: book_shared(*a)[:1], "one tensor for each layer"),
    (lambda *a: [g.flatten() for g in book_shared(*a)], "shape"),
    (lambda *a: 1 / 0, "ZeroDivisionError"),
]


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


# A rate


def book_rate(step, n_steps, n_warmup, peak):
    if step <= n_warmup:
        return peak * step / n_warmup
    return peak * (n_steps - step) / (n_steps - n_warmup)


def smaller_line(step, n_steps, n_warmup, peak):
    down = (n_steps - step) / (n_steps - n_warmup)
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
