"""word2vec: word vectors learned from raw text, from pairs of neighbours to the saved file."""

from softlookup.word2vec.analogies import analogy, analogy_accuracy
from softlookup.word2vec.cbow import (
    cbow_loss,
    cbow_probabilities,
    next_word_probabilities,
    sample_next_words,
)
from softlookup.word2vec.cbow_training import train_cbow
from softlookup.word2vec.neighbours import (
    cbow_examples,
    context_pairs,
    keep_probability,
    noise_distribution,
)
from softlookup.word2vec.skip_gram import (
    negative_sampling_gradient,
    negative_sampling_loss,
    skip_gram_gradient,
    skip_gram_loss,
    skip_gram_probabilities,
)
from softlookup.word2vec.skip_gram_training import train_word2vec
from softlookup.word2vec.storage import load_word2vec, load_word2vec_text, save_word2vec
from softlookup.word2vec.two_tables import Word2Vec

__all__ = [
    "Word2Vec",
    "analogy",
    "analogy_accuracy",
    "cbow_examples",
    "cbow_loss",
    "cbow_probabilities",
    "context_pairs",
    "keep_probability",
    "load_word2vec",
    "load_word2vec_text",
    "negative_sampling_gradient",
    "negative_sampling_loss",
    "next_word_probabilities",
    "noise_distribution",
    "sample_next_words",
    "save_word2vec",
    "skip_gram_gradient",
    "skip_gram_loss",
    "skip_gram_probabilities",
    "train_cbow",
    "train_word2vec",
]
