"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import itertools
import math
from functools import cache

import numpy as np
import torch
from torch.autograd.functional import jacobian

from answers import Later
from softlookup.exercises.seq2seq import (
    check_antidiagonal,
    check_direct_path,
    check_forward,
    check_loss,
    check_model1,
    check_multiplications,
)
from softlookup.translation import Translator, train_translator

RIGHT, WRONG = {}, {}

LETTERS = "abcdefg"


# The loss

RIGHT[check_loss] = [
    (math.exp(-3.9), math.log(2) / 13),
    (torch.tensor(0.0202), np.float64(0.0533)),
]
WRONG[check_loss] = [
    (..., ..., "Nothing to check so far: which probability"),
    (0.0202, ..., "Nothing to check so far: which mean loss"),
    (math.exp(-3.6), 0.0533, "how many tokens does it write"),
    (math.exp(-0.3), 0.0533, "the probability of one token"),
    (0.3**13, 0.0533, "The loss is a logarithm"),
    (0.7**13, 0.0533, "The loss is a logarithm"),
    (2**-3.9, 0.0533, "its base is e"),
    (-3.9, 0.0533, "the logarithm of the probability"),
    (3.9, 0.0533, "minus the logarithm"),
    (math.exp(3.9), 0.0533, "at most 1"),
    (0.5, 0.0533, "Not 0.5. The mean loss times"),
    ("small", 0.0533, "should be one number"),
    (0.0202, math.log(2) / 12, "how many tokens does it write"),
    (0.0202, math.log(2), "the loss of the whole sentence"),
    (0.0202, 1 / 13, "one bit"),
    (0.0202, 0.5 ** (1 / 13), "the mean probability of a token"),
    (0.0202, -math.log(2) / 13, "minus a logarithm"),
    (0.0202, 0.3, "Not 0.3. How many equal factors"),
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


def counted_additive(n_k, n_q, d, d_a):
    n = 0
    for _row in range(n_q + n_k):
        n += d * d_a  # once through its matrix
    for _pair in range(n_q * n_k):
        n += d_a + d  # its score; its row on the way into the context
    return n


COUNT, ADDITIVE = counted(30, 20, 64), counted_additive(30, 20, 64, 32)
RIGHT[check_multiplications] = [
    (COUNT, ADDITIVE),
    (torch.tensor(76_800), [160_000]),
]
WRONG[check_multiplications] = [
    (..., ..., "Nothing to check so far: count"),
    (76_800, ..., "Nothing to check so far: how many are there with additive scores"),
    (600, 160_000, "the number of scores"),
    (1200, 160_000, "One score takes 64"),
    (38_400, 160_000, "Add the other"),
    (39_000, 160_000, "each weight multiplies 64"),
    (77_400, 160_000, "Neither softmax nor scale"),
    (153_600, 160_000, "Do not count additions"),
    (320_000, 160_000, "not each other"),
    (115_200, 160_000, "not n_k²"),
    (51_200, 160_000, "not n_q²"),
    (6_400, 160_000, "a product, not a sum"),
    (5, 160_000, "5 is not right. Write two loops"),
    ([1, 2], 160_000, "should have shape (1,)"),
    ("many", 160_000, "should be one number"),
    (76_800, 2_515_200, "compute each of them once"),
    (76_800, 1_327_360, "W_k k_j is the same for every target word: compute it once"),
    (76_800, 1_347_840, "W_q h_t is the same for every source row: compute it once"),
    (76_800, 121_600, "The contexts are still to be mixed"),
    (76_800, 140_800, "v takes 32 multiplications"),
    (76_800, 57_600, "The two matrices multiply"),
    (76_800, 262_400, "Do not count additions"),
    (76_800, 5, "5 is not right. Count four parts"),
]


# Only forward


def by_table(p):
    total, best, places = p[0], p[0], []
    for row in p[1:]:
        total = torch.stack([row[j] * total[: j + 1].sum() for j in range(len(row))])
        places.append([best[: j + 1].argmax().item() for j in range(len(row))])
        best = torch.stack([row[j] * best[: j + 1].max() for j in range(len(row))])
    alignment = [best.argmax().item()]
    for before in reversed(places):
        alignment.insert(0, before[alignment[0]])
    return total.sum().item(), alignment


def in_numpy(p):
    total, alignment = by_table(p)
    return np.float64(total), np.array(alignment)


def sum_with(p, step, start=None):
    total = p[0] if start is None else start
    for row in p[1:]:
        total = row * step(total)
    return total


def first_only(p):
    return torch.cat([p[0, :1], torch.zeros(p.shape[1] - 1)])


def greedily(p):
    places = [p[0].argmax().item()]
    for row in p[1:]:
        places.append(places[-1] + row[places[-1] :].argmax().item())
    return places


RIGHT[check_forward] = [(by_table,), (in_numpy,)]
WRONG[check_forward] = [
    (..., "Nothing to check so far"),
    (lambda p: by_table(p)[0], "Return two things"),
    (lambda p: by_table(p)[::-1], "Return the sum first"),
    (lambda p: (..., []), "Nothing to check so far"),
    (lambda p: (sum_with(p, lambda t: t.cummax(0).values).max(), []), "the largest product"),
    (lambda p: (p.sum(dim=1).prod(), []), "must not go back"),
    (lambda p: (sum_with(p, lambda t: t.cumsum(0) - t).sum(), []), "may also stay"),
    (
        lambda p: (sum_with(p, lambda t: t + torch.cat([torch.zeros(1), t[:-1]])).sum(), []),
        "may also jump",
    ),
    (lambda p: (sum_with(p, lambda t: t.cumsum(0), first_only(p)).sum(), []), "any column"),
    (lambda p: (sum_with(p, lambda t: t.cumsum(0))[-1], []), "all places where the last"),
    (lambda p: (by_table(p)[0] + 1, []), "the sum should be"),
    (lambda p: (by_table(p)[0], p.argmax(dim=1).tolist()), "goes back"),
    (lambda p: (by_table(p)[0], greedily(p)), "the best column at each step"),
    (lambda p: (by_table(p)[0], by_table(p)[1][:-1]), "one column for each row"),
    (lambda p: (by_table(p)[0], [p.shape[1] - 1] * len(p)), "a larger product"),
    (lambda p: (by_table(p)[0], [p.shape[1]] * len(p)), "counted from 0 to"),
    (lambda p: (by_table(p.mul_(2))[0], []), "changed p"),
    (lambda p: p[9], "IndexError"),
]


# Model 1


def model1(pairs, n_rounds, *, by_source=True, raw=False, over_target=False, divide=True):
    t = {(e, f): 1 / 7 for source, target in pairs for e in target for f in source}
    if raw:
        t = dict.fromkeys(t, 1.0)
    for _ in range(n_rounds):
        received, sums = dict.fromkeys(t, 0.0), {}
        for source, target in pairs:
            for e, f in itertools.product(target, source):
                rivals = (
                    [(word, f) for word in target]
                    if over_target
                    else [(e, word) for word in source]
                )
                share = t[e, f] if raw else t[e, f] / sum(t[rival] for rival in rivals)
                received[e, f] += share
                own = f if by_source else e
                sums[own] = sums.get(own, 0.0) + share
        t = received
        if divide:
            t = {(e, f): x / sums[f if by_source else e] for (e, f), x in received.items()}
    return t


def as_tensors(pairs, n_rounds):
    return {key: torch.tensor(x, dtype=torch.float64) for key, x in model1(pairs, n_rounds).items()}


def turned(pairs, n_rounds):
    return {(f, e): x for (e, f), x in model1(pairs, n_rounds).items()}


def only_small(pairs, n_rounds):
    return model1(pairs[:200], n_rounds)


def small_numbers(pairs, n_rounds):
    return model1(pairs, n_rounds if len(pairs) < 10 else 3)


RIGHT[check_model1] = [(model1,), (as_tensors,)]
WRONG[check_model1] = [
    (..., "Nothing to check so far"),
    (lambda pairs, n: [], "Return a dictionary"),
    (turned, "The keys are (English, French)"),
    (lambda pairs, n: model1(pairs[:2], n), "meet in a sentence"),
    (lambda pairs, n: {**model1(pairs, n), ("dog", "chat"): 0.0}, "is no pair"),
    (lambda pairs, n: model1(pairs, n, by_source=False), "Divide by what the French word gave"),
    (lambda pairs, n: model1(pairs, n, over_target=True), "the other way"),
    (lambda pairs, n: model1(pairs, n, raw=True), "must sum to 1"),
    (lambda pairs, n: model1(pairs, n, divide=False), "for each French word the entries sum"),
    (lambda pairs, n: model1(pairs, n + 1), "that is the table after 2"),
    (lambda pairs, n: dict.fromkeys(model1(pairs, n), 0.5), "should be"),
    (lambda pairs, n: dict.fromkeys(model1(pairs, n), "much"), "should be one number"),
    (only_small, "keep each pair of words that meet"),
    (small_numbers, "some numbers differ"),
    (lambda pairs, n: pairs[0][2], "IndexError"),
]
