"""The whole encoder–decoder (Vaswani et al. 2017), assembled from the pieces."""

from softlookup.transformer.configuration import (
    ParameterCounts,
    TransformerConfig,
    parameter_counts,
)
from softlookup.transformer.encoder_decoder import DecoderState, Encoded, Transformer

__all__ = [
    "DecoderState",
    "Encoded",
    "ParameterCounts",
    "Transformer",
    "TransformerConfig",
    "parameter_counts",
]
