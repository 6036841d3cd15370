"""Models that others have trained: GPT-2 and BERT, read from files with Hugging Face's names.

Read in this order:

- ``checkpoint``: a file of tensors, and a model filled from it
- ``gpt2`` and ``bert``: which tensor goes where
- ``gpt2_tokenizer`` and ``bert_tokenizer``: their own ways to cut a text
- ``texts``: a text written on, a gap filled
"""

from softlookup.models.pretrained.bert import load_bert
from softlookup.models.pretrained.bert_tokenizer import BERTTokenizer
from softlookup.models.pretrained.gpt2 import load_gpt2
from softlookup.models.pretrained.gpt2_tokenizer import GPT2Tokenizer
from softlookup.models.pretrained.texts import fill_gap, write_on

__all__ = ["BERTTokenizer", "GPT2Tokenizer", "fill_gap", "load_bert", "load_gpt2", "write_on"]
