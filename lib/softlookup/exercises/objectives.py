"""Checks: gaps, a likelihood, a width, a leak, and what conditionals say."""

import math
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor

from softlookup.exercises.compare import advised, compare, numbers, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import causal_mask
from softlookup.models import EncoderBlock, GPTConfig
from softlookup.models.gpt import parameter_count

SIZES = ((50, 16, 2, 12), (40_478, 512, 12, 768), (7, 5, 1, 4), (300, 40, 3, 9))
"""Vocabulary, context, blocks, width."""


@exercise("return two shares of the tokens that are read and are no mask.")
def check_doubt(my_doubt: Answer) -> str:
    """Check a function of (share, hidden, replaced): how far an ordinary token can be trusted.

    Args:
        my_doubt: The learner's function; it returns two numbers. Of the tokens that are read and
            are no mask: the share that is asked for, and the share that has been replaced.

    Chapter: objectives#exercises
    """
    for share, hidden, replaced in ((0.2, 0.5, 0.3), (0.15, 0.8, 0.1), (0.4, 0.75, 0.25)):
        ordinary = 1 - share * hidden
        of_all = share * torch.tensor([1 - hidden, replaced], dtype=torch.float64)
        kept = share * (1 - hidden - replaced)
        mistakes = [
            (of_all, "These are shares of all tokens. Some of them are masks: leave those out."),
            (of_all / share, "These are shares of the chosen tokens; most tokens are not chosen."),
            (
                of_all / (1 - share),
                "Divided by the tokens that were not chosen. Some that were chosen are no mask.",
            ),
            ((of_all / ordinary).flip(0), "The two are exchanged: first the share asked for."),
            (
                torch.tensor([kept, share * replaced]) / ordinary,
                "A replaced token is asked for, too, and not only one that was kept.",
            ),
        ]
        case = f"For {share}, {hidden}, {replaced}"

        def otherwise(found: Tensor, expected: Tensor, case: str = case) -> str:
            shown = ", ".join(f"{value:.4g}" for value in found.tolist())
            return f"{case} yours are {shown}. How many of 1,000 tokens are no mask when read?"

        answer = my_doubt(share, hidden, replaced)
        compare(answer, of_all / ordinary, "Your answer", mistakes, otherwise)
    return "Of the words that look ordinary, 3.4% are asked for with BERT's shares, and 1.7% false."


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
        if abs(found - expected) > 1e-5:  # float32 will do
            mistakes = _likelihood_mistakes(text, k, expected)
            aside = f"For k = {k} yours is {found:.6g}, and it is {expected:.6g}."
            raise Wrong(advised(found, mistakes, aside, rel_tol=0, abs_tol=1e-5))
    return "Each token from the k before it: the sum is the log-likelihood, given the first token."


@exercise("return the width.")
def check_width(my_width: Answer) -> str:
    """Check a function of (n_parameters, vocab_size, context, n_layers): the widest GPT-1.

    Args:
        my_width: The learner's function; it returns the largest ``d_model`` with which a GPT-1 has
            at most ``n_parameters``.

    Chapter: objectives#exercises
    """
    cases = []
    for *sizes, width in SIZES:
        exact, above = _count(*sizes, width), _count(*sizes, width + 1)
        cases += [((exact, *sizes), width), ((exact - 1, *sizes), width - 1)]
        cases += [((exact + 1, *sizes), width)]
        near = exact - 5 * sizes[2] * width  # the norms make the difference
        cases += [((near, *sizes), width - 1), ((above - 1, *sizes), width)]
        half = exact - 13 * sizes[2] * width - 1  # more than half of the way
        cases += [((half, *sizes), width - 1)]
    found = [scalar(my_width(*given), "The width") for given, _ in cases]
    rights = [right for _, right in cases]
    if found != rights:
        if found == [_nearest_width(given) for given, _ in cases]:
            raise Wrong("You round to the nearest width: where that is upwards, it does not fit.")
        for off, advice in _MISCOUNTED:
            if found == [_widest(given, off) for given, _ in cases]:
                raise Wrong(advice)
        for yours, (given, right) in zip(found, cases, strict=True):
            if yours != right:
                raise Wrong(f"For {given} yours is {yours:g}, and it is {right}.")
    return "The widest that fits, to the last parameter: GPT-1's 116,534,784 give 768."


@exercise("return the probabilities at the gaps.")
def check_masked(my_masked: Answer) -> str:
    """Check a function of (E, P, blocks, ids, gaps, mask_id): what a masked model says.

    Args:
        my_masked: The learner's function; it returns one row for each gap, the probability of each
            token there.

    Chapter: objectives#exercises
    """
    for vocab_size, n, width, gaps in ((7, 5, 4, [3]), (11, 6, 8, [4, 1]), (5, 4, 4, [0, 2, 3])):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(vocab_size)
            blocks = [EncoderBlock(width, 2, 2 * width, norm_first=False) for _ in range(2)]
            E, P = torch.randn(vocab_size, width).double(), torch.randn(n + 2, width).double()
            ids = torch.randint(1, vocab_size, (n,))
        blocks = [block.double().eval() for block in blocks]
        given = (E, P, blocks, ids, gaps, 0)
        expected = _masked(*given)
        open_ids = [
            _masked(E, P, blocks, ids.index_fill(0, torch.tensor([gap]), 0), [gap], None)
            for gap in gaps
        ]
        mistakes = [
            (_masked(*given, mask=causal_mask(n)), "Your words read only what stands before them."),
            (_masked(*given[:5], None), "The answers can be read: put the mask there first."),
            (_masked(E, torch.zeros_like(P), *given[2:]), "The positions are missing."),
            (torch.cat(open_ids), "You hide one gap at a time. All are hidden in the same pass."),
            (
                _masked(E, P, [lambda x: x], ids, gaps, 0),
                "The blocks are missing: each row is still a word and its place.",
            ),
            (_masked(E, P, blocks[:1], ids, gaps, 0), "Only the first block has been used."),
            (
                _masked(*given, shift=-1),
                "You read the answer off at the word before, as for next words. A masked model is "
                "asked at the gap itself.",
            ),
            (
                _masked(E, P, blocks, ids, sorted(gaps), 0),
                "These are the rows of the gaps from the left to the right; the order of `gaps` "
                "is another one.",
            ),
            (expected.log(), "These are logarithms; return probabilities."),
        ]
        compare(my_masked(*given), expected, "Your answer", mistakes, _wrong_masked)
    return "Words and places, blocks without a causal mask, the table again: a small BERT."


@exercise("return who reads whom.")
def check_reads(my_reads: Answer) -> str:
    """Check a function of (scores_of, n, vocab_size): which row of a net reads which token.

    Args:
        my_reads: The learner's function. ``scores_of(ids)`` takes a list of n ids and gives one row
            of scores for each place. It returns n rows of n truth values: row i, column j is true
            if in some text another token at place j changes row i.

    Chapter: objectives#exercises
    """
    for n, vocab_size, seed, gated in ((4, 4, 0, False), (5, 6, 1, False), (6, 3, 2, True)):
        scores_of, reads = _unknown_net(n, vocab_size, seed, gated)
        found = numbers(my_reads(scores_of, n, vocab_size), reads.double(), "Your table").bool()
        if found.equal(reads):
            continue
        if found.equal(reads.mT):
            raise Wrong("Rows and columns are exchanged: row i, column j is true if row i reads j.")
        if found.equal(reads.tril()) or found.equal(reads.triu(1)):
            raise Wrong("Half of the table is missing: rows may read on either side of them.")
        i, j = (found != reads).nonzero()[0].tolist()
        if reads[i, j] and gated:
            raise Wrong(
                f"Row {i} reads token {j}, and you say that it does not. In this net the token at "
                "the row's own place decides whether the others are read: change a token in many "
                "texts, and draw these texts at random."
            )
        if reads[i, j]:
            raise Wrong(
                f"Row {i} reads token {j}, and you say that it does not. Some tokens look alike to "
                "this net: a change that nobody notices is no proof."
            )
        raise Wrong(f"Row {i} does not read token {j}. Change one token at a time, and no other.")
    return "Three nets, and every leak is found: rows that read what comes after them."


@exercise("return a distribution for each gap.")
def check_fill(my_fill: Answer) -> str:
    """Check a function of (log_p, ids, gaps, vocab_size): gaps filled by a model of next tokens.

    Args:
        my_fill: The learner's function. ``log_p(history)`` takes a list of ids that is not empty,
            and gives the logarithm of the probability of each next token. It returns a row for
            each gap: the probability of each token there, given all known tokens.

    Chapter: objectives#exercises
    """
    long = [i * i % 3 for i in range(1000)]
    cases = (
        ([0, 2, 1, 1, 2], [2], _log_p),
        ([1, 0, 2, 0], [3], _log_p),
        ([2, 1, 0, 2, 1, 0], [1, 4], _log_p),
        ([0, 1, 2, 2, 0, 1], [1, 2, 3], _log_p),
        (long, [500], _log_p_after_two),
    )
    for ids, gaps, log_p in cases:
        expected, alone = _filled(ids, gaps, log_p), _filled_alone(ids, gaps, log_p)
        mistakes = [
            (
                _filled(ids, gaps, log_p, until=0),
                "Each gap knows only what stands before it. The tokens behind it are known too: a "
                "choice that makes them unlikely is an unlikely choice.",
            ),
            (
                _filled(ids, gaps, log_p, until=1),
                "You look one token past the last gap. All the tokens behind it count.",
            ),
            (
                alone,
                "You fill one gap at a time, and take the numbers in the other gaps for tokens. "
                "They are not known: sum over what may stand there.",
            ),
            (expected.log(), "These are logarithms; return probabilities."),
            (
                expected * float("nan"),
                "The probability of the whole text is too small for float64, and you divide 0 by "
                "0. Compare the logarithms: a softmax over all choices needs no such product.",
            ),
        ]
        answer = my_fill(log_p, ids, gaps, 3)
        shown = ids if len(ids) < 10 else f"a text of {len(ids)} tokens"
        case = f"In {shown} with the gaps {gaps}: "
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


def _log_p_after_two(history: list[int]) -> Tensor:
    """The same after the last two tokens alone, so that a long text takes no time."""
    return _log_p(history[-2:])


LogP = Callable[[list[int]], Tensor]


def _filled(ids: list[int], gaps: list[int], log_p: LogP, until: int | None = None) -> Tensor:
    """The right answer; with ``until``, so many tokens behind a gap are looked at."""
    found = torch.zeros(len(gaps), 3, dtype=torch.float64)
    texts = []
    for choice in product(range(3), repeat=len(gaps)):
        texts.append(list(ids))
        for place, token in zip(gaps, choice, strict=True):
            texts[-1][place] = token
    for row, gap in zip(found, gaps, strict=True):
        end = len(ids) if until is None else min(gap + 1 + until, len(ids))
        logs = [sum(log_p(whole[:i])[whole[i]] for i in range(1, end)) for whole in texts]
        row.index_add_(0, torch.tensor([t[gap] for t in texts]), torch.stack(logs).softmax(dim=0))
    return found


def _filled_alone(ids: list[int], gaps: list[int], log_p: LogP) -> Tensor:
    return torch.cat([_filled(ids, [gap], log_p) for gap in gaps])


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


def _count(vocab_size: int, context: int, n_layers: int, d_model: int) -> int:
    config = GPTConfig(vocab_size, context, d_model, 1, n_layers, norm_first=False)
    return parameter_count(config)


_MISCOUNTED = [
    (lambda V, n, L, d: V * d, "The output has no table of its own: count it once."),
    (lambda V, n, L, d: -n * d, "The table of positions is missing."),
    (lambda V, n, L, d: -(V + n) * d, "Both tables are missing."),
    (lambda V, n, L, d: -13 * L * d, "The biases and the norms are missing."),
    (lambda V, n, L, d: -4 * L * d, "The norms are missing: two in each block."),
    (
        lambda V, n, L, d: 1,
        "You leave out the width that needs exactly n_parameters, but that one still fits.",
    ),
    (lambda V, n, L, d: 2 * d, "GPT-1 has no norm behind the last block: it is post-norm."),
]
"""By how much a count is off, from vocabulary, context, blocks and width; and what to say."""


def _widest(given: tuple[int, int, int, int], off: Callable[..., int]) -> int:
    """The largest width that is within the budget by a wrong count, which rises with the width."""
    budget, *sizes = given
    low, high = 0, 1
    while _count(*sizes, high) + off(*sizes, high) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        fits = _count(*sizes, middle) + off(*sizes, middle) <= budget
        low, high = (middle, high) if fits else (low, middle)
    return low


def _nearest_width(given: tuple[int, int, int, int]) -> int:
    """The width whose count comes nearest to the budget, above it or below."""
    budget, *sizes = given
    width = _widest(given, lambda *sizes: 0)
    under, over = _count(*sizes, width), _count(*sizes, width + 1)
    return width + (over - budget < budget - under)


def _masked(
    E: Tensor,
    P: Tensor,
    blocks: list,
    ids: Tensor,
    gaps: list[int],
    mask_id: int | None,
    mask: Tensor | None = None,
    shift: int = 0,
) -> Tensor:
    """The right answer; without ``mask_id`` nothing is hidden, with ``mask`` not all is read.

    With ``shift``, the answers are read off so many places further.
    """
    if mask_id is not None:
        ids = ids.index_fill(0, torch.tensor(gaps), mask_id)
    x = E[ids] + P[: len(ids)]
    for block in blocks:
        x = block(x) if mask is None else block(x, mask)
    return (x[[gap + shift for gap in gaps]] @ E.mT).softmax(dim=-1).detach()


def _wrong_masked(found: Tensor, expected: Tensor) -> str:
    if ((found.sum(dim=-1) - 1).abs() > 1e-6).any():
        return "Each row should sum to 1: a softmax over the tokens."
    return f"A probability is off by up to {(found - expected).abs().max():.3g}."


def _unknown_net(
    n: int, vocab_size: int, seed: int, gated: bool
) -> tuple[Callable[[object], Tensor], Tensor]:
    """A net that mixes some tokens into each row, and which; tokens 0 and 1 look alike to it.

    If it is ``gated``, row i reads nothing where token i is i modulo the vocabulary. Then no text
    of equal tokens shows all that is read.
    """
    generator = torch.Generator().manual_seed(seed)
    reads = torch.rand(n, n, generator=generator) < 0.5
    reads[0, n - 1], reads[n - 1, 0] = True, False
    if gated:
        reads.fill_diagonal_(True)
    closed = torch.arange(n) % vocab_size if gated else torch.full((n,), -1)
    rows = torch.randn(n, n, vocab_size, vocab_size, generator=generator, dtype=torch.float64)
    rows[:, :, 1] = rows[:, :, 0]

    def scores_of(ids: object) -> Tensor:
        ids = torch.as_tensor(ids)
        if ids.shape != (n,):
            raise ValueError(f"a text has {n} ids; got shape {tuple(ids.shape)}")
        seen = rows[:, torch.arange(n), ids] * reads[:, :, None]
        return seen.sum(dim=1).tanh() * (ids != closed)[:, None]

    return scores_of, reads
