"""Relative positions in the scores: Shaw's trained keys of distances, and T5's trained prices."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from softlookup.checks import Count, NotNegative, Size, checked, require

_ROUNDING = 1e-9  # a logarithm that should be whole may come out a hair below


@checked
def clipped_distances(
    n_q: Count, n_k: Count | None = None, *, max_distance: Size
) -> Int[Tensor, "{n_q} n_k"]:
    r"""Which row of a table stands for each distance: $\operatorname{clip}(j - i, -K, K) + K$.

    Args:
        n_q: The number of queries.
        n_k: The number of keys; ``n_q`` if left out. Where there are more keys than queries, the
            queries are the *last* positions, as in ``causal_mask``.
        max_distance: $K$; all that is farther counts as being $K$ away.

    Returns:
        Integers from 0 ($K$ or more to the left) over $K$ (the token itself) to $2K$.

    Raises:
        ValueError: ``n_q`` is no integer of at least 0, ``n_k`` none of at least ``n_q``, or
            ``max_distance`` none of at least 1.

    Source: Shaw, Uszkoreit and Vaswani 2018, section 3.2. Chapter: positions#shaws-relative-keys.

    Example:
        >>> clipped_distances(4, max_distance=2)
        tensor([[2, 3, 4, 4],
                [1, 2, 3, 4],
                [0, 1, 2, 3],
                [0, 0, 1, 2]])
    """
    offsets = _offsets(n_q, n_k)
    return offsets.clamp(-max_distance, max_distance) + max_distance


@checked
class RelativeKeys(nn.Module):
    r"""A trained key for each distance: adds $q_i \cdot a_{\operatorname{clip}(j-i)}$ to a score.

    Args:
        max_distance: $K$; there are $2K + 1$ keys, one for each distance from $-K$ to $K$.
        d_k: The width of a query and of a key.
        std: The keys start as normal random numbers of this standard deviation.

    Raises:
        ValueError: A size is no integer of at least 1, or ``std`` is negative or not finite.

    Source: Shaw, Uszkoreit and Vaswani 2018, equation 4, without the values' own table.
    Chapter: positions#shaws-relative-keys.

    Example:
        >>> keys = RelativeKeys(max_distance=1, d_k=1)
        >>> keys.embedding.weight.data = torch.tensor([[5.0], [0.0], [-5.0]])
        >>> keys(torch.tensor([[1.0], [1.0], [2.0]])).tolist()
        [[0.0, -5.0, -5.0], [5.0, 0.0, -5.0], [10.0, 10.0, 0.0]]
    """

    def __init__(self, max_distance: Size, d_k: Size, *, std: NotNegative = 0.02) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.embedding = nn.Embedding(2 * max_distance + 1, d_k)
        nn.init.normal_(self.embedding.weight, std=std)

    def forward(
        self, query: Float[Tensor, "*batch n_q d_k"], n_k: Count | None = None
    ) -> Float[Tensor, "*batch n_q n_k"]:
        r"""What the distances add to the products $q_i \cdot k_j$, before these are divided.

        Args:
            query: One row per query.
            n_k: The number of keys, as in ``clipped_distances``.

        Returns:
            One number for each query and key; equal along the row where both are far away.

        Raises:
            ValueError: ``query`` has another width than the keys, or ``n_k`` is less than ``n_q``.
        """
        width = self.embedding.embedding_dim
        require(query.shape[-1] == width, f"query must have width {width}", query=query)
        rows = clipped_distances(query.shape[-2], n_k, max_distance=self.max_distance)
        rows = rows.to(query.device)
        of_each_distance = query @ self.embedding.weight.mT  # n_q × (2K + 1)
        return of_each_distance.gather(-1, rows.expand(*query.shape[:-1], rows.shape[-1]))


@checked
def distance_buckets(
    n_q: Count,
    n_k: Count | None = None,
    *,
    n_buckets: Size = 32,
    max_distance: Size = 128,
    causal: bool = True,
) -> Int[Tensor, "{n_q} n_k"]:
    """T5's buckets of distances: each short distance has its own, long ones share ever more.

    With ``exact = n_buckets // 2``, a key that stands ``distance`` to the left is in the bucket of
    that number if it is less than ``exact``. Else it is in bucket ``exact + floor(share *
    (n_buckets - exact))``, but at most in the last one, where ``share = log(distance / exact) /
    log(max_distance / exact)``.

    Args:
        n_q: The number of queries.
        n_k: The number of keys, as in ``clipped_distances``.
        n_buckets: How many there are, both directions together.
        max_distance: From here on, all distances share the last bucket.
        causal: Whether keys to the right all count as distance 0, since a mask hides them. If
            False, half of the buckets are for keys to the right.

    Returns:
        Integers from 0 to ``n_buckets - 1``.

    Raises:
        ValueError: A size is no integer of at least 1, ``n_k`` is less than ``n_q``, one direction
            has fewer than two buckets, or ``max_distance`` is no more than ``exact``.

    Source: Raffel et al. 2020, section 2.1, and the program published with it.
    Chapter: positions#t5s-buckets.

    Example:
        >>> distance_buckets(1, 10, n_buckets=6, max_distance=12).tolist()
        [[5, 5, 4, 4, 4, 3, 3, 2, 1, 0]]
    """
    offsets = _offsets(n_q, n_k)
    each_way = n_buckets if causal else n_buckets // 2
    exact = each_way // 2
    require(exact >= 1, "each direction needs at least two buckets", n_buckets=n_buckets)
    rule = "max_distance must be more than the distances that have a bucket of their own"
    require(max_distance > exact, rule, max_distance=max_distance, exact=exact)
    distance = (-offsets).clamp(min=0) if causal else offsets.abs()
    share = torch.log(distance.clamp(min=1).double() / exact) / math.log(max_distance / exact)
    shared = exact + (share * (each_way - exact) + _ROUNDING).floor().long()
    buckets = torch.where(distance < exact, distance, shared.clamp(max=each_way - 1))
    return buckets if causal else buckets + each_way * (offsets > 0)


@checked
class BucketBias(nn.Module):
    """A trained number for each head and bucket of distances, added to every score.

    Args:
        n_heads: How many heads.
        n_buckets: As in ``distance_buckets``, like all that follows.
        max_distance: From here on, all distances share one number.
        causal: Whether a mask hides all keys to the right.
        std: The numbers start as normal random ones of this standard deviation.

    Raises:
        ValueError: As in ``distance_buckets``, or ``std`` is negative or not finite.

    Source: Raffel et al. 2020, section 2.1. Chapter: positions#t5s-buckets.

    Example:
        >>> bias = BucketBias(1, n_buckets=4, max_distance=8)
        >>> bias.embedding.weight.data = torch.tensor([[0.0], [-1.0], [-2.0], [-3.0]])
        >>> bias(1, 6).tolist()
        [[[-3.0, -3.0, -2.0, -2.0, -1.0, 0.0]]]
    """

    def __init__(
        self,
        n_heads: Size,
        *,
        n_buckets: Size = 32,
        max_distance: Size = 128,
        causal: bool = True,
        std: NotNegative = 0.02,
    ) -> None:
        super().__init__()
        self.options = {"n_buckets": n_buckets, "max_distance": max_distance, "causal": causal}
        distance_buckets(1, **self.options)  # refuses what does not fit
        self.embedding = nn.Embedding(n_buckets, n_heads)
        nn.init.normal_(self.embedding.weight, std=std)

    def forward(self, n_q: Count, n_k: Count | None = None) -> Float[Tensor, "heads n_q n_k"]:
        """What is added to the scores of each head, whatever the words.

        Args:
            n_q: The number of queries.
            n_k: The number of keys, as in ``clipped_distances``.

        Returns:
            One number for each head, query and key; to hand over as ``score_bias``.

        Raises:
            ValueError: ``n_k`` is less than ``n_q``.
        """
        buckets = distance_buckets(n_q, n_k, **self.options).to(self.embedding.weight.device)
        return self.embedding(buckets).movedim(-1, 0)


def _offsets(n_q: int, n_k: int | None) -> Tensor:
    """How far to the right of each query each key stands: j - i."""
    n_k = n_q if n_k is None else n_k
    require(n_k >= n_q, "n_k must be at least n_q", n_q=n_q, n_k=n_k)
    return torch.arange(n_k) - torch.arange(n_k - n_q, n_k).unsqueeze(-1)
