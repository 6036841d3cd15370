"""Decoder-only language models, from GPT-1 to the block of today.

Read ``configuration`` first: the sizes and options, and how many parameters they make; then
``model``: the stack of blocks, which also generates step by step with a cache; ``storage``: a model
in a file; and ``memory``: how many bytes it takes, while it learns and while it writes.
"""

from softlookup.models.gpt.configuration import GPTConfig, parameter_count
from softlookup.models.gpt.memory import (
    TrainingMemory,
    WritingMemory,
    training_memory,
    writing_memory,
)
from softlookup.models.gpt.model import GPT
from softlookup.models.gpt.storage import load_gpt, save_gpt

__all__ = [
    "GPT",
    "GPTConfig",
    "TrainingMemory",
    "WritingMemory",
    "load_gpt",
    "parameter_count",
    "save_gpt",
    "training_memory",
    "writing_memory",
]
