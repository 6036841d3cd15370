"""Streams without end: which keys a cache keeps, and a softmax that may give less than 1."""

from typing import Annotated, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from softlookup.attention.dot_product import attention, attention_weights
from softlookup.attention.efficient.windows import sliding_mask
from softlookup.checks import Count, Finite, Size, checked
from softlookup.ops import masked_softmax, softmax


class StreamStep(NamedTuple):
    """What a streaming cache holds at one step, and what is read from it.

    Args:
        positions: The positions of the keys in the cache, in order.
        weights: One weight for each of them; they sum to 1.
        out: What the step's query reads.

    Chapter: modern_attention#sinks.
    """

    positions: list[int]
    weights: Float[Tensor, "*batch _slots"]
    out: Float[Tensor, "*batch d_v"]


@checked
def streaming_mask(n: Size, width: Size, n_sinks: Count = 0) -> Bool[Tensor, "n n"]:
    """Each query reads the first ``n_sinks`` keys and the last ``width``, itself among them.

    Args:
        n: The number of positions.
        width: $w$, how many of the latest keys a query reads.
        n_sinks: $s$, how many keys at the start of the text are kept for good; 0 gives
            ``sliding_mask``.

    Returns:
        True at $(i, j)$ where $j \\le i$ and either $j < s$ or $j > i - w$. Row $i$ sees
        $\\min(i + 1, s + w)$ keys: those of a cache with $s + w$ slots.

    Raises:
        ValueError: ``n`` or ``width`` is no integer of at least 1, or ``n_sinks`` none of at
            least 0.

    Source: Xiao et al. 2024, section 3.2; lecture 000, "Modern Attention".
    Chapter: modern_attention#sinks.

    Example:
        >>> streaming_mask(5, 2, 1).int()
        tensor([[1, 0, 0, 0, 0],
                [1, 1, 0, 0, 0],
                [1, 1, 1, 0, 0],
                [1, 0, 1, 1, 0],
                [1, 0, 0, 1, 1]], dtype=torch.int32)
    """
    mask = sliding_mask(n, width)
    mask[:, :n_sinks] = True
    return mask.tril()


@checked(not_empty="d_k")
def stream_attention(
    query: Float[Tensor, "*batch n d_k"],
    key: Float[Tensor, "*batch n d_k"],
    value: Float[Tensor, "*batch n d_v"],
    width: Size,
    *,
    n_sinks: Count = 0,
) -> list[StreamStep]:
    """Attention as it runs in a stream: token by token, from a cache that never grows past s + w.

    Each step puts its own key and value into the cache; where that makes more than
    ``n_sinks + width``, the oldest that is no sink goes, for good.

    Args:
        query: One row per position, used one after the other.
        key: One row per position.
        value: What is read: one row per position, of any width $d_v$.
        width: $w$, how many of the latest keys are kept.
        n_sinks: $s$, how many of the first keys are kept for good.

    Returns:
        One step per position. Stacked, their ``out`` is
        ``attention(query, key, value, streaming_mask(n, width, n_sinks))``.

    Raises:
        ValueError: ``width`` is no integer of at least 1, ``n_sinks`` none of at least 0, or shapes
            or dtypes do not fit.

    Source: Xiao et al. 2024, section 3.2. Chapter: modern_attention#sinks.

    Example:
        >>> ones, value = torch.ones(4, 2), torch.tensor([[9.0], [0.0], [2.0], [4.0]])
        >>> [(step.positions, step.out.item()) for step in stream_attention(ones, ones, value, 1)]
        [([0], 9.0), ([1], 0.0), ([2], 2.0), ([3], 4.0)]
        >>> steps = stream_attention(ones, ones, value, 1, n_sinks=1)
        >>> [(step.positions, step.out.item()) for step in steps]
        [([0], 9.0), ([0, 1], 4.5), ([0, 2], 5.5), ([0, 3], 6.5)]
    """
    positions, keys, values, steps = [], key[..., :0, :], value[..., :0, :], []
    for i in range(query.shape[-2]):
        if len(positions) == n_sinks + width:
            positions = positions[:n_sinks] + positions[n_sinks + 1 :]
            keys, values = _without(keys, n_sinks), _without(values, n_sinks)
        positions = [*positions, i]
        keys = torch.cat([keys, key[..., i : i + 1, :]], dim=-2)
        values = torch.cat([values, value[..., i : i + 1, :]], dim=-2)
        asked = query[..., i : i + 1, :]
        weights, out = attention_weights(asked, keys), attention(asked, keys, values)
        steps.append(StreamStep(positions, weights.squeeze(-2), out.squeeze(-2)))
    return steps


@checked(not_empty="n")
def softmax_plus_one(
    scores: Float[Tensor, "*batch n"],
    mask: Bool[Tensor, "*#batch n"] | None = None,
    *,
    sink: Annotated[float | Float[Tensor, "*#batch"], Finite] = 0.0,
) -> Float[Tensor, "*batch n"]:
    r"""Softmax with one more term below: $p_j = e^{s_j} / (e^b + \sum_l e^{s_l})$.

    It is the softmax with one more key, of score $b$ and of value zero, whose weight is left out:
    a place to look that says nothing. With $b = 0$ the term is 1.

    Args:
        scores: One row per distribution; -inf is a score that gets no weight.
        mask: True where a score takes part. None lets all.
        sink: $b$, one number, or one for each row, such as a parameter of each head.

    Returns:
        Weights from 0 to 1, exactly 0 where ``mask`` is False. A row's sum is less than 1 (up to
        rounding), and near 0 where all scores are far below $b$.

    Raises:
        ValueError: ``scores`` is not floating-point or has an empty row, ``mask`` does not fit, or
            ``sink`` is neither a finite number nor of the same dtype with one entry for each row.

    Source: Miller 2023; with a learned $b$: OpenAI 2025; lecture 000, "Modern
    Attention". Chapter: modern_attention#optional-softmax-plus-one.

    Example:
        >>> softmax_plus_one(torch.tensor([[0.0, 0.0], [-5.0, -5.0]]))
        tensor([[0.3333, 0.3333],
                [0.0066, 0.0066]])
    """
    below = torch.as_tensor(sink, dtype=scores.dtype, device=scores.device)
    below = below.expand(scores.shape[:-1]).unsqueeze(-1)
    scores = torch.cat([below, scores], dim=-1)
    if mask is None:
        return softmax(scores)[..., 1:]
    mask = torch.cat([torch.ones_like(mask[..., :1]), mask], dim=-1)  # the sink is never hidden
    return masked_softmax(scores, mask)[..., 1:]


@checked
def cache_bytes(
    n: Count,
    *,
    n_layers: Size,
    n_kv_heads: Size,
    d_head: Size,
    window: Size | None = None,
    n_sinks: Count = 0,
    dtype: torch.dtype = torch.bfloat16,
) -> int:
    r"""The memory of the keys and values of one text: $2 L H_{kv} d_k$ numbers for each slot.

    Args:
        n: How many tokens were read.
        n_layers: $L$, the number of layers.
        n_kv_heads: $H_{kv}$, how many heads of keys and values a layer keeps.
        d_head: The width of one of them.
        window: How many of the latest tokens are kept; None keeps all.
        n_sinks: With a window, how many of the first tokens are kept, too.
        dtype: The kind of number: 2 bytes in bfloat16.

    Returns:
        The bytes of $\min(n, \text{window} + \text{n\_sinks})$ slots.

    Raises:
        ValueError: A number is no integer of at least 1 (``n`` and ``n_sinks``: of at least 0), or
            ``dtype`` is none of PyTorch's.

    Source: Shazeer 2019; Ainslie et al. 2023, section 2.
    Chapter: modern_attention#the-size-of-the-cache.

    Example:
        >>> cache_bytes(1, n_layers=32, n_kv_heads=8, d_head=128)
        131072
    """
    if window is not None:
        n = min(n, window + n_sinks)
    return 2 * n_layers * n_kv_heads * d_head * n * dtype.itemsize


def _without(rows: Tensor, index: int) -> Tensor:
    return torch.cat([rows[..., :index, :], rows[..., index + 1 :, :]], dim=-2)
