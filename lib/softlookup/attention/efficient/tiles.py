"""No table of all pairs: softmax in one pass, and attention tile by tile (FlashAttention)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from softlookup.attention.dot_product import attention_scores
from softlookup.checks import Size, checked, require


@checked(not_empty="n")
def online_softmax(
    scores: Float[Tensor, "*batch n"], *, tile: Size = 1
) -> Float[Tensor, "*batch n"]:
    r"""Softmax whose maximum and sum come from a single pass over the scores, tile by tile.

    The running maximum $m$ and the sum $\ell = \sum_j e^{s_j - m}$ of the scores seen so far are
    kept. Where the next tile raises the maximum to $m'$, the old sum shrinks by $e^{m - m'}$.

    Args:
        scores: Any finite numbers; -inf is a score that gets no weight.
        tile: How many scores are taken at a time.

    Returns:
        Weights from 0 to 1, those of ``softmax``; each row sums to 1. A row of -inf alone is all
        zeros.

    Raises:
        ValueError: ``scores`` is not floating-point or has an empty row, or ``tile`` is no integer
            of at least 1.

    Source: Milakov and Gimelshein 2018. Chapter: modern_attention#online-softmax.

    Example:
        >>> online_softmax(torch.tensor([0.0, 0.0, 10_000.0, 10_000.0]))
        tensor([0.0000, 0.0000, 0.5000, 0.5000])
    """
    largest = scores.new_full((*scores.shape[:-1], 1), -torch.inf)
    total = torch.zeros_like(largest)
    for part in scores.split(tile, dim=-1):
        largest, shrink, exponentials = _raise_maximum(largest, part)
        total = shrink * total + exponentials.sum(dim=-1, keepdim=True)
    _, _, exponentials = _raise_maximum(largest, scores)
    return _divide(exponentials, total)


@checked(not_empty="d_k")
def tiled_attention(
    query: Float[Tensor, "*batch n_q d_k"],
    key: Float[Tensor, "*batch n_k d_k"],
    value: Float[Tensor, "*batch n_k d_v"],
    mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
    *,
    causal: bool = False,
    tile: Size = 64,
) -> Float[Tensor, "*batch n_q d_v"]:
    r"""Attention without the table of weights: one tile of queries meets one tile of keys.

    Beside the online softmax's $m$ and $\ell$, each query keeps the running sum
    $\sum_j e^{s_j - m} v_j$; divided by $\ell$ at the end, it is the output. The way back computes
    the scores again, for one tile of queries at a time.

    Args:
        query: One row per query.
        key: One row per key.
        value: What is read: one row per key, of any width $d_v$.
        mask: True where the query may read the key. None allows all.
        causal: Each query reads no key that comes later, as with ``causal_mask(n_q, n_k)``: the
            queries are the last positions. Tiles that lie wholly in the future are left out.
        tile: How many queries, and how many keys, are taken at a time.

    Returns:
        The same as ``attention(query, key, value, mask)``, whatever the tile: one row per query,
        zeros for a query that may read nothing.

    Raises:
        ValueError: The shapes or the dtypes do not fit, ``mask`` is not boolean, ``tile`` is no
            integer of at least 1, or ``causal`` meets fewer keys than queries.

    Source: Dao et al. 2022, section 3.1, algorithm 1. Chapter: modern_attention#tiles.

    Example:
        >>> values = torch.tensor([[0.0, 3.0], [4.0, 1.0]])
        >>> tiled_attention(torch.zeros(1, 4), torch.zeros(2, 4), values, tile=1)
        tensor([[2., 2.]])
    """
    n_q, n_k = query.shape[-2], key.shape[-2]
    rule = "with causal there must be at least as many keys as queries"
    require(not causal or n_k >= n_q, rule, n_q=n_q, n_k=n_k)
    mask = None if mask is None else mask.expand(*mask.shape[:-2], n_q, n_k)
    out = []
    for i, rows in enumerate(query.split(tile, dim=-2)):
        part = None if mask is None else mask[..., i * tile : (i + 1) * tile, :]
        last = n_k - n_q + i * tile if causal else n_k  # what the tile's first query reads last
        args = (rows, key, value, part, last, tile)
        out.append(checkpoint(_read, *args, use_reentrant=False, preserve_rng_state=False))
    return torch.cat(out, dim=-2)


def _read(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, last: int, tile: int
) -> Tensor:
    """What one tile of queries reads; query i of it reads no key after ``last + i``."""
    wide = torch.promote_types(query.dtype, torch.float32)  # half precision: round at the end
    out = value.new_zeros((*query.shape[:-1], value.shape[-1]), dtype=wide)
    largest = out.new_full((*query.shape[:-1], 1), -torch.inf)
    total = torch.zeros_like(largest)
    for start in range(0, min(key.shape[-2], last + query.shape[-2]), tile):
        keys = slice(start, start + tile)
        q, k, v = (x.to(wide) for x in (query, key[..., keys, :], value[..., keys, :]))
        allowed = _allowed(q, k, None if mask is None else mask[..., keys], last - start)
        scores, v = _scores_and_values(q, k, v, allowed)
        largest, shrink, exponentials = _raise_maximum(largest, scores)
        total = shrink * total + exponentials.sum(dim=-1, keepdim=True)
        out = shrink * out + exponentials @ v
    return _divide(out, total).to(value.dtype)


def _raise_maximum(largest: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The maximum with the new scores, what the old sums shrink by, the new exponentials."""
    raised = torch.maximum(largest, scores.detach().amax(dim=-1, keepdim=True))
    level = raised.masked_fill(raised == -torch.inf, 0.0)  # nothing read so far: all stays 0
    return raised, torch.exp(largest - level), torch.exp(scores - level)


def _divide(sums: Tensor, total: Tensor) -> Tensor:
    return sums / torch.where(total == 0, 1.0, total)  # an empty row stays zero


def _allowed(query: Tensor, key: Tensor, mask: Tensor | None, last: int) -> Tensor:
    i = torch.arange(query.shape[-2], device=query.device).unsqueeze(-1)
    allowed = torch.arange(key.shape[-2], device=query.device) <= i + last
    return allowed if mask is None else allowed & mask


def _scores_and_values(
    query: Tensor, key: Tensor, value: Tensor, allowed: Tensor
) -> tuple[Tensor, Tensor]:
    """Scores, -inf where forbidden; what no query of the tile may read is set to 0."""
    unread = ~allowed.any(dim=-2).unsqueeze(-1)  # 0 times NaN would be NaN
    idle = ~allowed.any(dim=-1, keepdim=True)
    scores = attention_scores(query.masked_fill(idle, 0.0), key.masked_fill(unread, 0.0))
    return scores.masked_fill(~allowed, -torch.inf), value.masked_fill(unread, 0.0)
