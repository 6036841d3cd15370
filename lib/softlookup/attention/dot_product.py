"""Scaled dot-product attention with one head (Vaswani et al. 2017, section 3.2.1)."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.checks import (
    require,
    require_dtype,
    require_float,
    require_int,
    require_pair_mask,
    require_rows,
    require_same_dtype,
)
from softlookup.ops import masked_softmax, softmax, without_idle, without_unread


def attention_scores(
    query: Float[Tensor, "*batch n_q d_k"],
    key: Float[Tensor, "*batch n_k d_k"],
    *,
    scale: bool = True,
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""How well each query fits each key: $S = QK^\top/\sqrt{d_k}$.

    Args:
        query: One row per query.
        key: One row per key.
        scale: Divide by $\sqrt{d_k}$. For entries with mean 0 and variance 1 the dot product has
            variance $d_k$; divided, it has variance 1 at every width.

    Returns:
        $s_{ij} = q_i \cdot k_j / \sqrt{d_k}$, any real numbers.

    Raises:
        ValueError: The shapes or the dtypes do not fit.

    Source: Vaswani et al. 2017, section 3.2.1; lecture 004, "Attention in Transformers".
    Chapter: attention#scores.

    Example:
        >>> import torch
        >>> attention_scores(torch.ones(1, 4), torch.ones(2, 4))
        tensor([[2., 2.]])
    """
    _check_query_and_key(query, key)
    scores = query @ key.mT
    return scores / math.sqrt(query.shape[-1]) if scale else scores


def attention_weights(
    query: Float[Tensor, "*batch n_q d_k"],
    key: Float[Tensor, "*batch n_k d_k"],
    mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
    *,
    scale: bool = True,
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""How much each query reads from each key: $A = \mathrm{softmax}(QK^\top/\sqrt{d_k})$.

    Args:
        query: One row per query.
        key: One row per key.
        mask: True where the query may read the key. None allows all.
        scale: Divide the scores by $\sqrt{d_k}$.

    Returns:
        Weights from 0 to 1, exactly 0 where ``mask`` is False. Each row sums to 1, or is all zeros
        if there is nothing to read. A weight depends on *all* keys that its query may read.

    Raises:
        ValueError: The shapes or the dtypes do not fit, or ``mask`` is not boolean.

    Source: Vaswani et al. 2017, section 3.2.1; lecture 003, "Implementation Details".
    Chapter: attention#weights.

    Example:
        >>> import torch
        >>> attention_weights(torch.zeros(1, 4), torch.zeros(2, 4))
        tensor([[0.5000, 0.5000]])
    """
    _check_query_and_key(query, key)
    _check_mask(mask, query, key)
    if key.shape[-2] == 0:
        return attention_scores(query, key)  # no key, no weight
    if mask is None:
        return softmax(attention_scores(query, key, scale=scale))
    query, key = without_idle(query, mask), without_unread(key, mask)
    return masked_softmax(attention_scores(query, key, scale=scale), mask)


def attention(
    query: Float[Tensor, "*batch n_q d_k"],
    key: Float[Tensor, "*batch n_k d_k"],
    value: Float[Tensor, "*batch n_k d_v"],
    mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
) -> Float[Tensor, "*batch n_q d_v"]:
    r"""Mix the values by the weights: $Z = AV$ with $A = \mathrm{softmax}(QK^\top/\sqrt{d_k})$.

    A key and value that no query may read have no influence at all, whatever they hold: NaN and
    infinity neither reach the output nor any gradient. One that *some* query may read must be
    finite, for in a matrix product $0 \cdot \infty$ is NaN in the rows of all other queries too.

    Args:
        query: One row per query.
        key: One row per key.
        value: What is read: one row per key, of any width $d_v$.
        mask: True where the query may read the key. None allows all.

    Returns:
        One row per query: a weighted mean of the values it may read, or zeros if there are none.

    Raises:
        ValueError: The shapes or the dtypes do not fit, or ``mask`` is not boolean.

    Source: Vaswani et al. 2017, section 3.2.1; lecture 000, "Attention is all you need".
    Chapter: attention#scaled-dot-product.

    Example:
        >>> import torch
        >>> attention(torch.zeros(1, 4), torch.zeros(2, 4), torch.tensor([[0.0, 3.0], [4.0, 1.0]]))
        tensor([[2., 2.]])
    """
    _check_query_and_key(query, key)
    _check_value(value, key)
    wide = torch.promote_types(value.dtype, torch.float32)  # half precision: round at the end
    weights = attention_weights(query.to(wide), key.to(wide), mask)
    return (weights @ without_unread(value.to(wide), mask)).to(value.dtype)


class Attention(nn.Module):
    r"""One head: attention among learned projections, $Q = XW^Q$, $K = CW^K$, $V = CW^V$.

    In self-attention the context $C$ is $X$ itself; in cross-attention it is another text.
    The probe ``weights`` is an identity that a forward hook can read: it sees $A$ before dropout.

    Args:
        d_model: The width of a row of ``x``.
        d_k: The width of queries and keys.
        d_v: The width of values, and of the output.
        d_context: The width of a row of ``context``; ``d_model`` if left out.
        dropout: In training, the share of the weights that is set to 0; the others grow by
            $1/(1 - \text{dropout})$, so that a row still sums to 1 on average, but not each time.
        bias: Whether the three projections add a bias.

    Raises:
        ValueError: A width is no integer of at least 1, or ``dropout`` is not in [0, 1).

    Source: Vaswani et al. 2017, section 3.2; lectures 001, "Final equations for one attention
    head" and "Cross-Attention", and 003, "Implementation Details". Chapter: attention#projections.

    Example:
        >>> import torch
        >>> head = Attention(d_model=5, d_k=3, d_v=2)
        >>> head(torch.zeros(7, 5), context=torch.zeros(11, 5)).shape
        torch.Size([7, 2])
    """

    def __init__(
        self,
        d_model: int,
        d_k: int,
        d_v: int,
        *,
        d_context: int | None = None,
        dropout: float = 0.0,
        bias: bool = False,
    ) -> None:
        super().__init__()
        d_context = d_model if d_context is None else d_context
        require_int(1, d_model=d_model, d_k=d_k, d_v=d_v, d_context=d_context)
        require(0 <= dropout < 1, "dropout must be at least 0 and less than 1", dropout=dropout)
        self.W_Q = nn.Linear(d_model, d_k, bias=bias)  # its .weight is the transpose of W^Q
        self.W_K = nn.Linear(d_context, d_k, bias=bias)
        self.W_V = nn.Linear(d_context, d_v, bias=bias)
        self.weights = nn.Identity()  # probe: hook it to see A
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "*batch n_q d_model"],
        context: Float[Tensor, "*batch n_k d_context"] | None = None,
        mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
    ) -> Float[Tensor, "*batch n_q d_v"]:
        r"""Each row of ``x`` reads from ``context``: $Z = \mathrm{softmax}(QK^\top/\sqrt{d_k})\,V$.

        Args:
            x: One row per token that reads.
            context: One row per token that is read; ``x`` itself if left out.
            mask: True where a token of ``x`` may read a token of the context. None allows all.

        Returns:
            One row per token of ``x``: a weighted mean of the projected context, or zeros for a
            token that may read nothing.

        Raises:
            ValueError: The shapes or the dtypes do not fit, or ``mask`` is not boolean.
        """
        context = x if context is None else context
        self._check_input(x, context, mask)
        x, context = without_idle(x, mask), without_unread(context, mask)
        query, key, value = self.W_Q(x), self.W_K(context), self.W_V(context)
        weights = self.weights(attention_weights(query, key, mask))
        return self.dropout(weights) @ value

    def _check_input(self, x: Tensor, context: Tensor, mask: Tensor | None) -> None:
        require_rows(self.W_Q.in_features, x=x)
        require_rows(self.W_K.in_features, context=context)
        require_dtype(self.W_Q.weight.dtype, x=x, context=context)
        _check_rows(x=x, context=context)
        _check_mask(mask, x, context)


def _check_query_and_key(query: Tensor, key: Tensor) -> None:
    require_float(query=query, key=key)
    _check_rows(query=query, key=key)
    rule = "query and key must have the same last dimension d_k of at least 1"
    fits = query.shape[-1] == key.shape[-1] > 0
    require(fits, rule, query=query, key=key)


def _check_rows(**rows: Tensor) -> None:
    """Two matrices by name, what reads and what is read, must agree in leading axes and dtype."""
    reads, is_read = rows.values()
    both = " and ".join(rows)
    same_axes = reads.shape[:-2] == is_read.shape[:-2]
    rule = f"{both} must be matrices with the same leading axes"
    require(reads.ndim >= 2 and is_read.ndim >= 2 and same_axes, rule, **rows)
    require_same_dtype(**rows)


def _check_value(value: Tensor, key: Tensor) -> None:
    rule = "there must be one value for each key: the same shape but for the last axis"
    require(value.ndim >= 2 and value.shape[:-1] == key.shape[:-1], rule, key=key, value=value)
    require_same_dtype(key=key, value=value)


def _check_mask(mask: Tensor | None, query: Tensor, key: Tensor) -> None:
    if mask is not None:
        require_pair_mask(mask, (*query.shape[:-1], key.shape[-2]))
