"""Language models: how likely a text is, and which word comes next.

Read in this order:

- ``language_model``: what every language model does; perplexity and bits per byte
- ``ngram``: from counts, smoothed
- ``hmm``: from hidden states
- ``neural``: from a window of vectors, or a state
- ``decoding``: greedy, by chance, by a beam
- ``objectives``: what models are trained for: the next token, or masked ones
"""

from softlookup.language_models.decoding import (
    Hypothesis,
    beam_search,
    greedy,
    min_p_filter,
    sample,
    sampling_weights,
    top_k_filter,
    top_p_filter,
)
from softlookup.language_models.hmm import forward_algorithm
from softlookup.language_models.language_model import (
    LanguageModel,
    bits_per_byte,
    known_words,
    perplexity,
)
from softlookup.language_models.neural import (
    FeedForwardLM,
    RecurrentLM,
    train_lm,
    train_side_by_side,
)
from softlookup.language_models.ngram import (
    AddK,
    KneserNey,
    NGramModel,
    follower_counts,
    unseen_share,
)
from softlookup.language_models.objectives import (
    Masked,
    mask_tokens,
    masked_loss,
    next_token_log_probabilities,
    next_token_loss,
    next_token_pairs,
    random_pieces,
    smoothed_cross_entropy,
    smoothed_targets,
)

__all__ = [
    "AddK",
    "FeedForwardLM",
    "Hypothesis",
    "KneserNey",
    "LanguageModel",
    "Masked",
    "NGramModel",
    "RecurrentLM",
    "beam_search",
    "bits_per_byte",
    "follower_counts",
    "forward_algorithm",
    "greedy",
    "known_words",
    "mask_tokens",
    "masked_loss",
    "min_p_filter",
    "next_token_log_probabilities",
    "next_token_loss",
    "next_token_pairs",
    "perplexity",
    "random_pieces",
    "sample",
    "sampling_weights",
    "smoothed_cross_entropy",
    "smoothed_targets",
    "top_k_filter",
    "top_p_filter",
    "train_lm",
    "train_side_by_side",
    "unseen_share",
]
