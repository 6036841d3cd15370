"""Induction heads: those that find an earlier place like this one, and read what came next."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from softlookup.analysis.patterns import pattern_scores
from softlookup.checks import Size, checked, require
from softlookup.masks import causal_mask


@checked
def repeating_texts(
    n_texts: Size,
    n: Size,
    vocab_size: Size,
    *,
    periods: tuple[Size, Size],
    generator: torch.Generator,
) -> Int[Tensor, "n_texts n"]:
    """Texts of random tokens that begin anew after a while, each after a time of its own.

    In the first round nothing can be predicted. From the second round on everything can, but only
    from the text itself: no table of frequencies knows it, and as the period differs from text to
    text, no fixed distance does.

    Args:
        n_texts: How many texts.
        n: Tokens of a text.
        vocab_size: How many different tokens there are, numbered from 0.
        periods: The shortest and the longest time after which a text begins anew.
        generator: The source of chance.

    Returns:
        One text per row.

    Raises:
        ValueError: A size is no integer of at least 1, or the periods are not
            1 <= shortest <= longest <= n.

    Source: Olsson et al. 2022, "repeated random tokens". Chapter: looking_inside#induction-heads.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> repeating_texts(1, 7, 20, periods=(3, 3), generator=generator)
        tensor([[19, 13,  0, 19, 13,  0, 19]])
    """
    shortest, longest = periods
    rule = "periods must be the shortest and the longest, at most n"
    require(shortest <= longest <= n, rule, periods=periods, n=n)
    period = torch.randint(shortest, longest + 1, (n_texts, 1), generator=generator)
    first = torch.randint(vocab_size, (n_texts, longest), generator=generator)
    return first.gather(1, torch.arange(n) % period)


@checked(not_empty="n")
def induction_pattern(ids: Int[Tensor, "*batch n"]) -> Bool[Tensor, "*batch n n"]:
    r"""What an induction head reads: the token after each earlier place with the same token.

    Args:
        ids: The tokens.

    Returns:
        True at $(i, j)$ where $j \le i$ and token $j - 1$ is the same as token $i$.

    Raises:
        ValueError: ``ids`` has no axis of tokens.

    Source: Olsson et al. 2022, "prefix matching". Chapter: looking_inside#induction-heads.

    Example:
        >>> induction_pattern(torch.tensor([7, 3, 7])).int()
        tensor([[0, 0, 0],
                [0, 0, 0],
                [0, 1, 0]], dtype=torch.int32)
    """
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)
    after = torch.zeros_like(same)
    after[..., 1:] = same[..., :-1]
    return after & causal_mask(ids.shape[-1]).to(ids.device)


@checked(not_empty="n")
def induction_scores(
    weights: Float[Tensor, "*batch heads n n"], ids: Int[Tensor, "*batch n"]
) -> Float[Tensor, "heads"]:
    """How far each head is an induction head: the share of its attention that follows the pattern.

    Args:
        weights: The attention of each head under a causal mask.
        ids: The tokens, best such as from ``repeating_texts``, where nothing else can help.

    Returns:
        One number per head, from 0 to 1: the mean over the tokens that stood in the text before.
        Compare it with an untrained model: even reading scores above 0.

    Raises:
        ValueError: The shapes do not fit, or no token stands in its text twice.

    Source: Olsson et al. 2022, "prefix matching score". Chapter: looking_inside#induction-heads.

    Example:
        >>> weights = torch.tensor([[[1.0, 0, 0], [0.5, 0.5, 0], [0.25, 0.75, 0]]])
        >>> induction_scores(weights, torch.tensor([7, 3, 7]))
        tensor([0.7500])
    """
    return pattern_scores(weights, induction_pattern(ids), causal_mask(ids.shape[-1]))
