"""From text to ids and back: the tokenizers of chapter 6 and what they are made of.

- ``splitting``: where a text may be cut; ``merges``: counting, joining and learning pairs
- ``bpe``, ``wordpiece``, ``unigram``: three ways to choose sub-words
"""

from softlookup.bpe import BytePairTokenizer
from softlookup.merges import apply_merges, count_pairs, learn_merges, merge_pair
from softlookup.splitting import GPT2_PATTERN, GPT4_PATTERN, split_chunks

__all__ = [
    "GPT2_PATTERN",
    "GPT4_PATTERN",
    "BytePairTokenizer",
    "apply_merges",
    "count_pairs",
    "learn_merges",
    "merge_pair",
    "split_chunks",
]
