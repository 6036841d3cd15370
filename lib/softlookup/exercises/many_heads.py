"""Checks: the layer, its sum, PyTorch's twin, pruning, one number, a disguise."""

from itertools import combinations

import torch
from torch import Tensor, nn

from softlookup.attention import MultiHeadAttention, join_heads, split_heads
from softlookup.exercises.compare import compare, draws, integers, numbers
from softlookup.exercises.many_heads_models import (
    N_SPEAKERS,
    accuracy_with,
    disguised,
    seeded,
    train_alike,  # noqa: F401  the slides under test reach it here
)
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import causal_mask

_ENOUGH = 0.95
TWIN = {
    "attn_mask is": "Our texts stand first in x, and PyTorch's layer wants them second, unless "
    "you tell it batch_first=True.",
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
UNTURNED = (
    "The output holds NaN, as PyTorch's layer gives it to a token that may read nobody. In that "
    "module True means: must not read. Turn the mask round."
)
TWIN_ELSE = "Other numbers: check batch_first=True, then each of the eight tensors."
SPLIT = "my_split: "
JOIN = "my_join: "
LAYER = "my_layer: "
LETTERS, PLACES = 6, 8
"""The texts of the exercise on one number: eight letters out of six."""


@exercise("write my_split.", "write my_join.", "write my_layer.")
def check_layer(my_split: Answer, my_join: Answer, my_layer: Answer) -> str:
    """Check the three functions of which a layer of heads is made.

    Args:
        my_split: The learner's function of (rows, n_heads): (..., n, width) becomes
            (..., heads, n, width / heads).
        my_join: The learner's function of heads, which undoes that.
        my_layer: The learner's function of (x, W_Q, W_K, W_V, W_O, n_heads, mask), the matrices as
            in the formula; x is (texts, n, d_model), and True in the mask = may read.

    Chapter: many_heads#exercises
    """
    (rows,) = draws((5, 6), seed=13)
    texts, W_Q, W_K, W_V, W_O = draws((2, 5, 7), (7, 6), (7, 6), (7, 9), (9, 7), seed=14)
    for given in rows, rows.expand(2, 5, 6) * torch.tensor([[[1.0]], [[2.0]]]):
        case = "With an axis of texts: " if given.ndim == 3 else ""
        _check_split(my_split, given, SPLIT + case)
        _check_join(my_join, split_heads(given, 3), JOIN + case)
    mask = causal_mask(5)
    expected = _layer(texts, W_Q, W_K, W_V, W_O, mask)
    given = (texts, W_Q, W_K, W_V, W_O, 3, mask)
    everything = torch.ones_like(mask)
    turned = _layer(texts, W_Q, W_K, W_V, W_O, ~mask)
    unread = (mask.sum(dim=1) == len(mask)).unsqueeze(-1)  # turned round, this row reads nobody
    mistakes = [
        (turned.masked_fill(unread, torch.nan), "The output holds NaN, where a token may read "
         "nobody. In the mask, True means: may read. Turn it round."),
        (_layer(texts, W_Q, W_K, W_V, W_O, everything), "The mask is missing."),
        (turned, "In the mask, True means: may read."),
        (_layer(texts, W_Q, W_K, W_V, W_O, mask, root=6**0.5), "The root is that of d_k, the width "
         "of one head; yours is that of all heads together."),
        (_layer(texts, W_Q, W_K, W_V, W_O, mask, root=7**0.5), "The root is that of d_k, the width "
         "of one head; yours is that of d_model."),
        (_layer(texts, W_Q, W_K, W_V, W_O, mask, root=3**0.5), "The root is that of d_k, the width "
         "of one head; yours is that of d_v, or of the number of heads."),
        (_layer(texts, W_Q, W_K, W_V, W_O, mask, root=1.0), "The scores are not divided by the "
         "root of d_k."),
        (_layer(texts, W_K, W_Q, W_V, W_O, mask), "Queries and keys are exchanged."),
        (_layer(texts, W_Q, W_K, W_V, torch.eye(9, dtype=W_O.dtype), mask), "W_O is missing: it "
         "mixes the heads that stand side by side."),
    ]  # fmt: skip
    told = [(wrong, LAYER + advice) for wrong, advice in mistakes]
    otherwise = f"{LAYER}Project, split, attend in each head, join, and multiply by W_O."
    compare(my_layer(*given), expected, "The layer's output", told, otherwise)
    return "Split, attend, join, mix: for any number of texts, and all heads at once."


def _check_split(my_split: Answer, rows: Tensor, case: str) -> None:
    expected = split_heads(rows, 3)
    *batch, n, width = rows.shape
    mistakes = [
        (rows.reshape(expected.shape), "The shape is right, but tokens and heads are mixed up: "
         "reshape alone cuts along the rows. Cut each row first, then exchange two axes."),
        (rows.unflatten(-1, (2, 3)).movedim(-1, -3), "Your head 0 takes every third number of a "
         "row. It should take the first ones, side by side."),
        (expected.flip(-3), "Head 0 takes the first numbers of a row."),
    ]  # fmt: skip
    shapes = {
        (*batch, n, 3, width // 3): "Each row is cut, but the heads should be an axis *before* the "
        "tokens: exchange the two.",
        (*batch, 3, width // 3, n): "The tokens should come before the numbers of a head.",
    }
    if batch:
        shapes[(3, *batch, n, width // 3)] = "The axis of texts should stay in front."
    found = my_split(rows, 3)
    compare(found, expected, "The split", mistakes, shapes=shapes, case=case)


def _check_join(my_join: Answer, heads: Tensor, case: str) -> None:
    expected = join_heads(heads)
    mistakes = [
        (heads.reshape(expected.shape), "The shape is right, but tokens and heads are mixed up: "
         "exchange the axes of heads and tokens first."),
        (join_heads(heads.flip(-3)), "Head 0 stands first in each row."),
        (heads.movedim(-3, -1).flatten(-2), "The numbers of one head should stand side by side."),
    ]  # fmt: skip
    compare(my_join(heads), expected, "The rows", mistakes, case=case)


def _layer(
    x: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    W_O: Tensor,
    mask: Tensor,
    *,
    root: float = 2**0.5,
) -> Tensor:
    """Three heads, with a root that may be wrong."""
    Q, K, V = (split_heads(x @ W, 3) for W in (W_Q, W_K, W_V))
    scores = (Q @ K.mT / root).masked_fill(~mask, -torch.inf)
    return join_heads(scores.softmax(dim=-1).nan_to_num() @ V) @ W_O


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
    found = answer(layer, x, mask, hints=TWIN)
    if isinstance(found, tuple):
        raise Wrong("PyTorch's layer returns a pair; its first part is the output.")
    if layer.asked:
        raise Wrong("Ask torch.nn.MultiheadAttention; our layer is silent here.")
    if not all(map(torch.equal, layer.parameters(), kept)):
        raise Wrong("The weights should go from our layer to PyTorch's, and ours stay as they are.")
    if isinstance(found, Tensor) and found.isnan().any():
        raise Wrong(UNTURNED)
    mistakes = ((_torch_output(layer, x, mask, **slip), advice) for slip, advice in TWIN_SLIPS)
    expected = _torch_output(layer, x, mask)
    compare(found, expected, "The output", mistakes, TWIN_ELSE, tolerance=1e-5)
    return "Weight for weight, and output for output, PyTorch's own layer."


@exercise("give the scores.", "give six values.", "write decode.")
def check_one_number(scores: Answer, values: Answer, decode: Answer) -> str:
    """Check one head whose values are single numbers, and which answers three questions.

    Args:
        scores: A matrix of 8 times 8: how well the query of each place fits the key of each place.
        values: One number for each of the six letters.
        decode: The learner's function of one number, rounded to six digits after the point. It
            gives three letters: the place's own, the one before, and the first.

    Chapter: many_heads#exercises
    """
    (like,) = draws((PLACES, PLACES), seed=0)
    table = numbers(scores.value, like, "The scores")
    given = numbers(values.value, like[0, :LETTERS], "The values")
    weights = table.masked_fill(~causal_mask(PLACES), -torch.inf).softmax(dim=-1)
    most = weights[2:].max().item()
    if most > 0.5 + 1e-9:
        raise Wrong(f"No weight may be more than one half; your largest is {most:.3f}.")
    rest = (1 - weights[2:].sum(dim=-1)).abs().max().item()
    if not rest < 1e-9:
        raise Wrong("The scores must be finite: each row of weights should sum to 1.")
    texts = torch.cartesian_prod(*[torch.arange(LETTERS)] * 3)  # own, before, first
    generator = torch.Generator().manual_seed(13)
    for place in range(2, PLACES):
        ids = torch.randint(LETTERS, (len(texts), PLACES), generator=generator)
        ids[:, place], ids[:, place - 1], ids[:, 0] = texts.mT
        read = (given[ids] @ weights[place]).mul(1e6).round().div(1e6).tolist()
        _tell_twins(read, texts.tolist(), place)
        for number, letters in zip(read, texts.tolist(), strict=True):
            found = integers(
                decode(number), "decode should return three letters, from 0 to 5.", n=3
            )
            if found != letters:
                raise Wrong(
                    f"At place {place} the head has read {number}, and decode says {found}. The "
                    f"letters were {letters}: own, before, first."
                )
    return "Three answers in one number. An average loses nothing if its weights tell who is who."


def _tell_twins(read: list[float], texts: list[list[int]], place: int) -> None:
    """Two texts with other answers, of which the head reads the same."""
    known = {}
    for number, letters in zip(read, texts, strict=True):
        other = known.setdefault(number, letters)
        if other != letters:
            raise Wrong(
                f"At place {place} the head reads {number} from the letters {other} (own, before, "
                f"first), and the same from {letters}: nobody can tell them apart."
            )


@exercise("return the order of the heads.")
def check_order(answer: Answer) -> str:
    """Check which head of a layer is which in a copy that was shuffled and disguised.

    Args:
        answer: The learner's function of (layer, copy). Entry h of what it returns is the number
            of the head of the copy that does what head h of the layer does.

    Chapter: many_heads#exercises
    """
    told = "Return the numbers of the copy's heads, like [2, 0, 3, 1]."
    for seed, order in enumerate(([2, 0, 3, 1, 4], [1, 2, 0, 4, 3], [4, 0, 1, 2, 3])):
        layer, copy = disguised(order, seed)
        found = integers(answer(layer, copy), told, n=len(order))
        if found == order:
            continue
        inverse = [order.index(h) for h in range(len(order))]
        if found == inverse:
            raise Wrong(
                "That says which head of the layer each head of the copy is. Asked is the other "
                "direction: entry h is the number of a head of the copy."
            )
        wrong = [h for h in range(len(order)) if found[h] != order[h]]
        if set(wrong) <= {0, 1}:
            raise Wrong(
                "Heads 0 and 1 have the same map of weights, for any text. They differ in what "
                "they hand over: look at W^V and W^O, too."
            )
        raise Wrong(
            f"Head {wrong[0]} of the layer is not head {found[wrong[0]]} of the copy. The entries "
            "of the matrices are of no use, as they were changed; which products of two matrices "
            "were not?"
        )
    return "Found, in spite of the disguise: a head is its two products, and nothing else."


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
