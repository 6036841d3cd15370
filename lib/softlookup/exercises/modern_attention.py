"""Checks: caches, reach, sinks, tiles, states, gradients, features."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from softlookup.attention import (
    attention,
    attention_scores,
    count_operations,
    path_lengths,
    peak_memory,
)
from softlookup.attention.efficient import (
    elu_plus_one,
    sliding_mask,
    strided_mask,
)
from softlookup.exercises.compare import (
    Mistakes,
    advised,
    close,
    compare,
    counted,
    draw,
    draws,
    matrix,
    numbers,
    one_number,
)
from softlookup.exercises.verdict import Answer, Wrong, by_hand, exercise

EVICTION = "Return two things: the mass, and the new weights."
EVICTION_MASS = "The mass that moves is the weight that the sinks had, row by row."
EVICTION_ELSE = "Compare with the softmax over the scores of the keys that stay."
MERGE = "Return three things: the maximum, the sum and the output."
MERGE_SUM = "Both sums must be measured against the common maximum before they are added."
MERGE_LARGE = (
    "Scores may be as large as 10,000, and their exponentials are inf: subtract the common maximum "
    "before you take an exponential."
)
MERGE_OUT = "Compare with the softmax over all scores, times all values."
GRADIENTS = "Return three gradients: of the query, of the key and of the value."
GRADIENTS_BY_HAND = (
    "Automatic differentiation is switched off here: write the gradients down by hand, as "
    "products of the tensors that you are given."
)
TILES = "Return two things: the rows of a tile, and the bytes that are moved."
_FAST_MEMORIES = (
    (4096, 64, 192_000),
    (8192, 128, 192_000),
    (2048, 32, 100_000),
    (4096, 128, 90_000),
    (512, 64, 48_000),
)
_CACHES = (
    (2**32, 36, 8, 64, 128),
    (10**6, 4, 2, 8, 5000),
    (123_456, 2, 3, 7, 100),
    (10_000, 6, 1, 16, 7),
)


@exercise("return the number of tokens.")
def check_longest(answer: Answer) -> str:
    """Check how long a text fits into a cache of which half of the layers keep a window.

    Args:
        answer: The learner's function of (n_bytes, n_layers, n_kv_heads, d_head, width).

    Chapter: modern_attention#exercises
    """
    for n_bytes, n_layers, n_kv_heads, d_head, width in _CACHES:
        half, slot = n_layers // 2, 4 * n_kv_heads * d_head  # bytes of one token in one layer
        slots = n_bytes // slot
        short = slots // n_layers
        expected = short if short <= width else slots // half - width
        given = (n_bytes, n_layers, n_kv_heads, d_head, width)
        found = one_number(answer(*given), "The number of tokens")
        if found == expected:
            continue
        mistakes = [
            (
                short,
                "So long a text fits if every layer keeps all of it; half of the layers "
                "keep a window only.",
            ),
            (slots // half, "The layers with a window take room, too."),
            (
                slots // half - width,
                "A text shorter than the window fills no window: then all layers keep all of it.",
            ),
            (2 * slots // half - width, "Keys *and* values are kept, two bytes for each number."),
            (4 * slots // half - width, "Keys *and* values are kept, two bytes for each number."),
            (
                expected + 1,
                "One token more does not fit. (A window keeps `width` tokens here, not one less.)",
            ),
            (expected - 1, "One token more fits."),
        ]
        if found != int(found):
            raise Wrong(f"Whole tokens: {found:,.2f} of them do not fit.")
        aside = f"{expected:,} tokens fit; yours says {found:,.0f}."
        case = f"With {n_bytes:,} bytes, {n_layers} layers and a window of {width:,}: "
        raise Wrong(case + advised(found, mistakes, aside, rel_tol=0))
    return "With gpt-oss-120b's sizes, 4 GiB hold 116,380 tokens; with no window, half as many."


@exercise("return the maximum, the sum and the output.")
def check_merge(answer: Answer) -> str:
    """Check how what two machines have read becomes what one would have read.

    Args:
        answer: The learner's function of (m, ell, out) of one machine and the same of another: one
            maximum, one sum of exponentials and one row of the output for each query.

    Chapter: modern_attention#exercises
    """
    for stretch in (1.0, 1e4):
        scores, value = draws((5, 11), (11, 3), seed=18)
        scores = stretch * scores
        whole = _machine(scores, value)
        a, b = _machine(scores[:, :4], value[:4]), _machine(scores[:, 4:], value[4:])
        m, ell, out = answer.several(3, MERGE, *a, *b)
        _no_overflow(ell, out)
        mistakes = [(a[0] + b[0], "The largest score of all is the larger of the two maxima.")]
        compare(m, whole[0], "The maximum", mistakes, "Compare with the largest of all scores.")
        mistakes = [
            (
                a[1] + b[1],
                "Each sum is measured against its machine's own maximum. Shrink both to "
                "the common one first.",
            ),
            (
                a[1] * (m - a[0]).exp() + b[1] * (m - b[0]).exp(),
                "A sum that was measured against a smaller maximum must *shrink*: the exponent is "
                "the old maximum minus the new one.",
            ),
        ]
        compare(ell, whole[1], "The sum", mistakes, f"{MERGE_SUM} Scores reach {stretch:,.0f}.")
        shrunk = [part[1] * (part[0] - whole[0]).exp() for part in (a, b)]
        undivided = sum(s.unsqueeze(-1) * part[2] for s, part in zip(shrunk, (a, b), strict=True))
        growth = [(part[0] - whole[0]).exp().unsqueeze(-1) for part in (a, b)]
        as_sums = growth[0] * a[2] + growth[1] * b[2]
        mistakes = [
            (
                as_sums / whole[1].unsqueeze(-1),
                "What a machine sends is divided already: multiply it by the machine's own sum "
                "before you add.",
            ),
            ((a[2] + b[2]) / 2, "That is a plain mean. A machine counts by its share of the sum."),
            (a[2] + b[2], "Two means do not add. Undo the divisions, add, and divide once."),
            (undivided, "Divide by the sum over both machines."),
            (
                (a[1].unsqueeze(-1) * a[2] + b[1].unsqueeze(-1) * b[2])
                / (a[1] + b[1]).unsqueeze(-1),
                "The shares need the sums measured against the *common* maximum.",
            ),
        ]
        compare(out, whole[2], "The output", mistakes, MERGE_OUT)
    return "As if one machine had read all: this is how attention is spread over many."


@exercise("return the rows of a tile, and the bytes that are moved.")
def check_tiles(answer: Answer) -> str:
    """Check the largest tile that fits into a fast memory, and the traffic that it causes.

    Args:
        answer: The learner's function of (n, d, n_bytes): the largest power of two for the rows of
            a tile, and the bytes that cross the line for one head without a mask.

    Chapter: modern_attention#exercises
    """
    for n, d, n_bytes in _FAST_MEMORIES:
        case = f"With n = {n:,}, d = {d} and {n_bytes:,} bytes: "
        found = answer.several(2, TILES, n, d, n_bytes)
        rows = one_number(found[0], "The rows of a tile")
        if rows < 1 or rows != 2 ** round(math.log2(rows)):
            raise Wrong(f"{case}{rows:,.6g} rows are no power of two.")
        parts, B = _held(int(rows), d), int(rows)
        if sum(parts) > n_bytes:
            tiles, scores, sums = (f"{part:,}" for part in parts)
            raise Wrong(
                f"{case}{B} rows take {sum(parts):,} bytes: {tiles} for the three tiles, {scores} "
                f"for the scores, and {sums} for the running numbers."
            )
        if sum(_held(2 * B, d)) <= n_bytes:
            raise Wrong(f"{case}twice your {B} rows take {sum(_held(2 * B, d)):,} bytes, and fit.")
        moved = one_number(found[1], "The bytes that are moved")
        once, again = 2 * n * d, 2 * n * d * n // B  # numbers: Q and Z, K and V
        mistakes = [
            (once + again, "Those are numbers; each of them has two bytes."),
            (4 * again, "Q and Z cross the line once; K and V alone come again for each tile."),
            (2 * again, "The queries are read once, too, and the output is written once."),
            (
                2 * (once + once),
                "Each tile of queries reads all keys and values, not only its own.",
            ),
            (once + 2 * again, "The queries and the output have two bytes for a number, too."),
            (2 * (once + again // 2), "Each tile of queries reads keys *and* values."),
            (2 * (once // 2 + again), "Queries come in, and as many rows of the output go back."),
        ]
        if moved != 2 * (once + again):
            otherwise = f"yours moves {moved:,.0f} bytes, and it takes {2 * (once + again):,}."
            raise Wrong(case + advised(moved, mistakes, otherwise, rel_tol=0))
    return (
        "In 192,000 bytes a head of width 64 has tiles of 128 rows, and one of width 128 tiles of "
        "64. So the keys of the wider head are read twice as often, too."
    )


@exercise("return one row per position.")
def check_fading(answer: Answer) -> str:
    """Check causal linear attention whose keys fade, run from a state.

    Args:
        answer: The learner's function of (query, key, value, gamma), with the feature map elu + 1.

    Chapter: modern_attention#exercises
    """
    query, key, value = draws((11, 5), (11, 5), (11, 3), seed=18)
    for gamma in (0.7, 0.95, 1.0):
        expected, mistakes = _fading(query, key, value, gamma)
        found = answer(query, key, value, gamma)
        otherwise = f"Other numbers than the formula gives, at gamma = {gamma}."
        compare(found, expected, "The output", mistakes, otherwise)
    for n, gamma in ((512, 0.9), (512, 1.0), (2500, 0.7)):
        inputs = draws((n, 5), (n, 5), (n, 3), seed=18)
        found, work = _with_work(answer, *inputs, gamma)
        if work > n * n:
            raise Wrong(
                "The numbers are right, but it takes all pairs: keep a state instead, a sum."
            )
        expected, _ = _fading(*inputs, gamma)
        otherwise = f"Right for 11 tokens, and other numbers than the formula gives for {n:,}."
        compare(found, expected, "The output", [], otherwise)
    return "Each step shrinks the whole state by gamma: one gate, and the far past fades."


@exercise("return a boolean matrix.")
def check_reach(answer: Answer) -> str:
    """Check which positions can reach which through a stack of layers with one mask.

    Args:
        answer: The learner's function of (mask, n_layers): a boolean matrix, True at (i, j) where
            output i can depend on input j.

    Chapter: modern_attention#exercises
    """
    masks = {"a window": sliding_mask(13, 4), "a stride": strided_mask(13, 4)}
    masks["a window without itself"] = sliding_mask(13, 4) & ~torch.eye(13, dtype=torch.bool)
    for name, mask in masks.items():
        for n_layers in (1, 2, 3, 5):
            lengths = path_lengths(mask)
            expected = (lengths >= 0) & (lengths <= n_layers)
            found = numbers(answer(mask, n_layers), expected, "The matrix")
            if not ((found == 0) | (found == 1)).all():
                raise Wrong("True or False for each pair: that there is a path, not how many.")
            if close(found, expected):
                continue
            stack = counted(n_layers, "layer")
            if close(found, expected.mT):
                raise Wrong("Rows are outputs and columns are inputs: yours is turned round.")
            if close(found, mask) and n_layers > 1:
                raise Wrong("That is one layer. The next one starts from what the first has read.")
            if found.diagonal().min() == 0:
                raise Wrong("Around each layer leads a skip connection: i always reaches itself.")
            if close(found, (lengths >= 0) & (lengths < n_layers)):
                raise Wrong(f"That is one layer less than the {stack} asked for.")
            if name == "a window":
                raise Wrong(
                    f"Through {stack} of width 4, the last of 13 positions hears "
                    f"{int(expected[-1].sum())}; yours says {int(found[-1].sum())}. A layer goes "
                    "w - 1 steps back."
                )
            raise Wrong(f"Right for other masks; not for {name} through {stack}.")
    return "After L layers a window of w reaches L(w - 1) steps back, and a stride everywhere in 2."


@exercise("return the three gradients.")
def check_gradients(answer: Answer) -> str:
    """Check the gradients of attention, computed without the table of all pairs.

    Args:
        answer: The learner's function of (query, key, value, upstream): the gradients with respect
            to the first three.

    Chapter: modern_attention#exercises
    """
    inputs = draws((13, 5), (17, 5), (17, 3), (13, 3), seed=18)
    expected = _gradients(*inputs)
    hints = {"does not require grad": GRADIENTS_BY_HAND}
    with torch.no_grad(), by_hand():
        found = answer.several(3, GRADIENTS, *inputs, hints=hints)
    for name, one, right, mistakes in zip(
        ("query", "key", "value"), found, expected, _gradient_mistakes(*inputs), strict=True
    ):
        what = f"The gradient of the {name}"
        compare(one, right, what, mistakes, f"{what} differs from that of PyTorch.", tolerance=1e-5)
    n = 512
    inputs = draws((n, 8), (n, 8), (n, 8), (n, 8), seed=18)
    with torch.no_grad():
        held = peak_memory(lambda: answer(*inputs))
    held -= sum(one.nbytes for one in inputs)  # the call's own copies
    table = n * n * 8
    if held > table // 3:
        advice = "Take the queries in tiles." if held > table else "Take smaller tiles."
        raise Wrong(
            f"The gradients are right, but at n = {n} your tensors hold {held:,} bytes at a time; "
            f"a third of the table of weights is {table // 3:,}. {advice}"
        )
    return f"With {held:,} bytes at a time where the table alone has {table:,}."


@exercise("return one row of features per row.")
def check_features(answer: Answer) -> str:
    """Check random positive features whose products are on average the softmax's kernel.

    Args:
        answer: The learner's function of (x, W), W with independent standard normal numbers.

    Chapter: modern_attention#exercises
    """
    query, key, W = draws((4, 3), (5, 3), (200_000, 3), seed=18)
    query, key = 0.6 * query, 0.6 * key
    kernel = (query @ key.mT).exp()
    few = _table(answer(query, W[:7]), len(query))
    if few.min() <= 0:
        raise Wrong("Some features are not positive; then weights can be negative, too.")
    if few.shape[1] == 0 or close(few, _table(answer(query, W[7:14]), len(query))):
        raise Wrong("The features do not depend on W.")
    products = _table(answer(query, W), 4) @ _table(answer(key, W), 5).mT
    off = ((products - kernel) / kernel).abs().max().item()
    if off > 0.05:
        squares = (query**2).sum(-1, keepdim=True) / 2 + (key**2).sum(-1) / 2
        mistakes = [
            (
                kernel * squares.exp(),
                "On average your product is exp(|q + k|²/2): take away what "
                "is too much, each side its own half.",
            ),
            (kernel * (-squares).exp(), "You take away too much: the *half* of each square."),
            (kernel * len(W), "A product is a sum over the rows of W; it should be their mean."),
            (
                kernel / len(W),
                "The mean is taken twice: each side divides by the root of the number of rows.",
            ),
        ]
        for mistaken, advice in mistakes:
            if ((products - mistaken) / mistaken).abs().max() < 0.05:
                raise Wrong(advice)
        raise Wrong(
            f"With {len(W):,} rows of W the products should be within a few percent of "
            f"exp(q · k); one of yours is off by {off:.0%}."
        )
    return "Linear attention with these features tends to softmax attention as W grows."


@exercise("return the mass and the new weights.")
def check_eviction(answer: Answer) -> str:
    """Check what becomes of the weights when the sinks leave the cache.

    Args:
        answer: The learner's function of (weights, n_sinks), one row of weights per query: the mass
            that moves, one number per row, and the weights of the keys that stay.

    Chapter: modern_attention#exercises
    """
    for n_sinks in (1, 2):
        scores = draw(5, 7, seed=18)
        scores[:, 0] += 3
        weights = scores.softmax(dim=-1)
        mass, kept = weights[:, :n_sinks].sum(dim=-1), weights[:, n_sinks:]
        moved, new = answer.several(2, EVICTION, weights, n_sinks)
        mistakes = [(weights[:, 0], "With two sinks the mass is the sum of both weights.")]
        compare(moved, mass, "The mass", mistakes, EVICTION_MASS)
        mistakes = [
            (kept, "A softmax always sums to 1: what the sinks had goes to the others."),
            (
                kept + mass.unsqueeze(-1) / kept.shape[-1],
                "Not in equal parts: the other scores stay, so their ratios stay.",
            ),
            (
                kept.softmax(dim=-1),
                "The softmax of the *scores* that stay; these are weights already.",
            ),
        ]
        expected = kept / (1 - mass).unsqueeze(-1)
        compare(new, expected, "The new weights", mistakes, EVICTION_ELSE)
    return "Every key that stays grows by the same factor, 1 / (1 - mass)."


def _with_work(answer: Answer, *given: object) -> tuple[object, int]:
    """What the answer returns, and how many numbers it makes, or products if these are more."""
    found = []
    with _Made() as made:
        products = count_operations(lambda: found.append(answer(*given))).multiplications
    return found[0], max(made.n_numbers, products)


class _Made(TorchDispatchMode):
    """Counts the numbers of all tensors that are computed inside; views of others are none."""

    def __init__(self) -> None:
        super().__init__()
        self.n_numbers = 0

    def __torch_dispatch__(
        self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        out = func(*args, **(kwargs or {}))
        if not func.is_view:
            made = [one for one in tree_leaves(out) if isinstance(one, Tensor)]
            self.n_numbers += sum(one.numel() for one in made)
        return out


def _table(answer: object, n_rows: int) -> Tensor:
    """The learner's features as a table with one row for each row of x."""
    table = matrix(answer, "The features")
    if len(table) != n_rows:
        shape = tuple(table.shape)
        raise Wrong(f"The features should have a row for each row of x; yours have {shape}.")
    return table


def _no_overflow(*found: object) -> None:
    """Name what makes NaN of large scores: exponentials that were taken without a maximum."""
    for one in found:
        if isinstance(one, Tensor) and not one.isfinite().all():
            raise Wrong(MERGE_LARGE)


def _held(rows: int, d: int) -> tuple[int, int, int]:
    """The bytes of three tiles, of their scores, and of the running numbers."""
    return 2 * 3 * rows * d, 4 * rows**2, 4 * rows * (2 + d)


def _machine(scores: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What one machine sends: the largest scores, the sums, the outputs."""
    m = scores.amax(dim=-1)
    return m, (scores - m.unsqueeze(-1)).exp().sum(dim=-1), scores.softmax(dim=-1) @ value


def _fading(query: Tensor, key: Tensor, value: Tensor, gamma: float) -> tuple[Tensor, Mistakes]:
    """The formula, from all pairs, and what comes of known mistakes."""
    n = len(query)
    back = torch.arange(n).unsqueeze(-1) - torch.arange(n)
    products = elu_plus_one(query) @ elu_plus_one(key).mT
    elu = torch.nn.functional.elu

    def read(weights: Tensor, below: Tensor | None = None) -> Tensor:
        below = weights if below is None else below
        return weights @ value / below.sum(dim=-1, keepdim=True)

    fades = torch.where(back >= 0, gamma ** back.double(), 0.0)
    faded = products * fades
    plain = products.tril()
    without_first = faded.tril(-1)
    raw = (elu(query) @ elu(key).mT) * fades
    mistakes = [
        (faded @ value, "Divide each row by its sum of weights."),
        (read(faded, plain), "The sum below the line fades, too."),
        (read(without_first), "The first row is 0/0: write the first key before you read."),
        (read(without_first).nan_to_num(), "Write the key, then read: a position reads itself."),
        (read(products * gamma ** back.abs().double()), "No position may read what comes later."),
        (
            read(attention_scores(query, key).exp() * fades),
            "That is softmax attention: here the weights are products of features.",
        ),
        (read(raw), "Features must be positive: elu + 1."),
    ]
    if gamma < 1:
        mistakes.insert(
            0, (read(plain), "Nothing fades: every step multiplies all that is old by gamma.")
        )
    return read(faded), mistakes


def _gradients(query: Tensor, key: Tensor, value: Tensor, upstream: Tensor) -> list[Tensor]:
    """Those that PyTorch finds by itself."""
    with torch.enable_grad():
        inputs = [x.clone().requires_grad_() for x in (query, key, value)]
        return list(torch.autograd.grad((attention(*inputs) * upstream).sum(), inputs))


def _gradient_mistakes(
    query: Tensor, key: Tensor, value: Tensor, upstream: Tensor
) -> list[Mistakes]:
    """For query, key and value: what comes of known mistakes."""
    scale = query.shape[1] ** -0.5
    weights = (scale * query @ key.mT).softmax(dim=-1)
    g = upstream @ value.mT
    right = weights * (g - (weights * g).sum(dim=-1, keepdim=True))
    kinds = [
        (right, "The scores have a factor, 1/sqrt(d_k): the gradients have it, too."),
        (
            scale * weights * g,
            "The weights of a row sum to 1: when one grows, the others shrink. "
            "Take the row's mean of the derivatives away.",
        ),
        (
            scale * (g - (weights * g).sum(dim=-1, keepdim=True)),
            "The softmax has a factor p in its derivative.",
        ),
        (scale * g, "These are the derivatives by the weights; go back through the softmax, too."),
    ]
    return [
        [(scores @ key, advice) for scores, advice in kinds],
        [(scores.mT @ query, advice) for scores, advice in kinds],
        [
            (
                g.mT @ upstream,
                "A value is reached with its weight: the weights turned round, times upstream.",
            )
        ],
    ]
