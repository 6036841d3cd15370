"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import torch
import torch.nn.functional as F
from torch import nn

from softlookup.exercises.block import (
    check_addition,
    check_block,
    check_budget,
    check_drawing,
    check_fold,
    check_layer_norm,
    check_norm_gradient,
    check_one_layer,
    check_order,
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


def in_columns(norm):
    """The same with a token in each column."""
    return lambda x, *rest: torch.as_tensor(norm(x.mT, *rest)).mT


RIGHT[check_layer_norm] = [
    (in_columns(book_norm),),
    (in_columns(loop_norm),),
    (in_columns(layer_norm),),
    (in_columns(lambda x, w, b, e: F.layer_norm(x.float(), w.shape, w.float(), b.float(), e)),),
]


WRONG[check_layer_norm] = [
    (..., "Nothing to check so far"),
    (book_norm, "(d_model,) must become (d_model, 1)"),
    (lambda x, *a: book_norm(x.mT, *a), "x has one token per column, and so has the result"),
    (lambda x, *a: in_columns(book_norm)(x, *a)[0], "should have shape (4, 1)"),
    (lambda x: x, "TypeError"),
] + [
    (in_columns(norm), advice)
    for norm, advice in [
        (lambda *a: book_norm(*a, correction=1), "divide by d, not by d − 1"),
        (lambda *a: book_norm(*a, axis=0), "statistics of each feature over all tokens"),
        (lambda *a: book_norm(*a, axis=(0, 1)), "each token has a mean and a variance of its own"),
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
        (lambda *a: 2 * book_norm(*a), "the numbers are off; your first token begins [-2.6833"),
    ]
]


# Order


def book_gap(layer, x, order):
    return (layer(x[order]) - layer(x)[order]).abs().max()


def matrix_gap(layer, x, order):
    P = torch.eye(len(x), dtype=x.dtype)[order]
    return float(torch.linalg.norm((layer(P @ x) - P @ layer(x)).detach().flatten(), ord=torch.inf))


ZERO = {"feed-forward": True, "attention": True, "causal attention": False}
RIGHT[check_order] = [
    (book_gap, ZERO),
    (matrix_gap, ZERO),
]


WRONG[check_order] = [
    (gap, ZERO, advice)
    for gap, advice in [
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
]


WRONG[check_order] += [
    (book_gap, ..., "Nothing to check so far: say for which layers"),
    (book_gap, True, "with the keys 'feed-forward', 'attention', 'causal attention'"),
    (book_gap, ZERO | {"attention": False}, "For 'attention' that is not so"),
    (book_gap, ZERO | {"causal attention": True}, "For 'causal attention' that is not so"),
    (book_gap, ZERO | {"attention": ...}, "Nothing to check so far: say for which layers"),
]


# Two layers in one


RIGHT[check_one_layer] = [
    (lambda W, b, U, c: (W @ U, b @ U + c),),
    (lambda W, b, U, c: [[(row @ U).tolist() for row in W], (b[None] @ U + c)[0].numpy()],),
]


WRONG[check_one_layer] = [
    (..., "Nothing to check so far"),
    (lambda W, b, U, c: W @ U, "Return two things, W and b"),
    (lambda W, b, U, c: (U @ W, c), "A row goes through W_1 first"),
    (lambda W, b, U, c: (W @ U, b + c), "b_1 is as wide as the inside"),
    (lambda W, b, U, c: 1 / 0, "ZeroDivisionError"),
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


def second_sum_of(what):
    """A block whose second sum in pre-norm takes something else than the first sum."""

    def answer(x, p):
        if not p.norm_first:
            return book_block(x, p)
        rows = p.norm1(x)
        first = x + p.self_attn(rows, rows, rows)[0]
        read = p.norm2(first)
        return {"norm": read, "x": x}[what] + p.linear2(torch.relu(p.linear1(read)))

    return answer


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
    (only(True, second_sum_of("norm")), "the sum takes the stream itself"),
    (only(True, second_sum_of("x")), "starts from the first sum, not from x"),
    (only(True, normed_query), "keys and values come from normalized rows, too"),
    (lambda x, p: book_block(x, p)[0], "should have shape (3, 7, 6)"),
    (lambda x, p: p(x), "TypeError"),
]


# The drawing


POST_NORM = [
    *(("x", "attention"), ("x", "sum 1"), ("attention", "sum 1"), ("sum 1", "norm 1")),
    *(("norm 1", "feed-forward"), ("norm 1", "sum 2"), ("feed-forward", "sum 2")),
    ("sum 2", "norm 2"),
]
ARROWS = [
    ("x", "norm 1"),
    ("norm 1", "attention"),
    ("attention", "sum 1"),
    ("x", "sum 1"),
    ("sum 1", "norm 2"),
    ("norm 2", "feed-forward"),
    ("feed-forward", "sum 2"),
    ("sum 1", "sum 2"),
]
SHAPES = {
    "x": (16, 64),
    "weights of a head": (16, 16),
    "write of attention": (16, 64),
    "activations": (16, 256),
    "sum 2": (16, 64),
}
RIGHT[check_drawing] = [
    (ARROWS, SHAPES),
    ({(f" {a}", b) for a, b in ARROWS}, {name: list(shape) for name, shape in SHAPES.items()}),
]


WRONG[check_drawing] = [
    (..., SHAPES, "Nothing to check so far: write the arrows"),
    (ARROWS, ..., "Nothing to check so far: give the shapes"),
    (7, SHAPES, "The arrows are pairs of names"),
    (["x -> norm 1"], SHAPES, "The arrows are pairs of names"),
    ([*ARROWS, ("sum 2", "out")], SHAPES, "you have also 'out'"),
    (ARROWS[:3] + ARROWS[4:], SHAPES, "x itself goes past attention"),
    ([(b, a) for a, b in ARROWS], SHAPES, "from what is read to what reads it; turn norm 1 -> x"),
    (ARROWS[:-1], SHAPES, "the first sum goes past the feed-forward layer"),
    (POST_NORM, SHAPES, "That is post-norm."),
    ([*ARROWS, ("x", "sum 2")], SHAPES, "One arrow too many: x -> sum 2"),
    (ARROWS, [(16, 64)], "should be a dictionary with the keys 'x'"),
    (ARROWS, SHAPES | {"activations": (16, 64)}, "an activation for each entry"),
    (ARROWS, SHAPES | {"weights of a head": (16, 8)}, "in one head each token gives a weight"),
    (ARROWS, SHAPES | {"x": ...}, "Nothing to check so far: give the shapes"),
]


# A gain and a shift, folded


RIGHT[check_fold] = [
    (lambda gain, shift, W, b: (torch.diag(gain) @ W, shift @ W + b),),
    (lambda gain, shift, W, b: [(W.mT * gain).mT.tolist(), ((shift[None] @ W)[0] + b).numpy()],),
]


WRONG[check_fold] = [
    (..., "Nothing to check so far"),
    (lambda g, s, W, b: g[:, None] * W, "Return two things, W and b"),
    (lambda g, s, W, b: (g @ W, b), "W should have shape (5, 3)"),
    (lambda g, s, W, b: (g * W, s @ W + b), "W has rows: row by row"),
    (lambda g, s, W, b: (W, s @ W + b), "The gain has gone nowhere"),
    (lambda g, s, W, b: (W / g[:, None], b), "do not divide by it"),
    (lambda g, s, W, b: (s[:, None] * W, b), "That is the shift"),
    (lambda g, s, W, b: (2 * W, b), "which row of it does the gain of column c meet?"),
    (lambda g, s, W, b: (g[:, None] * W, b), "The shift has gone nowhere"),
    (lambda g, s, W, b: (g[:, None] * W, s @ W), "The layer's own b is missing"),
    (lambda g, s, W, b: (g[:, None] * W, s @ (g[:, None] * W) + b), "The shift comes after"),
    (lambda g, s, W, b: (g[:, None] * W, b - s @ W), "what does the old layer make of"),
    (lambda g, s, W, b: (g[:, None] * W, s), "b should have shape (3,)"),
]


# Every parameter


BLOCK, MODEL = 202_383_360, 6_738_415_616
RIGHT[check_budget] = [(BLOCK, MODEL), (float(BLOCK), torch.tensor(float(MODEL)).double())]


WRONG[check_budget] = [
    (..., MODEL, "Nothing to check so far: give the number for one block"),
    (BLOCK, ..., "Nothing to check so far: give the number for the whole model"),
    ("many", MODEL, "should be numbers"),
    (BLOCK - 4096 * 11_008, MODEL, "SwiGLU has three matrices: the gate"),
    (BLOCK - 2 * 4096, MODEL, "the two norms are missing"),
    (BLOCK - 4096, MODEL, "there are two norms"),
    (BLOCK + 2 * 4096, MODEL, "RMSNorm has a gain and no shift"),
    (BLOCK + 5 * 4096 + 2 * 11_008, MODEL, "there are no biases"),
    (BLOCK - 4096**2, MODEL, "attention has four matrices"),
    (4 * 4096**2, MODEL, "that is attention alone"),
    (3 * 4096 * 11_008, MODEL, "that is the feed-forward layer alone"),
    (4 * 4096**2 + 2 * 4096 * 11_008, MODEL, "three matrices, and there are two norms"),
    (32 * BLOCK, MODEL, "that is all 32 blocks"),
    (7, MODEL, "add up attention, memory and norms"),
    (BLOCK, MODEL - 32_000 * 4096, "has numbers of its own"),
    (BLOCK, MODEL - 4096, "the last norm is missing"),
    (BLOCK, MODEL + 4096, "RMSNorm has a gain and no shift"),
    (BLOCK, MODEL - 32_000 * 4096 - 4096, "the second table and the last norm"),
    (BLOCK, 32 * BLOCK, "that is the 32 blocks"),
    (BLOCK, 32 * BLOCK + 4096, "both tables of tokens are missing"),
    (BLOCK, 7_000_000_000, "add up 32 blocks, two tables and the last norm"),
]


# The gradient of LayerNorm


def book_gradient(x, upstream, eps, *, mean=1.0, along=1.0, root=True, n=1):
    centred = x - x.mean(dim=-1, keepdim=True)
    spread = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    unit = centred / spread
    common = upstream.mean(dim=-1, keepdim=True)
    same = unit * (upstream * unit).mean(dim=-1, keepdim=True)
    return (upstream - mean * common - along * n * same) / (spread if root else 1)


def jacobian_gradient(x, upstream, eps):
    rows = []
    for row, g in zip(x, upstream, strict=True):
        n = len(row)
        centre = torch.eye(n) - 1 / n  # d (row - mean) / d row
        away = row - row.mean()
        sigma = (away @ away / n + eps).sqrt()
        J = centre / sigma - torch.outer(away, away) / (n * sigma**3)
        rows.append((g @ J).tolist())
    return rows


@torch.enable_grad()
def graph_gradient(x, upstream, eps):
    leaf = x.clone().requires_grad_()
    return torch.autograd.grad(layer_norm(leaf, eps=eps), leaf, upstream)[0]


RIGHT[check_norm_gradient] = [(book_gradient,), (jacobian_gradient,)]


WRONG[check_norm_gradient] = [
    (..., "Nothing to check so far"),
    (lambda *a: book_gradient(*a, mean=0, along=0), "the mean and the variance depend on x"),
    (lambda *a: book_gradient(*a, along=0), "the variance depends on x, too"),
    (lambda *a: book_gradient(*a, mean=0), "the mean depends on x, too"),
    (lambda *a: book_gradient(*a, root=False), "divide by the standard deviation"),
    (lambda *a: book_gradient(*a, n=5), "a mean, not a sum"),
    (lambda *a: book_gradient(*a, along=-1), "the wrong sign"),
    (lambda x, g, eps: book_gradient(x, g, 1e-5), "With eps = 0.1: use the epsilon"),
    (lambda x, g, eps: book_gradient(x, g, 0.0), "use the epsilon that is given"),
    (lambda x, g, eps: 2 * book_gradient(x, g, eps), "Follow each of the paths"),
    (lambda x, g, eps: g, "Follow each of the paths"),
    (lambda *a: book_gradient(*a)[0], "should have shape (3, 5)"),
    (lambda x: x, "TypeError"),
    (graph_gradient, "automatic differentiation did that"),
]


# A sum modulo 3


def table_of_sums():
    """Nine entries, one for each pair."""
    keys, values = torch.zeros(6, 9), torch.zeros(9, 3)
    for a in range(3):
        for b in range(3):
            keys[a, 3 * a + b] = keys[3 + b, 3 * a + b] = 1
            values[3 * a + b, (a + b) % 3] = 1
    return keys, -torch.ones(9), values, torch.zeros(3)


def along_the_sum(*bends):
    """An entry for each bend of a line along a + b, and values that fit the five sums exactly."""
    keys = torch.tensor([[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]]).expand(6, len(bends)).double()
    thresholds = -torch.tensor(bends).double()
    sums = torch.arange(5.0).double()[:, None]
    active = torch.cat([torch.relu(sums + thresholds), torch.ones(5, 1).double()], dim=1)
    wanted = torch.eye(3).double()[torch.arange(5) % 3]
    fitted = torch.linalg.lstsq(active, wanted).solution
    return keys, thresholds, fitted[:-1], fitted[-1]


FOUR = along_the_sum(0.0, 1.0, 2.0, 3.0)
RIGHT[check_addition] = [
    (*FOUR, "with 4 entries; three will do, too"),
    tuple(part.tolist() for part in FOUR),
    (*along_the_sum(0.5, 1.5, 2.5, 3.5)[:4], "4 entries"),
]


WRONG[check_addition] = [
    (..., *FOUR[1:], "Nothing to check so far: give W_1"),
    (FOUR[0], ..., *FOUR[2:], "Nothing to check so far: give b_1"),
    (*table_of_sums(), "All nine sums are right, with 9 entries. Now with 4 at most"),
    (*(0 * part for part in FOUR), "your scores are [0.0, 0.0, 0.0]. A tie for the largest"),
    (FOUR[0].mT, *FOUR[1:], "W_1 should have six rows"),
    (FOUR[0][:, 0], *FOUR[1:], "W_1 should be a matrix; yours has shape (6,)"),
    ("keys", *FOUR[1:], "W_1 should be numbers"),
    (FOUR[0], FOUR[1][:3], *FOUR[2:], "b_1 should have shape (4,)"),
    (*FOUR[:2], FOUR[2].mT, FOUR[3], "W_2 should have shape (4, 3)"),
    (*FOUR[:3], FOUR[3][:2], "b_2 should have shape (3,)"),
]
