"""The models behind the exercises on many heads: heads alike, six heads, heads in disguise."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import torch
from torch import Tensor, nn

from softlookup.analysis import head_gates
from softlookup.attention import MultiHeadAttention
from softlookup.checks import require, require_int
from softlookup.masks import causal_mask

N_SPEAKERS = 6
_LETTERS, _PLACES = 6, 8


def train_alike(same_qkv: bool, same_wo: bool) -> MultiHeadAttention:
    """Start four heads alike in some of their matrices, and train them for 50 steps of Adam.

    The task is to add up the tokens before, with a fixed seed.

    Args:
        same_qkv: Whether all heads start with the $W^Q$, $W^K$, $W^V$ of head 0.
        same_wo: Whether all blocks of $W^O$ start as that of head 0.

    Returns:
        The trained layer of four heads of width 4.

    Chapter: many_heads#exercises

    Example:
        >>> train_alike(True, True).n_heads
        4
    """
    generator = torch.Generator().manual_seed(13)
    layer = seeded(lambda: MultiHeadAttention(16, 4)).float()
    inner = (layer.W_Q, layer.W_K, layer.W_V) if same_qkv else ()
    with torch.no_grad():
        for parameter in [p for w in inner for p in w.parameters()]:
            parameter.unflatten(0, (4, -1))[:] = parameter[:4].clone()
        if same_wo:
            layer.W_O.weight.unflatten(1, (4, -1))[:] = layer.W_O.weight[:, None, :4].clone()
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    for _ in range(50):
        x = torch.randn(32, 6, 16, generator=generator, dtype=torch.float32)
        target = x.roll(1, dims=1).cumsum(dim=1) / 3
        optimizer.zero_grad()
        (layer(x) - target).square().mean().backward()
        optimizer.step()
    return layer


def accuracy_with(kept: Iterable[int]) -> float:
    """Let only some of six trained heads speak, and count the right answers.

    The model reads texts of eight letters. At each place but the first it names two letters: the
    one before, and the first of the text.

    Args:
        kept: The heads that may speak, from 0 to 5.

    Returns:
        The share of right answers in 300 new texts, from 0 to 1.

    Raises:
        ValueError: There is no head of such a number.

    Chapter: many_heads#exercises

    Example:
        >>> accuracy_with(range(6)) > 0.95
        True
    """
    kept = sorted(set(kept))
    for head in kept:
        require_int(0, head=head)
        rule = f"head must be a number from 0 to {N_SPEAKERS - 1}"
        require(head < N_SPEAKERS, rule, head=head)
    return _accuracy(tuple(kept))


def disguised(order: Sequence[int], seed: int) -> tuple[MultiHeadAttention, MultiHeadAttention]:
    r"""Make a layer, and a copy that computes the same with other matrices in another order.

    In the copy, head h of the layer has the number ``order[h]``; its queries are multiplied by an
    invertible matrix and its keys by the inverse of its transpose, its values by a second matrix
    and its block of $W^O$ by the inverse. Heads 0 and 1 of the layer have the same $W^Q$ and $W^K$.

    Args:
        order: The numbers of the heads in the copy.
        seed: Where the random numbers begin.

    Returns:
        The layer and the copy, both without biases.

    Chapter: many_heads#exercises

    Example:
        >>> layer, copy = disguised([1, 2, 0], seed=0)
        >>> x = torch.ones(4, 12, dtype=torch.float64)
        >>> torch.allclose(layer(x), copy(x))
        True
    """
    n_heads, d_k, d_v = len(order), 3, 2
    generator = torch.Generator().manual_seed(seed)
    sizes = {"d_k": d_k, "d_v": d_v, "bias": False}
    layer = seeded(lambda: MultiHeadAttention(4 * n_heads, n_heads, **sizes)).double()
    copy = seeded(lambda: MultiHeadAttention(4 * n_heads, n_heads, **sizes)).double()

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def invertible(d: int) -> Tensor:
        return torch.linalg.qr(drawn(d, d))[0] @ torch.diag(1 + drawn(d).abs())

    def blocks(one: MultiHeadAttention) -> list[Tensor]:
        inner = [W.weight.unflatten(0, (n_heads, -1)) for W in (one.W_Q, one.W_K, one.W_V)]
        return [*inner, one.W_O.weight.unflatten(1, (n_heads, -1)).movedim(1, 0)]

    with torch.no_grad():
        for W in layer.parameters():
            W.copy_(drawn(*W.shape) / 2)
        W_Q, W_K, W_V, W_O = blocks(layer)
        W_Q[1], W_K[1] = W_Q[0], W_K[0]
        Q, K, V, out = blocks(copy)
        for h, place in enumerate(order):
            M, N = invertible(d_k), invertible(d_v)
            Q[place], K[place] = M.mT @ W_Q[h], M.inverse() @ W_K[h]
            V[place], out[place] = N.mT @ W_V[h], W_O[h] @ N.inverse().mT
    return layer.requires_grad_(False), copy.requires_grad_(False)


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    """Make a module with weights from a fixed seed; the reader's own seed stays as it is."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make()


@cache
def _accuracy(kept: tuple[int, ...]) -> float:
    layer, out = _speakers()
    x, y = _texts(300, torch.Generator().manual_seed(1))
    gates = [float(head in kept) for head in range(N_SPEAKERS)]
    with torch.no_grad(), head_gates(layer, gates):
        found = _named(layer, out, x).argmax(dim=-1)
    return (found == y)[:, 1:].double().mean().item()


@cache
def _speakers() -> tuple[MultiHeadAttention, nn.Linear]:
    generator = torch.Generator().manual_seed(0)
    width = _LETTERS + _PLACES
    layer = seeded(lambda: MultiHeadAttention(width, N_SPEAKERS, d_k=4, d_v=4, bias=False)).float()
    out = seeded(lambda: nn.Linear(width, 2 * _LETTERS)).float()
    parameters = [*layer.parameters(), *out.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.02)
    for _ in range(150):
        x, y = _texts(32, generator)
        optimizer.zero_grad()
        scores = _named(layer, out, x)[:, 1:].flatten(0, 2)
        nn.functional.cross_entropy(scores, y[:, 1:].flatten()).backward()
        optimizer.step()
    return layer, out


def _named(layer: MultiHeadAttention, out: nn.Linear, x: Tensor) -> Tensor:
    return out(layer(x, mask=causal_mask(_PLACES))).unflatten(-1, (2, _LETTERS))


def _texts(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Letters and places as rows of ones and zeros; the letter before, and the first."""
    ids = torch.randint(_LETTERS, (n, _PLACES), generator=generator)
    x = torch.zeros(n, _PLACES, _LETTERS + _PLACES, dtype=torch.float32)
    x.scatter_(2, ids[:, :, None], 1.0)
    x[:, range(_PLACES), range(_LETTERS, _LETTERS + _PLACES)] = 1.0
    return x, torch.stack([ids.roll(1, dims=1), ids[:, :1].expand_as(ids)], dim=-1)
