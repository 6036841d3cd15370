"""Checks of chapter 18: the band, its pairs, the state of linear attention, reach, the sink."""

import torch
from torch import Tensor

from softlookup.attention import attention, count_operations, path_lengths
from softlookup.attention.efficient import (
    elu_plus_one,
    linear_attention,
    sliding_mask,
    strided_mask,
)
from softlookup.exercises.verdict import (
    Verdict,
    Wrong,
    call,
    close,
    numbers,
    one_number,
    verdict,
)
from softlookup.masks import causal_mask, window_mask

_PAIRS = ((1, 1), (6, 2), (7, 7), (7, 11), (4096, 256))


def check_window(answer: object) -> Verdict:
    """Check attention in a sliding window that does not pay for the whole table.

    Args:
        answer: The learner's function of (query, key, value, width), all three matrices with one
            row per position.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: modern_attention#exercises

    Example:
        >>> check_window(...)
        Not yet. Nothing to check so far: return one row per query.
    """
    return verdict(lambda: _window(answer))


def check_pairs(answer: object) -> Verdict:
    """Check a function that counts the pairs which a sliding window allows.

    Args:
        answer: The learner's function of (n, width).

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: modern_attention#exercises

    Example:
        >>> check_pairs(...)
        Not yet. Nothing to check so far: return the number of pairs.
    """
    return verdict(lambda: _pairs(answer))


def check_linear(answer: object) -> Verdict:
    """Check causal linear attention that runs like a recurrent network.

    Args:
        answer: The learner's function of (query, key, value), with the feature map elu + 1.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: modern_attention#exercises

    Example:
        >>> check_linear(...)
        Not yet. Nothing to check so far: return one row per position.
    """
    return verdict(lambda: _linear(answer))


def check_reach(answer: object) -> Verdict:
    """Check which positions can reach which through a stack of layers with one mask.

    Args:
        answer: The learner's function of (mask, n_layers): a boolean matrix, True at (i, j) where
            output i can depend on input j.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: modern_attention#exercises

    Example:
        >>> check_reach(...)
        Not yet. Nothing to check so far: return a boolean matrix.
    """
    return verdict(lambda: _reach(answer))


def check_eviction(answer: object) -> Verdict:
    """Check what becomes of the weights when the sinks leave the cache.

    Args:
        answer: The learner's function of (weights, n_sinks), one row of weights per query: the mass
            that moves, one number per row, and the weights of the keys that stay.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: modern_attention#exercises

    Example:
        >>> check_eviction(...)
        Not yet. Nothing to check so far: return the mass and the new weights.
    """
    return verdict(lambda: _eviction(answer))


def _normal(*shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(18)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


def _window(answer: object) -> str:
    what = "return one row per query."
    for n, width in ((13, 4), (12, 4), (5, 1), (3, 7)):
        query, key, value = _normal((n, 5), (n, 5), (n, 3))
        expected = attention(query, key, value, sliding_mask(n, width))
        found = call(answer, query.clone(), key.clone(), value.clone(), width, what=what)
        found = numbers(found, expected, "The output")
        slips = _window_slips(n, width)
        for advice, mask in slips.items():
            wrong = attention(query, key, value, mask)
            if close(found, wrong) and not close(wrong, expected):
                raise Wrong(advice)
        if close(found[width - 1 :], expected[width - 1 :]) and not close(found, expected):
            raise Wrong(
                f"Right from row {width - 1} on; the rows before have fewer than {width} keys. "
                "Does your slice start below 0? Then it counts from the end."
            )
        if not close(found, expected):
            raise Wrong(f"Other numbers than the masked square gives, at n = {n}, width = {width}.")
    n, width = 512, 16
    inputs = _normal((n, 5), (n, 5), (n, 3))
    counted = count_operations(lambda: call(answer, *inputs, width, what=what)).multiplications
    whole = n * n * 8
    if counted > whole / 4:
        raise Wrong(
            f"The numbers are right, but at n = {n}, width = {width} it multiplies {counted:,} "
            f"times; the whole square costs {whole:,}. Compute only what the band needs."
        )
    return f"The same numbers, with {counted:,} multiplications instead of {whole:,}."


def _window_slips(n: int, width: int) -> dict[str, Tensor]:
    """What a wrong window would read, under the advice that helps."""
    itself = torch.eye(n, dtype=torch.bool)
    slips = {
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
        slips[advice] = sliding_mask(n, width - 1)
    return slips


def _pairs(answer: object) -> str:
    for n, width in _PAIRS:
        given = call(answer, n, width, what="return the number of pairs.")
        found, expected = (
            one_number(given, "The number of pairs"),
            int(sliding_mask(n, width).sum()),
        )
        slips = {
            n * width: "The first rows have no w keys before them: row i sees min(i + 1, w).",
            n * width - width * (width + 1) // 2: "One slip at the corner: the first rows lack "
            "w - 1, w - 2, ..., 1 keys.",
            n * (n + 1) // 2: "That is every pair of the past, without a window.",
            n * (2 * width - 1): "No row reads what comes later.",
        }
        if found != expected:
            rest = f"There are {expected:,}; yours says {found:,.0f}."
            if width > n:
                rest += " A window wider than the text is the whole past."
            raise Wrong(f"At n = {n:,}, w = {width:,}: {slips.get(found, rest)}")
    return "1,015,936 of 8,390,656 causal pairs at n = 4,096, w = 256: about an eighth."


def _linear(answer: object) -> str:
    query, key, value = _normal((11, 5), (11, 5), (11, 3))
    expected = linear_attention(query, key, value, causal=True)
    found = call(
        answer, query.clone(), key.clone(), value.clone(), what="return one row per position."
    )
    phi_q, phi_k = elu_plus_one(query), elu_plus_one(key)
    products = (phi_q @ phi_k.mT).tril()
    if isinstance(found, Tensor) and found.shape == expected.shape and found[:1].isnan().any():
        raise Wrong("The first row is 0/0: write the first key before you read.")
    found = numbers(found, expected, "The output")
    elu = torch.nn.functional.elu
    plain = (elu(query) @ elu(key).mT).tril()
    before = (phi_q @ phi_k.mT).tril(-1)
    total = before.sum(dim=-1, keepdim=True)
    slips = [
        (products @ value, "Divide each row by its sum of products."),
        (linear_attention(query, key, value), "No position may read what comes later."),
        (before @ value / torch.where(total == 0, 1.0, total), "Write the key, then read: a "
         "position reads itself, too."),
        (attention(query, key, value, causal_mask(11)), "That is softmax attention: it needs all "
         "pairs. Here the weights are products of features."),
        (plain @ value / plain.sum(dim=-1, keepdim=True), "Features must be positive: elu + 1."),
    ]  # fmt: skip
    for slip, advice in slips:
        if close(found, slip):
            raise Wrong(advice)
    if not close(found, expected):
        off = (found - expected).abs().max().item()
        raise Wrong(f"Off by up to {off:.3g} from the form that takes all pairs.")
    inputs = _normal((512, 5), (512, 5), (512, 3))
    what = "return one row per position."
    counted = count_operations(lambda: call(answer, *inputs, what=what)).multiplications
    if counted > 512 * 512:
        raise Wrong("The numbers are right, but it takes all pairs: keep a state instead, a sum.")
    return "Row by row from a state that never grows, and equal to the form that takes all pairs."


def _reach(answer: object) -> str:
    masks = {"a window": sliding_mask(13, 4), "a stride": strided_mask(13, 4)}
    masks["a window without itself"] = sliding_mask(13, 4) & ~torch.eye(13, dtype=torch.bool)
    for name, mask in masks.items():
        for n_layers in (1, 2, 3, 5):
            found = call(answer, mask.clone(), n_layers, what="return a boolean matrix.")
            lengths = path_lengths(mask)
            expected = (lengths >= 0) & (lengths <= n_layers)
            found = numbers(found, expected, "The matrix")
            if not ((found == 0) | (found == 1)).all():
                raise Wrong("True or False for each pair: that there is a path, not how many.")
            if close(found, expected.double()):
                continue
            if close(found, mask.double()) and n_layers > 1:
                raise Wrong("That is one layer. The next one starts from what the first has read.")
            if found.diagonal().min() == 0:
                raise Wrong("Around each layer leads a skip connection: i always reaches itself.")
            if name == "a window":
                far = int((found[-1] == 1).sum())
                raise Wrong(
                    f"Through {n_layers} layers of width 4, the last of 13 positions hears "
                    f"{int(expected[-1].sum())}; yours says {far}. A layer goes w - 1 steps back."
                )
            raise Wrong(f"Right for other masks; not for {name} through {n_layers} layers.")
    return "After L layers a window of w reaches L(w - 1) steps back, and a stride everywhere in 2."


def _eviction(answer: object) -> str:
    what = "return the mass and the new weights."
    for n_sinks in (1, 2):
        (scores,) = _normal((5, 7))
        scores[:, 0] += 3
        weights = scores.softmax(dim=-1)
        found = call(answer, weights.clone(), n_sinks, what=what)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise Wrong("Return two things: the mass, and the new weights.")
        mass, kept = weights[:, :n_sinks].sum(dim=-1), weights[:, n_sinks:]
        moved = numbers(found[0], mass, "The mass")
        if close(moved, weights[:, 0]) and n_sinks > 1:
            raise Wrong("With two sinks the mass is the sum of both weights.")
        if not close(moved, mass):
            raise Wrong("The mass that moves is the weight that the sinks had, row by row.")
        new = numbers(found[1], kept, "The new weights")
        if close(new, kept):
            raise Wrong("A softmax always sums to 1: what the sinks had goes to the others.")
        if close(new, kept + mass.unsqueeze(-1) / kept.shape[-1]):
            raise Wrong("Not in equal parts: the other scores stay, so their ratios stay.")
        if close(new, kept.softmax(dim=-1)):
            raise Wrong("The softmax of the *scores* that stay; these are weights already.")
        if not close(new, kept / (1 - mass).unsqueeze(-1)):
            raise Wrong("Compare with the softmax over the scores of the keys that stay.")
    return "Every key that stays grows by the same factor, 1 / (1 - mass)."
