"""The soft lookup, the thread of the book: scores become weights, and weights mix the values.

Every attention of the library is ``attend`` with scores of its own, and every layer of attention is
a ``SoftLookup``. The dot product (``dot_product``), a kernel (``smoothing``), a small network
(``additive``) or a graph (``graph``) says how well a query fits a key; linear attention
(``efficient``) divides by the sum, ``row_shares``, where all others take the softmax.
"""

import math
from collections.abc import Callable
from typing import Annotated

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.checks import NotNegative, Positive, Range, Rate, Size, checked
from softlookup.ops import masked_softmax, softmax, without_unread

Normalizer = Callable[[Tensor, Tensor | None], Tensor]
"""Scores and a mask to weights, row by row: ``lookup_weights``, or ``row_shares``."""


@checked
def lookup_weights(
    scores: Float[Tensor, "*batch n_q n_k"],
    mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""How much each query reads from each key: $A = \mathrm{softmax}(S)$, row by row.

    Args:
        scores: One row per query, one column per key, from any scoring function.
        mask: True where the query may read the key. None allows all.

    Returns:
        Weights from 0 to 1, exactly 0 where ``mask`` is False. Each row sums to 1, or is all zeros
        if there is nothing that its query may read.

    Raises:
        ValueError: ``scores`` is no matrix of floating-point numbers, or ``mask`` is not boolean or
            does not fit.

    Source: lecture 004, "Definition & Properties".
    Chapter: soft_lookup#one-matrix-product.

    Example:
        >>> lookup_weights(torch.zeros(1, 4))
        tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    if scores.shape[-1] == 0:
        return scores  # no key, no weight
    return softmax(scores) if mask is None else masked_softmax(scores, mask)


@checked
def row_shares(
    scores: Annotated[Float[Tensor, "*batch n_q n_k"], Range(0)],
    mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""Weights without an exponential, each score by the sum: $a_{ij} = s_{ij}/\sum_l s_{il}$.

    With $s_{ij} = \kappa(q_i, k_j)$ that is kernel smoothing as Nadaraya and Watson wrote it, and
    with $s_{ij} = \phi(q_i) \cdot \phi(k_j)$ it is linear attention.

    Args:
        scores: One row per query, one column per key, none of them negative.
        mask: True where the query may read the key. None allows all.

    Returns:
        Weights from 0 to 1, exactly 0 where ``mask`` is False. Each row sums to 1, or is all zeros
        if all scores that its query may read are 0.

    Raises:
        ValueError: ``scores`` is no matrix of finite floating-point numbers of at least 0, or
            ``mask`` is not boolean or does not fit.

    Source: Katharopoulos et al. 2020, equation 3; lecture 004, "Definition & Properties".
    Chapter: modern_attention#linear-attention.

    Example:
        >>> row_shares(torch.tensor([[3.0, 1.0], [0.0, 0.0]]))
        tensor([[0.7500, 0.2500],
                [0.0000, 0.0000]])
    """
    scores = scores if mask is None else scores.masked_fill(~mask, 0.0)
    total = scores.sum(dim=-1, keepdim=True)
    return scores / torch.where(total == 0, 1.0, total)


@checked
def attend(
    scores: Float[Tensor, "*batch n_q n_k"],
    value: Float[Tensor, "*batch n_k d_v"],
    mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
    *,
    normalize: Normalizer = lookup_weights,
) -> Float[Tensor, "*batch n_q d_v"]:
    r"""Attention with any scores: $Z = AV$ with $A = \mathrm{softmax}(S)$.

    What is masked has no influence, whatever it holds: neither a score, nor a value that no query
    may read. What *some* query may read must be finite.

    Args:
        scores: One row per query, one column per key: how well they fit.
        value: What is read: one row per key.
        mask: True where the query may read the key. None allows all.
        normalize: What makes weights of scores: the softmax, or ``row_shares``.

    Returns:
        One row per query: a weighted mean of the values it may read, so a point of their convex
        hull, or zeros if there are none.

    Raises:
        ValueError: The shapes or the dtypes do not fit, or ``mask`` is not boolean.

    Source: lecture 004, "Definition & Properties".
    Chapter: soft_lookup#one-matrix-product.

    Example:
        >>> attend(torch.zeros(1, 2), torch.tensor([[0.0, 3.0], [4.0, 1.0]]))
        tensor([[2., 2.]])
    """
    wide = torch.promote_types(value.dtype, torch.float32)  # half precision: round at the end
    weights = normalize(scores.to(wide), mask)
    return (weights @ without_unread(value.to(wide), mask)).to(value.dtype)


@checked(not_empty="n_k d_k")
def hard_lookup(
    query: Float[Tensor, "*batch n_q d_k"],
    key: Float[Tensor, "*batch n_k d_k"],
    value: Float[Tensor, "*batch n_k d_v"],
) -> Float[Tensor, "*batch n_q d_v"]:
    r"""A dictionary: the one value whose key fits best.

    That is $v_{j^*}$ with $j^* = \arg\max_j \, q \cdot k_j$.

    Args:
        query: One row per query.
        key: One row per key.
        value: One row per key.

    Returns:
        One row of ``value`` per query, as it stands. Among keys that fit equally well, the first.

    Raises:
        ValueError: The shapes or the dtypes do not fit, or there is no key.

    Source: lecture 003, "Attention as a Soft, Averaging Lookup Table".
    Chapter: soft_lookup#hard-and-soft-lookup.

    Example:
        >>> hard_lookup(torch.tensor([[1.0, 0.2]]), torch.eye(2), torch.tensor([[7.0], [9.0]]))
        tensor([[7.]])
    """
    best = (query @ key.mT).argmax(dim=-1, keepdim=True)
    return value.gather(-2, best.expand(*best.shape[:-1], value.shape[-1]))


@checked(not_empty="n_k d_k")
def soft_lookup(
    query: Float[Tensor, "*batch n_q d_k"],
    key: Float[Tensor, "*batch n_k d_k"],
    value: Float[Tensor, "*batch n_k d_v"],
    *,
    temperature: Positive = 1.0,
) -> Float[Tensor, "*batch n_q d_v"]:
    r"""A soft dictionary: all values, mixed by how well their keys fit.

    $z = \sum_j a_j v_j$ with $a = \mathrm{softmax}(q K^\top/\tau)$. As $\tau \to 0$ it becomes
    ``hard_lookup``; ``lookup_error_bound`` says how fast.

    Args:
        query: One row per query.
        key: One row per key.
        value: One row per key.
        temperature: $\tau > 0$.

    Returns:
        One row per query: a weighted mean of all values.

    Raises:
        ValueError: The shapes or the dtypes do not fit, there is no key, or ``temperature`` is not
            positive and finite.

    Source: lecture 003, "Attention as a Soft, Averaging Lookup Table"; lecture 004,
    "Non-Transformer Examples" (Soft lookup). Chapter: soft_lookup#hard-and-soft-lookup.

    Example:
        >>> soft_lookup(torch.zeros(1, 2), torch.eye(2), torch.tensor([[7.0], [9.0]]))
        tensor([[8.]])
    """
    return attend(
        query @ key.mT,
        value,
        normalize=lambda scores, mask: softmax(scores, temperature=temperature),
    )


@checked
def lookup_error_bound(
    gap: NotNegative, n_keys: Size, temperature: Positive, spread: NotNegative
) -> float:
    r"""How far ``soft_lookup`` can be from ``hard_lookup``, from the lead of the best key.

    The bound is $D \, r/(1 + r)$ with $r = (n-1)\,e^{-g/\tau}$. Let the best key beat every other
    by at least $g$. Then each other weight is at most $e^{-g/\tau}$ times the best one, so together
    they are at most $r$ times it: a share of at most $r/(1+r)$. That share is all that is taken
    from $v_{j^*}$, and it moves the mix by at most the distance $D$ to another value. If all other
    keys are exactly $g$ behind and all other values are equal, the error *is* the bound.

    Args:
        gap: $g \ge 0$, the best score minus the second best.
        n_keys: $n$, the number of keys.
        temperature: $\tau > 0$.
        spread: $D \ge 0$, the largest distance from the best key's value to another value.

    Returns:
        A number from 0 to $D$: $\|\text{soft} - \text{hard}\|$ is at most that.

    Raises:
        ValueError: ``gap`` or ``spread`` is negative or not finite, ``n_keys`` is no integer of at
            least 1, or ``temperature`` is not positive and finite.

    Chapter: soft_lookup#temperature.

    Example:
        >>> lookup_error_bound(gap=0.0, n_keys=2, temperature=1.0, spread=6.0)
        3.0
    """
    ratio = (n_keys - 1) * math.exp(-gap / temperature)
    return spread * ratio / (1 + ratio)


@checked
class SoftLookup(nn.Module):
    """What all layers of attention have in common: ``mix``, which is ``attend`` with two places.

    The probe ``weights`` is an identity that a forward hook can read: it sees $A$. Dropout takes
    from the weights after it.

    Args:
        dropout: In training, the share of the weights that is set to 0; the others grow by
            $1/(1 - \\text{dropout})$, so that a row still sums to 1 on average, but not each time.

    Raises:
        ValueError: ``dropout`` is not in [0, 1).

    Source: lecture 004, "Definition & Properties".
    Chapter: soft_lookup#one-matrix-product.

    Example:
        >>> layer = SoftLookup()
        >>> layer.mix(torch.zeros(1, 2), torch.tensor([[0.0, 3.0], [4.0, 1.0]]))
        tensor([[2., 2.]])
    """

    def __init__(self, dropout: Rate = 0.0) -> None:
        super().__init__()
        self.weights = nn.Identity()  # probe: hook it to see A
        self.dropout = nn.Dropout(dropout)

    def mix(
        self,
        scores: Float[Tensor, "*batch n_q n_k"],
        value: Float[Tensor, "*batch n_k d_v"],
        mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
    ) -> Float[Tensor, "*batch n_q d_v"]:
        """Scores become weights, and weights mix the values.

        Args:
            scores: One row per query, one column per key: how well they fit.
            value: What is read: one row per key; rows that no query may read must be finite.
            mask: True where the query may read the key. None allows all.

        Returns:
            One row per query.

        Raises:
            ValueError: The shapes or the dtypes do not fit, or ``mask`` is not boolean.
        """
        return self.dropout(self.weights(lookup_weights(scores, mask))) @ value
