"""Relative and stretched positions against transformers: T5's layer and its RoPE scalings."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close
from transformers import LlamaConfig, T5Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.t5.modeling_t5 import T5Attention

from softlookup.attention import GroupedQueryAttention
from softlookup.attention.positions import (
    BucketBias,
    RelativeKeys,
    distance_buckets,
    stretched_frequencies,
    yarn_gain,
)
from softlookup.masks import causal_mask

F64 = torch.float64
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("n_buckets", "max_distance"), [(8, 19), (14, 23), (32, 128)])
def test_buckets_are_those_of_t5(causal, n_buckets, max_distance):
    offsets = torch.arange(307) - torch.arange(307)[:, None]
    expected = T5Attention._relative_position_bucket(offsets, not causal, n_buckets, max_distance)
    options = {"n_buckets": n_buckets, "max_distance": max_distance, "causal": causal}
    assert distance_buckets(307, **options).equal(expected)


@pytest.mark.parametrize("causal", [True, False])
def test_the_bias_is_that_of_t5s_layer(causal):
    config = T5Config(
        d_model=6,
        d_kv=2,
        num_heads=3,
        relative_attention_num_buckets=10,
        relative_attention_max_distance=23,
        is_decoder=causal,
    )
    layer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double()
    bias = BucketBias(3, n_buckets=10, max_distance=23, causal=causal).double()
    bias.embedding.load_state_dict(layer.relative_attention_bias.state_dict())
    assert_close(bias(53), layer.compute_bias(53, 53)[0], **EXACT)


def test_t5s_bias_in_many_heads(generator):
    layer = GroupedQueryAttention(6, 3).double()
    bias = BucketBias(3, n_buckets=4, max_distance=5, std=1.0).double()
    x = torch.randn(2, 7, 6, dtype=F64, generator=generator)
    query, key, value = (
        linear(x).unflatten(-1, (3, 2)).transpose(1, 2)
        for linear in (layer.W_Q, layer.W_K, layer.W_V)
    )
    added = bias(7).masked_fill(~causal_mask(7), -math.inf)
    out = F.scaled_dot_product_attention(query, key, value, added)
    expected = layer.W_O(out.transpose(1, 2).flatten(-2))
    assert_close(layer(x, mask=causal_mask(7), score_bias=bias(7)), expected, **EXACT)


def test_shaws_term_is_one_einsum(generator):
    """The paper's tensor of one key for each pair of tokens, which the table makes superfluous."""
    keys = RelativeKeys(3, 5, std=1.0).double()
    query = torch.randn(2, 7, 5, dtype=F64, generator=generator)
    offsets = (torch.arange(11) - torch.arange(4, 11)[:, None]).clamp(-3, 3)
    each_pair = F.embedding(offsets + 3, keys.embedding.weight)  # n_q × n_k × d_k
    assert_close(keys(query, 11), torch.einsum("bid,ijd->bij", query, each_pair), **EXACT)


def of_transformers(kind, factor, length, base, seq_len=None, **more):
    parameters = {"rope_type": kind, "rope_theta": base, "factor": factor, **more}
    config = LlamaConfig(
        hidden_size=14,
        num_attention_heads=1,
        head_dim=14,
        max_position_embeddings=length,
        rope_parameters=parameters,
    )
    found, gain = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len)
    return found.double(), gain


SINGLE = {"rtol": 1e-5, "atol": 0}  # its tables are in float32


def test_linear_interpolation_is_that_of_transformers():
    expected, _ = of_transformers("linear", 4.0, 503, 500.0)
    assert_close(stretched_frequencies(14, "linear", 4.0, 503, base=500.0), expected, **SINGLE)


def test_the_ntk_base_is_that_of_transformers():
    """Its dynamic kind with a factor of 1 asks how much longer than in training the text is."""
    expected, _ = of_transformers("dynamic", 1.0, 503, 500.0, seq_len=4 * 503)
    assert_close(stretched_frequencies(14, "ntk", 4.0, 503, base=500.0), expected, **SINGLE)


def test_yarn_is_that_of_transformers_outside_the_ramp():
    """Inside, the published program runs the ramp over the pair's number, the paper over turns."""
    more = {"truncate": False, "original_max_position_embeddings": 503}
    expected, gain = of_transformers("yarn", 4.0, 503, 500.0, **more)
    found = stretched_frequencies(14, "yarn", 4.0, 503, base=500.0)
    turns = 503 * 500.0 ** (-torch.arange(0, 14, 2) / 14) / (2 * math.pi)
    outside = (turns <= 1) | (turns >= 32)
    assert outside.sum() >= 3
    assert_close(found[outside], expected[outside], **SINGLE)
    assert gain == pytest.approx(yarn_gain(4.0))
