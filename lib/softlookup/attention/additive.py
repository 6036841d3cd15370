"""Attention with other scores: a small network (Bahdanau et al. 2015), or one matrix (Luong)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.attention.dot_product import attention_scores
from softlookup.attention.lookup import lookup_weights
from softlookup.checks import (
    require,
    require_float,
    require_int,
    require_pair_mask,
    require_rows,
    require_same_dtype,
)
from softlookup.ops import without_idle, without_unread


def additive_scores(
    query: Float[Tensor, "*batch n_q d_query"],
    key: Float[Tensor, "*batch n_k d_key"],
    W_q: Float[Tensor, "d_attention d_query"],
    W_k: Float[Tensor, "d_attention d_key"],
    v: Float[Tensor, "d_attention"],
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""How well each query fits each key: $s_{ij} = v^\top \tanh(W_q q_i + W_k k_j)$.

    This is a network with one hidden layer that sees the pair $[q_i; k_j]$. Its first matrix is
    split in two, so that each query and each key is projected once, not once for each pair.

    Args:
        query: One row per query, of any width.
        key: One row per key, of any width.
        W_q: From query to the hidden layer; row $a$ feeds unit $a$.
        W_k: From key to the hidden layer.
        v: What each unit of the hidden layer counts for.

    Returns:
        One score per pair, between $-\|v\|_1$ and $\|v\|_1$.

    Raises:
        ValueError: The shapes or the dtypes do not fit.

    Source: Bahdanau et al. 2015, section 3.1, appendix A.1.2. Chapter: seq2seq#additive-attention.

    Example:
        >>> query, key, one = torch.zeros(1, 3), torch.tensor([[0.0], [1.0]]), torch.ones(1, 1)
        >>> additive_scores(query, key, torch.ones(1, 3), one, one[0])
        tensor([[0.0000, 0.7616]])
    """
    _check_additive(query, key, W_q, W_k, v)
    projected = (query @ W_q.mT).unsqueeze(-2) + (key @ W_k.mT).unsqueeze(-3)
    return torch.tanh(projected) @ v


class _Attention(nn.Module):
    """Weights from scores, and the context that they mix."""

    def __init__(self, d_query: int, d_context: int) -> None:
        super().__init__()
        require_int(1, d_query=d_query, d_context=d_context)
        self.d_query, self.d_context = d_query, d_context
        self.weights = nn.Identity()  # probe: hook it to see A

    def forward(
        self,
        query: Float[Tensor, "*batch n_q d_query"],
        context: Float[Tensor, "*batch n_k d_context"],
        mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
    ) -> Float[Tensor, "*batch n_q d_context"]:
        """Each query reads from the context: rows of it, mixed by the softmax of the scores.

        Args:
            query: One row per query.
            context: One row per word that may be read; it is key and value in one.
            mask: True where a query may read a word. None allows all.

        Returns:
            One row per query: a weighted mean, or zeros for a query that may read nothing.

        Raises:
            ValueError: The shapes or the dtypes do not fit, or ``mask`` is not boolean.
        """
        self._check(query, context, mask)
        query, context = without_idle(query, mask), without_unread(context, mask)
        return self.weights(lookup_weights(self.scores(query, context), mask)) @ context

    def scores(self, query: Tensor, context: Tensor) -> Tensor:
        """One score per pair of query and context row."""
        raise NotImplementedError

    def _check(self, query: Tensor, context: Tensor, mask: Tensor | None) -> None:
        require_rows(self.d_query, query=query)
        require_rows(self.d_context, context=context)
        same_axes = query.shape[:-2] == context.shape[:-2]
        rule = "query and context must have the same leading axes"
        require(same_axes, rule, query=query, context=context)
        if mask is not None:
            require_pair_mask(mask, (*query.shape[:-1], context.shape[-2]))


class AdditiveAttention(_Attention):
    r"""Attention whose score is a network with one hidden layer: $v^\top \tanh(W_q q + W_k k)$.

    The probe ``weights`` is an identity that a forward hook can read: it sees the weights.

    Args:
        d_query: The width of a query.
        d_context: The width of a row of the context.
        d_attention: The width of the hidden layer.

    Raises:
        ValueError: A width is no integer of at least 1.

    Source: Bahdanau et al. 2015, section 3.1; lecture 004, "Bahdanau et al. Alignment".
    Chapter: seq2seq#additive-attention.

    Example:
        >>> AdditiveAttention(5, 3, 2)(torch.zeros(7, 5), torch.zeros(11, 3)).shape
        torch.Size([7, 3])
    """

    def __init__(self, d_query: int, d_context: int, d_attention: int) -> None:
        super().__init__(d_query, d_context)
        require_int(1, d_attention=d_attention)
        self.W_q = nn.Linear(d_query, d_attention, bias=False)
        self.W_k = nn.Linear(d_context, d_attention, bias=False)
        self.v = nn.Parameter(torch.empty(d_attention).uniform_(-1, 1) / d_attention**0.5)

    def scores(
        self,
        query: Float[Tensor, "*batch n_q d_query"],
        context: Float[Tensor, "*batch n_k d_context"],
    ) -> Float[Tensor, "*batch n_q n_k"]:
        """One score per pair of query and context row."""
        return additive_scores(query, context, self.W_q.weight, self.W_k.weight, self.v)


class MultiplicativeAttention(_Attention):
    r"""Attention whose score is a product through one matrix: $s_{ij} = q_i^\top W k_j$.

    Args:
        d_query: The width of a query.
        d_context: The width of a row of the context.

    Raises:
        ValueError: A width is no integer of at least 1.

    Source: Luong et al. 2015, section 3.1 ("general"). Chapter: seq2seq#multiplicative-attention.

    Example:
        >>> MultiplicativeAttention(5, 3)(torch.zeros(7, 5), torch.zeros(11, 3)).shape
        torch.Size([7, 3])
    """

    def __init__(self, d_query: int, d_context: int) -> None:
        super().__init__(d_query, d_context)
        self.W = nn.Linear(d_context, d_query, bias=False)

    def scores(
        self,
        query: Float[Tensor, "*batch n_q d_query"],
        context: Float[Tensor, "*batch n_k d_context"],
    ) -> Float[Tensor, "*batch n_q n_k"]:
        """One score per pair of query and context row."""
        return attention_scores(query, self.W(context), scale=False)


def _check_additive(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor, v: Tensor) -> None:
    given = {"query": query, "key": key, "W_q": W_q, "W_k": W_k, "v": v}
    require_float(**given)
    require_same_dtype(**given)
    is_matrix = query.ndim >= 2 and key.ndim >= 2 and query.shape[:-2] == key.shape[:-2]
    require(
        is_matrix, "query and key must be matrices with the same leading axes", query=query, key=key
    )
    wanted = [(*v.shape, query.shape[-1]), (*v.shape, key.shape[-1])]
    fits = v.ndim == 1 and [tuple(W_q.shape), tuple(W_k.shape)] == wanted
    rule = (
        "W_q, W_k, v must have shapes (d_attention, d_query), (d_attention, d_key), (d_attention,)"
    )
    require(fits, rule, W_q=W_q, W_k=W_k, v=v, d_query=query.shape[-1], d_key=key.shape[-1])
