"""The whole encoder–decoder (Vaswani et al. 2017), assembled from the pieces.

Read ``configuration`` first: the sizes and options, and how many parameters they make; then
``model``: the encoder, the decoder, and how the decoder goes on step by step.
"""

from softlookup.models.encoder_decoder.configuration import (
    ParameterCounts,
    TransformerConfig,
    parameter_counts,
)
from softlookup.models.encoder_decoder.model import DecoderState, Encoded, Transformer

__all__ = [
    "DecoderState",
    "Encoded",
    "ParameterCounts",
    "Transformer",
    "TransformerConfig",
    "parameter_counts",
]
