"""A trained vector for each position: the first proposal of lecture 004."""

from typing import Annotated

from jaxtyping import Float, Int
from torch import Tensor, nn

from softlookup.checks import Ids, NotNegative, Size, checked


@checked
class LearnedPositions(nn.Module):
    r"""A table with one trained row a position, and an end: row $t$ is $p_t$.

    Args:
        max_length: The number of rows; positions go from 0 to ``max_length - 1``.
        d_model: The width of a row.
        std: The rows start as normal random numbers of this standard deviation.

    Raises:
        ValueError: A size is no integer of at least 1, or ``std`` is negative or not finite.

    Source: Gehring et al. 2017, section 3.1; Devlin et al. 2019, section 3; lectures 000, "What is
    Positional Encoding?", and 004, "Learning Position Embeddings".
    Chapter: positions#learned-positions.

    Example:
        >>> import torch
        >>> sum(p.numel() for p in LearnedPositions(512, 512).parameters())
        262144
        >>> LearnedPositions(512, 512)(torch.tensor([0, 511])).shape
        torch.Size([2, 512])
    """

    def __init__(self, max_length: Size, d_model: Size, *, std: NotNegative = 0.02) -> None:
        super().__init__()
        self.embedding = nn.Embedding(max_length, d_model)
        nn.init.normal_(self.embedding.weight, std=std)

    def forward(
        self, positions: Annotated[Int[Tensor, "*batch"], Ids("self.embedding.num_embeddings")]
    ) -> Float[Tensor, "*batch d_model"]:
        """The row of each position.

        Args:
            positions: Integers from 0 to ``max_length - 1``.

        Returns:
            One row for each position. A row that is read twice collects its gradient twice.

        Raises:
            ValueError: A position has no row, or ``positions`` are no integers. A negative one has
                none: it does not count from the end.
        """
        return self.embedding(positions)
