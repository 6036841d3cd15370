"""Training a model: rates, groups, Muon, gradients, the loop, checkpoints, many processes."""

from softlookup.training.batches import random_batches
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
from softlookup.training.schedules import inverse_sqrt, warmup_cosine, warmup_stable_decay

__all__ = [
    "EXACT",
    "QUICK",
    "Muon",
    "accumulate",
    "bytes_sent",
    "clip_gradients",
    "decay_groups",
    "distribute",
    "inverse_sqrt",
    "join",
    "load_checkpoint",
    "matrices_and_rest",
    "orthogonalize",
    "random_batches",
    "resume",
    "save_checkpoint",
    "share_of",
    "shared_loss",
    "train_model",
    "warmup_cosine",
    "warmup_stable_decay",
]
