"""Checks: two maps, patching, a head by its score, paths, planted directions."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.analysis import best_cosines, sparse_features
from softlookup.exercises.compare import (
    close,
    compare,
    draws,
    integers,
    matrix,
    numbers,
    one_number,
)
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import causal_mask
from softlookup.ops import unit_vectors

_SEED = 19
_PREVIOUS = (1, 0)


def head_maps() -> Float[Tensor, "layers heads n n"]:
    """The attention of two layers of four heads over one text of 12 tokens, under a causal mask.

    Returns:
        Weights, one distribution per row.

    Chapter: looking_inside#exercises

    Example:
        >>> head_maps().shape
        torch.Size([2, 4, 12, 12])
    """
    n, generator = 12, torch.Generator().manual_seed(_SEED)
    own = torch.eye(n, dtype=torch.float64)
    previous = torch.ones(n - 1, dtype=torch.float64).diag(-1)
    first, late = torch.zeros_like(own), previous.clone()
    first[:, 0], late[:7] = 1, 0
    kinds = [first, own, 0 * own, 0.7 * previous, 4 * previous, previous @ previous, own, late]
    noise = torch.rand(2, 4, n, n, generator=generator, dtype=torch.float64).tril()
    maps = noise + 6 * torch.stack(kinds).view(2, 4, n, n)
    return maps / maps.sum(dim=-1, keepdim=True)


@exercise("return other weights.")
def check_two_maps(answer: Answer) -> str:
    """Check a function that finds another attention map with the same output.

    Args:
        answer: The learner's function of (weights, values): weights is (n_q, n_k), each row
            positive, and values (n_k, d_v) with d_v + 1 < n_k. It returns another matrix of
            weights.

    Chapter: looking_inside#exercises
    """
    moved = 0.0
    for n_q, n_k, d_v in ((1, 4, 1), (3, 7, 2)):
        scores, values = draws((n_q, n_k), (n_k, d_v), seed=n_k)
        weights = scores.softmax(dim=-1)
        found = numbers(answer(weights, values), weights, "The weights")
        if torch.equal(found, weights):
            raise Wrong("These are the weights as they were: move along the null space.")
        off = (found @ values - weights @ values).abs().max().item()
        if not off <= 1e-10:  # NaN, too
            raise Wrong(f"The outputs differ by up to {off:.2g}; they should agree to 1e-10.")
        sums = found.sum(dim=-1)
        if not close(sums, torch.ones_like(sums)):
            worst = sums[(sums - 1).abs().argmax()].item()
            raise Wrong(f"A row sums to {worst:.3f}. The step must sum to 0: put a column of ones "
                        "beside the values before you look for the null space.")  # fmt: skip
        if found.min() < 0:
            raise Wrong(f"There is a weight of {found.min().item():.2g}. Make a shorter step.")
        least = (found - weights).abs().amax(dim=-1).min().item()
        if least == 0:
            raise Wrong("One of the rows is as it was: move each of them.")
        if least < 1e-3:
            found_least = f"In one row no weight changes by more than {least:.2g}"
            raise Wrong(f"{found_least}; in each row some weight must change by 0.001 or more.")
        moved = max(moved, (found - weights).abs().sum(dim=-1).max().item() / 2)
    return f"One output, two maps: up to {moved:.0%} of a row's attention lies elsewhere."


@exercise("return one share for each place.")
def check_patching(answer: Answer) -> str:
    """Check a function that patches one place after the other.

    Args:
        answer: The learner's function of (score, good, bad): ``good`` and ``bad`` are the rows of a
            clean and of a corrupted run, (n, d), and ``score`` turns rows into a number. It returns
            for each of the n places the share of the lost score that comes back when this row of
            ``bad`` is what it is in ``good``.

    Chapter: looking_inside#exercises
    """
    largest = 0.0
    for n, d in ((4, 2), (5, 3)):
        score, good, bad = _two_runs(n, d)
        best, worst = score(good), score(bad)
        lost, own = best - worst, torch.eye(n, dtype=torch.bool)

        def scores(rows: Tensor, places: Tensor, other: Tensor, score: Callable = score) -> Tensor:
            return torch.stack([score(torch.where(p[:, None], rows, other)) for p in places])

        back, spoilt = scores(good, own, bad), scores(bad, own, good)
        expected = (back - worst) / lost
        wrong_run = "You spoil one row of the clean run. Give one row back to the corrupted run."
        mistakes = [
            (back, "Those are the scores themselves. How much has come back, and of how much?"),
            (back - worst, "That is how much comes back. Divide it by what was lost."),
            ((back - worst) / best, "Divide by what was lost, clean less corrupted, and not by the "
             "clean score."),
            (1 - expected, "That is what is still missing; the share that comes back is wanted."),
            ((spoilt - worst) / lost, wrong_run),
            ((best - spoilt) / lost, wrong_run),
            ((scores(good, own.cumsum(1).T > 0, bad) - worst) / lost, "Your patches pile up: for "
             "each place start from fresh rows of the corrupted run."),
        ]  # fmt: skip

        def otherwise(found: Tensor, right: Tensor, run: tuple = (worst, back, best)) -> str:
            worst, back, best = run
            k = int((found - right).abs().argmax())
            return (
                f"With row {k} given back the score goes from {worst:.3f} to {back[k]:.3f}; clean "
                f"it is {best:.3f}. So the share is {right[k]:.3f}; yours says {found[k]:.3f}."
            )

        compare(answer(score, good, bad), expected, "The shares", mistakes, otherwise)
        largest = max(largest, expected.max().item())
    return f"One row alone brings up to {largest:.0%} of the lost score back."


@exercise("return one score for each head.", "name the head, as (layer, head).")
def check_previous_head(score: Answer, head: Answer) -> str:
    """Check a score for previous-token heads, and the head that it finds in ``head_maps()``.

    Args:
        score: The learner's function of weights, (layers, heads, n, n): one number for each head,
            the mean share of the token before, over all tokens that have one.
        head: The head with the highest score, as (layer, head).

    Chapter: looking_inside#exercises
    """
    weights = head_maps()
    expected = weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)
    n = weights.shape[-1]
    above = weights.diagonal(offset=1, dim1=-2, dim2=-1).mean(dim=-1)
    own = weights.diagonal(dim1=-2, dim2=-1).mean(dim=-1)
    mistakes = [
        (expected * (n - 1) / n, "Token 0 has none before it: average over the 11 others."),
        (expected * (n - 1), "That is a sum; the score is a mean over the 11 tokens."),
        (above, "Queries are rows and keys are columns: the key before query i is column i - 1."),
        (own, "That is how much each token reads itself."),
        (weights[..., 0].mean(dim=-1), "That is how much all read the first token."),
    ]
    shapes = {(): "That is one number for all heads; each head has a score of its own."}

    def otherwise(found: Tensor, expected: Tensor) -> str:
        k = tuple(divmod(int((found - expected).abs().argmax()), weights.shape[1]))
        right = f"Head {k} has {expected[k].item():.3f} on the token before, on average;"
        return f"{right} yours says {found[k].item():.3f}."

    compare(score(weights), expected, "The scores", mistakes, otherwise, shapes=shapes)
    told = f"Give two numbers, (layer, head); yours is {head.value!r}."
    layer, number = integers(head.value, told, n=2)
    if not (0 <= layer < weights.shape[0] and 0 <= number < weights.shape[1]):
        raise Wrong(f"There are layers 0 and 1, and heads 0 to 3; yours is {(layer, number)}.")
    if (layer, number) != _PREVIOUS:
        mine, best = expected[layer, number].item(), expected[_PREVIOUS].item()
        raise Wrong(f"Head {(layer, number)} scores {mine:.2f}; another one scores {best:.2f}.")
    return f"Head {_PREVIOUS} reads the token before with {expected[_PREVIOUS].item():.2f}."


@exercise("return the scores of the four paths.")
def check_paths(answer: Answer) -> str:
    """Check a function that splits scores into the paths through two layers of one head.

    Args:
        answer: The learner's function of (X, layers, U): rows (n, d), two tuples
            (W_Q, W_K, W_V, W_O), and (d, vocab). It returns (4, n, vocab): past both heads, through
            head 0 alone, through head 1 alone, through both.

    Chapter: looking_inside#exercises
    """
    largest = 0.0
    for n, d, d_k, vocab in ((5, 6, 3, 7), (7, 4, 2, 3)):
        shapes = [(d, d_k), (d, d_k), (d, d_k), (d_k, d)]
        x, *weights, U = draws((n, d), *shapes, *shapes, (d, vocab), seed=n)
        layers = [tuple(weights[:4]), tuple(weights[4:])]
        first = _map(x, layers[0])
        M = [W_V @ W_O for _, _, W_V, W_O in layers]
        write = first @ x @ M[0]
        second, early = _map(x + write, layers[1]), _map(x, layers[1])

        def split(A: Tensor, x: Tensor = x, M: list = M, write: Tensor = write) -> Tensor:
            return torch.stack([x, write, A @ x @ M[1], A @ write @ M[1]])

        expected = split(second) @ U
        swapped = torch.stack([x, write, second @ x @ M[1], first @ second @ x @ M[0] @ M[1]]) @ U
        whole = torch.stack([x, write, second @ (x + write) @ M[1], second @ write @ M[1]]) @ U
        order = torch.stack([x, write, second @ x @ M[1], second @ first @ x @ M[1] @ M[0]]) @ U
        mistakes = [
            (split(early) @ U, "Head 1 asks with the rows behind layer 0: its weights are those of "
             "X_1, not of X."),
            (whole, "Your third path reads X_1, so it holds the fourth path, too. Let it read X."),
            (swapped, "The maps of the fourth path have changed places: head 1 reads what head 0 "
             "has collected, A_1 A_0."),
            (order, "The matrices of the fourth path have changed places: head 0 writes first."),
            (expected[[0, 2, 1, 3]], "The second and the third path have changed places."),
            (expected.cumsum(0), "Those are sums of paths; give each path for itself."),
            (split(second) @ torch.zeros_like(U), "All scores are 0."),
        ]  # fmt: skip
        shapes = {
            (n, vocab): "That is the sum of all paths; give each of the four for itself.",
            (4, n, d): "Those are rows; multiply each path by U.",
        }

        def otherwise(found: Tensor, right: Tensor) -> str:
            if close(found.sum(0), right.sum(0)):
                told = "Your paths sum to the scores, but they are cut in another way"
            else:
                told = "Your paths do not sum to the scores of the model"
            k = int((found - right).abs().flatten(1).amax(1).argmax())
            return f"{told}; path {k} is the farthest off."

        compare(answer(x, layers, U), expected, "The paths", mistakes, otherwise, shapes=shapes)
        largest = max(largest, (expected[3].norm() / expected.sum(0).norm()).item())
    return f"Four paths, and their sum. The virtual head has up to {largest:.0%} of the length."


@exercise("return n directions.", "return the share of rows with exactly one direction.")
def check_directions(answer: Answer, alone: Answer) -> str:
    """Check a function that finds planted directions in rows that are sums of few of them.

    Args:
        answer: The learner's function of (rows, n): (4000, d) and the number of directions. It
            returns n rows of width d.
        alone: The learner's function of (n, density): the share of rows with exactly one of n
            directions, each there with this probability.

    Chapter: looking_inside#exercises
    """
    answer.started(answer.given)  # what is blank is told in the order of the answers
    _share_alone(alone, 7, 0.3)
    counts = [4000 * _share_alone(alone, 20, density) for density in (0.05, 0.5)]
    worst = 1.0
    for seed, (n, d) in enumerate(((20, 10), (16, 8), (24, 16))):
        chance = torch.Generator().manual_seed(_SEED + seed)
        planted = unit_vectors(torch.randn(n, d, generator=chance))
        rows = sparse_features(4000, n, 0.05, generator=chance) @ planted
        rows = rows + 0.01 * torch.randn(4000, d, generator=chance)
        found = matrix(answer(rows.clone(), n), "The directions")
        if found.shape != (n, d):
            raise Wrong(f"Give {n} rows of width {d}; yours have the shape {tuple(found.shape)}.")
        if not (found.norm(dim=1) > 0).all():
            raise Wrong("A direction of length 0 points nowhere.")
        cosines = best_cosines(planted.double(), found)
        opposite = best_cosines(-planted.double(), found)
        missed = int((cosines < 0.99).sum())
        turned = int(((cosines < 0.99) & (opposite >= 0.99)).sum())
        if turned:
            raise Wrong(f"{turned} of your directions point the wrong way: a strength is never "
                        "negative.")  # fmt: skip
        if missed:
            raise Wrong(f"Of {n} planted directions, {missed} are missed: the worst has a cosine "
                        f"of {cosines.min():.2f} with the nearest of yours. Do you use that many "
                        "rows have a single feature?")  # fmt: skip
        worst = min(worst, cosines.min().item())
    return (
        f"All directions of three planted sets are found; the worst cosine is {worst:.4f}. Of "
        f"4,000 rows, {counts[0]:.0f} hold one direction at density 0.05, and {counts[1]:.2g} at "
        "0.5: there is nothing to go by."
    )


def _share_alone(alone: Answer, n: int, density: float) -> float:
    """The learner's share of rows with one of n directions, if it is right."""
    right = n * density * (1 - density) ** (n - 1)
    found = one_number(alone(n, density), "The share")
    mistakes = [
        (density * (1 - density) ** (n - 1), "That is the share for one particular direction; any "
         "of the n may be the one."),
        (n * density * (1 - density) ** n, "If one direction is there, n - 1 others have to be "
         "absent, not n."),
        (n * density, "That is how many directions a row holds on average."),
        (1 - (1 - density) ** n, "That is the share of rows with at least one direction."),
        ((1 - density) ** n, "That is the share of rows without any direction."),
        (4000 * right, "That is a number of rows; a share is wanted."),
    ]  # fmt: skip
    if abs(found - right) > 1e-6 * right:
        for mistaken, advice in mistakes:
            if abs(found - mistaken) <= 1e-6 * mistaken:
                raise Wrong(advice)
        raise Wrong(f"With {n} directions of density {density} the share is {right:.3g}; yours "
                    f"says {found:.3g}.")  # fmt: skip
    return found


def _map(x: Tensor, layer: tuple[Tensor, ...]) -> Tensor:
    """The causal weights of one head."""
    W_Q, W_K, _, _ = layer
    scores = (x @ W_Q) @ (x @ W_K).mT / W_K.shape[1] ** 0.5
    return scores.masked_fill(~causal_mask(len(x)), -torch.inf).softmax(dim=-1)


def _two_runs(n: int, d: int) -> tuple[Callable[[Tensor], Tensor], Tensor, Tensor]:
    """A score that is no mere sum over the rows, and the rows of two runs that part at row 1."""
    generator = torch.Generator().manual_seed(_SEED + n)
    weights = torch.randn(d, d, generator=generator, dtype=torch.float64)
    good, bad = torch.randn(2, n, d, generator=generator, dtype=torch.float64)
    bad[0] = good[0]

    def score(rows: Tensor) -> Tensor:
        return torch.tanh(rows.cumsum(dim=0) @ weights).sum() - 2

    return score, good, bad
