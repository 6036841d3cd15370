"""GloVe: word vectors whose products fit the logarithms of counted neighbours."""

from typing import Annotated

from jaxtyping import Float
from torch import Tensor

from softlookup.checks import Finite, Positive, Range, checked
from softlookup.words.word2vec.two_tables import Vectors

Counts = Annotated[Float[Tensor, "vocab vocab"], Range(0)]
Biases = Annotated[Float[Tensor, "vocab"], Finite]


@checked
def glove_weight(
    counts: Counts, x_max: Positive = 100.0, power: Positive = 0.75
) -> Float[Tensor, "vocab vocab"]:
    r"""How much GloVe cares about a pair of words: $f(X)=\min(1,(X/x_\text{max})^{3/4})$.

    Args:
        counts: How often word j stood near word i.
        x_max: From this count on a pair counts in full, above 0.
        power: Of the count, above 0.

    Returns:
        Numbers from 0, for a pair that was never seen, to 1.

    Raises:
        ValueError: A count is negative or not finite, or ``x_max`` or ``power`` is not above 0.

    Source: Pennington, Socher and Manning 2014, equation 9.
    Chapter: word2vec#optional-glove-fits-the-counts.

    Example:
        >>> import torch
        >>> glove_weight(torch.tensor([[0.0, 1.0], [1.0, 32.0]]), x_max=16)
        tensor([[0.0000, 0.1250],
                [0.1250, 1.0000]])
    """
    return (counts / x_max).clamp(max=1.0) ** power


@checked(not_empty="vocab d_model")
def glove_loss(
    U: Vectors,
    U_context: Vectors,
    bias: Biases,
    bias_context: Biases,
    counts: Counts,
    *,
    x_max: Positive = 100.0,
    power: Positive = 0.75,
) -> Float[Tensor, ""]:
    r"""Weighted squares, $\sum_{ij}f(X_{ij})\,(u_i\cdot v_j+b_i+b'_j-\log X_{ij})^2$.

    Args:
        U: The word vectors $u$, one row for each word.
        U_context: The context vectors $v$, one row for each word.
        bias: A number for each word.
        bias_context: A number for each context word.
        counts: How often word j stood near word i.
        x_max: As in ``glove_weight``.
        power: As in ``glove_weight``.

    Returns:
        At least 0. Pairs that were never seen add nothing.

    Raises:
        ValueError: The tables, biases and counts do not fit each other or are not finite, or as
            ``glove_weight`` does.

    Source: Pennington, Socher and Manning 2014, equation 8.
    Chapter: word2vec#optional-glove-fits-the-counts.

    Example:
        >>> import torch
        >>> U, bias = torch.zeros(2, 1), torch.zeros(2)
        >>> counts = torch.tensor([[0.0, 2.7183], [2.7183, 0.0]])
        >>> glove_loss(U, U, bias, bias, counts, x_max=1)  # two pairs, each 1 away
        tensor(2.0000)
    """
    seen = counts > 0
    wanted = counts.where(seen, 1.0).log()
    errors = U @ U_context.mT + bias[:, None] + bias_context - wanted
    return (glove_weight(counts, x_max, power) * errors**2).sum()
