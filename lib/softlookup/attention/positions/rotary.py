"""Rotary positions, RoPE (Su et al. 2021): turn queries and keys instead of adding to words."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from softlookup.attention.positions.pairs import (
    Base,
    Width,
    frequencies,
    join_pairs,
    require_pairs,
    split_pairs,
)
from softlookup.checks import Range, checked, require
from softlookup.ops import in_float64

Pairing = Literal["interleaved", "halves"]


@checked
class Rotary(nn.Module):
    r"""Turn pair $i$ of the row at position $t$ by the angle $\omega_i t$: $q \mapsto R(t)\,q$.

    Applied to queries and to keys, the score $R(i)q \cdot R(j)k = q \cdot R(j - i)k$ knows only
    how far apart the two stand. Nothing is trained. ``omega`` holds the angle of one step for each
    pair, and is no buffer: moved to half precision with its model, it would lose the positions.

    Args:
        d_k: The width of a row, even.
        base: $b > 1$ in $\omega_i = b^{-2i/d_k}$.
        pairing: "interleaved" pairs the columns $2i$ and $2i + 1$, as the paper does; "halves"
            pairs $i$ and $i + d_k/2$, as many programs do. Weights trained with one fit the other
            only after ``pairing_permutation(d_k)``.

    Raises:
        ValueError: ``d_k`` is no even integer of at least 2, ``base`` is not above 1, or
            ``pairing`` is unknown.

    Source: Su et al. 2021, section 3.2.2. Chapter: positions#rotary-positions.

    Example:
        >>> Rotary(2)(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])
    """

    def __init__(
        self, d_k: Width, *, base: Base = 10000.0, pairing: Pairing = "interleaved"
    ) -> None:
        super().__init__()
        require_pairs(d_k=d_k)
        self.d_k, self.base, self.pairing = d_k, base, pairing
        with torch.device("cpu"):  # a model may be built on "meta", where numbers are not kept
            self.omega = frequencies(d_k, base=base)

    def forward(
        self,
        rows: Float[Tensor, "*batch n {self.d_k}"],
        positions: Annotated[Int[Tensor, "... n"], Range(0)] | None = None,
    ) -> Float[Tensor, "*batch n {self.d_k}"]:
        """Each row, turned according to its position.

        Args:
            rows: Queries or keys, one row for each position; any leading axes, such as batch and
                heads.
            positions: The position of each row; 0 to n - 1 if left out. With kept keys, the new
                rows stand behind them: ``torch.arange(n_kept, n_kept + n)``. With (batch, n) each
                text has its own, the same for all its heads.

        Returns:
            Rows of the same length and dtype. Half-precision rows are turned in float32.

        Raises:
            ValueError: ``rows`` have not the width d_k, hold no floating-point numbers, or
                ``positions`` are not one integer of at least 0 for each row.
        """
        if positions is None:
            positions = torch.arange(rows.shape[-2], device=rows.device)
        positions = _laid_over(positions, rows)
        precise = torch.promote_types(rows.dtype, torch.float32)
        angles = self.angles(positions.to(rows.device))
        cos, sin = (turn.to(rows.device, precise) for turn in (angles.cos(), angles.sin()))
        neighbours = self.pairing == "interleaved"
        a, b = split_pairs(rows.to(precise), neighbours)
        return join_pairs(a * cos - b * sin, a * sin + b * cos, neighbours).to(rows.dtype)

    def angles(self, positions: Tensor) -> Tensor:
        """How far each pair is turned at each position.

        Args:
            positions: Integers from 0.

        Returns:
            Angles in radians, in float64.
        """
        positions = in_float64(positions)
        return positions.unsqueeze(-1) * self.omega.to(positions.device)

    def extra_repr(self) -> str:
        return f"{self.d_k}, base={self.base:g}, pairing={self.pairing!r}"


def _laid_over(positions: Tensor, rows: Tensor) -> Tensor:
    """Positions with an axis of length 1 for each axis of ``rows`` that they leave out."""
    *lead, n, _ = rows.shape
    fits = positions.ndim < rows.ndim and positions.shape == (*lead[: positions.ndim - 1], n)
    require(fits, "there must be one position for each row", positions=positions, rows=rows)
    between = rows.ndim - 1 - positions.ndim
    return positions.reshape(*positions.shape[:-1], *[1] * between, n)
