"""The parts of a block in plain loops over one text, with a layer's own weights: slow and clear."""

import math


def linear_by_hand(row, layer):
    return [
        sum(w * value for w, value in zip(weights, row, strict=True)) + bias
        for weights, bias in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
    ]


def layer_norm_by_hand(row, norm):
    mean = sum(row) / len(row)
    variance = sum((value - mean) ** 2 for value in row) / len(row)
    scale = math.sqrt(variance + norm.eps)
    columns = zip(row, norm.weight.tolist(), norm.bias.tolist(), strict=True)
    return [gain * (value - mean) / scale + bias for value, gain, bias in columns]


def attention_by_hand(rows, layer):
    """Each token reads all tokens; heads are pieces of the rows of Q, K and V."""
    q, k, v = ([linear_by_hand(row, w) for row in rows] for w in (layer.W_Q, layer.W_K, layer.W_V))
    d, out = len(rows[0]) // layer.n_heads, []
    for i in range(len(rows)):
        read = []
        for h in range(layer.n_heads):
            own = range(h * d, (h + 1) * d)
            scores = [sum(q[i][c] * key[c] for c in own) / math.sqrt(d) for key in k]
            total = sum(math.exp(score) for score in scores)
            shares = [math.exp(score) / total for score in scores]
            read += [sum(a * v[j][c] for j, a in enumerate(shares)) for c in own]
        out.append(linear_by_hand(read, layer.W_O))
    return out


def gelu_by_hand(row):
    return [value * (1 + math.erf(value / math.sqrt(2))) / 2 for value in row]


def feed_forward_by_hand(row, layer):
    """Through GELU, as BERT and ViT have it."""
    return linear_by_hand(gelu_by_hand(linear_by_hand(row, layer.W_1)), layer.W_2)


def added(rows, others):
    return [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(rows, others, strict=True)]
