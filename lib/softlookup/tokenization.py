"""From text to ids and back: the tokenizers of chapter 6 and what they are made of.

- ``splitting``: where a text may be cut
- ``merges`` and ``bpe``: pairs joined by their count
- ``wordpiece``: pieces matched longest first
- ``unigram_model`` and ``unigram``: pieces with the largest product of probabilities
"""

from softlookup.bpe import BytePairTokenizer
from softlookup.merges import apply_merges, count_pairs, learn_merges, merge_pair
from softlookup.splitting import GPT2_PATTERN, GPT4_PATTERN, split_chunks
from softlookup.unigram import UnigramTokenizer
from softlookup.unigram_model import UnigramModel
from softlookup.wordpiece import WordPieceTokenizer

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
    "merge_pair",
    "split_chunks",
]
