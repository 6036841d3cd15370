"""Scaled dot-product attention with one head (Vaswani et al. 2017, section 3.2.1)."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.attention.lookup import SoftLookup, attend, lookup_weights
from softlookup.checks import Rate, Size, checked
from softlookup.ops import without_idle, without_unread


@checked(not_empty="d_k")
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
    scores = query @ key.mT
    return scores / math.sqrt(query.shape[-1]) if scale else scores


@checked(not_empty="d_k")
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
    query, key = without_idle(query, mask), without_unread(key, mask)
    return lookup_weights(attention_scores(query, key, scale=scale), mask)


@checked(not_empty="d_k")
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
    Chapter: attention#all-rows-at-once.

    Example:
        >>> import torch
        >>> attention(torch.zeros(1, 4), torch.zeros(2, 4), torch.tensor([[0.0, 3.0], [4.0, 1.0]]))
        tensor([[2., 2.]])
    """
    wide = torch.promote_types(value.dtype, torch.float32)  # half precision: round at the end
    query, key = without_idle(query, mask).to(wide), without_unread(key, mask).to(wide)
    return attend(attention_scores(query, key), value.to(wide), mask).to(value.dtype)


@checked
class Attention(SoftLookup):
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
        d_model: Size,
        d_k: Size,
        d_v: Size,
        *,
        d_context: Size | None = None,
        dropout: Rate = 0.0,
        bias: bool = False,
    ) -> None:
        super().__init__(dropout)
        d_context = d_model if d_context is None else d_context
        self.d_model, self.d_context = d_model, d_context
        self.W_Q = nn.Linear(d_model, d_k, bias=bias)  # its .weight is the transpose of W^Q
        self.W_K = nn.Linear(d_context, d_k, bias=bias)
        self.W_V = nn.Linear(d_context, d_v, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "*batch n_q {self.d_model}"],
        context: Float[Tensor, "*batch n_k {self.d_context}"] | None = None,
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
        x, context = without_idle(x, mask), without_unread(context, mask)
        query, key, value = self.W_Q(x), self.W_K(context), self.W_V(context)
        return self.mix(attention_scores(query, key), value, mask)
