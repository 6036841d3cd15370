"""The same twelve parts, each with another bug: for the exercises."""

from itertools import pairwise

import torch


def count_pairs(ids):
    """How often each pair of neighbours can be joined."""
    counts, before = {}, None
    for pair in pairwise(ids):
        overlaps = pair == before and pair[0] == pair[1]
        counts[pair] = counts.get(pair, 0) + (not overlaps)
        before = pair
    return counts


def positions(n, d_model):
    """Sine and cosine waves of falling frequency, one row for each place."""
    place = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    column = torch.arange(0, d_model, 2)
    angle = place / 10000 ** (column // d_model)
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1)
    return waves.flatten(1)


def clean(x, real):
    """Zeros where there is only filler."""
    nothing = 0.0 * x
    return torch.where(real.unsqueeze(-1), x, nothing)


def split(rows, n_heads):
    """Each head's own rows: (batch, heads, n, d_k)."""
    batch, n, d_model = rows.shape
    d_k = d_model // n_heads
    return rows.view(batch, n, d_k, n_heads).permute(0, 3, 1, 2)


def causal(n_q, n_k):
    """True where a query may read a key: not the future."""
    square = torch.ones(n_k, n_k, dtype=torch.bool).tril()
    return square[:n_q]


def softmax(scores, mask):
    """Weights that sum to 1 over what may be read."""
    scores = scores.masked_fill(~mask, -torch.inf)
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def drop(weights, rate, training):
    """Set a share of the weights to 0, in training."""
    if not training:
        return weights
    kept = torch.rand_like(weights) >= rate
    return weights * kept


def join(heads):
    """The heads' rows side by side: (batch, n, d_model)."""
    batch, n_heads, n, d_k = heads.shape
    rows = heads.permute(0, 2, 3, 1)
    return rows.reshape(batch, n, n_heads * d_k)


def norm(x, weight, bias, eps):
    """Each row with mean 0 and variance 1, then a gain and a shift."""
    axes = tuple(range(1, x.ndim))
    centred = x - x.mean(dim=axes, keepdim=True)
    variance = centred.square().mean(dim=axes, keepdim=True)
    return weight * centred / (variance + eps).sqrt() + bias


def tie(embedding, unembedding):
    """One table for reading and for writing."""
    table = embedding.weight
    with torch.no_grad():
        unembedding.weight.copy_(table)


def total_loss(losses, counts):
    """The loss of a batch from the mean losses of its parts."""
    total, n_all = 0.0, len(counts) * max(counts)
    for loss, n in zip(losses, counts, strict=True):
        total = total + loss * n / n_all
    return total


def top_k(scores, k):
    """Only the k best tokens may still be drawn."""
    best = scores.topk(k, dim=-1).values
    return scores.masked_fill(scores < best.min(), -torch.inf)
