"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import math
from functools import cache
from itertools import combinations

import torch
from torch import nn

from answers import Later
from softlookup.analysis import head_gates
from softlookup.attention import join_heads, split_heads
from softlookup.exercises.many_heads import (
    check_contributions,
    check_kept,
    check_layer,
    check_one_number,
    check_order,
    check_twin,
)
from softlookup.exercises.many_heads_models import accuracy_with

RIGHT, WRONG = {}, {}


# Split, join, and the whole layer


def book_split(rows, n_heads):
    *front, n, width = rows.shape
    return rows.reshape(*front, n, n_heads, width // n_heads).movedim(-2, -3)


def book_join(heads):
    *front, n_heads, n, d = heads.shape
    return heads.movedim(-3, -2).reshape(*front, n, n_heads * d)


def book_layer(x, W_Q, W_K, W_V, W_O, n_heads, mask, *, root=None, dim=-1, empty_is_zero=True):
    Q, K, V = (book_split(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    scores = Q @ K.mT / (root or Q.shape[-1] ** 0.5)
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=dim)
    return book_join((weights.nan_to_num() if empty_is_zero else weights) @ V) @ W_O


def split_by_pieces(rows, n_heads):
    """Another right split: pieces, stacked."""
    return torch.stack(rows.chunk(n_heads, dim=-1), dim=-3)


def join_by_pieces(heads):
    return torch.cat(heads.unbind(dim=-3), dim=-1)


def fused_layer(x, W_Q, W_K, W_V, W_O, n_heads, mask):
    """Another right layer: PyTorch's kernel."""
    parts = (split_by_pieces(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    read = nn.functional.scaled_dot_product_attention(*parts, attn_mask=mask)
    return join_by_pieces(read) @ W_O


def reshaped(rows, n_heads):
    return rows.reshape(*rows.shape[:-2], n_heads, rows.shape[-2], -1)


RIGHT[check_layer] = [
    (book_split, book_join, book_layer),
    (split_by_pieces, join_by_pieces, fused_layer),
    (split_heads, join_heads, lambda *a: book_layer(*a).tolist()),
]
WRONG[check_layer] = [
    (..., ..., ..., "Nothing to check so far: write my_split"),
    (book_split, ..., ..., "Nothing to check so far: write my_join"),
    (book_split, book_join, ..., "Nothing to check so far: write my_layer"),
    (reshaped, book_join, book_layer, "my_split: The shape is right, but tokens and heads"),
    (
        lambda rows, h: rows.unflatten(-1, (-1, h)).movedim(-1, -3),
        book_join,
        book_layer,
        "takes every third number",
    ),
    (lambda rows, h: book_split(rows, h).flip(-3), book_join, book_layer, "takes the first"),
    (lambda rows, h: rows.unflatten(-1, (h, -1)), book_join, book_layer, "exchange the two"),
    (lambda rows, h: book_split(rows, h).mT, book_join, book_layer, "The tokens should come"),
    (
        lambda rows, h: torch.stack(rows.chunk(h, dim=-1)),
        book_join,
        book_layer,
        "The axis of texts should stay in front",
    ),
    (
        book_split,
        lambda heads: heads.reshape(*heads.shape[:-3], heads.shape[-2], -1),
        book_layer,
        "my_join: The shape is right, but tokens and heads",
    ),
    (book_split, lambda heads: book_join(heads.flip(-3)), book_layer, "Head 0 stands first"),
    (book_split, lambda heads: heads.movedim(-3, -1).flatten(-2), book_layer, "of one head should"),
    (book_split, book_join, lambda *a: book_layer(*a[:-1], a[-1] | True), "The mask is missing"),
    (book_split, book_join, lambda *a: book_layer(*a[:-1], ~a[-1]), "True means: may read"),
    (
        book_split,
        book_join,
        lambda *a: book_layer(*a[:-1], ~a[-1], empty_is_zero=False),
        "my_layer: The output holds NaN, where a token may read nobody",
    ),
    (book_split, book_join, lambda *a: book_layer(*a, root=6**0.5), "all heads together"),
    (book_split, book_join, lambda *a: book_layer(*a, root=7**0.5), "yours is that of d_model"),
    (book_split, book_join, lambda *a: book_layer(*a, root=3**0.5), "yours is that of d_v"),
    (book_split, book_join, lambda *a: book_layer(*a, root=1), "not divided"),
    (
        book_split,
        book_join,
        lambda x, Q, K, *a: book_layer(x, K, Q, *a),
        "Queries and keys are exchanged",
    ),
    (
        book_split,
        book_join,
        lambda x, Q, K, V, W_O, *a: book_layer(x, Q, K, V, torch.eye(9, dtype=x.dtype), *a),
        "W_O is missing",
    ),
    (book_split, book_join, lambda *a: book_layer(*a, dim=-2), "Project, split, attend"),
]


# The sum over the heads


def book_contributions(heads, W_O):
    return heads @ W_O.unflatten(0, (len(heads), -1))


def by_loops(heads, W_O):
    d = heads.shape[-1]
    return [(head @ W_O[h * d : (h + 1) * d]).tolist() for h, head in enumerate(heads)]


RIGHT[check_contributions] = [
    (book_contributions,),
    (by_loops,),
    (lambda h, W: torch.einsum("hnd,hdm->hnm", h, torch.stack(W.chunk(3))),),
]


WRONG[check_contributions] = [
    (..., "Nothing to check so far"),
    (lambda h, W: None, "Nothing to check so far"),
    (lambda h, W: book_contributions(h, W).sum(dim=0), "return one for each head"),
    (lambda h, W: h @ W.unflatten(0, (-1, 3)).movedim(1, 0), "not every third row"),
    (lambda h, W: h @ W.unflatten(0, (3, -1)).flip(0), "Head 0 stands first"),
    (lambda h, W: h @ W[:2], "a block of its own"),
    (lambda h, W: book_contributions(h, W) / 3, "do not average"),
    (lambda h, W: book_contributions(h, W).roll(1, dims=0), "The sum is right"),
    (lambda h, W: 2 * book_contributions(h, W), "misses Concat · W^O by up to"),
    (lambda h, W: h @ W, "RuntimeError"),
    (lambda h, W: book_contributions(h, W)[:2], "should have shape (3, 5, 7)"),
]


# PyTorch's twin


def book_twin(layer, x, mask, *, order=(0, 1, 2), n_heads=None, batch_first=True, biases=True,
              hide=True, out="all"):  # fmt: skip
    inner = [(layer.W_Q, layer.W_K, layer.W_V)[k] for k in order]
    twin = nn.MultiheadAttention(12, n_heads or layer.n_heads, batch_first=batch_first)
    with torch.no_grad():
        twin.in_proj_weight.copy_(torch.cat([w.weight for w in inner]))
        if biases:
            twin.in_proj_bias.copy_(torch.cat([w.bias for w in inner]))
        if out == "weight":
            twin.out_proj.weight.copy_(layer.W_O.weight)
        elif out == "bias":
            torch.manual_seed(0)
            nn.MultiheadAttention(12, 3)
            twin.out_proj.bias.copy_(layer.W_O.bias)
    if out == "all":
        twin.out_proj.load_state_dict(layer.W_O.state_dict())
    attn_mask = None if mask is None else ~mask if hide else mask
    return twin(x, x, x, attn_mask=attn_mask, need_weights=False)[0]


def slow_twin(layer, x, mask):
    """Another right way: separate projections, texts second, the weights averaged."""
    twin = nn.MultiheadAttention(12, 3, kdim=12, vdim=12)
    state = twin.state_dict()
    state["in_proj_weight"] = torch.cat([layer.W_Q.weight, layer.W_K.weight, layer.W_V.weight])
    state["in_proj_bias"] = torch.cat([layer.W_Q.bias, layer.W_K.bias, layer.W_V.bias])
    state["out_proj.weight"], state["out_proj.bias"] = layer.W_O.weight, layer.W_O.bias
    twin.load_state_dict(state)
    x = x.transpose(0, 1)
    numbers = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return twin(x, x, x, attn_mask=numbers)[0].transpose(0, 1)


def with_weights_unturned(layer, x, mask):
    """PyTorch's layer makes NaN here, where it is asked for its weights, too."""
    twin = nn.MultiheadAttention(12, 3, batch_first=True)
    return twin(x, x, x, attn_mask=mask)[0]


def emptied(layer, x, mask):
    out = book_twin(layer, x, mask)
    nn.init.zeros_(layer.W_Q.weight)
    return out


def with_pytorchs_own_start(layer, x, mask):
    torch.manual_seed(0)
    return book_twin(layer, x, mask, out="bias")


RIGHT[check_twin] = [
    (book_twin,),
    (slow_twin,),
]


WRONG[check_twin] = [
    (..., "Nothing to check so far"),
    (lambda layer, x, mask: layer(x, mask=mask), "our layer is silent here"),
    (lambda layer, x, mask: (book_twin(layer, x, mask), None), "returns a pair"),
    (emptied, "ours stay as they are"),
    (lambda *a: book_twin(*a, hide=False), "must not read. Turn the mask round"),
    (with_weights_unturned, "The output holds NaN", "may read nobody", "Turn the mask round"),
    (lambda layer, x, mask: book_twin(layer, x, None), "The mask is missing"),
    (lambda *a: book_twin(*a, order=(0, 2, 1)), "Keys and values are exchanged"),
    (lambda *a: book_twin(*a, order=(1, 0, 2)), "Queries and keys are exchanged"),
    (lambda *a: book_twin(*a, biases=False), "in_proj_bias is missing"),
    (lambda *a: book_twin(*a, out="weight"), "The bias of W^O is missing"),
    (with_pytorchs_own_start, "copy W_O too"),
    (lambda *a: book_twin(*a, n_heads=1), "as many heads as ours"),
    (lambda *a: book_twin(*a, n_heads=2), "check batch_first=True"),
    (lambda *a: book_twin(*a, batch_first=False), "Your code stopped with", "batch_first=True"),
    (lambda *a: book_twin(*a)[0], "should have shape (5, 7, 12)"),
]


# How few heads


@cache
def fewest():
    """All choices of the smallest number of heads that are enough on this machine."""
    enough = 0.95 * accuracy_with(range(6))
    for size in range(7):
        good = [c for c in combinations(range(6), size) if accuracy_with(c) >= enough]
        if good:
            return good
    return []


def one_more():
    rest = next(head for head in range(6) if head not in fewest()[0])
    return [*fewest()[0], rest]


RIGHT[check_kept] = [
    (Later(lambda: fewest()[0]),),
    (Later(lambda: fewest()[-1]),),
    (Later(lambda: set(fewest()[0])),),
    (Later(lambda: torch.tensor(fewest()[-1])),),
]
WRONG[check_kept] = [
    (..., "Nothing to check so far: give the heads"),
    (Later(lambda: fewest()[0][:-1]), "keep more heads, or others"),
    ([0], "1 head is right in"),
    (Later(one_more), "fewer heads are enough too"),
    (range(6), "6 heads are right in"),
    ([6], "numbered from 0 to 5; yours are [6]"),
    (Later(lambda: len(fewest()[0])), "Give the numbers of the heads"),
    ("all", "Give the numbers of the heads"),
]


# Three answers in one number


def scores_of(own=0.22, before=0.30, first=0.48, rest=-50.0):
    scores = torch.full((8, 8), rest)
    for i in range(2, 8):
        scores[i, i], scores[i, i - 1], scores[i, 0] = map(math.log, (own, before, first))
    return scores


ROOTS = [k**0.5 for k in range(6)]
TRIPLES = [[own, before, first] for own in range(6) for before in range(6) for first in range(6)]


def decoder(own=0.22, before=0.30, first=0.48, values=ROOTS):
    def decode(z):
        def gap(letters):
            o, b, f = (values[letter] for letter in letters)
            return abs(own * o + before * b + first * f - z)

        return min(TRIPLES, key=gap)

    return decode


PRIMES = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0]
OTHER = (0.4613, 0.3291, 0.2096)

RIGHT[check_one_number] = [
    (scores_of(), ROOTS, decoder()),
    (scores_of(*OTHER).tolist(), torch.tensor(PRIMES).sqrt(),
     decoder(*OTHER, values=[p**0.5 for p in PRIMES])),
]  # fmt: skip
WRONG[check_one_number] = [
    (..., ..., ..., "Nothing to check so far: give the scores"),
    (scores_of(), ..., ..., "Nothing to check so far: give six values"),
    (scores_of(), ROOTS, ..., "Nothing to check so far: write decode"),
    (torch.zeros(8, 8), ROOTS, decoder(), "nobody can tell them apart"),
    (scores_of(1 / 3, 1 / 3, 1 / 3), ROOTS, decoder(), "nobody can tell them apart"),
    (scores_of(), [0, 1, 2, 3, 4, 5], decoder(), "nobody can tell them apart"),
    (scores_of(1 / 43, 6 / 43, 36 / 43), range(6), decoder(), "No weight may be more than one"),
    (scores_of(), ROOTS, lambda z: decoder()(z)[::-1], "and decode says"),
    (scores_of(rest=-1.0), ROOTS, decoder(), "At place 3 the head has read"),
    (scores_of(), ROOTS, lambda z: z, "decode should return three letters"),
    (scores_of(), ROOTS, lambda z: [1, 2], "decode should return three letters"),
    (scores_of()[:4], ROOTS, decoder(), "The scores should have shape (8, 8)"),
    (scores_of(), ROOTS[:5], decoder(), "The values should have shape (6,)"),
]


# Which head is which


def signature(layer):
    W_Q, W_K, W_V = (
        W.weight.unflatten(0, (layer.n_heads, -1)) for W in (layer.W_Q, layer.W_K, layer.W_V)
    )
    W_O = layer.W_O.weight.unflatten(1, (layer.n_heads, -1)).movedim(1, 0)
    return W_Q.mT @ W_K, W_O @ W_V


def book_order(layer, copy, *, use=(0, 1)):
    ours, theirs = (
        torch.cat([signature(one)[k] for k in use], dim=-1).flatten(1) for one in (layer, copy)
    )
    return torch.cdist(ours, theirs).argmin(dim=1).tolist()


def order_by_muting(layer, copy):
    """Another right way: each head alone, on random rows."""
    x = torch.randn(7, layer.d_model, generator=torch.Generator().manual_seed(3)).double()

    def alone(one):
        found = []
        for h in range(one.n_heads):
            with head_gates(one, torch.eye(one.n_heads)[h]):
                found.append(one(x).flatten())
        return torch.stack(found)

    return torch.cdist(alone(layer), alone(copy)).argmin(dim=1)


def inverse_order(layer, copy):
    order = book_order(layer, copy)
    return [order.index(h) for h in range(len(order))]


def order_by_entries(layer, copy):
    ours, theirs = (one.W_Q.weight.unflatten(0, (one.n_heads, -1)).flatten(1)
                    for one in (layer, copy))  # fmt: skip
    return torch.cdist(ours, theirs).argmin(dim=1).tolist()


RIGHT[check_order] = [
    (book_order,),
    (order_by_muting,),
    (lambda layer, copy: tuple(book_order(layer, copy, use=[1])),),
]
WRONG[check_order] = [
    (..., "Nothing to check so far: return the order"),
    (lambda layer, copy: None, "Nothing to check so far"),
    (inverse_order, "the other direction"),
    (lambda layer, copy: book_order(layer, copy, use=[0]), "have the same map of weights"),
    (order_by_entries, "The entries of the matrices are of no use"),
    (lambda layer, copy: range(5), "The entries of the matrices are of no use"),
    (lambda layer, copy: [0], "Return the numbers of the copy's heads"),
    (lambda layer, copy: 3, "Return the numbers of the copy's heads"),
]
