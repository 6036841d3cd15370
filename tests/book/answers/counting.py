"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import math
from functools import partial

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from softlookup.data import messages
from softlookup.exercises.counting import (
    check_bayes,
    check_error,
    check_filter,
    check_negative_idf,
    check_rebuild,
    check_tables,
    check_third,
    check_twins,
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


ERROR = [[0.125, 0.25, -0.375], [0.375, 0.75, -1.125]]
SHARES = [0.125, 0.25, 0.625]


def error_answer(probabilities=SHARES, slopes=ERROR):
    return {"probabilities": probabilities, "slopes": slopes}


RIGHT[check_error] = [
    (error_answer(),),
    (error_answer(torch.tensor(SHARES), np.array(ERROR)),),
]
WRONG[check_error] = {
    "powers": (error_answer([1, 2, 5]), "divide each by their sum"),
    "scores": (error_answer([0, math.log(2), math.log(5)]), "These are the scores"),
    "linear": (
        error_answer([0, math.log(2) / math.log(10), math.log(5) / math.log(10)]),
        "divided the scores themselves",
    ),
    "thirds": (error_answer([1 / 3, 1 / 3, 1 / 3]), "the probability of class 0"),
    "no exponential": (error_answer([0, 0.3, 0.7]), "the probability of class 0, counted from 0"),
    "more than one": (error_answer([0.2, 0.4, 0.8]), "Probabilities sum to 1; yours sum to 1.4"),
    "other slopes": (error_answer(slopes=[[1, 2, 3], [3, 6, 9]]), "three times for call"),
    "upside down": (error_answer(slopes=-np.array(ERROR)), "The sign is turned"),
    "no label": (
        error_answer(slopes=[SHARES, [3 * p for p in SHARES]]),
        "The 1 of the true class is missing",
    ),
    "turned": (error_answer(slopes=np.array(ERROR).T), "yours are turned"),
    "errors": (error_answer(slopes=[ERROR[0], ERROR[0]]), "Multiply each row by its count"),
    "another class": (
        error_answer(slopes=[[-0.875, 0.25, 0.625], [-2.625, 0.75, 1.875]]),
        "The true class is the third",
    ),
    "a mean": (error_answer(slopes=np.array(ERROR) / 2), "there is one message"),
    "no dictionary": (SHARES, "dictionary"),
    "half": (error_answer(slopes=...), "Nothing to check so far"),
}

RIGHT[check_third] = [("Not yet!",), (["not", "yet"],), ("not rain, yet rain",)]
WRONG[check_third] = {
    "new words": ("Rain at six", "the cosine is 0.426, and 0.735 is asked for. 'not' is in one"),
    "one of the two": ("not today", "'yet' is in one document"),
    "a shared word": ("not a yet", "'a' is now in all three documents"),
    "all words": ("This is another sentence, a sentence", "still an empty page"),
    "empty": ("...", "no word in it"),
    "a number": (3, "should be a string"),
}

RIGHT[check_twins] = [
    (["a b a c a", "a c a b a"],),
    (("to be or to see or to", "to see or to be or to"),),
]
WRONG[check_twins] = {
    "the same": (["a b", "A b!"], "the same text"),
    "other words": (["a b", "a c"], "does not occur equally often"),
    "other order": (["a b c", "c b a"], "Their bags of pairs differ"),
    "one text": (["a b"], "a list of two texts"),
    "a string": ("ab", "a list of two texts"),
    "half": (["a b", ...], "Nothing to check so far"),
}


def rebuilt(pairs, *, once=True, spent=True, complete=True, first_only=False):
    """Another right solution: a stack of unfinished texts, with places to go wrong."""
    found = []
    open_texts = [([first, second], [k]) for k, (first, second) in enumerate(pairs)]
    while open_texts:
        text, used = open_texts.pop()
        if len(used) == len(pairs):
            found.append(text)
            continue
        rest = [k for k in range(len(pairs)) if not (spent and k in used)]
        for k in rest:
            if pairs[k][0] == text[-1]:
                open_texts.append(([*text, pairs[k][1]], [*used, k]))
        if not complete and len(used) > 1:
            found.append(text)
    unique = [list(text) for text in dict.fromkeys(map(tuple, found))]
    if first_only:
        return unique[:1]
    return unique if once else found


RIGHT[check_rebuild] = [
    (rebuilt,),
    (lambda pairs: [" ".join(text) for text in rebuilt(pairs)],),
    (lambda pairs: iter(rebuilt(pairs)),),
]
WRONG[check_rebuild] = {
    "twice": (lambda pairs: rebuilt(pairs, once=False), "twice"),
    "pairs used again": (lambda pairs: rebuilt(pairs, spent=False), "does not have the pairs"),
    "pairs left over": (lambda pairs: rebuilt(pairs, complete=False), "does not have the pairs"),
    "one is enough": (lambda pairs: rebuilt(pairs, first_only=True), "is missing"),
    "a text": (lambda pairs: "a b", "Return a list of texts"),
    "words in lists": (lambda pairs: [[["a"], ["b"]]], "does not have the pairs"),
    "always one": (
        lambda pairs: rebuilt(pairs) or [["a", "b", "c", "d"]],
        "No text has the pairs a b and c d",
    ),
}


def bayes(counts, y, *, add=1.0, words=None, prior=None):
    """Another right solution: plain loops, with places to go wrong."""
    shares = []
    for k in (1, 0):
        rows = [row for row, label in zip(counts.tolist(), y.tolist(), strict=True) if label == k]
        totals = [sum(column) + add for column in zip(*rows, strict=True)]
        whole = sum(totals) if words is None else sum(totals) - add * len(totals) + words
        shares.append([total / whole for total in totals])
    weight = [math.log(a / b) if a and b else math.inf for a, b in zip(*shares, strict=True)]
    n_spam = int(y.sum())
    return weight, math.log(n_spam / (len(y) - n_spam)) if prior is None else prior


def of_messages(counts, y):
    """Counts messages with the word, as a binary bag would."""
    spam, ham = (((counts[y == k] > 0).sum(dim=0) + 1) / ((y == k).sum() + 2) for k in (1, 0))
    return torch.log(spam / ham), bayes(counts, y)[1]


def of_flags(counts, y):
    """The shares of flags: messages with the word, among all such flags."""
    return bayes((counts > 0).double(), y)


def of_counts(counts, y):
    """Compares counts where shares are meant."""
    spam, ham = (counts[y == k].sum(dim=0) + 1 for k in (1, 0))
    return torch.log(spam / ham), bayes(counts, y)[1]


def raw(counts, y):
    """Adds nothing."""
    spam, ham = (counts[y == k].sum(dim=0) for k in (1, 0))
    return torch.log(spam / spam.sum()) - torch.log(ham / ham.sum()), 0.0


def by_tokens(counts, y):
    """Takes the bias from the numbers of words."""
    return bayes(counts, y)[0], torch.log(counts[y == 1].sum() / counts[y == 0].sum())


RIGHT[check_bayes] = [(bayes,)]
WRONG[check_bayes] = {
    "nothing added": (raw, "add 1 to each count"),
    "sums that stay": (partial(bayes, words=0), "how many there are"),
    "sums that grow by one": (partial(bayes, words=1), "grew by 1 in all"),
    "counts": (of_counts, "not shares"),
    "messages": (of_messages, "Here each occurrence counts"),
    "flags": (of_flags, "Here each occurrence counts"),
    "shares of all words": (
        lambda c, y: (torch.log((c[y == 1].sum(dim=0) + 1) / (c.sum(dim=0) + 2)), 0.0),
        "The weight of word 0, counted from 0, is not",
    ),
    "the share of spam": (lambda c, y: (bayes(c, y)[0], y.mean()), "logarithm of P(1)/P(0)"),
    "a bias from nowhere": (partial(bayes, prior=7.0), "P(1)/P(0), from numbers of messages"),
    "turned": (lambda c, y: ([-w for w in bayes(c, y)[0]], 0), "wrong sign"),
    "no bias": (partial(bayes, prior=0), "neither is"),
    "bias turned": (lambda c, y: (bayes(c, y)[0], -bayes(c, y)[1]), "wrong sign"),
    "bias of words": (by_tokens, "numbers of messages"),
    "one thing": (lambda c, y: bayes(c, y)[:1], "two things"),
}


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
