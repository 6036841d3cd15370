"""The residual connection: a layer that adds to its input instead of replacing it (He 2016)."""

from jaxtyping import Float
from torch import Tensor, nn

from softlookup.checks import require


class Residual(nn.Module):
    r"""A branch and a way around it: $y = x + F(x)$, whose Jacobian is $I + J_F$.

    The branch learns the difference $y - x$. If it gives zeros, the block is the identity.

    Args:
        branch: $F$, any module whose output has the shape of its input.

    Source: He et al. 2016, equation 1; lecture 000, "Building Blocks of Neural Networks"; lecture
    004, "Residual Connections". Chapter: recurrence#residual-connections.

    Example:
        >>> import torch
        >>> Residual(nn.ReLU())(torch.tensor([2.0, -3.0]))
        tensor([ 4., -3.])
    """

    def __init__(self, branch: nn.Module) -> None:
        super().__init__()
        self.branch = branch

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Add what the branch makes of ``x`` to ``x``.

        Args:
            x: Any tensor that the branch takes.

        Returns:
            $x + F(x)$, of the shape of ``x``.

        Raises:
            ValueError: The branch changes the shape, even if the sum could be broadcast.
        """
        added = self.branch(x)
        rule = "branch must keep the shape of x, since its output is added to x"
        require(added.shape == x.shape, rule, x=x, output=added)
        return x + added
