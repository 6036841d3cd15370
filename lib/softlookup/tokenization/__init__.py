"""From text to ids and back: the tokenizers and what they are made of.

Read in this order:

- ``splitting``: where a text may be cut
- ``merges`` and ``byte_pairs``: pairs joined by their count
- ``wordpiece``: pieces matched longest first
- ``segmentation`` and ``unigram``: pieces with the largest product of probabilities
- ``patches``: an image as a sequence of patches
"""

from softlookup.tokenization.byte_pairs import BytePairTokenizer
from softlookup.tokenization.merges import (
    apply_merges,
    count_pairs,
    learn_merges,
    learn_merges_incrementally,
    merge_pair,
)
from softlookup.tokenization.patches import patchify, unpatchify
from softlookup.tokenization.segmentation import UnigramModel
from softlookup.tokenization.splitting import GPT2_PATTERN, GPT4_PATTERN, split_chunks
from softlookup.tokenization.unigram import UnigramTokenizer, split_at_markers
from softlookup.tokenization.wordpiece import WordPieceTokenizer, split_words

__all__ = [
    "GPT2_PATTERN",
    "GPT4_PATTERN",
    "BytePairTokenizer",
    "UnigramModel",
    "UnigramTokenizer",
    "WordPieceTokenizer",
    "apply_merges",
    "count_pairs",
    "learn_merges",
    "learn_merges_incrementally",
    "merge_pair",
    "patchify",
    "split_at_markers",
    "split_chunks",
    "split_words",
    "unpatchify",
]
