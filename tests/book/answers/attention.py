"""Answers to the exercises of chapter 12: right, and wrong with the words that they get."""

import math

import torch

from softlookup.exercises.attention import (
    check_attention,
    check_causality,
    check_columns,
    check_masked_softmax,
    check_moments,
)

RIGHT, WRONG = {}, {}


def fill(scores, mask, value=-math.inf):
    """The scores, with the forbidden ones replaced."""
    return scores if mask is None else scores.masked_fill(~mask, value)


def scaled(Q, K):
    """The scores of a right solution."""
    return Q @ K.mT / math.sqrt(K.shape[1])


def book_attention(Q, K, V, mask=None):
    return fill(scaled(Q, K), mask).softmax(dim=-1).nan_to_num(0.0) @ V


def loop_attention(Q, K, V, mask=None):
    Z = torch.zeros(len(Q), V.shape[1], dtype=V.dtype)
    for i in range(len(Q)):
        allowed = [j for j in range(len(K)) if mask is None or mask[i, j]]
        e = [math.exp(Q[i] @ K[j] / math.sqrt(K.shape[1])) for j in allowed]
        for j, weight in zip(allowed, e, strict=True):
            Z[i] += weight / sum(e) * V[j]
    return Z


def pytorch_attention(Q, K, V, mask=None):
    return torch.nn.functional.scaled_dot_product_attention(Q, K, V, mask)


WRONG[check_attention] = {
    "blank": (lambda Q, K, V, mask=None: ..., "Nothing to check so far"),
    "none": (lambda Q, K, V, mask=None: None, "Nothing to check so far"),
    "no mask argument": (lambda Q, K, V: scaled(Q, K).softmax(-1) @ V, "TypeError"),
    "an error": (lambda Q, K, V, mask=None: Q @ V.undefined, "AttributeError"),
    "over queries": (
        lambda Q, K, V, mask=None: fill(scaled(Q, K), mask).softmax(dim=0) @ V,
        "Your weights sum to 1 over queries; they should over keys",
    ),
    "no scale": (lambda Q, K, V, mask=None: (Q @ K.mT).softmax(-1) @ V, "scale is missing"),
    "scaled by d_k": (
        lambda Q, K, V, mask=None: (Q @ K.mT / K.shape[1]).softmax(-1) @ V,
        "by d_k itself; it should be √d_k",
    ),
    "scaled by the width of V": (
        lambda Q, K, V, mask=None: (Q @ K.mT / math.sqrt(V.shape[1])).softmax(-1) @ V,
        "by √d_v; it should be √d_k",
    ),
    "scaled by the number of keys": (
        lambda Q, K, V, mask=None: (Q @ K.mT / math.sqrt(len(K))).softmax(-1) @ V,
        "by √n_k; it should be √d_k",
    ),
    "multiplied": (
        lambda Q, K, V, mask=None: (Q @ K.mT * math.sqrt(K.shape[1])).softmax(-1) @ V,
        "by 1/√d_k; it should be √d_k",
    ),
    "no softmax": (lambda Q, K, V, mask=None: scaled(Q, K) @ V, "softmax is missing"),
    "the weights": (lambda Q, K, V, mask=None: scaled(Q, K).softmax(-1), "These are the weights"),
    "transposed output": (
        lambda Q, K, V, mask=None: book_attention(Q, K, V, mask).mT,
        "output is transposed",
    ),
    "queries and keys swapped": (
        lambda Q, K, V, mask=None: scaled(K, Q).softmax(-1) @ V,
        "changed places",
    ),
    "fits only square shapes": (
        lambda Q, K, V, mask=None: (scaled(K, Q).mT + torch.zeros(len(Q), len(Q))).softmax(-1) @ V,
        "not for 3 queries and 7 keys",
    ),
    "mask ignored": (lambda Q, K, V, mask=None: scaled(Q, K).softmax(-1) @ V, "ignore the mask"),
    "mask flipped": (
        lambda Q, K, V, mask=None: book_attention(Q, K, V, None if mask is None else ~mask),
        "the other way round",
    ),
    "mask added": (
        lambda Q, K, V, mask=None: (scaled(Q, K) + (0 if mask is None else mask)).softmax(-1) @ V,
        "only nudges them",
    ),
    "mask after the softmax": (
        lambda Q, K, V, mask=None: scaled(Q, K).softmax(-1) * (1 if mask is None else mask) @ V,
        "no longer sums to 1",
    ),
    "masked scores of 0": (
        lambda Q, K, V, mask=None: (scaled(Q, K) * (1 if mask is None else mask)).softmax(-1) @ V,
        "e to the 0 is 1",
    ),
    "scaled only without a mask": (
        lambda Q, K, V, mask=None: (
            book_attention(Q, K, V)
            if mask is None
            else book_attention(Q * math.sqrt(K.shape[1]), K, V, mask)
        ),
        "With a mask, the scale is missing",
    ),
    "NaN in the empty row": (
        lambda Q, K, V, mask=None: fill(scaled(Q, K), mask).softmax(-1) @ V,
        "gets NaN",
    ),
    "average in the empty row": (
        lambda Q, K, V, mask=None: fill(scaled(Q, K), mask, -1e9).softmax(-1) @ V,
        "plain average of all keys, the forbidden ones",
    ),
    "one wrong number": (
        lambda Q, K, V, mask=None: book_attention(Q, K, V, mask).index_put(
            (torch.tensor(0), torch.tensor(1)), V.sum()
        ),
        "row 0, column 1 you have",
    ),
}


RIGHT[check_attention] = [(book_attention,), (loop_attention,), (pytorch_attention,)]


def book_columns(W_Q, W_K, W_V, X):
    Q, K, V = W_Q @ X, W_K @ X, W_V @ X
    return V @ (Q.mT @ K / math.sqrt(len(Q))).softmax(dim=1).mT


def row_columns(W_Q, W_K, W_V, X):
    """Another way: through the row form, and back."""
    return book_attention(X.mT @ W_Q.mT, X.mT @ W_K.mT, X.mT @ W_V.mT).mT


RIGHT[check_columns] = [
    (shape, solution)
    for shape in [(2, 2), [2, 2], torch.Size((2, 2))]
    for solution in [book_columns, row_columns]
]


def columns_slip(scale=None, dim=1, transpose=True):
    """A solution for columns with one thing changed."""

    def answer(W_Q, W_K, W_V, X):
        Q, K, V = W_Q @ X, W_K @ X, W_V @ X
        width = math.sqrt(len(Q)) if scale is None else scale(Q, X)
        weights = (Q.mT @ K / width).softmax(dim=dim)
        return V @ (weights.mT if transpose else weights)

    return answer


WRONG[check_columns] = {
    "blank": ((..., ...), lambda *matrices: ..., "Nothing to check so far"),
    "blank function": ((2, 2), lambda *matrices: ..., "Nothing to check so far"),
    "n by n": ((3, 3), book_columns, "what one would want"),
    "the shape of a factor": ((2, 3), book_columns, "each factor"),
    "the width before": ((5, 5), book_columns, "before the projection"),
    "another shape": ((4, 7), book_columns, "has not the shape (4, 7)"),
    "a number": (4, book_columns, "should be a pair"),
    "as on the slide": (
        (2, 2),
        lambda W_Q, W_K, W_V, X: ((W_Q @ X) @ (W_K @ X).mT).softmax(-1) @ (W_V @ X),
        "RuntimeError",
    ),
    "words in rows": ((2, 2), lambda *m: book_columns(*m).mT, "one column per word"),
    "V A": ((2, 2), columns_slip(transpose=False), "V Aᵀ, not V A"),
    "over queries": ((2, 2), columns_slip(dim=0), "sum to 1 over queries; they should over keys"),
    "columns of the scores": ((2, 2), columns_slip(dim=0, transpose=False), "along each row"),
    "scaled by d_model": ((2, 2), columns_slip(lambda Q, X: math.sqrt(len(X))), "by √d_model"),
    "no scale": ((2, 2), columns_slip(lambda Q, X: 1), "scale is missing"),
    "scaled by d_k": ((2, 2), columns_slip(lambda Q, X: len(Q)), "d_k itself"),
    "a fixed root": ((2, 2), columns_slip(lambda Q, X: math.sqrt(2)), "always divide by √2"),
}


def draws(d_k, mean=0.0):
    q, k = mean + torch.randn(2, 150_000, d_k, generator=torch.Generator().manual_seed(5))
    return q * k


def book_moments(d_k):
    s = draws(d_k).sum(dim=1)
    return s.var(), s.pow(4).mean() / s.var() ** 2 - 3


def python_moments(d_k):
    """Another way: plain numbers, central moments."""
    s = draws(d_k).sum(dim=1).double()
    centred = s - s.mean()
    variance = centred.pow(2).mean().item()
    return [variance, centred.pow(4).mean().item() / variance**2 - 3]


WRONG[check_moments] = {
    "blank": (lambda d_k: ..., "Nothing to check so far"),
    "blank pair": (lambda d_k: (..., ...), "Nothing to check so far"),
    "one number": (lambda d_k: book_moments(d_k)[0], "should have shape (2,)"),
    "standard deviation": (lambda d_k: (math.sqrt(d_k), 6 / d_k), "the standard deviation"),
    "divided by the root": (lambda d_k: (1.0, 6 / d_k), "after the division by √d_k"),
    "mean 1": (
        lambda d_k: (draws(d_k, mean=1.0).sum(dim=1).var(), 6 / d_k),
        "your entries have mean 1",
    ),
    "fixed width": (lambda d_k: book_moments(4), "use its argument d_k"),
    "uniform entries": (lambda d_k: (d_k / 9, 6 / d_k), "mean 0 and variance 1"),
    "not the excess": (lambda d_k: (book_moments(d_k)[0], 3 + 6 / d_k), "the whole kurtosis"),
    "one term": (lambda d_k: (book_moments(d_k)[0], 6.0), "a single term"),
    "normal": (lambda d_k: (book_moments(d_k)[0], 0.0), "minus 3"),
    "NaN": (lambda d_k: (math.nan, 1.5), "NaN"),
}


RIGHT[check_moments] = [(book_moments,), (python_moments,)]


def book_changed(layer, X, j):
    changed = X + (torch.arange(len(X)) == j)[:, None]
    return (layer(changed) != layer(X)).any(dim=1).nonzero().flatten().tolist()


def loop_changed(layer, X, j):
    """Another way: a copy, noise, and a loop; positions in falling order, as a tensor."""
    changed = X.clone()
    changed[j] += torch.rand(X.shape[1], generator=torch.Generator().manual_seed(1))
    before, after = layer(X), layer(changed)
    moved = [i for i in range(len(X)) if not torch.equal(before[i], after[i])]
    return torch.tensor(moved[::-1])


def in_place(layer, X, j):
    before = layer(X)
    X[j] += 1
    return (layer(X) != before).any(dim=1).nonzero().flatten().tolist()


def by_a_factor(layer, X, j):
    changed = X.clone()
    changed[j] *= 2
    return (layer(changed) != layer(X)).any(dim=1).nonzero().flatten().tolist()


def with_a_tolerance(layer, X, j):
    changed = X + (torch.arange(len(X)) == j)[:, None]
    near = torch.isclose(layer(changed), layer(X)).all(dim=1)
    return (~near).nonzero().flatten().tolist()


def flags(layer, X, j):
    return [i in book_changed(layer, X, j) for i in range(len(X))]


WRONG[check_causality] = {
    "blank": (lambda layer, X, j: ..., "Nothing to check so far"),
    "assumed": (lambda layer, X, j: list(range(j, len(X))), "assume a causal layer"),
    "in place": (in_place, "changed X itself"),
    "by a factor": (by_a_factor, "Row j may be zero"),
    "with a tolerance": (with_a_tolerance, "not with a tolerance"),
    "flags": (flags, "not a flag for each"),
    "from 1": (lambda *a: [i + 1 for i in book_changed(*a)], "Count positions from 0"),
    "those that stayed": (
        lambda layer, X, j: [i for i in range(len(X)) if i not in book_changed(layer, X, j)],
        "stayed the same",
    ),
    "only j": (lambda layer, X, j: [j], "word 3 moves the outputs [3, 4, 5]; your list is [3]"),
    "a number": (lambda layer, X, j: len(book_changed(layer, X, j)), "list of positions"),
}


RIGHT[check_causality] = [(book_changed,), (loop_changed,)]


def book_softmax(scores, mask):
    allowed = scores.masked_fill(~mask & mask.any(dim=-1, keepdim=True), -math.inf)
    return allowed.softmax(dim=-1) * mask


def exp_softmax(scores, mask):
    """Another way: exponentials by hand, and a safe division."""
    largest = fill(scores, mask).amax(dim=-1, keepdim=True).clamp(min=-1e30)
    e = torch.exp((scores - largest).clamp(max=0)) * mask
    total = e.sum(dim=-1, keepdim=True)
    return e / torch.where(total == 0, 1.0, total)


def naive_exp(scores, mask):
    e = torch.exp(scores) * mask
    return e / e.sum(dim=-1, keepdim=True).clamp(min=1e-30)


WRONG[check_masked_softmax] = {
    "blank": (lambda scores, mask: ..., "Nothing to check so far"),
    "plain": (lambda scores, mask: fill(scores, mask).softmax(-1), "gets NaN"),
    "-1e9": (lambda scores, mask: fill(scores, mask, -1e9).softmax(-1), "plain average"),
    "replaced NaN": (
        lambda scores, mask: (
            (scores + torch.zeros(3, 7).masked_fill(~mask, -math.inf)).softmax(-1).nan_to_num(0.0)
        ),
        "the gradient is NaN",
    ),
    "flipped": (lambda scores, mask: book_softmax(scores, ~mask), "the other way round"),
    "added": (lambda scores, mask: (scores + mask).softmax(-1), "only nudges them"),
    "too late": (lambda scores, mask: scores.softmax(-1) * mask, "no longer sums to 1"),
    "zero scores": (lambda scores, mask: (scores * mask).softmax(-1), "e to the 0 is 1"),
    "ignored": (lambda scores, mask: scores.softmax(-1), "ignore the mask"),
    "over queries": (
        lambda scores, mask: fill(scores, mask).softmax(dim=0).nan_to_num(0.0),
        "over queries; they should over keys",
    ),
    "almost zero": (lambda scores, mask: fill(scores, mask, -20.0).softmax(-1), "exactly 0"),
    "overflow": (naive_exp, "overflows"),
    "detached": (lambda scores, mask: book_softmax(scores.detach(), mask), "No gradient"),
    "transposed": (lambda scores, mask: book_softmax(scores, mask).mT, "should have shape (3, 7)"),
    "a list": (lambda scores, mask: book_softmax(scores, mask).tolist(), "No gradient"),
}


RIGHT[check_masked_softmax] = [(book_softmax,), (exp_softmax,)]
