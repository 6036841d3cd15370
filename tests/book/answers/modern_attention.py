"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import math

import torch
import torch.nn.functional as F

from softlookup.attention import attention, attention_scores, path_lengths
from softlookup.attention.efficient import (
    cache_bytes,
    elu_plus_one,
    linear_attention,
    linear_step,
    sliding_mask,
)
from softlookup.exercises.modern_attention import (
    check_eviction,
    check_fading,
    check_features,
    check_gradients,
    check_longest,
    check_merge,
    check_reach,
    check_tiles,
)

RIGHT, WRONG = {}, {}


# The longest text


def book_longest(n_bytes, n_layers, n_kv_heads, d_head, width):
    slots = n_bytes // (2 * n_kv_heads * d_head * 2)
    short = slots // n_layers
    return short if short <= width else slots // (n_layers // 2) - width


def by_search(n_bytes, n_layers, n_kv_heads, d_head, width):
    sizes = {"n_layers": n_layers // 2, "n_kv_heads": n_kv_heads, "d_head": d_head}

    def fits(n):
        return cache_bytes(n, **sizes) + cache_bytes(n, window=width, **sizes) <= n_bytes

    low, high = 0, 2**40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def slots_of(n_bytes, n_layers, n_kv_heads, d_head, width):
    return n_bytes // (4 * n_kv_heads * d_head)


RIGHT[check_longest] = [
    (book_longest,),
    (by_search,),
    (lambda *a: torch.tensor(book_longest(*a)),),
]


WRONG[check_longest] = [
    (..., "Nothing to check so far: return the number of tokens"),
    (lambda *a: slots_of(*a) // a[1], "half of the layers keep a window only"),
    (lambda *a: 2 * slots_of(*a) // a[1], "The layers with a window take room"),
    (lambda *a: 2 * slots_of(*a) // a[1] - a[4], "A text shorter than the window"),
    (lambda *a: 4 * slots_of(*a) // a[1] - a[4], "Keys *and* values"),
    (lambda *a: book_longest(*a) + 1, "One token more does not fit"),
    (lambda *a: book_longest(*a) - 1, "One token more fits"),
    (lambda *a: book_longest(*a) + 0.5, "Whole tokens"),
    (lambda *a: 3, "tokens fit; yours says 3"),
    (lambda *a: "many", "should be one number; you gave"),
]


# The largest tile


def book_tiles(n, d, n_bytes):
    B = 1
    while 2 * 3 * (2 * B) * d + 4 * (2 * B) ** 2 + 4 * (2 * B) * (2 + d) <= n_bytes:
        B *= 2
    return B, 2 * (2 * n * d + 2 * n * d * n // B)


def by_root(n, d, n_bytes):
    """The quadratic formula in place of a search."""
    b = 10 * d + 8
    B = 2 ** math.floor(math.log2((math.sqrt(b**2 + 16 * n_bytes) - b) / 8))
    rows_in = n * d + (n // B) * 2 * n * d
    return torch.tensor(B), float(2 * (rows_in + n * d))


def tile_that(**sizes):
    tiles, score, sums = ({"tiles": 3, "score": 4, "sums": 4} | sizes).values()

    def find(n, d, n_bytes):
        B = 1
        while 4 * tiles * B * d + 4 * score * B**2 + 2 * sums * B * (2 + d) <= n_bytes:
            B *= 2
        return B, 2 * (2 * n * d + 2 * n * d * n // B)

    return find


def moved(rule):
    def find(n, d, n_bytes):
        B = book_tiles(n, d, n_bytes)[0]
        return B, rule(n * d, n * d * n // B)

    return find


RIGHT[check_tiles] = [(book_tiles,), (by_root,), (tile_that(),)]
WRONG[check_tiles] = [
    (..., "Nothing to check so far: return the rows"),
    (lambda *a: book_tiles(*a)[0], "Return two things"),
    (lambda *a: (..., 1), "Nothing to check so far"),
    (tile_that(sums=0), "With n = 8,192, d = 128", "66,560 for the running numbers"),
    (tile_that(score=0), "With n = 4,096, d = 64", "262,144 for the scores"),
    (tile_that(score=2), "With n = 2,048, d = 32", "65,536 for the scores"),
    (tile_that(tiles=2), "With n = 2,048, d = 32", "24,576 for the three tiles"),
    (lambda n, d, n_bytes: (64, 1), "twice your 64 rows take 148,480 bytes, and fit"),
    (lambda n, d, n_bytes: (100, 1), "100 rows are no power of two"),
    (lambda n, d, n_bytes: (0, 1), "0 rows are no power of two"),
    (moved(lambda once, again: 2 * once + 2 * again), "Those are numbers"),
    (moved(lambda once, again: 4 * again), "The queries are read once"),
    (moved(lambda once, again: 8 * again), "Q and Z cross the line once"),
    (moved(lambda once, again: 8 * once), "not only its own"),
    (moved(lambda once, again: 2 * once + 4 * again), "have two bytes for a number, too"),
    (moved(lambda once, again: 4 * once + 2 * again), "keys *and* values"),
    (moved(lambda once, again: 2 * once + 4 * again + 1), "yours moves 34,078,721 bytes"),
    (lambda *a: ("many", 1), "should be one number"),
]


# Two machines


def book_merge(m_a, ell_a, out_a, m_b, ell_b, out_b):
    m = torch.maximum(m_a, m_b)
    share_a, share_b = ell_a * torch.exp(m_a - m), ell_b * torch.exp(m_b - m)
    ell = share_a + share_b
    return m, ell, (share_a[:, None] * out_a + share_b[:, None] * out_b) / ell[:, None]


def by_logarithms(m_a, ell_a, out_a, m_b, ell_b, out_b):
    logs = torch.stack([m_a + ell_a.log(), m_b + ell_b.log()])
    m = torch.maximum(m_a, m_b)
    share_a, share_b = logs.softmax(dim=0)
    out = share_a[:, None] * out_a + share_b[:, None] * out_b
    return [m, (logs.logsumexp(dim=0) - m).exp(), out]


def with_output(read):
    """The right maximum and sum, and an output of another kind."""

    def merge(m_a, ell_a, out_a, m_b, ell_b, out_b):
        m, ell, _ = book_merge(m_a, ell_a, out_a, m_b, ell_b, out_b)
        return m, ell, read(m, ell, m_a, ell_a, out_a, m_b, ell_b, out_b)

    return merge


def grown(m_a, ell_a, out_a, m_b, ell_b, out_b):
    m, _, out = book_merge(m_a, ell_a, out_a, m_b, ell_b, out_b)
    return m, ell_a * torch.exp(m - m_a) + ell_b * torch.exp(m - m_b), out


def unshrunk(m, ell, m_a, ell_a, out_a, m_b, ell_b, out_b):
    return (ell_a[:, None] * out_a + ell_b[:, None] * out_b) / (ell_a + ell_b)[:, None]


def undivided_merge(m, ell, m_a, ell_a, out_a, m_b, ell_b, out_b):
    return ell[:, None] * book_merge(m_a, ell_a, out_a, m_b, ell_b, out_b)[2]


def taken_for_sums(m, ell, m_a, ell_a, out_a, m_b, ell_b, out_b):
    grown = [torch.exp(one - m)[:, None] for one in (m_a, m_b)]
    return (grown[0] * out_a + grown[1] * out_b) / ell[:, None]


def overflowing(m_a, ell_a, out_a, m_b, ell_b, out_b):
    """Undoes the maximum: right for small scores alone."""
    a, b = ell_a * m_a.exp(), ell_b * m_b.exp()
    m = torch.maximum(m_a, m_b)
    out = (a[:, None] * out_a + b[:, None] * out_b) / (a + b)[:, None]
    return m, (a + b) * torch.exp(-m), out


RIGHT[check_merge] = [
    (book_merge,),
    (by_logarithms,),
]


WRONG[check_merge] = [
    (..., "Nothing to check so far: return the maximum, the sum and the output"),
    (lambda *a: book_merge(*a)[:2], "Return three things"),
    (lambda *a: (a[0] + a[3], *book_merge(*a)[1:]), "the larger of the two maxima"),
    (lambda *a: (a[0], *book_merge(*a)[1:]), "Compare with the largest of all scores"),
    (lambda *a: (book_merge(*a)[0], a[1] + a[4], a[2]), "Shrink both"),
    (grown, "must *shrink*"),
    (lambda *a: (book_merge(*a)[0], a[1], a[2]), "against the common maximum before"),
    (with_output(lambda *a: (a[4] + a[7]) / 2), "That is a plain mean"),
    (with_output(lambda *a: a[4] + a[7]), "Two means do not add"),
    (with_output(undivided_merge), "Divide by the sum over both"),
    (with_output(unshrunk), "The shares need the sums"),
    (with_output(lambda *a: a[4]), "Compare with the softmax over all scores"),
    (with_output(taken_for_sums), "is divided already"),
    (overflowing, "their exponentials are inf"),
]


# Fading


def book_fading(query, key, value, gamma):
    ones = torch.ones_like(value[:, :1])
    written = torch.cat([value, ones], dim=1)
    state, rows = 0.0, []
    for q, k, v in zip(elu_plus_one(query), elu_plus_one(key), written, strict=True):
        state = gamma * state + k.outer(v)
        rows.append(q @ state)
    sums = torch.stack(rows)
    return sums[:, :-1] / sums[:, -1:]


def with_the_step(query, key, value, gamma):
    """The library's step, from a state that has shrunk."""
    state, rows = None, []
    for q, k, v in zip(query, key, value, strict=True):
        row, state = linear_step(q, k, v, None if state is None else gamma * state)
        rows.append(row)
    return torch.stack(rows)


def fading_pairs(gamma, n):
    i = torch.arange(n)
    back = i[:, None] - i
    return torch.where(back >= 0, gamma ** back.double(), 0.0)


def from_pairs(change=lambda weights: weights, below=None, features=elu_plus_one):
    """The formula from all pairs, with something else in place of the weights."""

    def read(query, key, value, gamma):
        plain = features(query) @ features(key).mT
        weights = change(plain * fading_pairs(gamma, len(query)))
        divisor = weights if below is None else below(plain)
        return weights @ value / divisor.sum(dim=-1, keepdim=True)

    return read


def never_fades(query, key, value, gamma):
    return linear_attention(query, key, value, causal=True)


def both_ways(query, key, value, gamma):
    i = torch.arange(len(query))
    weights = elu_plus_one(query) @ elu_plus_one(key).mT * gamma ** (i[:, None] - i).abs().double()
    return weights @ value / weights.sum(dim=-1, keepdim=True)


def undivided(query, key, value, gamma):
    products = elu_plus_one(query) @ elu_plus_one(key).mT
    return products * fading_pairs(gamma, len(query)) @ value


def fading_softmax(query, key, value, gamma):
    weights = attention_scores(query, key).exp() * fading_pairs(gamma, len(query))
    return weights @ value / weights.sum(dim=-1, keepdim=True)


def before_it(weights):
    return weights.tril(-1)


def elementwise_pairs(query, key, value, gamma):
    features, keys = elu_plus_one(query), elu_plus_one(key)
    weights = (features[:, None] * keys).sum(dim=-1) * fading_pairs(gamma, len(query))
    return (weights[:, :, None] * value).sum(dim=1) / weights.sum(dim=1, keepdim=True)


def past_by_past(query, key, value, gamma):
    """All pairs, a row at a time: never a whole table."""
    features, keys, rows = elu_plus_one(query), elu_plus_one(key), []
    for i in range(len(query)):
        back = i - torch.arange(i + 1).double()
        weights = (keys[: i + 1] * features[i]).sum(dim=1) * gamma**back
        rows.append((weights[:, None] * value[: i + 1]).sum(dim=0) / weights.sum())
    return torch.stack(rows)


def forgets_after_60(query, key, value, gamma):
    written = torch.cat([value, torch.ones_like(value[:, :1])], dim=1)
    features, keys = elu_plus_one(query), elu_plus_one(key)
    state, rows = 0.0, []
    for i in range(len(query)):
        state = gamma * state + keys[i].outer(written[i])
        if i >= 60:
            state = state - gamma**60 * keys[i - 60].outer(written[i - 60])
        rows.append(features[i] @ state)
    sums = torch.stack(rows)
    return sums[:, :-1] / sums[:, -1:]


def by_powers(query, key, value, gamma):
    """One sum for all, of keys divided by the powers of gamma."""
    powers = gamma ** torch.arange(len(key)).double()[:, None]
    keys = elu_plus_one(key) / powers
    states = (keys[:, :, None] * value[:, None, :]).cumsum(dim=0)
    sums, features = keys.cumsum(dim=0), elu_plus_one(query)
    return (features[:, None] @ states).squeeze(1) / (features * sums).sum(dim=1, keepdim=True)


RIGHT[check_fading] = [
    (book_fading,),
    (with_the_step,),
    (lambda *a: book_fading(*a).tolist(),),
]


WRONG[check_fading] = [
    (..., "Nothing to check so far: return one row per position"),
    (undivided, "Divide each row by its sum"),
    (never_fades, "Nothing fades"),
    (from_pairs(below=torch.tril), "The sum below the line fades, too"),
    (from_pairs(before_it), "The first row is 0/0"),
    (lambda *a: from_pairs(before_it)(*a).nan_to_num(), "a position reads itself"),
    (both_ways, "what comes later"),
    (fading_softmax, "That is softmax attention"),
    (from_pairs(features=F.elu), "Features must be positive"),
    (from_pairs(), "it takes all pairs"),
    (elementwise_pairs, "it takes all pairs"),
    (past_by_past, "it takes all pairs"),
    (forgets_after_60, "Right for 11 tokens, and other numbers than the formula gives for 512"),
    (by_powers, "holds NaN"),
    (lambda *a: book_fading(*a) + 1, "Other numbers than the formula gives, at gamma = 0.7"),
    (lambda *a: book_fading(*a)[:3], "should have shape (11, 3)"),
]


# The way back


def book_gradients(query, key, value, upstream, tile=16):
    scale = query.shape[1] ** -0.5
    to_query = []
    to_key, to_value = torch.zeros_like(key), torch.zeros_like(value)
    for q, g in zip(query.split(tile), upstream.split(tile), strict=True):
        p = (scale * q @ key.mT).softmax(dim=1)
        mean = ((p @ value) * g).sum(dim=1, keepdim=True)
        to_scores = p * (g @ value.mT - mean)
        to_query.append(scale * to_scores @ key)
        to_key += scale * to_scores.mT @ q
        to_value += p.mT @ g
    return torch.cat(to_query), to_key, to_value


def row_by_row(query, key, value, upstream):
    """The full Jacobian of each row's softmax, one query at a time."""
    scale, grads = query.shape[1] ** -0.5, [torch.zeros_like(x) for x in (query, key, value)]
    for i, (q, g) in enumerate(zip(query, upstream, strict=True)):
        p = (scale * key @ q).softmax(dim=0)
        to_p = value @ g
        to_s = scale * (p * to_p - p * (p @ to_p))
        grads[0][i] = to_s @ key
        grads[1] += to_s.outer(q)
        grads[2] += p.outer(g)
    return grads


def through(change):
    """Gradients from the whole table, with a mistake in what goes through the softmax."""

    def read(query, key, value, upstream):
        scale = query.shape[1] ** -0.5
        p = (scale * query @ key.mT).softmax(dim=1)
        g = upstream @ value.mT
        scores = change(p, g, (p * g).sum(dim=1, keepdim=True), scale)
        return scores @ key, scores.mT @ query, p.mT @ upstream

    return read


def automatic(query, key, value, upstream):
    rows = [x.clone().requires_grad_() for x in (query, key, value)]
    return torch.autograd.grad((attention(*rows) * upstream).sum(), rows)


def whole_table(p, g, mean, scale):
    return scale * p * (g - mean)


RIGHT[check_gradients] = [
    (book_gradients,),
    (lambda *a: book_gradients(*a, tile=32),),
    (row_by_row,),
]


WRONG[check_gradients] = [
    (..., "Nothing to check so far: return the three gradients"),
    (lambda *a: book_gradients(*a)[0], "Return three gradients"),
    (through(whole_table), "Take the queries in tiles"),
    (lambda *a: book_gradients(*a, tile=64), "Take smaller tiles"),
    (through(lambda p, g, mean, scale: p * (g - mean)), "The scores have a factor"),
    (through(lambda p, g, mean, scale: scale * p * g), "Take the row's mean"),
    (through(lambda p, g, mean, scale: scale * (g - mean)), "has a factor p"),
    (through(lambda p, g, mean, scale: scale * g), "go back through the softmax"),
    (lambda *a: (*book_gradients(*a)[:2], 2 * a[2]), "differs from that of PyTorch"),
    (lambda q, k, v, g: (*book_gradients(q, k, v, g)[:2], (g @ v.mT).mT @ g), "with its weight"),
    (lambda *a: (book_gradients(*a)[0][:3], *book_gradients(*a)[1:]), "should have shape (13, 5)"),
    (automatic, "Automatic differentiation is switched off here"),
    (torch.enable_grad()(automatic), "Work the formula out yourself"),
]


# Random features


def book_features(x, W):
    half_squares = (x**2).sum(dim=-1, keepdim=True) / 2
    return torch.exp(x @ W.mT - half_squares) / len(W) ** 0.5


def both_signs(x, W):
    """With -W, too: as right, with less noise."""
    return book_features(x, torch.cat([W, -W]))


def waves(x, W):
    """The features of Rahimi and Recht, times exp(|x|²/2): right on average, and not positive."""
    angles = x @ W.mT
    grown = ((x**2).sum(dim=-1, keepdim=True) / 2).exp()
    return grown * torch.cat([angles.cos(), angles.sin()], dim=1) / len(W) ** 0.5


def scaled_features(power, halves):
    def features(x, W):
        squares = halves * (x**2).sum(dim=-1, keepdim=True) / 2
        return torch.exp(x @ W.mT - squares) / len(W) ** power

    return features


RIGHT[check_features] = [
    (book_features,),
    (both_signs,),
]


WRONG[check_features] = [
    (..., "Nothing to check so far: return one row of features per row"),
    (waves, "are not positive"),
    (lambda x, W: elu_plus_one(x), "do not depend on W"),
    (scaled_features(0.5, 0), "On average your product is"),
    (scaled_features(0.5, 2), "You take away too much"),
    (scaled_features(0, 1), "it should be their mean"),
    (scaled_features(1, 1), "The mean is taken twice"),
    (lambda x, W: elu_plus_one(x @ W.mT), "within a few percent"),
    (lambda x, W: book_features(x, W).mT, "a row for each row of x"),
    (lambda x, W: book_features(x, W)[0], "The features"),
]


# Reach


def book_reach(mask, n_layers):
    one_layer = (mask | torch.eye(len(mask), dtype=torch.bool)).double()
    return torch.linalg.matrix_power(one_layer, n_layers) > 0


def without_skip(mask, n_layers):
    return torch.linalg.matrix_power(mask.double(), n_layers) > 0


def by_formula(mask, n_layers):
    return sliding_mask(len(mask), n_layers * 3 + 1)


RIGHT[check_reach] = [
    (book_reach,),
    (lambda mask, L: (path_lengths(mask) >= 0) & (path_lengths(mask) <= L),),
]


WRONG[check_reach] = [
    (..., "Nothing to check so far: return a boolean matrix"),
    (lambda mask, L: mask, "That is one layer"),
    (lambda mask, L: book_reach(mask, L).mT, "yours is turned round"),
    (lambda mask, L: book_reach(mask, L - 1), "one layer less than the 1 layer asked for"),
    (lambda mask, L: book_reach(mask, max(L - 1, 1)), "That is one layer. The next"),
    (lambda mask, L: book_reach(mask, L - (L > 2)), "one layer less than the 3 layers"),
    (without_skip, "i always reaches itself"),
    (lambda mask, L: torch.linalg.matrix_power(mask.double(), L), "not how many"),
    (by_formula, "Right for other masks; not for a stride"),
    (lambda mask, L: sliding_mask(13, 4 * L), "A layer goes w - 1 steps back"),
    (lambda mask, L: book_reach(mask, L)[0], "should have shape (13, 13)"),
]


# Eviction


def book_eviction(weights, n_sinks):
    mass, kept = weights[:, :n_sinks].sum(dim=1), weights[:, n_sinks:]
    return mass, kept / kept.sum(dim=1, keepdim=True)


def through_scores(weights, n_sinks):
    return 1 - weights[:, n_sinks:].sum(dim=1), weights.log()[:, n_sinks:].softmax(dim=1)


RIGHT[check_eviction] = [
    (book_eviction,),
    (through_scores,),
]


WRONG[check_eviction] = [
    (..., "Nothing to check so far: return the mass and the new weights"),
    (lambda p, s: book_eviction(p, s)[1], "Return two things"),
    (lambda p, s: (p[:, 0], book_eviction(p, s)[1]), "the sum of both weights"),
    (lambda p, s: (p[:, -1], p[:, s:]), "the weight that the sinks had"),
    (lambda p, s: (p[:, :s].sum(1), p[:, s:]), "A softmax always sums to 1"),
    (
        lambda p, s: (p[:, :s].sum(1), p[:, s:] + p[:, :s].sum(1)[:, None] / (7 - s)),
        "Not in equal parts",
    ),
    (lambda p, s: (p[:, :s].sum(1), p[:, s:].softmax(1)), "these are weights already"),
    (lambda p, s: (p[:, :s].sum(1), 2 * p[:, s:]), "Compare with the softmax over"),
    (lambda p, s: (p[:, :s].sum(1), p), "should have shape (5, 6)"),
]
