"""Checks of chapter 22: two maps, patching, drift, a head by its score, a summary, patches."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.exercises.compare import close, compare, draws, integers, numbers
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.ops import unit_vectors
from softlookup.tokenization import patchify

_SEED, _TOKENS, _SEEN = 19, 8, 6
_PREVIOUS = (1, 0)


def fine_tuned(frozen: bool) -> tuple[Float[Tensor, "vocab d"], Float[Tensor, "vocab d"]]:
    """Tune a small trained model on new texts, and show its embedding table before and after.

    Args:
        frozen: Whether the table is kept as it is, and only the rest is tuned.

    Returns:
        The table before and after: one row for each of eight tokens, not all of which stand in the
        new texts.

    Chapter: looking_inside#exercises

    Example:
        >>> before, after = fine_tuned(frozen=True)
        >>> torch.equal(before, after)
        True
    """
    generator = torch.Generator().manual_seed(_SEED)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        table, out = nn.Embedding(_TOKENS, 5).double(), nn.Linear(5, _TOKENS).double()
    table.weight.requires_grad_(not frozen)
    before = table.weight.detach().clone()
    optimizer = torch.optim.Adam([p for p in (table.weight, *out.parameters()) if p.requires_grad])
    for _ in range(20):
        ids = torch.randint(_SEEN, (64,), generator=generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(out(table(ids)), (ids + 1) % _SEEN).backward()
        optimizer.step()
    return before, table.weight.detach()


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


@exercise("return one length for each token.", "name the tokens that did not move.")
def check_drift(displacement: Answer, still: Answer) -> str:
    """Check a measure of drift, and which tokens did not drift.

    Args:
        displacement: The learner's function of two tables: how far each row has moved.
        still: The tokens that did not move in ``fine_tuned(frozen=False)``.

    Chapter: looking_inside#exercises
    """
    before = torch.tensor([[0.0, 1.0], [2.0, 0.0], [0.0, 5.0]], dtype=torch.float64)
    step = torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]], dtype=torch.float64)
    expected = torch.tensor([5.0, 0.0, 2.0], dtype=torch.float64)
    lengths = before.norm(dim=1)
    mistakes = [
        (expected.square(), "Those are squared lengths: take the root."),
        ((before + step).norm(dim=1) - lengths, "Rows may move without changing their length: "
         "subtract the tables first."),
        (step.abs().mean(dim=1), "A length is the root of the sum of squares."),
        (step.abs().sum(dim=1), "A length is the root of the sum of squares."),
        (expected / lengths, "That is relative to the row's length; here the length of the step "
         "itself is wanted."),
        (-expected, "A length is not negative."),
    ]  # fmt: skip
    shapes = {
        (): "That is one number for the whole table; each token has a drift of its own.",
        (2,): "You have one number per column: a token is a row.",
    }

    def otherwise(found: Tensor, _: Tensor) -> str:
        return f"Row 0 moves by (3, 4), which is 5 far; yours says {found[0].item():.4g}."

    found = displacement(before, before + step)
    compare(found, expected, "The displacement", mistakes, otherwise, shapes=shapes)
    told = f"Give the numbers of the tokens, like [0, 3]; yours is {still.value!r}."
    named = set(integers(still.value, told))
    right = set(range(_SEEN, _TOKENS))
    if named >= set(range(_TOKENS)):
        raise Wrong("In the frozen table no row moves. Tune it: fine_tuned(frozen=False).")
    if named != right:
        raise Wrong(f"Of the tokens {sorted(named)}, or of the others, some are wrong: a row did "
                    "not move if its displacement is exactly 0.")  # fmt: skip
    return (
        "Frozen, no row moves. Tuned, those move whose tokens stand in the new texts, and no other."
    )


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


@exercise("return the sentences in order.")
def check_summary(answer: Answer) -> str:
    """Check a function that orders sentences by their centrality.

    Args:
        answer: The learner's function of sentence vectors, one a row: the numbers of the sentences,
            the one with the largest mean cosine with the others first.

    Chapter: looking_inside#exercises
    """
    vectors = torch.tensor(
        [[1.0, 0.2, 0, 0], [0, 9.0, 9.0, 0], [0.8, 0, 0.7, 0.2], [0.4, 0.3, 0.4, 0.35],
         [0.5, 0, 0, 0.6], [0, 0.1, 0, 2.0]],
        dtype=torch.float64,
    )  # fmt: skip
    found = answer(vectors)
    order = integers(found, f"Return the numbers of the sentences; yours is {found!r}.")
    if sorted(order) != list(range(len(vectors))):
        raise Wrong(f"Each sentence should stand there once, from 0 to 5; yours is {order}.")
    unit = unit_vectors(vectors)
    by_cosine = _by(unit @ unit.mT)
    mistakes = [
        (by_cosine[::-1], "That is the wrong way round: the most central sentence comes first."),
        (_by(vectors @ vectors.mT), "Sentence 1 is long, not central: use the cosine."),
        (_by(-torch.cdist(vectors, vectors)), "Use the cosine: with distances, length counts too."),
        (vectors.norm(dim=1).argsort(descending=True).tolist(), "That is an order by length."),
    ]
    for mistaken, advice in mistakes:
        if order == mistaken:
            raise Wrong(advice)
    if order[0] != by_cosine[0]:
        raise Wrong(f"Sentence {order[0]} is not the most central: compare the means of its "
                    "cosines with those of the others.")  # fmt: skip
    if order != by_cosine:
        raise Wrong(f"The first is right; after it, {by_cosine[1:]} would follow, not {order[1:]}.")
    return "The planted sentence, 3, comes first: it has something of all the others."


@exercise("return one row for each patch.")
def check_patches(answer: Answer) -> str:
    """Check a function that cuts an image of 8 × 8 pixels into patches of 2 × 2.

    Args:
        answer: The learner's function of an image, (8, 8): one row per patch, (16, 4).

    Chapter: looking_inside#exercises
    """
    for image in (torch.arange(64.0).view(8, 8), torch.arange(64.0).view(8, 8).square().sin()):
        expected = patchify(image[None], 2).double()
        grid = image.double().view(4, 2, 4, 2)
        mistakes = [
            (image.double().view(16, 4), "A patch has two rows of the image. Yours holds four "
             "pixels of one row."),
            (grid.permute(2, 0, 1, 3).reshape(16, 4), "Read the patches left to right, then top "
             "to bottom; yours go down first."),
            (grid.permute(0, 2, 3, 1).reshape(16, 4), "Inside a patch, too, read left to right, "
             "then top to bottom."),
            (image.double().view(2, 4, 2, 4).permute(1, 3, 0, 2).reshape(16, 4), "Neighbours "
             "belong together: view the image as (4, 2, 4, 2), not as (2, 4, 2, 4)."),
        ]  # fmt: skip

        def otherwise(found: Tensor, right: Tensor) -> str:
            row = int((found - right).abs().amax(dim=1).argmax())
            pixels = [round(pixel, 3) for pixel in right[row].tolist()]
            return f"Patch {row} should hold {pixels}, if the pixels are numbered from 0 to 63."

        compare(answer(image), expected, "The patches", mistakes, otherwise)
    return "16 tokens of 4 numbers: for the Transformer, the digit is now a text."


def _two_runs(n: int, d: int) -> tuple[Callable[[Tensor], Tensor], Tensor, Tensor]:
    """A score that is no mere sum over the rows, and the rows of two runs that part at row 1."""
    generator = torch.Generator().manual_seed(_SEED + n)
    weights = torch.randn(d, d, generator=generator, dtype=torch.float64)
    good, bad = torch.randn(2, n, d, generator=generator, dtype=torch.float64)
    bad[0] = good[0]

    def score(rows: Tensor) -> Tensor:
        return torch.tanh(rows.cumsum(dim=0) @ weights).sum() - 2

    return score, good, bad


def _by(likeness: Tensor) -> list[int]:
    """Sentences by their mean likeness to the others."""
    return likeness.fill_diagonal_(0).sum(dim=1).argsort(descending=True).tolist()
