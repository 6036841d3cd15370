"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import math

import torch

from softlookup.exercises.soft_lookup import (
    check_bandwidth,
    check_barycentric,
    check_gaussian,
    check_line,
    check_prediction,
    check_product,
    check_query,
    check_temperature,
)

RIGHT, WRONG = {}, {}

A = torch.tensor([[0.6, 0.1, 0.3], [0.3, 0.5, 0.2], [0.2, 0.1, 0.7]])
V = torch.tensor([[2.0, 1.0], [-0.5, 2.0], [-1.0, -0.5]])


# the product


book_value = -(A[0, 0] * V[0] + A[0, 2] * V[2]) / A[0, 1]
RIGHT[check_product] = [(value,) for value in [book_value, [-9, -4.5], (-9.0, -4.5)]]
WRONG[check_product] = {
    "blank": (..., "Nothing to check so far: find the value"),
    "the sign": (-book_value, "The sign"),
    "not divided": (book_value / 10, "Divide by 0.1"),
    "what the others give": ([0.9, 0.45], "what the two others contribute"),
    "by a column": (-(A[0, 0] * V[0] + A[2, 0] * V[2]) / A[1, 0], "by a column of A"),
    "without weights": (-V[0] - V[2], "weights are missing"),
    "the origin": ([0, 0], "only am is at the origin"),
    "one wrong number": ([-9, -45], "the output for I is"),
    "one number": (-9, "should have shape (2,)"),
    "in words": ("I", "should be numbers"),
}


# the prediction


def book_prediction(x, xs, ys):
    return (-(x - xs).abs()).softmax(dim=0) @ ys


def loop_prediction(x, xs, ys):
    """Another way: plain numbers, the nearest distance subtracted."""
    distances = [abs(x - point) for point in xs.tolist()]
    weights = [math.exp(min(distances) - d) for d in distances]
    return sum(w * y for w, y in zip(weights, ys.tolist(), strict=True)) / sum(weights)


def naive_prediction(x, xs, ys):
    kernel = torch.exp(-(x - xs).abs())
    return kernel @ ys / kernel.sum()


WRONG[check_prediction] = {
    "blank": (lambda x, xs, ys: ..., "Nothing to check so far"),
    "0/0 far away": (naive_prediction, "0/0 is not a number"),
    "not normalized": (lambda x, xs, ys: torch.exp(-(x - xs).abs()) @ ys, "do not sum to 1"),
    "divided by n": (
        lambda x, xs, ys: (torch.exp(-(x - xs).abs()) * ys).mean(),
        "not by their number",
    ),
    "sign": (lambda x, xs, ys: (x - xs).abs().softmax(dim=0) @ ys, "sign is wrong"),
    "shares": (
        lambda x, xs, ys: -(x - xs).abs() / (-(x - xs).abs()).sum() @ ys,
        "normalized the distances themselves",
    ),
    "squared": (lambda x, xs, ys: (-((x - xs) ** 2)).softmax(dim=0) @ ys, "squared the distance"),
    "Gaussian": (lambda x, xs, ys: (-((x - xs) ** 2) / 2).softmax(dim=0) @ ys, "a Gaussian"),
    "mean": (lambda x, xs, ys: ys.mean(), "plain mean"),
    "nearest": (lambda x, xs, ys: ys[(x - xs).abs().argmin()], "nearest target alone"),
    "no distance": (lambda x, xs, ys: (x - xs).softmax(dim=0) @ ys, "At x = 4.25 you predict"),
    "the weights": (lambda x, xs, ys: (-(x - xs).abs()).softmax(dim=0), "one number; you returned"),
    "in words": (lambda x, xs, ys: "low", "should be one number"),
    "learned by heart": (lambda x, xs, ys: -1.56680, "At x = 3.1"),
}


RIGHT[check_prediction] = [(book_prediction,), (loop_prediction,)]


# the Gaussian


def book_gaussian(Q, K, sigma):
    return -(Q[:, None] - K[None]).square().sum(dim=-1) / (2 * sigma**2)


def loop_gaussian(Q, K, sigma):
    return [[-sum((q - k) ** 2).item() / (2 * sigma**2) for k in K] for q in Q]


def squares(Q, K):
    return (Q[:, None] - K[None]).square().sum(dim=-1)


RIGHT[check_gaussian] = [
    (tie, solution)
    for tie in [2.5, torch.tensor(2.5)]
    for solution in [book_gaussian, loop_gaussian]
]
WRONG[check_gaussian] = {
    "blank": (..., lambda Q, K, sigma: ..., "name the query at which"),
    "blank function": (2.5, lambda Q, K, sigma: ..., "write my_gaussian"),
    "the mean of all keys": (2, book_gaussian, "highest for the key 5 alone"),
    "between 2 and 5": (3.5, book_gaussian, "highest for the key 0 alone"),
    "a pair": ([0, 5], book_gaussian, "should have shape"),
    "as printed": (2.5, lambda Q, K, s: squares(Q, K) / s**2, "printed score"),
    "sign only": (2.5, lambda Q, K, s: squares(Q, K) / (2 * s**2), "sign is still wrong"),
    "no 2": (2.5, lambda Q, K, s: -squares(Q, K) / s**2, "2 below is missing"),
    "sigma not squared": (2.5, lambda Q, K, s: -squares(Q, K) / (2 * s), "σ should be squared"),
    "no sigma": (2.5, lambda Q, K, s: -squares(Q, K) / 2, "σ plays no part"),
    "the kernel": (2.5, lambda Q, K, s: book_gaussian(Q, K, s).exp(), "That is the kernel"),
    "the weights": (2.5, lambda Q, K, s: book_gaussian(Q, K, s).softmax(-1), "are the weights"),
    "not squared": (
        2.5,
        lambda Q, K, s: -squares(Q, K).sqrt() / (2 * s**2),
        "distance should be squared",
    ),
    "squared sum": (
        2.5,
        lambda Q, K, s: -(Q[:, None] - K[None]).sum(-1).square() / (2 * s**2),
        "Square each difference first",
    ),
    "exp and log": (2.5, lambda Q, K, s: book_gaussian(Q, K, s).exp().log(), "infinite score"),
    "transposed": (2.5, lambda Q, K, s: book_gaussian(Q, K, s).mT, "should have shape"),
    "numbers only": (2.5, lambda Q, K, s: -((Q - K.mT) ** 2) / (2 * s**2), "RuntimeError"),
}


# barycentric coordinates


def book_barycentric(Z, V):
    Z, V = (torch.cat([M, torch.ones_like(M[:, :1])], dim=1) for M in (Z, V))
    return torch.linalg.solve(V.mT, Z.mT).mT


def area(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def area_barycentric(Z, V):
    """Another way: each coordinate is the share of the triangle across from its corner."""
    a, b, c = V
    return torch.stack([torch.stack([area(z, b, c), area(a, z, c), area(a, b, z)])
                        for z in Z]) / area(a, b, c)  # fmt: skip


def cut(Z, V):
    return book_barycentric(Z, V).clamp(min=0)


WRONG[check_barycentric] = {
    "blank": (lambda Z, V: ..., "Nothing to check so far"),
    "two equations": (lambda Z, V: Z @ torch.linalg.pinv(V), "do not sum to 1"),
    "transposed": (lambda Z, V: book_barycentric(Z, V).mT, "table is transposed"),
    "cut off": (cut, "Leave it"),
    "cut off and shared": (lambda Z, V: cut(Z, V) / cut(Z, V).sum(1, keepdim=True), "Leave it"),
    "absolute": (lambda Z, V: book_barycentric(Z, V).abs(), "Leave it"),
    "softmax": (lambda Z, V: (-torch.cdist(Z, V)).softmax(dim=1), "does not give z"),
    "learned by heart": (lambda Z, V: A, "should have shape (4, 3)"),
    "two of three": (lambda Z, V: book_barycentric(Z, V)[:, :2], "should have shape (3, 3)"),
    "corners in reverse": (lambda Z, V: book_barycentric(Z, V.flip(0)), "it should be"),
}


RIGHT[check_barycentric] = [(book_barycentric,), (area_barycentric,)]


# the temperature


def book_lookup(Q, K, V, temperature):
    return (Q @ K.mT / temperature).softmax(dim=-1) @ V


def loop_lookup(Q, K, V, temperature):
    rows = []
    for q in Q:
        scores = [(q @ k).item() for k in K]
        weights = [math.exp((s - max(scores)) / temperature) for s in scores]
        rows.append(sum(w * v for w, v in zip(weights, V, strict=True)) / sum(weights))
    return torch.stack(rows)


def book_temperature(gap, n_keys, spread, error):
    return gap / math.log((n_keys - 1) * spread / error)


def exact_temperature(gap, n_keys, spread, error):
    """Another way: the share r/(1 + r) itself."""
    return gap / math.log((n_keys - 1) * (spread - error) / error)


def halving(gap, n_keys, spread, error):
    """Another way: half the temperature until it is low enough."""
    temperature = 1.0
    while (n_keys - 1) * math.exp(-gap / temperature) * spread > error:
        temperature /= 1.2
    return torch.tensor(temperature)


def naive_lookup(Q, K, V, temperature):
    e = (Q @ K.mT / temperature).exp()
    return e / e.sum(dim=-1, keepdim=True) @ V


RIGHT[check_temperature] = [
    (lookup, temperature)
    for lookup in [book_lookup, loop_lookup]
    for temperature in [book_temperature, exact_temperature, halving]
]
LOOKUP_SLIPS = {
    "blank": (lambda *given: ..., "write my_lookup"),
    "multiplied": (lambda Q, K, V, t: (Q @ K.mT * t).softmax(-1) @ V, "divide by it"),
    "over queries": (lambda Q, K, V, t: (Q @ K.mT / t).softmax(0) @ V, "they should over keys"),
    "ignored": (lambda Q, K, V, t: (Q @ K.mT).softmax(-1) @ V, "plays no part"),
    "scaled": (lambda Q, K, V, t: (Q @ K.mT / t / 5**0.5).softmax(-1) @ V, "No √d_k"),
    "output divided": (lambda Q, K, V, t: (Q @ K.mT).softmax(-1) @ V / t, "not the output"),
    "hard": (lambda Q, K, V, t: V[(Q @ K.mT).argmax(-1)], "the hard lookup"),
    "weights": (
        lambda Q, K, V, t: (Q @ K.mT / t).softmax(-1),
        "These are the weights; mix the values by them.",
    ),
    "overflow": (naive_lookup, "overflows"),
    "no softmax": (lambda Q, K, V, t: Q @ K.mT / t @ V, "row"),
}
TEMPERATURE_SLIPS = {
    "blank": (lambda *given: ..., "write my_temperature"),
    "one other key": (lambda g, n, s, e: g / math.log(s / e), "there are n − 1"),
    "no spread": (lambda g, n, s, e: g / math.log((n - 1) / e), "Does the spread"),
    "one over": (lambda g, n, s, e: math.log((n - 1) * s / e) / g, "solve for 1/τ"),
    "base ten": (lambda g, n, s, e: g / math.log10((n - 1) * s / e), "natural"),
    "a little too warm": (
        lambda g, n, s, e: 1.02 * book_temperature(g, n, s, e),
        "if all other keys agree, the error there is 0.01",
    ),
    "too low": (lambda g, n, s, e: book_temperature(g, n, s, e) / 3, "needlessly low"),
    "a small number": (lambda g, n, s, e: 1e-3, "needlessly low"),
    "fixed": (lambda g, n, s, e: 0.2, "for τ"),
    "zero": (lambda g, n, s, e: 0.0, "positive and finite"),
    "negative": (lambda g, n, s, e: g / math.log(e / s / (n - 1)), "positive and finite"),
    "NaN": (lambda g, n, s, e: math.nan, "positive and finite"),
    "in words": (lambda g, n, s, e: "cold", "should be one number"),
    "a pair": (lambda g, n, s, e: (0.1, 0.2), "you returned 2"),
}


WRONG[check_temperature] = {
    name: (answer, book_temperature, message) for name, (answer, message) in LOOKUP_SLIPS.items()
}


WRONG[check_temperature] |= {
    name: (book_lookup, answer, message) for name, (answer, message) in TEMPERATURE_SLIPS.items()
}


# the bandwidth


def left_out(xs, ys, b, kernel=lambda d, b: torch.exp(-d / b)):
    """A loop: each point predicted from all the others."""
    errors = []
    for i in range(len(xs)):
        others = torch.arange(len(xs)) != i
        weights = kernel((xs[others] - xs[i]).abs(), b)
        errors.append(weights @ ys[others] / weights.sum() - ys[i])
    return torch.stack(errors)


def loop_bandwidth(xs, ys, bandwidths):
    return min(bandwidths, key=lambda b: left_out(xs, ys, b).square().sum())


def masked_bandwidth(xs, ys, bandwidths):
    """Another way: kernels with a zero diagonal, in float32, the choice as a tensor."""
    kernels = torch.exp(-(xs[:, None] - xs).abs() / torch.tensor(bandwidths)[:, None, None])
    kernels = kernels * (1 - torch.eye(len(xs)))
    predicted = kernels @ ys / kernels.sum(dim=2)
    errors = (predicted - ys).square().mean(dim=1)
    return torch.tensor(bandwidths, dtype=torch.float32)[errors.argmin()]


def chosen_by(error):
    return lambda xs, ys, bandwidths: min(bandwidths, key=lambda b: error(xs, ys, b))


def in_sample(xs, ys, b):
    return ((-(xs[:, None] - xs).abs() / b).softmax(dim=1) @ ys - ys).square().mean()


def not_shared_anew(xs, ys, b):
    weights = (-(xs[:, None] - xs).abs() / b).softmax(dim=1)
    return ((weights * (1 - torch.eye(len(xs)))) @ ys - ys).square().mean()


def bell(d, b):
    return torch.exp(-(d**2) / (2 * b**2))


RIGHT[check_bandwidth] = [(loop_bandwidth,), (masked_bandwidth,)]
WRONG[check_bandwidth] = {
    "blank": (lambda xs, ys, bs: ..., "Nothing to check so far"),
    "reads itself": (chosen_by(in_sample), "Each point seems to read itself"),
    "not shared anew": (chosen_by(not_shared_anew), "no longer sum to 1"),
    "the worst": (
        chosen_by(lambda *given: -left_out(*given).square().mean()),
        "has the largest error",
    ),
    "absolute": (chosen_by(lambda *given: left_out(*given).abs().mean()), "square them"),
    "signed": (chosen_by(lambda *given: left_out(*given).mean().abs()), "cancel in your mean"),
    "Gaussian": (
        chosen_by(lambda *given: left_out(*given, kernel=bell).square().mean()),
        "That is the Gaussian kernel",
    ),
    "its place": (lambda xs, ys, bs: bs.index(loop_bandwidth(xs, ys, bs)), "none of them"),
    "always the same": (lambda xs, ys, bs: 0.2, "none of them"),
    "the errors": (
        lambda xs, ys, bs: [left_out(xs, ys, b).square().mean() for b in bs],
        "should be one number",
    ),
}


# the query


K_OF = torch.tensor([[1.0, 0.0], [0.4, 0.5], [0.0, 0.8]]).double()


def shares(z, V):
    one = torch.ones(3, 1, dtype=V.dtype)
    return torch.linalg.solve(torch.cat([V, one], dim=1).mT, torch.cat([z, one[0]]))


def book_query(z, K, V):
    a = shares(z, V)
    if a.min() <= 1e-12:
        return "out of reach"
    return torch.linalg.solve(K[1:] - K[0], a[1:].log() - a[0].log())


def unknown_shift_query(z, K, V):
    """Another way: the number that all scores share is a third unknown."""
    a = shares(z, V)
    if a.min() < 1e-9:
        return "Out of reach"
    with_shift = torch.cat([K, torch.ones(3, 1, dtype=K.dtype)], dim=1)
    return torch.linalg.solve(with_shift, a.log())[:2].tolist()


def within(query):
    """What returns a query where one exists, by the wrong rule."""
    return lambda z, K, V: query(shares(z, V), K) if shares(z, V).min() > 0 else "out of reach"


def never_refuses(z, K, V):
    a = shares(z, V).clamp(min=1e-9)
    return torch.linalg.solve(K[1:] - K[0], a[1:].log() - a[0].log())


def all_but_outside(z, K, V):
    return book_query(z, K, V) if shares(z, V).min() < -1e-9 else never_refuses(z, K, V)


def strict_query(z, K, V):
    """Without a tolerance, and by an inverse."""
    a = torch.cat([z, z.new_ones(1)]) @ torch.cat([V, V.new_ones(3, 1)], dim=1).inverse()
    return shift_out(a, K) if (a > 0).all() else "out of reach"


def shift_out(a, K):
    return (K[1:] - K[0]).inverse() @ (a[1:].log() - a[0].log())


def by_least_squares_query(z, K, V):
    """By a pseudo-inverse, which rounds, with the tolerance that the exercise names."""
    a = torch.linalg.pinv(torch.cat([V, V.new_ones(3, 1)], dim=1).mT) @ torch.cat(
        [z, z.new_ones(1)]
    )
    return shift_out(a, K) if (a >= 1e-9).all() else "out of reach."


RIGHT[check_query] = [
    *[(book_query,), (unknown_shift_query,), (strict_query,), (by_least_squares_query,)]
]
WRONG[check_query] = {
    "blank": (lambda z, K, V: ..., "Nothing to check so far"),
    "no logarithm": (
        within(lambda a, K: torch.linalg.solve(K[1:] - K[0], a[1:] - a[0])),
        "You solved for the weights",
    ),
    "log without the shift": (
        within(lambda a, K: torch.linalg.lstsq(K, a.log()[:, None]).solution[:, 0]),
        "subtract one of the equations",
    ),
    "neither": (
        within(lambda a, K: torch.linalg.lstsq(K, a[:, None]).solution[:, 0]),
        "The weights are no scores",
    ),
    "keys mixed": (within(lambda a, K: a @ K), "mixes the keys"),
    "transposed": (
        within(lambda a, K: torch.linalg.solve((K[1:] - K[0]).mT, a[1:].log() - a[0].log())),
        "transposed",
    ),
    "any query": (lambda z, K, V: torch.zeros(2), "finds ("),
    "always refuses": (lambda z, K, V: "out of reach", "so some query reaches it"),
    "never refuses": (never_refuses, "is outside the triangle. No query reaches it"),
    "takes an edge": (all_but_outside, "is on an edge"),
    "three numbers": (lambda z, K, V: shares(z, V), "should have shape (2,)"),
    "other words": (lambda z, K, V: "none", "should be numbers"),
}


# the line


def book_line(q, xs, sigma):
    u = xs - q
    kappa = (-(u**2) / (2 * sigma**2)).exp()
    weights = kappa * ((kappa * u**2).sum() - (kappa * u).sum() * u)
    return weights / weights.sum()


def by_least_squares(q, xs, sigma, power=1, kernel=None):
    """Another way: the normal equations in the coordinate x itself."""
    u = xs - q
    kappa = kernel(u) if kernel else (-(u**2) / (2 * sigma**2)).exp()
    design = torch.stack([torch.ones_like(xs), xs], dim=1)
    weighted = design * (kappa**power)[:, None]
    at_q = torch.tensor([1.0, q], dtype=xs.dtype)
    return at_q @ torch.linalg.solve(weighted.mT @ design, weighted.mT)


def gaussian(q, xs, sigma):
    return (-((xs - q) ** 2) / (2 * sigma**2)).exp()


RIGHT[check_line] = [(book_line, False), (by_least_squares, False)]
LINE_SLIPS = {
    "a constant": (
        lambda q, xs, s: gaussian(q, xs, s) / gaussian(q, xs, s).sum(),
        "Those are the weights of Nadaraya-Watson",
    ),
    "the kernels": (gaussian, "weights of the raw sum"),
    "not divided": (
        lambda q, xs, s: (
            gaussian(q, xs, s)
            * (
                (gaussian(q, xs, s) * (xs - q) ** 2).sum()
                - (gaussian(q, xs, s) * (xs - q)).sum() * (xs - q)
            )
        ),
        "do not sum to 1",
    ),
    "plain least squares": (
        lambda q, xs, s: by_least_squares(q, xs, s, kernel=torch.ones_like),
        "All points count alike",
    ),
    "twice": (lambda q, xs, s: by_least_squares(q, xs, s, power=2), "did you use κ twice?"),
    "no 2": (
        lambda q, xs, s: by_least_squares(q, xs, s, kernel=lambda u: (-(u**2) / s**2).exp()),
        "is the 2 below missing",
    ),
    "Laplace": (
        lambda q, xs, s: by_least_squares(q, xs, s, kernel=lambda u: (-u.abs() / s).exp()),
        "the Laplace kernel",
    ),
    "something else": (lambda q, xs, s: xs / xs.sum(), "should be predicted exactly"),
    "a prediction": (lambda q, xs, s: q, "should have shape"),
    "blank": (lambda q, xs, s: ..., "Nothing to check so far: write my_line_weights"),
}
WRONG[check_line] = {
    name: (answer, False, message) for name, (answer, message) in LINE_SLIPS.items()
}
WRONG[check_line] |= {
    "blank word": (book_line, ..., "say whether"),
    "in the hull": (book_line, True, "are all of them positive?"),
    "in words": (book_line, "no", "True or False"),
}
