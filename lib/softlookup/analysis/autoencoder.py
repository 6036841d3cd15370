"""A sparse autoencoder: from rows back to the few directions that each of them is a sum of."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.checks import NotNegative, Range, Size, checked
from softlookup.ops import unit_vectors


@checked
class SparseAutoencoder(nn.Module):
    r"""Explain rows as sums of few directions: $f = \mathrm{ReLU}(xW + b)$, $\hat x = fD + c$.

    The rows of $D$, ``directions``, have length 1; else the strengths could be made small, and the
    directions long, at no cost.

    Args:
        d_model: The width of a row.
        n_directions: How many directions there are to choose from, usually more than ``d_model``.

    Raises:
        ValueError: A size is no integer of at least 1.

    Source: Bricken et al. 2023; Cunningham et al. 2023.
    Chapter: looking_inside#optional-a-sparse-autoencoder.

    Example:
        >>> model = SparseAutoencoder(4, 9)
        >>> rows = torch.zeros(3, 4)
        >>> model.strengths(rows).shape, model(rows).shape
        (torch.Size([3, 9]), torch.Size([3, 4]))
    """

    def __init__(self, d_model: Size, n_directions: Size) -> None:
        super().__init__()
        self.d_model, self.n_directions = d_model, n_directions
        start = unit_vectors(torch.randn(n_directions, d_model))
        self.W = nn.Parameter(start.mT.clone())
        self.b = nn.Parameter(torch.zeros(n_directions))
        self.D = nn.Parameter(start)
        self.c = nn.Parameter(torch.zeros(d_model))

    @property
    def directions(self) -> Float[Tensor, "n_directions d_model"]:
        """The rows of $D$, each brought to length 1."""
        return unit_vectors(self.D)

    def strengths(
        self, x: Float[Tensor, "*batch {self.d_model}"]
    ) -> Float[Tensor, "*batch {self.n_directions}"]:
        """How much of each direction a row has, by the encoder: $f$.

        Args:
            x: Rows.

        Returns:
            One number for each direction, at least 0.

        Raises:
            ValueError: ``x`` has not the model's width.
        """
        return torch.relu(x @ self.W + self.b)

    def decode(
        self, strengths: Float[Tensor, "*batch {self.n_directions}"]
    ) -> Float[Tensor, "*batch {self.d_model}"]:
        r"""Put rows together from their directions: $\hat x = fD + c$.

        Args:
            strengths: $f$.

        Returns:
            Rows.

        Raises:
            ValueError: ``strengths`` has not a column for each direction.
        """
        return strengths @ self.directions + self.c

    def forward(
        self, x: Float[Tensor, "*batch {self.d_model}"]
    ) -> Float[Tensor, "*batch {self.d_model}"]:
        """Take rows apart, and put them together again.

        Args:
            x: Rows.

        Returns:
            Rows, as near to ``x`` as the directions allow.

        Raises:
            ValueError: ``x`` has not the model's width.
        """
        return self.decode(self.strengths(x))


@checked(not_empty="*batch")
def sparse_loss(
    rows: Float[Tensor, "*batch d_model"],
    rebuilt: Float[Tensor, "*batch d_model"],
    strengths: Annotated[Float[Tensor, "*batch n_directions"], Range(0)],
    penalty: NotNegative,
) -> Float[Tensor, ""]:
    r"""The loss of a sparse autoencoder: the mean of $\|x - \hat x\|^2 + \lambda\sum_k f_k$.

    Args:
        rows: $x$.
        rebuilt: $\hat x$.
        strengths: $f$.
        penalty: $\lambda$, the price of one unit of strength.

    Returns:
        One number, the mean over the rows.

    Raises:
        ValueError: The shapes do not fit, a number is negative, or there is no row.

    Source: Bricken et al. 2023. Chapter: looking_inside#optional-a-sparse-autoencoder.

    Example:
        >>> zero, row = torch.zeros(1, 2), torch.tensor([[3.0, 4.0]])
        >>> sparse_loss(row, zero, torch.tensor([[0.0, 2.0]]), 0.5)
        tensor(26.)
    """
    return ((rows - rebuilt).square().sum(-1) + penalty * strengths.sum(-1)).mean()


@checked(not_empty="found")
def best_cosines(
    planted: Float[Tensor, "planted d_model"], found: Float[Tensor, "found d_model"]
) -> Float[Tensor, "planted"]:
    """How well each planted direction was found: its largest cosine with a direction found.

    Args:
        planted: Directions that are really there, one a row.
        found: Directions that a method gives.

    Returns:
        One cosine for each planted direction; 1 is a perfect match. Many random directions come
        near to anything: compare with as many of those.

    Raises:
        ValueError: The widths differ, or nothing was found.

    Source: Cunningham et al. 2023, section 3, "mean maximum cosine similarity".
    Chapter: looking_inside#optional-a-sparse-autoencoder.

    Example:
        >>> best_cosines(torch.eye(2), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([0.6000, 1.0000])
    """
    return (unit_vectors(planted) @ unit_vectors(found).mT).amax(dim=-1)
