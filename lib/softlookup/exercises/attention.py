"""Checks for the exercises of chapter 12: scaled dot-product self-attention."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from softlookup.attention import attention
from softlookup.exercises.compare import Mistakes, compare, draw, integers, numbers
from softlookup.exercises.soft_lookup import OVER_QUERIES
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import causal_mask, window_mask
from softlookup.ops import masked_softmax

FLIPPED = (
    "Your mask is read the other way round: true means that the query may read the key. Where the "
    "mask is False the weight must be 0."
)
ADDED = (
    "You add the mask's 0 and 1 to the scores: that only nudges them. A forbidden score must "
    "become −∞."
)
TOO_LATE = (
    "You set weights to 0 after the softmax, so the rest no longer sums to 1. Set the scores to "
    "−∞ before it."
)
ZERO_SCORE = "You set forbidden scores to 0, but e to the 0 is 1, not 0. Set them to −∞."
EMPTY_NAN = (
    "A query that may read nothing gets NaN from you: the softmax of a row of −∞ is 0/0. Such a "
    "row should be zeros."
)
EMPTY_MEAN = (
    "A query that may read nothing gets the plain average of all keys, the forbidden ones: that "
    "is what a large finite number such as −1e9 does. Such a row should be zeros."
)

SHAPES = {
    (3, 3): "That is what one would want, a score per pair of words. But what comes out?",
    (5, 5): "5 is the width of a word before the projection.",
    (2, 3): "That is the shape of each factor.",
}
CHANGED = "Your function changed X itself. Work on a copy: X.clone()."
COLUMNS = "give the shape as a pair of numbers, and write my_columns(W_Q, W_K, W_V, X)."


@exercise("write my_attention(Q, K, V, mask=None), one output row per query.")
def check_attention(answer: Answer) -> str:
    """Check ``my_attention(Q, K, V, mask=None)``: square, not square, masked, with an empty row."""
    Q, K, V = draw(5, 3, seed=0), draw(5, 3, seed=1), draw(5, 7, seed=2)
    _same(answer(Q, K, V), attention(Q, K, V), _attention_mistakes(Q, K, V))
    Q, K, V = draw(3, 5, seed=0), draw(7, 5, seed=1), draw(7, 2, seed=2)
    try:
        out = answer(Q, K, V)
    except Wrong as wrong:
        raise Wrong(
            f"It works when there are as many queries as keys, but not for 3 queries and 7 keys. "
            f"Is something transposed? {wrong}"
        ) from wrong
    _same(out, attention(Q, K, V), _attention_mistakes(Q, K, V))
    mask = draw(3, 7, seed=3) > 0
    mask[:, 4] = True
    mistakes = _mask_mistakes(Q @ K.mT / math.sqrt(5), mask, V)
    _same(answer(Q, K, V, mask), attention(Q, K, V, mask), mistakes)
    mask[1] = False
    expected = attention(Q, K, V, mask)
    _same(answer(Q, K, V, mask), expected, _empty_row_mistakes(expected, 1, V.mean(dim=0)))
    return "The same numbers as the library, for any mask; an empty row gives zeros."


@exercise(COLUMNS, COLUMNS)
def check_columns(shape: Answer, answer: Answer) -> str:
    """Check the predicted shape of $(W^QX)(W^KX)^T$, and attention for words in columns."""
    if not isinstance(shape.value, tuple | list | torch.Size) or len(shape.value) != 2:
        raise Wrong(f"The shape should be a pair such as (7, 4); you gave {shape.value!r}.")
    told = f"The shape should be a pair such as (7, 4); you gave {shape.value!r}."
    pair = tuple(integers(map(shape.started, shape.value), told))
    if pair != (2, 2):
        hint = SHAPES.get(pair, "W^Q X is 2 × 3; now write down its product with a 3 × 2.")
        raise Wrong(f"(W^Q X)(W^K X)ᵀ has not the shape {pair}. {hint}")
    for d_model, d_k, d_v, n in (5, 2, 4, 3), (7, 3, 2, 5):
        W_Q, W_K, W_V = (draw(d, d_model, seed=d) for d in (d_k, d_k + 10, d_v))
        W_K, X = W_K[:d_k], draw(d_model, n, seed=5)
        expected = attention(X.mT @ W_Q.mT, X.mT @ W_K.mT, X.mT @ W_V.mT).mT
        mistakes = _column_mistakes(W_Q @ X, W_K @ X, W_V @ X, d_model)
        _same(answer(W_Q, W_K, W_V, X), expected, mistakes)
    return "Features × features it was; QᵀK compares words, and every column is a word again."


@exercise("write my_moments(d_k), which returns the variance and the excess kurtosis.")
def check_moments(answer: Answer) -> str:
    """Check ``my_moments(d_k)``: the variance and the excess kurtosis of $q \\cdot k$."""
    for d_k in 4, 9:
        found = answer(d_k)
        if isinstance(found, tuple | list):
            found = [answer.started(value) for value in found]
        variance, kurtosis = numbers(found, torch.zeros(2), "Your two moments").tolist()
        if not math.isclose(variance, d_k, rel_tol=0.04):
            raise Wrong(
                f"For d_k = {d_k} your variance is {variance:.3g}. {_variance_hint(variance, d_k)}"
            )
        if abs(kurtosis - 6 / d_k) > 0.12 + 0.6 / d_k:
            raise Wrong(
                f"For d_k = {d_k} your kurtosis is {kurtosis:.3g}. {_kurtosis_hint(kurtosis, d_k)}"
            )
    return "The variance is d_k, and the excess kurtosis 6/d_k: heavier tails than a normal's."


@exercise("write my_changed_outputs(layer, X, j), which returns a list of positions.")
def check_causality(answer: Answer) -> str:
    """Check ``my_changed_outputs(layer, X, j)`` on layers that read the past, more, and less."""
    n, masks = 6, _layer_masks(6)
    for name, (mask, volume) in masks.items():
        layer, X = _layer(mask, volume), draw(n, 3, seed=7)
        for j in 3, 0, 5:
            X[3] = 0.0  # a factor would not change this row
            found = answer(layer, X, j, kept=CHANGED)
            expected = mask[:, j].nonzero().flatten().tolist()
            _same_positions(found, expected, f"In a layer {name}", n, j)
    return "You measured it: no output before j moves in the causal layer, and others you caught."


@exercise("write my_masked_softmax(scores, mask), one row of weights per row of scores.")
def check_masked_softmax(answer: Answer) -> str:
    """Check ``my_masked_softmax(scores, mask)``: its values, its empty rows and its gradient."""
    scores, mask = draw(3, 7, seed=0), draw(3, 7, seed=3) > 0
    mask[:, 4] = True
    expected, every_value = masked_softmax(scores, mask), torch.eye(7)
    out = answer(scores, mask)
    weights = _same(out, expected, _mask_mistakes(scores, mask, every_value.double()))
    if (weights[~mask] != 0).any():
        raise Wrong(
            "A forbidden weight is tiny, but not 0. Use −∞, whose exponential is exactly 0."
        )
    mask[1] = False
    expected = masked_softmax(scores, mask)
    mean = torch.full((7,), 1 / 7, dtype=torch.float64)
    _same(answer(scores, mask), expected, _empty_row_mistakes(expected, 1, mean))
    _stable(answer, scores, mask)
    return "Right values, exact zeros, and a gradient without NaN, in the empty rows too."


def _attention_mistakes(Q: Tensor, K: Tensor, V: Tensor) -> Mistakes:
    raw, d_k = Q @ K.mT, Q.shape[1]
    scaled = raw / math.sqrt(d_k)
    mistakes = [
        ((scaled.softmax(dim=-1) @ V).mT, "Your output is transposed: return one row per query."),
        (scaled.softmax(dim=0) @ V, OVER_QUERIES),
        (raw.softmax(dim=-1) @ V, "The scale is missing: divide the scores by √d_k."),
        (scaled @ V, "The softmax is missing: your weights do not sum to 1."),
        (scaled.softmax(dim=-1), "These are the weights. The output is the weights times V."),
    ]
    widths = {"d_k itself": d_k, "√d_v": math.sqrt(V.shape[1]), "√n_k": math.sqrt(len(K)),
              "√n_q": math.sqrt(len(Q)), "1/√d_k": 1 / math.sqrt(d_k)}  # fmt: skip
    for name, width in widths.items():
        advice = f"You divide the scores by {name}; it should be √d_k, the width of a key."
        mistakes.append(((raw / width).softmax(dim=-1) @ V, advice))
    if len(Q) == len(K):
        advice = "Queries and keys have changed places: row i of the scores belongs to query i."
        mistakes.append((scaled.mT.softmax(dim=-1) @ V, advice))
    return mistakes


def _mask_mistakes(scores: Tensor, mask: Tensor, V: Tensor) -> Mistakes:
    def softmax(scores: Tensor) -> Tensor:
        return scores.softmax(dim=-1)

    return [
        (softmax(scores) @ V, "You ignore the mask: all keys are still read."),
        (masked_softmax(scores, ~mask) @ V, FLIPPED),
        (softmax(scores + mask.double()) @ V, ADDED),
        ((softmax(scores) * mask) @ V, TOO_LATE),
        (softmax(scores * mask) @ V, ZERO_SCORE),
        (scores.masked_fill(~mask, -math.inf).softmax(dim=0).nan_to_num() @ V, OVER_QUERIES),
        (masked_softmax(scores * math.sqrt(5), mask) @ V, "With a mask, the scale is missing."),
    ]


def _column_mistakes(Q: Tensor, K: Tensor, V: Tensor, d_model: int) -> Mistakes:
    raw = Q.mT @ K
    weights = (raw / math.sqrt(len(Q))).softmax(dim=1)
    wide = (raw / math.sqrt(d_model)).softmax(dim=1)
    over_queries = (raw / math.sqrt(len(Q))).softmax(dim=0)
    return [
        ((V @ weights.mT).mT, "Your output has words in rows: return one column per word."),
        (V @ weights, "The weights must be transposed before V meets them: V Aᵀ, not V A."),
        (V @ over_queries.mT, OVER_QUERIES),
        (V @ over_queries, "Row i of QᵀK belongs to query i: take the softmax along each row, "
                           "and multiply V by the transpose."),
        (V @ wide.mT, "You divide the scores by √d_model; it should be √d_k, the width of a key."),
        (V @ raw.softmax(dim=1).mT, "The scale is missing: divide the scores by √d_k."),
        (V @ (raw / len(Q)).softmax(dim=1).mT, "You divide by d_k itself; it should be √d_k."),
        (V @ (raw / math.sqrt(2)).softmax(dim=1).mT, "You always divide by √2, and here d_k is "
                                                     "3: take d_k from the number of rows of Q."),
    ]  # fmt: skip


def _variance_hint(variance: float, d_k: int) -> str:
    if math.isclose(variance, math.sqrt(d_k), rel_tol=0.05):
        return "That is the standard deviation, √d_k. The variance is its square."
    if math.isclose(variance, 1, rel_tol=0.05):
        return (
            "That is the variance after the division by √d_k, or of one term. Leave q · k as it is."
        )
    if math.isclose(variance, 3 * d_k, rel_tol=0.05):
        return "It is 3 for each term: your entries have mean 1. Draw them with mean 0."
    if math.isclose(variance, 4, rel_tol=0.05):
        return "Does your function use its argument d_k?"
    return "Draw all entries with mean 0 and variance 1, and take at least 100,000 pairs."


def _kurtosis_hint(kurtosis: float, d_k: int) -> str:
    if math.isclose(kurtosis, 3 + 6 / d_k, rel_tol=0.08):
        return "That is the whole kurtosis; the excess is what goes beyond a normal's 3."
    if math.isclose(kurtosis, 6, rel_tol=0.2):
        return "That belongs to a single term; the sum of d_k terms comes closer to a normal."
    return "It is the mean of (s − mean)⁴, divided by the squared variance, minus 3."


def _layer_masks(n: int) -> dict[str, tuple[Tensor, float]]:
    return {
        "that reads only the past": (causal_mask(n), 1.0),
        "that reads everything": (torch.ones(n, n, dtype=torch.bool), 1.0),
        "with a window of one word to each side": (window_mask(n, 1), 1.0),
        "that looks ahead": (causal_mask(n).mT, 1.0),
        "with a very small output": (causal_mask(n), 1e-10),
    }


def _layer(mask: Tensor, volume: float) -> Callable[[Tensor], Tensor]:
    W_Q, W_K, W_V = (draw(3, 3, seed=seed) for seed in (8, 9, 10))
    return lambda x: volume * attention(x @ W_Q, x @ W_K, x @ W_V, mask)


def _same_positions(found: object, expected: list[int], where: str, n: int, j: int) -> None:
    found = found.tolist() if isinstance(found, Tensor) else found
    if not isinstance(found, list | tuple | set | range):
        raise Wrong(f"Return a list of positions, such as [2, 3]; you returned {found!r}.")
    if len(found) == n and all(isinstance(entry, bool) for entry in found):
        raise Wrong("Return the positions that changed, such as [2, 3], not a flag for each.")
    told = f"Return a list of positions, such as [2, 3]; you returned {found!r}."
    positions = sorted(integers(found, told))
    if positions == expected:
        return
    told = f"{where}, word {j} moves the outputs {expected}; your list is {positions}."
    if not positions and where.endswith("small output"):
        told += " A small change is a change: compare exactly, not with a tolerance."
    elif not positions:
        told += " Row j may be zero, and a factor leaves it so: add something instead."
    elif positions == [position + 1 for position in expected]:
        told += " Count positions from 0."
    elif positions == [i for i in range(n) if i not in expected]:
        told += " You list the outputs that stayed the same."
    elif positions == list(range(j, n)):
        told += " You assume a causal layer: run it twice, and compare."
    raise Wrong(told)


def _stable(answer: Answer, scores: Tensor, mask: Tensor) -> None:
    """Raise unless large scores stay finite, and a gradient without NaN reaches the scores."""
    large = answer(scores * 1e4, mask)
    if not torch.as_tensor(large).isfinite().all():
        raise Wrong("For scores near 10,000 the exponential overflows: subtract the largest first.")
    learned = scores.clone().requires_grad_()
    out = answer(learned, mask)
    if not isinstance(out, Tensor) or not out.requires_grad:
        raise Wrong("No gradient reaches the scores: compute with tensors, without detach or item.")
    (out * draw(3, 7, seed=4)).sum().backward()
    if learned.grad.isnan().any():
        raise Wrong("The values are right, but the gradient is NaN: the NaN was replaced, not "
                    "avoided. Give empty rows finite scores before the softmax.")  # fmt: skip


def _empty_row_mistakes(expected: Tensor, row: int, mean: Tensor) -> Mistakes:
    """What becomes of a row without keys: NaN, or a plain average."""
    return [
        (expected.index_fill(0, torch.tensor(row), math.nan), EMPTY_NAN),
        (expected.index_copy(0, torch.tensor([row]), mean[None]), EMPTY_MEAN),
    ]


def _same(out: object, expected: Tensor, mistakes: Mistakes) -> Tensor:
    def otherwise(values: Tensor, expected: Tensor) -> str:
        i, j = divmod(int((values - expected).abs().argmax()), expected.shape[1])
        return (
            f"The shape is right, the numbers are not: in row {i}, column {j} you have "
            f"{values[i, j]:.4g}, and it should be {expected[i, j]:.4g}."
        )

    return compare(out, expected, "Your result", mistakes, otherwise)
