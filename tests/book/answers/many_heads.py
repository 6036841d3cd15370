"""Answers to the exercises of chapter 16: right, and wrong with the words that they get."""

from functools import cache
from itertools import combinations

import torch
from torch import nn

from answers import Later
from softlookup.attention import Attention, MultiHeadAttention
from softlookup.exercises.many_heads import (
    check_contributions,
    check_kept,
    check_module,
    check_tied,
    check_twin,
)
from softlookup.exercises.many_heads_models import accuracy_with

RIGHT, WRONG = {}, {}


# The printed module


class Book(nn.Module):
    """The book's solution; the others change one thing."""

    def __init__(self, d, h):
        super().__init__()
        self.d, self.h = d, h
        self.attention_heads = self.heads(d, h)
        self.mha_proj = nn.Linear(d, d)

    def heads(self, d, h):
        return nn.ModuleList([Attention(d, d // h, d // h, bias=True) for _ in range(h)])

    def forward(self, x):
        return self.mha_proj(torch.concat([head(x) for head in self.attention_heads], dim=-1))


class Printed(Book):
    def heads(self, d, h):
        return [Attention(d // h, d // h, d // h, bias=True) for _ in range(h)]

    def forward(self, x):
        mha = torch.concat([attention_heads[i](x) for i in range(self.h)])
        return self.mha_proj(mha)


class OneMended(Printed):
    def forward(self, x):
        return self.mha_proj(torch.concat([self.attention_heads[i](x) for i in range(self.h)]))


class TwoMended(OneMended):
    def heads(self, d, h):
        return [Attention(d, d // h, d // h, bias=True) for _ in range(h)]


class ThreeMended(Book):
    heads = TwoMended.heads


class NoBiases(Book):
    def heads(self, d, h):
        return nn.ModuleList([Attention(d, d // h, d // h) for _ in range(h)])


class FullWidth(Book):
    def heads(self, d, h):
        return nn.ModuleList([Attention(d, d, d, bias=True) for _ in range(h)])

    def forward(self, x):
        return self.mha_proj(sum(head(x) for head in self.attention_heads))


class Backwards(Book):
    def forward(self, x):
        return self.mha_proj(torch.concat([head(x) for head in self.attention_heads][::-1], dim=-1))


class AcrossTexts(Book):
    def forward(self, x):
        return super().forward(x.transpose(0, 1)).transpose(0, 1)


class Positional(Book):
    def forward(self, x):
        return super().forward(x).cumsum(dim=1)


class Packed(nn.Module):
    """Another right solution: the library's own way."""

    def __init__(self, d, h):
        super().__init__()
        self.layer = MultiHeadAttention(d, h)

    def forward(self, x):
        return self.layer(x)


class Blank(nn.Module): ...


class Empty(nn.Module):
    def __init__(self, d, h):
        super().__init__()


RIGHT[check_module] = [
    (Book,),
    (Packed,),
]


WRONG[check_module] = [
    (..., "Nothing to check so far: write the class"),
    (Book(64, 8), "wants the class itself"),
    (Printed, "NameError: name 'attention_heads' is not defined. What belongs to the module"),
    (OneMended, "Each head reads whole rows of width d"),
    (TwoMended, "torch.concat joins along the first axis"),
    (ThreeMended, "It runs, but has 4,160 parameters, not 16,640. Only W^O's"),
    (NoBiases, "16,448 parameters, not 16,640. The biases of the heads are missing"),
    (FullWidth, "104,000 parameters, not 16,640. Each head has the full width"),
    (Backwards, "the heads side by side, in order"),
    (AcrossTexts, "should not feel the other texts"),
    (Positional, "in another order"),
    (dict, "should be a torch.nn.Module"),
    (nn.Linear, "should have shape (2, 5, 64); yours has (2, 5, 8)"),
    (nn.Bilinear, "Your code stopped with TypeError"),
    (Empty, "Nothing to check so far: write the class"),
    (Blank, "Nothing to check so far: write the class"),
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


# Tied heads


def book_spread(layer):
    blocks = layer.W_Q.weight.unflatten(0, (layer.n_heads, -1))
    return (blocks - blocks[0]).abs().max().item()


def loop_spread(layer):
    first, *others = layer.W_Q.weight.chunk(layer.n_heads)
    return max((other - first).abs().max() for other in others)


RIGHT[check_tied] = [
    (book_spread, (True, True)),
    (loop_spread, [1, 1]),
]


WRONG[check_tied] = [
    (..., ..., "Nothing to check so far: return the largest difference"),
    (book_spread, ..., "Nothing to check so far: name the start"),
    (
        lambda layer: (layer.W_Q.weight[2:4] - layer.W_Q.weight[:2]).abs().max(),
        (True, True),
        "Compare every head with head 0",
    ),
    (
        lambda layer: (layer.W_Q.weight[2:] - layer.W_Q.weight[:2].repeat(2, 1)).max(),
        (True, True),
        "mind the sign",
    ),
    (
        lambda layer: layer.W_Q.weight.unflatten(1, (3, -1))[:, 0].abs().max(),
        (True, True),
        "rows h·d_k to (h+1)·d_k",
    ),
    (lambda layer: layer.W_Q.bias.max(), (True, True), "the matrices W^Q alone"),
    (lambda layer: 1.5, (True, True), "yours says 1.5"),
    (lambda layer: layer.W_Q.weight, (True, True), "should have shape ()"),
    (book_spread, (True, False), "apart. W^O alone drives them apart"),
    (book_spread, (False, True), "apart. Try the other starts"),
    (book_spread, (False, False), "apart. Try the other starts"),
    (book_spread, True, "Give two truth values"),
    (book_spread, (True, True, True), "Give two truth values"),
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
