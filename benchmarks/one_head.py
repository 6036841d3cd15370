"""Attention on one text: the library's matrix form against a loop and against PyTorch's kernel."""

import math
from collections.abc import Callable
from functools import partial

import torch
from memory import process_peak
from timing import seconds
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from softlookup.attention import attention

ONE_HEAD_HEADS = ["n", "time, to the loop", "time, to the kernel"]
ONE_HEAD_HEADS += ["memory, to the loop", "memory, to the kernel", "library's MB"]
D_K = 64
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)


def loop(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention one query at a time: what the matrix form is measured against."""
    rows = []
    for one in query:
        weights = (key @ one / math.sqrt(D_K)).softmax(dim=0)
        rows.append(weights @ value)
    return torch.stack(rows)


def fused(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """PyTorch's own kernel; only a batch of heads takes the path that never holds all weights."""
    batch_of_one_head = (tensor[None, None] for tensor in (query, key, value))
    return scaled_dot_product_attention(*batch_of_one_head)[0, 0]


PEERS = {"library": attention, "loop": loop, "fused": fused}


def inputs(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same random query, key and value for every peer."""
    generator = torch.Generator().manual_seed(n)
    return tuple(torch.randn(n, D_K, generator=generator) for _ in range(3))


def calls(peer: Callable[..., Tensor], *lengths: int) -> list[Callable[[], Tensor]]:
    """A call of a peer for each length."""
    return [partial(peer, *inputs(n)) for n in lengths]


def _ratio(first: float, second: float) -> float | None:
    """The ratio of two peaks, or None where one is too small to be told from the page size."""
    return first / second if min(first, second) >= 1 else None


def _shown(ratio: float | None) -> str:
    if ratio is None:
        return "—"
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def one_head_rows() -> list[list[str]]:
    """One row per length: time and peak memory as ratios to the loop and to the fused kernel."""
    rows = []
    for n in LENGTHS:
        arguments = inputs(n)
        expected = fused(*arguments)
        for function in PEERS.values():
            torch.testing.assert_close(function(*arguments), expected)
        ours, naive, kernel = seconds([partial(peer, *arguments) for peer in PEERS.values()])
        peaks = [process_peak(calls, peer, 16, n) for peer in PEERS.values()]
        ratios = [
            ours / naive,
            ours / kernel,
            _ratio(peaks[0], peaks[1]),
            _ratio(peaks[0], peaks[2]),
        ]
        held = f"{peaks[0]:.0f}" if peaks[0] >= 1 else "under 1"
        row = [f"{n:,}", *map(_shown, ratios), held]
        rows.append(row)
        print(
            f"attention, n = {n}: time {row[1]} of the loop's, {row[2]} of the kernel's;", end=" "
        )
        print(f"memory {row[3]} of the loop's, {row[4]} of the kernel's")
    return rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    one_head_rows()
