"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import math

import torch

from softlookup.attention import attention
from softlookup.exercises.attention import (
    SENTENCE,
    check_ablation,
    check_attention,
    check_backward,
    check_causality,
    check_columns,
    check_pencil,
    check_rootless,
    check_shapes,
    check_symptoms,
    check_taste,
)

RIGHT, WRONG = {}, {}


def fill(scores, mask, value=-math.inf):
    """The scores, with the forbidden ones replaced."""
    return scores if mask is None else scores.masked_fill(~mask, value)


def scaled(Q, K):
    """The scores of a right solution."""
    return Q @ K.mT / math.sqrt(K.shape[1])


def book_attention(Q, K, V, mask=None):
    weights = fill(scaled(Q, K), mask).softmax(dim=-1)
    return fill(weights, mask, 0.0) @ V


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
    "every NaN hidden": (
        lambda Q, K, V, mask=None: fill(scaled(Q, K), mask).softmax(-1).nan_to_num(0.0) @ V,
        "the NaN of the input is hidden",
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
    "another shape": ((4, 7), book_columns, "does not have the shape (4, 7)"),
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
    "the root of n": ((2, 2), columns_slip(lambda Q, X: math.sqrt(Q.shape[1])), "divide by √n"),
    "a fixed root": ((2, 2), columns_slip(lambda Q, X: math.sqrt(2)), "always divide by √2"),
}


def book_changed(layer, X, j):
    changed = X.clone()
    changed[j] += torch.arange(1, X.shape[1] + 1)
    return (layer(changed) != layer(X)).any(dim=1).nonzero().flatten().tolist()


def by_a_constant(layer, X, j):
    changed = X.clone()
    changed[j] += 1
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
    "by a constant": (by_a_constant, "grow by the same amount"),
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


PENCIL = [[5.0, 2.0], [5.0, 2.0], [4.0, 3.0]]

CAUSAL_ROW = [16 / 3, 4 / 3]

RIGHT[check_pencil] = [
    (PENCIL, CAUSAL_ROW),
    (torch.tensor(PENCIL), torch.tensor(CAUSAL_ROW)),
    ([[5, 2], [5, 2], [4.01, 3]], (5.33, 1.33)),
]


def pencil(slip):
    """The pencil's numbers with something else between the scores without the root and Z."""
    queries = torch.tensor([[1.0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]])
    keys = torch.tensor([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]])
    values = torch.tensor([[8.0, 0], [0, 4], [4, 4]])
    return slip(1.386294 * queries @ keys.mT, values)


WRONG_OUT = {
    "blank": (..., "Nothing to check so far"),
    "no root": (pencil(lambda S, V: S.softmax(1) @ V), "root is missing"),
    "scaled by d_k": (pencil(lambda S, V: (S / 4).softmax(1) @ V), "by d_k itself"),
    "the root of 2": (pencil(lambda S, V: (S / 2**0.5).softmax(1) @ V), "d_k is 4"),
    "over queries": (pencil(lambda S, V: (S / 2).softmax(0) @ V), "sum to 1 over queries"),
    "no softmax": (pencil(lambda S, V: S / 2 @ V), "softmax is missing"),
    "no division": (pencil(lambda S, V: (S / 2).exp() @ V), "by their sum"),
    "only the past": (
        pencil(lambda S, V: fill(S / 2, torch.ones(3, 3).tril().bool()).softmax(1) @ V),
        "No mask here",
    ),
    "the weights": (pencil(lambda S, V: (S / 2).softmax(1)), "These are the weights"),
    "transposed": (torch.tensor(PENCIL).mT, "one row per query"),
    "one slip": ([[5, 2], [5, 2], [4, 2]], "Row 2 is not right"),
    "words": ("five", "should be numbers"),
}

WRONG[check_pencil] = {name: (out, CAUSAL_ROW, words) for name, (out, words) in WRONG_OUT.items()}
WRONG[check_pencil] |= {
    "blank row": (PENCIL, ..., "Nothing to check so far"),
    "the row without a mask": (PENCIL, [5, 2], "row 1 with full reading"),
    "weights set to zero": (PENCIL, [4, 1], "sum to 3/4"),
    "the past without itself": (PENCIL, [8, 0], "reads word 0 and itself"),
    "an average of the two": (PENCIL, [4, 2], "keep their proportions"),
    "the two weights": (PENCIL, [2 / 3, 1 / 3], "These are the weights"),
    "another row": (PENCIL, [5, 1], "which exponentials stay"),
    "a third number": (PENCIL, [5.33, 1.33, 0], "should have shape"),
}


SHAPES = [(16, 8), (24, 8), (24, 10), (5, 9), (5, 10)]

RIGHT[check_shapes] = [(SHAPES,), (tuple(map(list, SHAPES)),), ([torch.Size(s) for s in SHAPES],)]


def shapes(position, *shape):
    """The right shapes with another one at a position."""
    return [*SHAPES[:position], shape, *SHAPES[position + 1 :]]


WRONG[check_shapes] = {
    "blank": (..., "Nothing to check so far"),
    "blank shapes": ([...] * 5, "Nothing to check so far"),
    "a blank number": (shapes(3, 5, ...), "Nothing to check so far"),
    "too few": (SHAPES[:4], "a list of five pairs"),
    "a number": ([16, *SHAPES[1:]], "For W^Q you gave 16"),
    "weights of nn.Linear": (shapes(0, 8, 16), "changed places"),
    "queries of the source": (shapes(0, 24, 8), "the words that read, whose width is 16"),
    "keys of the target": (shapes(1, 16, 8), "the words that are read, whose width is 24"),
    "values as wide as keys": (shapes(2, 24, 8), "W^V does not have the shape (24, 8)"),
    "self-attention": (shapes(3, 5, 5), "each pair of a query and a key"),
    "an output for each key": (shapes(4, 9, 10), "one output for each query"),
    "as wide as keys": (shapes(4, 5, 8), "a mixture of values"),
}


CAUSES = ["empty row", "no root", "axis", "flipped mask", "large number", "leak", "columns"]

RIGHT[check_symptoms] = [(CAUSES,), (tuple(CAUSES),)]


def causes(number, cause):
    """The right causes with another one for a symptom, counted from 1."""
    return [*CAUSES[: number - 1], cause, *CAUSES[number:]]


WRONG[check_symptoms] = {
    "blank": (..., "Nothing to check so far"),
    "blank causes": ([...] * 7, "Nothing to check so far"),
    "too few": (CAUSES[:6], "a list of 7 causes"),
    "a word": ("leak", "a list of 7 causes"),
    "a list of lists": (causes(1, ["axis"]), "For symptom 1 you say ['axis']"),
    "unknown": (causes(2, "NaN"), "For symptom 2 you say 'NaN'"),
    "the empty row, filled": (causes(1, "large number"), "Symptom 1 has another cause"),
    "an axis": (causes(7, "axis"), "the columns of A sum to 1"),
    "a leak": (causes(4, "leak"), "too good in training"),
    "no root": (causes(6, "no root"), "saturated before its first step"),
    "flipped": (causes(5, "flipped mask"), "what it must not read"),
    "columns": (causes(3, "columns"), "features are compared with features"),
    "an empty row": (causes(5, "empty row"), "then they would be NaN"),
    "the last row": (causes(4, "empty row"), "why do the first five outputs move"),
    "a row of zeros": (causes(2, "empty row"), "may read nothing: NaN"),
}


OUTCOMES = ["self", "negative", "longer", "glue", "forgets", "sharper"]
UNQUERIED = torch.tensor([[1.0, 0.5, 0.0, -1.0]]) * torch.tensor([[1.0], [2.0], [-1.0]])
UNKEYED = [[0, 0, 1, 0], [1, 1, 0, 2], [2, 2, 0, 4]]  # all keys are (0, 0)
ALIKE = [[0, 0, 1, 0], [0.5, 0, 1, 0], [2, 2, 0, 4]]  # but the scores differ
LOUD = [[100.0, 0.0, 0.0, 0.0], [0.0, 100.0, 0.0, 0.0], [0.0, 0.0, 100.0, 0.0]]  # saturated
RIGHT[check_ablation] = [
    (OUTCOMES, UNKEYED),
    (tuple(OUTCOMES), UNQUERIED),
    (OUTCOMES, torch.tensor(LOUD)),
]


def outcomes(number, outcome):
    """The right outcomes with another one for a head, counted from 1."""
    return [*OUTCOMES[: number - 1], outcome, *OUTCOMES[number:]], UNKEYED


WRONG[check_ablation] = {
    "blank": (..., ..., "Nothing to check so far"),
    "blank outcomes": ([...] * 6, ..., "Nothing to check so far"),
    "too few": (OUTCOMES[:5], UNKEYED, "a list of 6 outcomes"),
    "a word": ("self", UNKEYED, "a list of 6 outcomes"),
    "unknown": (*outcomes(2, "NaN"), "For head 2 you say 'NaN'"),
    "a list of lists": (*outcomes(2, ["self"]), "For head 2 you say ['self']"),
    "all alike": (*outcomes(1, "even"), "only where all scores of a row are"),
    "idle": (*outcomes(6, "nothing"), "No piece is idle"),
    "only the division": (*outcomes(2, "longer"), "that only the exponential prevents"),
    "the exponential, too": (*outcomes(3, "negative"), "no weight is negative"),
    "larger weights": (*outcomes(3, "sharper"), "by the same factor"),
    "itself": (*outcomes(6, "self"), "still looks for a thing"),
    "the values": (*outcomes(5, "glue"), "How many columns has a change"),
    "forgotten": (*outcomes(4, "forgets"), "hands on the change alone"),
    "sharp": (*outcomes(1, "sharper"), "turns the temperature down"),
    "negative values": (*outcomes(4, "negative"), "Can a weight be negative"),
    "a long text": (*outcomes(5, "longer"), "twice as long"),
    "no text": (OUTCOMES, ..., "give my_text"),
    "two words": (OUTCOMES, UNKEYED[:2], "my_text"),
    "infinite": (OUTCOMES, [[math.inf] * 4] * 3, "holds an infinity"),
    "one word three times": (OUTCOMES, [[1.0, 0.3, 0.0, 0.1]] * 3, "Words 0 and 1 hand over"),
    "equal values": (OUTCOMES, [UNKEYED[0], UNKEYED[1], [1, 1, 3, 0]], "Words 1 and 2 hand over"),
    "three words of the sentence": (OUTCOMES, SENTENCE[:3], "the root matters: word"),
    "one key that differs": (OUTCOMES, ALIKE, "scores the three words with (0, "),
}


TASTE = torch.tensor([[0.0, 1.0], [2.0, 0.0], [0.0, 4.0], [1.0, 1.0]])


def taste(row, *entries):
    """The right matrix with another row."""
    return TASTE.index_copy(0, torch.tensor([row]), torch.tensor([entries]))


WRONG[check_taste] = {
    "blank": (..., "Nothing to check so far"),
    "as in the chapter": (taste(2, 3.0, 0.0), "“it” takes most from “chicken”"),
    "both columns": (taste(2, 4.0, 4.0), "“it” takes most from “chicken”"),
    "too short": (taste(2, 0.0, 2.0), "A longer query makes a clearer choice"),
    "all look for actions": (taste(1, 0.0, 5.0), "now “crossed” takes most from “crossed”"),
    "transposed": (TASTE.mT, "should have shape (4, 2)"),
    "infinite": (taste(2, 0.0, math.inf), "infinity"),
    "not a number": (taste(2, 0.0, math.nan), "NaN"),
    "words": ("actions", "should be numbers"),
}


RIGHT[check_taste] = [
    (TASTE,),
    ([[0, 1], [2, 0], [-1, 6], [1, 1]],),
    (taste(2, 0.0, 9.0).numpy(),),
]


def book_rootless(W_Q, lr):
    return W_Q / math.sqrt(W_Q.shape[1]), lr / W_Q.shape[1]


def rootless(start, rate):
    """A solution with another start and another rate, as powers of the width."""
    return lambda W_Q, lr: (W_Q * W_Q.shape[1] ** start, lr * W_Q.shape[1] ** rate)


def in_place_rootless(W_Q, lr):
    W_Q /= 2
    return W_Q, lr / 4


WRONG[check_rootless] = {
    "blank": (lambda W_Q, lr: ..., "Nothing to check so far"),
    "blank pair": (lambda W_Q, lr: (..., ...), "Nothing to check so far"),
    "only the matrix": (lambda W_Q, lr: W_Q / math.sqrt(W_Q.shape[1]), "Return two things"),
    "in place": (in_place_rootless, "changed W_Q itself"),
    "the same start": (rootless(0, -1), "too large before the first step"),
    "divided by d_k": (rootless(-1, -1), "shrink by √d_k only"),
    "multiplied": (rootless(0.5, -1), "larger still"),
    "half the root": (rootless(-0.25, -1), "if W_K were divided by as much"),
    "a fixed 2": (lambda W_Q, lr: (W_Q / 2, lr / 4), "always divide by 2"),
    "another start": (rootless(-2, -1), "the same scores for every text"),
    "the same rate": (rootless(-0.5, 0), "its steps are too long"),
    "the rate of Adam": (rootless(-0.5, -0.5), "its steps must be so, too"),
    "a larger rate": (rootless(-0.5, 0.5), "larger than that of W, not smaller"),
    "a much larger rate": (rootless(-0.5, 1), "larger than that of W, not smaller"),
    "a fixed quarter": (
        lambda W_Q, lr: (W_Q / math.sqrt(W_Q.shape[1]), lr / 4),
        "Does it depend on d_k?",
    ),
    "another rate": (rootless(-0.5, -3), "After one step"),
    "transposed": (lambda W_Q, lr: (W_Q.mT, lr), "should have shape"),
}


def adjusted_rootless(W_Q, lr):
    """Another way: the constant c first, and a list."""
    c = W_Q.shape[1] ** 0.5
    return [(W_Q / c).tolist(), torch.tensor(lr / c**2)]


RIGHT[check_rootless] = [(book_rootless,), (adjusted_rootless,)]


def book_backward(Q, K, V, mask, dZ):
    root = math.sqrt(Q.shape[1])
    A = fill(Q @ K.mT / root, mask).softmax(dim=1).nan_to_num(0.0)
    dA = dZ @ V.mT
    dS = A * (dA - (dA * A).sum(dim=1, keepdim=True))
    return dS @ K / root, dS.mT @ Q / root, A.mT @ dZ


def row_backward(Q, K, V, mask, dZ):
    """Another way: query by query, with the Jacobian written out."""
    dQ, dK, dV = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
    for i in range(len(Q)):
        read = mask[i].nonzero().flatten()
        if not len(read):
            continue
        p = (K[read] @ Q[i] / math.sqrt(len(Q[i]))).softmax(dim=0)
        ds = (torch.diag(p) - torch.outer(p, p)) @ (V[read] @ dZ[i]) / math.sqrt(len(Q[i]))
        dQ[i] = ds @ K[read]
        dK[read] += torch.outer(ds, Q[i])
        dV[read] += torch.outer(p, dZ[i])
    return [dQ, dK, dV]


def backward_slip(slip):
    """A solution in which dS is another function of A and dA, and 1/root stands outside."""

    def answer(Q, K, V, mask, dZ):
        root = math.sqrt(Q.shape[1])
        A = fill(Q @ K.mT / root, mask).softmax(dim=1).nan_to_num(0.0)
        dS = slip(A, dZ @ V.mT, root)
        return dS @ K / root, dS.mT @ Q / root, A.mT @ dZ

    return answer


def jacobian_times(A, dA, dim=1):
    return A * (dA - (dA * A).sum(dim=dim, keepdim=True))


def replaced(name, function):
    """The right gradients, one of them replaced."""

    def answer(Q, K, V, mask, dZ):
        gradients = list(book_backward(Q, K, V, mask, dZ))
        gradients["QKV".index(name)] = function(Q, K, V, mask, dZ)
        return gradients

    return answer


@torch.enable_grad()
def graph_backward(Q, K, V, mask, dZ):
    inputs = [matrix.clone().requires_grad_() for matrix in (Q, K, V)]
    return torch.autograd.grad(attention(*inputs, mask), inputs, dZ)


WRONG[check_backward] = {
    "autograd": (graph_backward, "automatic differentiation did that"),
    "blank": (lambda *given: ..., "Nothing to check so far"),
    "blank gradients": (lambda *given: (..., ..., ...), "Nothing to check so far"),
    "only two": (lambda *given: book_backward(*given)[:2], "Return three gradients"),
    "no root": (
        backward_slip(lambda A, dA, root: jacobian_times(A, dA) * root),
        "The factor 1/√d_k of the scores belongs",
    ),
    "the root twice": (
        backward_slip(lambda A, dA, root: jacobian_times(A, dA) / root),
        "once, not twice",
    ),
    "no softmax": (backward_slip(lambda A, dA, root: dA), "You skip the softmax"),
    "half the Jacobian": (backward_slip(lambda A, dA, root: A * dA), "only the first part"),
    "over queries": (
        backward_slip(lambda A, dA, root: jacobian_times(A, dA, dim=0)),
        "runs along a row",
    ),
    "mask ignored": (
        lambda Q, K, V, mask, dZ: book_backward(Q, K, V, mask | True, dZ),
        "With a mask: the gradient of V ignores the mask",
    ),
    "mask ignored in Q": (
        replaced("Q", lambda Q, K, V, mask, dZ: book_backward(Q, K, V, mask | True, dZ)[0]),
        "With a mask: the gradient of Q is wrong",
    ),
    "NaN in the empty row": (
        replaced("Q", lambda *given: book_backward(*given)[0] / given[3].any(dim=1)[:, None]),
        "With a query that may read nothing: the gradient of Q holds NaN",
    ),
    "V forgotten": (
        replaced("V", lambda Q, K, V, mask, dZ: torch.zeros_like(V)),
        "Z = AV depends on V",
    ),
    "V transposed": (
        replaced("V", lambda *given: book_backward(*given)[2].mT),
        "should have shape (7, 2)",
    ),
    "K of one query only": (
        replaced("K", lambda *given: book_backward(*given)[1] * 2),
        "the gradient of K is wrong",
    ),
}


RIGHT[check_backward] = [(book_backward,), (row_backward,)]
