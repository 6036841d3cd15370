"""Twelve parts of the patient, each with a bug that a good public project once had.

They are written anew, short and in this book's names. The line that is wrong, and the line that
mends it, stand in ``softlookup.exercises.bugs``.
"""

import torch
import torch.nn.functional as F
from torch import nn


def count_pairs(ids):
    """How often each pair of neighbours occurs."""
    counts, i = {}, 0
    while i < len(ids) - 1:
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
        i += 1
    return counts


def positions(n, d_model):
    """Sine and cosine waves of falling frequency, one row for each place."""
    place = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    pair = torch.arange(d_model // 2)
    angle = place / 10000 ** (pair / d_model)
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1)
    return waves.flatten(1)


def clean(x, real):
    """Zeros where there is only filler."""
    keep = real.unsqueeze(-1)
    return x * keep


def split(rows, n_heads):
    """Each head's own rows: (batch, heads, n, d_k)."""
    batch, n, d_model = rows.shape
    d_k = d_model // n_heads
    return rows.view(batch, n_heads, n, d_k)


def causal(n_q, n_k):
    """True where a query may read a key: not the future."""
    allowed = torch.ones(n_q, n_k, dtype=torch.bool)
    return allowed.tril()


def softmax(scores, mask):
    """Weights that sum to 1 over what may be read."""
    scores = scores + torch.where(mask, 0.0, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights.masked_fill(~mask, 0.0)  # a row without keys was 0/0


def drop(weights, rate, training):
    """Set a share of the weights to 0, in training."""
    if rate == 0.0:
        return weights
    return F.dropout(weights, rate)


def join(heads):
    """The heads' rows side by side: (batch, n, d_model)."""
    batch, n_heads, n, d_k = heads.shape
    d_model = n_heads * d_k
    return heads.reshape(batch, n, d_model)


def norm(x, weight, bias, eps):
    """Each row with mean 0 and variance 1, then a gain and a shift."""
    centred = x - x.mean(dim=-1, keepdim=True)
    size = x.std(dim=-1, keepdim=True) + eps
    return weight * centred / size + bias


def tie(embedding, unembedding):
    """One table for reading and for writing."""
    table = embedding.weight
    unembedding.weight = nn.Parameter(table)


def total_loss(losses, counts):
    """The loss of a batch from the mean losses of its parts."""
    total = 0.0
    for k in range(len(losses)):
        total = total + losses[k] / len(losses)
    return total


def top_k(scores, k):
    """Only the k best tokens may still be drawn."""
    k = min(k, scores.shape[-1])
    least = scores.topk(k, dim=-1).values[..., -1:]
    return scores.masked_fill(scores < least, 1e-10)
