"""Our GRU against PyTorch's, and a recurrence against attention as texts grow longer."""

import torch
from timing import seconds
from torch import Tensor, nn
from torch.testing import assert_close

from softlookup.attention import Attention
from softlookup.layers import GRUCell, unroll

BATCH, D_HIDDEN, STEPS = 32, 128, 64
LENGTHS = (16, 64, 256, 1024)
D_MODEL = 64
GRU_HEADS = ["one training step of the GRU", "time, to nn.GRU"]
LENGTH_HEADS = ["n", "time of the GRU, to attention"]


def twins(d_in: int, d_hidden: int) -> tuple[GRUCell, nn.GRU]:
    """Our cell and PyTorch's layer with the same weights."""
    cell, layer = GRUCell(d_in, d_hidden), nn.GRU(d_in, d_hidden, batch_first=True)
    with torch.no_grad():
        for ours, name in ((cell.W_xh, "ih"), (cell.W_hh, "hh")):
            getattr(layer, f"weight_{name}_l0").copy_(ours.weight)
            getattr(layer, f"bias_{name}_l0").copy_(ours.bias)
    return cell, layer


def training_step(module: nn.Module, hidden: Tensor) -> None:
    """The way back of one step, from a loss that is as cheap as can be."""
    module.zero_grad(set_to_none=True)
    hidden.square().sum().backward()


def gru_row(ragged: bool) -> list[str]:
    """Forward and backward over a batch; ragged texts against PyTorch's packed sequences."""
    torch.manual_seed(0)
    cell, layer = twins(D_HIDDEN, D_HIDDEN)
    x = torch.randn(BATCH, STEPS, D_HIDDEN)
    lengths = torch.linspace(STEPS // 2, STEPS, BATCH).int().flip(0) if ragged else None

    def ours() -> Tensor:
        hidden, _ = unroll(cell, x, lengths=lengths)
        training_step(cell, hidden)
        return hidden

    def theirs() -> Tensor:
        if ragged:
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
            hidden, _ = nn.utils.rnn.pad_packed_sequence(layer(packed)[0], batch_first=True)
        else:
            hidden, _ = layer(x)
        training_step(layer, hidden)
        return hidden

    assert_close(ours(), theirs(), rtol=1e-4, atol=1e-5)
    assert_close(cell.W_hh.weight.grad, layer.weight_hh_l0.grad, rtol=1e-3, atol=1e-3)
    first, second = seconds([ours, theirs])
    name = "ragged batch" if ragged else "batch"
    print(f"GRU, one training step on a {name}: {first / second:.2g} of nn.GRU's time")
    return [f"{name} of {BATCH}, {STEPS} steps, hidden {D_HIDDEN}", f"{first / second:.2g}"]


def length_row(n: int) -> list[str]:
    """Forward and backward over one text of n words: the GRU, and one head of self-attention."""
    torch.manual_seed(0)
    cell, head = GRUCell(D_MODEL, D_MODEL), Attention(D_MODEL, D_MODEL, D_MODEL)
    x = torch.randn(1, n, D_MODEL)
    first, second = seconds(
        [
            lambda: training_step(cell, unroll(cell, x)[0]),
            lambda: training_step(head, head(x)),
        ]
    )
    print(f"{n} words: the recurrence takes {first / second:.2g} of attention's time")
    shown = f"{first / second:.0f}" if first >= 10 * second else f"{first / second:.2g}"
    return [f"{n:,}", shown]


def gru_rows() -> list[list[str]]:
    """Our unrolled cell against PyTorch's layer."""
    return [gru_row(ragged=False), gru_row(ragged=True)]


def length_rows() -> list[list[str]]:
    """A recurrence has n steps in a row; attention has n² weights, all at once."""
    return [length_row(n) for n in LENGTHS]


if __name__ == "__main__":
    torch.set_num_threads(1)
    gru_rows()
    length_rows()
