"""The slides' tables to the digit, loop oracles for every variant, and bad input."""

import math
import re
from fractions import Fraction

import pytest
import torch
from torch.testing import assert_close

from softlookup.words import (
    binary_matrix,
    bm25,
    count_matrix,
    document_frequency,
    inverse_document_frequency,
    ngrams,
    term_frequency,
    tf_idf,
    top_words,
    vocabulary_coverage,
    word_tokens,
)

WORDS = ["This", "is", "a", "sentence", "another", "not", "Yet"]
TEXTS = [
    "This is a sentence. This is another sentence.",
    "This is not a sentence. Yet another not a sentence",
]
DOCUMENTS = [word_tokens(text, lowercase=False) for text in TEXTS]
TOKENS = [8.0, 10.0]
UNIQUE = [5.0, 7.0]
DF = [2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0]


def table(*rows):
    return torch.tensor(rows, dtype=torch.float64)


TF = table([2, 2, 1, 2, 1, 0, 0], [1, 1, 2, 2, 1, 2, 1])


# The slides


@pytest.mark.parametrize(
    ("lowercase", "unigrams", "bigrams"),
    [(True, [0, 0, 1, 1], [0, 0, 1]), (False, [0, 0, 0, 1], [0, 0, 0])],
)
def test_a_sentence_with_and_without_case_folding(lowercase, unigrams, bigrams):
    long, short = (
        word_tokens(text, lowercase=lowercase) for text in ("This is a sentence", "A sentence")
    )
    for n, expected in ((1, unigrams), (2, bigrams)):
        vocabulary = ngrams(long, n)
        rows = binary_matrix([ngrams(long, n), ngrams(short, n)], vocabulary)
        assert_close(rows, table([1] * len(expected), expected))


def test_term_frequency_table_of_the_slide():
    assert_close(count_matrix(DOCUMENTS, WORDS), TF)
    assert TF.sum(dim=1).tolist() == TOKENS
    assert [len(set(document)) for document in DOCUMENTS] == UNIQUE


def test_percent_columns_sum_to_100():
    percent = 100 * term_frequency(TF, "relative")
    assert_close(percent[0], table(25, 25, 12.5, 25, 12.5, 0, 0))
    assert_close(percent.sum(dim=1), table(100, 100))


def test_inverse_document_frequency_table_of_the_slide():
    N_j = document_frequency(TF)
    assert_close(N_j, table(*DF))
    idf = inverse_document_frequency(N_j, 2, "log", base=10)
    assert idf[:5].tolist() == [0.0] * 5
    assert [round(weight, 6) for weight in idf[5:].tolist()] == [0.30103, 0.30103]


def test_tf_idf_table_of_the_slide_and_the_column_it_omits():
    x1, x2 = tf_idf(TF, base=10)
    assert x1.tolist() == [0.0] * 7
    assert [round(weight, 6) for weight in x2.tolist()] == [0, 0, 0, 0, 0, 0.60206, 0.30103]


def test_log_plus_one_is_negative_for_a_word_that_is_everywhere():
    idf = inverse_document_frequency(table(*DF), 2, "log_plus_one", base=10)
    assert [round(weight, 6) for weight in idf.tolist()] == [-0.176091] * 5 + [0.0, 0.0]


def test_similarity_of_the_two_sentences():
    def cosine(x, y):
        return (x @ y / math.sqrt(x @ x * (y @ y))).item()

    assert round(cosine(*count_matrix(DOCUMENTS, WORDS)), 6) == 0.734968
    assert cosine(*binary_matrix(DOCUMENTS, WORDS)) == pytest.approx(5 / math.sqrt(35), rel=1e-12)


def test_a_drug_of_two_words_is_seen_by_bigrams_only():
    right, swapped = ["take", "polyethylene", "glycol"], ["take", "glycol", "polyethylene"]
    drug = "polyethylene glycol"
    assert binary_matrix([right, swapped], [drug]).tolist() == [[0.0], [0.0]]
    bigrams = [ngrams(right, 2), ngrams(swapped, 2)]
    assert binary_matrix(bigrams, [drug]).tolist() == [[1.0], [0.0]]


# Vocabulary


def test_top_words_by_falling_count_then_by_alphabet():
    assert top_words(DOCUMENTS, 4) == ["sentence", "This", "a", "is"]
    assert top_words(DOCUMENTS, 99) == ["sentence", "This", "a", "is", "another", "not", "Yet"]
    assert top_words([["b"], ["a", "c"]], 2) == ["a", "b"]
    assert top_words(DOCUMENTS, 0) == []
    assert top_words([[], []], 3) == []


def test_coverage_by_hand():
    assert [vocabulary_coverage(DOCUMENTS, top_words(DOCUMENTS, m)) for m in range(8)] == [
        m / 18 for m in (0, 4, 7, 10, 13, 15, 17, 18)
    ]
    assert vocabulary_coverage([["a"], []], ["b"]) == 0.0


# Matrices


def test_count_matrix_against_list_count():
    vocabulary = ["not", "sentence", "never", "is"]
    expected = [[document.count(word) for word in vocabulary] for document in DOCUMENTS]
    assert_close(count_matrix(DOCUMENTS, vocabulary), table(*expected))
    flags = [[word in document for word in vocabulary] for document in DOCUMENTS]
    assert_close(binary_matrix(DOCUMENTS, vocabulary), table(*flags))


def test_a_document_without_known_words_is_a_row_of_zeros():
    assert count_matrix([[], ["x"], ["a"]], ["a", "b"]).tolist() == [[0, 0], [0, 0], [1, 0]]
    assert binary_matrix([[], ["x"], ["a"]], ["a", "b"]).tolist() == [[0, 0], [0, 0], [1, 0]]


# Term frequency, one number at a time

TF_BY_HAND = {
    "count": lambda c, document: c,
    "binary": lambda c, document: 1 if c else 0,
    "relative": lambda c, document: c / len(document),
    "unique": lambda c, document: c / len(set(document)),
    "log": lambda c, document: math.log(1 + c),
}


@pytest.mark.parametrize("variant", TF_BY_HAND)
def test_term_frequency_against_a_loop(variant):
    formula = TF_BY_HAND[variant]
    expected = [[formula(d.count(word), d) for word in WORDS] for d in DOCUMENTS]
    assert_close(term_frequency(TF, variant), table(*expected))


def test_relative_frequency_uses_the_lengths_it_is_given():
    few = count_matrix(DOCUMENTS, ["not", "sentence"])
    assert_close(term_frequency(few, "relative"), table([0, 1], [0.5, 0.5]))
    for lengths in (table(8, 10), torch.tensor([8, 10])):
        assert_close(term_frequency(few, "relative", lengths), table([0, 0.25], [0.2, 0.2]))


@pytest.mark.parametrize("variant", TF_BY_HAND)
def test_an_empty_document_keeps_its_zeros(variant):
    counts = table([0, 0, 0], [3, 1, 0])
    assert term_frequency(counts, variant)[0].tolist() == [0, 0, 0]
    assert term_frequency(counts, variant, table(0, 4))[0].tolist() == [0, 0, 0]
    assert term_frequency(counts, variant, table(5, 4))[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("variant", TF_BY_HAND)
def test_term_frequency_keeps_the_type(variant):
    assert term_frequency(TF.float(), variant).dtype == torch.float32
    assert document_frequency(TF.float()).dtype == torch.float32


def test_log_variant_at_zero_and_one():
    log = term_frequency(table([0, 1]), "log")
    assert log.tolist() == [[0.0, math.log(2)]]  # the slide's log(c) would be -inf and 0


# Document frequency and its inverse

IDF_BY_HAND = {
    "inverse": lambda n_j, n, base: Fraction(1, n_j),
    "ratio": lambda n_j, n, base: Fraction(n, n_j),
    "log": lambda n_j, n, base: math.log(n / n_j, base),
    "log_plus_one": lambda n_j, n, base: math.log(n / (n_j + 1), base),
    "smooth": lambda n_j, n, base: math.log((1 + n) / (1 + n_j), base) + 1,
}


def test_document_frequency_against_a_loop():
    expected = [sum(word in document for document in DOCUMENTS) for word in WORDS]
    assert document_frequency(count_matrix(DOCUMENTS, WORDS)).tolist() == expected


@pytest.mark.parametrize("base", [2, math.e, 10])
@pytest.mark.parametrize("variant", IDF_BY_HAND)
def test_inverse_document_frequency_against_a_loop(variant, base):
    expected = [float(IDF_BY_HAND[variant](n_j, 7, base)) for n_j in (1, 2, 5, 7)]
    actual = inverse_document_frequency(table(1, 2, 5, 7), 7, variant, base=base)
    assert_close(actual, table(*expected))


def test_natural_logarithm_unless_the_base_is_written():
    natural = inverse_document_frequency(table(1), 3, "log")
    assert_close(natural, table(math.log(3)))
    assert_close(tf_idf(table([1, 1], [0, 1])), table([math.log(2), 0], [0, 0]))


@pytest.mark.parametrize(
    ("variant", "weight"), [("log_plus_one", math.log(3)), ("smooth", math.log(4) + 1)]
)
def test_two_variants_take_a_word_of_no_document(variant, weight):
    assert_close(inverse_document_frequency(table(0), 3, variant), table(weight))


@pytest.mark.parametrize("tf", TF_BY_HAND)
@pytest.mark.parametrize("idf", IDF_BY_HAND)
def test_tf_idf_against_a_loop(tf, idf):
    expected = [
        [
            TF_BY_HAND[tf](document.count(word), document) * float(IDF_BY_HAND[idf](n_j, 2, 10))
            for word, n_j in zip(WORDS, (2, 2, 2, 2, 2, 1, 1), strict=True)
        ]
        for document in DOCUMENTS
    ]
    assert_close(tf_idf(TF, tf=tf, idf=idf, base=10), table(*expected))


def test_functions_leave_their_input_alone():
    counts = TF.clone()
    for tf in TF_BY_HAND:
        for idf in IDF_BY_HAND:
            tf_idf(counts, tf=tf, idf=idf)
    assert counts.tolist() == TF.tolist()


# Bad input


def refused(message):
    return pytest.raises(ValueError, match=re.escape(message))


TAKE_DOCUMENTS = [
    lambda documents: top_words(documents, 1),
    lambda documents: count_matrix(documents, ["a"]),
    lambda documents: binary_matrix(documents, ["a"]),
]
TAKE_VOCABULARY = [vocabulary_coverage, count_matrix, binary_matrix]


@pytest.mark.parametrize("call", TAKE_DOCUMENTS)
def test_no_documents(call):
    with refused("documents must hold at least one document; got documents=[]"):
        call([])


@pytest.mark.parametrize("function", TAKE_VOCABULARY)
def test_repeated_words_in_the_vocabulary(function):
    with refused("the words of vocabulary must be distinct; got repeated=['b', 'a']"):
        function([["a"]], ["b", "a", "c", "a", "b"])


@pytest.mark.parametrize("function", [count_matrix, binary_matrix])
def test_empty_vocabulary(function):
    with refused("vocabulary must hold at least one word; got vocabulary=[]"):
        function([["a"]], [])


def test_coverage_of_no_tokens():
    with refused("documents must hold at least one token; got documents=[[], []]"):
        vocabulary_coverage([[], []], ["a"])


TAKE_COUNTS = [lambda counts: term_frequency(counts, "count"), document_frequency, tf_idf]


@pytest.mark.parametrize("call", TAKE_COUNTS)
@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_counts_that_are_no_counts(call, wrong):
    with refused("counts must be at least 0 and finite; got smallest="):
        call(table([1, 0], [wrong, 2]))


def test_unknown_variants():
    with refused("variant must be one of 'count', 'binary', 'relative', 'unique', 'log'; got"):
        term_frequency(TF, "raw")
    message = "variant must be one of 'inverse', 'ratio', 'log', 'log_plus_one', 'smooth'; got"
    with refused(message):
        inverse_document_frequency(table(1), 2, "lag")
    with refused("smooth'; got idf='lag'"):
        tf_idf(TF, idf="lag")
    with refused("log'; got tf='raw'"):
        tf_idf(TF, tf="raw")


@pytest.mark.parametrize(("lengths", "documents"), [((8.0, 9.0), [1]), ((7.0, 9.0), [0, 1])])
def test_lengths_too_short(lengths, documents):
    rule = "each length must be at least the sum of its document's counts"
    with refused(f"{rule}; got documents={documents}"):
        term_frequency(TF, "relative", table(*lengths))


@pytest.mark.parametrize("variant", ["inverse", "ratio", "log"])
def test_unseen_words_are_named_by_their_columns(variant):
    rule = f"'{variant}' needs every word in at least one document (or take 'smooth')"
    with refused(f"{rule}; got unseen_columns=[0, 2], n_unseen=2"):
        inverse_document_frequency(table(0, 1, 0), 2, variant)
    with refused(f"{rule}; got unseen_columns=[7], n_unseen=1"):
        tf_idf(count_matrix(DOCUMENTS, [*WORDS, "never"]), idf=variant)
    with refused("got unseen_columns=[0, 1, 2, 3, 4], n_unseen=11"):
        inverse_document_frequency(torch.zeros(11), 2, variant)


def test_a_word_cannot_be_in_more_documents_than_there_are():
    with refused("document_frequency must be at most n_documents = 2; got wrong=[3.0]"):
        inverse_document_frequency(table(1, 3), 2, "smooth")


def test_tf_idf_of_no_documents():
    with refused("counts must have at least one entry on its axis docs"):
        tf_idf(torch.zeros(0, 3))


@pytest.mark.parametrize("base", [1.0, 0.5, 0.0, -2.0, math.inf, math.nan])
def test_base_of_the_logarithm(base):
    with refused(f"base must be more than 1 and finite; got base={base}"):
        inverse_document_frequency(table(1), 2, "log", base=base)
    with refused(f"base must be more than 1 and finite; got base={base}"):
        tf_idf(TF, base=base)


# BM25


def bm25_by_loop(counts, corpus, k1, b):
    lengths = [sum(row) for row in corpus]
    mean = Fraction(sum(lengths), len(lengths))
    rows = []
    for row in counts:
        relative = 1 - b + b * sum(row) / float(mean)
        weights = []
        for j, c in enumerate(row):
            n_j = sum(other[j] > 0 for other in corpus)
            idf = math.log((len(corpus) - n_j + 0.5) / (n_j + 0.5) + 1)
            weights.append(idf * c * (k1 + 1) / (c + k1 * relative) if c else 0.0)
        rows.append(weights)
    return table(*rows)


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (2.0, 0.0), (0.3, 1.0), (0.0, 0.4)])
def test_bm25_by_a_loop(k1, b):
    corpus = [[3, 0, 1, 0, 2], [1, 1, 0, 0, 0], [0, 0, 0, 0, 7]]
    new = [[0, 2, 5, 1, 0], [0, 0, 0, 0, 0]]
    assert_close(bm25(table(*corpus), k1=k1, b=b), bm25_by_loop(corpus, corpus, k1, b))
    found = bm25(table(*new), k1=k1, b=b, corpus=table(*corpus))
    assert_close(found, bm25_by_loop(new, corpus, k1, b))


def test_bm25_saturates_and_holds_long_documents_back():
    counts = table([1, 4], [2, 3], [50, 0], [0, 5])
    row = bm25(counts, b=0.0)[:, 0]
    assert row[0] < row[1] < row[2] < 2.2 * row[0]
    short, long = bm25(table([1, 0], [1, 9], [0, 1]), k1=1.5, b=0.75)[:2, 0]
    assert long < short


def test_bm25_of_wrong_numbers():
    with refused("k1 must be at least 0 and finite; got k1=-0.1"):
        bm25(TF, k1=-0.1)
    with refused("b must be from 0 to 1; got b=1.5"):
        bm25(TF, b=1.5)
    with refused("the corpus must hold at least one word"):
        bm25(torch.zeros(2, 3))
    with refused("counts must have at least one entry on its axis docs"):
        bm25(torch.zeros(0, 3))
    with refused("vocab"):
        bm25(TF, corpus=TF[:, :5])
