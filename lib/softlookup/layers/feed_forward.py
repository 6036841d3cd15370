"""The feed-forward layer: what a token does on its own, between two rounds of reading."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.checks import Rate, Size, checked

Activation = Literal["relu", "relu2", "gelu", "gelu_tanh", "silu", "sigmoid", "identity"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "relu2": lambda rows: torch.relu(rows).square(),
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "identity": nn.Identity(),
}


@checked
class FeedForward(nn.Module):
    r"""Widen, bend, narrow, each token alone: $f(xW_1 + b_1)\,W_2 + b_2$.

    The probe ``activations`` is an identity that sees $f(xW_1 + b_1)$ before dropout; a hook that
    returns a tensor replaces it.

    Args:
        d_model: The width of a row.
        d_ff: The width in between, usually $4\,d_{model}$.
        activation: $f$: "relu" is $\max(0, x)$, and "relu2" its square; "gelu" is $x\,\Phi(x)$
            with the normal distribution's $\Phi$, and "gelu_tanh" the approximation of GPT-2;
            "silu" is $x\,\sigma(x)$; "sigmoid" is $\sigma(x)$; "identity" leaves nothing but one
            linear map.
        bias: Whether the two linear maps add a bias.
        dropout: In training, the share of the activations that is set to 0.

    Raises:
        ValueError: A width is no integer of at least 1, ``activation`` is unknown, or ``dropout``
            is not in [0, 1).

    Source: Vaswani et al. 2017, section 3.3; GELU: Hendrycks and Gimpel 2016; squared ReLU:
    So et al. 2021; lectures 000, "Transformer", 002, "Transformer Layer Structure", and 004,
    "Non-linearities".
    Chapter: block#the-feed-forward-layer.

    Example:
        >>> layer = FeedForward(512, 2048)
        >>> layer(torch.zeros(7, 512)).shape, sum(p.numel() for p in layer.parameters())
        (torch.Size([7, 512]), 2099712)
    """

    def __init__(
        self,
        d_model: Size,
        d_ff: Size,
        *,
        activation: Activation = "relu",
        bias: bool = True,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.d_model, self.activation = d_model, activation
        self.W_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.W_2 = nn.Linear(d_ff, d_model, bias=bias)
        self.activations = nn.Identity()  # probe: the activations before dropout
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*batch {self.d_model}"]
    ) -> Float[Tensor, "*batch {self.d_model}"]:
        """The same function of every row.

        Args:
            x: One row per token.

        Returns:
            One row per token. What stands in one row has no influence on another.

        Raises:
            ValueError: The width or the dtype does not fit.
        """
        activations = self.activations(ACTIVATIONS[self.activation](self.W_1(x)))
        return self.W_2(self.dropout(activations))


@checked
class GatedFeedForward(nn.Module):
    r"""A feed-forward layer whose width in between has a gate: $(f(xW_g) \odot xW_1)\,W_2$.

    Each activation is a product of two linear maps of the token, one of them bent by $f$. The names
    go by $f$: "silu" makes it SwiGLU, "gelu" GEGLU, "relu" ReGLU, "sigmoid" the first GLU,
    "identity" the bilinear layer. There are three matrices instead of two, so that $d_{ff}$ is
    usually $\frac{8}{3} d_{model}$: then it has as many weights as the plain layer of
    $4\,d_{model}$. The probe ``activations`` sees the product before dropout.

    Args:
        d_model: The width of a row.
        d_ff: The width in between.
        activation: $f$, as in ``FeedForward``.
        bias: Whether the three linear maps add a bias.
        dropout: In training, the share of the products that is set to 0.

    Raises:
        ValueError: As in ``FeedForward``.

    Source: Shazeer 2020, equations 5 and 6; the first: Dauphin et al. 2017. Chapter: block#swiglu.

    Example:
        >>> layer = GatedFeedForward(6, 16)
        >>> layer(torch.zeros(7, 6)).abs().max().item(), sum(p.numel() for p in layer.parameters())
        (0.0, 288)
    """

    def __init__(
        self,
        d_model: Size,
        d_ff: Size,
        *,
        activation: Activation = "silu",
        bias: bool = False,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.d_model, self.activation = d_model, activation
        self.W_gate = nn.Linear(d_model, d_ff, bias=bias)
        self.W_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.W_2 = nn.Linear(d_ff, d_model, bias=bias)
        self.activations = nn.Identity()  # probe: gate times content, before dropout
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*batch {self.d_model}"]
    ) -> Float[Tensor, "*batch {self.d_model}"]:
        """The same function of every row.

        Args:
            x: One row per token.

        Returns:
            One row per token. What stands in one row has no influence on another.

        Raises:
            ValueError: The width or the dtype does not fit.
        """
        gate = ACTIVATIONS[self.activation](self.W_gate(x))
        return self.W_2(self.dropout(self.activations(gate * self.W_1(x))))
