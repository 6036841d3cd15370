"""Tensors that FSDP has cut into parts, one for each process, and whole ones."""

from torch import Tensor


def whole_tensor(tensor: Tensor) -> Tensor:
    """All parts together. Every process must ask for it, for they send each other theirs."""
    return tensor.full_tensor() if _is_cut(tensor) else tensor


def cut_like(whole: Tensor, like: Tensor) -> Tensor:
    """This process's part of a tensor that each process holds whole; nothing is sent."""
    if not _is_cut(like):
        return whole
    from torch.distributed.tensor import distribute_tensor  # slow to import, and rarely needed

    whole = whole.to(like.device)
    return distribute_tensor(whole, like.device_mesh, like.placements, src_data_rank=None)


def _is_cut(tensor: Tensor) -> bool:
    return hasattr(tensor, "full_tensor")
