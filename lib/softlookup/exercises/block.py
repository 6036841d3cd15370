"""Checks: the drawing, LayerNorm and its gradient, a block, a memory that adds."""

from collections.abc import Callable
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softlookup.attention import MultiHeadAttention
from softlookup.exercises.compare import (
    Mistakes,
    advised,
    compare,
    draw,
    draws,
    matrix,
    numbers,
    scalar,
)
from softlookup.exercises.verdict import Answer, Wrong, by_hand, exercise
from softlookup.layers import FeedForward
from softlookup.masks import causal_mask

_ZERO = {"feed-forward": True, "attention": True, "causal attention": False}
_DIGITS = 3
_ENTRIES = 4
_W_AND_B = "Return two things, W and b."
_MISFIT = ("size", "shape")  # one of these stands in PyTorch's words on sizes that do not fit
_ORDER = ("x", "norm 1", "attention", "sum 1", "norm 2", "feed-forward", "sum 2")
_ARROWS = {
    ("x", "norm 1"): "attention reads a normalized copy of x.",
    ("norm 1", "attention"): "attention reads what the first norm gives.",
    ("attention", "sum 1"): "what attention writes is added.",
    ("x", "sum 1"): "x itself goes past attention, to the first sum.",
    ("sum 1", "norm 2"): "the feed-forward layer reads a normalized copy of the first sum.",
    ("norm 2", "feed-forward"): "the feed-forward layer reads what the second norm gives.",
    ("feed-forward", "sum 2"): "what the feed-forward layer writes is added.",
    ("sum 1", "sum 2"): "the first sum goes past the feed-forward layer, to the second.",
}
_POST_NORM = {
    *(("x", "attention"), ("attention", "sum 1"), ("x", "sum 1"), ("sum 1", "norm 1")),
    *(("norm 1", "feed-forward"), ("feed-forward", "sum 2"), ("norm 1", "sum 2")),
    ("sum 2", "norm 2"),
}
_SHAPES = {
    "x": ((16, 64), "one row per token, d_model numbers each."),
    "weights of a head": ((16, 16), "in one head each token gives a weight to each token."),
    "write of attention": ((16, 64), "it is added to x."),
    "activations": ((16, 256), "each token has an activation for each entry of the memory."),
    "sum 2": ((16, 64), "what leaves the block can enter the next."),
}


@exercise("return the normalized tokens, one per column.")
def check_layer_norm(answer: Answer) -> str:
    """Check a LayerNorm of tokens as columns against ``torch.nn.functional.layer_norm``.

    Args:
        answer: The learner's function of (x, weight, bias, eps), with one token per column of x.

    Chapter: block#exercises
    """
    x, weight, bias = draws((7, 5), (5,), (5,), seed=14)
    first = torch.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=torch.float64)
    one = torch.ones(4, dtype=torch.float64)
    cases = [
        (first, one, 0 * one, 1e-5, "For the one token (1, 2, 3, 4)"),
        (1e-3 * x, weight, bias, 1e-5, "With a gain, a shift and small numbers"),
        (x, weight, bias, 0.1, "With eps = 0.1"),
    ]
    for rows, gain, shift, eps, case in cases:
        n, width = rows.shape
        right = F.layer_norm(rows, (width,), gain, shift, eps).mT
        mistakes = [(rows.mT, advice) for rows, advice in _norm_mistakes(rows, gain, shift, eps)]
        shapes = {
            (n, width): "x has one token per column, and so has the result.",
            (width, width): "A gain is for one row of x: (d_model,) must become (d_model, 1).",
        }

        def otherwise(found: Tensor, _: Tensor, case: str = case) -> str:
            return f"{case} the numbers are off; your first token begins {_shown(found[:, 0])}."

        found = answer(rows.mT, gain, shift, eps)
        compare(found, right, "The result", mistakes, otherwise, shapes=shapes, case=f"{case}: ")
    return "As PyTorch, number for number; (1, 2, 3, 4) becomes (−1.3416, −0.4472, 0.4472, 1.3416)."


@exercise("return the largest difference.", "say for which layers it is zero.")
def check_order(answer: Answer, zero: Answer) -> str:
    """Check a measure of how far a layer is from commuting with a new order of the tokens.

    Args:
        answer: The learner's function of (layer, x, order), with one token per row of x. It returns
            the largest difference between the two ways, in absolute value.
        zero: For "feed-forward", "attention" and "causal attention", whether it is zero.

    Chapter: block#exercises
    """
    x = draw(7, 6, seed=14)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(14)
        think, read = FeedForward(6, 11).double(), MultiHeadAttention(6, 2).double()
    order = torch.tensor([1, 2, 3, 4, 6, 0, 5])  # not its own inverse
    cases: list[tuple[str, Callable[[Tensor], Tensor]]] = [
        ("a feed-forward layer", think),
        ("attention with a causal mask", lambda rows: read(rows, mask=causal_mask(7))),
        ("a sum over the tokens before", lambda rows: rows.cumsum(dim=0)),
    ]
    for name, layer in cases:
        gap = (layer(x[order]) - layer(x)[order]).detach()
        found = scalar(answer(layer, x, order), "The difference")
        right, inverse = gap.abs().max().item(), torch.argsort(order)
        mistakes = [
            ((layer(x[order]) - layer(x)).abs().max(), "put the second way in the new order, too."),
            ((layer(x[order]) - layer(x)[inverse]).abs().max(), "that is the way back: [order]."),
            (gap.max(), "take absolute values first."),
            (gap.abs().mean(), "the largest difference, not the mean."),
            (gap.abs().sum(), "the largest difference, not the sum."),
        ]
        if abs(found - right) > 1e-9:
            hint = advised(found, mistakes, rel_tol=0, abs_tol=1e-9)
            right = right if right > 1e-9 else 0.0
            said = f"For {name} the largest difference is {right:.2g}; you say {found:.2g}"
            raise Wrong(f"{said}: {hint}" if hint else f"{said}.")
    for name, is_zero in zero.named(_ZERO, "The second answer").items():
        if bool(is_zero) != _ZERO[name]:
            raise Wrong(f"For {name!r} that is not so: measure it with your own function.")
    return "Zero where all places are treated alike; a causal mask tells places apart."


@exercise("return W and b of the one layer.")
def check_one_layer(answer: Answer) -> str:
    """Check the one linear layer that equals two with nothing between them.

    Args:
        answer: The learner's function of (W_1, b_1, W_2, b_2), which maps rows by
            (x @ W_1 + b_1) @ W_2 + b_2. It returns W and b of the one layer.

    Chapter: block#exercises
    """
    W_1, b_1, W_2, b_2 = draws((5, 7), (7,), (7, 3), (3,), seed=14)
    shapes = "A row goes through W_1 first, then through W_2; b_1 is as wide as the inside."
    W, b = answer.several(2, _W_AND_B, W_1, b_1, W_2, b_2, hints=dict.fromkeys(_MISFIT, shapes))
    aside = "W is not right: put x = the rows of the identity through both layers."
    compare(W, W_1 @ W_2, "W", otherwise=aside)
    mistakes = [
        (b_2, "b_1 does not vanish: it goes through the second layer."),
        (b_1 @ W_2, "b_2 is missing."),
    ]
    aside = "W is right, b is not: what do the two layers make of x = 0?"
    compare(b, b_1 @ W_2 + b_2, "b", mistakes, aside)
    return "One layer, the same map: nothing is gained by stacking linear layers."


@exercise("return what leaves the block.")
def check_block(answer: Answer) -> str:
    """Check a block put together from the parts of ``torch.nn.TransformerEncoderLayer``.

    Args:
        answer: The learner's function of (x, parts). The parts are self_attn, linear1, linear2,
            norm1, norm2 and the switch norm_first, as PyTorch names them.

    Chapter: block#exercises
    """
    for norm_first in False, True:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(14)
            peer = nn.TransformerEncoderLayer(6, 2, 11, batch_first=True, norm_first=norm_first)
        peer = peer.double().eval()
        x = draw(3, 7, 6, seed=14)
        with torch.no_grad():
            for k, norm in enumerate((peer.norm1, peer.norm2)):
                norm.weight.copy_(1 + 0.5 * draw(6, seed=k))
            right = peer(x.requires_grad_()).detach()  # with gradients: no fused shortcut
            x = x.detach()
            names = ("self_attn", "linear1", "linear2", "norm1", "norm2", "norm_first")
            parts = SimpleNamespace(**{name: getattr(peer, name) for name in names})
            kind = "pre-norm" if norm_first else "post-norm"
            aside = f"The {kind} block is off. Take it step by step, one sub-layer at a time."
            mistakes, case = _block_mistakes(x, parts), f"With norm_first={norm_first}: "
            compare(answer(x, parts), right, "The result", mistakes, aside, case=case)
    return "Both orders, number for number what PyTorch's block gives."


@exercise("write the arrows.", "give the shapes.")
def check_drawing(arrows: Answer, shapes: Answer) -> str:
    """Check the arrows of a pre-norm block, and the shapes inside it.

    Args:
        arrows: The learner's arrows, pairs of names.
        shapes: The learner's shape of each thing in ``_SHAPES``, a dict of tuples.

    Chapter: block#exercises
    """
    try:
        found = {(str(a).strip(), str(b).strip()) for a, b in arrows.value}
    except (TypeError, ValueError):
        raise Wrong('The arrows are pairs of names, such as ("x", "norm 1").') from None
    strange = {name for pair in found for name in pair} - set(_ORDER)
    if strange:
        raise Wrong(f"The boxes are {', '.join(_ORDER)}; you have also {min(strange)!r}.")
    if found == _POST_NORM:
        raise Wrong(
            "That is post-norm. In pre-norm each norm comes before its layer, not after a sum."
        )
    for (start, end), advice in _ARROWS.items():
        if (start, end) in found:
            continue
        if (end, start) in found:
            told = "An arrow runs from what is read to what reads it"
            raise Wrong(f"{told}; turn {end} -> {start} around.")
        raise Wrong(f"An arrow is missing: {advice}")
    extra = found - set(_ARROWS)
    if extra:
        raise Wrong("One arrow too many: {} -> {}.".format(*min(extra)))
    for name, given in shapes.named(_SHAPES, "The second answer").items():
        right, advice = _SHAPES[name]
        if not isinstance(given, tuple | list) or tuple(given) != right:
            raise Wrong(f"The shape of {name!r} is not {given!r}: {advice}")
    return "Eight arrows: what enters either sum has the shape of what entered the block."


@exercise("give the number for one block.", "give the number for the whole model.")
def check_budget(block: Answer, model: Answer) -> str:
    """Check the parameters of the smallest Llama 2, counted by hand.

    Args:
        block: The learner's number of parameters in one block.
        model: The same in the whole model, with both tables of tokens.

    Chapter: block#exercises
    """
    width, d_ff, n_blocks, n_tokens = 4096, 11_008, 32, 32_000
    attention, memory = 4 * width**2, 3 * width * d_ff
    one, table = attention + memory + 2 * width, n_tokens * width
    mistakes = [
        (one - width * d_ff, "SwiGLU has three matrices: the gate has one of its own."),
        (one - 2 * width, "the two norms are missing."),
        (one - width, "there are two norms, one for each layer."),
        (one + 2 * width, "RMSNorm has a gain and no shift."),
        (one + 4 * width + 2 * d_ff + width, "there are no biases."),
        (one - width**2, "attention has four matrices: W_Q, W_K, W_V and W_O."),
        (attention, "that is attention alone."),
        (memory, "that is the feed-forward layer alone."),
        (attention + 2 * width * d_ff, "SwiGLU has three matrices, and there are two norms."),
        (n_blocks * one, "that is all 32 blocks."),
    ]
    _check_count(block, one, "One block", mistakes, "add up attention, memory and norms.")
    whole = n_blocks * one + 2 * table + width
    mistakes = [
        (whole - table, "the matrix that names the next token has numbers of its own."),
        (whole - width, "the last norm is missing."),
        (whole + width, "RMSNorm has a gain and no shift."),
        (whole - table - width, "the second table and the last norm are missing."),
        (n_blocks * one, "that is the 32 blocks; a table, a norm and a matrix are missing."),
        (n_blocks * one + width, "both tables of tokens are missing."),
    ]
    aside = "add up 32 blocks, two tables and the last norm."
    _check_count(model, whole, "The model", mistakes, aside)
    share = memory / one
    return f"6.7 billion, hence its name, 7B; of a block, {share:.0%} are feed-forward."


@exercise("return the new W and b.")
def check_fold(answer: Answer) -> str:
    """Check that a norm's gain and shift are folded into the linear layer behind it.

    Args:
        answer: The learner's function of (weight, bias, W, b): the gain and the shift, and the
            layer x W + b that reads what they give. It returns W and b of the layer that needs
            neither.

    Chapter: block#exercises
    """
    weight, bias, W, b = draws((5,), (5,), (5, 3), (3,), seed=15)
    sizes = "x has as many columns as weight and bias have numbers and W has rows: row by row."
    folded_W, folded_b = answer.several(
        2, _W_AND_B, weight, bias, W, b, hints=dict.fromkeys(_MISFIT, sizes)
    )
    mistakes = [
        (W, "The gain has gone nowhere: it stretches the columns that W reads."),
        (W / weight[:, None], "The gain multiplies; do not divide by it."),
        (bias[:, None] * W, "That is the shift; the gain belongs into W."),
    ]
    aside = "W is not right: which row of it does the gain of column c meet?"
    compare(folded_W, weight[:, None] * W, "W", mistakes, aside)
    mistakes = [
        (b, "The shift has gone nowhere: W turns it into a constant."),
        (bias @ W, "The layer's own b is missing."),
        (bias @ (weight[:, None] * W) + b, "The shift comes after the gain: it meets W as it was."),
    ]
    aside = "W is right, b is not: what does the old layer make of a normalized row of zeros?"
    compare(folded_b, bias @ W + b, "b", mistakes, aside)
    return "The same numbers with 2 d_model parameters fewer."


@exercise("return the gradient of x.")
def check_norm_gradient(answer: Answer) -> str:
    """Check the backward pass of LayerNorm against PyTorch's.

    Args:
        answer: The learner's function of (x, upstream, eps): one token per row, the gradient of
            the loss with respect to the normalized rows, and epsilon. It returns the gradient with
            respect to x. There is neither gain nor shift.

    Chapter: block#exercises
    """
    for rows, eps in (draw(3, 5, seed=16), 1e-5), (0.2 * draw(7, 5, seed=17), 0.1):
        upstream = draw(*rows.shape, seed=18)
        leaf = rows.clone().requires_grad_()
        (right,) = torch.autograd.grad(F.layer_norm(leaf, (5,), eps=eps), leaf, upstream)
        mistakes = _gradient_mistakes(rows, upstream, eps)
        aside = "The mean and the variance depend on x, too. Follow each of the paths."
        case = f"With eps = {eps:g}: "
        with by_hand():
            found = answer(rows, upstream, eps)
        compare(found, right, "The gradient", mistakes, aside, case=case)
    return "Equal to PyTorch's: what is left has no part along the ones, and hardly any along x."


@exercise("give W_1.", "give b_1.", "give W_2.", "give b_2.")
def check_addition(W_1: Answer, b_1: Answer, W_2: Answer, b_2: Answer) -> str:
    """Check a feed-forward layer that adds two digits modulo 3, and count its entries.

    Args:
        W_1: The learner's keys, 6 × d_ff. A row that comes in is two one-hot rows of three numbers,
            one after the other.
        b_1: The thresholds with their sign, d_ff numbers.
        W_2: The values, d_ff × 3.
        b_2: Three more numbers.

    Chapter: block#exercises
    """
    keys = matrix(W_1.value, "W_1")
    d_ff = keys.shape[1]
    if keys.shape[0] != 2 * _DIGITS or d_ff == 0:
        shape = tuple(keys.shape)
        raise Wrong(f"W_1 should have six rows, and a column for each entry; yours is {shape}.")
    thresholds = numbers(b_1.value, torch.zeros(d_ff), "b_1")
    values = numbers(W_2.value, torch.zeros(d_ff, _DIGITS), "W_2")
    shift = numbers(b_2.value, torch.zeros(_DIGITS), "b_2")
    eye = torch.eye(_DIGITS, dtype=torch.float64)
    right = 0
    wrong = ""
    for a in range(_DIGITS):
        for b in range(_DIGITS):
            scores = torch.relu(torch.cat([eye[a], eye[b]]) @ keys + thresholds) @ values + shift
            best, second = scores.sort(descending=True).values[:2].tolist()
            total = (a + b) % _DIGITS
            is_right = scores.argmax().item() == total and best - second > 1e-6
            right += is_right
            if not is_right and not wrong:
                tie = "" if best - second > 1e-6 else " A tie for the largest is no answer."
                wrong = f"{a} + {b} should give {total}; your scores are {_shown(scores)}.{tie}"
    if wrong:
        raise Wrong(f"{right} of 9 sums are right. {wrong}")
    if d_ff > _ENTRIES:
        raise Wrong(f"All nine sums are right, with {d_ff} entries. Now with {_ENTRIES} at most.")
    fewest = "we know of none with fewer" if d_ff < _ENTRIES else "three will do, too"
    return f"All nine sums with {d_ff} entries; {fewest}."


def _check_count(answer: Answer, right: int, what: str, mistakes: Mistakes, aside: str) -> None:
    """Refuse any number of parameters but the right one."""
    found = scalar(answer.value, f"{what}'s number")
    if found != right:
        hint = advised(found, mistakes, aside, rel_tol=0)
        raise Wrong(f"{what} does not have {found:,.0f} parameters: {hint}")


def _gradient_mistakes(x: Tensor, upstream: Tensor, eps: float) -> Mistakes:
    """Known wrong results, with what to say about each."""
    centred = x - x.mean(dim=-1, keepdim=True)
    spread = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    unit = centred / spread
    mean = upstream.mean(dim=-1, keepdim=True)
    along = unit * (upstream * unit).mean(dim=-1, keepdim=True)
    whole = unit * (upstream * unit).sum(dim=-1, keepdim=True)

    def with_epsilon(own: float) -> Tensor:
        root = (centred.square().mean(dim=-1, keepdim=True) + own).sqrt()
        row = centred / root
        return (upstream - mean - row * (upstream * row).mean(dim=-1, keepdim=True)) / root

    return [
        (with_epsilon(0.0), "use the epsilon that is given."),
        (with_epsilon(1e-5), "use the epsilon that is given."),
        (upstream / spread, "the mean and the variance depend on x, too."),
        ((upstream - mean) / spread, "the variance depends on x, too."),
        ((upstream - along) / spread, "the mean depends on x, too."),
        (upstream - mean - along, "divide by the standard deviation."),
        ((upstream - mean - whole) / spread, "the second correction is a mean, not a sum."),
        ((upstream - mean + along) / spread, "the second correction has the wrong sign."),
    ]


def _norm_mistakes(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Mistakes:
    """Known wrong results, with what to say about each."""
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    unit = centred / (variance + eps).sqrt()
    down = x - x.mean(dim=0)
    bessel = variance * x.shape[1] / (x.shape[1] - 1)
    mean_square = x.square().mean(dim=-1, keepdim=True)
    whole = (x - x.mean()) / ((x - x.mean()).square().mean() + eps).sqrt()
    return [
        (weight * centred / (bessel + eps).sqrt() + bias, "divide by d, not by d − 1."),
        (weight * down / (down.square().mean(dim=0) + eps).sqrt() + bias,
         "those are statistics of each feature over all tokens, as in BatchNorm."),
        (weight * whole + bias, "each token has a mean and a variance of its own."),
        (weight * x / (mean_square + eps).sqrt() + bias, "that is RMSNorm; take off the mean."),
        (weight * centred / (variance.sqrt() + eps) + bias, "ε stands under the root."),
        (weight * centred / variance.sqrt() + bias, "ε is missing."),
        (weight * centred / (variance + 1e-5).sqrt() + bias, "use the eps that is given."),
        (weight * centred / (variance + eps) + bias, "divide by the root of the variance."),
        (weight * centred + bias, "divide by the root of the variance."),
        (unit, "gain and shift are missing."),
        (weight * unit, "the shift is missing."),
        (unit + bias, "the gain is missing."),
        (weight * (unit + bias), "first the gain, then the shift."),
    ]  # fmt: skip


def _block_mistakes(x: Tensor, parts: SimpleNamespace) -> Mistakes:
    """Known wrong results, with what to say about each."""

    def attend(rows: Tensor) -> Tensor:
        return parts.self_attn(rows, rows, rows)[0]

    def think(rows: Tensor, bend: Callable[[Tensor], Tensor] = torch.relu) -> Tensor:
        return parts.linear2(bend(parts.linear1(rows)))

    def post(first: nn.Module, second: nn.Module, **bend: Callable[[Tensor], Tensor]) -> Tensor:
        middle = first(x + attend(x))
        return second(middle + think(middle, **bend))

    def pre(first: nn.Module, second: nn.Module, **bend: Callable[[Tensor], Tensor]) -> Tensor:
        middle = x + attend(first(x))
        return middle + think(second(middle), **bend)

    one, two, first = parts.norm1, parts.norm2, parts.norm_first
    order, other = (pre, post) if first else (post, pre)
    wrong_order = "the norm stands before the layer." if first else "the norm stands after the sum."
    middle = x + attend(one(x)) if first else one(x + attend(x))
    alone = two(think(middle)) if not first else think(two(middle))
    mistakes = [
        (other(one, two), wrong_order),
        (order(one, one), "each sub-layer has a norm of its own."),
        (order(two, one), "norm1 belongs to attention, norm2 to the feed-forward layer."),
        (order(one, two, bend=F.gelu), "PyTorch's default is ReLU, not GELU."),
        (order(one, two, bend=nn.Identity()), "the activation between the two layers is missing."),
        (alone, "the feed-forward layer needs its skip, too."),
        (middle, "after attention comes the feed-forward layer."),
    ]
    if first:
        half = x + parts.self_attn(one(x), x, x)[0]
        mistakes.append(
            (half + think(two(half)), "keys and values come from normalized rows, too.")
        )
        skipped = attend(one(x))
        mistakes.append((skipped + think(two(skipped)), "attention needs its skip, too."))
        normed = two(middle)
        mistakes.append(
            (normed + think(normed), "norm2 is for the copy; the sum takes the stream itself.")
        )
        mistakes.append(
            (x + think(normed), "the second sum starts from the first sum, not from x.")
        )
        stream = one(x) + attend(one(x))
        mistakes.append((two(stream) + think(two(stream)), "the sum takes x itself, not its norm."))
    else:
        skipped = one(attend(x))
        mistakes.append((two(skipped + think(skipped)), "attention needs its skip, too."))
    return mistakes


def _shown(row: Tensor) -> list[float]:
    return [round(value, 4) + 0.0 for value in row[:4].tolist()]
