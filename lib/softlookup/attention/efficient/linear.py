"""No softmax: linear attention, whose memory of all keys is one small matrix."""

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.attention.lookup import attend, row_shares
from softlookup.checks import Size, checked, require
from softlookup.masks import causal_mask

FeatureMap = Callable[[Tensor], Tensor]
r"""$\phi$: rows of numbers to as many rows of features; no two rows' product may be negative."""


@checked
def elu_plus_one(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""A feature map with positive features: $\phi(x) = x + 1$ above 0, and $e^x$ below.

    It is computed as that, not as $\mathrm{elu}(x) + 1$, which rounds to 0 far below 0.

    Args:
        x: Any numbers, each mapped by itself.

    Returns:
        Positive numbers.

    Raises:
        ValueError: ``x`` is not floating-point.

    Source: Katharopoulos et al. 2020, section 3.2. Chapter: modern_attention#linear-attention.

    Example:
        >>> elu_plus_one(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0.3679, 1.0000, 3.0000])
    """
    return torch.where(x > 0, x + 1, torch.exp(x.clamp(max=0.0)))


@checked(not_empty="d_k")
def linear_attention(
    query: Float[Tensor, "*batch n_q d_k"],
    key: Float[Tensor, "*batch n_k d_k"],
    value: Float[Tensor, "*batch n_k d_v"],
    *,
    causal: bool = False,
    form: Literal["quadratic", "chunked", "recurrent"] = "chunked",
    feature_map: FeatureMap = elu_plus_one,
    chunk: Size = 64,
) -> Float[Tensor, "*batch n_q d_v"]:
    r"""Attention whose weights are products of features: $a_{ij} \sim \phi(q_i) \cdot \phi(k_j)$.

    Where softmax has $e^{s_{ij}}$, here is $\phi(q_i) \cdot \phi(k_j)$, divided by its row's sum.
    A product can be taken in another order, $(\phi(Q) \phi(K)^\top) V = \phi(Q) (\phi(K)^\top V)$,
    so that no pair of positions needs a number of its own.

    Args:
        query: One row per query.
        key: One row per key.
        value: What is read: one row per key, of any width $d_v$.
        causal: Each query reads the keys up to its own position alone.
        form: The order of the work, not the result. "quadratic": all pairs. "recurrent": one
            position after the other (see ``linear_step``). "chunked": pairs inside a chunk, the
            state for all before it. If not ``causal``, the last two are one product each.
        feature_map: $\phi$, from rows of $d_k$ numbers to rows of features.
        chunk: How many positions the form "chunked" takes at a time.

    Returns:
        One row per query: a weighted mean of the values, or zeros where the row's sum is 0.

    Raises:
        ValueError: The shapes or the dtypes do not fit, ``causal`` meets unequal numbers of queries
            and keys, ``form`` is unknown, or ``chunk`` is no integer of at least 1.

    Source: Katharopoulos et al. 2020, sections 3.2 to 3.4; lecture 000, "Modern Attention".
    Chapter: modern_attention#linear-attention.

    Example:
        >>> values = torch.tensor([[0.0, 3.0], [4.0, 1.0]])
        >>> linear_attention(torch.zeros(1, 4), torch.zeros(2, 4), values)
        tensor([[2., 2.]])
    """
    n = query.shape[-2]
    rule = "with causal there must be as many keys as queries, one at each position"
    require(not causal or n == key.shape[-2], rule, query=query, key=key)
    wide = torch.promote_types(value.dtype, torch.float32)  # half precision: round at the end
    query, key = _features(feature_map, query.to(wide), key.to(wide))
    if form == "quadratic":
        mask = causal_mask(n).to(query.device) if causal and n else None
        return attend(query @ key.mT, value.to(wide), mask, normalize=row_shares).to(value.dtype)
    written = _with_one(value.to(wide))
    if not causal:
        sums = query @ (key.mT @ written)  # nothing has an order: one state for all
    elif form == "chunked":
        sums = _chunked(query, key, written, chunk)
    else:
        sums = _recurrent(query, key, written)
    return _divide(sums).to(value.dtype)


@checked(not_empty="d_k")
def linear_step(
    query: Float[Tensor, "*batch d_k"],
    key: Float[Tensor, "*batch d_k"],
    value: Float[Tensor, "*batch d_v"],
    state: Float[Tensor, "*batch d_features d_v+1"] | None = None,
    *,
    feature_map: FeatureMap = elu_plus_one,
) -> tuple[Float[Tensor, "*batch d_v"], Float[Tensor, "*batch d_features d_v+1"]]:
    r"""One step of causal linear attention: write one key and value, then read with one query.

    The state is $\sum_j \phi(k_j) [v_j; 1]^\top$ over all positions so far. Its last column, which
    sums the features themselves, gives the divisor.

    Args:
        query: The query of this position.
        key: Its key.
        value: Its value.
        state: What the step before returned; None at the first position.
        feature_map: $\phi$, from rows of $d_k$ numbers to rows of features.

    Returns:
        What this position reads, and the new state, of the same size after any number of steps.

    Raises:
        ValueError: The shapes or the dtypes do not fit.

    Source: Katharopoulos et al. 2020, section 3.4. Chapter: modern_attention#linear-attention.

    Example:
        >>> out, state = linear_step(torch.zeros(1), torch.zeros(1), torch.tensor([2.0, 4.0]))
        >>> out, state
        (tensor([2., 4.]), tensor([[2., 4., 1.]]))
    """
    query, key = _features(feature_map, query, key)
    written = key.unsqueeze(-1) * _with_one(value).unsqueeze(-2)
    if state is not None:
        fits = state.shape[-2] == key.shape[-1]
        require(fits, "state must have one row per feature", state=state, features=key)
        written = state + written
    sums = query.unsqueeze(-2) @ written
    return _divide(sums).squeeze(-2), written


def _chunked(query: Tensor, key: Tensor, value: Tensor, chunk: int) -> Tensor:
    """Products inside a chunk, and the state of all chunks before it."""
    state, out = _empty_state(key, value), []
    for q, k, v in zip(*(x.split(chunk, dim=-2) for x in (query, key, value)), strict=True):
        out.append(q @ state + (q @ k.mT).tril() @ v)
        state = state + k.mT @ v
    return torch.cat(out, dim=-2)


def _recurrent(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """One row after the other: first write, then read."""
    state, out = _empty_state(key, value), []
    for q, k, v in zip(*(x.split(1, dim=-2) for x in (query, key, value)), strict=True):
        state = state + k.mT @ v
        out.append(q @ state)
    return torch.cat(out, dim=-2)


def _empty_state(key: Tensor, value: Tensor) -> Tensor:
    return key[..., :0, :].mT @ value[..., :0, :]  # a sum over no position


def _features(feature_map: FeatureMap, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    features = feature_map(query), feature_map(key)
    same_rows = all(
        f.shape[:-1] == x.shape[:-1] for f, x in zip(features, (query, key), strict=True)
    )
    rule = "feature_map must give each query and key a row of features, all of one length"
    fits = same_rows and features[0].shape[-1] == features[1].shape[-1] > 0
    require(fits, rule, query=features[0], key=features[1])
    return features


def _with_one(value: Tensor) -> Tensor:
    """A 1 after each value: what sums the values then sums the weights too."""
    return torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)


def _divide(sums: Tensor) -> Tensor:
    out, total = sums[..., :-1], sums[..., -1:]
    return out / torch.where(total == 0, 1.0, total)
