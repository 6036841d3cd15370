"""Backpropagation through time, derived and written by hand (Werbos 1990)."""

from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import Ids, checked
from softlookup.layers.recurrence import rnn_step
from softlookup.ops import cross_entropy, softmax


class Gradients(NamedTuple):
    r"""The derivatives of the loss $\mathcal{L}$ with respect to all that ``bptt`` was given.

    Attributes:
        x: $\partial\mathcal{L}/\partial x_t$, one row per step.
        hidden: $\partial\mathcal{L}/\partial h_0$.
        W_xh: $\partial\mathcal{L}/\partial W_{xh}$, and so on, each of its parameter's shape.

    Chapter: recurrence#backpropagation-through-time
    """

    x: Tensor
    hidden: Tensor
    W_xh: Tensor
    W_hh: Tensor
    b: Tensor
    W_hy: Tensor


@checked(not_empty="n")
def hidden_gradients(
    direct: Float[Tensor, "n d_hidden"],
    slopes: Float[Tensor, "n d_hidden"],
    W_hh: Float[Tensor, "d_hidden d_hidden"],
) -> Float[Tensor, "n d_hidden"]:
    r"""The gradient of the whole loss at each state, from the last step back to the first.

    $\delta_t = \partial\mathcal{L}_t/\partial h_t + W_{hh}^\top (f'(a_{t+1}) \odot \delta_{t+1})$.
    The slope is that of step $t + 1$, whose activation $h_t$ feeds, and it comes before the matrix.

    Args:
        direct: $\partial\mathcal{L}_t/\partial h_t$: what the state does to the loss of its own
            step.
        slopes: $f'(a_t)$ of each step; $1 - h_t^2$ for tanh, and 1 for a linear network.
        W_hh: From state to state.

    Returns:
        $\delta_t = \partial\mathcal{L}/\partial h_t$, one row per step.

    Raises:
        ValueError: The shapes do not fit, or there is no step.

    Source: Werbos 1990; lecture 003, "Backpropagation Through Time (BPTT)", whose recursion this
    corrects. Chapter: recurrence#backpropagation-through-time.

    Example:
        >>> direct, slopes = torch.tensor([[0.0], [0.0], [1.0]]), torch.ones(3, 1)
        >>> hidden_gradients(direct, slopes, torch.tensor([[0.5]])).flatten()
        tensor([0.2500, 0.5000, 1.0000])
    """
    deltas = [direct[-1]]
    for t in reversed(range(len(direct) - 1)):
        deltas.append(direct[t] + W_hh.mT @ (slopes[t + 1] * deltas[-1]))
    return torch.stack(deltas[::-1])


@checked(not_empty="n classes")
def bptt(
    x: Float[Tensor, "n d_in"],
    targets: Annotated[Int[Tensor, "n"], Ids("classes")],
    hidden: Float[Tensor, "d_hidden"],
    W_xh: Float[Tensor, "d_hidden d_in"],
    W_hh: Float[Tensor, "d_hidden d_hidden"],
    b: Float[Tensor, "d_hidden"],
    W_hy: Float[Tensor, "classes d_hidden"],
) -> tuple[Float[Tensor, ""], Gradients]:
    r"""The loss of a recurrent network over one text, and its gradients without autograd.

    The network is $h_t = \tanh(a_t)$ with $a_t = W_{hh} h_{t-1} + W_{xh} x_t + b$, and
    $\hat y_t = \mathrm{softmax}(W_{hy} h_t)$. The loss is a sum over steps,
    $\mathcal{L} = \sum_t -\log \hat y_{t, \text{target}}$.

    Args:
        x: The inputs, one row per step.
        targets: The right class at each step, counted from 0.
        hidden: The state $h_0$ before the first step.
        W_xh: From input to state.
        W_hh: From state to state.
        b: One bias per unit.
        W_hy: From state to the classes' scores.

    Returns:
        The loss, and its derivative with respect to each tensor given but the targets. A parameter
        that is used at every step gets the sum of what all steps ask for.

    Raises:
        ValueError: The shapes or the dtypes do not fit, there is no step, or a target is no class.

    Source: Werbos 1990; lecture 003, "Backpropagation Through Time (BPTT)".
    Chapter: recurrence#backpropagation-through-time.

    Example:
        >>> zeros = torch.zeros(2, 2)
        >>> x, targets = torch.ones(3, 2), torch.tensor([0, 1, 1])
        >>> loss, gradients = bptt(x, targets, zeros[0], zeros, zeros, zeros[0], zeros)
        >>> loss
        tensor(2.0794)
    """
    states = _states(x, hidden, W_xh, W_hh, b)
    before, after = states[:-1], states[1:]
    scores = after @ W_hy.mT
    loss = len(x) * cross_entropy(scores, targets)  # the sum over steps, not the mean
    to_scores = softmax(scores)
    to_scores[torch.arange(len(x)), targets.long()] -= 1  # what was predicted minus what was right
    slopes = 1 - after.square()
    delta = hidden_gradients(to_scores @ W_hy, slopes, W_hh)
    to_activation = slopes * delta
    gradients = Gradients(
        x=to_activation @ W_xh,
        hidden=W_hh.mT @ to_activation[0],
        W_xh=to_activation.mT @ x,
        W_hh=to_activation.mT @ before,
        b=to_activation.sum(dim=0),
        W_hy=to_scores.mT @ after,
    )
    return loss, gradients


def _states(x: Tensor, hidden: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> Tensor:
    """All states from $h_0$ on: one row more than there are steps."""
    states = [hidden]
    for row in x:
        states.append(rnn_step(row, states[-1], W_xh, W_hh, b))
    return torch.stack(states)
