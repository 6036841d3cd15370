"""Texts as vectors that were trained for search: the loss of a bi-encoder."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import Finite, Positive, checked
from softlookup.ops import cross_entropy, unit_vectors

Encoded = Annotated[Float[Tensor, "n d_model"], Finite]
"""The vectors of n texts, one row each."""


@checked(not_empty="n d_model")
def contrastive_loss(
    queries: Encoded, documents: Encoded, temperature: Positive = 0.05
) -> Float[Tensor, ""]:
    r"""How badly each query finds its own document among those of the batch.

    The score of query i and document j is their cosine divided by the temperature,
    $s_{ij}=\cos(q_i,d_j)/\tau$; the loss is $-\frac1n\sum_i\log\operatorname{softmax}(s_i)_i$.

    Args:
        queries: Row i is the vector of query i.
        documents: Row i is the vector of the document that belongs to query i; the others of the
            batch are its negatives.
        temperature: $\tau$, above 0. A small one makes small differences of cosines count.

    Returns:
        The mean over the queries, at least 0.

    Raises:
        ValueError: The two do not have the same shape, hold no row or a number that is not finite,
            or the temperature is not above 0.

    Source: Karpukhin et al. 2020, section 3.2, with cosines and a temperature; also called InfoNCE.
    Chapter: document_vectors#the-batch-supplies-the-wrong-answers.

    Example:
        >>> right = torch.eye(2)
        >>> contrastive_loss(right, right, temperature=1.0)  # -log(e / (e + 1))
        tensor(0.3133)
        >>> contrastive_loss(right, right.flip(0), temperature=1.0)
        tensor(1.3133)
    """
    scores = unit_vectors(queries) @ unit_vectors(documents).mT / temperature
    own_document = torch.arange(len(scores), device=scores.device)
    return cross_entropy(scores, own_document)
