"""From a model that scores the next token to a text: greedily, by beam search, or by chance.

Each function takes ``step(tokens, state)``: given the last token of each text and a state, it
returns a score for every token of the vocabulary (logits or log-probabilities) and the next state.
A state is a tensor whose first axis counts the texts, or a tuple of states, or None, or an object
that gives ``n_texts`` and ``rows(index)``, such as ``softlookup.attention.KeyValueCache``.
"""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import (
    Count,
    Positive,
    Range,
    Share,
    Size,
    checked,
    require,
)
from softlookup.ops import softmax

Step = Callable[[Tensor, Any], tuple[Tensor, Any]]
FirstTokens = Count | Sequence[Count] | Annotated[Int[Tensor, "texts"], Range(0)]
PositiveShare = Annotated[float, Range(0, 1, above=True)]


class Hypothesis(NamedTuple):
    """A text that a model has written.

    Attributes:
        ids: Its tokens, without the token that begins and the one that ends a text.
        log_probability: What the model gives it: the sum over its tokens, the end included.
        finished: Whether it ended by itself; False where ``max_length`` cut it off.

    Chapter: decoding#greedy-decoding

    Example:
        >>> Hypothesis([5, 3], -1.5, True).ids
        [5, 3]
    """

    ids: list[int]
    log_probability: float
    finished: bool


@checked
def greedy(
    step: Step, state: Any, bos: FirstTokens, eos: Count | None, max_length: Size
) -> list[Hypothesis]:
    """Write the most probable next token, again and again: quick, and short-sighted.

    Args:
        step: The model; see the head of this module.
        state: The state before the first token, one row per text.
        bos: The token that begins a text, or one for each text: the last of its prompt, where the
            state has read the others.
        eos: The token that ends it; None if none does.
        max_length: How many tokens a text may have, the end included.

    Returns:
        One text per row of ``state``. Of equal tokens, the one with the smaller id is written.

    Raises:
        ValueError: ``max_length`` is no integer of at least 1, ``bos`` or ``eos`` none of at least
            0, there are not as many ``bos`` as texts, ``eos`` is not in the vocabulary, or the
            scores of a step are NaN or not one row per text.

    Source: lecture 001, "Cross-Attention". Chapter: decoding#greedy-decoding.

    Example:
        >>> def step(tokens, state):
        ...     return state + tokens.unsqueeze(-1), state
        >>> greedy(step, torch.tensor([[0.0, 1.0, 0.5]]), bos=0, eos=2, max_length=2)[0].ids
        [1, 1]
    """
    return _write(step, state, bos, eos, max_length, lambda scores: scores.argmax(dim=-1))


@checked
def sample(
    step: Step,
    state: Any,
    bos: FirstTokens,
    eos: Count | None,
    max_length: Size,
    *,
    generator: torch.Generator,
    temperature: Positive = 1.0,
    top_k: Size | None = None,
    top_p: PositiveShare | None = None,
    min_p: Share | None = None,
) -> list[Hypothesis]:
    r"""Draw each next token by its probability, $p \propto e^{\text{score}/\tau}$.

    The filters come after the temperature, one after the other, each on what the one before has
    left: first ``top_k``, then ``top_p``, then ``min_p``. At least one token is always left.

    Args:
        step: The model; see the head of this module.
        state: The state before the first token, one row per text.
        bos: The token that begins a text, or one for each text: the last of its prompt, where the
            state has read the others.
        eos: The token that ends it; None if none does.
        max_length: How many tokens a text may have, the end included.
        generator: The source of chance; one of the CPU draws the same for every device.
        temperature: $\tau > 0$. Near 0 it is greedy; at 1 a text comes as often as the model says.
        top_k: As in ``top_k_filter``; None for no filter.
        top_p: As in ``top_p_filter``; None for no filter.
        min_p: As in ``min_p_filter``; None for no filter.

    Returns:
        One text per row of ``state``, with its log-probability at temperature 1, without filters.

    Raises:
        ValueError: As in ``greedy`` and the filters, or ``temperature`` is not positive and finite.

    Source: lecture 001, "Language Models". Chapters: decoding#sampling, training#sampling.
    Chapter: decoding#sampling.

    Example:
        >>> def step(tokens, state):
        ...     return state, state
        >>> state, generator = torch.tensor([[9.0, -99.0]]), torch.Generator().manual_seed(1)
        >>> sample(step, state, bos=0, eos=1, max_length=3, generator=generator)[0].ids
        [0, 0, 0]
    """
    filters = {"top_k": top_k, "top_p": top_p, "min_p": min_p}

    def draw(scores: Tensor) -> Tensor:
        weights = sampling_weights(scores, temperature=temperature, **filters)
        drawn = torch.multinomial(weights.to(generator.device), 1, generator=generator)
        return drawn.squeeze(-1).to(scores.device)

    return _write(step, state, bos, eos, max_length, draw)


@checked(not_empty="vocab")
def sampling_weights(
    scores: Float[Tensor, "*batch vocab"],
    *,
    temperature: Positive = 1.0,
    top_k: Size | None = None,
    top_p: PositiveShare | None = None,
    min_p: Share | None = None,
) -> Float[Tensor, "*batch vocab"]:
    """The probabilities that ``sample`` draws from: first the temperature, then the filters.

    Args:
        scores: Logits or log-probabilities, one row per text.
        temperature: Above 0.
        top_k: As in ``top_k_filter``; None for no filter. It comes first.
        top_p: As in ``top_p_filter``, of what ``top_k`` has left; None for no filter.
        min_p: As in ``min_p_filter``, of what both have left; None for no filter.

    Returns:
        One distribution per row; what is cut has probability 0, and what is left sums to 1.

    Raises:
        ValueError: As in the filters, or ``temperature`` is not positive and finite.

    Source: Holtzman et al. 2020, section 3. Chapter: training#sampling.

    Example:
        >>> scores = torch.tensor([0.5, 0.2, 0.3]).log()
        >>> sampling_weights(scores, top_k=2)
        tensor([0.6250, 0.0000, 0.3750])
    """
    heated = (scores - scores.amax(dim=-1, keepdim=True)) / temperature
    for cut, limit in (top_k_filter, top_k), (top_p_filter, top_p), (min_p_filter, min_p):
        heated = heated if limit is None else cut(heated, limit)
    left = scores.masked_fill(heated == -torch.inf, -torch.inf)
    return softmax(left, temperature=temperature)


@checked(not_empty="vocab")
def top_k_filter(scores: Float[Tensor, "*batch vocab"], k: Size) -> Float[Tensor, "*batch vocab"]:
    """Keep the ``k`` largest scores of each row; of equal ones, the first.

    Args:
        scores: Logits or log-probabilities, one row per text.
        k: How many are kept; all, if there are fewer.

    Returns:
        The scores, those that are cut replaced by -inf: their probability is exactly 0.

    Raises:
        ValueError: ``k`` is no integer of at least 1, or a score is NaN or infinite upwards.

    Source: Fan et al. 2018, section 5. Chapter: training#sampling.

    Example:
        >>> top_k_filter(torch.tensor([1.0, 3.0, 2.0]), 2)
        tensor([-inf, 3., 2.])
    """
    _require_scores(scores)
    order = scores.argsort(dim=-1, descending=True, stable=True)
    cut = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, order[..., k:], True)
    return scores.masked_fill(cut, -torch.inf)


@checked(not_empty="vocab")
def top_p_filter(
    scores: Float[Tensor, "*batch vocab"], p: PositiveShare
) -> Float[Tensor, "*batch vocab"]:
    r"""Keep the most probable tokens that together have at least probability ``p``, and no more.

    A token is kept if those more probable than it have less than $p$ together. So the first always
    stays, and where the model is sure, few others do.

    Args:
        scores: Logits or log-probabilities, one row per text.
        p: From above 0 to 1; 1 keeps all.

    Returns:
        The scores, those that are cut replaced by -inf.

    Raises:
        ValueError: ``p`` is not above 0 and at most 1, or a score is NaN or infinite upwards.

    Source: Holtzman et al. 2020, section 3.1, who call it nucleus sampling.
    Chapter: training#sampling.

    Example:
        >>> top_p_filter(torch.tensor([0.5, 0.2, 0.3]).log(), 0.7).exp()
        tensor([0.5000, 0.0000, 0.3000])
    """
    _require_scores(scores)
    if p == 1:  # the sum of the first may be rounded up to 1 long before the last
        return scores.clone()
    order = scores.argsort(dim=-1, descending=True, stable=True)
    weights = torch.softmax(scores, dim=-1).gather(-1, order)
    before = weights.cumsum(dim=-1) - weights
    cut = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, order, before >= p)
    return scores.masked_fill(cut, -torch.inf)


@checked(not_empty="vocab")
def min_p_filter(scores: Float[Tensor, "*batch vocab"], p: Share) -> Float[Tensor, "*batch vocab"]:
    r"""Keep the tokens at least ``p`` times as probable as the most probable one.

    Args:
        scores: Logits or log-probabilities, one row per text.
        p: From 0, which keeps all, to 1, which keeps the most probable and its equals.

    Returns:
        The scores, those below $\max + \log p$ replaced by -inf.

    Raises:
        ValueError: ``p`` is not from 0 to 1, or a score is NaN or infinite upwards.

    Source: Nguyen et al. 2025, section 3. Chapter: training#sampling.

    Example:
        >>> min_p_filter(torch.tensor([0.5, 0.2, 0.3]).log(), 0.5).exp()
        tensor([0.5000, 0.0000, 0.3000])
    """
    _require_scores(scores)
    least = scores.amax(dim=-1, keepdim=True) + (math.log(p) if p > 0 else -math.inf)
    return scores.masked_fill(scores < least, -torch.inf)


@checked
def beam_search(
    step: Step,
    state: Any,
    bos: FirstTokens,
    eos: Count | None,
    max_length: Size,
    *,
    width: Size,
    length_penalty: Annotated[float, Range(0, 10)] = 0.0,
) -> list[Hypothesis]:
    r"""Keep the ``width`` most probable beginnings of a text at every length, and rank what ends.

    A text that ends leaves the beam and its place stays empty, so the search stops. With ``width``
    1 this is ``greedy``; with a place for every beginning it finds the most probable text of all.
    Ended texts are ranked by $\log P / ((5 + |Y|)/6)^\alpha$, where $|Y|$ counts the end too:
    the sum of log-probabilities alone favours short texts.

    Args:
        step: The model; see the head of this module.
        state: The state before the first token: one row, for one text.
        bos: The token that begins a text, or one for each text: the last of its prompt, where the
            state has read the others.
        eos: The token that ends it; None if none does.
        max_length: How many tokens a text may have, the end included.
        width: How many beginnings are kept.
        length_penalty: $\alpha \ge 0$: 0 ranks by probability, 1 almost by the mean per token.

    Returns:
        The texts found, the best first; those that ``max_length`` cut off come after those that
        ended. A text of probability 0 is not among them.

    Raises:
        ValueError: ``width`` is no integer of at least 1, ``length_penalty`` is not from 0 to 10,
            ``state`` holds more than one text, or as in ``greedy``.

    Source: Sutskever et al. 2014, section 3.2; the penalty: Wu et al. 2016, section 7.
    Chapter: decoding#beam-search.

    Example:
        >>> def step(tokens, state):
        ...     return torch.log(torch.tensor([[0.6, 0.4]])).expand(len(tokens), -1), state
        >>> found = beam_search(step, torch.zeros(1, 1), bos=0, eos=1, max_length=2, width=2)
        >>> [(text.ids, round(math.exp(text.log_probability), 2)) for text in found]
        [([], 0.4), ([0, 0], 0.36)]
    """
    tokens = _first_tokens(state, bos)
    n_texts = len(tokens)
    require(n_texts == 1, "beam search must start from the state of one text", n_texts=n_texts)
    beam, ended = [Hypothesis([], 0.0, False)], []
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
        goes_on = _goes_on(tokens, eos)
        state, tokens = _rows(state, rows[goes_on]), tokens[goes_on]
    return sorted(ended + beam, key=lambda text: _rank(text, length_penalty))


def _write(
    step: Step,
    state: Any,
    bos: FirstTokens,
    eos: int | None,
    max_length: int,
    choose: Callable[[Tensor], Tensor],
) -> list[Hypothesis]:
    """One token at a time for all texts at once; a text that has ended is written to no more."""
    tokens = _first_tokens(state, bos)
    n_texts = len(tokens)
    ids, totals, live = [[] for _ in range(n_texts)], [0.0] * n_texts, list(range(n_texts))
    for _ in range(max_length):
        scores, state = _scored(step, tokens, state, eos)
        tokens = choose(scores)
        gains = scores.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        for text, token, gain in zip(live, tokens.tolist(), gains.tolist(), strict=True):
            ids[text].append(token)
            totals[text] += gain
        goes_on = _goes_on(tokens, eos)
        live = [text for text, more in zip(live, goes_on.tolist(), strict=True) if more]
        if not live:
            break
        if len(live) < len(tokens):
            state, tokens = _rows(state, goes_on.nonzero().squeeze(-1)), tokens[goes_on]
    return [
        Hypothesis(text[:-1] if text[-1] == eos else text, total, text[-1] == eos)
        for text, total in zip(ids, totals, strict=True)
    ]


def _goes_on(tokens: Tensor, eos: int | None) -> Tensor:
    return torch.ones_like(tokens, dtype=torch.bool) if eos is None else tokens != eos


def _scored(step: Step, tokens: Tensor, state: Any, eos: int | None) -> tuple[Tensor, Any]:
    """One step of the model, its scores turned into log-probabilities."""
    with torch.no_grad():
        scores, state = step(tokens, state)
    rule = "step must return scores, a tensor of real numbers"
    require(isinstance(scores, Tensor) and scores.is_floating_point(), rule, scores=scores)
    rule = "step must return scores with one row per text"
    fits = scores.ndim == 2 and len(scores) == len(tokens)
    require(fits, rule, scores=scores, n_texts=len(tokens))
    vocab_size = scores.shape[-1]
    rule = "eos must be a token of the vocabulary"
    require(eos is None or eos < vocab_size, rule, eos=eos, vocab_size=vocab_size)
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
    return state.rows(rows) if hasattr(state, "rows") else state


def _n_rows(state: Any) -> int | None:
    """How many texts a state is of; None for one that fits any number."""
    if isinstance(state, Tensor):
        require(state.ndim > 0, "a tensor of the state must have an axis of texts", state=state)
        return len(state)
    if hasattr(state, "rows"):
        return state.n_texts or None  # a cache that has read nothing yet
    sizes = {_n_rows(part) for part in state} - {None} if isinstance(state, tuple) else set()
    require(len(sizes) <= 1, "all tensors of a state must have as many rows", n_rows=sorted(sizes))
    return sizes.pop() if sizes else None


def _first_tokens(state: Any, bos: FirstTokens) -> Tensor:
    """The token that each text begins with; their number is the number of texts."""
    n_texts = _n_rows(state)
    if isinstance(bos, int):
        return torch.full((1 if n_texts is None else n_texts,), bos, device=_device(state))
    tokens = bos.tolist() if isinstance(bos, Tensor) else list(bos)
    n_texts = len(tokens) if n_texts is None else n_texts
    rule = "there must be one bos for each text"
    require(len(tokens) == n_texts > 0, rule, n_bos=len(tokens), n_texts=n_texts)
    device = bos.device if isinstance(bos, Tensor) else None
    return torch.tensor(tokens, device=_device(state) or device)


def _device(state: Any) -> torch.device | None:
    """Where a state is; None for one that is nowhere."""
    if isinstance(state, tuple):
        return next((found for part in state if (found := _device(part)) is not None), None)
    return getattr(state, "device", None)


def _require_scores(scores: Tensor) -> None:
    is_number = not bool((scores.isnan() | (scores == torch.inf)).any())
    require(is_number, "scores must be numbers or -inf")
