"""What a model is asked to do: the next token, a masked token, a softened target."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from softlookup.checks import Count, Ids, Rate, Share, Size, checked, require, require_ids
from softlookup.ops import cross_entropy, in_float64

Lengths = Int[Tensor, "batch"] | Sequence[Count]
"""How many tokens of each text are real."""


@checked
def next_token_pairs(
    ids: Int[Tensor, "*batch n"],
) -> tuple[Int[Tensor, "*batch m"], Int[Tensor, "*batch m"]]:
    """Shift a text by one: what a model reads, and what it should say at each place.

    Args:
        ids: Texts of at least two tokens.

    Returns:
        All tokens but the last, and all but the first: two views of the same memory. Target $i$ is
        the token that follows input $i$.

    Raises:
        ValueError: A text has fewer than two tokens.

    Source: Radford et al. 2018, section 3.1; lectures 000, "How to train a Transformer", and 001,
    "Self-Attention Layer". Chapter: objectives#next-token-prediction.

    Example:
        >>> next_token_pairs(torch.tensor([5, 7, 6]))
        (tensor([5, 7]), tensor([7, 6]))
    """
    rule = "a text must have at least two tokens: one to read, one to predict"
    require(ids.shape[-1] >= 2, rule, ids=ids)
    return ids[..., :-1], ids[..., 1:]


@checked(not_empty="vocab")
def next_token_loss(
    scores: Float[Tensor, "*batch n vocab"],
    ids: Int[Tensor, "*batch n"],
    lengths: Lengths | None = None,
) -> Float[Tensor, ""]:
    r"""How badly the next tokens were foreseen: the mean of $-\log p(w_{i+1} \mid w_0 \dots w_i)$.

    Args:
        scores: What the model said after each token. The row after the last token has nothing to
            be compared with, and is left out.
        ids: The tokens that it read.
        lengths: How many tokens of each text are real; what fills up is neither read nor
            predicted. None: all.

    Returns:
        The mean over all predicted tokens of the batch, so that a long text counts for more.

    Raises:
        ValueError: The shapes do not fit, a token is none of the vocabulary, or no text has two
            real tokens.

    Source: Radford et al. 2018, equation 1; lecture 000, "GPT-1".
    Chapter: objectives#next-token-prediction.

    Example:
        >>> next_token_loss(torch.zeros(2, 3, 7), torch.tensor([[5, 2, 6], [1, 0, 0]]), [3, 1])
        tensor(1.9459)
    """
    _, targets = next_token_pairs(ids)
    scores = scores[..., :-1, :]
    if lengths is not None:
        predicted = _real(ids, lengths)[..., 1:]
        rule = "at least one text must have two real tokens"
        require(bool(predicted.any()), rule, lengths=lengths)
        scores, targets = scores[predicted], targets[predicted]
    require_ids(scores.shape[-1], ids=targets)
    return cross_entropy(scores, targets)


@checked
def random_pieces(
    ids: Int[Tensor, "n"], length: Size, batch_size: Size, *, generator: torch.Generator
) -> Iterator[Int[Tensor, "batch_size length"]]:
    """Batches without end: pieces of one long text, each beginning anywhere.

    Args:
        ids: The text.
        length: How many tokens a piece has.
        batch_size: How many pieces a batch has.
        generator: The source of chance.

    Yields:
        One piece in each row. Every place where a whole piece fits is as likely as any other.

    Raises:
        ValueError: ``ids`` is not one text of at least ``length`` tokens, or a number is no integer
            of at least 1.

    Source: Radford et al. 2018, section 4.1. Chapter: training#a-gpt-on-real-prose.

    Example:
        >>> pieces = random_pieces(torch.arange(3), 3, 2, generator=torch.Generator())
        >>> next(pieces)
        tensor([[0, 1, 2],
                [0, 1, 2]])
    """
    rule = "ids must be one text of at least length tokens"
    require(len(ids) >= length, rule, ids=ids, length=length)
    while True:
        shape, where = (batch_size, 1), generator.device
        first = torch.randint(len(ids) - length + 1, shape, generator=generator, device=where)
        yield ids[(first + torch.arange(length, device=where)).to(ids.device)]


@checked
def next_token_log_probabilities(
    model: Callable[[Tensor], Tensor],
    ids: Int[Tensor, "n"],
    window: Size,
    *,
    stride: Size = 1,
    batch_size: Size = 64,
) -> Tensor:
    r"""GPT-1's objective, term by term: $\log p(w_i \mid w_{i-k}, \dots, w_{i-1})$.

    Their sum is the log-likelihood of the text, given its first token. Each window of ``window``
    tokens goes through the model once. With ``stride`` 1 only its last prediction counts, so that
    every token is predicted from the ``window`` tokens before it, or from all where there are
    fewer. With a larger stride the last ``stride`` predictions count: as many times faster, from
    at least ``window - stride + 1`` tokens each.

    Args:
        model: From ids (batch, n) to scores (batch, n, vocab), no row reading what comes after it.
        ids: A text of at least two tokens.
        window: $k$, how many tokens the model may read.
        stride: How many predictions of a window count, at most ``window``.
        batch_size: How many windows go through the model at once.

    Returns:
        One logarithm, at most 0, for each token but the first, in float64; on the CPU where the
        model's device has none.

    Raises:
        ValueError: ``ids`` is not one text of at least two tokens, a number is no integer of at
            least 1, ``stride`` is larger than ``window``, or a token has no score.

    Source: Radford et al. 2018, equation 1; lecture 000, "GPT-1".
    Chapter: objectives#a-window-of-k.

    Example:
        >>> even = lambda ids: torch.zeros(*ids.shape, 4)
        >>> next_token_log_probabilities(even, torch.tensor([3, 1, 0]), window=2)
        tensor([-1.3863, -1.3863], dtype=torch.float64)
    """
    rule = "stride must be at most window"
    require(stride <= window, rule, stride=stride, window=window)
    inputs, targets = next_token_pairs(ids)
    n = len(targets)
    width = min(window, n)
    starts = torch.arange(0, n - width + stride, stride).clamp(max=n - width)
    places = starts.unsqueeze(-1) + torch.arange(width)  # of each prediction of each window
    done = torch.cat((torch.tensor([0]), starts[:-1] + width))  # so many were predicted before
    found = []
    with torch.no_grad():
        for some, first in zip(places.split(batch_size), done.split(batch_size), strict=True):
            new = some >= first.unsqueeze(-1)
            rows = torch.log_softmax(in_float64(model(inputs[some])[new]), dim=-1)
            require_ids(rows.shape[-1], ids=ids)
            right = targets[some[new]].unsqueeze(-1).to(rows.device)
            found.append(rows.gather(-1, right).squeeze(-1))
    return torch.cat(found)


class Masked(NamedTuple):
    """A text with gaps, for masked language modelling.

    Attributes:
        inputs: What the model reads: some tokens are hidden, some replaced.
        targets: The text as it was.
        chosen: True at the tokens that must be predicted, the few that were kept included.

    Chapter: objectives#masked-language-modelling

    Example:
        >>> ids = torch.tensor([5, 7, 6])
        >>> Masked(torch.tensor([5, 0, 6]), ids, torch.tensor([False, True, False])).chosen.sum()
        tensor(1)
    """

    inputs: Tensor
    targets: Tensor
    chosen: Tensor


@checked
def mask_tokens(
    ids: Annotated[Int[Tensor, "*batch n"], Ids("vocab_size")],
    *,
    mask_id: Annotated[int, Ids("vocab_size")],
    vocab_size: Size,
    generator: torch.Generator,
    share: Share = 0.15,
    hidden: Share = 0.8,
    replaced: Share = 0.1,
    special: Sequence[Annotated[int, Ids("vocab_size")]] = (),
    lengths: Lengths | None = None,
) -> Masked:
    """Choose some tokens; hide most of them, replace a few, and leave a few as they are.

    Each token is chosen by itself, with probability ``share``. So the number of chosen tokens
    varies, and a short text may have none. With BERT's numbers 15% are chosen, and of all tokens
    12% become the mask, 1.5% another token, and 1.5% are chosen but stay.

    Args:
        ids: Texts.
        mask_id: The token that hides another.
        vocab_size: How many tokens there are, the special ones included.
        generator: The source of chance.
        share: The probability that a token is chosen.
        hidden: Of the chosen, the share that becomes ``mask_id``.
        replaced: Of the chosen, the share that becomes a token drawn from all but the special
            ones: with luck, the same. What is left over stays as it is.
        special: Tokens that are never chosen and never drawn; ``mask_id`` is always one of them.
        lengths: How many tokens of each text are real; the others are never chosen. None: all.

    Returns:
        What to read, what to predict, and where. ``ids`` is not changed.

    Raises:
        ValueError: An id is not in the vocabulary, a share is not from 0 to 1, ``hidden`` and
            ``replaced`` sum to more than 1, or every token is special.

    Source: Devlin et al. 2019, section 3.1; lecture 000, "How to train a Transformer".
    Chapter: objectives#masked-language-modelling.

    Example:
        >>> ids, generator = torch.arange(1, 6), torch.Generator().manual_seed(1)
        >>> mask_tokens(ids, mask_id=0, vocab_size=6, generator=generator, share=1.0, hidden=1.0,
        ...             replaced=0.0).inputs
        tensor([0, 0, 0, 0, 0])
    """
    rule = "hidden and replaced must sum to at most 1"
    require(hidden + replaced <= 1 + 1e-9, rule, hidden=hidden, replaced=replaced)
    special = sorted({mask_id, *special})
    ordinary = torch.tensor(sorted({*range(vocab_size)} - {*special}), device=ids.device)
    require(len(ordinary) > 0, "some token must not be special", special=special)
    allowed = ~torch.isin(ids, torch.tensor(special, device=ids.device))
    if lengths is not None:
        allowed = allowed & _real(ids, lengths)
    chance = {"size": ids.shape, "generator": generator, "device": generator.device}
    chosen = (torch.rand(**chance).to(ids.device) < share) & allowed
    fate = torch.rand(**chance).to(ids.device)
    drawn = ordinary[torch.randint(len(ordinary), **chance).to(ids.device)].to(ids.dtype)
    inputs = ids.where(~chosen | (fate >= hidden + replaced), drawn)
    inputs = inputs.masked_fill(chosen & (fate < hidden), mask_id)
    return Masked(inputs, ids, chosen)


@checked(not_empty="vocab")
def masked_loss(
    scores: Float[Tensor, "*batch n vocab"],
    targets: Int[Tensor, "*batch n"],
    chosen: Bool[Tensor, "*batch n"],
) -> Float[Tensor, ""]:
    """The mean cross-entropy at the chosen places; all others have no influence.

    Args:
        scores: One row per token.
        targets: The true tokens.
        chosen: True where a token is to be predicted.

    Returns:
        At least 0.

    Raises:
        ValueError: The shapes do not fit, or no token is chosen.

    Source: Devlin et al. 2019, section 3.1. Chapter: objectives#masked-language-modelling.

    Example:
        >>> chosen = torch.tensor([False, True, False])
        >>> masked_loss(torch.zeros(3, 7), torch.tensor([5, 2, 6]), chosen)
        tensor(1.9459)
    """
    require(bool(chosen.any()), "at least one token must be chosen", n_chosen=0)
    require_ids(scores.shape[-1], targets=targets[chosen])
    return cross_entropy(scores[chosen], targets[chosen])


@checked
def smoothed_targets(
    targets: Annotated[Int[Tensor, "*batch"], Ids("vocab_size")], vocab_size: Size, smoothing: Rate
) -> Float[Tensor, "*batch vocab"]:
    r"""The right answer, softened: $(1-\epsilon)\,\text{onehot}(w) + \epsilon/|\mathcal{V}|$.

    Args:
        targets: The right tokens.
        vocab_size: $|\mathcal{V}|$.
        smoothing: $\epsilon$, the share that all tokens get alike, the right one included.

    Returns:
        One distribution per target, in the default dtype; each sums to 1.

    Raises:
        ValueError: A target is no token, or ``smoothing`` is not at least 0 and less than 1.

    Source: Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4; lecture 004,
    "Training Transformers". Chapter: training#label-smoothing.

    Example:
        >>> smoothed_targets(torch.tensor([1]), vocab_size=4, smoothing=0.1)
        tensor([[0.0250, 0.9250, 0.0250, 0.0250]])
    """
    even = torch.full((*targets.shape, vocab_size), smoothing / vocab_size, device=targets.device)
    right = torch.full((*targets.shape, 1), 1.0 - smoothing, device=targets.device)
    return even.scatter_add(-1, targets.long().unsqueeze(-1), right)


@checked(not_empty="vocab")
def smoothed_cross_entropy(
    scores: Float[Tensor, "*batch vocab"],
    targets: Annotated[Int[Tensor, "*batch"], Ids("vocab")],
    smoothing: Rate,
) -> Float[Tensor, ""]:
    r"""Cross-entropy with ``smoothed_targets``, without ever storing them.

    $(1-\epsilon)\,\mathrm{CE} + \epsilon \cdot \text{mean}_w(-\log p_w)$. Its least value is not 0
    but the entropy of the softened targets.

    Args:
        scores: Finite logits, one row per target.
        targets: The right tokens.
        smoothing: $\epsilon$; 0 gives ``cross_entropy``.

    Returns:
        The mean over all rows.

    Raises:
        ValueError: As in ``cross_entropy``; ``smoothing`` is not at least 0 and less than 1, or a
            score is not finite while ``smoothing`` is above 0.

    Source: Vaswani et al. 2017, section 5.4; lecture 004, "Training Transformers".
    Chapter: training#label-smoothing.

    Example:
        >>> smoothed_cross_entropy(torch.zeros(2, 4), torch.tensor([3, 0]), smoothing=0.1)
        tensor(1.3863)
    """
    loss = cross_entropy(scores, targets)
    if smoothing == 0:
        return loss
    finite = bool(scores.detach().isfinite().all())
    require(finite, "scores must be finite: smoothing asks some probability of every token")
    even = torch.logsumexp(scores, dim=-1).mean() - scores.mean()
    return (1 - smoothing) * loss + smoothing * even


def _real(ids: Tensor, lengths: Tensor | Sequence[int]) -> Tensor:
    """True at the tokens that do not merely fill up."""
    given = torch.as_tensor(lengths, device=ids.device)
    rule = "with lengths, ids must be one row per text, and lengths one number for each"
    require(ids.ndim == 2 and given.shape == ids.shape[:1], rule, ids=ids, lengths=given)
    n = ids.shape[-1]
    require_ids(n + 1, lengths=given)
    return torch.arange(n, device=ids.device) < given.unsqueeze(-1)
