"""Recurrent cells, and how one is unrolled over a padded batch (Elman 1990; Hochreiter 1997)."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from softlookup.checks import Size, checked, require, require_dtype
from softlookup.masks import padding_mask

State = Tensor | tuple[Tensor, Tensor]
"""What a cell hands on: the hidden state, or for an LSTM the pair of hidden state and memory."""


@checked
def rnn_step(
    x: Float[Tensor, "*batch d_in"],
    hidden: Float[Tensor, "*batch d_hidden"],
    W_xh: Float[Tensor, "d_hidden d_in"],
    W_hh: Float[Tensor, "d_hidden d_hidden"],
    b: Float[Tensor, "d_hidden"],
) -> Float[Tensor, "*batch d_hidden"]:
    r"""One step of the simple recurrent network: $h_t = \tanh(W_{hh} h_{t-1} + W_{xh} x_t + b)$.

    Args:
        x: The input $x_t$, one row per text.
        hidden: The state $h_{t-1}$ before it.
        W_xh: From input to state; row $i$ feeds unit $i$, as the lectures and PyTorch write it.
        W_hh: From state to state.
        b: One bias per unit.

    Returns:
        The state $h_t$, each number between -1 and 1.

    Raises:
        ValueError: The shapes or the dtypes do not fit.

    Source: Elman 1990; lecture 003, "(Vanilla) Recurrent Neural Network".
    Chapter: recurrence#the-recurrent-layer.

    Example:
        >>> x, hidden, b = torch.tensor([1.0, 0.0]), torch.tensor([0.5, -0.5]), torch.zeros(2)
        >>> rnn_step(x, hidden, torch.eye(2), torch.eye(2), b)
        tensor([ 0.9051, -0.4621])
    """
    return torch.tanh(hidden @ W_hh.mT + x @ W_xh.mT + b)


@checked
class _Cell(nn.Module):
    """What all cells share: two linear maps with as many rows per unit as there are gates."""

    n_maps = 1

    def __init__(self, d_in: Size, d_hidden: Size) -> None:
        super().__init__()
        self.d_in, self.d_hidden = d_in, d_hidden
        self.W_xh = nn.Linear(d_in, self.n_maps * d_hidden)
        self.W_hh = nn.Linear(d_hidden, self.n_maps * d_hidden)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(d_hidden**-0.5), d_hidden**-0.5)
        for square in self.W_hh.weight.detach().split(d_hidden):
            nn.init.orthogonal_(square)

    def forward(self, x: Float[Tensor, "*batch {self.d_in}"], state: State | None = None) -> State:
        r"""One step: from the input $x_t$ and the state before it to the state after it.

        Args:
            x: One row per text.
            state: The state before; zeros if left out.

        Returns:
            The state after, of the same form.

        Raises:
            ValueError: The shapes or the dtypes do not fit.
        """
        return self.step(self.W_xh(x), self.state_before(x, state))

    def zero_state(self, x: Float[Tensor, "*batch {self.d_in}"]) -> State:
        """The state before the first step: zeros, one row for each row of ``x``."""
        return x.new_zeros(*x.shape[:-1], self.d_hidden)

    def step(self, projected: Float[Tensor, "*batch gates"], state: State) -> State:
        """The same step from an input that has already gone through ``W_xh``; nothing is checked.

        The inputs of all steps can be projected at once, in one large product of matrices. Only
        what is written here has to wait for the step before.
        """
        raise NotImplementedError

    def state_before(self, x: Float[Tensor, "*batch {self.d_in}"], state: State | None) -> State:
        """The state that a step begins with.

        Args:
            x: One row per text.
            state: What the caller has; None for zeros.

        Returns:
            That state, or zeros.

        Raises:
            ValueError: ``state`` has not the form, the shapes or the dtype of this cell's states.
        """
        if state is None:
            return self.zero_state(x)
        self._require_state(state, (*x.shape[:-1], self.d_hidden))
        return state

    def _require_state(self, state: State, shape: tuple[int, ...]) -> None:
        is_tensor = isinstance(state, Tensor)
        require(is_tensor, "state must be one tensor, the hidden state", state=type(state).__name__)
        self._require_rows(shape, hidden=state)

    def _require_rows(self, shape: tuple[int, ...], **parts: Tensor) -> None:
        for name, part in parts.items():
            rule = f"{name} must have one row of length d_hidden for each row of x: {shape}"
            require(tuple(part.shape) == shape, rule, **{name: part})
            dtype = self.W_hh.weight.dtype
            rule = f"{name} must have the cell's dtype {dtype}"
            require(part.dtype == dtype, rule, **{name: part.dtype})


@checked
class RNNCell(_Cell):
    r"""The simple recurrent cell: $h_t = \tanh(W_{hh} h_{t-1} + W_{xh} x_t + b)$.

    The bias $b$ is the sum of the two maps' biases, which are kept apart as in PyTorch. In every
    cell the square matrices of ``W_hh`` start orthogonal, so that at first a state neither fades
    nor grows, and all other numbers uniform in $\pm 1/\sqrt{d_\text{hidden}}$.

    Args:
        d_in: The width of an input.
        d_hidden: The width of the state.

    Raises:
        ValueError: A width is no integer of at least 1.

    Source: Elman 1990; lecture 003, "(Vanilla) Recurrent Neural Network".
    Chapter: recurrence#the-recurrent-layer.

    Example:
        >>> RNNCell(d_in=5, d_hidden=3)(torch.zeros(7, 5)).shape
        torch.Size([7, 3])
    """

    def step(self, projected: Tensor, state: State) -> State:
        """One step from a projected input."""
        return torch.tanh(projected + self.W_hh(state))


@checked
class GRUCell(_Cell):
    r"""The gated recurrent unit, whose update gate $z$ can keep the old state as it is.

    $r = \sigma(W_{xr} x + W_{hr} h)$, $z = \sigma(W_{xz} x + W_{hz} h)$,
    $\tilde h = \tanh(W_{xn} x + r \odot W_{hn} h)$, $h' = (1 - z) \odot \tilde h + z \odot h$,
    each map with its bias. ``W_xh`` and ``W_hh`` hold the rows of $r$, $z$, $\tilde h$ in this
    order. This is PyTorch's form: the paper lets $r$ act on $h$ before the map, and its $z$ has the
    opposite sense in later papers. The probes ``reset_gate`` and ``update_gate`` can be hooked.

    Args:
        d_in: The width of an input.
        d_hidden: The width of the state.

    Raises:
        ValueError: A width is no integer of at least 1.

    Source: Cho et al. 2014, section 2.3; lecture 001, "Types of Neural Language Models".
    Chapter: recurrence#gates.

    Example:
        >>> GRUCell(d_in=5, d_hidden=3)(torch.zeros(7, 5)).shape
        torch.Size([7, 3])
    """

    n_maps = 3

    def __init__(self, d_in: Size, d_hidden: Size) -> None:
        super().__init__(d_in, d_hidden)
        self.reset_gate, self.update_gate = nn.Identity(), nn.Identity()  # probes

    def step(self, projected: Tensor, state: State) -> State:
        """One step from a projected input."""
        gates_and_new = [2 * self.d_hidden, self.d_hidden]
        x_gates, x_new = projected.split(gates_and_new, dim=-1)
        h_gates, h_new = self.W_hh(state).split(gates_and_new, dim=-1)
        reset, update = torch.sigmoid(x_gates + h_gates).chunk(2, dim=-1)
        reset, update = self.reset_gate(reset), self.update_gate(update)
        candidate = torch.tanh(x_new + reset * h_new)
        return candidate + update * (state - candidate)


@checked
class LSTMCell(_Cell):
    r"""Long short-term memory: a memory $c$ that is added to, and gates that guard it.

    $c' = f \odot c + i \odot g$ and $h' = o \odot \tanh(c')$, with the gates
    $i, f, o = \sigma(\cdot)$ and the candidate $g = \tanh(\cdot)$, each of a linear map of $x$
    and $h$. ``W_xh`` and ``W_hh`` hold the rows of $i$, $f$, $g$, $o$ in this order, as in PyTorch.
    The state is the pair $(h, c)$. The probes ``input_gate``, ``forget_gate``, ``output_gate`` can
    be hooked.

    Args:
        d_in: The width of an input.
        d_hidden: The width of the hidden state and of the memory.

    Raises:
        ValueError: A width is no integer of at least 1.

    Source: Hochreiter and Schmidhuber 1997; the forget gate: Gers et al. 2000; lecture 001, "Types
    of Neural Language Models". Chapter: recurrence#gates.

    Example:
        >>> hidden, memory = LSTMCell(d_in=5, d_hidden=3)(torch.zeros(7, 5))
        >>> hidden.shape, memory.shape
        (torch.Size([7, 3]), torch.Size([7, 3]))
    """

    n_maps = 4

    def __init__(self, d_in: Size, d_hidden: Size) -> None:
        super().__init__(d_in, d_hidden)
        self.input_gate, self.forget_gate, self.output_gate = (nn.Identity() for _ in range(3))

    def zero_state(self, x: Float[Tensor, "*batch {self.d_in}"]) -> State:
        """The state before the first step: zeros, for the hidden state and for the memory."""
        zeros = super().zero_state(x)
        return zeros, zeros

    def step(self, projected: Tensor, state: State) -> State:
        """One step from a projected input."""
        hidden, memory = state
        i, f, g, o = (projected + self.W_hh(hidden)).chunk(4, dim=-1)
        added = self.input_gate(torch.sigmoid(i)) * torch.tanh(g)
        memory = self.forget_gate(torch.sigmoid(f)) * memory + added
        return self.output_gate(torch.sigmoid(o)) * torch.tanh(memory), memory

    def _require_state(self, state: State, shape: tuple[int, ...]) -> None:
        is_pair = isinstance(state, tuple) and len(state) == 2
        require(is_pair, "state must be the pair (hidden, memory)", state=type(state).__name__)
        self._require_rows(shape, hidden=state[0], memory=state[1])


@checked(not_empty="n")
def unroll(
    cell: RNNCell | GRUCell | LSTMCell,
    x: Float[Tensor, "*batch n {cell.d_in}"],
    state: State | None = None,
    lengths: Int[Tensor, "batch"] | Sequence[int] | None = None,
    *,
    reverse: bool = False,
) -> tuple[Float[Tensor, "*batch n d_hidden"], State]:
    """Apply one cell at every step, each time to the state that the step before has left.

    Texts of different lengths are filled up to one length and read with ``lengths``. Then each text
    comes out as if it had been alone: what fills it up is not read, whatever it is, even NaN.

    Args:
        cell: The cell; the same weights at every step.
        x: One row per step.
        state: The state before the first step; zeros if left out.
        lengths: How many steps of each text are real; they come first. None: all of them.
        reverse: Read each text from its last real step to its first.

    Returns:
        The hidden state after each step, in the order of ``x`` and zeros where a text is filled up;
        and each text's state after its own last step.

    Raises:
        ValueError: The shapes or dtypes do not fit, there is no step, or a length is not from 0
            to n.

    Source: Rumelhart et al. 1986; lecture 003, "RNN's Hidden State Update".
    Chapter: recurrence#the-recurrent-layer.

    Example:
        >>> hidden, last = unroll(GRUCell(5, 3), torch.zeros(2, 7, 5), lengths=[7, 4])
        >>> bool(last[1].equal(hidden[1, 3])), bool(hidden[1, 4:].eq(0).all())
        (True, True)
    """
    require_dtype(cell.W_hh.weight.dtype, x=x)
    state = cell.state_before(x[..., 0, :], state)
    if lengths is None:
        is_real = None
    else:
        is_real = _real_steps(lengths, x)
        x = x.masked_fill(~is_real, 0.0)  # before the product: 0 times NaN would be NaN
    n, hidden = x.shape[-2], []
    projected = cell.W_xh(x).unbind(dim=-2)
    for t in reversed(range(n)) if reverse else range(n):
        after = cell.step(projected[t], state)
        state = after if is_real is None else _where(is_real[:, t], after, state)
        hidden.append(state if isinstance(state, Tensor) else state[0])
    out = torch.stack(hidden[::-1] if reverse else hidden, dim=-2)
    return out if is_real is None else out.masked_fill(~is_real, 0.0), state


def _real_steps(lengths: Tensor | Sequence[int], x: Tensor) -> Tensor:
    mask = padding_mask(lengths, x.shape[-2], device=x.device).mT
    rule = "with lengths, x must be one batch of texts, with one length each"
    require(x.ndim == 3 and len(mask) == len(x), rule, x=x, n_lengths=len(mask))
    return mask


def _where(keep: Tensor, first: State, second: State) -> State:
    if keep.all():
        return first  # no text has ended: there is nothing to choose
    if isinstance(first, Tensor):
        return torch.where(keep, first, second)
    return tuple(torch.where(keep, a, b) for a, b in zip(first, second, strict=True))
