"""Checks of chapter 23: two maps, patching, a head by its score."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.exercises.compare import close, compare, draws, integers, numbers
from softlookup.exercises.verdict import Answer, Wrong, exercise

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
        if close(found, weights, 1e-4):
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
        if (found - weights).abs().amax(dim=-1).min() < 1e-4:
            raise Wrong("One of the rows is as it was: move each of them.")
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


def _two_runs(n: int, d: int) -> tuple[Callable[[Tensor], Tensor], Tensor, Tensor]:
    """A score that is no mere sum over the rows, and the rows of two runs that part at row 1."""
    generator = torch.Generator().manual_seed(_SEED + n)
    weights = torch.randn(d, d, generator=generator, dtype=torch.float64)
    good, bad = torch.randn(2, n, d, generator=generator, dtype=torch.float64)
    bad[0] = good[0]

    def score(rows: Tensor) -> Tensor:
        return torch.tanh(rows.cumsum(dim=0) @ weights).sum() - 2

    return score, good, bad
