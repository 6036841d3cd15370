"""Decoder-only language models, from GPT-1 to the block of today."""

from softlookup.gpt.configuration import GPTConfig, parameter_count
from softlookup.gpt.model import GPT

__all__ = ["GPT", "GPTConfig", "parameter_count"]
