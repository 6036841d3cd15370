"""Translation: from one sequence to another, and how good the result is.

Read in this order:

- ``seq2seq``: two recurrent networks, with attention between them
- ``alignment``: which word goes with which
- ``bleu``: a translation compared with others
- ``batches``: sentences of different lengths side by side
- ``translator`` and ``training``: a model with its vocabularies, trained on pairs
"""

from softlookup.translation.alignment import (
    alignment_error_rate,
    alignment_matrix,
    best_links,
    is_monotone,
)
from softlookup.translation.batches import batches_of_pairs, pad_batch, sequence_loss
from softlookup.translation.bleu import BLEU, bleu_tokens, corpus_bleu, matched_ngrams
from softlookup.translation.seq2seq import Decoder, DecoderState, Encoded, Encoder, Seq2Seq
from softlookup.translation.training import train_transformer, train_translator, translation_loss
from softlookup.translation.translator import BOS, EOS, PAD, Translator

__all__ = [
    "BLEU",
    "BOS",
    "EOS",
    "PAD",
    "Decoder",
    "DecoderState",
    "Encoded",
    "Encoder",
    "Seq2Seq",
    "Translator",
    "alignment_error_rate",
    "alignment_matrix",
    "batches_of_pairs",
    "best_links",
    "bleu_tokens",
    "corpus_bleu",
    "is_monotone",
    "matched_ngrams",
    "pad_batch",
    "sequence_loss",
    "train_transformer",
    "train_translator",
    "translation_loss",
]
