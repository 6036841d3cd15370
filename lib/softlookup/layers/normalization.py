"""Normalization of each token's row: LayerNorm, and RMSNorm, which leaves the mean alone."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.checks import Positive, Size, checked


@checked(not_empty="d_model")
def layer_norm(
    x: Float[Tensor, "*batch d_model"],
    weight: Float[Tensor, "d_model"] | None = None,
    bias: Float[Tensor, "d_model"] | None = None,
    eps: Positive = 1e-5,
) -> Float[Tensor, "*batch d_model"]:
    r"""Give each row mean 0, variance 1: $\gamma \odot (x - \mu)/\sqrt{\sigma^2 + \epsilon} + b$.

    Mean $\mu$ and variance $\sigma^2 = \frac{1}{d_{model}}\sum_c (x_c - \mu)^2$ are those of one
    row: a token knows nothing of the other tokens, nor of the other texts of its batch.

    Args:
        x: One row per token.
        weight: The gain $\gamma$, one number for each column; all 1 if left out.
        bias: The shift $b$, one number for each column; all 0 if left out.
        eps: $\epsilon > 0$, so that a row without variance is not divided by 0.

    Returns:
        Rows of mean 0 and variance $\sigma^2/(\sigma^2 + \epsilon)$, before gain and shift. A row
        of equal numbers becomes zeros. Half precision is computed in float32 and rounded once.

    Raises:
        ValueError: ``x`` holds no floating-point numbers or has no columns, ``weight`` or ``bias``
            does not fit, or ``eps`` is not positive and finite.

    Source: Ba et al. 2016, equation 3; lectures 002, "Add & Normalize", and 004, "Layer Norm".
    Chapter: block#layernorm.

    Example:
        >>> layer_norm(torch.tensor([[1.0, 2.0, 3.0, 4.0], [7.0, 7.0, 7.0, 7.0]]))
        tensor([[-1.3416, -0.4472,  0.4472,  1.3416],
                [ 0.0000,  0.0000,  0.0000,  0.0000]])
    """
    rows = _precise(x)
    rows = rows - rows[..., :1]  # equal numbers become exactly 0; their mean might be rounded
    centred = rows - rows.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    out = _scaled(centred * torch.rsqrt(variance + eps), weight)
    return (out if bias is None else out + bias).to(x.dtype)


@checked(not_empty="d_model")
def rms_norm(
    x: Float[Tensor, "*batch d_model"],
    weight: Float[Tensor, "d_model"] | None = None,
    eps: Positive = 1e-5,
) -> Float[Tensor, "*batch d_model"]:
    r"""Give each row a mean square of 1: $\gamma \odot x / \sqrt{\overline{x^2} + \epsilon}$.

    It is LayerNorm without the mean and without the shift: only the length is made equal.

    Args:
        x: One row per token.
        weight: The gain $\gamma$, one number for each column; all 1 if left out.
        eps: $\epsilon > 0$, so that a row of zeros is not divided by 0.

    Returns:
        Rows of length $\sqrt{d_{model}}$, up to $\epsilon$ and before the gain; a row of zeros
        stays. Half precision is computed in float32 and rounded once.

    Raises:
        ValueError: As in ``layer_norm``.

    Source: Zhang and Sennrich 2019, equation 4. Chapter: block#rmsnorm.

    Example:
        >>> rms_norm(torch.tensor([[1.0, 7.0], [3.0, 3.0]]))
        tensor([[0.2000, 1.4000],
                [1.0000, 1.0000]])
    """
    rows = _precise(x)
    mean_square = rows.square().mean(dim=-1, keepdim=True)
    return _scaled(rows * torch.rsqrt(mean_square + eps), weight).to(x.dtype)


@checked
class LayerNorm(nn.Module):
    """``layer_norm`` with a gain and a shift that are trained: $2 d_{model}$ parameters.

    Args:
        d_model: The width of a row.
        eps: As in ``layer_norm``.
        bias: Whether there is a shift.

    Raises:
        ValueError: ``d_model`` is no integer of at least 1, or ``eps`` not positive and finite.

    Source: Ba et al. 2016, section 3; lecture 004, "Layer Norm". Chapter: block#layernorm.

    Example:
        >>> norm = LayerNorm(4)
        >>> norm(torch.tensor([1.0, 2.0, 3.0, 4.0])).detach()
        tensor([-1.3416, -0.4472,  0.4472,  1.3416])
        >>> sum(p.numel() for p in norm.parameters())
        8
    """

    def __init__(self, d_model: Size, *, eps: Positive = 1e-5, bias: bool = True) -> None:
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(
        self, x: Float[Tensor, "*batch {self.d_model}"]
    ) -> Float[Tensor, "*batch {self.d_model}"]:
        """Normalize each row, then stretch and shift each column.

        Args:
            x: One row per token.

        Returns:
            Rows of the same shape and dtype.

        Raises:
            ValueError: ``x`` has not ``d_model`` columns, or holds no floating-point numbers.
        """
        return layer_norm(x, self.weight, self.bias, self.eps)


@checked
class RMSNorm(nn.Module):
    """``rms_norm`` with a gain that is trained: $d_{model}$ parameters.

    Args:
        d_model: The width of a row.
        eps: As in ``rms_norm``.

    Raises:
        ValueError: ``d_model`` is no integer of at least 1, or ``eps`` not positive and finite.

    Source: Zhang and Sennrich 2019, section 4. Chapter: block#rmsnorm.

    Example:
        >>> norm = RMSNorm(2)
        >>> norm(torch.tensor([1.0, 7.0])), sum(p.numel() for p in norm.parameters())
        (tensor([0.2000, 1.4000], grad_fn=<MulBackward0>), 2)
    """

    def __init__(self, d_model: Size, *, eps: Positive = 1e-5) -> None:
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(
        self, x: Float[Tensor, "*batch {self.d_model}"]
    ) -> Float[Tensor, "*batch {self.d_model}"]:
        """Divide each row by its root mean square, then stretch each column.

        Args:
            x: One row per token.

        Returns:
            Rows of the same shape and dtype.

        Raises:
            ValueError: ``x`` has not ``d_model`` columns, or holds no floating-point numbers.
        """
        return rms_norm(x, self.weight, self.eps)


def _precise(x: Tensor) -> Tensor:
    """In float32 at least: the squares of half-precision numbers overflow, and their sums round."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _scaled(rows: Tensor, weight: Tensor | None) -> Tensor:
    return rows if weight is None else rows * weight
