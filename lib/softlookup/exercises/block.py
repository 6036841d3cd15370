"""Checks of chapter 15: LayerNorm, the switch that matters, order, two layers in one, a block."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softlookup.analysis import ablated_streams, random_stack, rank_residual
from softlookup.attention import MultiHeadAttention
from softlookup.checks import require_choice, require_int
from softlookup.exercises.compare import Mistakes, advised, compare, draw, draws, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.layers import FeedForward
from softlookup.masks import causal_mask

_SWITCHES = ("skip", "feed-forward", "norm")
_BLOCKS = 6


@exercise("return the normalised rows.")
def check_layer_norm(answer: Answer) -> str:
    """Check a LayerNorm against ``torch.nn.functional.layer_norm``.

    Args:
        answer: The learner's function of (x, weight, bias, eps), with one token per row of x.

    Chapter: block#exercises
    """
    x, weight, bias = draws((7, 5), (5,), (5,), seed=14)
    first = torch.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=torch.float64)
    one = torch.ones(4, dtype=torch.float64)
    cases = [
        (first, one, 0 * one, 1e-5, "For the row (1, 2, 3, 4)"),
        (1e-3 * x, weight, bias, 1e-5, "With a gain, a shift and small numbers"),
        (x, weight, bias, 0.1, "With eps = 0.1"),
    ]
    for rows, gain, shift, eps, case in cases:
        right = F.layer_norm(rows, (rows.shape[1],), gain, shift, eps)
        mistakes = _norm_mistakes(rows, gain, shift, eps)

        def otherwise(found: Tensor, _: Tensor, case: str = case) -> str:
            return f"{case} the numbers are off; yours begin {_shown(found[0])}."

        found = answer(rows, gain, shift, eps)
        compare(found, right, "The result", mistakes, otherwise, case=f"{case}: ")
    return "Number for number what PyTorch gives; (1, 2, 3, 4) becomes ∓1.3416, ∓0.4472."


@exercise("name the switch.", "measure the residual with each switch alone.")
def check_switch(switch: Answer, evidence: Answer) -> str:
    """Check which single part keeps the tokens of six random blocks apart, and the numbers for it.

    Args:
        switch: The learner's word: "skip", "feed-forward" or "norm".
        evidence: The residual with each of them alone, by name, from ``residual_with``.

    Chapter: block#exercises
    """
    if switch.value not in _SWITCHES:
        names = ", ".join(map(repr, _SWITCHES))
        raise Wrong(f"The switch is one of {names}; yours is {switch.value!r}.")
    if not isinstance(evidence.value, Mapping) or set(evidence.value) != set(_SWITCHES):
        raise Wrong(f"The evidence is a dict with the keys {', '.join(map(repr, _SWITCHES))}.")
    measured = {name: residual_with(name) for name in _SWITCHES}
    for name, right in measured.items():
        found = scalar(evidence.value[name], f"The residual with {name!r}")
        if abs(found - right) > 0.01 * right + 1e-12:
            said = f"With {name!r} alone the residual is {right:.2g}; you have {found:.2g}."
            raise Wrong(f"{said} Call residual_with({name!r}).")
    if switch.value != "skip":
        alone = f"With {switch.value!r} alone your own evidence is"
        raise Wrong(f"{alone} {evidence.value[switch.value]:.1g}: all one.")
    return f"With the skip alone {measured['skip']:.2f} is left; with either other, nothing."


@exercise("return the largest difference.")
def check_order(answer: Answer) -> str:
    """Check a measure of how far a layer is from commuting with a new order of the tokens.

    Args:
        answer: The learner's function of (layer, x, order), with one token per row of x. It returns
            the largest difference between the two ways, in absolute value.

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
    return "Zero for the feed-forward layer, for any order; not for layers that look at places."


@exercise("return W and b of the one layer.")
def check_one_layer(answer: Answer) -> str:
    """Check the one linear layer that equals two with nothing between them.

    Args:
        answer: The learner's function of (W_1, b_1, W_2, b_2), which maps rows by
            (x @ W_1 + b_1) @ W_2 + b_2. It returns W and b of the one layer.

    Chapter: block#exercises
    """
    W_1, b_1, W_2, b_2 = draws((5, 7), (7,), (7, 3), (3,), seed=14)
    W, b = answer.several(2, "Return two things, W and b.", W_1, b_1, W_2, b_2)
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


def residual_with(*switches: str, seed: int = 0) -> float:
    """The residual of 16 random tokens after six random blocks that have only these parts.

    Attention is always there. The norm, where it is on, stands before each layer.

    Args:
        switches: Any of "skip", "feed-forward" and "norm".
        seed: Draws the tokens and the matrices.

    Returns:
        From 0, all tokens the same, to 1.

    Raises:
        ValueError: A switch is unknown, or ``seed`` no integer of at least 0.

    Chapter: block#exercises

    Example:
        >>> residual_with() < 1e-9 < residual_with("skip", "norm")
        True
    """
    require_int(0, seed=seed)
    for switch in switches:
        require_choice(_SWITCHES, switch=switch)
    with torch.random.fork_rng(devices=[]):
        x, blocks = random_stack(seed, _BLOCKS)
    streams = ablated_streams(
        blocks,
        x,
        skip="skip" in switches,
        feed_forward="feed-forward" in switches,
        norm="pre" if "norm" in switches else "none",
    )
    return rank_residual(streams[-1]).item()


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
         "those are statistics of the columns: of each feature over all tokens, as in BatchNorm."),
        (weight * whole + bias, "each row has a mean and a variance of its own."),
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
            (half + think(two(half)), "keys and values come from normalised rows, too.")
        )
        skipped = attend(one(x))
        mistakes.append((skipped + think(two(skipped)), "attention needs its skip, too."))
        stream = one(x) + attend(one(x))
        mistakes.append((two(stream) + think(two(stream)), "the sum takes x itself, not its norm."))
    else:
        skipped = one(attend(x))
        mistakes.append((two(skipped + think(skipped)), "attention needs its skip, too."))
    return mistakes


def _shown(row: Tensor) -> list[float]:
    return [round(value, 4) + 0.0 for value in row[:4].tolist()]
