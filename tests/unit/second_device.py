"""A second device for machines that have none: it computes on the CPU and refuses to mix.

Its tensors say that they are elsewhere, their numbers are true. What PyTorch refuses between the
CPU and a GPU is refused here too: operations on tensors of both, a generator of the other device,
and, where asked for, float64, which Apple's MPS does not have.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only

CPU = torch.device("cpu")
AWAY = torch.device("meta")  # of all names, this one autograd knows on every build
aten = torch.ops.aten
CROSSING = {aten.copy_.default, aten._to_copy.default}  # from one device to the other
INDEXING = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default}


class Away(Tensor):
    """A tensor of the second device. Its numbers are ``here``."""

    @staticmethod
    def __new__(cls, here: Tensor) -> "Away":
        layout = {"strides": here.stride(), "storage_offset": here.storage_offset()}
        options = {"dtype": here.dtype, "device": AWAY, "requires_grad": here.requires_grad}
        return Tensor._make_wrapper_subclass(cls, here.size(), **layout, **options)

    def __init__(self, here: Tensor):
        self.here = here

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        return run(operation, args, dict(kwargs or {}), ())

    def __tensor_flatten__(self):  # so that a module's parameters are moved in place
        return ["here"], None

    @staticmethod
    def __tensor_unflatten__(inner, _, size, stride):
        return Away(inner["here"])


class Operations(TorchDispatchMode):
    """Every operation comes by here, those that make tensors of nothing too."""

    def __init__(self, lacking: tuple[torch.dtype, ...]):
        super().__init__()
        self.lacking = lacking

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        return run(operation, args, dict(kwargs or {}), self.lacking)


class Literals(TorchFunctionMode):
    """Python numbers to tensors and back, which PyTorch does outside of its operations."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is Tensor.tolist and isinstance(args[0], Away):
            return args[0].here.tolist()
        if function in (torch.tensor, torch.as_tensor) and kwargs.get("device") is not None:
            device = kwargs.pop("device")
            return function(*args, **kwargs).to(device)
        if function is Tensor.new_tensor and isinstance(args[0], Away):
            return torch.tensor(args[1], dtype=args[0].dtype).to(args[0].device)
        return function(*args, **kwargs)


@contextmanager
def second_device(*lacking: torch.dtype) -> Iterator[torch.device]:
    """Within it, tensors and modules can be moved to the device it gives.

    Args:
        lacking: The dtypes that the device does not have.
    """
    with Literals(), Operations(lacking):
        yield AWAY


def run(operation, args: tuple, kwargs: dict[str, Any], lacking: tuple[torch.dtype, ...]):
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    is_away = any(isinstance(tensor, Away) for tensor in tensors)
    if kwargs.get("device") is not None:
        is_away = kwargs["device"] == AWAY
        kwargs["device"] = CPU
    if operation not in CROSSING:
        refuse_strays(operation, args, tensors, kwargs.get("generator"), is_away)
    here_args, here_kwargs = tree_map_only(Away, lambda tensor: tensor.here, (args, kwargs))
    if operation is aten._to_copy.default:
        here_args = (here_args[0].clone(), *here_args[1:])
    result = operation(*here_args, **here_kwargs)
    if not is_away:
        return result
    for leaf in tree_leaves(result):
        if isinstance(leaf, Tensor) and leaf.dtype in lacking:
            raise TypeError(f"{operation}: the second device has no {leaf.dtype}")
    wrapped = tree_map_only(Tensor, Away, result)
    return return_and_correct_aliasing(operation, args, kwargs, wrapped)


def refuse_strays(operation, args, tensors, generator, is_away: bool) -> None:
    """Raise as PyTorch would between a CPU and a GPU."""
    if operation in INDEXING:  # a GPU’s tensor may be indexed from the CPU
        tensors = [args[0], *args[2:3]] if is_away and isinstance(args[0], Away) else tensors
    strays = [t for t in tensors if is_away and not isinstance(t, Away) and t.ndim > 0]
    if strays:
        shapes = [tuple(stray.shape) for stray in strays]
        raise RuntimeError(f"{operation} mixes devices: on the CPU are {shapes}")
    if is_away and generator is not None:
        raise RuntimeError(f"{operation}: the generator is on the CPU")
