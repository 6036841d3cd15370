"""The same numbers from scikit-learn: counts, TF-IDF, classifiers and their measures."""

import pytest
import torch
from sklearn import metrics as sk
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from torch.testing import assert_close

from softlookup.words import (
    binary_matrix,
    confusion_matrix,
    count_matrix,
    f1_score,
    fit_logistic,
    fit_softmax,
    logistic_probability,
    ngrams,
    precision,
    recall,
    softmax_probability,
    term_frequency,
    tf_idf,
    word_tokens,
)

TEXTS = [
    "This is a sentence. This is another sentence.",
    "This is not a sentence. Yet another not a sentence",
    "Take polyethylene glycol, not glycol alone; not yet.",
    "",
    "A sentence isn't a word, and a word isn't a sentence: yet it is one.",
]
DOCUMENTS = [word_tokens(text) for text in TEXTS]


def vectorizer(**options):
    """scikit-learn's counter over this book's tokens."""
    return CountVectorizer(tokenizer=word_tokens, token_pattern=None, lowercase=False, **options)


def to_tensor(array):
    return torch.tensor(array, dtype=torch.float64)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 2), (1, 3)])
def test_counts_of_words_and_ngrams(sizes):
    theirs = vectorizer(ngram_range=sizes)
    expected = to_tensor(theirs.fit_transform(TEXTS).toarray())
    low, high = sizes
    grams = [[g for n in range(low, high + 1) for g in ngrams(d, n)] for d in DOCUMENTS]
    vocabulary = theirs.get_feature_names_out().tolist()
    assert_close(count_matrix(grams, vocabulary), expected)
    assert_close(binary_matrix(grams, vocabulary), (expected > 0).double())


def test_words_of_scikit_learns_own_pattern():
    theirs = CountVectorizer(token_pattern=r"(?u)\b\w+\b")
    text = "Snake_case, 3 Words; ÉTÉ москва."
    theirs.fit([text])
    assert sorted(word_tokens(text)) == theirs.get_feature_names_out().tolist()


@pytest.fixture
def counts():
    return count_matrix(DOCUMENTS, sorted({token for document in DOCUMENTS for token in document}))


@pytest.mark.parametrize(("idf", "smooth_idf"), [("smooth", True), ("log", False)])
def test_tf_idf(counts, idf, smooth_idf):
    theirs = TfidfTransformer(norm=None, smooth_idf=smooth_idf)
    expected = to_tensor(theirs.fit_transform(counts.numpy()).toarray())
    ours = tf_idf(counts, idf=idf)
    if idf == "log":
        ours = ours + counts  # without smoothing, scikit-learn takes log(N / N_j) + 1
    assert_close(ours, expected, rtol=1e-12, atol=1e-12)


def test_relative_term_frequency(counts):
    theirs = TfidfTransformer(norm="l1", use_idf=False)
    expected = to_tensor(theirs.fit_transform(counts.numpy()).toarray())
    assert_close(term_frequency(counts, "relative"), expected, rtol=1e-12, atol=1e-12)


def problem(generator, n_classes, n=61, n_features=13):
    """Counts, and labels that depend on them with some noise."""
    x = torch.poisson(torch.full((n, n_features), 0.7, dtype=torch.float64), generator=generator)
    weight = torch.randn(n_features, n_classes, generator=generator, dtype=torch.float64)
    weight -= weight.mean(dim=0)  # so that every class occurs
    noise = torch.randn(n, n_classes, generator=generator, dtype=torch.float64)
    return x, (x @ weight + noise).argmax(dim=1)


def their_fit(x, y, l2):
    """scikit-learn on the same objective: its C is 1 / (l2 n), and its bias goes free as well."""
    theirs = LogisticRegression(C=1 / (l2 * len(x)), tol=1e-10, max_iter=10_000, solver="newton-cg")
    return theirs.fit(x.numpy(), y.numpy())


@pytest.mark.parametrize("l2", [0.3, 0.01])
def test_logistic_regression(generator, l2):
    x, y = problem(generator, 2)
    theirs = their_fit(x, y, l2)
    weight, bias = fit_logistic(x, y, l2=l2, n_steps=5000, tolerance=1e-11)
    assert_close(weight, to_tensor(theirs.coef_[0]), rtol=1e-6, atol=1e-7)
    assert_close(bias, to_tensor(theirs.intercept_[0]), rtol=1e-6, atol=1e-7)
    expected = to_tensor(theirs.predict_proba(x.numpy())[:, 1])
    assert_close(logistic_probability(weight, bias, x), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("l2", [0.3, 0.01])
def test_softmax_regression(generator, l2):
    x, y = problem(generator, 5)
    theirs = their_fit(x, y, l2)
    weight, bias = fit_softmax(x, y, l2=l2, n_steps=5000, tolerance=1e-11)
    assert_close(weight, to_tensor(theirs.coef_.T), rtol=1e-6, atol=1e-7)
    their_bias = to_tensor(theirs.intercept_)  # biases are free up to one number added to all
    assert_close(bias - bias.mean(), their_bias - their_bias.mean(), rtol=1e-6, atol=1e-7)
    expected = to_tensor(theirs.predict_proba(x.numpy()))
    assert_close(softmax_probability(weight, bias, x), expected, rtol=1e-6, atol=1e-7)


LABELS = {
    "both wrong and right": ([0, 1, 1, 0, 1, 0, 1], [0, 1, 0, 1, 1, 0, 0]),
    "nothing called positive": ([0, 1, 1], [0, 0, 0]),
    "nothing positive": ([0, 0, 0], [0, 1, 1]),
    "nothing at all": ([0, 0, 0], [0, 0, 0]),
    "all positive": ([1, 1], [1, 1]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_measures(labels):
    ours = [torch.tensor(side) for side in labels]
    expected = sk.confusion_matrix(*labels, labels=[0, 1]).tolist()
    assert confusion_matrix(*ours).tolist() == expected
    for function, theirs in (
        (precision, sk.precision_score),
        (recall, sk.recall_score),
        (f1_score, sk.f1_score),
    ):
        expected = theirs(*labels, zero_division=0)
        assert function(*ours) == pytest.approx(expected, rel=1e-15, abs=0)


def test_confusion_of_many_classes(generator):
    truth, predicted = (torch.randint(7, (97,), generator=generator) for _ in range(2))
    expected = sk.confusion_matrix(truth, predicted, labels=range(7))
    assert confusion_matrix(truth, predicted, 7).tolist() == expected.tolist()
