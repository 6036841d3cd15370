"""A dictionary that may be asked softly: any scores, their softmax, a mix of the values."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from softlookup.checks import (
    require,
    require_float,
    require_int,
    require_pair_mask,
    require_same_dtype,
)
from softlookup.ops import masked_softmax, softmax, without_unread


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
    require_float(scores=scores)
    require(scores.ndim >= 2, "scores must have an axis of queries and one of keys", scores=scores)
    if mask is not None:
        require_pair_mask(mask, scores.shape)
    if scores.shape[-1] == 0:
        return scores  # no key, no weight
    return softmax(scores) if mask is None else masked_softmax(scores, mask)


def attend(
    scores: Float[Tensor, "*batch n_q n_k"],
    value: Float[Tensor, "*batch n_k d_v"],
    mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
) -> Float[Tensor, "*batch n_q d_v"]:
    r"""Attention with any scores: $Z = AV$ with $A = \mathrm{softmax}(S)$.

    What is masked has no influence, whatever it holds: neither a score, nor a value that no query
    may read. What *some* query may read must be finite.

    Args:
        scores: One row per query, one column per key: how well they fit.
        value: What is read: one row per key.
        mask: True where the query may read the key. None allows all.

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
    require_float(scores=scores, value=value)
    wide = torch.promote_types(scores.dtype, torch.float32)  # half precision: round at the end
    weights = lookup_weights(scores.to(wide), mask)
    _check_value(value, (*scores.shape[:-2], scores.shape[-1]), scores.dtype)
    return (weights @ without_unread(value.to(wide), mask)).to(scores.dtype)


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
    best = _fit(query, key, value).argmax(dim=-1, keepdim=True)
    return value.gather(-2, best.expand(*best.shape[:-1], value.shape[-1]))


def soft_lookup(
    query: Float[Tensor, "*batch n_q d_k"],
    key: Float[Tensor, "*batch n_k d_k"],
    value: Float[Tensor, "*batch n_k d_v"],
    *,
    temperature: float = 1.0,
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
    return softmax(_fit(query, key, value), temperature=temperature) @ value


def lookup_error_bound(gap: float, n_keys: int, temperature: float, spread: float) -> float:
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
    require(0 <= gap < math.inf, "gap must be at least 0 and finite", gap=gap)
    require_int(1, n_keys=n_keys)
    rule = "temperature must be positive and finite"
    require(0 < temperature < math.inf, rule, temperature=temperature)
    require(0 <= spread < math.inf, "spread must be at least 0 and finite", spread=spread)
    ratio = (n_keys - 1) * math.exp(-gap / temperature)
    return spread * ratio / (1 + ratio)


def _fit(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The dot product of each query with each key, after the checks."""
    require_float(query=query, key=key)
    same_axes = query.shape[:-2] == key.shape[:-2]
    rule = "query and key must be matrices with the same leading axes"
    require(query.ndim >= 2 and key.ndim >= 2 and same_axes, rule, query=query, key=key)
    rule = "query and key must have the same last dimension d_k of at least 1"
    require(query.shape[-1] == key.shape[-1] > 0, rule, query=query, key=key)
    require(key.shape[-2] > 0, "there must be at least one key", key=key)
    require_same_dtype(query=query, key=key)
    _check_value(value, key.shape[:-1], key.dtype)
    return query @ key.mT


def _check_value(value: Tensor, rows: tuple[int, ...], dtype: torch.dtype) -> None:
    require_float(value=value)
    rule = f"there must be one value for each key: shape {(*rows, 'd_v')}"
    require(value.ndim >= 2 and value.shape[:-1] == tuple(rows), rule, value=value)
    rule = f"value must have the dtype {dtype}"
    require(value.dtype == dtype, rule, value=value.dtype)
