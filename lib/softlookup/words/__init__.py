"""Words as numbers: from rules and counts to vectors that are learned.

Read in this order:

- ``text`` and ``rules``: words, offsets, a vocabulary, and what patterns alone find
- ``counting``, ``classifiers``, ``metrics``: bags of words, TF-IDF, BM25, a filter, how good it is
- ``tagging``: names in a text, marked word by word
- ``embeddings``, ``cooccurrence``, ``quantization``: tables of vectors and what is near
- ``contrastive``: texts as vectors that were trained to be found
- ``clustering``, ``projection``, ``spreading``: groups, maps and labels made from vectors
- ``word2vec``: vectors learned from neighbours, a package of its own
"""

from softlookup.words.classifiers import (
    fit_logistic,
    fit_softmax,
    logistic_gradient,
    logistic_loss,
    logistic_probability,
    softmax_gradient,
    softmax_loss,
    softmax_probability,
)
from softlookup.words.clustering import Clusters, class_tf_idf, k_means, lloyd
from softlookup.words.contrastive import contrastive_loss
from softlookup.words.cooccurrence import cooccurrence_matrix, positive_pmi
from softlookup.words.counting import (
    IDF_VARIANTS,
    TF_VARIANTS,
    binary_matrix,
    bm25,
    count_matrix,
    document_frequency,
    inverse_document_frequency,
    term_frequency,
    tf_idf,
    top_words,
    vocabulary_coverage,
)
from softlookup.words.embeddings import MEASURES, lookup, mean_vectors, nearest, one_hot, similarity
from softlookup.words.metrics import (
    adjusted_rand_index,
    confusion_matrix,
    f1_score,
    precision,
    recall,
    recall_at_k,
)
from softlookup.words.projection import (
    PrincipalComponents,
    principal_components,
    procrustes,
    project,
    reconstruct,
)
from softlookup.words.quantization import dequantize, quantize
from softlookup.words.rules import (
    MEDICINES,
    MONEY,
    capital_share,
    capital_spans,
    medicine_pattern,
    medicine_spans,
    money_spans,
    rule_filter,
    rule_spans,
)
from softlookup.words.spreading import label_spreading, similarity_graph
from softlookup.words.tagging import (
    STRAY,
    Span,
    SpanScores,
    bio_to_spans,
    conflicting_labels,
    span_scores,
    spans_to_bio,
    token_scores,
    window_features,
)
from softlookup.words.text import (
    Vocabulary,
    ngrams,
    offsets_to_span,
    span_to_offsets,
    token_offsets,
    word_tokens,
)

__all__ = [
    "IDF_VARIANTS",
    "MEASURES",
    "MEDICINES",
    "MONEY",
    "STRAY",
    "TF_VARIANTS",
    "Clusters",
    "PrincipalComponents",
    "Span",
    "SpanScores",
    "Vocabulary",
    "adjusted_rand_index",
    "binary_matrix",
    "bio_to_spans",
    "bm25",
    "capital_share",
    "capital_spans",
    "class_tf_idf",
    "conflicting_labels",
    "confusion_matrix",
    "contrastive_loss",
    "cooccurrence_matrix",
    "count_matrix",
    "dequantize",
    "document_frequency",
    "f1_score",
    "fit_logistic",
    "fit_softmax",
    "inverse_document_frequency",
    "k_means",
    "label_spreading",
    "lloyd",
    "logistic_gradient",
    "logistic_loss",
    "logistic_probability",
    "lookup",
    "mean_vectors",
    "medicine_pattern",
    "medicine_spans",
    "money_spans",
    "nearest",
    "ngrams",
    "offsets_to_span",
    "one_hot",
    "positive_pmi",
    "precision",
    "principal_components",
    "procrustes",
    "project",
    "quantize",
    "recall",
    "recall_at_k",
    "reconstruct",
    "rule_filter",
    "rule_spans",
    "similarity",
    "similarity_graph",
    "softmax_gradient",
    "softmax_loss",
    "softmax_probability",
    "span_scores",
    "span_to_offsets",
    "spans_to_bio",
    "term_frequency",
    "tf_idf",
    "token_offsets",
    "token_scores",
    "top_words",
    "vocabulary_coverage",
    "window_features",
    "word_tokens",
]
