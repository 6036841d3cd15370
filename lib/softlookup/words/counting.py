"""Documents as rows of numbers: bags of words, term frequency, rarity, TF-IDF and BM25."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, Real
from torch import Tensor

from softlookup.checks import Count, NotNegative, Range, Size, checked, require, require_distinct

TermFrequency = Literal["count", "binary", "relative", "unique", "log"]
InverseFrequency = Literal["inverse", "ratio", "log", "log_plus_one", "smooth"]
TF_VARIANTS = get_args(TermFrequency)
IDF_VARIANTS = get_args(InverseFrequency)

Documents = Sequence[Sequence[str]]
"""The tokens of each document."""

Counts = Annotated[Float[Tensor, "docs vocab"], Range(0)]
"""How often each word occurs in each document."""

Base = Annotated[float, Range(1, above=True)]
"""The base of a logarithm that grows."""


@checked
def top_words(documents: Documents, size: Count) -> list[str]:
    """The ``size`` most frequent words of all documents: the simplest vocabulary.

    Args:
        documents: The tokens of each document.
        size: How many words to keep. Where there are fewer, all are kept.

    Returns:
        Distinct words by falling count; words of one count in alphabetical order.

    Raises:
        ValueError: There is no document, or ``size`` is no integer of at least 0.
        TypeError: A document is no list of tokens.

    Source: lecture 000, "Can we learn simple heuristics?". Chapter: counting_words#vocabulary.

    Example:
        >>> top_words([["b", "a", "c"], ["b"]], 2)
        ['b', 'a']
    """
    require(len(documents) > 0, "documents must hold at least one document", documents=documents)
    counts = Counter(token for document in documents for token in document)
    return sorted(counts, key=lambda word: (-counts[word], word))[:size]


@checked
def vocabulary_coverage(documents: Documents, vocabulary: Sequence[str]) -> float:
    """The share of all tokens whose word is in the vocabulary.

    Args:
        documents: The tokens of each document.
        vocabulary: The words that are kept.

    Returns:
        A share between 0 and 1.

    Raises:
        ValueError: The documents hold no token, or a word of the vocabulary comes twice.

    Source: lecture 000, "Can we learn simple heuristics?". Chapter: counting_words#vocabulary.

    Example:
        >>> vocabulary_coverage([["b", "a", "c"], ["b"]], ["b", "a"])
        0.75
    """
    require_distinct(vocabulary=vocabulary)
    tokens = [token for document in documents for token in document]
    require(bool(tokens), "documents must hold at least one token", documents=documents)
    kept = set(vocabulary)
    return sum(token in kept for token in tokens) / len(tokens)


@checked
def count_matrix(documents: Documents, vocabulary: Sequence[str]) -> Float[Tensor, "docs vocab"]:
    """The bag of words of each document: how often each word of the vocabulary occurs.

    Args:
        documents: The tokens of each document. One without tokens gives a row of zeros.
        vocabulary: The M words that get a column, in the order of the columns.

    Returns:
        Counts; row i sums to the tokens of document i that are in the vocabulary.

    Raises:
        ValueError: There is no document, the vocabulary is empty, or one of its words comes twice.

    Source: lecture 000, "Bag of Words". Chapter: counting_words#bag-of-words.

    Example:
        >>> count_matrix([["not", "yet", "not"], ["yes"]], ["not", "yet"])
        tensor([[2., 1.],
                [0., 0.]], dtype=torch.float64)
    """
    require(len(documents) > 0, "documents must hold at least one document", documents=documents)
    require(len(vocabulary) > 0, "vocabulary must hold at least one word", vocabulary=vocabulary)
    require_distinct(vocabulary=vocabulary)
    column = {word: j for j, word in enumerate(vocabulary)}
    counts = np.zeros((len(documents), len(vocabulary)))
    for i, document in enumerate(documents):
        for token in document:
            if token in column:
                counts[i, column[token]] += 1
    return torch.from_numpy(counts)


@checked
def binary_matrix(documents: Documents, vocabulary: Sequence[str]) -> Float[Tensor, "docs vocab"]:
    """The binary bag of words of each document: 1 where word j occurs, else 0.

    Args:
        documents: As in ``count_matrix``.
        vocabulary: As in ``count_matrix``.

    Returns:
        Zeros and ones.

    Raises:
        ValueError: As in ``count_matrix``.

    Source: lecture 000, "Bag of Words". Chapter: counting_words#bag-of-words.

    Example:
        >>> binary_matrix([["not", "yet", "not"], ["yes"]], ["not", "yet"])
        tensor([[1., 1.],
                [0., 0.]], dtype=torch.float64)
    """
    return (count_matrix(documents, vocabulary) > 0).double()


@checked
def term_frequency(
    counts: Counts,
    variant: TermFrequency,
    lengths: Annotated[Real[Tensor, "docs"], Range(0)] | None = None,
) -> Float[Tensor, "docs vocab"]:
    r"""How much a word matters within its document, in one of five readings of the count $c$.

    "count" is $c$; "binary" is 1 where $c > 0$; "relative" is $c$ over the document's tokens;
    "unique" is $c$ over the document's distinct words; "log" is $\log(1 + c)$, which is 0 where
    the word is absent (the plain logarithm would be $-\infty$ there, and 0 for a single use).

    Args:
        counts: Counts, from ``count_matrix``.
        variant: "count", "binary", "relative", "unique" or "log".
        lengths: Tokens in each document, for "relative" alone. Give it when the vocabulary leaves
            words out; otherwise the row sums are the lengths.

    Returns:
        One number for each count. A document without tokens keeps its row of zeros.

    Raises:
        ValueError: A count is negative or not finite, the variant is unknown, or ``lengths`` does
            not fit the counts.

    Source: lecture 000, "Term Frequency". Chapter: counting_words#term-frequency.

    Example:
        >>> term_frequency(torch.tensor([[3.0, 1.0, 0.0]]), "relative")
        tensor([[0.7500, 0.2500, 0.0000]])
    """
    lengths = counts.sum(dim=1) if lengths is None else _long_enough(lengths, counts)
    present = (counts > 0).to(counts.dtype)
    match variant:
        case "count":
            return counts
        case "binary":
            return present
        case "relative":
            return _share(counts, lengths)
        case "unique":
            return _share(counts, present.sum(dim=1))
        case "log":
            return torch.log1p(counts)


@checked
def document_frequency(counts: Counts) -> Float[Tensor, "vocab"]:
    """How many documents contain each word: $N_j$.

    Args:
        counts: Counts, from ``count_matrix``.

    Returns:
        Whole numbers from 0 to the number of documents.

    Raises:
        ValueError: A count is negative or not finite.

    Source: lecture 000, "Inverse Document Frequency". Chapter: counting_words#document-frequency.

    Example:
        >>> document_frequency(torch.tensor([[2.0, 0.0], [5.0, 1.0]]))
        tensor([2., 1.])
    """
    return (counts > 0).sum(dim=0).to(counts.dtype)


@checked
def inverse_document_frequency(
    document_frequency: Annotated[Float[Tensor, "vocab"], Range(0)],
    n_documents: Size,
    variant: InverseFrequency,
    *,
    base: Base = math.e,
) -> Float[Tensor, "vocab"]:
    r"""How rare each word is among the $N$ documents, in one of five readings of $N_j$.

    "inverse" is $1/N_j$; "ratio" is $N/N_j$; "log" is $\log(N/N_j)$; "log_plus_one" is
    $\log(N/(N_j+1))$, negative for a word of every document; "smooth" is
    $\log\frac{1+N}{1+N_j} + 1$, which scikit-learn uses.

    Args:
        document_frequency: $N_j$, the number of documents that contain word j.
        n_documents: $N$.
        variant: "inverse", "ratio", "log", "log_plus_one" or "smooth".
        base: Base of the logarithm, above 1. The lecture's tables use 10.

    Returns:
        One weight for each word. With "log", a word of every document has weight 0 exactly.

    Raises:
        ValueError: A document frequency is not between 0 and N, the variant is unknown, the base is
            not above 1, or a word is in no document and the variant would divide by zero.

    Source: Spärck Jones 1972; lecture 000, "Inverse Document Frequency".
    Chapter: counting_words#inverse-document-frequency.

    Example:
        >>> inverse_document_frequency(torch.tensor([2.0, 1.0]), 2, "log", base=10)
        tensor([0.0000, 0.3010])
    """
    _require_seen(document_frequency, n_documents, variant)
    N_j = document_frequency
    N = torch.full_like(N_j, n_documents)  # number / tensor rounds twice: 425 / 425 would not be 1
    match variant:
        case "inverse":
            return 1 / N_j
        case "ratio":
            return N / N_j
        case "log":
            return torch.log(N / N_j) / math.log(base)
        case "log_plus_one":
            return torch.log(N / (N_j + 1)) / math.log(base)
        case "smooth":
            return torch.log((1 + N) / (1 + N_j)) / math.log(base) + 1


@checked(not_empty="docs")
def tf_idf(
    counts: Counts,
    *,
    tf: TermFrequency = "count",
    idf: InverseFrequency = "log",
    base: Base = math.e,
) -> Float[Tensor, "docs vocab"]:
    r"""Often here, rare elsewhere: $\text{TF}(w, x) \times \text{IDF}(w)$.

    Args:
        counts: Counts, from ``count_matrix``; they give both factors.
        tf: A variant of ``term_frequency``.
        idf: A variant of ``inverse_document_frequency``.
        base: Base of the logarithm in the IDF. The lecture's tables use 10.

    Returns:
        One weight for each count; with ``idf="log"``, 0 for a word that is in every document.

    Raises:
        ValueError: As ``term_frequency`` and ``inverse_document_frequency`` do, or there is no
            document.

    Source: Salton and Buckley 1988; lecture 000, "TF-IDF". Chapter: counting_words#tf-idf.

    Example:
        >>> tf_idf(torch.tensor([[2.0, 0.0], [1.0, 2.0]]), base=10)
        tensor([[0.0000, 0.0000],
                [0.0000, 0.6021]])
    """
    weight = inverse_document_frequency(document_frequency(counts), len(counts), idf, base=base)
    return term_frequency(counts, tf) * weight


@checked(not_empty="docs")
def bm25(
    counts: Counts,
    *,
    k1: NotNegative = 1.2,
    b: Annotated[float, Range(0, 1)] = 0.75,
    corpus: Annotated[Float[Tensor, "corpus vocab"], Range(0)] | None = None,
) -> Float[Tensor, "docs vocab"]:
    r"""TF-IDF whose count saturates: $\text{idf}_j\,c_{ij}(k_1+1)/(c_{ij}+k_1\ell_i)$.

    The relative length is $\ell_i = 1-b+b\,|x_i|/\overline{|x|}$, and the rarity
    $\text{idf}_j = \ln(1+(N-N_j+\frac12)/(N_j+\frac12))$, which is never negative.

    Args:
        counts: Counts, from ``count_matrix``. A row's sum is its length $|x_i|$.
        k1: How slowly a repeated word stops counting, at least 0; with 0, counts become flags.
        b: How much a long document is held back, from 0, not at all, to 1, by its full length.
        corpus: Counts of the documents that $N$, $N_j$ and the mean length come from; None takes
            ``counts``.

    Returns:
        One weight for each count. The score of a document for a query is the sum of its weights
        for the query's words.

    Raises:
        ValueError: A count is negative or not finite, ``k1`` or ``b`` is out of range, the corpus
            has no word at all or another vocabulary, or there is no document.

    Source: Robertson and Zaragoza 2009, section 3.4. Chapter: counting_words#optional-bm25.

    Example:
        >>> bm25(torch.tensor([[1.0, 0.0], [4.0, 1.0]]), b=0.0)
        tensor([[0.1823, 0.0000],
                [0.3085, 0.6931]])
    """
    seen = counts if corpus is None else corpus
    mean_length = seen.sum(dim=1).mean()
    require(bool(mean_length > 0), "the corpus must hold at least one word", words=0)
    N_j = document_frequency(seen)
    idf = torch.log1p((len(seen) - N_j + 0.5) / (N_j + 0.5))
    length = 1 - b + b * counts.sum(dim=1, keepdim=True) / mean_length
    return idf * counts * (k1 + 1) / (counts + k1 * length).where(counts > 0, 1)


def _share(counts: Tensor, total: Tensor) -> Tensor:
    return counts / total.where(total > 0, 1)[:, None]  # an empty document: 0/1, not 0/0


def _long_enough(lengths: Tensor, counts: Tensor) -> Tensor:
    short = torch.nonzero(lengths < counts.sum(dim=1)).flatten().tolist()
    rule = "each length must be at least the sum of its document's counts"
    require(not short, rule, documents=short[:5])
    return lengths.to(counts.dtype)


def _require_seen(N_j: Tensor, N: int, variant: str) -> None:
    wrong = N_j[N_j > N].tolist()
    require(not wrong, f"document_frequency must be at most n_documents = {N}", wrong=wrong[:5])
    unseen = torch.nonzero(N_j == 0).flatten().tolist()
    divides_by_zero = variant in ("inverse", "ratio", "log") and len(unseen) > 0
    rule = f"{variant!r} needs every word in at least one document (or take 'smooth')"
    require(not divides_by_zero, rule, unseen_columns=unseen[:5], n_unseen=len(unseen))
