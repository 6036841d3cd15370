"""One training run in many processes, on one machine or several: PyTorch's own DDP and FSDP2."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import torch
import torch.distributed as dist
from jaxtyping import Shaped
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from softlookup.checks import Count, Size, checked, require
from softlookup.training.checkpoints import Optimizers, load_checkpoint

Kind = Literal["ddp", "fsdp"]
KINDS = get_args(Kind)


class Place(NamedTuple):
    """Where a process stands among those of its run.

    Attributes:
        rank: Its number, from 0.
        world_size: How many there are.
        device: What it computes on.

    Chapter: larger_machines#many-processes

    Example:
        >>> Place(rank=0, world_size=1, device=torch.device("cpu")).world_size
        1
    """

    rank: int
    world_size: int
    device: torch.device


@contextmanager
@checked
def join(device: torch.device | str | None = None) -> Iterator[Place]:
    """Meet the other processes that ``torchrun`` has started; alone if it has started none.

    Args:
        device: What to compute on. "cuda" without a number is the GPU that ``torchrun`` assigns.
            None: that one where there is CUDA, otherwise the CPU.

    Yields:
        This process's place. After the block the processes have parted, unless they had met before.

    Source: Li et al. 2020, section 3. Chapter: larger_machines#many-processes.

    Example:
        >>> with join() as place:
        ...     place.rank, place.world_size
        (0, 1)
    """
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(device)
    if device.type == "cuda":
        if device.index is None:
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    if "RANK" not in os.environ:
        yield Place(0, 1, device)
        return
    is_first = not dist.is_initialized()
    if is_first:
        _meet(device)
    try:
        yield Place(dist.get_rank(), dist.get_world_size(), device)
    finally:
        if is_first:
            dist.destroy_process_group()


def _meet(device: torch.device) -> None:
    store, rank, world_size = next(rendezvous("env://"))
    if os.environ.get("LOCAL_WORLD_SIZE") == str(world_size):  # one machine
        # torchrun keeps its store when it starts killed workers anew, and with it the addresses
        # of the dead. On several machines TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 gives a new one.
        store = dist.PrefixStore(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store)
    on_gpu = device.type == "cuda"
    options = {"store": store, "rank": rank, "world_size": world_size}
    options["device_id"] = device if on_gpu else None
    dist.init_process_group("nccl" if on_gpu else "gloo", **options)


@checked
def distribute(model: nn.Module, kind: Kind) -> nn.Module:
    """Let all processes train one model: what to call instead of it.

    With "ddp" each process keeps the whole model, and gradients are averaged. With "fsdp" each
    keeps a part of every weight, and of all that an optimizer remembers of it; the weights of a
    block are collected when it computes, and given up after. Optimizers are made afterwards, from
    the model's own parameters, and checkpoints are of the model itself.

    Args:
        model: On the device of this process. All get the first one's weights.
        kind: "ddp" or "fsdp".

    Returns:
        With "ddp" a wrapper around the model, with "fsdp" the model itself; that too where there
        is only one process.

    Raises:
        ValueError: ``kind`` is unknown.

    Source: Li et al. 2020, section 3; Zhao et al. 2023, section 3.
    Chapter: larger_machines#many-processes.

    Example:
        >>> layer = nn.Linear(2, 3)
        >>> distribute(layer, "fsdp") is layer  # one process
        True
    """
    if not dist.is_initialized():
        return model
    for tensor in [*model.parameters(), *model.buffers()]:
        dist.broadcast(tensor.detach(), src=0)
    if kind == "ddp":
        return DistributedDataParallel(model)
    from torch.distributed.fsdp import fully_shard  # slow to import, and rarely needed

    stacks = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    for block in (block for stack in reversed(stacks) for block in stack):
        fully_shard(block)
    return fully_shard(model)


@checked
def share_of(batch: Shaped[Tensor, "rows ..."] | Sequence, rank: Count, world_size: Size) -> Any:
    """Every ``world_size``-th row of a batch, from row ``rank`` on.

    Args:
        batch: A tensor or a list of rows.
        rank: From 0.
        world_size: How many shares there are.

    Returns:
        The rows; none, if there are fewer rows than shares.

    Raises:
        ValueError: ``rank`` is none of the shares.

    Chapter: larger_machines#many-processes.

    Example:
        >>> [share_of(["a", "b", "c"], rank, world_size=2) for rank in (0, 1)]
        [['a', 'c'], ['b']]
    """
    rule = "rank must be less than world_size"
    require(rank < world_size, rule, rank=rank, world_size=world_size)
    return batch[rank::world_size]


@checked
def shared_loss(
    loss_of_batch: Callable[[nn.Module, Any], Tensor],
    *,
    count: Callable[[Any], int] = len,
    share: Callable[[Any, int, int], Any] = share_of,
) -> Callable[[nn.Module, Any], Tensor]:
    r"""The loss of one large batch, each process computing its share of it.

    All processes draw the same batch, from generators with one seed. Process $i$ has $n_i$ of its
    $n$ tokens. DDP and FSDP take the mean of the $p$ gradients, which would be the gradient of
    another loss where the shares differ; so each loss is multiplied by $p\,n_i/n$ first.

    Args:
        loss_of_batch: From the model and a batch to the mean loss of its real tokens, as
            ``train_model`` takes it.
        count: How many real tokens a share has: those that its loss is a mean of. Left out, its
            rows, which is right where all rows have as many.
        share: From the batch, the rank and the number of processes to the share.

    Returns:
        Another ``loss_of_batch`` for ``train_model``. It tells every process the loss of the whole
        batch. In one process it is the one that was given.

    Raises:
        ValueError: When it is called: no share has a real token, or a count is negative.

    Source: Ott et al. 2018, section 3.3; Li et al. 2020, section 3.2.
    Chapter: larger_machines#many-processes.

    Example:
        >>> loss = shared_loss(lambda layer, x: layer(x).mean())
        >>> loss(nn.Identity(), torch.tensor([1.0, 3.0]))  # one process
        tensor(2.)
    """

    def loss_of_share(model: nn.Module, batch: Any) -> Tensor:
        if not dist.is_initialized():
            return loss_of_batch(model, batch)
        rank, world_size = dist.get_rank(), dist.get_world_size()
        shares = [share(batch, r, world_size) for r in range(world_size)]
        counts = [count(one) for one in shares]
        rule = "each count must be at least 0, and one at least 1"
        require(all(n >= 0 for n in counts) and sum(counts) > 0, rule, counts=counts)
        # Who has nothing to read must still take part: it reads another's share, and adds 0 of it.
        own = rank if counts[rank] else counts.index(max(counts))
        mean, part = loss_of_batch(model, shares[own]), counts[rank] / sum(counts)
        whole = mean.detach() * part
        dist.all_reduce(whole)
        scaled = mean * (part * world_size)
        return scaled + (whole - scaled).detach()

    return loss_of_share


@checked
def resume(
    path: str | os.PathLike,
    model: nn.Module,
    *,
    optimizers: Optimizers | None = None,
    generators: Mapping[str, torch.Generator] | None = None,
) -> int:
    """Go on from a checkpoint if there is one; all processes from the same.

    Args:
        path: The file, on a disk that all machines see.
        model: As in ``load_checkpoint``.
        optimizers: As in ``load_checkpoint``.
        generators: As in ``load_checkpoint``.

    Returns:
        How many steps were taken; 0 if there is no file.

    Raises:
        ValueError: The processes do not find the same step, or as ``load_checkpoint``.

    Chapter: larger_machines#many-processes.

    Example:
        >>> resume("nowhere.safetensors", nn.Linear(2, 3))
        0
    """
    step = 0
    if Path(path).is_file():
        step = load_checkpoint(path, model, optimizers=optimizers, generators=generators)
    if dist.is_initialized():
        steps = [None] * dist.get_world_size()
        dist.all_gather_object(steps, step)
        require(len(set(steps)) == 1, "all processes must find the same checkpoint", steps=steps)
    return step


@checked
def bytes_sent(n_bytes: int, world_size: Size, kind: Kind) -> float:
    r"""What each process sends in one step, if messages go round in a ring.

    To add up $B$ bytes in a ring of $p$ processes and to tell all of them the sum, each sends
    $\frac{p-1}{p}B$ twice: once to add up, once to tell. DDP does that with the gradients. FSDP
    tells the weights before the way forward and before the way back, and adds up the gradients:
    three times.

    Args:
        n_bytes: $B$, the memory of all weights; that of their gradients is the same.
        world_size: $p$.
        kind: "ddp" or "fsdp".

    Returns:
        $2\frac{p-1}{p}B$ or $3\frac{p-1}{p}B$; a little less for FSDP, which keeps the weights
        outside of all blocks for the way back.

    Raises:
        ValueError: A number is out of range, or ``kind`` is unknown.

    Source: Patarasuk and Yuan 2009 (the ring); Rajbhandari et al. 2020, section 7.
    Chapter: larger_machines#many-processes.

    Example:
        >>> [bytes_sent(100, 2, kind) for kind in ("ddp", "fsdp")]
        [100.0, 150.0]
    """
    require(n_bytes >= 0, "n_bytes must be at least 0", n_bytes=n_bytes)
    passes = 2 if kind == "ddp" else 3
    return passes * (world_size - 1) / world_size * n_bytes
