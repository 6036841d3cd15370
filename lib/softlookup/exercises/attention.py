"""Checks for the exercises of chapter 11: scaled dot-product self-attention."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from softlookup.attention import attention
from softlookup.exercises.verdict import Verdict, Wrong, call, close, numbers, started, verdict
from softlookup.masks import causal_mask, window_mask
from softlookup.ops import masked_softmax

OVER_QUERIES = (
    "Your weights sum to 1 over queries; they should over keys. Take the softmax along the last "
    "axis of the scores."
)
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


def check_attention(answer: Callable) -> Verdict:
    """Check ``my_attention(Q, K, V, mask=None)``: square, not square, masked, with an empty row."""
    return verdict(lambda: _attention(answer))


def check_columns(shape: object, answer: Callable) -> Verdict:
    """Check the predicted shape of $(W^QX)(W^KX)^T$, and attention for words in columns."""
    return verdict(lambda: _columns(shape, answer))


def check_moments(answer: Callable) -> Verdict:
    """Check ``my_moments(d_k)``: the variance and the excess kurtosis of $q \\cdot k$."""
    return verdict(lambda: _moments(answer))


def check_causality(answer: Callable) -> Verdict:
    """Check ``my_changed_outputs(layer, X, j)`` on layers that read the past, more, and less."""
    return verdict(lambda: _causality(answer))


def check_masked_softmax(answer: Callable) -> Verdict:
    """Check ``my_masked_softmax(scores, mask)``: its values, its empty rows and its gradient."""
    return verdict(lambda: _masked_softmax(answer))


def _attention(answer: Callable) -> str:
    what = "write my_attention(Q, K, V, mask=None), one output row per query."
    Q, K, V = _random(5, 3), _random(5, 3, seed=1), _random(5, 7, seed=2)
    _judge(call(answer, Q, K, V, what=what), attention(Q, K, V), _slips(Q, K, V))
    Q, K, V = _random(3, 5), _random(7, 5, seed=1), _random(7, 2, seed=2)
    try:
        out = call(answer, Q, K, V, what=what)
    except Wrong as wrong:
        raise Wrong(
            f"It works when there are as many queries as keys, but not for 3 queries and 7 keys. "
            f"Is something transposed? {wrong}"
        ) from wrong
    _judge(out, attention(Q, K, V), _slips(Q, K, V))
    mask = _random(3, 7, seed=3) > 0
    mask[:, 4] = True
    out = call(answer, Q, K, V, mask, what=what)
    _judge(out, attention(Q, K, V, mask), _mask_slips(Q @ K.mT / math.sqrt(5), mask, V))
    mask[1] = False
    out = call(answer, Q, K, V, mask, what=what)
    _judge_empty_row(torch.as_tensor(out), 1, V.mean(dim=0))
    _judge(out, attention(Q, K, V, mask), [])
    return "The same numbers as the library, for any mask; an empty row gives zeros."


def _slips(Q: Tensor, K: Tensor, V: Tensor) -> list[tuple[Tensor, str]]:
    raw, d_k = Q @ K.mT, Q.shape[1]
    scaled = raw / math.sqrt(d_k)
    slips = [
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
        slips.append(((raw / width).softmax(dim=-1) @ V, advice))
    if len(Q) == len(K):
        advice = "Queries and keys have changed places: row i of the scores belongs to query i."
        slips.append((scaled.mT.softmax(dim=-1) @ V, advice))
    return slips


def _mask_slips(scores: Tensor, mask: Tensor, V: Tensor) -> list[tuple[Tensor, str]]:
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


def _columns(shape: object, answer: Callable) -> str:
    what = "give the shape as a pair of numbers, and write my_columns(W_Q, W_K, W_V, X)."
    started(shape, what)
    if not isinstance(shape, tuple | list | torch.Size) or len(shape) != 2:
        raise Wrong(f"The shape should be a pair such as (7, 4); you gave {shape!r}.")
    for size in shape:
        started(size, what)
    advice = {
        (3, 3): "That is what one would want, a score per pair of words. But what comes out?",
        (5, 5): "5 is the width of a word before the projection.",
        (2, 3): "That is the shape of each factor.",
    }
    if tuple(shape) != (2, 2):
        hint = advice.get(tuple(shape), "W^Q X is 2 × 3; now write down its product with a 3 × 2.")
        raise Wrong(f"(W^Q X)(W^K X)ᵀ has not the shape {tuple(shape)}. {hint}")
    for d_model, d_k, d_v, n in (5, 2, 4, 3), (7, 3, 2, 5):
        W_Q, W_K, W_V = (_random(d, d_model, seed=d) for d in (d_k, d_k + 10, d_v))
        W_K, X = W_K[:d_k], _random(d_model, n, seed=5)
        out = call(answer, W_Q, W_K, W_V, X, what=what)
        expected = attention(X.mT @ W_Q.mT, X.mT @ W_K.mT, X.mT @ W_V.mT).mT
        _judge(out, expected, _column_slips(W_Q @ X, W_K @ X, W_V @ X, d_model))
    return "Features × features it was; QᵀK compares words, and every column is a word again."


def _column_slips(Q: Tensor, K: Tensor, V: Tensor, d_model: int) -> list[tuple[Tensor, str]]:
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


def _moments(answer: Callable) -> str:
    what = "write my_moments(d_k), which returns the variance and the excess kurtosis."
    for d_k in 4, 9:
        found = call(answer, d_k, what=what)
        if not isinstance(found, Tensor) and isinstance(found, tuple | list):
            for value in found:
                started(value, what)
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


def _causality(answer: Callable) -> str:
    what = "write my_changed_outputs(layer, X, j), which returns a list of positions."
    n, masks = 6, _layer_masks(6)
    for name, (mask, volume) in masks.items():
        layer, X = _layer(mask, volume), _random(n, 3, seed=7)
        for j in 3, 0, 5:
            X[3] = 0.0  # a factor would not change this row
            before = X.clone()
            found = call(answer, layer, X, j, what=what)
            if not torch.equal(X, before):
                raise Wrong("Your function changed X itself. Work on a copy: X.clone().")
            expected = mask[:, j].nonzero().flatten().tolist()
            _judge_positions(found, expected, f"In a layer {name}", n, j)
    return "You measured it: no output before j moves in the causal layer, and others you caught."


def _layer_masks(n: int) -> dict[str, tuple[Tensor, float]]:
    return {
        "that reads only the past": (causal_mask(n), 1.0),
        "that reads everything": (torch.ones(n, n, dtype=torch.bool), 1.0),
        "with a window of one word to each side": (window_mask(n, 1), 1.0),
        "that looks ahead": (causal_mask(n).mT, 1.0),
        "with a very small output": (causal_mask(n), 1e-10),
    }


def _layer(mask: Tensor, volume: float) -> Callable[[Tensor], Tensor]:
    W_Q, W_K, W_V = (_random(3, 3, seed=seed) for seed in (8, 9, 10))
    return lambda x: volume * attention(x @ W_Q, x @ W_K, x @ W_V, mask)


def _judge_positions(found: object, expected: list[int], where: str, n: int, j: int) -> None:
    found = found.tolist() if isinstance(found, Tensor) else found
    if not isinstance(found, list | tuple | set | range):
        raise Wrong(f"Return a list of positions, such as [2, 3]; you returned {found!r}.")
    if len(found) == n and all(isinstance(entry, bool) for entry in found):
        raise Wrong("Return the positions that changed, such as [2, 3], not a flag for each.")
    positions = sorted(int(position) for position in found)
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


def _masked_softmax(answer: Callable) -> str:
    what = "write my_masked_softmax(scores, mask), one row of weights per row of scores."
    scores, mask = _random(3, 7), _random(3, 7, seed=3) > 0
    mask[:, 4] = True
    expected, every_value = masked_softmax(scores, mask), torch.eye(7)
    out = call(answer, scores.clone(), mask, what=what)
    _judge(out, expected, _mask_slips(scores, mask, every_value.double()))
    if (numbers(out, expected, "Your weights")[~mask] != 0).any():
        raise Wrong(
            "A forbidden weight is tiny, but not 0. Use −∞, whose exponential is exactly 0."
        )
    mask[1] = False
    out = call(answer, scores.clone(), mask, what=what)
    _judge_empty_row(torch.as_tensor(out), 1, torch.full((7,), 1 / 7))
    _judge(out, masked_softmax(scores, mask), [])
    _judge_gradient(answer, scores, mask, what)
    return "Right values, exact zeros, and a gradient without NaN, in the empty rows too."


def _judge_gradient(answer: Callable, scores: Tensor, mask: Tensor, what: str) -> None:
    """Raise unless large scores stay finite, and a gradient without NaN reaches the scores."""
    large = call(answer, scores * 1e4, mask, what=what)
    if not torch.as_tensor(large).isfinite().all():
        raise Wrong("For scores near 10,000 the exponential overflows: subtract the largest first.")
    learned = scores.clone().requires_grad_()
    out = call(answer, learned, mask, what=what)
    if not isinstance(out, Tensor) or not out.requires_grad:
        raise Wrong("No gradient reaches the scores: compute with tensors, without detach or item.")
    (out * _random(3, 7, seed=4)).sum().backward()
    if learned.grad.isnan().any():
        raise Wrong("The values are right, but the gradient is NaN: the NaN was replaced, not "
                    "avoided. Give empty rows finite scores before the softmax.")  # fmt: skip


def _judge(out: object, expected: Tensor, slips: list[tuple[Tensor, str]]) -> None:
    """Raise what the learner should look at next, unless ``out`` is ``expected``."""
    for slip, advice in slips if isinstance(out, Tensor) else []:
        if _same(out, slip) and not _same(slip, expected):
            raise Wrong(advice)
    values = numbers(out, expected, "Your result")
    if not close(values, expected):
        i, j = divmod(int((values - expected).abs().argmax()), expected.shape[1])
        raise Wrong(
            f"The shape is right, the numbers are not: in row {i}, column {j} you have "
            f"{values[i, j]:.4g}, and it should be {expected[i, j]:.4g}."
        )


def _same(x: Tensor, y: Tensor) -> bool:
    return x.shape == y.shape and close(x.detach(), y)


def _judge_empty_row(out: Tensor, row: int, mean: Tensor) -> None:
    """Tell an empty row that is NaN, or a plain average, from one of zeros."""
    if out.ndim != 2 or len(out) <= row:
        return
    if out[row].isnan().any():
        raise Wrong(EMPTY_NAN)
    if _same(out[row], mean):
        raise Wrong(EMPTY_MEAN)


def _random(rows: int, columns: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, columns, generator=generator, dtype=torch.float64)
