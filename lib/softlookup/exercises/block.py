"""Checks of chapter 14: LayerNorm, the switch that matters, order, two layers in one, a block."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from softlookup.analysis import ablated_streams, random_stack, rank_residual
from softlookup.attention import MultiHeadAttention
from softlookup.checks import require_choice, require_int
from softlookup.exercises.verdict import Verdict, Wrong, call, close, numbers, started, verdict
from softlookup.layers import FeedForward
from softlookup.masks import causal_mask

_SWITCHES = ("skip", "feed-forward", "norm")
_BLOCKS = 6


def check_layer_norm(answer: object) -> Verdict:
    """Check a LayerNorm against ``torch.nn.functional.layer_norm``.

    Args:
        answer: The learner's function of (x, weight, bias, eps), with one token per row of x.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: block#exercises

    Example:
        >>> check_layer_norm(...)
        Not yet. Nothing to check so far: return the normalised rows.
    """
    return verdict(lambda: _layer_norm(answer))


def check_switch(switch: object, evidence: object) -> Verdict:
    """Check which single part keeps the tokens of six random blocks apart, and the numbers for it.

    Args:
        switch: The learner's word: "skip", "feed-forward" or "norm".
        evidence: The residual with each of them alone, by name, from ``residual_with``.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: block#exercises

    Example:
        >>> check_switch(..., ...)
        Not yet. Nothing to check so far: name the switch.
    """
    return verdict(lambda: _switch(switch, evidence))


def check_order(answer: object) -> Verdict:
    """Check a measure of how far a layer is from commuting with a new order of the tokens.

    Args:
        answer: The learner's function of (layer, x, order), with one token per row of x. It returns
            the largest difference between the two ways, in absolute value.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: block#exercises

    Example:
        >>> check_order(...)
        Not yet. Nothing to check so far: return the largest difference.
    """
    return verdict(lambda: _order(answer))


def check_one_layer(answer: object) -> Verdict:
    """Check the one linear layer that equals two with nothing between them.

    Args:
        answer: The learner's function of (W_1, b_1, W_2, b_2), which maps rows by
            (x @ W_1 + b_1) @ W_2 + b_2. It returns W and b of the one layer.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: block#exercises

    Example:
        >>> check_one_layer(...)
        Not yet. Nothing to check so far: return W and b of the one layer.
    """
    return verdict(lambda: _one_layer(answer))


def check_block(answer: object) -> Verdict:
    """Check a block put together from the parts of ``torch.nn.TransformerEncoderLayer``.

    Args:
        answer: The learner's function of (x, parts). The parts are self_attn, linear1, linear2,
            norm1, norm2 and the switch norm_first, as PyTorch names them.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: block#exercises

    Example:
        >>> check_block(...)
        Not yet. Nothing to check so far: return what leaves the block.
    """
    return verdict(lambda: _block(answer))


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
    x, blocks = random_stack(seed, _BLOCKS)
    streams = ablated_streams(
        blocks,
        x,
        skip="skip" in switches,
        feed_forward="feed-forward" in switches,
        norm="pre" if "norm" in switches else "none",
    )
    return rank_residual(streams[-1]).item()


def _random(*shapes: tuple[int, ...], seed: int = 14) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def _layer_norm(function: object) -> str:
    what = "return the normalised rows."
    x, weight, bias = _random((7, 5), (5,), (5,))
    first = torch.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=torch.float64)
    one = torch.ones(4, dtype=torch.float64)
    cases = [
        (first, one, 0 * one, 1e-5, "For the row (1, 2, 3, 4)"),
        (1e-3 * x, weight, bias, 1e-5, "With a gain, a shift and small numbers"),
        (x, weight, bias, 0.1, "With eps = 0.1"),
    ]
    for rows, gain, shift, eps, case in cases:
        right = F.layer_norm(rows, (rows.shape[1],), gain, shift, eps)
        given = [rows.clone(), gain.clone(), shift.clone(), eps]
        found = numbers(call(function, *given, what=what), right, "The result")
        for slip, advice in _norm_slips(rows, gain, shift, eps):
            if close(found, slip) and not close(found, right):
                raise Wrong(f"{case}: {advice}")
        if not close(found, right):
            raise Wrong(f"{case} the numbers are off; yours begin {_shown(found[0])}.")
    return "Number for number what PyTorch gives; (1, 2, 3, 4) becomes ∓1.3416, ∓0.4472."


def _norm_slips(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> list[tuple[Tensor, str]]:
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


def _switch(switch: object, evidence: object) -> str:
    started(switch, "name the switch.")
    if switch not in _SWITCHES:
        raise Wrong(f"The switch is one of {', '.join(map(repr, _SWITCHES))}; yours is {switch!r}.")
    started(evidence, "measure the residual with each switch alone.")
    if not isinstance(evidence, Mapping) or set(evidence) != set(_SWITCHES):
        raise Wrong(f"The evidence is a dict with the keys {', '.join(map(repr, _SWITCHES))}.")
    measured = {name: residual_with(name) for name in _SWITCHES}
    for name, right in measured.items():
        found = numbers(evidence[name], torch.zeros(()), f"The residual with {name!r}").item()
        if abs(found - right) > 0.01 * right + 1e-12:
            said = f"With {name!r} alone the residual is {right:.2g}; you have {found:.2g}."
            raise Wrong(f"{said} Call residual_with({name!r}).")
    if switch != "skip":
        raise Wrong(f"With {switch!r} alone your own evidence is {evidence[switch]:.1g}: all one.")
    return f"With the skip alone {measured['skip']:.2f} is left; with either other, nothing."


def _order(function: object) -> str:
    what = "return the largest difference."
    (x,) = _random((7, 6))
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
        answer = call(function, layer, x.clone(), order.clone(), what=what)
        found = numbers(answer, torch.zeros(()), "The difference").item()
        right, inverse = gap.abs().max().item(), torch.argsort(order)
        slips = [
            ((layer(x[order]) - layer(x)).abs().max(), "put the second way in the new order, too."),
            ((layer(x[order]) - layer(x)[inverse]).abs().max(), "that is the way back: [order]."),
            (gap.max(), "take absolute values first."),
            (gap.abs().mean(), "the largest difference, not the mean."),
            (gap.abs().sum(), "the largest difference, not the sum."),
        ]
        if abs(found - right) > 1e-9:
            hint = next((text for slip, text in slips if abs(found - slip.item()) < 1e-9), "")
            right = right if right > 1e-9 else 0.0
            said = f"For {name} the largest difference is {right:.2g}; you say {found:.2g}"
            raise Wrong(f"{said}: {hint}" if hint else f"{said}.")
    return "Zero for the feed-forward layer, for any order; not for layers that look at places."


def _one_layer(function: object) -> str:
    what = "return W and b of the one layer."
    W_1, b_1, W_2, b_2 = _random((5, 7), (7,), (7, 3), (3,))
    given = [part.clone() for part in (W_1, b_1, W_2, b_2)]
    answer = call(function, *given, what=what)
    if not isinstance(answer, Sequence) or len(answer) != 2:
        raise Wrong("Return two things, W and b.")
    W = numbers(answer[0], W_1 @ W_2, "W")
    if not close(W, W_1 @ W_2):
        raise Wrong("W is not right: put x = the rows of the identity through both layers.")
    b, right = numbers(answer[1], b_2, "b"), b_1 @ W_2 + b_2
    slips = [
        (b_2, "b_1 does not vanish: it goes through the second layer."),
        (b_1 @ W_2, "b_2 is missing."),
    ]
    for slip, advice in slips:
        if close(b, slip):
            raise Wrong(advice)
    if not close(b, right):
        raise Wrong("W is right, b is not: what do the two layers make of x = 0?")
    return "One layer, the same map: nothing is gained by stacking linear layers."


def _block(function: object) -> str:
    what = "return what leaves the block."
    for norm_first in False, True:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(14)
            peer = nn.TransformerEncoderLayer(6, 2, 11, batch_first=True, norm_first=norm_first)
        peer = peer.double().eval()
        (x,) = _random((3, 7, 6))
        with torch.no_grad():
            for k, norm in enumerate((peer.norm1, peer.norm2)):
                norm.weight.copy_(1 + 0.5 * _random((6,), seed=k)[0])
            right = peer(x.requires_grad_()).detach()  # with gradients: no fused shortcut
            x = x.detach()
            names = ("self_attn", "linear1", "linear2", "norm1", "norm2", "norm_first")
            parts = SimpleNamespace(**{name: getattr(peer, name) for name in names})
            found = call(function, x.clone(), parts, what=what)
            found = numbers(found, right, "The result")
            kind = "pre-norm" if norm_first else "post-norm"
            for slip, advice in _block_slips(x, parts):
                if close(found, slip) and not close(found, right):
                    raise Wrong(f"With norm_first={norm_first}: {advice}")
        if not close(found, right):
            raise Wrong(f"The {kind} block is off. Take it step by step, one sub-layer at a time.")
    return "Both orders, number for number what PyTorch's block gives."


def _block_slips(x: Tensor, parts: SimpleNamespace) -> list[tuple[Tensor, str]]:
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
    slips = [
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
        slips.append((half + think(two(half)), "keys and values come from normalised rows, too."))
        skipped = attend(one(x))
        slips.append((skipped + think(two(skipped)), "attention needs its skip, too."))
        stream = one(x) + attend(one(x))
        slips.append((two(stream) + think(two(stream)), "the sum takes x itself, not its norm."))
    else:
        skipped = one(attend(x))
        slips.append((two(skipped + think(skipped)), "attention needs its skip, too."))
    return slips


def _shown(row: Tensor) -> list[float]:
    return [round(value, 4) + 0.0 for value in row[:4].tolist()]
