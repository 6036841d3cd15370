"""Many heads: how time and memory grow with n on both paths, and against PyTorch's own layer.

One measurement is a training step: forward, and back to the input and to all weights. Under the
causal mask, the peer is what is faster at each n: PyTorch's own layer, or its fused kernel between
four linear layers, both told that the mask is causal.
"""

import statistics
import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F
from memory import process_peak
from timing import ratio, seconds
from torch import Tensor, nn
from torch.testing import assert_close

from softlookup.attention import (
    GroupedQueryAttention,
    attention_multiplications,
    join_heads,
    peak_memory,
    projection_multiplications,
    split_heads,
    weights_bytes,
)
from softlookup.masks import causal_mask

LENGTHS = (64, 128, 256, 512, 1024, 2048)
CAUSAL_LENGTHS = (*LENGTHS, 4096)
WIDTHS = (128, 256, 512)
D_HEAD, TOKENS, D_MODEL = 64, 2048, 256
GROWTH_HEADS = ["n", "multiplications", "fused time", "inspectable time", "inspectable to fused"]
GROWTH_HEADS += ["fused MB", "inspectable MB", "weights A, MB"]
AGAINST_HEADS = ["n", "d_model", "mask", "time, to the fastest peer", "memory of tensors"]
AGAINST_HEADS += ["memory of the process"]
PEER, KERNEL = "nn.MultiheadAttention", "F.scaled_dot_product_attention"
Step = Callable[[], Tensor]


def steps(n: int, d_model: int, *, batch: int, causal: bool = False) -> dict[str, Step]:
    """A training step of each peer, all with the same weights and the same input."""
    torch.manual_seed(0)
    n_heads = d_model // D_HEAD
    peer = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
    fused, plain, parts = (
        GroupedQueryAttention(d_model, n_heads, fused=flag) for flag in (True, False, True)
    )
    for layer in (fused, plain, parts):
        copy_weights(peer, layer)
    x = torch.randn(batch, n, d_model, requires_grad=True)
    mask = causal_mask(n) if causal else None
    forbidden = ~mask if causal else None  # PyTorch's layer reads a mask the other way round

    def theirs() -> Tensor:
        options = {"attn_mask": forbidden, "is_causal": causal, "need_weights": False}
        return peer(x, x, x, **options)[0]

    def kernel() -> Tensor:
        heads = (split_heads(W(x), n_heads) for W in (parts.W_Q, parts.W_K, parts.W_V))
        return parts.W_O(join_heads(F.scaled_dot_product_attention(*heads, is_causal=causal)))

    forward = {
        "fused": (fused, lambda: fused(x, mask=mask)),
        "inspectable": (plain, lambda: plain(x, mask=mask)),
        PEER: (peer, theirs),
        KERNEL: (parts, kernel),
    }
    return {name: training_step(x, *pair) for name, pair in forward.items()}


def training_step(x: Tensor, layer: nn.Module, forward: Step) -> Step:
    """Forward and backward, from a loss that is as cheap as can be; returns the output."""

    def step() -> Tensor:
        layer.zero_grad(set_to_none=True)
        x.grad = None
        out = forward()
        out.sum().backward()
        return out

    return step


def copy_weights(peer: nn.MultiheadAttention, layer: GroupedQueryAttention) -> None:
    """Give ``layer`` the weights of PyTorch's layer."""
    parts = zip(peer.in_proj_weight.chunk(3), peer.in_proj_bias.chunk(3), strict=True)
    with torch.no_grad():
        for ours, (weight, bias) in zip((layer.W_Q, layer.W_K, layer.W_V), parts, strict=True):
            ours.weight.copy_(weight)
            ours.bias.copy_(bias)
        layer.W_O.load_state_dict(peer.out_proj.state_dict())


def small_and_whole(name: str, n: int, d_model: int, batch: int, causal: bool) -> list[Step]:
    """A training step of one peer on 16 tokens, and the one to measure."""
    shapes = [(16, 1), (n, batch)]
    return [steps(long, d_model, batch=many, causal=causal)[name] for long, many in shapes]


def growth_rows(lengths: tuple[int, ...] = LENGTHS) -> list[list[str]]:
    """One text of n tokens: by what factor counts and times grow with each doubling; peaks."""
    rows, last, n_heads = [], None, D_MODEL // D_HEAD
    for n in lengths:
        peers = steps(n, D_MODEL, batch=1)
        fused, plain = peers["fused"], peers["inspectable"]
        assert_close(fused(), plain(), rtol=1e-4, atol=1e-5)
        counted = projection_multiplications(n, n, D_MODEL)
        counted += attention_multiplications(n, n, D_HEAD, D_HEAD, n_heads=n_heads)
        now = [counted, *seconds([fused, plain])]
        grown = [f"× {b / a:.2g}" for a, b in zip(last, now, strict=True)] if last else ["—"] * 3
        peaks = [peak_memory(fused), peak_memory(plain), weights_bytes(n, n, n_heads=n_heads)]
        between = f"{ratio(plain, fused):.2g}"
        rows.append([f"{n:,}", *grown, between, *(f"{peak / 2**20:.3g}" for peak in peaks)])
        print("growth |", " | ".join(rows[-1]))
        last = now
    return rows


def against_row(n: int, d_model: int, causal: bool) -> list[str]:
    """The same batch of 2,048 tokens, at least one text: ratios of time and of memory."""
    batch = max(1, TOKENS // n)
    shape = (n, d_model, batch, causal)
    peers = steps(n, d_model, batch=batch, causal=causal)
    ours = peers["fused"]
    times = {name: ratio(ours, peers[name]) for name in (PEER, KERNEL)}
    name = max(times, key=times.get)  # the faster peer is the one to which ours takes longest
    time, theirs = times[name], peers[name]
    assert_close(ours(), theirs(), rtol=1e-4, atol=1e-5)
    tensors = peak_memory(ours) / peak_memory(theirs)
    peaks = [process_peak(small_and_whole, peer, *shape) for peer in ("fused", name)]
    row = [f"{n:,}", str(d_model), "causal" if causal else "none"]
    row += [f"{time:.3g}", f"{tensors:.3g}", f"{peaks[0] / peaks[1]:.3g}"]
    print("against |", " | ".join(row), flush=True)
    return row


def against_rows() -> list[list[str]]:
    """All lengths and widths without a mask, one width under the causal mask; the medians."""
    cases = [(n, d_model, False) for d_model in WIDTHS for n in LENGTHS]
    cases += [(n, D_MODEL, True) for n in CAUSAL_LENGTHS]
    rows = [against_row(*case) for case in cases]
    for mask in ("none", "causal"):
        columns = zip(*(map(float, row[3:]) for row in rows if row[2] == mask), strict=True)
        medians = [statistics.median(column) for column in columns]
        rows.append(["median", "", mask, *(f"{value:.3g}" for value in medians)])
        print("against |", " | ".join(rows[-1]))
    return rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    what = sys.argv[1] if len(sys.argv) > 1 else "all"  # or growth, against, causal
    if what in ("all", "growth"):
        growth_rows()
    if what in ("all", "against"):
        against_rows()
    if what == "causal":
        for length in CAUSAL_LENGTHS:
            against_row(length, D_MODEL, causal=True)
