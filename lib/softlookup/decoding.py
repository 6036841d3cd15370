"""From a model that scores the next token to a text: greedily, by beam search, or by chance.

Each function takes ``step(tokens, state)``: given the last token of each text and a state, it
returns a score for every token of the vocabulary (logits or log-probabilities) and the next state.
A state is a tensor whose first axis counts the texts, or a tuple of states, or None.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from softlookup.checks import require, require_float, require_int
from softlookup.ops import softmax

Step = Callable[[Tensor, Any], tuple[Tensor, Any]]


class Hypothesis(NamedTuple):
    """A text that a model has written.

    Attributes:
        ids: Its tokens, without the token that begins and the one that ends a text.
        log_probability: What the model gives it: the sum over its tokens, the end included.
        finished: Whether it ended by itself; False where ``max_length`` cut it off.

    Chapter: seq2seq#decoding

    Example:
        >>> Hypothesis([5, 3], -1.5, True).ids
        [5, 3]
    """

    ids: list[int]
    log_probability: float
    finished: bool


def greedy(step: Step, state: Any, bos: int, eos: int, max_length: int) -> list[Hypothesis]:
    """Write the most probable next token, again and again: quick, and short-sighted.

    Args:
        step: The model; see the head of this module.
        state: The state before the first token, one row per text.
        bos: The token that begins a text.
        eos: The token that ends it.
        max_length: How many tokens a text may have, the end included.

    Returns:
        One text per row of ``state``. Of equal tokens, the one with the smaller id is written.

    Raises:
        ValueError: ``max_length`` is no integer of at least 1, ``bos`` or ``eos`` none of at least
            0, ``eos`` is not in the vocabulary, or the scores of a step are NaN or not one row
            per text.

    Source: lecture 001, "Cross-Attention". Chapter: seq2seq#decoding.

    Example:
        >>> def step(tokens, state):
        ...     return state + tokens.unsqueeze(-1), state
        >>> greedy(step, torch.tensor([[0.0, 1.0, 0.5]]), bos=0, eos=2, max_length=2)[0].ids
        [1, 1]
    """
    return _write(step, state, bos, eos, max_length, lambda scores: scores.argmax(dim=-1))


def sample(
    step: Step,
    state: Any,
    bos: int,
    eos: int,
    max_length: int,
    *,
    generator: torch.Generator,
    temperature: float = 1.0,
) -> list[Hypothesis]:
    r"""Draw each next token by its probability, $p \propto e^{\text{score}/\tau}$.

    Args:
        step: The model; see the head of this module.
        state: The state before the first token, one row per text.
        bos: The token that begins a text.
        eos: The token that ends it.
        max_length: How many tokens a text may have, the end included.
        generator: The source of chance.
        temperature: $\tau > 0$. Near 0 it is greedy; at 1 a text comes as often as the model says.

    Returns:
        One text per row of ``state``, with its log-probability at temperature 1.

    Raises:
        ValueError: As in ``greedy``, or ``temperature`` is not positive and finite.

    Source: lecture 001, "Language Models". Chapter: seq2seq#decoding.

    Example:
        >>> def step(tokens, state):
        ...     return state, state
        >>> state, generator = torch.tensor([[9.0, -99.0]]), torch.Generator().manual_seed(1)
        >>> sample(step, state, bos=0, eos=1, max_length=3, generator=generator)[0].ids
        [0, 0, 0]
    """

    def draw(scores: Tensor) -> Tensor:
        weights = softmax(scores, temperature=temperature)
        return torch.multinomial(weights, 1, generator=generator).squeeze(-1)

    return _write(step, state, bos, eos, max_length, draw)


def beam_search(
    step: Step,
    state: Any,
    bos: int,
    eos: int,
    max_length: int,
    *,
    width: int,
    length_penalty: float = 0.0,
) -> list[Hypothesis]:
    r"""Keep the ``width`` most probable beginnings of a text at every length, and rank what ends.

    A text that ends leaves the beam and its place stays empty, so the search stops. With ``width``
    1 this is ``greedy``; with a place for every beginning it finds the most probable text of all.
    Ended texts are ranked by $\log P / ((5 + |Y|)/6)^\alpha$, where $|Y|$ counts the end too:
    the sum of log-probabilities alone favours short texts.

    Args:
        step: The model; see the head of this module.
        state: The state before the first token: one row, for one text.
        bos: The token that begins a text.
        eos: The token that ends it.
        max_length: How many tokens a text may have, the end included.
        width: How many beginnings are kept.
        length_penalty: $\alpha \ge 0$: 0 ranks by probability, 1 almost by the mean per token.

    Returns:
        The texts found, the best first; those that ``max_length`` cut off come after those that
        ended. A text of probability 0 is not among them.

    Raises:
        ValueError: ``width`` is no integer of at least 1, ``length_penalty`` is negative or not
            finite, ``state`` holds more than one text, or as in ``greedy``.

    Source: Sutskever et al. 2014, section 3.2; the penalty: Wu et al. 2016, section 7.
    Chapter: seq2seq#decoding.

    Example:
        >>> def step(tokens, state):
        ...     return torch.log(torch.tensor([[0.6, 0.4]])).expand(len(tokens), -1), state
        >>> found = beam_search(step, torch.zeros(1, 1), bos=0, eos=1, max_length=2, width=2)
        >>> [(text.ids, round(math.exp(text.log_probability), 2)) for text in found]
        [([], 0.4), ([0, 0], 0.36)]
    """
    require_int(1, width=width)
    is_penalty = 0 <= length_penalty < math.inf
    require(
        is_penalty, "length_penalty must be at least 0 and finite", length_penalty=length_penalty
    )
    n_texts = _checked_start(state, bos, eos, max_length)
    require(n_texts == 1, "beam search must start from the state of one text", n_texts=n_texts)
    beam, ended = [Hypothesis([], 0.0, False)], []
    tokens = torch.tensor([bos])
    for _ in range(max_length):
        scores, state = _scored(step, tokens, state, eos)
        totals = scores + scores.new_tensor([[text.log_probability] for text in beam])
        rows, tokens = _best(totals, width - len(ended))
        grown = [
            Hypothesis([*beam[row].ids, token], totals[row, token].item(), token == eos)
            for row, token in zip(rows.tolist(), tokens.tolist(), strict=True)
        ]
        ended += [text._replace(ids=text.ids[:-1]) for text in grown if text.finished]
        beam = [text for text in grown if not text.finished]
        if not beam:
            break
        state, tokens = _rows(state, rows[tokens != eos]), tokens[tokens != eos]
    return sorted(ended + beam, key=lambda text: _rank(text, length_penalty))


def _write(
    step: Step, state: Any, bos: int, eos: int, max_length: int, choose: Callable[[Tensor], Tensor]
) -> list[Hypothesis]:
    """One token at a time for all texts at once; a text that has ended is written to no more."""
    n_texts = _checked_start(state, bos, eos, max_length)
    ids, totals, live = [[] for _ in range(n_texts)], [0.0] * n_texts, list(range(n_texts))
    tokens = torch.full((n_texts,), bos)
    for _ in range(max_length):
        scores, state = _scored(step, tokens, state, eos)
        tokens = choose(scores)
        gains = scores.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        for text, token, gain in zip(live, tokens.tolist(), gains.tolist(), strict=True):
            ids[text].append(token)
            totals[text] += gain
        goes_on = tokens != eos
        live = [text for text, more in zip(live, goes_on.tolist(), strict=True) if more]
        if not live:
            break
        state, tokens = _rows(state, goes_on.nonzero().squeeze(-1)), tokens[goes_on]
    return [
        Hypothesis(text[:-1] if text[-1] == eos else text, total, text[-1] == eos)
        for text, total in zip(ids, totals, strict=True)
    ]


def _scored(step: Step, tokens: Tensor, state: Any, eos: int) -> tuple[Tensor, Any]:
    """One step of the model, its scores turned into log-probabilities."""
    with torch.no_grad():
        scores, state = step(tokens, state)
    require_float(scores=scores)
    fits = scores.ndim == 2 and len(scores) == len(tokens)
    rule = "step must return scores with one row per text"
    require(fits, rule, scores=scores, n_texts=len(tokens))
    vocab_size = scores.shape[-1]
    rule = "eos must be a token of the vocabulary"
    require(eos < vocab_size, rule, eos=eos, vocab_size=vocab_size)
    scores = torch.log_softmax(scores, dim=-1)
    rule = "the scores of a step must be numbers, and not all -inf"
    require(not bool(scores.isnan().any()), rule, n_nan=int(scores.isnan().sum()))
    return scores, state


def _best(totals: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Row and token of the ``n`` largest totals, of equal ones the first; never one of -inf."""
    flat = totals.flatten()
    largest = flat.argsort(descending=True, stable=True)[:n]
    largest = largest[flat[largest] > -math.inf]
    return largest // totals.shape[-1], largest % totals.shape[-1]


def _rank(text: Hypothesis, length_penalty: float) -> tuple[bool, float]:
    """The smaller, the better: first all that ended, then by penalised log-probability."""
    length = len(text.ids) + text.finished
    return not text.finished, -text.log_probability / ((5 + length) / 6) ** length_penalty


def _rows(state: Any, rows: Tensor) -> Any:
    """The texts ``rows`` of a state, whatever tensors it is made of."""
    if isinstance(state, Tensor):
        return state[rows]
    if isinstance(state, tuple):
        parts = [_rows(part, rows) for part in state]
        return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)
    return state


def _n_rows(state: Any) -> int | None:
    if isinstance(state, Tensor):
        require(state.ndim > 0, "a tensor of the state must have an axis of texts", state=state)
        return len(state)
    sizes = {_n_rows(part) for part in state} - {None} if isinstance(state, tuple) else set()
    require(len(sizes) <= 1, "all tensors of a state must have as many rows", n_rows=sorted(sizes))
    return sizes.pop() if sizes else None


def _checked_start(state: Any, bos: int, eos: int, max_length: int) -> int:
    require_int(0, bos=bos, eos=eos)
    require_int(1, max_length=max_length)
    return 1 if (n_texts := _n_rows(state)) is None else n_texts
