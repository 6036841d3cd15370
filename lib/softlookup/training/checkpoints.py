"""Checkpoints: all that a training run needs to go on bit for bit, in one safetensors file."""

import json
import os
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer

from softlookup.checks import Count, checked, require
from softlookup.files import load_tensors, save_tensors
from softlookup.training.optimizer_states import (
    describe,
    require_names,
    restored_state,
    tensors_of,
)
from softlookup.training.shards import cut_like, whole_tensor

FORM = {"kind": "softlookup.training", "version": "1"}

Optimizers = Optimizer | Sequence[Optimizer]


@checked
def save_checkpoint(
    path: str | os.PathLike,
    model: nn.Module,
    *,
    optimizers: Optimizers = (),
    step: Count = 0,
    generators: Mapping[str, torch.Generator] | None = None,
) -> None:
    """Write model, optimizers, step and sources of chance to a file; nothing is pickled.

    The file is written beside its place and moved there when it is whole, so a reader finds the
    old file or the new one, never a part. Where many processes train one model, all of them must
    call this, and the first one writes: the same file as if it were alone.

    Args:
        path: The file. One that exists is replaced.
        model: Its parameters and persistent buffers are written.
        optimizers: One, or several in an order that ``load_checkpoint`` gets too.
        step: How many steps were taken.
        generators: The sources of chance by name, such as that of the batches. Dropout draws from
            ``torch.default_generator``.

    Raises:
        ValueError: The folder does not exist, ``step`` is no integer of at least 0, an optimizer
            has a parameter that is not the model's, or something to write is neither a tensor
            nor a plain number.

    Chapter: training#optional-checkpoints.

    Example:
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "run.safetensors"
        >>> save_checkpoint(path, nn.Linear(2, 3), step=7)
        >>> load_checkpoint(path, nn.Linear(2, 3))
        7
    """
    path = Path(path)
    require(path.parent.is_dir(), "the folder of the file must exist", folder=str(path.parent))
    tensors = _tensors(model, _listed(optimizers), generators or {})
    about = {"step": step, "tied": _tied(model), "names": sorted(tensors)}
    about["optimizers"] = [describe(optimizer, model) for optimizer in _listed(optimizers)]
    whole = {name: whole_tensor(tensor.detach()) for name, tensor in tensors.items()}
    if not (dist.is_initialized() and dist.get_rank() > 0):
        copies = {name: tensor.cpu().clone() for name, tensor in whole.items()}  # tied, perhaps
        save_tensors(path, copies, {"checkpoint": json.dumps(about)}, **FORM)
    if dist.is_initialized():
        dist.barrier()  # so that each finds the file


@checked
def load_checkpoint(
    path: str | os.PathLike,
    model: nn.Module,
    *,
    optimizers: Optimizers | None = None,
    generators: Mapping[str, torch.Generator] | None = None,
) -> int:
    """Put what ``save_checkpoint`` wrote into a model and its optimizers, all of it or nothing.

    Everything is compared first; where anything does not fit, nothing is changed.

    Args:
        path: The file.
        model: Made as the saved one was. Weights that share memory go on sharing it.
        optimizers: Made as the saved ones were, in their order. None: those of the file are not
            read, as for a model that is only used.
        generators: Those to set, by the names they were saved under. None: none is read.

    Returns:
        How many steps were taken.

    Raises:
        ValueError: There is no such file, it is cut short or damaged, it is of another format or
            version, or names, shapes, dtypes, optimizers or ties do not fit: the message lists
            what is missing and what is extra.

    Chapter: training#optional-checkpoints.

    Example:
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "run.safetensors"
        >>> saved, fresh = nn.Linear(2, 3), nn.Linear(2, 3)
        >>> save_checkpoint(path, saved, step=7)
        >>> load_checkpoint(path, fresh), torch.equal(fresh.weight, saved.weight)
        (7, True)
        >>> load_checkpoint("nowhere.safetensors", fresh)
        Traceback (most recent call last):
        ValueError: there must be a file of kind softlookup.training; got path='nowhere.safetensors'
    """
    found, about = _read(Path(path))
    _require_fit({f"model.{name}": t for name, t in model.state_dict().items()}, found, "model.")
    rule = "the same weights must be tied in the checkpoint and in the model"
    require(about["tied"] == _tied(model), rule, checkpoint=about["tied"], model=_tied(model))
    states = None if optimizers is None else _states(_listed(optimizers), model, found, about)
    chance = None if generators is None else _chance(generators, found)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            tensor.copy_(cut_like(found[f"model.{name}"], tensor))
    if states is not None:
        for optimizer, state in zip(_listed(optimizers), states, strict=True):
            optimizer.load_state_dict(state)
    if chance is not None:
        for name, generator in generators.items():
            generator.set_state(chance[f"generators.{name}"])
    return about["step"]


# what a run consists of


def _listed(optimizers: Optimizers) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _tensors(
    model: nn.Module, optimizers: list[Optimizer], generators: Mapping[str, torch.Generator]
) -> dict[str, Tensor]:
    """Every tensor of the run, by a name that says where it belongs."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for k, optimizer in enumerate(optimizers):
        kept = tensors_of(optimizer, model)
        tensors |= {f"optimizers.{k}.{name}": tensor for name, tensor in kept.items()}
    tensors |= {f"generators.{name}": g.get_state() for name, g in generators.items()}
    wrong = [name for name, value in tensors.items() if not isinstance(value, Tensor)]
    require(not wrong, "the model's state must be tensors", wrong=wrong)
    return tensors


def _tied(model: nn.Module) -> list[list[str]]:
    """The groups of names that stand for one and the same tensor."""
    kept, places = model.state_dict(), {}
    named = (model.named_parameters, model.named_buffers)
    for name, tensor in chain.from_iterable(each(remove_duplicate=False) for each in named):
        if name in kept:
            places.setdefault(id(tensor), []).append(name)
    return sorted(names for names in places.values() if len(names) > 1)


# what a file holds


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    found, texts = load_tensors(path, **FORM)
    try:
        about = json.loads(texts.get("checkpoint", ""))
        expected, _ = about["names"], (about["step"], about["tied"], about["optimizers"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError("the file must say what it holds; got no description") from error
    require_names(expected, found, "the checkpoint must hold what it lists")
    return found, about


def _require_fit(expected: Mapping[str, Tensor], found: Mapping[str, Tensor], prefix: str) -> None:
    """The same names after ``prefix``, and each tensor of the shape and dtype expected."""
    there = [name for name in found if name.startswith(prefix)]
    require_names(expected, there, "the checkpoint must fit what it is loaded into")
    wrong = [
        f"{name}: {_form(found[name])} instead of {_form(tensor)}"
        for name, tensor in expected.items()
        if _form(found[name]) != _form(tensor)
    ]
    require(not wrong, "the checkpoint's tensors must fit what they are loaded into", wrong=wrong)


def _form(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"


def _states(
    optimizers: list[Optimizer], model: nn.Module, found: dict[str, Tensor], about: dict[str, Any]
) -> list[dict[str, Any]]:
    """What each optimizer's ``load_state_dict`` takes, once all of it is known to fit."""
    saved = about["optimizers"]
    rule = "there must be as many optimizers as in the checkpoint"
    require(len(saved) == len(optimizers), rule, checkpoint=len(saved), given=len(optimizers))
    states = []
    for k, (optimizer, description) in enumerate(zip(optimizers, saved, strict=True)):
        prefix = f"optimizers.{k}."
        tensors = {n.removeprefix(prefix): t for n, t in found.items() if n.startswith(prefix)}
        states.append(restored_state(optimizer, model, description, tensors))
    return states


def _chance(
    generators: Mapping[str, torch.Generator], found: dict[str, Tensor]
) -> dict[str, Tensor]:
    """The states of the generators, each tried on a generator that nobody uses."""
    expected = {f"generators.{name}": g.get_state() for name, g in generators.items()}
    _require_fit(expected, found, "generators.")
    for name, generator in generators.items():
        try:
            torch.Generator(generator.device).set_state(found[f"generators.{name}"])
        except RuntimeError as error:
            raise ValueError(
                f"the state of generator {name!r} must be sound; got {error}"
            ) from error
    return found
