"""The residual connection: a layer that adds to its input instead of replacing it (He 2016)."""

from jaxtyping import Float
from torch import Tensor, nn

from softlookup.checks import checked, require


@checked
class Residual(nn.Module):
    r"""A branch and a way around it: $y = x + F(x)$, whose Jacobian is $I + J_F$.

    The layer is a branch that learns the difference $y - x$. If it gives zeros, the whole is the
    identity.

    Args:
        layer: $F$, any module whose output has the shape of its input.

    Source: He et al. 2016, equation 1; lecture 000, "Building Blocks of Neural Networks"; lecture
    004, "Residual Connections". Chapter: recurrence#residual-connections.

    Example:
        >>> import torch
        >>> Residual(nn.ReLU())(torch.tensor([2.0, -3.0]))
        tensor([ 4., -3.])
    """

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Add what the layer makes of ``x`` to ``x``.

        Args:
            x: Any tensor that the layer takes.

        Returns:
            $x + F(x)$, of the shape of ``x``.

        Raises:
            ValueError: The layer changes the shape, even if the sum could be broadcast.
        """
        return self.add(x, self.layer(x))

    def add(
        self, x: Float[Tensor, "*shape"], write: Float[Tensor, "..."]
    ) -> Float[Tensor, "*shape"]:
        """The way around: what came in, plus what the layer made of it.

        Args:
            x: What came in.
            write: What is added.

        Returns:
            Their sum.

        Raises:
            ValueError: The shapes differ, even if the sum could be broadcast.
        """
        rule = "branch must keep the shape of x, since its output is added to x"
        require(write.shape == x.shape, rule, x=x, output=write)
        return x + write
