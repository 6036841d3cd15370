"""Tensors that FSDP has cut into parts, one for each process, and whole ones."""

from torch import Tensor

from softlookup.checks import checked


@checked
def whole_tensor(tensor: Tensor) -> Tensor:
    """All parts together. Every process must ask for it, for they send each other theirs.

    Args:
        tensor: One that may be cut.

    Returns:
        The whole; the very tensor, if it is not cut.

    Chapter: larger_machines#many-processes.

    Example:
        >>> import torch
        >>> whole_tensor(torch.tensor([1.0, 3.0]))  # of one process
        tensor([1., 3.])
    """
    return tensor.full_tensor() if _is_cut(tensor) else tensor


@checked
def cut_like(whole: Tensor, like: Tensor) -> Tensor:
    """This process's part of a tensor that each process holds whole; nothing is sent.

    Args:
        whole: The same in all processes.
        like: A tensor of the same shape, which may be cut.

    Returns:
        The part that belongs beside this process's part of ``like``; all, if that is not cut.

    Chapter: larger_machines#many-processes.

    Example:
        >>> import torch
        >>> cut_like(torch.tensor([1.0, 3.0]), like=torch.zeros(2))  # of one process
        tensor([1., 3.])
    """
    if not _is_cut(like):
        return whole
    from torch.distributed.tensor import distribute_tensor  # slow to import, and rarely needed

    whole = whole.to(like.device)
    return distribute_tensor(whole, like.device_mesh, like.placements, src_data_rank=None)


def _is_cut(tensor: Tensor) -> bool:
    return hasattr(tensor, "full_tensor")
