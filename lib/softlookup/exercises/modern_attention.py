"""Checks of chapter 22: the band, its pairs, the state of linear attention, reach, the sink."""

import torch
from torch import Tensor

from softlookup.attention import attention, count_operations, path_lengths
from softlookup.attention.efficient import (
    elu_plus_one,
    linear_attention,
    sliding_mask,
    strided_mask,
)
from softlookup.exercises.compare import (
    Mistakes,
    advised,
    close,
    compare,
    draw,
    draws,
    numbers,
    one_number,
)
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import causal_mask, window_mask

EVICTION = "Return two things: the mass, and the new weights."
EVICTION_MASS = "The mass that moves is the weight that the sinks had, row by row."
EVICTION_ELSE = "Compare with the softmax over the scores of the keys that stay."
_PAIRS = ((1, 1), (6, 2), (7, 7), (7, 11), (4096, 256))


@exercise("return one row per query.")
def check_window(answer: Answer) -> str:
    """Check attention in a sliding window that does not pay for the whole table.

    Args:
        answer: The learner's function of (query, key, value, width), all three matrices with one
            row per position.

    Chapter: modern_attention#exercises
    """
    for n, width in ((13, 4), (12, 4), (5, 1), (3, 7)):
        query, key, value = draws((n, 5), (n, 5), (n, 3), seed=18)
        expected = attention(query, key, value, sliding_mask(n, width))
        mistakes = [
            (attention(query, key, value, mask), advice)
            for advice, mask in _wrong_windows(n, width).items()
        ]

        def otherwise(found: Tensor, right: Tensor, n: int = n, width: int = width) -> str:
            if not close(found[width - 1 :], right[width - 1 :]):
                return f"Other numbers than the masked square gives, at n = {n}, width = {width}."
            return (
                f"Right from row {width - 1} on; the rows before have fewer than {width} keys. "
                "Does your slice start below 0? Then it counts from the end."
            )

        compare(answer(query, key, value, width), expected, "The output", mistakes, otherwise)
    n, width = 512, 16
    inputs = draws((n, 5), (n, 5), (n, 3), seed=18)
    counted = count_operations(lambda: answer(*inputs, width)).multiplications
    whole = n * n * 8
    if counted > whole / 4:
        raise Wrong(
            f"The numbers are right, but at n = {n}, width = {width} it multiplies {counted:,} "
            f"times; the whole square costs {whole:,}. Compute only what the band needs."
        )
    return f"The same numbers, with {counted:,} multiplications instead of {whole:,}."


@exercise("return the number of pairs.")
def check_pairs(answer: Answer) -> str:
    """Check a function that counts the pairs which a sliding window allows.

    Args:
        answer: The learner's function of (n, width).

    Chapter: modern_attention#exercises
    """
    for n, width in _PAIRS:
        found = one_number(answer(n, width), "The number of pairs")
        expected = int(sliding_mask(n, width).sum())
        mistakes = [
            (n * width, "The first rows have no w keys before them: row i sees min(i + 1, w)."),
            (n * width - width * (width + 1) // 2, "One slip at the corner: the first rows lack "
             "w - 1, w - 2, ..., 1 keys."),
            (n * (n + 1) // 2, "That is every pair of the past, without a window."),
            (n * (2 * width - 1), "No row reads what comes later."),
        ]  # fmt: skip
        if found != expected:
            aside = f"There are {expected:,}; yours says {found:,.0f}."
            if width > n:
                aside += " A window wider than the text is the whole past."
            raise Wrong(
                f"At n = {n:,}, w = {width:,}: {advised(found, mistakes, aside, rel_tol=0)}"
            )
    return "1,015,936 of 8,390,656 causal pairs at n = 4,096, w = 256: about an eighth."


@exercise("return one row per position.")
def check_linear(answer: Answer) -> str:
    """Check causal linear attention that runs like a recurrent network.

    Args:
        answer: The learner's function of (query, key, value), with the feature map elu + 1.

    Chapter: modern_attention#exercises
    """
    query, key, value = draws((11, 5), (11, 5), (11, 3), seed=18)
    expected = linear_attention(query, key, value, causal=True)

    def otherwise(found: Tensor, expected: Tensor) -> str:
        off = (found - expected).abs().max().item()
        return f"Off by up to {off:.3g} from the form that takes all pairs."

    mistakes = _linear_mistakes(query, key, value)
    compare(answer(query, key, value), expected, "The output", mistakes, otherwise)
    inputs = draws((512, 5), (512, 5), (512, 3), seed=18)
    counted = count_operations(lambda: answer(*inputs)).multiplications
    if counted > 512 * 512:
        raise Wrong("The numbers are right, but it takes all pairs: keep a state instead, a sum.")
    return "Row by row from a state that never grows, and equal to the form that takes all pairs."


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
            if close(found, mask) and n_layers > 1:
                raise Wrong("That is one layer. The next one starts from what the first has read.")
            if found.diagonal().min() == 0:
                raise Wrong("Around each layer leads a skip connection: i always reaches itself.")
            if name == "a window":
                raise Wrong(
                    f"Through {n_layers} layers of width 4, the last of 13 positions hears "
                    f"{int(expected[-1].sum())}; yours says {int(found[-1].sum())}. A layer goes "
                    "w - 1 steps back."
                )
            raise Wrong(f"Right for other masks; not for {name} through {n_layers} layers.")
    return "After L layers a window of w reaches L(w - 1) steps back, and a stride everywhere in 2."


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
            (kept + mass.unsqueeze(-1) / kept.shape[-1],
             "Not in equal parts: the other scores stay, so their ratios stay."),
            (kept.softmax(dim=-1),
             "The softmax of the *scores* that stay; these are weights already."),
        ]  # fmt: skip
        expected = kept / (1 - mass).unsqueeze(-1)
        compare(new, expected, "The new weights", mistakes, EVICTION_ELSE)
    return "Every key that stays grows by the same factor, 1 / (1 - mass)."


def _wrong_windows(n: int, width: int) -> dict[str, Tensor]:
    """What a wrong window would read, under the advice that helps."""
    itself = torch.eye(n, dtype=torch.bool)
    windows = {
        "Your query reads one key too many: itself and width - 1 before it.": sliding_mask(
            n, width + 1
        ),
        "No query may read what comes later.": window_mask(n, width - 1),
        "Every query reads all keys; the window is missing.": torch.ones(n, n).bool(),
        "Every query reads all keys before it; the window is missing.": causal_mask(n),
        "Your query does not read itself: it is one of the width keys.": sliding_mask(n, width + 1)
        & ~itself,
    }
    if width > 1:
        advice = "Your query reads one key too few: itself and width - 1 before it."
        windows[advice] = sliding_mask(n, width - 1)
    return windows


def _linear_mistakes(query: Tensor, key: Tensor, value: Tensor) -> Mistakes:
    elu = torch.nn.functional.elu
    products = elu_plus_one(query) @ elu_plus_one(key).mT
    plain, before = (elu(query) @ elu(key).mT).tril(), products.tril(-1)
    total = before.sum(dim=-1, keepdim=True)
    return [
        (before @ value / total, "The first row is 0/0: write the first key before you read."),
        (products.tril() @ value, "Divide each row by its sum of products."),
        (linear_attention(query, key, value), "No position may read what comes later."),
        (before @ value / torch.where(total == 0, 1.0, total), "Write the key, then read: a "
         "position reads itself, too."),
        (attention(query, key, value, causal_mask(len(query))), "That is softmax attention: it "
         "needs all pairs. Here the weights are products of features."),
        (plain @ value / plain.sum(dim=-1, keepdim=True), "Features must be positive: elu + 1."),
    ]  # fmt: skip
