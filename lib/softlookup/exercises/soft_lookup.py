"""Checks: attention as soft lookup and kernel smoothing."""

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
from softlookup.exercises.compare import (
    Mistakes,
    advised,
    close,
    compare,
    draw,
    numbers,
    scalar,
)
from softlookup.exercises.verdict import Answer, Wrong, exercise

OVER_QUERIES = (
    "Your weights sum to 1 over queries; they should over keys. Take the softmax along the last "
    "axis of the scores."
)
_A = torch.tensor([[0.6, 0.1, 0.3], [0.3, 0.5, 0.2], [0.2, 0.1, 0.7]], dtype=torch.float64)
_V = torch.tensor([[2.0, 1.0], [-0.5, 2.0], [-1.0, -0.5]], dtype=torch.float64)
_X = torch.tensor([1.36, 3.40, 6.05], dtype=torch.float64)
_Y = torch.tensor([1.79, -1.77, -2.17], dtype=torch.float64)


@exercise("find the value of am, two numbers.")
def check_product(value: Answer) -> str:
    """Check the value that *am* must have, so that the output for *I* is the origin."""
    known = _A[0, 0] * _V[0] + _A[0, 2] * _V[2]
    by_column = -(_A[0, 0] * _V[0] + _A[2, 0] * _V[2]) / _A[1, 0]
    mistakes = [
        (known / _A[0, 1], "The sign: the term of am must cancel the two others."),
        (-known, "That is what am must contribute, 0.1 times its value. Divide by 0.1."),
        (known, "That is what the two others contribute. Now am must cancel it."),
        (by_column, "You mixed by a column of A. The output for I is made by its first row."),
        (-_V[0] - _V[2], "The weights are missing: I counts 0.6, am 0.1 and Sam 0.3."),
        (torch.zeros(2).double(), "Then the output is (0.9, 0.45): only am is at the origin."),
    ]
    compare(value.value, -known / _A[0, 1], "The value", mistakes, _output_for_i, tolerance=1e-4)
    return "0.1 · (−9, −4.5) cancels the (0.9, 0.45) of the others: a small weight, a long value."


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


@exercise("write my_bandwidth(xs, ys, bandwidths), which returns one of the bandwidths.")
def check_bandwidth(answer: Answer) -> str:
    """Check ``my_bandwidth``: the smallest squared error when each point is left out in turn."""
    for (n, spread, noise, seed), widths in _BANDWIDTH_CASES:
        own = torch.Generator().manual_seed(seed)
        xs = spread * torch.rand(n, generator=own, dtype=torch.float64)
        ys = xs.sin() + noise * torch.randn(n, generator=own, dtype=torch.float64)
        found = _number(answer(xs, ys, list(widths)), "The bandwidth")
        expected = min(widths, key=lambda b: _left_out(xs, ys, b).square().mean())
        case = f"For {n} points and the bandwidths {', '.join(f'{b:g}' for b in widths)} "
        if not any(math.isclose(found, b, rel_tol=1e-6) for b in widths):
            raise Wrong(f"{case}you return {found:g}, which is none of them.")
        aside = f"{case}you return {found:g}; it should be {expected:g}."
        mistakes = _bandwidth_mistakes(xs, ys, widths)
        compare(found, torch.tensor(expected).double(), "The bandwidth", mistakes, aside,
                tolerance=1e-6)  # fmt: skip
    return "Nobody reads itself, and so the data can say how wide the kernel should be."


@exercise(
    "name the query at which two keys share the first place.",
    "write my_gaussian(Q, K, sigma), one row of scores per query.",
)
def check_gaussian(tie: Answer, answer: Answer) -> str:
    """Check where two keys tie with the printed sign, and ``my_gaussian(Q, K, sigma)``."""
    query = scalar(tie.value, "The query")
    if not math.isclose(query, 2.5, abs_tol=1e-6):
        keys = torch.tensor([0.0, 1, 2, 5]).double()
        scores = (query - keys).square()
        best = keys[scores.argmax()].item()
        raise Wrong(
            f"At {query:g} the printed score is highest for the key {best:g} alone: "
            f"({query:g} − {best:g})² = {scores.max().item():.4g}. The farthest key wins. Between "
            "which two keys is the query the same distance from both, and farther from none?"
        )
    cases = [(_point(1.1), torch.tensor([[0.0], [1], [2], [5]]).double(), 1.0)]
    cases += [(draw(3, 2, seed=0), draw(5, 2, seed=1), 0.7), (_point(0.0), _point(40.0), 1.0)]
    for Q, K, sigma in cases:
        expected = gaussian_scores(Q, K, bandwidth=sigma)
        mistakes = _gaussian_mistakes(Q, K, sigma)
        _same(answer(Q, K, sigma), expected, "The table of scores", mistakes, 1e-6)
    return "At 2.5 the keys 0 and 5 are equally far; with the right score the nearest key wins."


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


_NO_QUERY = "out of reach"


@exercise(f'write my_query(z, K, V), which returns two numbers, or "{_NO_QUERY}".')
def check_query(answer: Answer) -> str:
    """Check ``my_query(z, K, V)``: the lookup of the query it returns must answer ``z``."""
    corners = torch.tensor([[4.0, 1.0], [5.0, 3.0], [2.0, 7.0]]).double()
    keys = torch.tensor([[1.0, 0.0], [0.4, 0.5], [0.0, 0.8]]).double()
    inside = torch.tensor([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1], [0.001, 0.009, 0.99]]).double()
    for K, V in (keys, _V), (draw(3, 2, seed=3), corners):
        for weights in inside:
            _answers(answer(weights @ V, K, V), weights @ V, K, V, weights)
    refused = {
        "outside the triangle": [1.2, -0.1, -0.1],
        "on an edge, where one weight is 0; a softmax gives every key something": [0.5, 0.5, 0.0],
        "a corner, which takes the whole weight; a softmax gives every key something": [0, 1, 0],
    }
    # Here little is rounded: with most solvers, whoever asks for weights above 0 is right, too.
    exact = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]).double()
    for where, made_of in refused.items():
        z = torch.tensor(made_of).double() @ exact
        found = answer(z, keys, exact)
        if not _refuses(found):
            said = f"{_pair(z)} is {where}. No query reaches it; you gave {found!r}."
            rounded = " Is it rounding? Count a weight below 10⁻⁹ as 0."
            raise Wrong(said + (rounded if min(made_of) == 0 else ""))
    return "Your queries find what they should, and you know what no query can find."


@exercise(
    "write my_line_weights(q, xs, sigma), one weight for each point.",
    "say whether the prediction always lies in the hull of the targets: True or False.",
)
def check_line(answer: Answer, in_hull: Answer) -> str:
    """Check the weights of a local straight line, and whether its predictions stay in the hull."""
    grid = torch.arange(11).double()
    uneven = torch.tensor([0.5, 0.7, 2.0, 3.1, 5.0, 9.0, 9.5]).double()
    for q, xs, sigma in (0.0, grid, 1.0), (4.3, uneven, 1.5), (9.5, uneven, 2.5), (-1.0, grid, 2.0):
        expected = _line_weights(xs - q, (-(xs - q).square() / (2 * sigma**2)).exp())
        found = answer(q, xs, sigma)
        aside = f"At q = {q:g} a line through the targets y = x should be predicted exactly"
        mistakes = _line_mistakes(q, xs, sigma)
        compare(found, expected, "The table of weights", mistakes, f"{aside}: your weights give "
                "something else, or are not those of least squares.", tolerance=1e-6)  # fmt: skip
    told = in_hull.value
    if not isinstance(told, bool) and told not in (0, 1):
        raise Wrong("The second answer is True or False.")
    if told:
        raise Wrong(
            "Look at your weights at q = 0 with the points 0, 1, …, 10: are all of them positive?"
        )
    return "Straight lines come out straight, at the price of negative weights: it is no attention."


# Number, range, noise and seed of the points; the bandwidths to choose from. In the first case each
# known mistake chooses another bandwidth.
_BANDWIDTH_CASES = [
    ((30, 8.0, 0.3, 41), (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.9)),
    ((30, 8.0, 0.1, 6), (2.0, 0.03, 0.5, 0.12)),
]


def _left_out(xs: Tensor, ys: Tensor, b: float) -> Tensor:
    """The error at each point, predicted from all the others."""
    scores = (-(xs[:, None] - xs).abs() / b).fill_diagonal_(-math.inf)
    return scores.softmax(dim=1) @ ys - ys


def _bandwidth_mistakes(xs: Tensor, ys: Tensor, widths: tuple) -> Mistakes:
    def by(error) -> Tensor:
        return torch.tensor(min(widths, key=error)).double()

    distance = (xs[:, None] - xs).abs()
    zero_itself = 1 - torch.eye(len(xs), dtype=xs.dtype)
    return [
        (by(lambda b: ((-distance / b).softmax(dim=1) @ ys - ys).square().mean()),
         "Each point seems to read itself: then the narrowest kernel looks best, for it answers "
         "what it was told. Leave the point out before you predict it."),
        (by(lambda b: (((-distance / b).softmax(dim=1) * zero_itself) @ ys - ys).square().mean()),
         "Without the point itself the weights of the others no longer sum to 1."),
        (by(lambda b: -_left_out(xs, ys, b).square().mean()),
         "That bandwidth has the largest error."),
        (by(lambda b: _left_out(xs, ys, b).abs().mean()),
         "You took the absolute errors: square them."),
        (by(lambda b: _left_out(xs, ys, b).mean().abs()),
         "Errors of both signs cancel in your mean: square them first."),
        (by(lambda b: (((-distance.square() / (2 * b * b)).fill_diagonal_(-math.inf))
                       .softmax(dim=1) @ ys - ys).square().mean()),
         "That is the Gaussian kernel. The score here is −|x − x_j|/b."),
    ]  # fmt: skip


def _prediction_mistakes(distance: Tensor, ys: Tensor) -> Mistakes:
    kernel, shares = torch.exp(-distance), distance / distance.sum()
    squared = "You squared the distance: that is a Gaussian kernel. Here the score is −|x−x_i|."
    return [
        (kernel @ ys, "Your weights do not sum to 1: divide by the sum of the e^(−|x−x_i|)."),
        (kernel @ ys / len(ys), "Divide by the sum of the weights, not by their number."),
        (distance.softmax(dim=0) @ ys, "Your sign is wrong: the farthest point counts most."),
        (shares @ ys, "You normalized the distances themselves: the farthest point counts most."),
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
        (-square / 2, "σ plays no part in your scores: divide the square by 2σ²."),
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


def _output_for_i(found: Tensor, _expected: Tensor) -> str:
    output = _A[0, 0] * _V[0] + _A[0, 1] * found.double() + _A[0, 2] * _V[2]
    return f"With it the output for I is {_pair(output)}, not (0, 0)."


def _pair(point: Tensor) -> str:
    return "({})".format(", ".join(f"{number:.4g}" for number in point.tolist()))


def _answers(found: object, z: Tensor, K: Tensor, V: Tensor, weights: Tensor) -> None:
    """Whether the lookup of a query answers ``z``; where the mistake is known, say which."""
    if _refuses(found):
        raise Wrong(f"{_pair(z)} lies inside the triangle, so some query reaches it.")
    query = numbers(_flat(found), torch.zeros(2), "The query")
    answered = soft_lookup(query[None], K, V)[0]
    if close(answered, z, 1e-4):
        return
    differences = K[1:] - K[0]
    log_weights = weights.log()
    mistakes = [
        (torch.linalg.solve(differences, weights[1:] - weights[0]),
         "You solved for the weights. Their logarithms are the scores, up to one number."),
        (torch.linalg.lstsq(K, log_weights[:, None]).solution[:, 0],
         "The scores are log a plus a number that all three share, so K q = log a has no solution: "
         "subtract one of the equations from the two others."),
        (torch.linalg.lstsq(K, weights[:, None]).solution[:, 0],
         "You solved K q = a. The weights are no scores: what has the softmax done to them?"),
        (weights @ K, "That mixes the keys. Solve for the query that gives these weights."),
        (torch.linalg.solve(differences.mT, log_weights[1:] - log_weights[0]),
         "A matrix is transposed: each row of K is a key, and K q holds the three scores."),
    ]  # fmt: skip
    for mistake, message in mistakes:
        if close(query, mistake, 1e-5):
            raise Wrong(message)
    raise Wrong(f"For z = {_pair(z)} your query {_pair(query)} finds {_pair(answered)}.")


def _refuses(found: object) -> bool:
    """Whether a learner's function says that no query reaches the point."""
    return isinstance(found, str) and found.strip().strip(".!").lower() == _NO_QUERY


def _flat(found: object) -> object:
    """A row or a column of two numbers counts as a vector."""
    try:
        values = torch.as_tensor(found)
    except (TypeError, ValueError, RuntimeError):
        return found
    return values.reshape(-1) if values.numel() == 2 else found


def _line_weights(u: Tensor, kappa: Tensor) -> Tensor:
    weights = kappa * ((kappa * u.square()).sum() - (kappa * u).sum() * u)
    return weights / weights.sum()


def _line_mistakes(q: float, xs: Tensor, sigma: float) -> Mistakes:
    u = xs - q
    kappa = (-u.square() / (2 * sigma**2)).exp()
    right = kappa * ((kappa * u.square()).sum() - (kappa * u).sum() * u)
    return [
        (kappa / kappa.sum(),
         "Those are the weights of Nadaraya-Watson: it fits a constant, and no line."),
        (kappa, "Those are the kernels: the weights of the raw sum."),
        (right, "Your weights do not sum to 1: divide by their sum."),
        (_line_weights(u, torch.ones_like(u)), "All points count alike in your line: where is κ?"),
        (_line_weights(u, kappa.square()),
         "Your kernel is κ²: is the 2 below missing, or did you use κ twice? It multiplies the "
         "squared error, so the rows of a least-squares problem are multiplied by its root."),
        (_line_weights(u, (-u.abs() / sigma).exp()), "That κ is the Laplace kernel."),
        (_line_weights(xs, kappa), "You read the line off at 0, not at the query."),
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
