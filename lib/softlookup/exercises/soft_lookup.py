"""Checks for the exercises of chapter 13: attention as soft lookup and kernel smoothing."""

import math

import torch
from torch import Tensor

from softlookup.attention import (
    gaussian_scores,
    laplace_scores,
    lookup_error_bound,
    nadaraya_watson,
    soft_lookup,
)
from softlookup.exercises.compare import Mistakes, advised, compare, draw, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise

OVER_QUERIES = (
    "Your weights sum to 1 over queries; they should over keys. Take the softmax along the last "
    "axis of the scores."
)
_A = torch.tensor([[0.6, 0.1, 0.3], [0.3, 0.5, 0.2], [0.2, 0.1, 0.7]], dtype=torch.float64)
_V = torch.tensor([[2.0, 1.0], [-0.5, 2.0], [-1.0, -0.5]], dtype=torch.float64)
_X = torch.tensor([1.36, 3.40, 6.05], dtype=torch.float64)
_Y = torch.tensor([1.79, -1.77, -2.17], dtype=torch.float64)


@exercise(
    "compute the product of A and V, three rows of two numbers.",
    "name the word that is moved farthest: 0, 1 or 2.",
)
def check_product(product: Answer, farthest: Answer) -> str:
    """Check the outputs $AV$ of "I am Sam", and the word that is moved farthest."""
    mistakes = [
        (_A.mT @ _V, "That is Aᵀ V: you mixed by the columns of A. Its rows sum to 1."),
        (_A.softmax(dim=1) @ _V, "A holds weights already: no softmax is needed."),
        (_V, "That is V itself, before the mixing."),
    ]
    _same(product.value, _A @ _V, "The product", mistakes, 1e-4)
    word = scalar(farthest.value, "The word")
    if word not in (0, 1, 2):
        raise Wrong(f"The word is 0, 1 or 2, counted from 0; you gave {word:g}.")
    if word != 0:
        name, length = ("am", "1.03") if word == 1 else ("Sam", "0.85")
        raise Wrong(f'"{name}" moves by {length}. Another word moves farther from its own value.')
    return 'Row by row a weighted mean; "I" moves by 1.20, for it gives away 0.4 of its weight.'


@exercise("write my_prediction(x, xs, ys), which returns one number.")
def check_prediction(answer: Answer) -> str:
    """Check ``my_prediction(x, xs, ys)`` with scores $-|x - x_i|$, near the data and far away."""
    more = torch.tensor([0.5, 0.7, 2.0, 9.0, 9.5], dtype=torch.float64)
    cases = [(4.25, _X, _Y), (3.1, more, more.cos()), (2000.0, _X, _Y), (-2000.0, more, more.sin())]
    for x, xs, ys in cases:
        found = _number(answer(x, xs, ys), f"The prediction at {x:g}")
        expected = nadaraya_watson(_point(x), xs[:, None], ys, laplace_scores)[0]
        if not math.isfinite(found) and abs(x) > 999:
            raise Wrong(
                f"At x = {x:g}, far from all data, you return {found}: every e to the −|x − x_i| "
                "is 0 there, and 0/0 is not a number. Subtract the largest score first, or let "
                "softmax do it."
            )
        case = f"At x = {x:g} you predict {found:.4f}. "
        aside = f"{case}It should be {expected.item():.4f}."
        mistakes = _prediction_mistakes((x - xs).abs(), ys)
        compare(found, expected, "The prediction", mistakes, aside, case=case, tolerance=1e-5)
    return "−1.5668 at 4.25, and far away the nearest side still answers."


@exercise(
    "name the key that wins with the printed sign, by its index.",
    "write my_gaussian(Q, K, sigma), one row of scores per query.",
)
def check_gaussian(winner: Answer, answer: Answer) -> str:
    """Check which key wins with the printed sign, and ``my_gaussian(Q, K, sigma)`` without it."""
    index = scalar(winner.value, "The winner")
    if index == 5:
        raise Wrong("5 is the key itself. Give its index, counted from 0.")
    if index != 3:
        keys = {0: "0", 1: "1", 2: "2"}
        shown = f"The key {keys[index]}" if index in keys else "No key"
        raise Wrong(
            f"{shown} does not have the largest (1.1 − k)². With the printed sign the score grows "
            "with the distance."
        )
    cases = [(_point(1.1), torch.tensor([[0.0], [1], [2], [5]]).double(), 1.0)]
    cases += [(draw(3, 2, seed=0), draw(5, 2, seed=1), 0.7), (_point(0.0), _point(40.0), 1.0)]
    for Q, K, sigma in cases:
        expected = gaussian_scores(Q, K, bandwidth=sigma)
        mistakes = _gaussian_mistakes(Q, K, sigma)
        _same(answer(Q, K, sigma), expected, "The table of scores", mistakes, 1e-6)
    return "As printed the farthest key, 5, takes all; now the nearest has the most, 0.4505."


@exercise("write my_barycentric(Z, V), three coordinates for each row of Z.")
def check_barycentric(answer: Answer) -> str:
    """Check ``my_barycentric(Z, V)``, inside the triangle and outside."""
    inside = torch.tensor([[0.2, 0.3, 0.5], [0.0, 0.4, 0.6], [1.0, 0.0, 0.0], [0.1, 0.1, 0.8]])
    outside = torch.tensor([[1.5, -0.2, -0.3], [0.5, 0.7, -0.2]])
    corners = torch.tensor([[4.0, 1.0], [5.0, 3.0], [2.0, 7.0]]).double()
    cases = [(_A, _V), (inside.double(), corners), (outside.double(), corners)]
    for expected, V in cases:
        mistakes = _barycentric_mistakes(expected, V)
        found = answer(expected @ V, V)
        _same(found, expected, "The table of coordinates", mistakes, 1e-5)
    return "A came back from its own output; and a point outside shows by a negative coordinate."


@exercise(
    "write my_lookup(Q, K, V, temperature), one row per query.",
    "write my_temperature(gap, n_keys, spread, error), which returns a number.",
)
def check_temperature(lookup: Answer, temperature: Answer) -> str:
    """Check ``my_lookup``, and that ``my_temperature`` keeps its promise in the worst case."""
    for n_q, n_k, tau in (4, 4, 0.5), (3, 7, 2.0), (3, 7, 1e-4):
        Q, K, V = draw(n_q, 5, seed=0), draw(n_k, 5, seed=1), draw(n_k, 2, seed=2)
        expected = soft_lookup(Q, K, V, temperature=tau)
        mistakes = _lookup_mistakes(Q, K, V, tau)
        _same(lookup(Q, K, V, tau), expected, "The output", mistakes, 1e-6)
    for gap, n_keys, spread, error in (
        (1.0, 2, 1.0, 0.01),
        (0.5, 100, 1.0, 1e-3),
        (2.0, 2, 50.0, 0.1),
        (3.0, 1000, 7.0, 1e-6),
    ):
        tau = _number(temperature(gap, n_keys, spread, error), "The temperature")
        _low_enough(tau, gap, n_keys, spread, error)
    return "Your temperature keeps the promise even where all other keys agree on a wrong value."


def _prediction_mistakes(distance: Tensor, ys: Tensor) -> Mistakes:
    kernel, shares = torch.exp(-distance), distance / distance.sum()
    squared = "You squared the distance: that is a Gaussian kernel. Here the score is −|x−x_i|."
    return [
        (kernel @ ys, "Your weights do not sum to 1: divide by the sum of the e^(−|x−x_i|)."),
        (kernel @ ys / len(ys), "Divide by the sum of the weights, not by their number."),
        (distance.softmax(dim=0) @ ys, "Your sign is wrong: the farthest point counts most."),
        (shares @ ys, "You normalised the distances themselves: the farthest point counts most."),
        ((-distance.square()).softmax(dim=0) @ ys, squared),
        ((-distance.square() / 2).softmax(dim=0) @ ys, squared),
        (ys.mean(), "That is the plain mean of all targets: the distances play no part."),
        (ys[distance.argmin()], "That is the nearest target alone; all of them should count."),
    ]


def _gaussian_mistakes(Q: Tensor, K: Tensor, sigma: float) -> Mistakes:
    difference = Q[:, None] - K[None]
    square = difference.square().sum(dim=-1)
    right = -square / (2 * sigma**2)
    infinite = (
        "For a query 40 away from its key you return an infinite score: e to the 800 overflows. "
        "The logarithm of exp is what stands inside; write just that."
    )
    return [
        (right.exp().log(), infinite),
        (square / sigma**2, "That is the printed score: it grows with the distance."),
        (-right, "The sign is still wrong: the score must fall with the distance."),
        (-square / sigma**2, "The 2 below is missing: a bell of width σ is exp(−‖q−k‖²/(2σ²))."),
        (-square / (2 * sigma), "σ should be squared, like the distance."),
        (right.exp(), "That is the kernel. The score is its logarithm: softmax takes the exp."),
        (right.softmax(dim=-1), "Those are the weights. Return the scores, before the softmax."),
        (-square.sqrt() / (2 * sigma**2), "The distance should be squared."),
        (-difference.sum(dim=-1).square() / (2 * sigma**2),
         "Square each difference first, then add them up over the features."),
    ]  # fmt: skip


def _barycentric_mistakes(expected: Tensor, V: Tensor) -> Mistakes:
    clamped = expected.clamp(min=0)
    shares = clamped / clamped.sum(dim=1, keepdim=True)
    cut = "One point lies outside, and there a coordinate is negative. Leave it: it tells."
    distance = torch.cdist(expected @ V, V)
    return [
        (expected @ V @ torch.linalg.pinv(V),
         "Your coordinates give the point, but they do not sum to 1: that is a third equation."),
        (expected.mT, "Your table is transposed: return one row per point."),
        (clamped, cut),
        (shares, cut),
        (expected.abs(), cut),
        ((-distance).softmax(dim=1), "A softmax of distances sums to 1, but does not give z."),
    ]  # fmt: skip


def _lookup_mistakes(Q: Tensor, K: Tensor, V: Tensor, tau: float) -> Mistakes:
    scores = Q @ K.mT
    scaled = scores / math.sqrt(Q.shape[1])
    exponentials = (scores / tau).exp()
    overflown = exponentials / exponentials.sum(dim=-1, keepdim=True) @ V
    overflow = f"At a temperature of {tau:g} your lookup overflows. Use a softmax."
    return [
        (overflown, overflow),
        ((scores * tau).softmax(dim=-1) @ V, "You multiply by the temperature; divide by it."),
        ((scores / tau).softmax(dim=0) @ V, OVER_QUERIES),
        (scores.softmax(dim=-1) @ V, "The temperature plays no part in your lookup."),
        ((scaled / tau).softmax(dim=-1) @ V, "No √d_k here: the temperature takes its place."),
        (scores.softmax(dim=-1) @ V / tau, "Divide the scores by the temperature, not the output."),
        (V[scores.argmax(dim=-1)], "That is the hard lookup already; the soft one mixes."),
        ((scores / tau).softmax(dim=-1), "These are the weights; mix the values by them."),
    ]


def _low_enough(tau: float, gap: float, n_keys: int, spread: float, error: float) -> None:
    given = f"gap={gap:g}, n_keys={n_keys}, spread={spread:g}, error={error:g}"
    if not (math.isfinite(tau) and tau > 0):
        raise Wrong(f"A temperature is positive and finite; for {given} yours is {tau:g}.")
    worst = lookup_error_bound(gap, n_keys, tau, spread)
    if worst > error * (1 + 1e-6):
        raise Wrong(
            f"For {given} you say {tau:.4g}, but if all other keys agree, the error there is "
            f"{worst:.3g}. {_temperature_hint(tau, gap, n_keys, spread, error)}"
        )
    highest = gap / math.log((n_keys - 1) * (spread - error) / error)
    if tau < highest / 2:
        raise Wrong(f"For {given}, {tau:.4g} is needlessly low: {highest:.4g} would do.")


def _temperature_hint(tau: float, gap: float, n_keys: int, spread: float, error: float) -> str:
    mistakes = [
        (gap / math.log(spread / error), "It counts one other key; there are n − 1."),
        (gap / math.log((n_keys - 1) / error), "Does the spread of the values play a part?"),
        (gap / math.log(n_keys / error), "Does the spread of the values play a part?"),
        (math.log((n_keys - 1) * spread / error) / gap, "Did you solve for 1/τ?"),
        (gap / math.log10((n_keys - 1) * spread / error), "The logarithm should be the natural."),
    ]
    aside = "Solve (n − 1) e^(−gap/τ) · spread = error for τ."
    return advised(tau, mistakes, aside)


def _same(found: object, expected: Tensor, what: str, mistakes: Mistakes, tolerance: float) -> None:
    compare(found, expected, what, mistakes, _worst, tolerance=tolerance)


def _worst(found: Tensor, expected: Tensor) -> str:
    worst = int((found - expected).abs().flatten().nan_to_num().argmax())
    row, column = divmod(worst, expected.shape[-1])
    mine, right = found.flatten()[worst].item(), expected.flatten()[worst].item()
    return f"In row {row}, column {column} you have {mine:.4f}; it should be {right:.4f}."


def _number(answer: object, what: str) -> float:
    """One number, given as such or as the only element of something; it may be NaN or inf."""
    try:
        value = torch.as_tensor(answer, dtype=torch.float64).detach().reshape(-1)
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"{what} should be one number; you returned {answer!r}.") from None
    if len(value) != 1:
        raise Wrong(f"{what} should be one number; you returned {len(value)}.")
    return value.item()


def _point(x: float) -> Tensor:
    return torch.tensor([[x]], dtype=torch.float64)
