"""An encoder that reads both sides of a word it does not see (Devlin et al. 2019).

Read ``configuration`` first: the sizes, and how many parameters they make; then ``model``: the
stack of blocks and the head that fills the gaps.
"""

from softlookup.models.bert.configuration import BERTConfig, parameter_count
from softlookup.models.bert.model import BERT, MaskedTokenHead

__all__ = ["BERT", "BERTConfig", "MaskedTokenHead", "parameter_count"]
