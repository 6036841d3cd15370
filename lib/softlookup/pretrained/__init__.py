"""Models that others have trained: GPT-2 and BERT, read from files with Hugging Face's names."""

from softlookup.pretrained.bert import load_bert
from softlookup.pretrained.bert_tokenizer import BERTTokenizer
from softlookup.pretrained.gpt2 import load_gpt2
from softlookup.pretrained.gpt2_tokenizer import GPT2Tokenizer
from softlookup.pretrained.texts import fill_gap, write_on

__all__ = ["BERTTokenizer", "GPT2Tokenizer", "fill_gap", "load_bert", "load_gpt2", "write_on"]
