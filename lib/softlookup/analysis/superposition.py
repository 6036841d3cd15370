"""Superposition: more features than dimensions, and the small model that shows when it pays."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.checks import Range, Share, Size, checked


@checked
def sparse_features(
    n: Size, n_features: Size, density: Share, *, generator: torch.Generator
) -> Float[Tensor, "n n_features"]:
    """Draw features that are mostly 0: each is there with a probability, and then has a strength.

    Args:
        n: How many examples.
        n_features: How many features each of them has or has not.
        density: The probability that a feature is there, whatever the others do.
        generator: The source of chance.

    Returns:
        One example per row: 0 where a feature is absent, else a number between 0 and 1.

    Raises:
        ValueError: A size is no integer of at least 1, or ``density`` is not from 0 to 1.

    Source: Elhage et al. 2022, "Toy models of superposition".
    Chapter: looking_inside#optional-superposition.

    Example:
        >>> sparse_features(2, 3, 0.0, generator=torch.Generator()).tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    strength = torch.rand(n, n_features, generator=generator)
    return strength * (torch.rand(n, n_features, generator=generator) < density)


@checked
class Bottleneck(nn.Module):
    r"""Squeeze features into few dimensions, and read them back: $\mathrm{ReLU}(xWW^\top + b)$.

    Args:
        n_features: How many features come in and go out.
        d: How many dimensions there are in between. Row $i$ of ``W`` is the direction of feature
            $i$ there.

    Raises:
        ValueError: A size is no integer of at least 1.

    Source: Elhage et al. 2022, "Toy models of superposition".
    Chapter: looking_inside#optional-superposition.

    Example:
        >>> model = Bottleneck(5, 2)
        >>> model(torch.zeros(7, 5)).shape
        torch.Size([7, 5])
    """

    def __init__(self, n_features: Size, d: Size) -> None:
        super().__init__()
        self.n_features = n_features
        self.W = nn.Parameter(0.3 * torch.randn(n_features, d))
        self.b = nn.Parameter(torch.zeros(n_features))

    def forward(
        self, x: Float[Tensor, "*batch {self.n_features}"]
    ) -> Float[Tensor, "*batch {self.n_features}"]:
        """Squeeze, and read back.

        Args:
            x: The strengths of the features.

        Returns:
            What comes out of the bottleneck for each of them, never negative.

        Raises:
            ValueError: ``x`` has not a column for each feature.
        """
        return torch.relu(x @ self.W @ self.W.mT + self.b)


@checked
def importance_loss(
    found: Float[Tensor, "*batch n_features"],
    wanted: Float[Tensor, "*batch n_features"],
    importance: Annotated[Float[Tensor, "n_features"], Range(0)],
) -> Float[Tensor, ""]:
    r"""The weighted squared error of features read back: the mean of $I_i (x_i - \hat x_i)^2$.

    Args:
        found: What was read back.
        wanted: What went in.
        importance: $I_i$, how much an error in each feature matters.

    Returns:
        One number; the mean over examples and features.

    Raises:
        ValueError: The shapes do not fit, or an importance is negative.

    Source: Elhage et al. 2022, "Toy models of superposition".
    Chapter: looking_inside#optional-superposition.

    Example:
        >>> importance_loss(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.0]), torch.ones(2))
        tensor(0.5000)
    """
    return (importance * (wanted - found).square()).mean()
