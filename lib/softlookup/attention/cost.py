"""What a layer costs: multiplications, exponentials, bytes and dependent steps, by formula and run.

A multiplication here is one inside a matrix product. Scaling, masks, sums and biases cost time too,
but grow more slowly with the widths, and the lectures' formulas leave them out.
"""

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from softlookup.checks import Size, checked, require


@checked
def attention_multiplications(
    n_q: Size, n_k: Size, d_k: Size, d_v: Size, *, n_heads: Size = 1
) -> int:
    r"""The two products of attention, $QK^\top$ and $AV$: $n_q n_k (d_k + d_v)$ for each head.

    Args:
        n_q: The number of queries.
        n_k: The number of keys.
        d_k: The width of queries and keys of one head.
        d_v: The width of values of one head.
        n_heads: The number of heads.

    Returns:
        The count without the projections. A mask does not lower it: the scores that it forbids are
        computed and thrown away.

    Raises:
        ValueError: An argument is no integer of at least 1.

    Source: lectures 003, "Computational Efficiency", and 004, "Why Attention?".
    Chapter: limits#counting-multiplications.

    Example:
        >>> attention_multiplications(2, 3, 5, 7)
        72
    """
    return n_heads * n_q * n_k * (d_k + d_v)


@checked
def projection_multiplications(
    n_q: Size,
    n_k: Size,
    d_model: Size,
    *,
    d_k: Size | None = None,
    d_v: Size | None = None,
    output: bool = True,
) -> int:
    r"""The projections around attention: $W^Q$ and $W^O$ once a query, $W^K$ and $W^V$ once a key.

    Args:
        n_q: The number of queries.
        n_k: The number of keys.
        d_model: The width of what is projected.
        d_k: The width of queries and keys, of all heads together; ``d_model`` if left out.
        d_v: The width of values, of all heads together; ``d_model`` if left out.
        output: Whether $W^O$ follows; a single head has none.

    Returns:
        $(n_q + n_k)\,d_\text{model} d_k + (n_q + n_k)\,d_\text{model} d_v$: in self-attention of
        $n$ tokens, all widths equal to $d$, $4nd^2$. Without $W^O$, $n_q d_\text{model} d_v$ less.

    Raises:
        ValueError: A number is no integer of at least 1.

    Source: Vaswani et al. 2017, section 3.2.2. Chapter: limits#counting-multiplications.

    Example:
        >>> projection_multiplications(10, 10, 3)
        360
    """
    d_k, d_v = d_model if d_k is None else d_k, d_model if d_v is None else d_v
    queries = n_q * d_model * (d_k + (d_v if output else 0))
    return queries + n_k * d_model * (d_k + d_v)


@checked
def recurrent_multiplications(n: Size, d_in: Size, d_hidden: Size) -> int:
    r"""The two products of each step of a simple recurrent layer: $n(d_\text{in} d_h + d_h^2)$.

    Args:
        n: The number of steps.
        d_in: The width of an input.
        d_hidden: The width of the state, $d_h$.

    Returns:
        The count; with both widths equal to $d$, $2nd^2$.

    Raises:
        ValueError: An argument is no integer of at least 1.

    Source: lecture 004, "Why Attention?". Chapter: limits#counting-multiplications.

    Example:
        >>> recurrent_multiplications(10, 2, 3)
        150
    """
    return n * (d_in * d_hidden + d_hidden**2)


@checked
def softmax_exponentials(n_q: Size, n_k: Size, *, n_heads: Size = 1) -> int:
    """The exponentials of the softmax: one for each weight, $n_q n_k$ for each head.

    Args:
        n_q: The number of queries.
        n_k: The number of keys.
        n_heads: The number of heads. More heads of smaller width cost as many multiplications, but
            more exponentials.

    Returns:
        The count.

    Raises:
        ValueError: An argument is no integer of at least 1.

    Source: lecture 003, "Computational Efficiency". Chapter: limits#counting-multiplications.

    Example:
        >>> softmax_exponentials(5, 5, n_heads=2)
        50
    """
    return n_heads * n_q * n_k


@checked
def weights_bytes(
    n_q: Size, n_k: Size, *, n_heads: Size = 1, dtype: torch.dtype = torch.float32
) -> int:
    """The memory that the attention weights $A$ take when they are kept.

    Args:
        n_q: The number of queries.
        n_k: The number of keys.
        n_heads: The number of heads; each has weights of its own.
        dtype: The kind of number: 4 bytes in float32.

    Returns:
        $n_q n_k$ numbers for each head, in bytes.

    Raises:
        ValueError: A number is no integer of at least 1, or ``dtype`` is none of PyTorch's.

    Source: lecture 003, "Computational Efficiency". Chapter: limits#memory.

    Example:
        >>> weights_bytes(1000, 1000)
        4000000
    """
    return n_heads * n_q * n_k * dtype.itemsize


@checked
def dependency_graph(
    kind: Literal["attention", "recurrence"], n: Size
) -> Bool[Tensor, "nodes nodes"]:
    """What one layer computes from what, over ``n`` tokens.

    Args:
        kind: "attention": each output reads all inputs. "recurrence": each state reads its own
            input and the state before.
        n: The number of tokens.

    Returns:
        True at $(i, j)$ where node $i$ is computed from node $j$. Nodes 0 to $n - 1$ are the
        inputs, nodes $n$ to $2n - 1$ the outputs.

    Raises:
        ValueError: ``kind`` is unknown, or ``n`` is no integer of at least 1.

    Source: Vaswani et al. 2017, section 4; lecture 003, "Self-Attention: Core Theorem".
    Chapter: limits#paths-between-tokens.

    Example:
        >>> dependency_graph("recurrence", 2).int()
        tensor([[0, 0, 0, 0],
                [0, 0, 0, 0],
                [1, 0, 0, 0],
                [0, 1, 1, 0]], dtype=torch.int32)
    """
    graph = torch.zeros(2 * n, 2 * n, dtype=torch.bool)
    if kind == "attention":
        graph[n:, :n] = True
    else:
        graph[n:, :n] = torch.eye(n, dtype=torch.bool)
        graph[n + 1 :, n:-1] = torch.eye(n - 1, dtype=torch.bool)
    return graph


@checked
def path_lengths(graph: Bool[Tensor, "nodes nodes"]) -> Int[Tensor, "nodes nodes"]:
    """From each node to each other, the number of edges on the shortest path.

    Args:
        graph: True at $(i, j)$ where node $i$ is computed from node $j$.

    Returns:
        At $(i, j)$ the fewest edges from $j$ to $i$: 0 on the diagonal, -1 where no path leads.

    Raises:
        ValueError: ``graph`` is no square boolean matrix.

    Source: Vaswani et al. 2017, table 1. Chapter: limits#paths-between-tokens.

    Example:
        >>> path_lengths(dependency_graph("recurrence", 100))[100:, :100].max()
        tensor(100)
    """
    edges, reached = graph.float(), torch.eye(len(graph), dtype=torch.bool)
    lengths = reached.long() - 1
    for length in range(1, len(graph)):
        reached = (edges @ reached.float() > 0) & (lengths < 0)  # breadth first, from all nodes
        if not reached.any():
            break
        lengths[reached] = length
    return lengths


@checked
def critical_path(graph: Bool[Tensor, "nodes nodes"]) -> int:
    """How many steps must wait for one another: the edges on the longest path of all.

    No number of processors gets done in fewer steps than that.

    Args:
        graph: True at $(i, j)$ where node $i$ is computed from node $j$.

    Returns:
        The number of steps; 0 if nothing is computed from anything.

    Raises:
        ValueError: ``graph`` is no square boolean matrix, or leads around in a circle.

    Source: lectures 003, "Parallel Processing", and 004, "Why Attention?".
    Chapter: limits#paths-between-tokens.

    Example:
        >>> critical_path(dependency_graph("attention", 100))
        1
    """
    edges, waiting = graph.double(), torch.ones(len(graph), dtype=torch.float64)
    for steps in range(len(graph)):
        waiting = (edges @ waiting > 0).double()  # what ends a path of one more edge
        if not waiting.any():
            return steps
    raise ValueError("graph must not lead around in a circle; got one that does")


@checked
@dataclass(frozen=True)
class Operations:
    """What a computation was counted to cost.

    Args:
        multiplications: Those inside matrix products.
        exponentials: Those inside the softmax, or asked for as such.

    Chapter: limits#counting-multiplications.
    """

    multiplications: int
    exponentials: int


@checked
def count_operations(f: Callable, *args: object) -> Operations:
    r"""Run ``f(*args)`` and count the multiplications and exponentials that PyTorch is asked for.

    Every call of PyTorch that multiplies matrices is seen, also those of a backward pass, and so is
    the fused attention kernel: forward $n_q n_k (d_k + d_v)$ multiplications and $n_q n_k$
    exponentials for each head. It keeps no weights, so the way back computes the scores again and
    costs $n_q n_k (3 d_k + 2 d_v)$. Scores that a mask forbids count, whether or not the kernel
    skips them. Products of single entries (``a * b``) do not count.

    Args:
        f: Any computation with tensors.
        args: What it is called with.

    Returns:
        Both counts.

    Raises:
        ValueError: ``f`` calls an operation that multiplies and cannot be seen into, such as a
            convolution or ``nn.LSTM``.

    Source: lectures 003, "Computational Efficiency", and 004, "Why Attention?".
    Chapter: limits#counting-multiplications.

    Example:
        >>> count_operations(lambda x, y: x @ y, torch.ones(2, 3), torch.ones(3, 5))
        Operations(multiplications=30, exponentials=0)
    """
    with _Counter() as counter:
        f(*args)
    return Operations(counter.multiplications, counter.exponentials)


@checked
def peak_memory(f: Callable, *args: object) -> int:
    """Run ``f(*args)``: the most bytes that the tensors made by it hold at any one time.

    After every operation of PyTorch, the tensors made since the start and still alive are added up,
    each storage once however many views it has. What was there before, such as ``args`` and
    parameters, does not count, nor does what a kernel needs for itself and frees before it returns.
    So the number is the same on every run; the memory of the process grows by more.

    Args:
        f: Any computation with tensors; a backward pass in it counts, and gradients do.
        args: What it is called with.

    Returns:
        The peak in bytes.

    Source: lecture 003, "Computational Efficiency". Chapter: limits#memory.

    Example:
        >>> peak_memory(lambda x: (x + 1).exp().sum(), torch.zeros(1000, dtype=torch.float32))
        8000
    """
    with _Storages() as storages:
        f(*args)
    return storages.peak


_FUSED = (
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
)
_EXPONENTIALS = ("exp", "exp_", "_softmax", "_safe_softmax", "_log_softmax", "logsumexp")
_OPAQUE = ("convolution", "rnn", "lstm", "gru", "attention", "multi_head", "transformer")
_OPAQUE += ("_mm", "cdist", "trilinear")


class _Counter(TorchDispatchMode):
    """Adds up multiplications and exponentials of every operation that runs inside."""

    def __init__(self) -> None:
        super().__init__()
        self.multiplications = self.exponentials = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        if name.removesuffix("_backward") in _FUSED:
            self._count_fused(name, args)
        elif name in _EXPONENTIALS:
            self.exponentials += args[0].numel()
        else:
            with self:  # in inference mode, some operations arrive whole
                out = func.decompose(*args, **kwargs)
            if out is not NotImplemented:
                return out
            self.multiplications += _multiplications(name, args)
        return func(*args, **kwargs)

    def _count_fused(self, name: str, args: tuple) -> None:
        back = name.endswith("_backward")
        query, key, value = args[1:4] if back else args[:3]
        pairs = query.shape[:-1].numel() * key.shape[-2]
        d_k, d_v = query.shape[-1], value.shape[-1]
        self.multiplications += pairs * (3 * d_k + 2 * d_v if back else d_k + d_v)
        self.exponentials += pairs


def _multiplications(name: str, args: tuple) -> int:
    """Those of one operation: the entries of its first factor, times the columns of the second."""
    if name in ("mm", "bmm", "mv", "dot", "vdot"):
        first, second = args[:2]
    elif name in ("addmm", "baddbmm", "addbmm", "addmv"):
        first, second = args[1:3]
    else:
        opaque = any(part in name for part in _OPAQUE)
        require(not opaque, "f must not call what cannot be seen into", operation=name)
        return 0
    return first.numel() * (second.shape[-1] if second.ndim > 1 else 1)


class _Storages(TorchDispatchMode):
    """Follows the memory of every tensor that is made inside, until it is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._old = WeakIdKeyDictionary(ref_type=weakref.ref)
        self._made = WeakIdKeyDictionary(ref_type=weakref.ref)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for storage in _storages(args, kwargs):
            if storage not in self._made:
                self._old[storage] = True
        out = func(*args, **kwargs)
        for storage in _storages(out):
            if storage not in self._old:
                self._made[storage] = True
        self.peak = max(self.peak, sum(storage.nbytes() for storage in self._made))
        return out


def _storages(*trees: object) -> Iterator[torch.UntypedStorage]:
    return (leaf.untyped_storage() for leaf in tree_leaves(trees) if isinstance(leaf, Tensor))
