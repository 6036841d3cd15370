"""An encoder that reads both sides of a word it does not see (Devlin et al. 2019)."""

from softlookup.bert.configuration import BERTConfig, parameter_count
from softlookup.bert.model import BERT, MaskedTokenHead

__all__ = ["BERT", "BERTConfig", "MaskedTokenHead", "parameter_count"]
