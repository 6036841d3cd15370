"""Checks: a sum, a table without labels, a base, a ripple, two rotary riddles."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from softlookup.attention.positions import frequencies, period, sinusoidal, sinusoidal_at
from softlookup.exercises.compare import Mistakes, advised, compare, numbers, one_number
from softlookup.exercises.verdict import Answer, Wrong, exercise

_WIDTH, _FIRST, _FOUND = 36, 6, [41, 7, 163, 90]  # of the table without labels
_LONGEST, _WIDEST = 200, 64  # where it is to be searched
_REACH, _SHORT = 100_000, 512  # of the clock for long texts
_BACK, _TEXT, _LOUDEST, _ENOUGH = 7, 2000, 12, 0.95  # of the head that reads seven back


def unlabelled_codes() -> Tensor:
    """Four codes p0 to p3, printed as lecture 003 prints its own, but with no label at all.

    Returns:
        A row for each of four neighbouring columns of the codes, a column for each of the four
        positions; three decimals. The base is 10,000, the positions are below 200, and d is even
        and at most 64.

    Chapter: positions#exercises

    Example:
        >>> unlabelled_codes()[0]
        tensor([ 0.5580,  0.9980, -0.5310,  0.5140], dtype=torch.float64)
    """
    codes = sinusoidal_at(torch.tensor(_FOUND), _WIDTH, dtype=torch.float64)
    return codes[:, _FIRST : _FIRST + 4].mT.round(decimals=3)


@exercise("return the code of the sum, d numbers.")
def check_added(answer: Answer) -> str:
    """Check a function of two codes, of positions that nobody tells: the code of their sum.

    Args:
        answer: The learner's function of (code_s, code_t), both (d,); it returns d numbers.

    Chapter: positions#exercises
    """
    for s, t, d, base in ((3, 4, 8, 10000.0), (41, 163, 16, 100.0), (7, 0, 2, 10000.0)):
        case = f"s = {s:g}, t = {t:g}, d = {d}, base {base:g}"
        places = torch.tensor([s, t, s + t])
        one, other, right = sinusoidal_at(places, d, base=base, dtype=torch.float64)
        found = answer(one, other, kept="Your function changes the codes that it is given.")
        mistakes = _added_mistakes(one, other, right)
        aside = f"With {case} that is not the code of {s + t:g}."
        compare(found, right, f"The code ({case})", mistakes, aside)
    return "Each pair turned by the other's angle: products alone are enough, without an angle."


@exercise(
    "give the width d.",
    "give the number of the first column.",
    "give the four positions of p0, p1, p2 and p3.",
)
def check_found(d: Answer, first: Answer, positions: Answer) -> str:
    """Check what the learner found out about ``unlabelled_codes``.

    Args:
        d: The width of the codes.
        first: The number of the first of the four columns.
        positions: Four integers, that of p0 first.

    Chapter: positions#exercises
    """
    width, column = d.value, first.value
    if isinstance(positions.value, list | tuple):
        for k, one in enumerate(positions.value):
            Answer(one, f"give the position of p{k}.").value  # noqa: B018  (it tells a blank)
    width, column = one_number(width, "The width d"), one_number(column, "The first column")
    if width % 2 or not 4 <= width <= _WIDEST:
        raise Wrong(f"The width d is an even number of at most {_WIDEST}; yours is {width:g}.")
    if column not in range(int(width) - 3):
        raise Wrong(f"Four columns of {width:g} begin at 0 to {width - 4:g}, not {column:g}.")
    yours = numbers(positions.value, torch.zeros(4), "The list of positions")
    if (yours != yours.round()).any() or yours.min() < 0 or yours.max() >= _LONGEST:
        raise Wrong(f"Positions are integers from 0 to {_LONGEST - 1}.")
    return _labels(int(width), int(column), yours.long())


@exercise("compute the base.", "how many pairs come round?")
def check_clock(base: Answer, pairs: Answer) -> str:
    """Check the base of a clock for long texts, and how many hands come round in a short one.

    Args:
        base: With it the last pair of d = 128 has a period of 100,000.
        pairs: How many of the 64 pairs have a period of at most 512 then.

    Chapter: positions#exercises
    """
    turn = 2 * math.pi
    right = (_REACH / turn) ** (128 / 126)
    yours = one_number(base.value, "The base")
    mistakes = [
        (_REACH / turn, "The last pair is number 63, not 64: its exponent is 126/128, not 1."),
        (_REACH ** (128 / 126), "A full turn is 2π, not 1."),
        (_REACH, "That is the period itself. It is 2π times a power of the base."),
        ((_REACH / turn) ** (126 / 128), "The other way round: solve b^(126/128) for b."),
        ((_REACH / turn) ** (128 / 63), "The exponent is 2i/d with i = 63, so 126/128."),
        ((_REACH * turn) ** (128 / 126), "Divide by 2π: the period is 2π times the power."),
    ]
    if not math.isclose(yours, right, rel_tol=1e-4):
        longer = turn * max(yours, 0) ** (126 / 128)
        aside = f"With a base of {yours:g} the last period is {longer:,.0f}, not 100,000."
        raise Wrong(advised(yours, mistakes, aside, rel_tol=1e-4))
    count = sum(period(i, 128, base=right) <= _SHORT for i in range(64))
    found = one_number(pairs.value, "The number of pairs")
    slips = [
        (count - 1, "That is the number of the last one that comes round; they start at 0."),
        (64 - count, "That is how many do not come round."),
        (2 * count, "That is the number of columns; two make a pair."),
    ]
    if found != count:
        raise Wrong(advised(found, slips, f"Compare each of the 64 periods with {_SHORT}."))
    return f"Of 64 hands only {count} have shown all their angles within {_SHORT} positions."


@exercise("give a base.", "give the query.", "give the key.")
def check_back(base: Answer, query: Answer, key: Answer) -> str:
    """Check a query and a key that, turned by their places, read seven back in any long text.

    Args:
        base: The base of the rotary positions.
        query: Eight numbers, the query of every token before it is turned.
        key: Eight numbers, the key of every token before it is turned.

    Chapter: positions#exercises
    """
    b = one_number(base.value, "The base")
    if not 1 < b < math.inf:
        raise Wrong(f"The base is a number above 1; yours is {b:g}.")
    q = numbers(query.value, torch.zeros(8), "The query")
    k = numbers(key.value, torch.zeros(8), "The key")
    for row, what in ((q, "query"), (k, "key")):
        if row.norm() > _LOUDEST * (1 + 1e-6):
            long = f"The {what} has length {row.norm():.2f}"
            raise Wrong(f"{long}; at most {_LOUDEST} is allowed. Where is length wasted?")
    scores = _scores_by_distance(q, k, b)
    if scores.max() - scores.min() < 1e-9:
        raise Wrong("All distances have the same score: the token looks everywhere alike.")
    weights = scores.softmax(dim=0)
    best = int(weights.argmax())
    if best != _BACK and int(_scores_by_distance(k, q, b).argmax()) == _BACK:
        raise Wrong(
            "It looks seven tokens AHEAD of itself: you turned the wrong one, or backwards."
        )
    if weights[_BACK] < _ENOUGH:  # the last place has most rivals
        louder = _LOUDEST**2 / (q.norm() * k.norm())
        if (louder * scores).softmax(dim=0)[_BACK] >= _ENOUGH:
            raise Wrong(
                f"Base and directions are right, but only {weights[_BACK]:.3f} of the weight is on "
                f"seven back: the query has length {q.norm():.2f} and the key {k.norm():.2f}, and "
                f"{_LOUDEST} is allowed. Longer ones make the softmax sharper."
            )
        near = [d for d in range(_TEXT) if d != _BACK]
        rival = max(near, key=lambda d: float(scores[d]))
        said = f"At the end of the text {weights[_BACK]:.3f} of the weight is on seven back"
        why = (
            "a neighbour: the fast pairs must speak louder"
            if abs(rival - _BACK) < 3
            else (
                "an impostor: the fast pairs have come round, the slow ones hardly object. Look "
                "for the base, and for each pair's share of the length, that tell all distances "
                "apart"
            )
        )
        raise Wrong(f"{said}. Its strongest rival is {rival} back, {why}.")
    return f"Seven back has {weights[_BACK]:.3f} of the weight or more everywhere; base {b:.4g}."


@exercise("return a list of (first, second, omega).")
def check_unknown_rotary(answer: Answer) -> str:
    """Check what the learner finds out about rotary positions of an unknown make.

    Args:
        answer: The learner's function of (score, d_k); it returns one (first, second, omega) for
            each pair of columns.

    Chapter: positions#exercises
    """
    for d_k, seed in ((4, 0), (8, 1), (16, 2)):
        score, right = _unknown_rotary(d_k, seed)
        found = answer(score, d_k)
        try:
            yours = {(int(a), int(b)): float(omega) for a, b, omega in found}
        except (TypeError, ValueError):
            raise Wrong("Return a list with one (first, second, omega) for each pair.") from None
        columns = sorted(column for pair in yours for column in pair)
        if columns != list(range(d_k)):
            raise Wrong(f"Each of the {d_k} columns belongs to one pair; yours are {columns}.")
        _same_pairs(yours, right)
    return "Three makes, each taken apart by its scores alone: pairs, directions and speeds."


@exercise("give the first offset at which the similarity rises.", "give the smallest such base.")
def check_first_rise(offset: Answer, base: Answer) -> str:
    """Check where the similarity rises first for d = 512, and from which base on it rises there.

    Args:
        offset: The first whose similarity is larger than that of the one before; base 10,000.
        base: The smallest whole base with the same answer.

    Chapter: positions#exercises
    """
    _check_rise(one_number(offset.value, "The offset"))
    yours = one_number(base.value, "The base")
    if yours != int(yours) or not 2 <= yours <= 10_000:
        raise Wrong(f"The base is a whole number from 2 to 10,000; yours is {yours:g}.")
    right, here = _rise(_similarity(512)), _rise(_similarity(512, yours))
    if here != right:
        raise Wrong(f"With a base of {yours:g} the first rise is at {here}. Try a larger one.")
    if _rise(_similarity(512, yours - 1)) == right:
        raise Wrong(f"With {yours - 1:g} the first rise is at {right}, too. Try a smaller one.")
    return (
        "44 is almost exactly seven turns of the fastest pair: 22/7 is nearly π. With a smaller "
        "base the slowest pair, too, has turned visibly by then, and a less exact turn is enough."
    )


def _check_rise(yours: float) -> None:
    """Whether it is the first offset at which the similarity rises, for d = 512."""
    similarity = _similarity(512)
    right = _rise(similarity)
    if yours != int(yours) or not 1 <= yours < len(similarity):
        raise Wrong(f"The offset is a whole number from 1 to 499; yours is {yours:g}.")
    if yours == right - 1:
        raise Wrong(f"{right - 1} is the bottom of the dip; which offset is the first above it?")
    for d in (128, 8):
        if yours == _rise(_similarity(d)):
            raise Wrong(f"That is the answer for d = {d}. Here d = 512.")
    if yours == right + 1:
        raise Wrong("One too far. Does your list of similarities begin with offset 0?")
    before, here = similarity[int(yours) - 1], similarity[int(yours)]
    if yours < right:
        raise Wrong(f"From {yours - 1:.0f} to {yours:.0f} it falls: {before:.3f}, {here:.3f}.")
    if yours > right:
        raise Wrong(f"It has risen before {yours:.0f} already. Look at the first differences.")


def _added_mistakes(one: Tensor, other: Tensor, right: Tensor) -> Mistakes:
    """Known wrong codes of a sum, with what to say about each."""
    (sin_s, cos_s), (sin_t, cos_t) = one.unflatten(0, (-1, 2)).T, other.unflatten(0, (-1, 2)).T
    sine, cosine = sin_s * cos_t - cos_s * sin_t, cos_s * cos_t + sin_s * sin_t
    back, ahead = (torch.stack([sign * sine, cosine], dim=-1).flatten() for sign in (1, -1))
    halves = torch.cat([right[0::2], right[1::2]])
    exchanged = right.unflatten(0, (-1, 2)).flip(1).flatten()
    backwards = "That turns backwards: it is the code of {}. Mind the signs of the theorems."
    return [
        (one + other, "That adds the two codes; the code of a sum is not the sum of the codes."),
        ((one + other) / 2, "That is the mean of the two codes, which is no code at all."),
        (one * other, "Number times number is not enough: each sine needs the cosine beside it."),
        (back, backwards.format("s − t")),
        (ahead, backwards.format("t − s")),
        (exchanged, "In each pair the sine comes first, the cosine second."),
        (halves, "The numbers are right, their order is not: each cosine stands beside its sine."),
    ]


def _labels(d: int, first: int, t: Tensor) -> str:
    """Compare the codes of four positions with the table's."""
    if t.tolist() != _FOUND and sorted(t.tolist()) == sorted(_FOUND):
        raise Wrong("These are the four, but in another order: p0 first, then p1, p2, p3.")
    if t.tolist() == [position + 1 for position in _FOUND]:
        raise Wrong("You count positions from 1: the first position is 0.")
    if (d, first) == (_WIDTH, _FIRST + 1):
        raise Wrong("You count columns from 1: the first column is 0.")
    codes = sinusoidal_at(t, d, dtype=torch.float64)[:, first : first + 4]
    for k, (row, printed) in enumerate(
        zip(codes.tolist(), unlabelled_codes().T.tolist(), strict=True)
    ):
        if any(abs(a - b) > 0.00051 for a, b in zip(row, printed, strict=True)):
            raise Wrong(
                f"With d = {d}, columns {first} to {first + 3} of position {t[k]} hold "
                f"{_list(row)}; the table has {_list(printed)} for p{k}."
            )
    return "All sixteen numbers, at three decimals: now the table has its labels."


def _scores_by_distance(query: Tensor, key: Tensor, base: float) -> Tensor:
    """The scaled score of a key 0, 1, 2, ... back, for the same query and key everywhere."""
    angles = torch.arange(_TEXT, dtype=torch.float64)[:, None] * frequencies(8, base=base)
    (a, b), (c, d) = (row.reshape(4, 2).unbind(-1) for row in (query, key))
    # the query stands further right: it is turned by the distance, the key is not
    turned_a, turned_b = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return (turned_a * c + turned_b * d).sum(dim=1) / math.sqrt(8)


def _unknown_rotary(
    d_k: int, seed: int
) -> tuple[Callable[[object, object, int, int], float], dict[tuple[int, int], float]]:
    """A function that scores, and its pairs, with the speed of each."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(d_k, generator=generator).reshape(-1, 2)
    spread = torch.rand(d_k // 2, generator=generator, dtype=torch.float64)
    omegas = 10.0 ** (-5 * spread)
    omegas[0] = 1.5  # the fastest: a quarter of a turn and not more in one step
    omegas[-1] = 1e-6 * (2 + spread[-1])  # the slowest: in float64, too, its cosine hides it
    first, second = order.unbind(-1)

    def turned(row: object, t: int) -> Tensor:
        row = torch.as_tensor(row, dtype=torch.float64)
        if row.shape != (d_k,):
            raise ValueError(f"a query or key has {d_k} numbers; got shape {tuple(row.shape)}")
        angles = omegas * int(t)
        out = torch.empty(d_k, dtype=torch.float64)
        out[first] = row[first] * angles.cos() - row[second] * angles.sin()
        out[second] = row[first] * angles.sin() + row[second] * angles.cos()
        return out

    def score(query: object, key: object, i: int, j: int) -> float:
        return float(turned(query, i) @ turned(key, j))

    pairs = [tuple(pair) for pair in order.tolist()]
    return score, dict(zip(pairs, omegas.tolist(), strict=True))


def _same_pairs(yours: dict[tuple[int, int], float], right: dict[tuple[int, int], float]) -> None:
    """Judge pairs, their directions and their speeds."""
    unordered = {frozenset(pair) for pair in right}
    for pair, omega in yours.items():
        if frozenset(pair) not in unordered:
            raise Wrong(f"Columns {pair[0]} and {pair[1]} do not turn into each other.")
        exact = right.get(pair, right.get(pair[::-1]))
        signed = exact if pair in right else -exact
        if math.isclose(omega, -signed, rel_tol=1e-3):
            raise Wrong(
                f"Columns {pair[0]} and {pair[1]} turn the other way: a positive omega leads from "
                "the first to the second as the position grows. Which of query and key do you move?"
            )
        if not math.isclose(abs(omega), exact, rel_tol=1e-6):
            aside = ""
            if math.isclose(abs(omega), exact, rel_tol=0.3) or exact < 1e-3:
                aside = " The cosine of a tiny angle is 1 to eight digits: ask the sine as well."
            raise Wrong(f"The pair {pair} turns by {exact:.6g} a step, not {omega:.6g}.{aside}")


def _similarity(d: int, base: float = 10000.0) -> Tensor:
    """How alike the codes of positions 0 and offset are, for offsets 0 to 499."""
    codes = sinusoidal(500, d, base=base, dtype=torch.float64)
    return codes @ codes[0]


def _rise(similarity: Tensor) -> int:
    """The first offset whose similarity is larger than that of the one before."""
    return int((similarity.diff() > 0).nonzero()[0]) + 1


def _list(values: object) -> str:
    return "(" + ", ".join(f"{value:.3f}" for value in values) + ")"
