"""Attention with other scores: a small network (Bahdanau et al. 2015), or one matrix (Luong)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.attention.dot_product import attention_scores
from softlookup.attention.lookup import SoftLookup
from softlookup.checks import Size, checked
from softlookup.ops import without_idle, without_unread


@checked
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
    projected = (query @ W_q.mT).unsqueeze(-2) + (key @ W_k.mT).unsqueeze(-3)
    return torch.tanh(projected) @ v


@checked
class ScoredAttention(SoftLookup):
    """Rows that are key and value in one, read with scores that a subclass works out.

    Args:
        d_query: The width of a query.
        d_context: The width of a row of the context.

    Raises:
        ValueError: A width is no integer of at least 1.

    Source: Luong et al. 2015, section 3.1. Chapter: seq2seq#additive-attention.

    Example:
        >>> ScoredAttention(3, 5).d_context
        5
        >>> AdditiveAttention(3, 5, 7)(torch.zeros(2, 3), torch.zeros(4, 5)).shape
        torch.Size([2, 5])
    """

    def __init__(self, d_query: Size, d_context: Size) -> None:
        super().__init__()
        self.d_query, self.d_context = d_query, d_context

    def forward(
        self,
        query: Float[Tensor, "*batch n_q {self.d_query}"],
        context: Float[Tensor, "*batch n_k {self.d_context}"],
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
        query, context = without_idle(query, mask), without_unread(context, mask)
        return self.mix(self.scores(query, context), context, mask)

    def scores(self, query: Tensor, context: Tensor) -> Tensor:
        """One score per pair of query and context row."""
        raise NotImplementedError


@checked
class AdditiveAttention(ScoredAttention):
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

    def __init__(self, d_query: Size, d_context: Size, d_attention: Size) -> None:
        super().__init__(d_query, d_context)
        self.W_q = nn.Linear(d_query, d_attention, bias=False)
        self.W_k = nn.Linear(d_context, d_attention, bias=False)
        self.v = nn.Parameter(torch.empty(d_attention).uniform_(-1, 1) / d_attention**0.5)

    def scores(
        self,
        query: Float[Tensor, "*batch n_q {self.d_query}"],
        context: Float[Tensor, "*batch n_k {self.d_context}"],
    ) -> Float[Tensor, "*batch n_q n_k"]:
        """One score per pair of query and context row."""
        return additive_scores(query, context, self.W_q.weight, self.W_k.weight, self.v)


@checked
class MultiplicativeAttention(ScoredAttention):
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

    def __init__(self, d_query: Size, d_context: Size) -> None:
        super().__init__(d_query, d_context)
        self.W = nn.Linear(d_context, d_query, bias=False)

    def scores(
        self,
        query: Float[Tensor, "*batch n_q {self.d_query}"],
        context: Float[Tensor, "*batch n_k {self.d_context}"],
    ) -> Float[Tensor, "*batch n_q n_k"]:
        """One score per pair of query and context row."""
        return attention_scores(query, self.W(context), scale=False)
