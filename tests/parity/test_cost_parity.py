"""The counter against PyTorch's own flop counter, the peak against PyTorch's own profiler."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from softlookup.attention import Attention, attention, count_operations, peak_memory


def head_step():
    torch.manual_seed(0)
    head, x = Attention(7, 5, 3).double(), torch.randn(2, 11, 7, dtype=torch.float64)
    return lambda: head(x).square().sum().backward()


def layer_step():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(12, 3, 17, dropout=0.0, batch_first=True).double()
    x = torch.randn(2, 11, 12, dtype=torch.float64, requires_grad=True)

    def step():
        # PyTorch's counter does not know the CPU's fused kernel: let it take the path of matrices
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            layer(x).square().sum().backward()

    return step


def gru_step():
    torch.manual_seed(0)
    layer, x = nn.GRU(7, 5).double(), torch.randn(11, 2, 7, dtype=torch.float64)
    return lambda: layer(x)[0].square().sum().backward()


@pytest.mark.parametrize("make", [head_step, layer_step, gru_step])
def test_multiplications_are_half_of_pytorchs_flops(make):
    step = make()
    with FlopCounterMode(display=False) as counter:
        step()
    assert count_operations(step).multiplications == counter.get_total_flops() / 2 > 0


def profiled_peak(step):
    """The largest running sum of what PyTorch's allocator hands out and takes back."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    events = [
        event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"
    ]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


@pytest.mark.parametrize("n", [127, 251])
def test_peak_is_what_the_allocator_hands_out(n):
    generator = torch.Generator().manual_seed(n)
    query, key, value = torch.randn(3, n, 5, generator=generator, dtype=torch.float64)

    def forward():
        return attention(query, key, value)

    def backward():
        leaves = [rows.clone().requires_grad_() for rows in (query, key, value)]
        attention(*leaves).square().sum().backward()

    for step in (forward, backward):
        step()
        assert peak_memory(step) == pytest.approx(profiled_peak(step), rel=0.01)


def test_the_fused_kernels_own_workspace_is_left_out():
    generator = torch.Generator().manual_seed(1)
    query, key, value = torch.randn(3, 1, 2, 251, 5, generator=generator, dtype=torch.float64)

    def step():
        return F.scaled_dot_product_attention(query, key, value)

    step()
    assert peak_memory(step) <= profiled_peak(step)
