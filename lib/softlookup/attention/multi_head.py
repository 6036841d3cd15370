"""Many attention heads side by side, and the matrix that mixes what they read."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softlookup.attention.cache import LayerCache
from softlookup.attention.dot_product import attention_scores, attention_weights
from softlookup.checks import (
    require,
    require_dtype,
    require_float,
    require_int,
    require_pair_mask,
    require_rows,
)
from softlookup.layers import RMSNorm
from softlookup.ops import masked_softmax, softmax


def split_heads(
    rows: Float[Tensor, "*batch n width"], n_heads: int
) -> Float[Tensor, "*batch heads n d"]:
    """Cut each row into ``n_heads`` pieces of equal width, and give every head its own matrix.

    Args:
        rows: One row per token: head 0's numbers first, then head 1's, and so on.
        n_heads: How many pieces; it must divide the width.

    Returns:
        One matrix per head, a view of the same memory: entry $c$ of head $h$ is entry $hd + c$ of
        the row.

    Raises:
        ValueError: ``rows`` is no matrix, or ``n_heads`` no integer of at least 1 that divides its
            width.

    Source: Vaswani et al. 2017, section 3.2.2; lecture 000, "MHA Illustration".
    Chapter: many_heads#the-heads-axis.

    Example:
        >>> split_heads(torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]), 2).tolist()
        [[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]
    """
    require_int(1, n_heads=n_heads)
    fits = rows.ndim >= 2 and rows.shape[-1] % n_heads == 0
    require(fits, "n_heads must divide the width of a row", rows=rows, n_heads=n_heads)
    return rows.unflatten(-1, (n_heads, rows.shape[-1] // n_heads)).transpose(-2, -3)


def join_heads(heads: Float[Tensor, "*batch heads n d"]) -> Float[Tensor, "*batch n width"]:
    r"""Put the heads' rows side by side again: $\mathrm{Concat}(\text{head}_0, ...)$.

    Args:
        heads: One matrix per head.

    Returns:
        One row per token: head 0's numbers first. It undoes ``split_heads``.

    Raises:
        ValueError: There is no axis of heads.

    Source: Vaswani et al. 2017, section 3.2.2; lecture 000, "MHA Illustration".
    Chapter: many_heads#the-heads-axis.

    Example:
        >>> join_heads(torch.tensor([[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]])).tolist()
        [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
    """
    require(heads.ndim >= 3, "heads must have the axes (heads, n, d)", heads=heads)
    return heads.transpose(-2, -3).flatten(-2)


class MultiHeadAttention(nn.Module):
    r"""Heads that each look up in their own way: $\mathrm{Concat}(\text{head}_0, ...)\,W^O$.

    Head $h$ is one attention among its own projections,
    $\text{head}_h = \mathrm{softmax}(Q_h K_h^\top/\sqrt{d_k})\,V_h$ with $Q_h = XW^Q_h$,
    $K_h = CW^K_h$, $V_h = CW^V_h$. The matrices of all heads stand side by side in one ``W_Q``,
    ``W_K``, ``W_V``. Heads may share keys and values: with fewer ``n_kv_heads``, neighbours read
    the same ones (grouped-query attention; with one, multi-query attention).

    Two paths give the same numbers. With ``fused`` PyTorch's kernel does it without ever storing
    all of $A$; without, every step is there to see. It may be switched on a trained layer. Two
    probes are identities that a forward hook can read: ``weights`` sees $A$ of all heads before
    dropout, only where ``fused`` is False; ``heads`` sees each head's output before they are
    joined, always.

    Args:
        d_model: The width of a row of ``x``, and of the output.
        n_heads: How many heads.
        d_k: The width of one head's queries and keys; ``d_model // n_heads`` if left out.
        d_v: The width of one head's values; the same if left out.
        d_context: The width of a row of ``context``; ``d_model`` if left out.
        dropout: In training, the share of the weights that is set to 0; the others grow by
            $1/(1 - \text{dropout})$.
        bias: Whether the four projections add a bias.
        n_kv_heads: How many heads of keys and values there are; as many as queries if left out.
        qk_norm: Whether every head's queries and keys pass an ``RMSNorm`` each, before they are
            turned: then no score can grow without bound.
        fused: Which path to take.

    Raises:
        ValueError: A size is no integer of at least 1, ``dropout`` is not in [0, 1), ``n_heads``
            does not divide ``d_model`` where a width is left out, or ``n_kv_heads`` does not divide
            ``n_heads``.

    Source: Vaswani et al. 2017, section 3.2.2; shared keys: Ainslie et al. 2023; normalised ones:
    Henry et al. 2020; lectures 000, "Multi Head Attention", 001, "Actual Attention: slightly more
    complicated", and 003, "Multihead Attention Mathematical Formulation".
    Chapter: many_heads#the-library.

    Example:
        >>> layer = MultiHeadAttention(d_model=64, n_heads=8)
        >>> layer(torch.zeros(7, 64)).shape, sum(p.numel() for p in layer.parameters())
        (torch.Size([7, 64]), 16640)
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        d_context: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        n_kv_heads: int | None = None,
        qk_norm: bool = False,
        fused: bool = True,
    ) -> None:
        super().__init__()
        require_int(1, d_model=d_model, n_heads=n_heads)
        divides = d_model % n_heads == 0 or None not in (d_k, d_v)
        rule = "n_heads must divide d_model, unless d_k and d_v are given"
        require(divides, rule, d_model=d_model, n_heads=n_heads, d_k=d_k, d_v=d_v)
        d_k, d_v = (d_model // n_heads if width is None else width for width in (d_k, d_v))
        d_context = d_model if d_context is None else d_context
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        require_int(1, d_k=d_k, d_v=d_v, d_context=d_context, n_kv_heads=n_kv_heads)
        rule = "n_kv_heads must divide n_heads"
        require(n_heads % n_kv_heads == 0, rule, n_heads=n_heads, n_kv_heads=n_kv_heads)
        require(0 <= dropout < 1, "dropout must be at least 0 and less than 1", dropout=dropout)
        self.n_heads, self.n_kv_heads, self.fused = n_heads, n_kv_heads, fused
        self.W_Q = nn.Linear(d_model, n_heads * d_k, bias=bias)
        self.W_K = nn.Linear(d_context, n_kv_heads * d_k, bias=bias)
        self.W_V = nn.Linear(d_context, n_kv_heads * d_v, bias=bias)
        self.W_O = nn.Linear(n_heads * d_v, d_model, bias=bias)
        self.query_norm = RMSNorm(d_k) if qk_norm else None
        self.key_norm = RMSNorm(d_k) if qk_norm else None
        self.weights = nn.Identity()  # probe: A, where not fused
        self.heads = nn.Identity()  # probe: what each head read
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "*batch n_q d_model"],
        context: Float[Tensor, "*batch n_k d_context"] | None = None,
        mask: Bool[Tensor, "... #n_q n_read"] | None = None,
        *,
        rotary: Callable[..., Tensor] | None = None,
        score_bias: Float[Tensor, "... #n_q #n_read"] | None = None,
        positions: Int[Tensor, "... n_read"] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "*batch n_q d_model"]:
        r"""Each row of ``x`` reads from ``context`` in ``n_heads`` ways; ``W_O`` mixes the results.

        A row of the context that no query of any head may read has no influence at all, whatever
        it holds; one that *some* query may read must be finite.

        Args:
            x: One row per token that reads.
            context: One row per token that is read; ``x`` itself if left out.
            mask: True where a token of ``x`` may read a token of the context. With no more axes
                than ``x`` it has no axis of heads: it is (..., n_q, n_k) and holds for every head.
                With one more, it is (..., heads, n_q, n_k): each head has its own. None allows all.
            rotary: A function that turns rows by their positions, such as
                ``softlookup.attention.positions.Rotary``. It is called as
                ``rotary(rows, positions=...)`` on the queries and on the keys of all heads; where
                there are more keys than queries, the queries are the *last* positions, as in
                ``causal_mask``.
            score_bias: Finite numbers added to the scores before the softmax, (heads, n_q, n_k) or
                anything that can be laid over the scores (..., heads, n_q, n_k).
            positions: For ``rotary``: where each token that is read stands, (n_k) or (..., n_k)
                with the leading axes of ``x``; 0, 1, 2, ... if left out.
            cache: Keys and values of tokens read before. Those of the context are put behind them,
                in this very cache, and all are read: then n_k counts all of them.

        Returns:
            One row per token of ``x``. A token that may read nothing gets zeros from every head,
            so that its row is the bias of ``W_O`` alone.

        Raises:
            ValueError: The shapes or the dtypes do not fit, ``mask`` is not boolean, or
                ``score_bias`` is not finite.
        """
        context = x if context is None else context
        n_kept = 0 if cache is None else cache.n_slots
        self._check_input(x, context, mask, score_bias, n_kept)
        if mask is not None:
            mask = mask.unsqueeze(-3) if mask.ndim <= x.ndim else mask
            x, context = _zero_idle_rows(x, mask), _zero_unread_rows(context, mask[..., n_kept:])
        query = _normed(split_heads(self.W_Q(x), self.n_heads), self.query_norm)
        key, value = self.keys_and_values(context)
        if cache is not None:
            key, value = cache.extend(key, value)
        if rotary is not None:
            query, key = _turned(query, key, rotary, positions)
        read = self._fused if self.fused else self._step_by_step
        return self.W_O(join_heads(self.heads(read(query, key, value, mask, score_bias))))

    def keys_and_values(
        self, context: Float[Tensor, "*batch n_k d_context"]
    ) -> tuple[Float[Tensor, "*batch kv_heads n_k d_k"], Float[Tensor, "*batch kv_heads n_k d_v"]]:
        """What a cache keeps of each token that is read.

        Args:
            context: One row per token.

        Returns:
            Keys and values of each head that has its own; the keys are not yet turned.
        """
        key, value = (split_heads(w(context), self.n_kv_heads) for w in (self.W_K, self.W_V))
        return _normed(key, self.key_norm), value

    def _step_by_step(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """Scores, weights, weighted mean, each of them stored."""
        key, value = (_for_every_head(rows, self.n_heads) for rows in (key, value))
        if bias is None or key.shape[-2] == 0:
            weights = attention_weights(query, key, mask)
        else:
            scores = attention_scores(query, key) + bias
            weights = softmax(scores) if mask is None else masked_softmax(scores, mask)
        return self.dropout(self.weights(weights)) @ value

    def _fused(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """The same by PyTorch's kernel: fast where everything, the mask too, has four axes."""
        if bias is not None:
            mask = bias if mask is None else torch.where(mask, bias, -torch.inf)
        lead = query.shape[:-3]
        query, key, value = (_with_one_batch_axis(t, lead) for t in (query, key, value))
        mask = None if mask is None else _with_one_batch_axis(mask, lead)
        rate, shared = self.dropout.p if self.training else 0.0, self.n_kv_heads < self.n_heads
        out = F.scaled_dot_product_attention(
            query, key, value, mask, dropout_p=rate, enable_gqa=shared
        )
        return out.view(*lead, *out.shape[1:])

    def _check_input(
        self,
        x: Tensor,
        context: Tensor,
        mask: Tensor | None,
        score_bias: Tensor | None,
        n_kept: int,
    ) -> None:
        require_rows(self.W_Q.in_features, x=x)
        require_rows(self.W_K.in_features, context=context)
        require_dtype(self.W_Q.weight.dtype, x=x, context=context)
        rule = "x and context must have the same leading axes"
        require(x.shape[:-2] == context.shape[:-2], rule, x=x, context=context)
        n_q, n_k = x.shape[-2], n_kept + context.shape[-2]
        if mask is not None:
            of_heads = isinstance(mask, Tensor) and mask.ndim > x.ndim
            heads = (self.n_heads,) if of_heads else ()
            require_pair_mask(mask, (*x.shape[:-2], *heads, n_q, n_k))
        if score_bias is not None:
            _check_score_bias(score_bias, x, (*x.shape[:-2], self.n_heads, n_q, n_k))


def _zero_idle_rows(x: Tensor, mask: Tensor) -> Tensor:
    """Rows that read, with zeros in those that no head lets read anything."""
    return _with_zeros(x, _any(_any(mask, -1), -2))


def _zero_unread_rows(context: Tensor, mask: Tensor) -> Tensor:
    """Rows that are read, with zeros in those that no query of any head reads: 0 · NaN is NaN."""
    return _with_zeros(context, _any(_any(mask, -2), -2))


def _any(mask: Tensor, axis: int) -> Tensor:
    return mask.view(torch.uint8).any(axis).bool()  # on bytes it is 20 times as fast as on booleans


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


def _check_score_bias(score_bias: Tensor, x: Tensor, scores_shape: tuple[int, ...]) -> None:
    require_float(score_bias=score_bias)
    require_dtype(x.dtype, score_bias=score_bias)
    pairs = zip(reversed(score_bias.shape), reversed(scores_shape), strict=False)
    fits = score_bias.ndim <= len(scores_shape) and all(a in (1, b) for a, b in pairs)
    rule = f"score_bias must fit scores of shape {tuple(scores_shape)}"
    require(fits, rule, score_bias=score_bias)
    rule = "score_bias must be finite: what must not be read belongs in mask"
    require(bool(score_bias.detach().isfinite().all()), rule)
