"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import torch

from softlookup.exercises.looking_inside import (
    check_directions,
    check_patching,
    check_paths,
    check_previous_head,
    check_two_maps,
)

RIGHT, WRONG = {}, {}


# Two maps, one output


def with_ones(values):
    return torch.cat([values, torch.ones(len(values), 1, dtype=values.dtype)], dim=1)


def null_step(values):
    return torch.linalg.svd(values.mT, full_matrices=True).Vh[-1]


def book_map(weights, values):
    step = null_step(with_ones(values))
    return weights + step * (weights / step.abs()).amin(dim=-1, keepdim=True)


def by_projection(weights, values):
    """Another right solution: a step towards even reading, projected to what changes nothing."""
    kept = with_ones(values)
    wish = torch.arange(len(values), dtype=values.dtype).expand_as(weights)
    step = wish - wish @ kept @ torch.linalg.pinv(kept)
    length = (weights / step.abs()).amin(dim=-1, keepdim=True)
    return (weights + 0.9 * length * step).numpy()


def one_row_only(weights, values):
    found = weights.clone()
    found[0] = book_map(weights, values)[0]
    return found


def too_short(weights, values):
    return weights + 1e-5 * (book_map(weights, values) - weights)


RIGHT[check_two_maps] = [
    (book_map, "up to 6% of a row"),
    (by_projection,),
]
WRONG[check_two_maps] = [
    (..., "Nothing to check so far: return other weights"),
    (lambda weights, values: ..., "Nothing to check so far: return other weights"),
    (3, "wants the function itself"),
    (lambda weights, values: weights, "the weights as they were"),
    (lambda weights, values: weights.flip(-1), "should agree to 1e-10"),
    (lambda weights, values: weights + 1e-2 * null_step(values), "a column of ones"),
    (lambda weights, values: weights + 9 * null_step(with_ones(values)), "a shorter step"),
    (lambda weights, values: weights[0], "should have shape"),
    (one_row_only, "move each of them"),
    (too_short, "must change by 0.001 or more"),
    (lambda weights, values: weights / 0, "The outputs differ"),
    (lambda weights, values: weights * torch.nan, "holds NaN"),
    (lambda weights: weights, "Your code stopped with TypeError"),
]


# One place given back


def book_effects(score, good, bad):
    patched = [torch.cat([bad[:k], good[k : k + 1], bad[k + 1 :]]) for k in range(len(bad))]
    return [(score(rows) - score(bad)) / (score(good) - score(bad)) for rows in patched]


def in_a_loop(score, good, bad):
    """Another right solution: one row is written, scored, and taken back."""
    rows, shares = bad.clone(), []
    for k in range(len(rows)):
        rows[k] = good[k]
        shares.append(((score(rows) - score(bad)) / (score(good) - score(bad))).item())
        rows[k] = bad[k]
    return shares


def piling_up(score, good, bad):
    shares, worst, lost = [], score(bad), score(good) - score(bad)
    for k in range(len(bad)):
        bad[k] = good[k]
        shares.append((score(bad) - worst) / lost)
    return torch.stack(shares)


def effects(score, good, bad):
    return torch.stack(book_effects(score, good, bad))


def lost(score, good, bad):
    return score(good) - score(bad)


RIGHT[check_patching] = [
    (book_effects,),
    (in_a_loop,),
]


WRONG[check_patching] = [
    (..., "Nothing to check so far: return one share"),
    (lambda s, g, b: ..., "Nothing to check so far: return one share"),
    (lambda s, g, b: effects(s, g, b) * lost(s, g, b) + s(b), "the scores themselves"),
    (lambda s, g, b: effects(s, g, b) * lost(s, g, b), "Divide it by what was lost"),
    (lambda s, g, b: effects(s, g, b) * lost(s, g, b) / s(g), "and not by the clean score"),
    (lambda s, g, b: 1 - effects(s, g, b), "still missing"),
    (lambda s, g, b: effects(s, b, g), "You spoil one row of the clean run"),
    (lambda s, g, b: 1 - effects(s, b, g), "You spoil one row of the clean run"),
    (piling_up, "Your patches pile up"),
    (lambda s, g, b: effects(s, g, b).abs().sqrt(), "So the share is"),
    (lambda s, g, b: effects(s, g, b)[:2], "should have shape (4,)"),
    (lambda s, g, b: s(g), "should have shape (4,)"),
    (lambda s, g: s(g), "Your code stopped with TypeError"),
]


# The head that reads the token before


def score(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)


def score_by_loops(weights):
    return [
        [sum(head[i, i - 1].item() for i in range(1, 12)) / 11 for head in layer]
        for layer in weights
    ]


RIGHT[check_previous_head] = [
    (score, (1, 0)),
    (score_by_loops, torch.tensor([1, 0])),
]


WRONG[check_previous_head] = [
    (..., ..., "Nothing to check so far: return one score"),
    (score, ..., "Nothing to check so far: name the head"),
    (lambda w: score(w).mean(), (1, 0), "each head has a score of its own"),
    (lambda w: score(w) * 11 / 12, (1, 0), "average over the 11 others"),
    (lambda w: score(w) * 11, (1, 0), "That is a sum"),
    (lambda w: w.diagonal(1, -2, -1).mean(-1), (1, 0), "column i - 1"),
    (lambda w: w.diagonal(0, -2, -1).mean(-1), (1, 0), "reads itself"),
    (lambda w: w[..., 0].mean(-1), (1, 0), "the first token"),
    (lambda w: w.amax((-1, -2)), (1, 0), "on the token before, on average"),
    (lambda w: score(w).mT, (1, 0), "should have shape (2, 4)"),
    (score, 4, "Give two numbers"),
    (score, (0, 4), "heads 0 to 3"),
    (score, (-1, 0), "heads 0 to 3"),
    (score, (0, 3), "scores 0.63; another one scores 0.90"),
    (score, (0, 0), "another one scores 0.90"),
]


# Paths


def weights_of(x, layer):
    W_Q, W_K = layer[:2]
    scores = x @ W_Q @ (x @ W_K).mT / W_K.shape[1] ** 0.5
    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    return scores.masked_fill(later, float("-inf")).softmax(-1)


def book_paths(X, layers, U, second=None):
    A_0, M_0, M_1 = weights_of(X, layers[0]), *(W_V @ W_O for _, _, W_V, W_O in layers)
    A_1 = weights_of(X + A_0 @ X @ M_0 if second is None else second, layers[1])
    parts = [X, A_0 @ X @ M_0, A_1 @ X @ M_1, A_1 @ A_0 @ X @ M_0 @ M_1]
    return torch.stack(parts) @ U


def by_differences(X, layers, U):
    """Another right solution: with both maps held, heads are switched on one at a time."""
    A_0 = weights_of(X, layers[0])
    M_0, M_1 = (W_V @ W_O for _, _, W_V, W_O in layers)
    A_1 = weights_of(X + A_0 @ X @ M_0, layers[1])

    def scores(first, second):
        x = X + first * (A_0 @ X @ M_0)
        return (x + second * (A_1 @ x @ M_1)) @ U

    none, one, two, both = scores(0, 0), scores(1, 0), scores(0, 1), scores(1, 1)
    return [none.tolist(), (one - none).tolist(), (two - none).tolist(),
            (both - one - two + none).tolist()]  # fmt: skip


def with_both_in_the_third(X, layers, U):
    found = book_paths(X, layers, U)
    return torch.stack([found[0], found[1], found[2] + found[3], found[3]])


def maps_swapped(X, layers, U):
    found, M_0, M_1 = book_paths(X, layers, U), *(W_V @ W_O for _, _, W_V, W_O in layers)
    A_0 = weights_of(X, layers[0])
    A_1 = weights_of(X + A_0 @ X @ M_0, layers[1])
    return torch.cat([found[:3], (A_0 @ A_1 @ X @ M_0 @ M_1 @ U)[None]])


def matrices_swapped(X, layers, U):
    found, M_0, M_1 = book_paths(X, layers, U), *(W_V @ W_O for _, _, W_V, W_O in layers)
    A_0 = weights_of(X, layers[0])
    A_1 = weights_of(X + A_0 @ X @ M_0, layers[1])
    return torch.cat([found[:3], (A_1 @ A_0 @ X @ M_1 @ M_0 @ U)[None]])


RIGHT[check_paths] = [
    (book_paths, "Four paths, and their sum"),
    (by_differences,),
]
WRONG[check_paths] = [
    (..., "Nothing to check so far: return the scores"),
    (lambda X, layers, U: ..., "Nothing to check so far: return the scores"),
    (lambda X, layers, U: book_paths(X, layers, U, second=X), "not of X"),
    (with_both_in_the_third, "Let it read X"),
    (maps_swapped, "A_1 A_0"),
    (matrices_swapped, "head 0 writes first"),
    (lambda X, layers, U: book_paths(X, layers, U)[[0, 2, 1, 3]], "changed places"),
    (lambda X, layers, U: book_paths(X, layers, U).cumsum(0), "sums of paths"),
    (lambda X, layers, U: 0 * book_paths(X, layers, U), "All scores are 0"),
    (lambda X, layers, U: book_paths(X, layers, U).sum(0), "the sum of all paths"),
    (lambda X, layers, U: book_paths(X, layers, torch.eye(len(U), dtype=U.dtype)), "by U"),
    (lambda X, layers, U: book_paths(X, layers, U).flip(0), "cut in another way"),
    (lambda X, layers, U: 2 * book_paths(X, layers, U), "do not sum to the scores"),
    (lambda X, layers: X, "Your code stopped with TypeError"),
]


# Planted directions


def book_directions(rows, n):
    clear = rows[rows.norm(dim=1) > 0.3]
    units = clear / clear.norm(dim=1, keepdim=True)
    near, chosen = units @ units.mT > 0.995, []
    for _ in range(n):
        crowd = near[near.sum(dim=1).argmax()]
        chosen.append(units[crowd].mean(dim=0))
        near[(units @ chosen[-1]) > 0.97] = False
    return torch.stack(chosen)


def by_crowds(rows, n):
    """Another right solution: rows with most neighbours first, if far from those chosen."""
    units = torch.nn.functional.normalize(rows[rows.norm(dim=1) > 0.4], dim=1).double()
    neighbours = (units @ units.mT > 0.998).sum(dim=1)
    chosen = []
    for k in neighbours.argsort(descending=True).tolist():
        if all(units[k] @ units[other] < 0.97 for other in chosen):
            chosen.append(k)
        if len(chosen) == n:
            break
    return 3 * units[chosen].numpy()


def principal(rows, n):
    axes = torch.linalg.svd(rows - rows.mean(0), full_matrices=False).Vh
    return torch.cat([axes, -axes, axes])[:n]


def book_alone(n, density):
    return n * density * (1 - density) ** (n - 1)


def alone_by_counting(n, density):
    """Another right solution: the chance of k directions, built up one direction at a time."""
    chances = [1.0, 0.0]
    for _ in range(n):
        chances = [
            chances[0] * (1 - density),
            chances[1] * (1 - density) + chances[0] * density,
        ]
    return torch.tensor(chances[1], dtype=torch.float64)


RIGHT[check_directions] = [
    (book_directions, book_alone, "All directions of three planted sets"),
    (by_crowds, alone_by_counting, "there is nothing to go by"),
]
WRONG[check_directions] = [
    (..., book_alone, "Nothing to check so far: return n directions"),
    (lambda rows, n: ..., book_alone, "Nothing to check so far: return n directions"),
    (book_directions, ..., "Nothing to check so far: return the share"),
    (principal, book_alone, "are missed"),
    (
        lambda rows, n: rows[rows.norm(dim=1).argsort(descending=True)[:n]],
        book_alone,
        "are missed",
    ),
    (lambda rows, n: -book_directions(rows, n), book_alone, "the wrong way"),
    (lambda rows, n: book_directions(rows, n)[:-1], book_alone, "Give 20 rows of width 10"),
    (lambda rows, n: torch.zeros(n, rows.shape[1]), book_alone, "points nowhere"),
    (lambda rows, n: book_directions(rows, n)[0], book_alone, "should be a matrix"),
    (lambda rows: rows, book_alone, "Your code stopped with TypeError"),
    (book_directions, lambda n, p: p * (1 - p) ** (n - 1), "any of the n"),
    (book_directions, lambda n, p: n * p * (1 - p) ** n, "not n"),
    (book_directions, lambda n, p: n * p, "on average"),
    (book_directions, lambda n, p: 1 - (1 - p) ** n, "at least one"),
    (book_directions, lambda n, p: (1 - p) ** n, "without any"),
    (book_directions, lambda n, p: 4000 * book_alone(n, p), "a number of rows"),
    (book_directions, lambda n, p: p**n, "yours says"),
]
