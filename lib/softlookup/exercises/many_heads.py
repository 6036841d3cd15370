"""Checks of chapter 16: the printed module, the sum over heads, PyTorch's twin, ties, pruning."""

from itertools import combinations

import torch
from torch import Tensor, nn

from softlookup.attention import Attention, MultiHeadAttention, join_heads
from softlookup.exercises.compare import advised, close, compare, draws, integers, numbers, scalar
from softlookup.exercises.many_heads_models import N_SPEAKERS, accuracy_with, seeded, train_alike
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import causal_mask

_WIDTH, _HEADS, _PARAMETERS, _ENOUGH = 64, 8, 16_640, 0.95
MODULE = {
    "'attention_heads' is not defined": "What belongs to the module is reached through self.",
    "d_model) with d_model = 8": "Each head reads whole rows of width d and "
    "writes rows of width d // h: Attention(d, d // h, d // h, bias=True).",
    "shapes cannot be multiplied": "torch.concat joins along the first axis, the texts, "
    "unless you tell it dim=-1.",
}
"""What to look at, by the error that a bug of the printed module makes."""
PARAMETERS = {
    64 * 64 + 64: "Only W^O's: a Python list hides the heads from PyTorch. nn.ModuleList, or "
    "no optimiser will ever train them.",
    4 * 64 * 64: "The biases are missing.",
    4 * 64 * 64 + 64: "The biases of the heads are missing: bias=True.",
    8 * 3 * (64 * 64 + 64) + 64 * 64 + 64: "Each head has the full width; to keep the cost, "
    "it should be d // h.",
}
TWIN = {
    "attn_mask is": "Our texts stand first in x, and PyTorch's layer wants them second, unless "
    "you tell it batch_first=True",
}
TWIN_SLIPS = [
    ({"mask": "as ours"}, "In PyTorch's module True means: must not read. Turn the mask round."),
    ({"mask": "none"}, "The mask is missing."),
    ({"order": (0, 2, 1)}, "Keys and values are exchanged: in_proj_weight is Q, K, V."),
    ({"order": (1, 0, 2)}, "Queries and keys are exchanged: in_proj_weight is Q, K, V."),
    ({"inner_bias": False}, "in_proj_bias is missing: it holds three biases."),
    ({"outer_bias": False}, "The bias of W^O is missing."),
    ({"outer": False}, "out_proj still has its own start: copy W_O too."),
    ({"n_heads": 1}, "PyTorch's layer needs as many heads as ours."),
]
TWIN_ELSE = "Other numbers: check batch_first=True, then each of the eight tensors."
SPREADS = [
    (0.5, "Compare every head with head 0, and mind the sign: -0.75 is a large difference."),
    (0.0, "The heads' blocks stand on top of each other: rows h·d_k to (h+1)·d_k of W_Q.weight."),
    (9.0, "Compare the matrices W^Q alone, without biases and without W^K."),
]


@exercise("write the class.")
def check_module(answer: Answer) -> str:
    """Check the mended module of lecture 004.

    Args:
        answer: The learner's class; ``answer(d, h)`` makes a module that turns (batch, n, d) into
            (batch, n, d).

    Chapter: many_heads#exercises
    """
    made = answer.value
    if not isinstance(made, type):
        raise Wrong(f"The check wants the class itself; it got {made!r}.")
    if not issubclass(made, nn.Module):
        raise Wrong("The class should be a torch.nn.Module.")
    answer.started(None if made.forward is nn.Module.forward else made)
    module = Answer(seeded(lambda: _advised(answer, MODULE, _WIDTH, _HEADS)), answer.todo)
    x = torch.randn(2, 5, _WIDTH, generator=torch.Generator().manual_seed(13))
    found = numbers(_advised(module, MODULE, x), x, "The output")
    _count(sum(p.numel() for p in module.given.parameters()))
    alone = "A text should not feel the other texts of its batch: mind the axes."
    compare(module(x[:1]), found[:1], "The output", otherwise=alone, tolerance=1e-5)
    order = [3, 1, 0, 4, 2]
    aside = "With the tokens in another order the outputs should be the same, reordered."
    compare(module(x[:, order]), found[:, order], "The output", otherwise=aside, tolerance=1e-5)
    heads = [part for part in module.given.modules() if isinstance(part, Attention)]
    linear = [part for part in module.given.children() if isinstance(part, nn.Linear)]
    if len(heads) == _HEADS and len(linear) == 1:
        expected = linear[0](torch.cat([head(x) for head in heads], dim=-1)).detach()
        if not close(found, expected, 1e-5):
            raise Wrong("The output should be the heads side by side, in order, times W^O.")
    return "16,640 parameters, all of them registered: four times 64 · 64 + 64."


@exercise("return what each head adds.")
def check_contributions(answer: Answer) -> str:
    """Check a function that gives what each head adds to the output.

    Args:
        answer: The learner's function of (heads, W_O): heads is (heads, n, d_v), and W_O the
            matrix of the formula, (heads · d_v, d_model).

    Chapter: many_heads#exercises
    """
    heads, W_O = draws((3, 5, 2), (6, 7), seed=13)
    blocks = torch.stack([W_O[0:2], W_O[2:4], W_O[4:6]])
    expected = heads @ blocks
    total = join_heads(heads) @ W_O
    added = "That is one matrix; return one for each head, before they are added up."
    mistakes = [
        (heads @ torch.stack([W_O[h::3] for h in range(3)]), "Head h meets the rows h·d_v to "
         "(h+1)·d_v of W^O, one block; not every third row."),
        (heads @ blocks.flip(0), "Head 0 stands first in the concatenation: it meets the first "
         "rows of W^O."),
        (heads @ blocks[:1], "Each head has a block of its own."),
        (expected / 3, "Add the heads, do not average them."),
    ]  # fmt: skip

    def otherwise(found: Tensor, _: Tensor) -> str:
        off = (found.sum(dim=0) - total).abs().max().item()
        if off < 1e-6:
            return "The sum is right, but what single heads add is not."
        return f"The sum over the heads misses Concat · W^O by up to {off:.3g}."

    shapes = {tuple(total.shape): added}
    compare(answer(heads, W_O), expected, "The result", mistakes, otherwise, shapes=shapes)
    return "Each head adds its share on its own: to mute a head is to leave out one term."


@exercise("return the output of PyTorch's layer.")
def check_twin(answer: Answer) -> str:
    """Check a twin of our layer made of ``torch.nn.MultiheadAttention``.

    Args:
        answer: The learner's function of (layer, x, mask); it returns the output of PyTorch's
            layer with our layer's weights. True in the mask = may read.

    Chapter: many_heads#exercises
    """
    generator = torch.Generator().manual_seed(13)
    layer = seeded(lambda: _Silent(12, 3)).float()
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.randn(p.shape, generator=generator) / p.shape[-1] ** 0.5)
    x = torch.randn(5, 7, 12, generator=generator, dtype=torch.float32)
    mask = causal_mask(7)
    kept = [p.detach().clone() for p in layer.parameters()]
    found = _advised(answer, TWIN, layer, x, mask)
    if isinstance(found, tuple):
        raise Wrong("PyTorch's layer returns a pair; its first part is the output.")
    if layer.asked:
        raise Wrong("Ask torch.nn.MultiheadAttention; our layer is silent here.")
    if not all(map(torch.equal, layer.parameters(), kept)):
        raise Wrong("The weights should go from our layer to PyTorch's, and ours stay as they are.")
    mistakes = ((_torch_output(layer, x, mask, **slip), advice) for slip, advice in TWIN_SLIPS)
    expected = _torch_output(layer, x, mask)
    compare(found, expected, "The output", mistakes, TWIN_ELSE, tolerance=1e-5)
    return "Weight for weight, and output for output, PyTorch's own layer."


@exercise("return the largest difference.", "name the start, as (same_qkv, same_wo).")
def check_tied(head_spread: Answer, tied: Answer) -> str:
    """Check which start keeps the heads tied, and how the learner measured it.

    Args:
        head_spread: The learner's function of a layer: the largest difference between the $W^Q$
            of a head and that of head 0.
        tied: The start that keeps them tied, as (same_qkv, same_wo).

    Chapter: many_heads#exercises
    """
    layer = seeded(lambda: MultiHeadAttention(6, 3)).double()
    with torch.no_grad():
        layer.W_Q.weight.zero_()
        layer.W_Q.weight[5, 2] = -0.75  # in head 2, and smaller than in head 0
        layer.W_Q.weight[2, 4] = 0.5
        layer.W_K.weight[0, 0] = layer.W_Q.bias[3] = 9.0
    found = scalar(head_spread(layer), "The spread")
    if abs(found - 0.75) > 1e-6:
        aside = f"Two heads differ by at most 0.75 from head 0; yours says {found:.4g}."
        raise Wrong(advised(found, SPREADS, aside, abs_tol=1e-6))
    told = f"Give two truth values, (same_qkv, same_wo); yours is {tied.value!r}."
    same_qkv, same_wo = map(bool, integers(tied.value, told, n=2))
    apart = scalar(head_spread(train_alike(same_qkv, same_wo)), "The spread")
    if apart > 1e-3:
        hint = "W^O alone drives them apart." if same_qkv else "Try the other starts too."
        raise Wrong(f"After 50 steps these heads are {apart:.2f} apart. {hint}")
    return "Same numbers, same gradients, for ever. Other blocks of W^O alone would part them."


@exercise("give the heads to keep.")
def check_kept(kept: Answer) -> str:
    """Check that as few heads as possible keep 95% of the accuracy.

    Args:
        kept: The numbers of the heads that may speak, tried with ``accuracy_with``.

    Chapter: many_heads#exercises
    """
    told = f"Give the numbers of the heads, like [0, 3]; yours is {kept.value!r}."
    kept = tuple(sorted(set(integers(kept.value, told))))
    if not set(kept) <= set(range(N_SPEAKERS)):
        raise Wrong(f"The heads are numbered from 0 to {N_SPEAKERS - 1}; yours are {list(kept)}.")
    whole, share = accuracy_with(range(N_SPEAKERS)), accuracy_with(kept)
    said = f"{_these(kept)} right in {share:.1%} of the answers, all six in {whole:.1%}."
    if share < _ENOUGH * whole:
        raise Wrong(f"{said} That is less than 95% of it: keep more heads, or others.")
    for size in range(len(kept)):
        if any(accuracy_with(fewer) >= _ENOUGH * whole for fewer in combinations(range(6), size)):
            raise Wrong(f"{said} That is enough, but fewer heads are enough too.")
    return said


def _advised(answer: Answer, advice: dict[str, str], *arguments: object) -> object:
    """Call; to an error that a known bug makes, add what to look at."""
    try:
        return answer(*arguments)
    except Wrong as wrong:
        hints = [hint for sign, hint in advice.items() if sign in str(wrong)]
        raise Wrong(". ".join([str(wrong).partition(" (it was given")[0], *hints])) from None


def _count(found: int) -> None:
    if found != _PARAMETERS:
        advice = PARAMETERS.get(found, "Three matrices for each head, and W^O, all with biases.")
        raise Wrong(f"It runs, but has {found:,} parameters, not {_PARAMETERS:,}. {advice}")


class _Silent(MultiHeadAttention):
    """A layer that notes whether it was asked."""

    asked = False

    def forward(self, x: Tensor, *arguments: object, **options: object) -> Tensor:
        self.asked = True
        return torch.zeros_like(x)


def _torch_output(
    layer: MultiHeadAttention,
    x: Tensor,
    may_read: Tensor,
    *,
    order: tuple[int, int, int] = (0, 1, 2),
    inner_bias: bool = True,
    outer_bias: bool = True,
    outer: bool = True,
    n_heads: int = 3,
    mask: str = "turned",
) -> Tensor:
    """What PyTorch's layer gives with our weights, or with a known slip in them."""
    peer = seeded(lambda: nn.MultiheadAttention(12, n_heads, batch_first=True)).float()
    inner = [(layer.W_Q, layer.W_K, layer.W_V)[k] for k in order]
    with torch.no_grad():
        peer.in_proj_weight.copy_(torch.cat([w.weight for w in inner]))
        if inner_bias:
            peer.in_proj_bias.copy_(torch.cat([w.bias for w in inner]))
        if outer:
            peer.out_proj.weight.copy_(layer.W_O.weight)
        if outer_bias:
            peer.out_proj.bias.copy_(layer.W_O.bias)
        hidden = {"turned": ~may_read, "as ours": may_read, "none": None}[mask]
        return peer(x, x, x, attn_mask=hidden, need_weights=False)[0]


def _these(kept: tuple[int, ...]) -> str:
    return f"{len(kept)} head is" if len(kept) == 1 else f"{len(kept)} heads are"
