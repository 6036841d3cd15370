"""Training a model: rates, groups, Muon, gradients, the loop, checkpoints, many processes.

Read in this order:

- ``batches``, ``gradients``, ``schedules``: what goes into one step
- ``groups`` and ``muon``: which parameters are updated how
- ``loop``: the training loop
- ``checkpoints``: saved, and resumed to the same numbers
- ``recipe``: optimizers and rates for a small GPT, put together
- ``distributed``: one training on many processes
- ``tiers``: sizes that fit the machine at hand
"""

from softlookup.training.batches import random_batches, shuffled_rows
from softlookup.training.checkpoints import load_checkpoint, save_checkpoint
from softlookup.training.distributed import (
    bytes_sent,
    distribute,
    join,
    resume,
    share_of,
    shared_loss,
)
from softlookup.training.gradients import accumulate, clip_gradients
from softlookup.training.groups import decay_groups, matrices_and_rest
from softlookup.training.loop import train_model
from softlookup.training.muon import EXACT, QUICK, Muon, orthogonalize
from softlookup.training.recipe import recipe_optimizers, recipe_rate
from softlookup.training.schedules import inverse_sqrt, warmup_cosine, warmup_stable_decay
from softlookup.training.tiers import TIER_VARIABLE, TIERS, Tier, choose_tier

__all__ = [
    "EXACT",
    "QUICK",
    "TIERS",
    "TIER_VARIABLE",
    "Muon",
    "Tier",
    "accumulate",
    "bytes_sent",
    "choose_tier",
    "clip_gradients",
    "decay_groups",
    "distribute",
    "inverse_sqrt",
    "join",
    "load_checkpoint",
    "matrices_and_rest",
    "orthogonalize",
    "random_batches",
    "recipe_optimizers",
    "recipe_rate",
    "resume",
    "save_checkpoint",
    "share_of",
    "shared_loss",
    "shuffled_rows",
    "train_model",
    "warmup_cosine",
    "warmup_stable_decay",
]
