"""Translators: a sequence-to-sequence model with its vocabularies, trained on pairs."""

from softlookup.translation.batches import batches_of_pairs, pad_batch, sequence_loss
from softlookup.translation.training import (
    train_transformer,
    train_translator,
    translation_loss,
)
from softlookup.translation.translator import BOS, EOS, PAD, Translator

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "Translator",
    "batches_of_pairs",
    "pad_batch",
    "sequence_loss",
    "train_transformer",
    "train_translator",
    "translation_loss",
]
