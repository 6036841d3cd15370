"""What holds for every text and every corpus, tried on whatever hypothesis thinks of."""

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.words import (
    IDF_VARIANTS,
    Vocabulary,
    binary_matrix,
    count_matrix,
    document_frequency,
    inverse_document_frequency,
    ngrams,
    offsets_to_span,
    span_to_offsets,
    term_frequency,
    tf_idf,
    token_offsets,
    top_words,
    vocabulary_coverage,
    word_tokens,
)

WORD = st.sampled_from(list("abcdefg"))
DOCUMENT = st.lists(WORD, max_size=13)
CORPUS = st.lists(DOCUMENT, min_size=1, max_size=7)
FULL_CORPUS = st.lists(st.lists(WORD, min_size=1, max_size=13), min_size=1, max_size=7)
VOCABULARY = st.lists(WORD, min_size=1, unique=True)


@given(st.data(), CORPUS, VOCABULARY)
def test_a_bag_of_words_forgets_the_order(data, documents, vocabulary):
    shuffled = [data.draw(st.permutations(document)) for document in documents]
    assert torch.equal(count_matrix(shuffled, vocabulary), count_matrix(documents, vocabulary))


@given(CORPUS, VOCABULARY)
def test_a_row_sums_to_the_tokens_that_the_vocabulary_knows(documents, vocabulary):
    known = [sum(token in vocabulary for token in document) for document in documents]
    assert count_matrix(documents, vocabulary).sum(dim=1).tolist() == known


@given(CORPUS, VOCABULARY)
def test_the_binary_bag_says_whether_the_count_is_positive(documents, vocabulary):
    flags = (count_matrix(documents, vocabulary) > 0).double()
    assert torch.equal(binary_matrix(documents, vocabulary), flags)
    unigrams = [ngrams(document, 1) for document in documents]
    assert torch.equal(binary_matrix(unigrams, vocabulary), flags)


@given(st.data(), CORPUS, VOCABULARY)
def test_permuting_the_vocabulary_permutes_the_columns(data, documents, vocabulary):
    order = data.draw(st.permutations(range(len(vocabulary))))
    permuted = count_matrix(documents, [vocabulary[j] for j in order])
    assert torch.equal(permuted, count_matrix(documents, vocabulary)[:, order])


@given(DOCUMENT, st.integers(1, 17))
def test_number_and_content_of_ngrams(tokens, n):
    grams = ngrams(tokens, n)
    assert len(grams) == max(len(tokens) - n + 1, 0)
    assert all(gram.split() == tokens[i : i + n] for i, gram in enumerate(grams))


@given(st.lists(st.text(), unique=True), st.data())
def test_decode_undoes_encode(tokens, data):
    assume("<unk>" not in tokens)
    vocabulary = Vocabulary(tokens)
    ids = data.draw(st.lists(st.integers(0, len(vocabulary) - 1)))
    assert vocabulary.encode(vocabulary.decode(ids)) == ids
    assert vocabulary.decode(vocabulary.encode(tokens)) == tokens


@given(st.lists(WORD, unique=True), DOCUMENT)
def test_an_unknown_word_becomes_the_unknown_token(tokens, document):
    vocabulary = Vocabulary(tokens)
    expected = [token if token in tokens else "<unk>" for token in document]
    assert vocabulary.decode(vocabulary.encode(document)) == expected


@given(st.text())
def test_offsets_cut_the_tokens_out_of_any_text(text):
    offsets = token_offsets(text)
    assert [text[start:end] for start, end in offsets] == word_tokens(text, lowercase=False)
    assert [text[start:end].lower() for start, end in offsets] == word_tokens(text)
    ends = [position for offset in offsets for position in offset]
    assert ends == sorted(ends)


@given(
    st.lists(st.sampled_from(["İ", "a'b", "éa", "’", " ", "🙂", "x1", "-"])).map("".join), st.data()
)
def test_spans_come_back_from_their_characters(text, data):
    offsets = token_offsets(text)
    assume(offsets)
    start = data.draw(st.integers(0, len(offsets) - 1))
    span = (start, data.draw(st.integers(start + 1, len(offsets))))
    assert offsets_to_span(span_to_offsets(span, offsets), offsets) == span


@given(CORPUS)
def test_coverage_grows_with_the_vocabulary_up_to_1(documents):
    assume(any(documents))
    curve = [vocabulary_coverage(documents, top_words(documents, size)) for size in range(8)]
    assert curve == sorted(curve)
    assert curve[0] == 0
    assert curve[-1] == 1


@given(CORPUS, st.integers(0, 9))
def test_no_vocabulary_of_the_same_size_covers_more(documents, size):
    assume(any(documents))
    top = top_words(documents, size)
    every = "abcdefg"
    other = [every[i] for i in range(min(size, 7))]
    assert vocabulary_coverage(documents, top) >= vocabulary_coverage(documents, other)


@given(CORPUS, VOCABULARY)
def test_relative_frequencies_sum_to_1_or_to_0(documents, vocabulary):
    counts = count_matrix(documents, vocabulary)
    sums = term_frequency(counts, "relative").sum(dim=1)
    assert_close(sums, (counts.sum(dim=1) > 0).double())
    lengths = torch.tensor([len(document) for document in documents])
    assert (term_frequency(counts, "relative", lengths).sum(dim=1) <= 1 + 1e-12).all()


@pytest.mark.parametrize("base", [2, 2.718281828459045, 10])
@given(st.integers(1, 10**6))
def test_a_word_of_every_document_weighs_exactly_nothing(base, n):
    for dtype in (torch.float64, torch.float32):
        everywhere = torch.tensor([n], dtype=dtype)
        assert inverse_document_frequency(everywhere, n, "log", base=base).item() == 0.0


@pytest.mark.parametrize("variant", IDF_VARIANTS)
@given(n=st.integers(2, 997))
def test_a_rarer_word_weighs_more(variant, n):
    weights = inverse_document_frequency(torch.arange(1, n + 1).double(), n, variant)
    assert (weights[:-1] > weights[1:]).all()


@given(FULL_CORPUS)
def test_tf_idf_is_zero_exactly_where_a_word_is_absent_or_everywhere(documents):
    counts = count_matrix(documents, top_words(documents, 7))
    everywhere = document_frequency(counts) == len(documents)
    assert torch.equal(tf_idf(counts) == 0, (counts == 0) | everywhere)
