"""Operations on tensors that several concepts share: softmax and what is measured on its result."""

import math
from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

from softlookup.checks import Ids, Positive, Range, checked, require


@checked(not_empty="n")
def softmax(
    scores: Float[Tensor, "*batch n"], *, temperature: Positive = 1.0
) -> Float[Tensor, "*batch n"]:
    r"""Turn scores into weights: $p_j = e^{s_j/\tau} / \sum_l e^{s_l/\tau}$, over the last axis.

    Adding one number to all scores changes nothing, so the largest is subtracted first: then no
    exponential can overflow, at any score and any temperature.

    Args:
        scores: Any finite numbers; -inf is a score that gets no weight.
        temperature: $\tau > 0$. Below 1 the largest score gains, above 1 the weights even out.

    Returns:
        Weights from 0 to 1; each row sums to 1. A row of -inf alone has no softmax and becomes
        NaN, as in PyTorch: ``masked_softmax`` is the function for rows that may be empty.

    Raises:
        ValueError: ``scores`` is not floating-point or has no last axis to sum over, or
            ``temperature`` is not positive and finite.

    Source: Bridle 1990; lecture 000, "(Dot product) Attention". Chapter: attention#softmax.

    Example:
        >>> softmax(torch.tensor([0.0, 0.0, 10_000.0, 10_000.0]))
        tensor([0.0000, 0.0000, 0.5000, 0.5000])
    """
    largest = scores.detach().amax(dim=-1, keepdim=True)
    exponentials = torch.exp((scores - largest) / temperature)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@checked(not_empty="n")
def masked_softmax(
    scores: Float[Tensor, "*batch n"], mask: Bool[Tensor, "*#batch n"]
) -> Float[Tensor, "*batch n"]:
    r"""Softmax over the scores that ``mask`` allows; a row that allows none is all zeros.

    Scores that are masked are replaced, not multiplied by zero, so their content never matters,
    not even when it is NaN.

    Args:
        scores: One row per distribution.
        mask: True where a score takes part. It may leave out leading axes, or have length 1 there.

    Returns:
        Weights, exactly 0 where ``mask`` is False. Each row sums to 1, or is all zeros and passes
        back a gradient of zero.

    Raises:
        ValueError: ``mask`` is not boolean or does not fit ``scores``, or ``scores`` is no input
            for ``softmax``.

    Source: Vaswani et al. 2017, section 3.2.3; lecture 003, "Implementation Details".
    Chapter: attention#masks.

    Example:
        >>> scores = torch.tensor([[1.0, 1.0, 9.0], [1.0, 2.0, 3.0]])
        >>> masked_softmax(scores, torch.tensor([[True, True, False], [False, False, False]]))
        tensor([[0.5000, 0.5000, 0.0000],
                [0.0000, 0.0000, 0.0000]])
    """
    row_is_empty = ~mask.any(dim=-1, keepdim=True)
    allowed = scores.masked_fill(~mask, -torch.inf).masked_fill(row_is_empty, 0.0)
    return softmax(allowed).masked_fill(~mask, 0.0)


@checked(not_empty="n")
def softmax_jacobian(weights: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n n"]:
    r"""How each weight answers to each score: $J = \mathrm{diag}(p) - p p^\top$.

    Args:
        weights: The result of a softmax (at temperature 1), one distribution per row.

    Returns:
        $J_{jl} = \partial p_j / \partial s_l$. It is symmetric and its rows sum to 0. It vanishes
        when one weight is 1: a saturated softmax passes no gradient.

    Raises:
        ValueError: ``weights`` is not floating-point or has no axis.

    Source: lecture 003, "Scaling Factor in Attention (1)". Chapter: attention#saturation.

    Example:
        >>> softmax_jacobian(torch.tensor([0.5, 0.5]))
        tensor([[ 0.2500, -0.2500],
                [-0.2500,  0.2500]])
    """
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


@checked
def sigmoid(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Squash a score into a probability: $\sigma(x) = 1 / (1 + e^{-x})$, entry by entry.

    It is computed as $e^{-\log(e^0 + e^{-x})}$. The direct formula has the right values, but for
    a large negative $x$ its gradient is $0 \cdot \infty$.

    Args:
        x: Any finite numbers.

    Returns:
        Numbers from 0 to 1.

    Raises:
        ValueError: ``x`` is not floating-point.

    Source: lecture 000, "Spam". Chapter: counting_words#logistic-regression.

    Example:
        >>> sigmoid(torch.tensor([-1000.0, 0.0, 1000.0]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return torch.exp(-torch.logaddexp(torch.zeros_like(x), -x))


@checked(not_empty="d")
def cosine_similarity(
    x: Float[Tensor, "*#batch d"], y: Float[Tensor, "*#batch d"]
) -> Float[Tensor, "*batch"]:
    r"""The cosine of the angle between two vectors: $x \cdot y / (\|x\| \|y\|)$.

    Args:
        x: One vector per row.
        y: The same; leading axes broadcast, so ``x[:, None]`` and ``y[None]`` compare all pairs.

    Returns:
        Numbers from -1 to 1 (up to rounding). A vector of zeros has no direction: by rule its
        similarity to every vector is 0.

    Raises:
        ValueError: The inputs are not floating-point, or their shapes do not fit.

    Source: lecture 000, "Distributional Similarity". Chapter: embeddings#cosine-similarity.

    Example:
        >>> cosine_similarity(torch.tensor([3.0, 4.0]), torch.tensor([4.0, 3.0]))
        tensor(0.9600)
    """
    return (unit_vectors(x) * unit_vectors(y)).sum(dim=-1)


@checked(not_empty="d")
def unit_vectors(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    r"""Each vector at length 1, in its own direction: $x/\|x\|$.

    The largest entry is divided out first, for the square of 1e200 is infinite.

    Args:
        x: One vector per row, finite.

    Returns:
        Vectors of length 1. A vector of zeros has no direction and stays as it is.

    Raises:
        ValueError: ``x`` is not floating-point, or has no last axis or an empty one.

    Source: lecture 000, "Similarity". Chapter: embeddings#cosine-similarity.

    Example:
        >>> unit_vectors(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
        tensor([[0.6000, 0.8000],
                [0.0000, 0.0000]])
    """
    largest = x.detach().abs().amax(dim=-1, keepdim=True)
    x = x / torch.where(largest == 0, 1.0, largest)
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / torch.where(length == 0, 1.0, length)


@checked
def without_unread(
    rows: Float[Tensor, "*batch n_k d"], mask: Bool[Tensor, "*#batch #n_q n_k"] | None
) -> Float[Tensor, "*batch n_k d"]:
    r"""Keys or values, with zeros in the rows that no query may read: $0 \cdot$ NaN would be NaN.

    Args:
        rows: One row per key.
        mask: True where the query may read the key. None allows all.

    Returns:
        Rows of the same shape.

    Source: lecture 003, "Implementation Details". Chapter: attention#masks.

    Example:
        >>> without_unread(torch.tensor([[5.0], [math.nan]]), torch.tensor([[True, False]]))
        tensor([[5.],
                [0.]])
    """
    return rows if mask is None else rows.masked_fill(~mask.any(dim=-2).unsqueeze(-1), 0.0)


@checked
def without_idle(
    rows: Float[Tensor, "*batch n_q d"], mask: Bool[Tensor, "*#batch #n_q n_k"] | None
) -> Float[Tensor, "*batch n_q d"]:
    """Queries, with zeros in the rows that may read nothing: NaN there would reach a gradient.

    Args:
        rows: One row per query.
        mask: True where the query may read the key. None allows all.

    Returns:
        Rows of the same shape.

    Source: lecture 003, "Implementation Details". Chapter: attention#masks.

    Example:
        >>> without_idle(torch.tensor([[math.nan], [2.0]]), torch.tensor([[False], [True]]))
        tensor([[0.],
                [2.]])
    """
    return rows if mask is None else rows.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)


@checked(not_empty="n")
def entropy(weights: Annotated[Float[Tensor, "*batch n"], Range(0)]) -> Float[Tensor, "*batch"]:
    r"""How spread out a distribution is: $H(p) = -\sum_j p_j \log p_j$ in nats, $0 \log 0 = 0$.

    Args:
        weights: One distribution per row; a row of zeros (an empty attention row) is allowed.

    Returns:
        From 0, all weight in one place, to $\log n$, all weights equal. A row of zeros gives 0.

    Raises:
        ValueError: A weight is negative or NaN, or a row sums neither to 1 nor to 0.

    Source: Shannon 1948, section 6. Chapter: attention#saturation.

    Example:
        >>> entropy(torch.tensor([[0.5, 0.5], [1.0, 0.0]]))
        tensor([0.6931, 0.0000])
    """
    _require_distributions(weights.detach())
    return 0.0 - torch.xlogy(weights, weights).sum(dim=-1)  # 0.0 - 0.0 is 0.0; -(0.0) prints "-0."


@checked(not_empty="classes")
def cross_entropy(
    scores: Float[Tensor, "*batch classes"],
    targets: Annotated[Int[Tensor, "*batch"], Ids("classes")],
) -> Float[Tensor, ""]:
    r"""How surprised the softmax is by the truth: the mean over rows of $-\log p_\text{target}$.

    Args:
        scores: Logits, one row per example; the softmax is inside.
        targets: The class of each row, counted from 0.

    Returns:
        At least 0; $\log$ of the number of classes when all scores of a row are equal.

    Raises:
        ValueError: The shapes do not fit, there is no row, or a target is no class.

    Source: lecture 001, "Types of NLMs". Chapter: counting_words#softmax-regression.

    Example:
        >>> cross_entropy(torch.zeros(2, 4), torch.tensor([3, 0]))
        tensor(1.3863)
    """
    require(targets.numel() > 0, "there must be at least one target", targets=targets)
    score_of_target = scores.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1)
    return (torch.logsumexp(scores, dim=-1) - score_of_target).mean()


def _require_distributions(weights: Tensor) -> None:
    sums = weights.sum(dim=-1)
    off = torch.where(sums == 0, 0.0, (sums - 1).abs())
    worst = sums.flatten()[off.flatten().argmax()].item() if sums.numel() else 1.0
    rule = "each row of weights must sum to 1 or be all zeros"
    tolerance = math.sqrt(torch.finfo(weights.dtype).eps)
    require(worst == 0 or abs(worst - 1) <= tolerance, rule, sum=worst)


@checked
def in_float64(x: Real[Tensor, "*shape"]) -> Tensor:
    """The numbers in float64, on their own device if it has that, otherwise on the CPU.

    Args:
        x: Any numbers.

    Returns:
        The same numbers.

    Raises:
        TypeError: ``x`` is no tensor.

    Example:
        >>> in_float64(torch.tensor([3]))
        tensor([3.], dtype=torch.float64)
    """
    return x.cpu().double() if x.device.type in WITHOUT_FLOAT64 else x.double()


WITHOUT_FLOAT64 = {"mps"}
"""Devices that have no float64: Apple's GPUs."""
