"""Long texts: the window's time against full attention's, and the tiles' memory, to the kernel's.

Both are ratios within one run. Full attention is the library's own, under the same mask; the kernel
is PyTorch's, on one head.
"""

import sys
from collections.abc import Callable
from functools import partial

import torch
from memory import process_peak
from one_head import calls, inputs
from timing import ratio
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from softlookup.attention import attention, count_operations, peak_memory
from softlookup.attention.efficient import (
    linear_attention,
    sliding_mask,
    tiled_attention,
    window_attention,
)
from softlookup.masks import causal_mask

WIDTH = 256
LENGTHS = (1024, 2048, 4096)
MOST_TIME, MOST_MEMORY = 0.25, 2.0  # at n = 4,096: what the window and the tiles must keep to
WINDOW_HEADS = ["n", "work, to full attention", "time, to full attention"]
WINDOW_HEADS += ["time of linear attention, to full"]
TILES_HEADS = ["n", "tensors, to the kernel", "process, to the kernel", "tensors, to the table"]
TILES_HEADS += ["tiles' MB"]


def fused(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """PyTorch's kernel, causal; only a batch of heads takes the path that holds no table."""
    rows = (x[None, None] for x in (query, key, value))
    return scaled_dot_product_attention(*rows, is_causal=True)[0, 0]


def tiled(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The library's tiles, causal."""
    return tiled_attention(query, key, value, causal=True)


def whole(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The library's table of all weights, causal."""
    return attention(query, key, value, causal_mask(len(query)))


PEERS: dict[str, Callable[..., Tensor]] = {"tiled": tiled, "fused": fused, "whole": whole}


def window_row(n: int) -> list[str]:
    """Work and time of the window, as shares of full attention under the window's mask."""
    rows, mask = inputs(n), sliding_mask(n, WIDTH)
    full, near = partial(attention, *rows, mask), partial(window_attention, *rows, WIDTH)
    linear = partial(linear_attention, *rows, causal=True)
    assert_close(near(), full())
    work = count_operations(near).multiplications / count_operations(full).multiplications
    shares = [work, ratio(near, full), ratio(linear, full)]
    row = [f"{n:,}", *(f"{share:.2g}" for share in shares)]
    print("window |", " | ".join(row), flush=True)
    if n == LENGTHS[-1] and shares[1] > MOST_TIME:
        print(f"the window took {shares[1]:.2g} of full attention's time, more than {MOST_TIME}")
    return row


def window_rows() -> list[list[str]]:
    """One row per length; the window is 256 throughout."""
    return [window_row(n) for n in LENGTHS]


def tiles_row(n: int) -> list[str]:
    """Peak memory of the tiles: tensors counted, and the process; to the kernel, to the table."""
    rows = inputs(n)
    assert_close(tiled(*rows), fused(*rows))
    tensors = {name: peak_memory(function, *rows) for name, function in PEERS.items()}
    ours, theirs = (process_peak(calls, peer, 128, n) for peer in (tiled, fused))
    between = f"{ours / theirs:.2g}" if min(ours, theirs) >= 1 else "—"
    shares = [tensors["tiled"] / tensors[name] for name in ("fused", "whole")]
    row = [f"{n:,}", f"{shares[0]:.2g}", between, f"{shares[1]:.2g}"]
    row.append(f"{tensors['tiled'] / 2**20:.2g}")
    print("tiles |", " | ".join(row), flush=True)
    if shares[0] > MOST_MEMORY:
        print(f"the tiles held {shares[0]:.2g} of the kernel's tensors, more than {MOST_MEMORY}")
    return row


def tiles_rows() -> list[list[str]]:
    """One row per length; tiles of 64."""
    return [tiles_row(n) for n in LENGTHS]


if __name__ == "__main__":
    torch.set_num_threads(1)
    what = sys.argv[1] if len(sys.argv) > 1 else "all"  # window, tiles, or both
    if what != "tiles":
        window_rows()
    if what != "window":
        tiles_rows()
