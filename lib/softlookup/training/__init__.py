"""Training a model: rates, groups, Muon, gradients, the loop, and checkpoints that resume."""

from softlookup.training.checkpoints import load_checkpoint, save_checkpoint
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
    "clip_gradients",
    "decay_groups",
    "inverse_sqrt",
    "load_checkpoint",
    "matrices_and_rest",
    "orthogonalize",
    "save_checkpoint",
    "train_model",
    "warmup_cosine",
    "warmup_stable_decay",
]
