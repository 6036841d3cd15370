"""Answers to the exercises of chapter 2: right, and wrong with the words that they get."""

import math
from functools import partial

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from softlookup.data import messages
from softlookup.exercises.counting import (
    check_filter,
    check_negative_idf,
    check_ngrams,
    check_tables,
    check_zero_document,
)

RIGHT, WRONG = {}, {}


def tables(documents, vocabulary, tf=None, idf=None, product=None):
    """Another right solution of the first exercise, with places to go wrong."""
    counts = [[document.count(word) for word in vocabulary] for document in documents]
    n = len(documents)
    n_j = [sum(word in document for document in documents) for word in vocabulary]
    used = [math.log10(n / k) for k in n_j] if idf is None else idf(n, n_j, counts)
    weights = [[c * w for c, w in zip(row, used, strict=True)] for row in counts]
    return (
        tf(counts) if tf else counts,
        used,
        product(counts, used) if product else torch.tensor(weights),
    )


RIGHT[check_tables] = [
    (tables,),
]


def occurrences(counts: list[list[int]]) -> list[int]:
    """How often each word occurs in all documents: what N_j is mistaken for."""
    return [sum(column) for column in zip(*counts, strict=True)]


WRONG_TABLES = {
    "flags": ({"tf": lambda c: [[int(v > 0) for v in row] for row in c]}, "are flags"),
    "transposed": ({"tf": lambda c: np.array(c).T}, "counts should have shape (2, 7)"),
    "shares": (
        {"tf": lambda c: [[v / sum(row) for v in row] for row in c]},
        "The count of 'this' in document 0 is 2; yours is 0.25",
    ),
    "natural logarithm": ({"idf": lambda n, k, c: [math.log(n / j) for j in k]}, "base 10"),
    "base 2": ({"idf": lambda n, k, c: [math.log2(n / j) for j in k]}, "base 10"),
    "no logarithm": ({"idf": lambda n, k, c: [n / j for j in k]}, "left out the logarithm"),
    "plus one": ({"idf": lambda n, k, c: [math.log10(n / (j + 1)) for j in k]}, "added one"),
    "upside down": ({"idf": lambda n, k, c: [math.log10(j / n) for j in k]}, "upside down"),
    "occurrences for documents": (
        {"idf": lambda n, k, c: [math.log10(n / j) for j in occurrences(c)]},
        "number of documents that contain the word",
    ),
    "the slide's numbers typed in": (
        {"idf": lambda n, k, c: ([0] * 5 + [0.30103] * 9)[: len(k)]},
        "of 3 documents",
    ),
    "rounded": (
        {"idf": lambda n, k, c: [round(math.log10(n / j), 2) for j in k]},
        "The IDF of 'not', in 1 of 2 documents, is 0.3010; yours is 0.3000",
    ),
    "sum for product": (
        {"product": lambda c, w: np.array(c) + np.array(w)},
        "their product is not",
    ),
    "matrix product": ({"product": lambda c, w: np.array(c) @ np.array(w)}, "TF-IDF should have"),
}


WRONG[check_tables] = {
    name: (partial(tables, **changes), message) for name, (changes, message) in WRONG_TABLES.items()
}


WRONG[check_tables]["two of three"] = (lambda d, v: tables(d, v)[:2], "Return three things")


WRONG[check_tables]["unfinished"] = (
    lambda d, v: (tables(d, v)[0], ..., ...),
    "Nothing to check so far",
)


RIGHT[check_negative_idf] = [
    (corpus, "-0.288")
    for corpus in [["a b", "b c", "b"], ("Yes, a dog", "A dog!", "dog"), [["x"], ["x", "y"], ["x"]]]
]


WRONG[check_negative_idf] = [
    (["a b", "b c", "d"], "log(3/3) = 0"),
    (["b b b", "a", "c"], "log(3/2) is positive"),
    (["a", "a"], "should have three sentences; yours has 2"),
    (["a", "a", "a", "a"], "should have three sentences; yours has 4"),
    (["a", "a", "..."], "no word in it"),
    (["a", "a", 3], "should be a string; one is 3"),
    ("a a a", "should be a list of sentences; yours is a str"),
    (["a", "a", ...], "Nothing to check so far"),
]


def windows(tokens, n):
    """Another right solution of the third exercise: tuples, from a loop that may not run."""
    found = []
    start = 0
    while start + n <= len(tokens):
        found.append(tuple(tokens[start : start + n]))
        start += 1
    return found


RIGHT[check_ngrams] = [
    (windows,),
    (lambda tokens, n: iter(windows(tokens, n)),),
]


WRONG[check_ngrams] = {
    "one too few": (lambda t, n: windows(t, n)[:-1], "Where does the last window start?"),
    "short ones at the end": (
        lambda t, n: [" ".join(t[i : i + n]) for i in range(len(t))],
        "has 2 n-grams for n = 2; you found 3",
    ),
    "no overlap": (
        lambda t, n: [" ".join(t[i : i + n]) for i in range(0, len(t) - n + 1, n)],
        "has 2 n-grams for n = 2; you found 1",
    ),
    "distinct only": (lambda t, n: list(dict.fromkeys(windows(t, n))), "you found"),
    "always bigrams": (lambda t, n: windows(t, 2), "for n = 1"),
    "sorted": (lambda t, n: sorted(windows(t, n)), "in the order of the text"),
    "from the end": (lambda t, n: windows(t, n)[::-1], "in the order of the text"),
    "glued": (lambda t, n: ["".join(w) for w in windows(t, n)], "is 'a b'; yours is 'ab'"),
    "one string": (lambda t, n: " ".join(t), "Return a list of n-grams"),
    "a number": (lambda t, n: max(len(t) - n + 1, 0), "Return a list of n-grams"),
    "positions": (lambda t, n: list(range(max(len(t) - n + 1, 0))), "should be a string"),
    "short text in one piece": (
        lambda t, n: windows(t, n) or [" ".join(t)],
        "has 0 n-grams for n = 3; you found 1",
    ),
}


RIGHT[check_zero_document] = [
    ({"words": words, "cosine": cosine},)
    for cosine in ["undefined", "NaN", " 0/0 ", math.nan, torch.tensor(math.nan)]
    for words in [[], (), set()]
]
WRONG[check_zero_document] = [
    ({"words": ["not"], "cosine": "undefined"}, "'not' is in x2"),
    ({"words": ["This", "is"], "cosine": "undefined"}, "log(2/2) = 0"),
    ({"words": ["rain"], "cosine": "undefined"}, "'rain' is not a word of x1"),
    ({"words": "none", "cosine": "undefined"}, "should be a list"),
    ({"words": [], "cosine": 0}, "by a rule"),
    ({"words": [], "cosine": 1.0}, "cannot be 1"),
    ({"words": [], "cosine": 0.734968}, "cannot be 0.735"),
    ({"words": [], "cosine": "zero"}, 'a number or "undefined"'),
    ({"words": [], "cosine": [0]}, 'a number or "undefined"'),
    ({"words": []}, "the keys"),
    ([[], "undefined"], "dictionary"),
    ({"words": ..., "cosine": ...}, "Nothing to check so far"),
    ({"words": [], "cosine": None}, "Nothing to check so far"),
]


def scikit_filter(texts, labels, new_texts, binary=True):
    """Another right solution of the last exercise: scikit-learn's parts."""
    vectorizer = CountVectorizer(binary=binary)
    rows = vectorizer.fit_transform(texts)
    model = LogisticRegression(C=5, max_iter=2000).fit(rows, labels)
    return model.predict(vectorizer.transform(new_texts))


RIGHT[check_filter] = [
    (scikit_filter,),
]


def probabilities(texts, labels, new_texts):
    """Forgets to compare with 0.5."""
    return [0.2 + 0.6 * label for label in scikit_filter(texts, labels, new_texts)]


WRONG[check_filter] = {
    "all ham": (lambda t, y, new: [0] * len(new), "the same verdict, 0"),
    "all spam": (lambda t, y, new: [1] * len(new), "the same verdict, 1"),
    "upside down": (lambda t, y, new: 1 - scikit_filter(t, y, new), "label 1 is spam"),
    "probabilities": (probabilities, "compared with 0.5"),
    "too few verdicts": (lambda t, y, new: scikit_filter(t, y, new)[:-1], "should have shape"),
    "verdicts on the old texts": (lambda t, y, new: scikit_filter(t, y, t), "should have shape"),
    "words": (lambda t, y, new: ["spam"] * len(new), "should be numbers"),
    "length of the text": (
        lambda t, y, new: [int(len(text) > 120) for text in new],
        "use flags, not counts",
    ),
    "capitals": (
        lambda t, y, new: [int(sum(c.isupper() for c in s) > len(s) / 4) for s in new],
        "F1 = ",
    ),
}


WRONG[check_filter]["counts"] = (
    lambda t, y, new: scikit_filter(t, y, new, binary=False),
    "use flags, not counts",
)


def mistaken_about(n_missed):
    """A filter that knows the labels, but for some of the spam."""
    labels_of = {message.text: int(message.spam) for message in messages()}

    def answer(texts, labels, new_texts):
        known = {text: labels_of.get(text) for text in new_texts}
        missed = set([text for text, label in known.items() if label][-n_missed:])
        firsts = [text for text in new_texts if text in labels_of]
        verdicts = [int(known[text] and text not in missed) for text in firsts]
        return verdicts + verdicts[: len(new_texts) - len(firsts)]

    return answer


RIGHT[check_filter] += [(mistaken_about(3),)]
WRONG[check_filter]["just below the mark"] = (mistaken_about(12), "0.9 is possible")
