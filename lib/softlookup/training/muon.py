"""Muon (Jordan 2024): momentum for matrices, made orthogonal before each step."""

from collections.abc import Callable, Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.checks import NotNegative, Rate, Size, checked, require
from softlookup.training.shards import cut_like, whole_tensor

QUICK = (3.4445, -4.7750, 2.0315)
"""Jordan's coefficients: five rounds bring every singular value from 0.01 to 1 near 1."""
EXACT = (15 / 8, -10 / 8, 3 / 8)
"""Those of the classical iteration, which ends at 1 exactly, but needs more rounds."""
Coefficients = tuple[float, float, float]


@checked(not_empty="rows columns")
def orthogonalize(
    x: Float[Tensor, "*batch rows columns"],
    *,
    n_rounds: Size = 5,
    coefficients: Coefficients = QUICK,
) -> Float[Tensor, "*batch rows columns"]:
    r"""Bring all singular values near 1 and keep the directions: $U\Sigma V^\top \to UV^\top$.

    No decomposition is computed. After a division by the Frobenius norm each round of
    Newton and Schulz maps $X \mapsto aX + b\,XX^\top X + c\,(XX^\top)^2 X$, which leaves $U$ and
    $V$ alone and maps every singular value by $s \mapsto as + bs^3 + cs^5$.

    Args:
        x: One matrix, or many of one shape.
        n_rounds: How many rounds.
        coefficients: $(a, b, c)$. ``QUICK`` ends between about 0.7 and 1.2 for all singular values
            above a hundredth of the norm; ``EXACT`` tends to 1.

    Returns:
        Matrices of the same shape and dtype. One of zeros stays zero.

    Raises:
        ValueError: ``x`` is no matrix of floating-point numbers, or ``n_rounds`` no integer of at
            least 1.

    Source: Jordan 2024; Bernstein and Newhouse 2024. Chapter: training#optional-muon.

    Example:
        >>> orthogonalize(torch.tensor([[3.0, 0.0], [0.0, -0.2]]), n_rounds=9, coefficients=EXACT)
        tensor([[ 1.,  0.],
                [ 0., -1.]])
    """
    a, b, c = coefficients
    shape, tall = x.shape, x.shape[-2] > x.shape[-1]
    x = x.reshape(-1, *shape[-2:])
    x = x.mT if tall else x  # the product of the short sides is the smaller one
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=torch.finfo(x.dtype).tiny)
    for _ in range(n_rounds):
        square = x @ x.mT
        square = torch.baddbmm(square, square, square, beta=b, alpha=c)  # b XX' + c (XX')²
        x = torch.baddbmm(x, square, x, beta=a)
    return (x.mT if tall else x).reshape(shape)


@checked
class Muon(torch.optim.Optimizer):
    r"""Steps of equal size in all directions: $W \leftarrow W - \eta\,\rho\,\mathrm{orth}(G)$.

    $B \leftarrow \mu B + (1 - \mu)\,\nabla_W$ is the momentum and $G = \mu B + (1 - \mu)\,\nabla_W$
    looks one step ahead, after Nesterov. A gradient of a matrix has few large singular values, and
    momentum follows those; made orthogonal, the rare directions count as much. The factor
    $\rho = \sqrt{\max(1, \text{rows}/\text{columns})}$ keeps the effect on the output the same for
    matrices that widen. Decay is apart from the gradient: first $W \leftarrow (1 - \eta\lambda)W$.

    It is meant for the matrices between rows, such as ``matrices_and_rest`` finds; embeddings,
    norms and biases belong to AdamW.

    Args:
        params: Matrices, or groups of them as every optimizer of PyTorch takes them.
        lr: The step size $\eta$: about the spectral norm of a step.
        momentum: $\mu$ in [0, 1).
        nesterov: Whether to look ahead; otherwise $G = B$.
        weight_decay: $\lambda$.
        n_rounds: As in ``orthogonalize``.
        precision: The dtype in which matrices are made orthogonal; that of the matrix if left out.
            Where the processor has it, bfloat16 is enough, and several times as fast.

    Raises:
        ValueError: A parameter is no matrix, or a number is out of range.

    Source: Jordan 2024. Chapter: training#optional-muon.

    Example:
        >>> layer = nn.Linear(2, 2, bias=False)
        >>> optimizer = Muon([layer.weight], lr=0.1)
        >>> before = layer.weight.detach().clone()
        >>> (layer(torch.tensor([[3.0, 0.0], [0.0, 0.1]])) ** 2).sum().backward()
        >>> optimizer.step()
        >>> bool((layer.weight - before).norm() < 0.2)
        True
    """

    def __init__(
        self,
        params: Iterable,
        lr: NotNegative = 0.02,
        *,
        momentum: Rate = 0.95,
        nesterov: bool = True,
        weight_decay: NotNegative = 0.0,
        n_rounds: Size = 5,
        precision: torch.dtype | None = None,
    ) -> None:
        params = list(params)
        require(len(params) > 0, "params must hold at least one matrix", params=params)
        self.precision = precision
        options = {"momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay}
        super().__init__(params, {"lr": lr, **options, "n_rounds": n_rounds})

    def add_param_group(self, param_group: dict) -> None:
        """Add a group of matrices; the base class calls it too.

        Args:
            param_group: "params", and the options that differ from those of the optimizer.

        Raises:
            ValueError: A parameter is no matrix.
        """
        params = param_group["params"]
        param_group["params"] = [params] if isinstance(params, Tensor) else list(params)
        for matrix in param_group["params"]:
            is_matrix = isinstance(matrix, Tensor) and matrix.ndim == 2
            require(is_matrix, "Muon is for matrices", parameter=matrix)
        super().add_param_group(param_group)

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        """One step for every matrix that has a gradient.

        Args:
            closure: If given, it is called first, with gradients on, and its result returned.

        Returns:
            What ``closure`` returned, or None.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            same_shape: dict[torch.Size, list[nn.Parameter]] = {}
            for matrix in group["params"]:
                if matrix.grad is not None:
                    same_shape.setdefault(matrix.shape, []).append(matrix)
            for shape, matrices in same_shape.items():
                self._step(matrices, max(1.0, shape[0] / shape[1]) ** 0.5, group)
        return loss

    def _step(self, matrices: list[nn.Parameter], stretch: float, group: dict) -> None:
        """The step of matrices of one shape: their rounds are computed side by side."""
        ahead = torch.stack([whole_tensor(self._momentum(matrix, group)) for matrix in matrices])
        ahead = ahead.to(self.precision or ahead.dtype)
        changes = orthogonalize(ahead, n_rounds=group["n_rounds"])
        for matrix, change in zip(matrices, changes.to(matrices[0].dtype), strict=True):
            matrix.mul_(1 - group["lr"] * group["weight_decay"])
            matrix.sub_(cut_like(change, matrix), alpha=group["lr"] * stretch)

    def _momentum(self, matrix: nn.Parameter, group: dict) -> Tensor:
        state, share = self.state[matrix], 1 - group["momentum"]
        if not state:
            state["momentum"] = torch.zeros_like(matrix)
        buffer = state["momentum"].lerp_(matrix.grad, share)
        return buffer.lerp(matrix.grad, share) if group["nesterov"] else buffer
