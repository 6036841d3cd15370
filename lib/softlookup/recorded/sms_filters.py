"""Spam filters on real messages: what logistic regression makes of each way of counting.

The SMS Spam Collection is divided as the book's own messages are; words and rarities come from the
training messages alone. Each way of counting gets a filter, and the three rules by hand are
asked as well.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from softlookup.checks import require_choice
from softlookup.data import Message, messages, sms_spam, split
from softlookup.words import (
    binary_matrix,
    bm25,
    confusion_matrix,
    count_matrix,
    document_frequency,
    f1_score,
    fit_logistic,
    inverse_document_frequency,
    logistic_probability,
    ngrams,
    precision,
    recall,
    rule_filter,
    top_words,
    word_tokens,
)

DATA = ("sms_spam",)
SEED = 0
"""Nothing is random here: the division is fixed, and descent begins at zeros."""
KINDS = ("flags", "counts", "1- and 2-grams", "log counts", "counts × IDF", "log × IDF", "BM25")
"""The ways of counting."""


def load() -> list[Message] | None:
    """The SMS Spam Collection, or None after one printed line that says why."""
    return sms_spam()


def run_small() -> dict:
    """The same on every sixth of the book's own messages, with two ways of counting."""
    return run(messages()[::6], kinds=("flags", "BM25"), size=100)


def run(
    data: Sequence[Message],
    kinds: Iterable[str] = KINDS,
    *,
    size: int = 1000,
    penalties: Iterable[float] = (0.001, 0.0001),
) -> dict:
    """Train a filter for each way of counting, and judge it on the test messages.

    Args:
        data: Messages with their labels.
        kinds: Which ways of counting, of ``KINDS``.
        size: How many words (or words and pairs) get a column.
        penalties: Each strength of the penalty, ``l2``.

    Returns:
        The sizes, the judgement on the three rules, and under "filters" one dictionary for each
        way of counting and penalty.
    """
    train, test = split(data)
    truth = torch.tensor([message.spam for message in test])
    rules = torch.tensor([rule_filter(message.text) for message in test])
    y = torch.tensor([message.spam for message in train])
    filters = []
    for name in kinds:
        rows, new_rows = features(name, _tokens(train), _tokens(test), size)
        for l2 in penalties:
            weight, bias = fit_logistic(rows, y, l2=l2)
            called = logistic_probability(weight, bias, new_rows) > 0.5
            filters.append({"kind": name, "l2": l2, **judgement(truth, called)})
    return {
        "training_messages": len(train),
        "test_messages": len(test),
        "test_spam": int(truth.sum()),
        "rules": judgement(truth, rules),
        "filters": filters,
    }


def features(
    kind: str, train: Sequence[Sequence[str]], test: Sequence[Sequence[str]], size: int
) -> tuple[Tensor, Tensor]:
    """The rows of the training texts and of the test texts, in one way of counting."""
    require_choice(KINDS, kind=kind)
    if kind == "1- and 2-grams":
        train = [tokens + ngrams(tokens, 2) for tokens in train]
        test = [tokens + ngrams(tokens, 2) for tokens in test]
    words = top_words(train, size)  # from the training texts alone
    counts, new_counts = count_matrix(train, words), count_matrix(test, words)
    idf = inverse_document_frequency(document_frequency(counts), len(train), "smooth")
    match kind:
        case "flags":
            return binary_matrix(train, words), binary_matrix(test, words)
        case "counts" | "1- and 2-grams":
            return counts, new_counts
        case "log counts":
            return torch.log1p(counts), torch.log1p(new_counts)
        case "counts × IDF":
            return counts * idf, new_counts * idf
        case "log × IDF":
            return torch.log1p(counts) * idf, torch.log1p(new_counts) * idf
        case "BM25":
            return bm25(counts), bm25(new_counts, corpus=counts)


def judgement(truth: Tensor, called: Tensor) -> dict:
    """The four counts of a filter's verdicts, and three figures made of them."""
    (tn, fp), (fn, tp) = confusion_matrix(truth, called).tolist()
    return {
        "TP": tp,
        "FP": fp,
        "FN": fn,
        "TN": tn,
        "precision": precision(truth, called),
        "recall": recall(truth, called),
        "F1": f1_score(truth, called),
    }


def _tokens(part: Iterable[Message]) -> list[list[str]]:
    return [word_tokens(message.text) for message in part]
