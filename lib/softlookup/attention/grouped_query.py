"""The layer of attention inside the models: what later chapters add to many heads.

Keys and values that heads share, norms of queries and keys, positions that turn them or bias their
scores, a cache of what was read before, and PyTorch's fused kernel.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, TypedDict, Unpack

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softlookup.attention.cache import LayerCache
from softlookup.attention.dot_product import attention_scores
from softlookup.attention.multi_head import MultiHeadAttention, join_heads, split_heads
from softlookup.checks import Range, Rate, Size, checked, require, require_pair_mask
from softlookup.layers import RMSNorm
from softlookup.masks import causal_mask


class Reading(TypedDict, total=False):
    """How positions and memory take part when tokens read: all of it may be left out.

    Attributes:
        rotary: A function that turns rows by their positions, such as
            ``softlookup.attention.positions.Rotary``. It is called as
            ``rotary(rows, positions=...)`` on the queries and on the keys of all heads; where there
            are more keys than queries, the queries are the *last* positions, as in ``causal_mask``.
        score_bias: Finite numbers added to the scores before the softmax, (heads, n_q, n_k) or
            anything that can be laid over the scores (..., heads, n_q, n_k).
        positions: For ``rotary``: where each token that is read stands, (n_k) or (..., n_k) with
            the leading axes of ``x``, integers of at least 0; 0, 1, 2, ... if left out.
        cache: Keys and values of tokens read before. Those of the context are put behind them, in
            this very cache, and all are read: then n_k counts all of them.

    Chapter: modern_attention#the-size-of-the-cache.
    """

    rotary: Callable[..., Tensor] | None
    score_bias: Float[Tensor, "... #n_q #n_read"] | None
    positions: Annotated[Int[Tensor, "... n_read"], Range(0)] | None
    cache: LayerCache | None


@checked
class GroupedQueryAttention(MultiHeadAttention):
    r"""Many heads, of which groups share their keys and values; with positions and a cache.

    With as many ``n_kv_heads`` as ``n_heads`` it is ``MultiHeadAttention``, with one it is
    multi-query attention. Neighbours share: heads 0 and 1 of four read the first of two.

    Two paths give the same numbers. With ``fused`` PyTorch's kernel does it without ever storing
    all of $A$; without, every step is there to see, and the probe ``weights`` sees $A$. It may be
    switched on a trained layer.

    Args:
        d_model: As in ``MultiHeadAttention``, like all that is not named here.
        n_heads: How many heads of queries.
        n_kv_heads: How many heads of keys and values; as many as of queries if left out.
        d_k: The width of one head's queries and keys.
        d_v: The width of one head's values.
        d_context: The width of a row of ``context``.
        dropout: In training, the share of the weights that is set to 0.
        bias: Whether the four projections add a bias.
        qk_norm: Whether every head's queries and keys pass an ``RMSNorm`` each, before they are
            turned: then no score can grow without bound.
        fused: Which path to take.

    Raises:
        ValueError: As in ``MultiHeadAttention``, or ``n_kv_heads`` does not divide ``n_heads``.

    Source: Ainslie et al. 2023; one shared head: Shazeer 2019; normalized queries and keys: Henry
    et al. 2020. Chapter: modern_attention#the-size-of-the-cache.

    Example:
        >>> layer = GroupedQueryAttention(d_model=64, n_heads=8, n_kv_heads=2)
        >>> layer(torch.zeros(7, 64)).shape, layer.W_K.weight.shape
        (torch.Size([7, 64]), torch.Size([16, 64]))
    """

    def __init__(
        self,
        d_model: Size,
        n_heads: Size,
        *,
        n_kv_heads: Size | None = None,
        d_k: Size | None = None,
        d_v: Size | None = None,
        d_context: Size | None = None,
        dropout: Rate = 0.0,
        bias: bool = True,
        qk_norm: bool = False,
        fused: bool = True,
    ) -> None:
        options = {"d_k": d_k, "d_v": d_v, "d_context": d_context}
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        rule = "n_kv_heads must divide n_heads"
        require(n_heads % n_kv_heads == 0, rule, n_heads=n_heads, n_kv_heads=n_kv_heads)
        self.n_kv_heads = n_kv_heads  # first: the projections are as wide as it says
        super().__init__(d_model, n_heads, dropout=dropout, bias=bias, **options)
        self.fused = fused
        self.query_norm, self.key_norm = (
            RMSNorm(self.W_Q.out_features // n_heads) if qk_norm else None for _ in range(2)
        )

    def _of_context(self, width: int, *, bias: bool) -> nn.Linear:
        """A projection of what is read, which neighbouring heads share."""
        return nn.Linear(self.d_context, self.n_kv_heads * width, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "*batch n_q {self.d_model}"],
        context: Float[Tensor, "*batch n_k {self.d_context}"] | None = None,
        mask: Bool[Tensor, "... #n_q n_read"] | None = None,
        **reading: Unpack[Reading],
    ) -> Float[Tensor, "*batch n_q {self.d_model}"]:
        r"""Each row of ``x`` reads from ``context`` in ``n_heads`` ways; ``W_O`` mixes the results.

        A row of the context that no query of any head may read has no influence at all, whatever
        it holds; one that *some* query may read must be finite.

        Args:
            x: One row per token that reads.
            context: One row per token that is read; ``x`` itself if left out.
            mask: True where a token of ``x`` may read a token of the context. With no more axes
                than ``x`` it has no axis of heads: it is (..., n_q, n_k) and holds for every head.
                With one more, it is (..., heads, n_q, n_k): each head has its own. None allows all.
            reading: What a ``Reading`` holds: ``rotary``, ``score_bias``, ``positions``, ``cache``.

        Returns:
            One row per token of ``x``. A token that may read nothing gets zeros from every head,
            so that its row is the bias of ``W_O`` alone.

        Raises:
            ValueError: The shapes or the dtypes do not fit, ``mask`` is not boolean, or
                ``score_bias`` is not finite.
        """
        context = x if context is None else context
        cache, bias = reading.get("cache"), reading.get("score_bias")
        n_kept = 0 if cache is None else cache.n_slots
        self._check_fit(x, n_kept + context.shape[-2], mask, bias)
        causal = mask is not None and bias is None and is_causal(mask)
        if mask is not None and not causal:
            mask = mask.unsqueeze(-3) if mask.ndim <= x.ndim else mask
            x, context = _with_zeros(x, _reads(mask)), _with_zeros(context, _is_read(mask, n_kept))
        query = _normed(split_heads(self.W_Q(x), self.n_heads), self.query_norm)
        key, value = self.keys_and_values(context)
        if cache is not None:
            key, value = cache.extend(key, value)
        if reading.get("rotary") is not None:
            query, key = _turned(query, key, reading["rotary"], reading.get("positions"))
        read = self._fused if self.fused else self._step_by_step
        return self.W_O(join_heads(self.heads(read(query, key, value, mask, bias, causal))))

    def keys_and_values(
        self, context: Float[Tensor, "*batch n_k {self.d_context}"]
    ) -> tuple[Float[Tensor, "*batch kv_heads n_k d_k"], Float[Tensor, "*batch kv_heads n_k d_v"]]:
        """What a cache keeps of each token that is read.

        Args:
            context: One row per token.

        Returns:
            Keys and values of each head that has its own; the keys are not yet turned.

        Raises:
            ValueError: The shape or the dtype of ``context`` does not fit.
        """
        key, value = (split_heads(w(context), self.n_kv_heads) for w in (self.W_K, self.W_V))
        return _normed(key, self.key_norm), value

    def _step_by_step(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        causal: bool,
    ) -> Tensor:
        """Scores, weights, weighted mean, each of them stored."""
        key, value = (_for_every_head(rows, self.n_heads) for rows in (key, value))
        scores = attention_scores(query, key)
        return self.mix(scores if bias is None else scores + bias, value, mask)

    def _fused(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        causal: bool,
    ) -> Tensor:
        """The same by PyTorch's kernel: fast where everything, the mask too, has four axes.

        Where it is told that the mask is causal, it leaves out what is above the diagonal.
        """
        lead = query.shape[:-3]
        query, key, value = (_with_one_batch_axis(t, lead) for t in (query, key, value))
        if causal:
            mask = None
        elif bias is not None:
            mask = bias if mask is None else torch.where(mask, bias, -torch.inf)
        mask = None if mask is None else _with_one_batch_axis(mask, lead)
        out = F.scaled_dot_product_attention(
            query,
            key,
            value,
            mask,
            dropout_p=self.dropout.p if self.training else 0.0,
            is_causal=causal,
            enable_gqa=self.n_kv_heads < self.n_heads,
        )
        return out.view(*lead, *out.shape[1:])

    def _check_fit(self, x: Tensor, n_k: int, mask: Tensor | None, bias: Tensor | None) -> None:
        """The mask and the bias, over scores of the tokens that are kept and those that come."""
        lead, n_q = x.shape[:-2], x.shape[-2]
        if mask is not None:
            heads = (self.n_heads,) if mask.ndim > x.ndim else ()
            require_pair_mask(mask, (*lead, *heads, n_q, n_k))
        if bias is not None:
            shape = (*lead, self.n_heads, n_q, n_k)
            pairs = zip(reversed(bias.shape), reversed(shape), strict=False)
            fits = bias.ndim <= len(shape) and all(a in (1, b) for a, b in pairs)
            require(fits, f"score_bias must fit scores of shape {shape}", score_bias=bias)
            rule = "score_bias must be finite: what must not be read belongs in mask"
            require(bool(bias.detach().isfinite().all()), rule)


@checked
def is_causal(mask: Bool[Tensor, "*batch n_q n_k"]) -> bool:
    """Whether a mask is one causal mask for all texts and heads, of as many keys as queries.

    Args:
        mask: True where a query may read a key.

    Returns:
        True for ``causal_mask(n)`` with n of at least 1, also where it has leading axes of length
        1; False for every other mask.

    Raises:
        ValueError: ``mask`` is not boolean, or has one axis alone.

    Example:
        >>> is_causal(causal_mask(3)), is_causal(~causal_mask(3))
        (True, False)
    """
    n = mask.shape[-1]
    return mask.numel() == n * n > 0 and torch.equal(mask.view(n, n), _causal(n, mask.device))


@lru_cache(maxsize=4)
def _causal(n: int, device: torch.device) -> Tensor:
    return causal_mask(n).to(device)


def _reads(mask: Tensor) -> Tensor:
    """Which rows read anything, in any head."""
    return _any(_any(mask, -1), -2)


def _is_read(mask: Tensor, n_kept: int) -> Tensor:
    """Which new rows any head reads; the others become zeros, since 0 · NaN would be NaN."""
    return _any(_any(mask[..., n_kept:], -2), -2)


def _any(mask: Tensor, axis: int) -> Tensor:
    return mask.to(torch.uint8).any(axis).bool()  # on bytes it is 20 times as fast as on booleans


def _with_zeros(rows: Tensor, counts: Tensor) -> Tensor:
    """Zeros in the rows that do not count. Mostly all do: then there is nothing to copy."""
    return rows if counts.all() else rows.masked_fill(~counts.unsqueeze(-1), 0.0)


def _normed(rows: Tensor, norm: RMSNorm | None) -> Tensor:
    """In the norm's precision: under autocast the rows come in another one."""
    return rows if norm is None else norm(rows.to(norm.weight.dtype)).to(rows.dtype)


def _turned(
    query: Tensor, key: Tensor, rotary: Callable[..., Tensor], positions: Tensor | None
) -> tuple[Tensor, Tensor]:
    n_q, n_k = query.shape[-2], key.shape[-2]
    require(n_q <= n_k, "with rotary, there must be a key for each query", n_q=n_q, n_k=n_k)
    if positions is None:
        positions = torch.arange(n_k, device=key.device)
    return rotary(query, positions=positions[..., n_k - n_q :]), rotary(key, positions=positions)


def _for_every_head(rows: Tensor, n_heads: int) -> Tensor:
    """Keys or values once for each head that reads them: neighbours read the same."""
    n_kv_heads = rows.shape[-3]
    return rows if n_kv_heads == n_heads else rows.repeat_interleave(n_heads // n_kv_heads, dim=-3)


def _with_one_batch_axis(tensor: Tensor, lead: torch.Size) -> Tensor:
    """The leading axes as one; it has length 1 where the tensor is the same for all of them."""
    if tensor.ndim <= 3:
        return tensor[(None,) * (4 - tensor.ndim)]
    if len(lead) == 1:
        return tensor
    return tensor.expand(*lead, *tensor.shape[-3:]).flatten(0, -4)
