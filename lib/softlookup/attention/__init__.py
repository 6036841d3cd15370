"""Attention is a soft lookup: scores, weights, and a mix of the values.

Read in this order:

- ``lookup``, ``scores``, ``smoothing``: from a hard lookup to a soft one, with any score
- ``additive``: the scores of the first attention, between two recurrent networks
- ``dot_product``: scaled dot-product attention
- ``graph``: the same along the edges of a graph
- ``cost``: what attention costs, and what a recurrence does
- ``multi_head`` and ``grouped_query``: many heads side by side
- ``cache``: the keys and values of the past, kept
- ``positions`` and ``efficient``: where a token stands, and long texts; packages of their own
"""

from softlookup.attention.additive import (
    AdditiveAttention,
    MultiplicativeAttention,
    ScoredAttention,
    additive_scores,
)
from softlookup.attention.cache import KeyValueCache, LayerCache, readable
from softlookup.attention.cost import (
    Operations,
    attention_multiplications,
    count_operations,
    critical_path,
    dependency_graph,
    path_lengths,
    peak_memory,
    projection_multiplications,
    recurrent_multiplications,
    softmax_exponentials,
    weights_bytes,
)
from softlookup.attention.dot_product import (
    Attention,
    attention,
    attention_scores,
    attention_weights,
)
from softlookup.attention.graph import GraphAttention, graph_mask, graph_scores
from softlookup.attention.grouped_query import GroupedQueryAttention, Reading
from softlookup.attention.lookup import (
    SoftLookup,
    attend,
    hard_lookup,
    lookup_error_bound,
    lookup_weights,
    row_shares,
    soft_lookup,
)
from softlookup.attention.multi_head import MultiHeadAttention, join_heads, split_heads
from softlookup.attention.scores import (
    bilinear_scores,
    cosine_scores,
    gaussian_scores,
    laplace_scores,
)
from softlookup.attention.smoothing import (
    gaussian_process_weights,
    nadaraya_watson,
)

__all__ = [
    "AdditiveAttention",
    "Attention",
    "GraphAttention",
    "GroupedQueryAttention",
    "KeyValueCache",
    "LayerCache",
    "MultiHeadAttention",
    "MultiplicativeAttention",
    "Operations",
    "Reading",
    "ScoredAttention",
    "SoftLookup",
    "additive_scores",
    "attend",
    "attention",
    "attention_multiplications",
    "attention_scores",
    "attention_weights",
    "bilinear_scores",
    "cosine_scores",
    "count_operations",
    "critical_path",
    "dependency_graph",
    "gaussian_process_weights",
    "gaussian_scores",
    "graph_mask",
    "graph_scores",
    "hard_lookup",
    "join_heads",
    "laplace_scores",
    "lookup_error_bound",
    "lookup_weights",
    "nadaraya_watson",
    "path_lengths",
    "peak_memory",
    "projection_multiplications",
    "readable",
    "recurrent_multiplications",
    "row_shares",
    "soft_lookup",
    "softmax_exponentials",
    "split_heads",
    "weights_bytes",
]
