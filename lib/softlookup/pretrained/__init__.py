"""Models that others have trained: GPT-2 and BERT, read from files with Hugging Face's names."""

from softlookup.pretrained.bert import load_bert
from softlookup.pretrained.gpt2 import load_gpt2
from softlookup.pretrained.gpt2_tokenizer import GPT2Tokenizer

__all__ = ["GPT2Tokenizer", "load_bert", "load_gpt2"]
