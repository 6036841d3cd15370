"""Attention for long texts: fewer pairs, no table of all pairs, or no softmax."""

from softlookup.efficient.linear import (
    elu_plus_one,
    linear_attention,
    linear_step,
)
from softlookup.efficient.tiles import online_softmax, tiled_attention
from softlookup.efficient.windows import block_sparse_mask, sliding_mask, window_attention

__all__ = [
    "block_sparse_mask",
    "elu_plus_one",
    "linear_attention",
    "linear_step",
    "online_softmax",
    "sliding_mask",
    "tiled_attention",
    "window_attention",
]
