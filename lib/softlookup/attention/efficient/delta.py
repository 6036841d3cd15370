"""A state that overwrites: the delta rule, which writes a key's value in place of the old one."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import Range, Size, checked, require


@checked(not_empty="d_k")
def delta_attention(
    query: Float[Tensor, "*batch n d_k"],
    key: Float[Tensor, "*batch n d_k"],
    value: Float[Tensor, "*batch n d_v"],
    rate: Annotated[Float[Tensor, "*batch n"], Range(0, 1)],
    *,
    chunk: Size = 64,
) -> Float[Tensor, "*batch n d_v"]:
    r"""Causal linear attention that corrects its state: $S_i = S_{i-1} + \beta_i k_i w_i^\top$.

    Here $w_i = v_i - S_{i-1}^\top k_i$ is what the state lacks: the value, less what the state has
    already answered for this key. Position $i$ reads $q_i^\top S_i$. There is no feature map and no
    divisor; with keys of length 1 and $\beta = 1$, the state then answers $k_i$ with $v_i$ exactly.

    A chunk's corrections $u_i = \beta_i w_i$ need each other. They solve
    $(I + \mathrm{diag}(\beta) \, \mathrm{tril}_{-1}(KK^\top)) U = \mathrm{diag}(\beta) (V - KS)$,
    where $S$ is the state before the chunk. A chunk of 1 is the recurrence, a chunk of $n$ takes
    all pairs at once.

    Args:
        query: One row per position.
        key: One row per position, as a rule of length 1: longer ones can make the state grow
            without end.
        value: What is written: one row per position, of any width $d_v$.
        rate: $\beta_i$, how much of the old value is replaced: 0 nothing, 1 all of it.
        chunk: How many positions are taken at a time. It changes the work, not the result.

    Returns:
        One row per position.

    Raises:
        ValueError: The shapes or the dtypes do not fit, a ``rate`` is not from 0 to 1, or ``chunk``
            is no integer of at least 1.

    Source: Yang et al. 2024. Chapter: modern_attention#optional-the-delta-rule.

    Example:
        >>> key, value = torch.ones(2, 1), torch.tensor([[3.0], [5.0]])
        >>> delta_attention(key, key, value, torch.ones(2))  # the second value replaces the first
        tensor([[3.],
                [5.]])
    """
    wide = torch.promote_types(value.dtype, torch.float32)  # half precision: round at the end
    inputs, out = [x.to(wide) for x in (query, key, value, rate.unsqueeze(-1))], []
    state = inputs[1][..., :0, :].mT @ inputs[2][..., :0, :]  # a sum over no position
    for q, k, v, beta in zip(*(x.split(chunk, dim=-2) for x in inputs), strict=True):
        lower = (beta * (k @ k.mT)).tril(-1)  # its diagonal of ones is left to the solver
        lacking = beta * (v - k @ state)
        written = torch.linalg.solve_triangular(lower, lacking, upper=False, unitriangular=True)
        out.append(q @ state + (q @ k.mT).tril() @ written)
        state = state + k.mT @ written
    return torch.cat(out, dim=-2).to(value.dtype)


@checked(not_empty="d_k")
def delta_step(
    query: Float[Tensor, "*batch d_k"],
    key: Float[Tensor, "*batch d_k"],
    value: Float[Tensor, "*batch d_v"],
    rate: Annotated[Float[Tensor, "*batch"], Range(0, 1)],
    state: Float[Tensor, "*batch _d_k d_v"] | None = None,
) -> tuple[Float[Tensor, "*batch d_v"], Float[Tensor, "*batch d_k d_v"]]:
    r"""One step of ``delta_attention``: ask the state for this key, write what is lacking, read.

    $S_i = S_{i-1} + \beta_i k_i (v_i - S_{i-1}^\top k_i)^\top$, which is the same as
    $(I - \beta_i k_i k_i^\top) S_{i-1} + \beta_i k_i v_i^\top$: what stood at this key fades, and
    the new value joins it.

    Args:
        query: The query of this position.
        key: Its key, as a rule of length 1.
        value: Its value.
        rate: $\beta$, how much of the old value is replaced.
        state: What the step before returned; None at the first position.

    Returns:
        What this position reads, $q_i^\top S_i$, and the new state.

    Raises:
        ValueError: The shapes or the dtypes do not fit, or ``rate`` is not from 0 to 1.

    Source: Schlag et al. 2021. Chapter: modern_attention#optional-the-delta-rule.

    Example:
        >>> one, rate = torch.ones(1), torch.tensor(0.5)
        >>> delta_step(one, one, torch.tensor([4.0]), rate, torch.tensor([[2.0]]))
        (tensor([3.]), tensor([[3.]]))
    """
    if state is None:
        state = key.new_zeros(*key.shape, value.shape[-1])
    rule = "state must have one row per entry of the key"
    require(state.shape[-2] == key.shape[-1], rule, state=state, key=key)
    answer = (key.unsqueeze(-2) @ state).squeeze(-2)
    written = rate.unsqueeze(-1) * (value - answer)
    state = state + key.unsqueeze(-1) * written.unsqueeze(-2)
    return (query.unsqueeze(-2) @ state).squeeze(-2), state
