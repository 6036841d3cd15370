"""Answers to the exercises of chapter 15: right, and wrong with the words that they get."""

import torch
import torch.nn.functional as F
from torch import nn

from softlookup.exercises.block import (
    check_block,
    check_layer_norm,
    check_one_layer,
    check_order,
    check_switch,
    residual_with,
)
from softlookup.layers import layer_norm
from softlookup.models import Sublayer

RIGHT, WRONG = {}, {}


# LayerNorm


def book_norm(x, weight, bias, eps, *, axis=-1, correction=0, root=True, mean=True):
    centred = x - x.mean(dim=axis, keepdim=True) if mean else x
    variance = x.var(dim=axis, correction=correction, keepdim=True)
    variance = variance if mean else x.square().mean(dim=axis, keepdim=True)
    scale = (variance + eps).sqrt() if root else variance + eps
    return weight * centred / scale + bias


def loop_norm(x, weight, bias, eps):
    rows = []
    for row in x.tolist():
        mean = sum(row) / len(row)
        spread = (sum((v - mean) ** 2 for v in row) / len(row) + eps) ** 0.5
        unit = [(v - mean) / spread for v in row]
        rows.append([g * v + b for v, g, b in zip(unit, weight, bias, strict=True)])
    return rows


RIGHT[check_layer_norm] = [
    (book_norm,),
    (loop_norm,),
    (layer_norm,),
    (lambda x, w, b, eps: F.layer_norm(x.float(), w.shape, w.float(), b.float(), eps),),
]


WRONG[check_layer_norm] = [
    (..., "Nothing to check so far"),
    (lambda *a: book_norm(*a, correction=1), "divide by d, not by d − 1"),
    (lambda *a: book_norm(*a, axis=0), "statistics of the columns"),
    (lambda *a: book_norm(*a, axis=(0, 1)), "each row has a mean and a variance of its own"),
    (lambda *a: book_norm(*a, mean=False), "that is RMSNorm; take off the mean"),
    (lambda *a: book_norm(*a, root=False), "divide by the root of the variance"),
    (lambda x, w, b, e: w * (x - x.mean(-1, keepdim=True)) + b, "divide by the root"),
    (lambda x, w, b, e: book_norm(x, w, b, 0.0), "ε is missing"),
    (lambda x, w, b, e: book_norm(x, w, b, 1e-5), "use the eps that is given"),
    (
        lambda x, w, b, e: (
            w * (x - x.mean(-1, keepdim=True)) / (x.std(-1, correction=0, keepdim=True) + e) + b
        ),
        "ε stands under the root",
    ),
    (lambda x, w, b, e: book_norm(x, 1, 0, e), "gain and shift are missing"),
    (lambda x, w, b, e: book_norm(x, w, 0, e), "the shift is missing"),
    (lambda x, w, b, e: book_norm(x, 1, b, e), "the gain is missing"),
    (lambda x, w, b, e: w * book_norm(x, 1, b, e), "first the gain, then the shift"),
    (lambda *a: 2 * book_norm(*a), "the numbers are off; yours begin [-2.6833"),
    (lambda *a: book_norm(*a)[0], "should have shape (1, 4)"),
    (lambda x: x, "TypeError"),
]


# The switch


def evidence(**changes):
    found = {name: residual_with(name) for name in ("skip", "feed-forward", "norm")}
    return found | {name.replace("_", "-"): value for name, value in changes.items()}


ROUNDED = {name: float(f"{value:.3g}") for name, value in evidence().items()}
RIGHT[check_switch] = [("skip", evidence()), ("skip", ROUNDED)]
WRONG[check_switch] = [
    (switch, None if changes is None else evidence(**changes), advice)
    for switch, changes, advice in [
        (..., {}, "Nothing to check so far: name the switch"),
        ("skip", None, "Nothing to check so far: measure the residual"),
        ("softmax", {}, "The switch is one of 'skip', 'feed-forward', 'norm'; yours is 'softmax'"),
        ("feed-forward", {}, "With 'feed-forward' alone your own evidence is"),
        ("norm", {}, "With 'norm' alone your own evidence is"),
        ("skip", {"skip": 0.3}, "Call residual_with('skip')"),
        ("skip", {"norm": 0.3}, "Call residual_with('norm')"),
        ("skip", {"feed_forward": 0.1}, "Call residual_with('feed-forward')"),
        ("skip", {"softmax": 0.1}, "a dict with the keys 'skip', 'feed-forward', 'norm'"),
        ("skip", {"skip": "much"}, "should be numbers"),
    ]
]


WRONG[check_switch] += [
    ("skip", [0.6, 0, 0], "The evidence is a dict"),
]


# Order


def book_gap(layer, x, order):
    return (layer(x[order]) - layer(x)[order]).abs().max()


def matrix_gap(layer, x, order):
    P = torch.eye(len(x), dtype=x.dtype)[order]
    return float(torch.linalg.norm((layer(P @ x) - P @ layer(x)).detach().flatten(), ord=torch.inf))


RIGHT[check_order] = [
    (book_gap,),
    (matrix_gap,),
]


WRONG[check_order] = [
    (..., "Nothing to check so far"),
    (lambda f, x, p: 0.0, "For attention with a causal mask the largest difference is"),
    (lambda f, x, p: (f(x[p]) - f(x)).abs().max(), "put the second way in the new order, too"),
    (lambda f, x, p: (f(x[p]) - f(x)[p.argsort()]).abs().max(), "that is the way back"),
    (lambda f, x, p: (f(x[p]) - f(x)[p]).max(), "take absolute values first"),
    (lambda f, x, p: (f(x[p]) - f(x)[p]).abs().mean(), "not the mean"),
    (lambda f, x, p: (f(x[p]) - f(x)[p]).abs().sum(), "not the sum"),
    (lambda f, x, p: f(x[p]) - f(x)[p], "should have shape ()"),
    (lambda f, x, p: x.abs().max(), "For a feed-forward layer the largest difference is"),
]


# Two layers in one


RIGHT[check_one_layer] = [
    (lambda W, b, U, c: (W @ U, b @ U + c),),
    (lambda W, b, U, c: [[(row @ U).tolist() for row in W], (b[None] @ U + c)[0].numpy()],),
]


WRONG[check_one_layer] = [
    (..., "Nothing to check so far"),
    (lambda W, b, U, c: W @ U, "Return two things, W and b"),
    (lambda W, b, U, c: (U @ W, c), "RuntimeError"),
    (lambda W, b, U, c: ((W @ U).T, c), "W should have shape (5, 3)"),
    (lambda W, b, U, c: (2 * W @ U, c), "W is not right"),
    (lambda W, b, U, c: (W @ U, c), "b_1 does not vanish"),
    (lambda W, b, U, c: (W @ U, b @ U), "b_2 is missing"),
    (lambda W, b, U, c: (W @ U, c - b @ U), "what do the two layers make of x = 0?"),
    (lambda W, b, U, c: (W @ U, b), "b should have shape (3,)"),
]


# A block


def step(x, layer, norm, first):
    return x + layer(norm(x)) if first else norm(x + layer(x))


def book_block(x, parts, *, bend=torch.relu, norms=(0, 1), flip=False):
    first = parts.norm_first != flip
    attention_norm, think_norm = ((parts.norm1, parts.norm2)[k] for k in norms)
    x = step(x, lambda r: parts.self_attn(r, r, r)[0], attention_norm, first)
    return step(x, lambda r: parts.linear2(bend(parts.linear1(r))), think_norm, first)


def with_sublayers(x, parts):
    class Attend(nn.Module):
        def forward(self, rows):
            return parts.self_attn(rows, rows, rows, need_weights=False)[0]

    think = nn.Sequential(parts.linear1, nn.ReLU(), parts.linear2)
    for layer, norm in ((Attend(), parts.norm1), (think, parts.norm2)):
        x = Sublayer(layer, norm, norm_first=parts.norm_first)(x)
    return x


def without_a_skip(x, parts, which):
    attend = parts.self_attn(*[parts.norm1(x) if parts.norm_first else x] * 3)[0]
    if parts.norm_first:
        middle = attend if which == "attention" else x + attend
        think = parts.linear2(torch.relu(parts.linear1(parts.norm2(middle))))
        return think + (middle if which == "attention" else 0)
    middle = parts.norm1(attend if which == "attention" else x + attend)
    think = parts.linear2(torch.relu(parts.linear1(middle)))
    return parts.norm2(think + (middle if which == "attention" else 0))


def only(norm_first, wrong):
    """Right in one order, wrong in the other."""
    return lambda x, parts: (wrong if parts.norm_first == norm_first else book_block)(x, parts)


def normed_stream(x, parts):
    for norm, layer in (
        (parts.norm1, lambda r: parts.self_attn(r, r, r)[0]),
        (parts.norm2, lambda r: parts.linear2(torch.relu(parts.linear1(r)))),
    ):
        x = norm(x) + layer(norm(x))
    return x


def normed_query(x, parts):
    x = x + parts.self_attn(parts.norm1(x), x, x)[0]
    return step(x, lambda r: parts.linear2(torch.relu(parts.linear1(r))), parts.norm2, True)


def half_a_block(x, parts):
    return step(x, lambda r: parts.self_attn(r, r, r)[0], parts.norm1, parts.norm_first)


RIGHT[check_block] = [
    (book_block,),
    (with_sublayers,),
]


IN_EITHER_ORDER = [
    (lambda x, p: book_block(x, p, flip=True), "the norm stands"),
    (lambda x, p: book_block(x, p, norms=(0, 0)), "each sub-layer has a norm of its own"),
    (lambda x, p: book_block(x, p, norms=(1, 0)), "norm1 belongs to attention"),
    (lambda x, p: book_block(x, p, bend=F.gelu), "ReLU, not GELU"),
    (lambda x, p: book_block(x, p, bend=nn.Identity()), "the activation between"),
    (lambda x, p: without_a_skip(x, p, "attention"), "attention needs its skip, too"),
    (lambda x, p: without_a_skip(x, p, "think"), "the feed-forward layer needs its skip"),
    (half_a_block, "after attention comes the feed-forward layer"),
    (lambda x, p: book_block(x, p) + 1e-3, "block is off. Take it step by step"),
]
WRONG[check_block] = [
    (only(norm_first, wrong), advice, f"norm_first={norm_first}" if "off" not in advice else "")
    for norm_first in (False, True)
    for wrong, advice in IN_EITHER_ORDER
]
WRONG[check_block] += [
    (..., "Nothing to check so far"),
    (lambda x, p: None, "Nothing to check so far"),
    (only(True, normed_stream), "the sum takes x itself, not its norm"),
    (only(True, normed_query), "keys and values come from normalised rows, too"),
    (lambda x, p: book_block(x, p)[0], "should have shape (3, 7, 6)"),
    (lambda x, p: p(x), "TypeError"),
]
