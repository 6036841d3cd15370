"""Answers to the exercises of chapter 10: right, and wrong with the words that they get."""

import itertools
from functools import cache

import numpy as np
import torch
from torch.autograd.functional import jacobian

from answers import Later
from softlookup.attention import additive_scores
from softlookup.exercises.seq2seq import (
    check_additive,
    check_alignment_matrix,
    check_antidiagonal,
    check_direct_path,
    check_multiplications,
)
from softlookup.translation import Translator, alignment_matrix, is_monotone, train_translator

RIGHT, WRONG = {}, {}

LETTERS = "abcdefg"


# The grid

GRID = [
    [1, 0, 0, 0, 0, 0],
    [0, 0, 1, 0, 0, 0],
    [0, 1, 0, 0, 0, 0],
    [0, 1, 0, 1, 1, 1],
]
PRINTED = [GRID[0], GRID[2], GRID[1], GRID[3]]
CROSSING = [(1, 2), (2, 1)]


def changed(i, j, value):
    grid = torch.tensor(GRID).float()
    grid[i, j] = value
    return grid


RIGHT[check_alignment_matrix] = [
    (GRID, CROSSING),
    (np.array(GRID), np.array(CROSSING)),
]
LINKS = {(i, j) for i, row in enumerate(GRID) for j, one in enumerate(row) if one}
ALIGNMENT = alignment_matrix(LINKS, 4, 6)
PAIRS = list(itertools.permutations(sorted(LINKS), 2))
CROSSED = [pair for pair in PAIRS if not is_monotone(set(pair))]
RIGHT[check_alignment_matrix] += [(ALIGNMENT, list(pair)) for pair in CROSSED]
WRONG[check_alignment_matrix] = [
    (ALIGNMENT, list(pair), "do not cross") for pair in PAIRS if pair not in CROSSED
]
WRONG[check_alignment_matrix] += [
    (..., ..., "Nothing to check so far: draw the grid"),
    (GRID, ..., "Nothing to check so far: give two links"),
    (torch.tensor(GRID).T, CROSSING, "transpose your grid"),
    (list(zip(*GRID, strict=True)), CROSSING, "transpose your grid"),
    (PRINTED, CROSSING, "That is the slide's order. French puts m' before a."),
    (changed(3, 1, 0), CROSSING, "entarté (row 3) and hit (column 1) belong together"),
    (changed(1, 4, 1), CROSSING, "m' (row 1) and a (column 4) do not belong together"),
    (changed(3, 1, 0.5), CROSSING, "write 1 or 0, not 0.5"),
    (GRID[:3], CROSSING, "should have shape (4, 6)"),
    ("il m' a", CROSSING, "should be numbers"),
    (GRID, [], "Two links do cross"),
    (GRID, (), "Two links do cross"),
    (GRID, [(2, 3), (3, 2)], "(2, 3) is no link of your grid. Count rows"),
    (GRID, [(0, 0), (3, 5)], "do not cross"),
    (GRID, [(2, 1), (3, 1)], "do not cross"),
    (GRID, [(1, 2), (2, 1), (3, 1)], "Give two links"),
    (GRID, (1, 2), "Give two links"),
    (GRID, False, "Give two links"),
    (GRID, "m' and a", "Give two links"),
]


# Reversal


def pairs(n, seed, turn):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, 6, (n,), generator=generator).tolist()
    orders = [torch.randperm(7, generator=generator)[:length].tolist() for length in lengths]
    texts = [[LETTERS[k] for k in order] for order in orders]
    return [(text, turn(text)) for text in texts]


def trained(*, turn=lambda text: text[::-1], seed=1, letters=LETTERS, **changes):
    sizes = {"n_steps": 300, "d_model": 32, "d_hidden": 64, "d_attention": 16, **changes}
    known = [pair for pair in pairs(1000, seed, turn) if set(pair[0]) <= set(letters)]
    return train_translator(known, generator=torch.Generator().manual_seed(seed), **sizes)


@cache
def reverser():
    return trained()


class Astray(Translator):
    """It writes the right letters and looks one place beside them, as some starts do."""

    def align(self, sources, targets):
        return [weights.roll(1, dims=1) for weights in super().align(sources, targets)]


def astray():
    return Astray(reverser().source, reverser().target, reverser().model)


def by_argmax(weights):
    n = weights.shape[1]
    return weights.argmax(dim=1).tolist() == list(range(n - 1, -1, -1))


def by_flip(weights):
    turned = weights.numpy()[:, ::-1]
    return np.all(turned.argmax(axis=1) == np.arange(len(turned)))


def by_turning(weights):
    return (weights.flip(1).argmax(dim=1) == torch.arange(len(weights))).all()


WRONG[check_antidiagonal] = [
    (function, ..., advice)
    for function, advice in [
        (..., "Nothing to check so far: return True or False"),
        (lambda weights: None, "Nothing to check so far: return True or False"),
        (lambda weights: weights.argmax(1).tolist() == list(range(len(weights))), "For [[0.1, 0.9"),
        (lambda weights: True, "That is the main diagonal"),
        (lambda weights: bool((weights.flip(1).diag() > 0.5).all()), "however small it is"),
        (lambda weights: by_argmax(weights[:2]) or weights[0].argmax() == 2, "One row elsewhere"),
        (lambda weights: by_argmax(weights.mT), "Compare along each row"),
        (lambda weights: len(weights) < 4 and by_argmax(weights), "It has four rows"),
        (lambda weights: weights.argmax(dim=1) == 0, "not one for each row"),
        (lambda weights: weights[0, 9], "IndexError"),
    ]
]


RIGHT[check_antidiagonal] = [
    (by_argmax, Later(reverser)),
    (by_flip, Later(reverser)),
    (by_turning, Later(lambda: trained(seed=7))),
]
WRONG[check_antidiagonal] += [
    (by_argmax, ..., "Nothing to check so far: train a translator"),
    (by_argmax, Later(lambda: reverser().model), "not a Seq2Seq"),
    (by_argmax, Later(lambda: trained(n_steps=1, attention="none")), "has no attention"),
    (by_argmax, Later(lambda: trained(n_steps=1, letters="abcd")), "It knows 4 letters"),
    (by_argmax, Later(lambda: trained(n_steps=20)), "Train for more steps"),
    (by_argmax, Later(lambda: trained(turn=list)), "It copies"),
    (by_argmax, Later(astray), "It reverses, but ", "a neighbour's state knows the letter, too"),
]


# Direct paths


def by_jacobian(layer, query, context):
    return jacobian(lambda c: layer(query, c), context).norm(dim=(1, 3))


def by_rows(layer, query, context):
    context.requires_grad_()
    out = layer(query, context)
    squares = torch.zeros(len(query), len(context))
    for i, number in itertools.product(range(len(query)), range(out.shape[1])):
        (gradient,) = torch.autograd.grad(out[i, number], context, retain_graph=True)
        squares[i] += gradient.square().sum(dim=1)
    return squares.sqrt().tolist()


def blocks(layer, query, context):
    return jacobian(lambda c: layer(query, c), context)


def unmasked(layer, query, context):
    found = by_jacobian(layer, query, context)
    return found.where(found > 0, 0.1)


RIGHT[check_direct_path] = [
    (by_jacobian,),
    (by_rows,),
]


WRONG[check_direct_path] = [
    (..., "Nothing to check so far"),
    (lambda *a: None, "Nothing to check so far"),
    (lambda *a: by_jacobian(*a).T, "transpose"),
    (lambda *a: blocks(*a), "should have shape (3, 5)"),
    (lambda f, q, c: jacobian(lambda r: f(r, c), q).norm(dim=(1, 3)), "should have shape"),
    (lambda *a: blocks(*a).sum((0, 1)).norm(dim=1), "should have shape (3, 5)"),
    (lambda *a: by_jacobian(*a) ** 2, "take the root"),
    (lambda *a: blocks(*a).sum((1, 3)), "may cancel to zero"),
    (lambda *a: blocks(*a).sum((1, 3)).abs(), "may cancel to zero"),
    (lambda *a: blocks(*a).abs().sum((1, 3)), "sums of sizes"),
    (lambda *a: blocks(*a).abs().amax((1, 3)), "the largest entries"),
    (lambda *a: blocks(*a).sum(1).norm(dim=-1), "before you measured"),
    (unmasked, "You find a path to them"),
    (lambda *a: by_jacobian(*a) * 1.1, "the numbers are not"),
    (lambda layer, q, c: layer.nothing, "AttributeError"),
]


# Multiplications


def counted(n_k, n_q, d):
    scores = [[[1 for _ in range(d)] for _ in range(n_k)] for _ in range(n_q)]
    contexts = [[[1 for _ in range(n_k)] for _ in range(d)] for _ in range(n_q)]
    return sum(len(row) for step in scores + contexts for row in step)


COUNT = counted(30, 20, 64)
RIGHT[check_multiplications] = [
    (COUNT, counted(60, 20, 64) / COUNT, counted(60, 40, 64) // COUNT),
    (torch.tensor(76_800), np.float64(2), [4]),
]
WRONG[check_multiplications] = [
    (..., ..., ..., "Nothing to check so far: count"),
    (76_800, ..., ..., "Nothing to check so far: by which factor"),
    (76_800, 2, ..., "when both are twice as long"),
    (600, 2, 4, "the number of scores"),
    (1200, 2, 4, "One score takes 64"),
    (38_400, 2, 4, "Add the other"),
    (39_000, 2, 4, "each weight multiplies 64"),
    (77_400, 2, 4, "Neither softmax nor scale"),
    (153_600, 2, 4, "Do not count additions"),
    (320_000, 2, 4, "not each other"),
    (115_200, 4, 4, "not n_k²"),
    (51_200, 1, 4, "not n_q²"),
    (6_400, 2, 4, "a product, not a sum"),
    (5, 2, 4, "5 is not right. Write two loops"),
    ([1, 2], 2, 4, "should have shape (1,)"),
    ("many", 2, 4, "should be one number"),
    (76_800, 4, 4, "look at E43"),
    (76_800, 3, 4, "count again, and divide: not 3"),
    (76_800, 2, 2, "twice again for the target: not 2"),
]


# Additive scores


def split(query, key, W_q, W_k, v):
    return torch.tanh((query @ W_q.T)[:, None] + (key @ W_k.T)[None]) @ v


def by_loops(query, key, W_q, W_k, v):
    queries, keys = [W_q @ row for row in query], [W_k @ row for row in key]
    return [[float(v @ torch.tanh(q + k)) for k in keys] for q in queries]


def in_numpy(*given):
    query, key, W_q, W_k, v = (part.numpy() for part in given)
    return np.einsum("qka,a->qk", np.tanh((query @ W_q.T)[:, None] + key @ W_k.T), v)


def joined(query, key, W_q, W_k, v):
    both = torch.cat([query[:, None].expand(-1, len(key), -1),
                      key[None].expand(len(query), -1, -1)], dim=-1)  # fmt: skip
    return torch.tanh(both @ torch.cat([W_q, W_k], dim=1).T) @ v


def pair_by_pair(query, key, W_q, W_k, v):
    return [[float(v @ torch.tanh(W_q @ q + W_k @ k)) for k in key] for q in query]


def keys_again(query, key, W_q, W_k, v):
    rows = [torch.tanh(W_q @ q + key @ W_k.T) @ v for q in query]
    return torch.stack(rows)


def by_einsum(query, key, W_q, W_k, v):
    left = torch.einsum("qd,ad->qa", query, W_q)
    return torch.einsum("qka,a->qk", torch.tanh(left[:, None] + key @ W_k.T), v)


SPLIT = "867 multiplications are enough; pair by pair it would be 5,577"
RIGHT[check_additive] = [
    (split, SPLIT),
    (by_loops,),
    (in_numpy,),
    (additive_scores,),
    (by_einsum,),
]
PAIRWISE = "867 are enough. Project each word once"
WRONG[check_additive] = [
    (joined, PAIRWISE, "took 5,577 multiplications"),
    (pair_by_pair, PAIRWISE, "took 5,577 multiplications"),
    (keys_again, PAIRWISE),
]
WRONG[check_additive] += [
    (..., "Nothing to check so far"),
    (lambda *a: None, "Nothing to check so far"),
    (lambda *a: split(*a).T, "transpose"),
    (lambda q, k, W, U, v: (q @ W.T @ v)[:, None] + k @ U.T @ v, "The tanh is missing"),
    (lambda q, k, W, U, v: ((q @ W.T @ v)[:, None] + k @ U.T @ v).tanh(), "inside, before v"),
    (
        lambda q, k, W, U, v: (q @ W.T).tanh().matmul(v)[:, None] + (k @ U.T).tanh() @ v,
        "Add first, then tanh",
    ),
    (lambda q, k, W, U, v: ((q @ W.T)[:, None] * (k @ U.T)).tanh() @ v, "adds the two"),
    (lambda q, k, W, U, v: (q @ W.T * v) @ (k @ U.T).T, "the additive score adds"),
    (lambda q, k, W, U, v: ((q @ W.T)[:, None] + k @ U.T).tanh().sum(-1), "v is missing"),
    (lambda *a: split(*a).softmax(dim=-1), "Return the scores"),
    (lambda *a: split(*a).sigmoid(), "the numbers are not"),
    (lambda *a: split(*a)[0], "should have shape (11, 13)"),
    (lambda q, k, W, U, v: q @ U.T, "RuntimeError"),
]
