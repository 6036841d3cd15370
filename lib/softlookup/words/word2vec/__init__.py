"""word2vec: word vectors learned from raw text, from pairs of neighbours to the saved file.

Read in this order:

- ``neighbours``: who is near whom, which words are left out, which are drawn
- ``skip_gram`` and ``skip_gram_training``: the neighbours from the word
- ``cbow`` and ``cbow_training``: the word from its neighbours
- ``two_tables``: the trained model
- ``glove`` and ``subwords``: what GloVe and fastText change
- ``analogies``: king − man + woman
- ``storage``: the files that word2vec and gensim write and read
"""

from softlookup.words.word2vec.analogies import analogy, analogy_accuracy
from softlookup.words.word2vec.cbow import (
    cbow_loss,
    cbow_probabilities,
    next_word_probabilities,
    sample_next_words,
)
from softlookup.words.word2vec.cbow_training import train_cbow
from softlookup.words.word2vec.glove import glove_loss, glove_weight
from softlookup.words.word2vec.neighbours import (
    cbow_examples,
    context_pairs,
    keep_probability,
    noise_distribution,
)
from softlookup.words.word2vec.skip_gram import (
    negative_sampling_gradient,
    negative_sampling_loss,
    skip_gram_gradient,
    skip_gram_loss,
)
from softlookup.words.word2vec.skip_gram_training import train_word2vec
from softlookup.words.word2vec.storage import load_word2vec, load_word2vec_text, save_word2vec
from softlookup.words.word2vec.subwords import character_ngrams
from softlookup.words.word2vec.two_tables import Word2Vec

__all__ = [
    "Word2Vec",
    "analogy",
    "analogy_accuracy",
    "cbow_examples",
    "cbow_loss",
    "cbow_probabilities",
    "character_ngrams",
    "context_pairs",
    "glove_loss",
    "glove_weight",
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
    "train_cbow",
    "train_word2vec",
]
