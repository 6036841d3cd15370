"""Checks: a measure by hand, no skip, small writes, paths, a stack run backwards."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from softlookup.analysis import ablated_streams, random_stack, rank_residual
from softlookup.exercises.compare import (
    Mistakes,
    advised,
    compare,
    draw,
    draws,
    matrix,
    scalar,
)
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.layers import layer_norm

_RESIDUALS = {
    "(3, 1) and (1, 3)": math.sqrt(1 / 5),
    "(2, 5) and (2, 5)": 0.0,
    "(2, 0) and (-2, 0)": 1.0,
}
_SAME = {
    "all rows times 3": (True, "numerator and denominator become three times as long."),
    "(1, 1) added to each row": (False, "the differences stay, and the rows become longer."),
    "rows in another order": (True, "the mean row is the same, and so are all lengths."),
    "one row times 3": (False, "the mean row moves, and one row weighs more than the other."),
}
_KEPT = 0.9

Pair = tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]


@exercise("give the rank residuals.", "say which changes leave it as it is.")
def check_alike(residuals: Answer, same: Answer) -> str:
    """Check the rank residual of three pairs of rows, and what leaves it as it is.

    Args:
        residuals: The learner's number for each pair of rows in ``_RESIDUALS``, a dict.
        same: For each change in ``_SAME``, whether the rank residual of (3, 1) and (1, 3) stays.

    Chapter: depth#exercises
    """
    for name, given in residuals.named(_RESIDUALS, "The first answer").items():
        found, right = scalar(given, f"The rank residual of {name}"), _RESIDUALS[name]
        if not math.isclose(found, right, abs_tol=6e-3):
            mistakes = [(right**2, "a length is a root."), (2.0, "divide by the whole length.")]
            aside = "subtract the mean row from both, and divide the length by that of the whole."
            raise Wrong(f"For {name} not {found:.3g}: {advised(found, mistakes, aside)}")
    for name, given in same.named(_SAME, "The second answer").items():
        right, reason = _SAME[name]
        if given is not True and given is not False:
            raise Wrong(f"For {name!r} say True or False; you have {given!r}.")
        if given is not right:
            raise Wrong(f"{name.capitalize()}? Work it out for (3, 1) and (1, 3): {reason}")
    return "The measure forgets the size of the whole matrix. It does not forget a common vector."


@exercise("give W_Q.", "give W_K.", "give W_V.")
def check_without_skip(W_Q: Answer, W_K: Answer, W_V: Answer) -> str:
    """Check matrices with which 24 layers of attention alone keep sixteen random words apart.

    Args:
        W_Q: The learner's matrix for queries, 64 × 64, as the two others. The words are rows.
        W_K: That for keys.
        W_V: That for values.

    Chapter: depth#exercises
    """
    matrices = []
    for name, answer in (("W_Q", W_Q), ("W_K", W_K), ("W_V", W_V)):
        found = matrix(answer.value, name)
        if found.shape != (64, 64):
            raise Wrong(f"{name} should have shape (64, 64); yours has {tuple(found.shape)}.")
        matrices.append(found)
    queries, keys, values = matrices
    for seed in range(19, 24):
        X = draw(16, 64, seed=seed)
        start = rank_residual(X).item()
        own = []
        for _ in range(24):
            scores = X @ queries @ (X @ keys).mT / 8
            A = torch.softmax(scores, dim=-1)
            X = A @ X @ values
            own.append(A.diagonal().mean().item())
        if not torch.isfinite(X).all():
            raise Wrong("The rows outgrow what a number can hold: W_V makes them longer each time.")
        if X.norm() == 0:
            raise Wrong("The rows shrink to nothing: W_V makes them shorter each time.")
        left = rank_residual(X).item()
        if left < _KEPT * start:
            raise Wrong(
                f"Of {start:.2f} your layers leave {left:.2g}. In the first of them a word gives "
                f"{own[0]:.2f} of its attention to itself, in the last {own[-1]:.2f}. What should "
                "that share be?"
            )
    return (
        f"{left:.2f} is left after 24 layers without a skip, with words that your matrices had "
        "never seen. But each word reads itself alone, so nothing has been communicated: your "
        "attention has become the skip."
    )


@exercise("return the paths of each length.")
def check_paths(answer: Answer) -> str:
    """Check the parts of a stack of attention with skips, sorted by how many layers they crossed.

    Args:
        answer: The learner's function of (weights, matrices, X): each layer's attention weights and
            its matrix for the values, and the rows that came in. It returns a tensor with one entry
            for each length from 0 to the number of layers.

    Chapter: depth#exercises
    """
    for n_layers, n, d in ((1, 2, 3), (4, 3, 5), (40, 4, 6)):
        X, *rest = draws((n, d), *[(n, n), (d, d)] * n_layers, seed=n_layers)
        weights = [torch.softmax(scores, dim=-1) for scores in rest[::2]]
        matrices = [W / d**0.5 for W in rest[1::2]]
        right = _paths(weights, matrices, X)
        top = right.sum(0)
        found = answer(weights, matrices, X)
        mistakes = [
            (right.flip(0), "The first entry is for paths that cross no layer, X itself."),
            (_paths(weights[::-1], matrices[::-1], X), "The lowest layer comes first."),
            (_paths(weights, [W.mT for W in matrices], X), "A value is a row times W."),
            (right.cumsum(0), "Keep the lengths apart: do not add them up."),
        ]

        def aside(given: Tensor, _: Tensor, top: Tensor = top) -> str:
            if given.shape[1:] == top.shape and torch.allclose(given.sum(0), top):
                return "Your parts add up to the output, but they stand at the wrong lengths."
            return (
                "Your parts do not add up to what leaves the stack. Begin with one layer, then two."
            )

        case = f"With {n_layers} layer{'s' * (n_layers > 1)}: "
        compare(found, right, "The parts", mistakes, aside, case=case)
    return "All parts, for 40 layers too: a million million paths, and no more than 40 steps."


@exercise("return both rows and both gradients.")
def check_backwards(answer: Answer) -> str:
    """Check a reversible stack that is run backwards, and the gradient that it finds on its way.

    Args:
        answer: The learner's function of (y_1, y_2, g_1, g_2, layers): the two streams at the top,
            the gradients there, and the pairs of layers from the bottom up. It returns the two
            streams that came in, and the gradients there.

    Chapter: depth#exercises
    """
    names = ("x_1", "x_2", "the gradient of x_1", "the gradient of x_2")
    for n_blocks, seed in ((1, 3), (2, 5), (30, 7)):
        layers = _pairs(n_blocks, seed)
        x_1, x_2, g_1, g_2 = draws(*[(3, 4)] * 4, seed=seed)
        bottom = x_1.clone().requires_grad_(), x_2.clone().requires_grad_()
        top = bottom
        for first, second in layers:
            y_1 = top[0] + first(top[1])
            top = y_1, top[1] + second(y_1)
        down = torch.autograd.grad(top, bottom, (g_1, g_2))
        found = answer(top[0].detach(), top[1].detach(), g_1, g_2, layers)
        if not isinstance(found, tuple | list) or len(found) != len(names):
            raise Wrong("Return four things: x_1, x_2, and the gradients of the two.")
        mistakes = [
            [(x_2, "That is x_2."), (top[0].detach(), "That is y_1, as it was at the top.")],
            [(x_1, "That is x_1."), (top[1].detach(), "That is y_2, as it was at the top.")],
            [(down[1], "That is the gradient of x_2."), (g_1, "That is the gradient at the top.")],
            [(down[0], "That is the gradient of x_1."), (g_2, "That is the gradient at the top.")],
        ]
        asides = [
            "Which of the two sums was made last? Undo it first.",
            "Which of the two sums was made last? Undo it first.",
            "x_1 reaches y_1 directly, and y_2 through G.",
            "x_2 reaches y_2 directly, and y_1 through F, and through y_1 it reaches y_2 again.",
        ]
        case = f"With {n_blocks} block{'s' * (n_blocks > 1)}: "
        right = (x_1, x_2, *down)
        for k, name in enumerate(names):
            otherwise = f"{case}{name} is off. {asides[k]}"
            told = f"{case}{name}"
            compare(found[k], right[k], told, mistakes[k], otherwise, case=case, tolerance=1e-5)
    return (
        "Thirty blocks, and nothing was kept but the top. The memory for activations no longer "
        "grows with the depth; each layer is computed once more on the way down."
    )


@exercise("return the size for post-norm.", "return the size for pre-norm.")
def check_small_writes(post: Answer, pre: Answer) -> str:
    """Check how small writes must be for a share of the word to be left, in both orders.

    Args:
        post: The learner's function of (n_blocks, share) for post-norm: the length of a write,
            measured in the row to which it is added.
        pre: The same for pre-norm, measured in the word that came in.

    Chapter: depth#exercises
    """
    for n_blocks, share in (24, 0.5), (96, 0.5), (3, 0.9):
        n = 2 * n_blocks  # sums
        right_post, right_pre = share ** (-2 / n) - 1, (share**-2 - 1) / n
        cases = [
            (post, "post-norm", right_post, _post_mistakes(n, share, right_pre)),
            (pre, "pre-norm", right_pre, _pre_mistakes(n, share, right_post)),
        ]
        for answer, kind, square, mistakes in cases:
            right = math.sqrt(square)
            found = scalar(answer(n_blocks, share), f"For {kind} the size")
            if not math.isclose(found, right, rel_tol=2e-3):
                left = f"{share:g} left after {n_blocks} blocks"
                hint = advised(found, mistakes, "draw row and write as a triangle.", rel_tol=1e-6)
                raise Wrong(f"For {kind}, {left}, your {found:.3g} is not right: {hint}")
    return (
        "Four times as many blocks, and both sizes are halved, or very nearly: in both orders "
        "the writes must shrink like one over the root of the depth."
    )


@exercise("return what the wrong program gives.")
def check_wrong_place(answer: Answer) -> str:
    """Check a stack whose sums take the normalized copy, made from parts of a post-norm stack.

    Args:
        answer: The learner's function of (x, all_but_last, last), which returns what leaves the
            wrong stack. The first part passes rows through all layers of a post-norm stack but the
            last, and the second is what the last layer writes.

    Chapter: depth#exercises
    """
    x, layers = draw(5, 6, seed=19), [torch.sin, lambda rows: rows.flip(0), torch.tanh]
    last = layers[-1]

    def all_but_last(rows: Tensor) -> Tensor:
        for layer in layers[:-1]:
            rows = layer_norm(rows + layer(rows))
        return rows

    right = x
    for layer in layers:
        u = layer_norm(right)
        right = u + layer(u)
    z, late, sample = all_but_last(layer_norm(x)), all_but_last(x), all_but_last(_sample_norm(x))
    mistakes = [
        (late + last(late), "The program begins with a norm; a post-norm stack does not."),
        (
            layer_norm(late + last(late)),
            "That is post-norm as it should be: it begins and ends "
            "in another way than the program.",
        ),
        (layer_norm(right), "There is no norm after the last layer."),
        (z, "The last layer has not written yet."),
        (last(z), "The last layer's write is added to what it reads."),
        (
            sample + last(sample),
            "The variance is the mean of the squares: std divides by n − 1 unless told not to.",
        ),
    ]
    aside = "Write both stacks down, for three layers: norm, sum, norm, sum, and so on."
    # A norm of one's own, with another epsilon or none, is as good: it differs by some 1e-5.
    compare(answer(x, all_but_last, last), right, "The result", mistakes, aside, tolerance=1e-3)
    return (
        "In the code one name differs, u + F(u) in the place of x + F(u), and the program is a "
        "post-norm stack with a norm below it and without its last one."
    )


@exercise("return the rank residual of the rows.", "give what is left after 24 blocks.")
def check_collapse(residual: Answer, half: Answer) -> str:
    """Check a measure of how far tokens are from being alike, and what it finds in a tall stack.

    Args:
        residual: The learner's function of X, one token per row.
        half: What it gives after the chapter's 24 post-norm blocks with writes half as long.

    Chapter: depth#exercises
    """
    for X in draw(5, 3, seed=19), 2 + draw(2, 7, seed=20):
        found, right = scalar(residual(X), "The rank residual"), rank_residual(X).item()
        if not math.isclose(found, right, rel_tol=1e-4):
            aside = "subtract the mean row from each, and compare the two lengths."
            hint = advised(found, _residual_mistakes(X), aside, rel_tol=1e-4)
            raise Wrong(
                f"For a matrix {X.shape[0]} × {X.shape[1]} your {found:.4g} is wrong: {hint}"
            )
    with torch.random.fork_rng():  # the layers draw before they are given their matrices
        x, blocks = random_stack(0)
    left = {
        (norm, size): rank_residual(ablated_streams(blocks, x, norm=norm, size=size)[24]).item()
        for norm, size in (("post", 0.5), ("post", 1.0), ("pre", 0.5), ("none", 0.5))
    }
    right = left.pop(("post", 0.5))
    found = scalar(half.value, "What is left")
    if not math.isclose(found, right, rel_tol=0.05):
        mistakes = [
            (left["post", 1.0], "these writes have their full length."),
            (left["pre", 0.5], "that is pre-norm."),
            (left["none", 0.5], "there the stack has no norm."),
        ]
        aside = 'measure run_stack(blocks, x_16, norm="post", size=0.5)[24].'
        raise Wrong(f"Not {found:.2g}: {advised(found, mistakes, aside, rel_tol=0.05)}")
    return (
        "Far better than the 0.0005 of full writes. But a pre-norm stack with writes of half the "
        "length leaves 0.55, and one without a norm 0.20: here the norm after each sum hurts."
    )


def _post_mistakes(n: int, share: float, of_pre: float) -> Mistakes:
    """Known wrong sizes of writes after which a norm follows, with what to say about each."""
    return [
        (math.sqrt(share ** (-4 / n) - 1), "each block has two sums."),
        (share ** (-2 / n) - 1, "Pythagoras adds squares, so the size is a root."),
        (share ** (-1 / n) - 1, "at a right angle a sum is sqrt(1 + size²) times as long."),
        (math.sqrt(share ** (-1 / n) - 1), "the lengths multiply, and each of them is a root."),
        (math.sqrt(2 * math.log(1 / share) / n), "close, but 1 + size² is not quite exp(size²)."),
        (math.sqrt(of_pre), "that is for rows that are never cut back, as in pre-norm."),
    ]


def _pre_mistakes(n: int, share: float, of_post: float) -> Mistakes:
    """Known wrong sizes of writes that pile up, with what to say about each."""
    return [
        (math.sqrt(2 * (share**-2 - 1) / n), "each block adds two writes."),
        ((share**-2 - 1) / n, "Pythagoras adds squares, so the size is a root."),
        ((1 / share - 1) / n, "at right angles the squares of lengths add up, not the lengths."),
        (math.sqrt((1 / share - 1) / n), "the share is one of lengths: square it."),
        (1 / (share * math.sqrt(n)), "the word itself is one of the pieces."),
        (math.sqrt((share**-2 - 1) / (n - 1)), "after the last block there are two writes each."),
        (math.sqrt(of_post), "that is for rows that are cut back at each sum, as in post-norm."),
    ]


def _residual_mistakes(X: Tensor) -> Mistakes:
    """Known wrong measures, with what to say about each."""
    centred = X - X.mean(dim=0)
    ratios = centred.norm(dim=1) / X.norm(dim=1)
    return [
        ((X - X.mean(dim=1, keepdim=True)).norm() / X.norm(), "the mean is one over the tokens."),
        (centred.norm(), "divide by the length of the whole matrix."),
        (centred.square().sum() / X.square().sum(), "a length is a root."),
        (ratios.mean(), "take the length of the whole matrix, not of each row."),
    ]


def _sample_norm(x: Tensor) -> Tensor:
    """The norm of somebody who divides by n − 1."""
    return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)


def _paths(weights: list[Tensor], matrices: list[Tensor], X: Tensor) -> Tensor:
    """The parts by length: each layer hands on all paths, and makes each of them one longer."""
    paths = X.new_zeros(len(weights) + 1, *X.shape)
    paths[0] = X
    for A, W in zip(weights, matrices, strict=True):
        paths[1:] += A @ paths[:-1] @ W
    return paths


def _pairs(n_blocks: int, seed: int) -> list[Pair]:
    """Two small layers for each block, which mix tokens and columns, and are not linear."""
    sizes = (3, 3), (4, 4), (3, 3), (4, 4)
    drawn = [draws(*sizes, seed=100 * seed + k) for k in range(n_blocks)]
    return [(_layer(*both[:2]), _layer(*both[2:])) for both in drawn]


def _layer(A: Tensor, W: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda rows: torch.tanh(A @ rows @ W / 4)
