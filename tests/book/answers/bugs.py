"""Answers to the exercises of "Bugs that fooled everyone": parts by name, right ones and wrong."""

import math
from itertools import pairwise

import torch
import torch.nn.functional as F

from answers import Later
from softlookup.attention.positions import sinusoidal
from softlookup.exercises.bugs import NEW, SEEN, check_repairs, verdicts
from softlookup.exercises.bugs_model import PARTS
from softlookup.tokenization import merge_pair


def my_split(rows, n_heads):
    return rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def my_softmax(scores, mask):
    idle = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask, -torch.inf).masked_fill(idle, 0.0)
    return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)


def my_positions(n, d_model):
    i = torch.arange(0, d_model, 2)
    angle = torch.arange(n, dtype=torch.float64)[:, None] * 10000.0 ** (-i / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def my_tie(embedding, unembedding):
    unembedding.weight = embedding.weight


def my_count_pairs(ids):
    pairs = set(pairwise(ids))
    return {pair: len(ids) - len(merge_pair(ids, pair, 256)) for pair in pairs}


def my_top_k(scores, k):
    best = scores.topk(k, dim=-1)
    return torch.full_like(scores, -torch.inf).scatter(-1, best.indices, best.values)


SOLUTIONS = {
    "count_pairs": my_count_pairs,
    "positions": my_positions,
    "clean": lambda x, real: x.masked_fill(~real[..., None], 0.0),
    "split": my_split,
    "causal": lambda n_q, n_k: torch.arange(n_k) <= torch.arange(n_k - n_q, n_k)[:, None],
    "softmax": my_softmax,
    "drop": lambda weights, rate, training: F.dropout(weights, rate, training),
    "join": lambda heads: heads.transpose(1, 2).flatten(2),
    "norm": lambda x, weight, bias, eps: F.layer_norm(x, weight.shape, weight, bias, eps),
    "tie": my_tie,
    "total_loss": lambda losses, counts: (
        torch.stack(losses) @ torch.tensor(counts).to(losses[0]) / sum(counts)
    ),
    "top_k": my_top_k,
}

RIGHT = {
    check_repairs: [
        *(({part: SOLUTIONS[part]},) for part in PARTS),
        *(({part: PARTS[part]},) for part in PARTS),
        *(({part: NEW[part].repaired()},) for part in PARTS),
        (
            {"split": my_split, "softmax": my_softmax},
            "All 10 laws hold, with split and with softmax.",
        ),
    ]
}


def told(bug):
    """The first law that the bug breaks, and how."""
    return next(
        f"“{name}” is broken: {fault}" for name, fault in verdicts(bug.function).items() if fault
    )


BUGS = [*SEEN.values(), *NEW.values()]
BLANK = "Nothing to check so far: write the function anew."
WRONG = {
    check_repairs: [
        *(({part: ...}, f"{part}: {BLANK}") for part in PARTS),
        *(({part: lambda *a: None}, f"{part}: {BLANK}") for part in PARTS if part != "tie"),
        ({"tie": lambda *a: None}, "tie: “one table” is broken"),
        *(
            ({bug.part: bug.function}, f"{bug.part}: ", Later(lambda bug=bug: told(bug)))
            for bug in BUGS
        ),
        ({"split": my_split, "softmax": NEW["softmax"].function}, "softmax: “empty"),
        ({"split": 7}, "split: The check wants the function itself; it got 7"),
        ({"split": lambda rows, n_heads: rows}, "split: shape (2, 5, 6) where (2, 3, 5, 2) is due"),
        ({"causal": lambda n_q, n_k: torch.ones(n_k, n_k).tril() > 0}, "shape (7, 7) where (2, 7)"),
        ({"causal": lambda n_q, n_k: [[True]]}, "it should return a Tensor; yours is [[True]]"),
        ({"count_pairs": lambda ids: [(1, 2)]}, "it should return a dict; yours is [(1, 2)]"),
        ({"norm": lambda x, *rest: x / 0}, "norm: “parity” is broken"),
        ({"norm": lambda x, weight: x}, "norm: Your code stopped with TypeError"),
        ({"join": lambda heads: heads.view(2, 5, -1) if len(heads) == 2 else 1 / 0}, "join: "),
        ({"causal": lambda n_q, n_k: torch.ones(n_q, n_k).tril(n_k - n_q)}, "causal: with it the"),
        ({"clean": lambda x, real: x.mul_(real[..., None])}, "clean: it changes what it is given"),
        ({"tie": lambda embedding: None}, "tie: with it the model stops: TypeError"),
        ({"softmax": lambda s, m: torch.softmax(s.masked_fill(~m, -math.inf), -1)}, "empty text"),
        ({"softmax": lambda s, m: torch.softmax(s, -1)}, "softmax: “parity” is broken"),
        ({"positions": lambda n, d: sinusoidal(n, d, layout="concatenated")}, "parity"),
        ({"top_k": lambda s, k: s.where(s >= s.topk(k).values[..., -1:], 0.0)}, "cut is 0"),
        ({"total_loss": lambda losses, counts: sum(losses)}, "parts = whole"),
    ]
}
