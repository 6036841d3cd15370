"""Vectors for tokens and documents: one-hot, lookup, means, and who is near to whom."""

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor

from softlookup.checks import Finite, Ids, Range, Size, checked, require
from softlookup.ops import unit_vectors

Points = Annotated[Float[Tensor, "n d"], Finite]
"""One point in each row."""

Measure = Literal["cosine", "dot", "euclidean"]
MEASURES = get_args(Measure)
EXACT = "donot_use_mm_for_euclid_dist"  # xx - 2xy + yy would lose the digits of near neighbours


@checked
def one_hot(
    ids: Annotated[Int[Tensor, "*batch"], Ids("vocab_size")],
    vocab_size: Size,
    *,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "*batch {vocab_size}"]:
    r"""A row for each id: all zeros, and a single 1 in the id's column.

    Args:
        ids: Token ids, from 0 to ``vocab_size - 1``.
        vocab_size: $|\mathcal{V}|$, the number of columns.
        dtype: The floating-point type of the result; torch's default if left out.

    Returns:
        Rows that sum to 1. Two rows are equal, or at right angles and $\sqrt2$ apart.

    Raises:
        ValueError: ``ids`` are no integers, an id is no column, or ``vocab_size`` is below 1.

    Source: lecture 000, "Skip Gram Continued"; lecture 002, "What Are Embeddings?".
    Chapter: embeddings#one-hot-vectors.

    Example:
        >>> one_hot(torch.tensor([2, 0]), 4)
        tensor([[0., 0., 1., 0.],
                [1., 0., 0., 0.]])
    """
    dtype = torch.get_default_dtype() if dtype is None else dtype
    require(dtype.is_floating_point, "dtype must be a floating-point type", dtype=dtype)
    columns = torch.arange(vocab_size, device=ids.device)
    return (ids.unsqueeze(-1) == columns).to(dtype)


@checked(not_empty="vocab d_model")
def lookup(
    embedding: Float[Tensor, "vocab d_model"], ids: Annotated[Int[Tensor, "*batch"], Ids("vocab")]
) -> Float[Tensor, "*batch d_model"]:
    r"""The embedding of each token: row ``ids[i]`` of the table, $\text{onehot}(w_i)\,E$.

    Args:
        embedding: The table $E$; row $w$ is the vector of token $w$.
        ids: Token ids, from 0 to ``len(embedding) - 1``.

    Returns:
        One row for each id. A row that is read twice collects its gradient twice.

    Raises:
        ValueError: The table is no matrix of floating-point numbers, ``ids`` are no integers, or
            an id has no row. A negative id has none: it does not count from the end.

    Source: lecture 000, "Word2Vec"; lecture 002, "How Embeddings Work". Chapter: embeddings#lookup.

    Example:
        >>> table = torch.tensor([[17.0, 24.0], [23.0, 5.0], [4.0, 6.0]])
        >>> lookup(table, torch.tensor([2, 0, 2]))
        tensor([[ 4.,  6.],
                [17., 24.],
                [ 4.,  6.]])
    """
    return embedding[ids]


@checked(not_empty="vocab d_model")
def mean_vectors(
    counts: Annotated[Real[Tensor, "docs vocab"], Range(0)],
    embedding: Float[Tensor, "vocab d_model"],
) -> Float[Tensor, "docs d_model"]:
    r"""The average of the vectors of a document's tokens: $\frac1n c^\top E$, with $n=\sum_j c_j$.

    Args:
        counts: The bag of words of each document, non-negative; columns as the table's rows.
        embedding: The table $E$.

    Returns:
        One vector for each document; it forgets the order of the tokens. A document without a
        single known token has no average: by rule it gets the zero vector.

    Raises:
        ValueError: The widths do not fit, or a count is negative, infinite or NaN.

    Source: lecture 000, "Token Classification and Embeddings continued".
    Chapter: vector_search#search.

    Example:
        >>> counts = torch.tensor([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
        >>> mean_vectors(counts, torch.tensor([[4.0, 0.0], [9.0, 9.0], [0.0, 8.0]]))
        tensor([[1., 6.],
                [0., 0.]])
    """
    counts = counts.to(embedding.dtype)
    n = counts.sum(dim=-1, keepdim=True)
    return counts @ embedding / torch.where(n == 0, 1.0, n)


@checked(not_empty="d")
def similarity(
    x: Float[Tensor, "*batch n d"], y: Float[Tensor, "*batch m d"], *, measure: Measure = "cosine"
) -> Float[Tensor, "*batch n m"]:
    r"""How alike each row of x and each row of y are: the larger, the more alike.

    Args:
        x: Vectors, one a row.
        y: Vectors of the same dimension.
        measure: "cosine" of the angle, from -1 to 1, and 0 where a vector is zero; "dot" product,
            unbounded; or "euclidean", *minus* the distance $\|x_i - y_j\|$, at most 0.

    Returns:
        One row for each row of x, one column for each row of y.

    Raises:
        ValueError: The dimensions differ, the rows are empty, or ``measure`` is unknown.

    Source: lecture 000, "Similarity". Chapter: embeddings#three-measures.

    Example:
        >>> x, y = torch.tensor([[3.0, 4.0]]), torch.tensor([[6.0, 8.0], [0.0, 4.0]])
        >>> similarity(x, y), similarity(x, y, measure="euclidean")
        (tensor([[1.0000, 0.8000]]), tensor([[-5., -3.]]))
    """
    if measure == "cosine":
        return unit_vectors(x) @ unit_vectors(y).mT
    if measure == "dot":
        return x @ y.mT
    wide = torch.promote_types(x.dtype, torch.float32)  # half precision has no cdist
    return -torch.cdist(x.to(wide), y.to(wide), compute_mode=EXACT).to(x.dtype)


@checked(not_empty="n d")
def nearest(
    query: Float[Tensor, "*batch d"],
    table: Float[Tensor, "n d"],
    k: Size,
    *,
    measure: Measure = "cosine",
    exclude: Sequence[Annotated[int, Ids("n")]] = (),
) -> tuple[Float[Tensor, "*batch {k}"], Int[Tensor, "*batch {k}"]]:
    """Search: the k rows of a table that are most similar to a query, the best first.

    Args:
        query: One vector, or one a row.
        table: What is searched, one vector in each row.
        k: How many rows to return.
        measure: As in ``similarity``.
        exclude: Rows that may not be answers, such as the query's own.

    Returns:
        The k largest similarities, in falling order, and the rows' ids. Of rows that are equally
        similar, the one with the lower id comes first.

    Raises:
        ValueError: Fewer than k rows are allowed, ``exclude`` names what is no row, a similarity
            is NaN, or as ``similarity``.

    Source: lecture 000, "Why are embeddings useful?".
    Chapter: vector_search#search.

    Example:
        >>> table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
        >>> nearest(torch.tensor([0.0, 2.0]), table, 2)
        (tensor([1.0000, 0.8000]), tensor([1, 2]))
    """
    excluded = torch.tensor(sorted(set(exclude)), dtype=torch.long)
    n_allowed = len(table) - len(excluded)
    require(k <= n_allowed, "k must be at most the number of rows allowed", k=k, allowed=n_allowed)
    rows = query.reshape(-1, query.shape[-1])
    scores = similarity(rows, table, measure=measure)
    n_undefined = int(scores.isnan().sum())
    rule = "every similarity must be a number: query and table must be finite"
    require(n_undefined == 0, rule, n_undefined=n_undefined)
    scores = scores.index_fill(-1, excluded.to(table.device), -torch.inf)
    ids = scores.argsort(dim=-1, descending=True, stable=True)[:, :k]
    shape = (*query.shape[:-1], k)
    return scores.gather(-1, ids).reshape(shape), ids.reshape(shape)
