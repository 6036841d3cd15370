"""Attention for long texts: fewer pairs, no table of all pairs, no softmax, or a small cache.

Read in this order:

- ``windows``: each query reads what is near, and a few places more
- ``tiles``: the softmax tile by tile, as FlashAttention computes it
- ``linear``: a feature map in place of the softmax, and a state of fixed size
- ``delta``: a state that replaces what it holds of a key
- ``latent``: one short vector a token, from which all heads' keys and values come
- ``sinks``: a stream without end, with the first tokens kept
"""

from softlookup.attention.efficient.delta import delta_attention, delta_step
from softlookup.attention.efficient.latent import LatentAttention
from softlookup.attention.efficient.linear import (
    elu_plus_one,
    linear_attention,
    linear_step,
)
from softlookup.attention.efficient.sinks import (
    StreamStep,
    cache_bytes,
    softmax_plus_one,
    stream_attention,
    streaming_mask,
)
from softlookup.attention.efficient.tiles import online_softmax, tiled_attention
from softlookup.attention.efficient.windows import (
    block_sparse_mask,
    sliding_mask,
    strided_mask,
    window_attention,
)

__all__ = [
    "LatentAttention",
    "StreamStep",
    "block_sparse_mask",
    "cache_bytes",
    "delta_attention",
    "delta_step",
    "elu_plus_one",
    "linear_attention",
    "linear_step",
    "online_softmax",
    "sliding_mask",
    "softmax_plus_one",
    "stream_attention",
    "streaming_mask",
    "strided_mask",
    "tiled_attention",
    "window_attention",
]
