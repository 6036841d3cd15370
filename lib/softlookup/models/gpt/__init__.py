"""Decoder-only language models, from GPT-1 to the block of today.

Read ``configuration`` first: the sizes and options, and how many parameters they make; then
``model``: the stack of blocks, which also generates step by step with a cache.
"""

from softlookup.models.gpt.configuration import GPTConfig, parameter_count
from softlookup.models.gpt.model import GPT

__all__ = ["GPT", "GPTConfig", "parameter_count"]
