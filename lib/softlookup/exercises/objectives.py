"""Checks of chapter 20: gaps, a likelihood, a count, gradients, and what conditionals say."""

import math
from itertools import product

import torch
from torch import Tensor

from softlookup.exercises.compare import advised, close, compare, numbers, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.models import GPTConfig
from softlookup.models.gpt import parameter_count

GPT1 = (40_478, 512, 768, 12)
SIZES = (GPT1, (7, 5, 4, 1), (50, 16, 12, 2), (11, 3, 8, 5))
"""Vocabulary, context, width, blocks."""
TWO = "Return two matrices: the gradient through the lookup, and that through the scores."


@exercise("return three shares of all tokens.")
def check_shares(my_shares: Answer) -> str:
    """Check a function of (share, hidden, replaced): of all tokens, which share has which fate.

    Args:
        my_shares: The learner's function; it returns three numbers: the share of all tokens that
            become the mask, that become another token, and that are chosen but stay.

    Chapter: objectives#exercises
    """
    for share, hidden, replaced in ((0.2, 0.5, 0.3), (0.15, 0.8, 0.1), (0.4, 1.0, 0.0)):
        kept = 1 - hidden - replaced
        expected = share * torch.tensor([hidden, replaced, kept], dtype=torch.float64)
        case = f"For {share}, {hidden}, {replaced} yours are"

        def otherwise(found: Tensor, _: Tensor, share: float = share, case: str = case) -> str:
            if math.isclose(found[0], share, rel_tol=1e-6):
                return "That is the slide's claim: not all that are chosen become the mask."
            shown = ", ".join(f"{value:.4g}" for value in found.tolist())
            return f"{case} {shown}; they should sum to {share}."

        mistakes = [
            (
                expected / share,
                "These are shares of the chosen tokens. Of all tokens, fewer: only some are "
                "chosen.",
            ),
            (expected[[0, 2, 1]], "The last two are exchanged: first the replaced, then the kept."),
        ]
        compare(my_shares(share, hidden, replaced), expected, "Your answer", mistakes, otherwise)
    return "12% become the mask, 1.5% another token, 1.5% are kept: together the chosen 15%."


@exercise("return the log-likelihood.")
def check_likelihood(my_log_likelihood: Answer) -> str:
    """Check a function of (ids, k, row_of): the log-likelihood of a text with a window of k.

    Args:
        my_log_likelihood: The learner's function. ``row_of(history)`` takes a list of ids and gives
            the probability of each next token; the first token of the text is given.

    Chapter: objectives#exercises
    """
    text = [0, 2, 1, 1, 2, 0]
    for k in (2, 1, 5, 3):
        expected = _window_sum(text, k)
        found = scalar(my_log_likelihood(text, k, _row_of), "The log-likelihood")
        if abs(found - expected) > 1e-9:
            mistakes = _likelihood_mistakes(text, k, expected)
            aside = f"For k = {k} yours is {found:.6g}, and it is {expected:.6g}."
            raise Wrong(advised(found, mistakes, aside, rel_tol=0, abs_tol=1e-9))
    return "Each token from the k before it: the sum is the log-likelihood, given the first token."


@exercise("return the number of parameters.")
def check_count(my_count: Answer) -> str:
    """Check a function of (vocab_size, context, d_model, n_layers): GPT-1's parameters.

    Args:
        my_count: The learner's function.

    Chapter: objectives#exercises
    """
    for sizes in SIZES[::-1]:
        vocab_size, context, d_model, n_layers = sizes
        config = GPTConfig(vocab_size, context, d_model, 1, n_layers, norm_first=False)
        expected = parameter_count(config)
        found = scalar(my_count(*sizes), "The number")
        if found != expected:
            mistakes = [
                (
                    vocab_size * d_model,
                    "The output has no table of its own: W_e is used twice, and counted once.",
                ),
                (-context * d_model, "The table of positions is missing, one row for each place."),
                (
                    -n_layers * (4 + 5 + 2) * d_model,
                    "Biases are missing: each linear map has one, and so does each LayerNorm.",
                ),
                (-n_layers * 9 * d_model, "The biases of the linear maps are missing."),
                (
                    -n_layers * 4 * d_model,
                    "A block has two LayerNorms, each with a gain and a shift.",
                ),
                (2 * d_model, "GPT-1 has no norm behind the last block: it is post-norm."),
            ]
            aside = f"For {sizes} yours is {found:,.0f}, and it is {expected:,}."
            raise Wrong(advised(found - expected, mistakes, aside, rel_tol=0))
    return "GPT-1 has 116,534,784 parameters, a quarter of them in its tables."


@exercise("return the two gradients.")
def check_gradients(my_gradients: Answer) -> str:
    """Check a function of (E, ids): the two gradients of a tied table, one for each of its uses.

    The model is the smallest there is: row i is ``E[ids[i]]``, its scores are that row times
    $E^\\top$, and the loss is the mean cross-entropy of the next tokens.

    Args:
        my_gradients: The learner's function; it returns two matrices as large as E: the gradient
            through the lookup, and the gradient through the scores.

    Chapter: objectives#exercises
    """
    generator = torch.Generator().manual_seed(17)
    for n, vocab_size, d_model in ((4, 3, 2), (7, 5, 3)):
        E = torch.randn(vocab_size, d_model, generator=generator, dtype=torch.float64)
        ids = torch.randint(vocab_size, (n,), generator=generator)
        lookup, scores = _two_uses(E, ids)
        found = [numbers(one, E, "Each gradient") for one in my_gradients.several(2, TWO, E, ids)]
        mistakes = [
            (
                (scores, lookup),
                "The two are exchanged: first through the lookup, then through the scores.",
            ),
            (
                (lookup + scores, lookup + scores),
                "Both are the whole gradient. Cut one use at a time off, with detach().",
            ),
            (((n - 1) * lookup, (n - 1) * scores), "Take the mean of the losses, not their sum."),
        ]
        mistakes = [(torch.stack(pair), advice) for pair, advice in mistakes]
        expected = torch.stack([lookup, scores])
        compare(torch.stack(found), expected, "The pair", mistakes, _wrong_gradient)
    return "Their sum is the gradient of the tied table: one row is moved by both of its jobs."


@exercise("return a distribution for each gap.")
def check_fill(my_fill: Answer) -> str:
    """Check a function of (log_p, ids, gaps, vocab_size): gaps filled by a model of next tokens.

    Args:
        my_fill: The learner's function. ``log_p(history)`` takes a list of ids that is not empty,
            and gives the logarithm of the probability of each next token. It returns a row for
            each gap: the probability of each token there, given all known tokens.

    Chapter: objectives#exercises
    """
    cases = (
        ([0, 2, 1, 1, 2], [2]),
        ([1, 0, 2, 0], [3]),
        ([2, 1, 0, 2, 1, 0], [1, 4]),
        ([0, 1, 2, 2, 0, 1], [1, 2, 3]),
    )
    for ids, gaps in cases:
        expected, alone = _filled(ids, gaps), _filled_alone(ids, gaps)
        mistakes = [
            (
                _filled(ids, gaps, until=0),
                "Each gap knows only what stands before it. The tokens behind it are known too: a "
                "choice that makes them unlikely is an unlikely choice.",
            ),
            (
                _filled(ids, gaps, until=1),
                "You look one token past the last gap. All the tokens behind it count.",
            ),
            (
                alone,
                "You fill one gap at a time, and take the numbers in the other gaps for tokens. "
                "They are not known: sum over what may stand there.",
            ),
            (expected.log(), "These are logarithms; return probabilities."),
        ]
        answer = my_fill(_log_p, ids, gaps, 3)
        case = f"In {ids} with the gaps {gaps}: "
        compare(answer, expected, "Your answer", mistakes, _wrong_fill, case=case)
    return "All whole texts, weighed: a model of next tokens fills gaps too, but at what price!"


@exercise("return a joint distribution, or False.")
def check_joint(my_joint: Answer) -> str:
    """Check a function of (first, second): the joint distribution of two conditionals, or False.

    Args:
        my_joint: The learner's function. ``first[x, y]`` is the probability of x given y, and
            ``second[x, y]`` that of y given x.

    Chapter: objectives#exercises
    """
    generator = torch.Generator().manual_seed(23)
    for shape in ((2, 2), (3, 3), (2, 5), (4, 3)):
        joint = torch.rand(shape, generator=generator, dtype=torch.float64) + 0.1
        joint = joint / joint.sum()
        first, second = joint / joint.sum(dim=0), joint / joint.sum(dim=1, keepdim=True)
        found = my_joint(first, second)
        if found is False:
            raise Wrong(
                f"You say that no distribution of shape {shape} fits, but one does. It was "
                "divided by its sums; leave room for rounding."
            )
        even = second / shape[0]
        mistakes = [
            (joint.mT, "x and y are exchanged: the joint has x in its rows."),
            (joint / joint.max(), "It does not sum to 1."),
            (even, "You gave each x the same probability. Which p(x) makes p(x given y) right?"),
            (first / shape[1], "You gave each y the same probability."),
            (
                first * second / (first * second).sum(),
                "The product of the two conditionals is no joint distribution: it counts too much.",
            ),
        ]
        compare(found, joint, "The joint distribution", mistakes, _wrong_joint)
    for shape in ((2, 2), (3, 4)):
        first = torch.rand(shape, generator=generator, dtype=torch.float64) + 0.1
        second = torch.rand(shape, generator=generator, dtype=torch.float64) + 0.1
        one = first / first.sum(dim=0), second / second.sum(dim=1, keepdim=True)
        if my_joint(*one) is not False:
            raise Wrong(
                "Two conditionals that do not agree were given, and you returned a joint "
                "distribution. Test it: do both come out of it?"
            )
    bent = joint.clone()
    bent[-1, -1] *= 1.01
    near = bent / bent.sum(dim=0), joint / joint.sum(dim=1, keepdim=True)
    if my_joint(*near) is not False:
        raise Wrong(
            "One number in the last corner was changed by one per cent, so no distribution "
            "fits, but you return one. Look at all elements, and not too generously."
        )
    return "Gaps may contradict each other. Next tokens cannot: their product is a distribution."


def _log_p(history: list[int]) -> Tensor:
    return torch.tensor(_row_of(list(history)), dtype=torch.float64).log()


def _filled(ids: list[int], gaps: list[int], until: int | None = None) -> Tensor:
    """The right answer; with ``until``, so many tokens behind a gap are looked at."""
    found = torch.zeros(len(gaps), 3, dtype=torch.float64)
    for row, gap in zip(found, gaps, strict=True):
        end = len(ids) if until is None else min(gap + 1 + until, len(ids))
        for choice in product(range(3), repeat=len(gaps)):
            whole = list(ids)
            for place, token in zip(gaps, choice, strict=True):
                whole[place] = token
            row[whole[gap]] += math.exp(sum(_log_p(whole[:i])[whole[i]] for i in range(1, end)))
    return found / found.sum(dim=1, keepdim=True)


def _filled_alone(ids: list[int], gaps: list[int]) -> Tensor:
    return torch.cat([_filled(ids, [gap]) for gap in gaps])


def _wrong_fill(found: Tensor, expected: Tensor) -> str:
    if ((found.sum(dim=-1) - 1).abs() > 1e-6).any():
        return "Each row should sum to 1: divide by the sum over all choices."
    worst = (found - expected).abs().max()
    return f"A probability is off by {worst:.3g}. Which whole texts fit, and how probable is each?"


def _wrong_joint(found: Tensor, expected: Tensor) -> str:
    if abs(found.sum() - 1) > 1e-6:
        return f"A joint distribution sums to 1; yours sums to {found.sum():.4g}."
    return f"An element is off by {(found - expected).abs().max():.3g}: do both come out of it?"


def _row_of(history: list[int]) -> list[float]:
    """Three probabilities that depend on every token of the history, and on its length."""
    code = sum((3**j) * (token + 1) for j, token in enumerate(reversed(list(history))))
    weights = [1 + (code * (7 + 4 * token)) % 13 for token in range(3)]
    return [weight / sum(weights) for weight in weights]


def _window_sum(text: list[int], k: int, first: int = 1) -> float:
    terms = [_row_of(text[max(0, i - k) : i])[text[i]] for i in range(first, len(text))]
    return sum(map(math.log, terms))


def _likelihood_mistakes(text: list[int], k: int, right: float) -> list[tuple[float, str]]:
    from_the_end = [_row_of(text[i - k : i])[text[i]] for i in range(1, len(text))]
    return [
        (math.exp(right), "This is the probability: GPT-1's objective is its logarithm."),
        (-right, "The sign is turned: this is the loss. A log-likelihood is at most 0."),
        (right / 5, "This is a mean over the tokens. The objective is their sum."),
        (right / math.log(2), "Use natural logarithms."),
        (
            _window_sum(text, k + 1),
            f"Your window is one token too wide: it should hold {k} at most.",
        ),
        (
            _window_sum(text, k - 1),
            f"Your window is one token too narrow: it should hold {k}, where there are so many.",
        ),
        (
            right + math.log(_row_of([])[text[0]]),
            "The first token is given: it is read, not predicted.",
        ),
        (
            _window_sum(text, len(text)),
            f"Your window has no end: it should hold {k} tokens at most.",
        ),
        (
            _window_sum(text, k, first=k),
            "Tokens with fewer than k before them count too: they are given all that there are.",
        ),
        (
            sum(map(math.log, from_the_end)),
            "Look at ids[i - k : i] where i is less than k: a negative index counts from the end.",
        ),
    ]


def _wrong_gradient(found: Tensor, expected: Tensor) -> str:
    k = 0 if not close(found[0], expected[0]) else 1
    worst = (found[k] - expected[k]).abs().max()
    off = f"The gradient through the {('lookup', 'scores')[k]} is off by up to {worst:.3g}."
    return f"{off} Which tokens are read, and which are predicted?"


def _two_uses(E: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    read, said = (E.clone().requires_grad_(True) for _ in range(2))
    scores = read[ids[:-1]] @ said.mT
    torch.nn.functional.cross_entropy(scores, ids[1:]).backward()
    return read.grad, said.grad
