"""Checkpoints: all that a training run needs to go on bit for bit, in one safetensors file."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from softlookup.checks import require, require_int
from softlookup.files import replace_file

FORMAT = "softlookup.training"
VERSION = "1"


def save_checkpoint(
    path: str | os.PathLike,
    model: nn.Module,
    *,
    optimizers: Optimizer | Sequence[Optimizer] = (),
    step: int = 0,
    generators: Mapping[str, torch.Generator] | None = None,
) -> None:
    """Write model, optimisers, step and sources of chance to a file; nothing is pickled.

    The file is written beside its place and moved there when it is whole, so a reader finds the
    old file or the new one, never a part.

    Args:
        path: The file. One that exists is replaced.
        model: Its parameters and persistent buffers are written.
        optimizers: One, or several in an order that ``load_checkpoint`` gets too.
        step: How many steps were taken.
        generators: The sources of chance by name, such as that of the batches. Dropout draws from
            ``torch.default_generator``.

    Raises:
        ValueError: The folder does not exist, ``step`` is no integer of at least 0, an optimiser
            has a parameter that is not the model's, or something to write is neither a tensor
            nor a plain number.

    Chapter: training#checkpoints.

    Example:
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "run.safetensors"
        >>> save_checkpoint(path, nn.Linear(2, 3), step=7)
        >>> load_checkpoint(path, nn.Linear(2, 3))
        7
    """
    path = Path(path)
    require(path.parent.is_dir(), "the folder of the file must exist", folder=str(path.parent))
    require_int(0, step=step)
    tensors = _tensors(model, _listed(optimizers), generators or {})
    about = {"step": step, "tied": _tied(model), "names": sorted(tensors)}
    about["optimizers"] = [_description(optimizer, model) for optimizer in _listed(optimizers)]
    metadata = {"format": FORMAT, "version": VERSION, "checkpoint": json.dumps(about)}
    copies = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    replace_file(path, save(copies, metadata))


def load_checkpoint(
    path: str | os.PathLike,
    model: nn.Module,
    *,
    optimizers: Optimizer | Sequence[Optimizer] | None = None,
    generators: Mapping[str, torch.Generator] | None = None,
) -> int:
    """Put what ``save_checkpoint`` wrote into a model and its optimisers, all of it or nothing.

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
            version, or names, shapes, dtypes, optimisers or ties do not fit: the message lists
            what is missing and what is extra.

    Chapter: training#checkpoints.

    Example:
        >>> load_checkpoint("nowhere.safetensors", nn.Linear(2, 3))
        Traceback (most recent call last):
        ValueError: there must be a checkpoint; got path='nowhere.safetensors'
    """
    found, about = _read(Path(path))
    _require_fit({f"model.{name}": t for name, t in model.state_dict().items()}, found, "model.")
    rule = "the same weights must be tied in the checkpoint and in the model"
    require(about["tied"] == _tied(model), rule, checkpoint=about["tied"], model=_tied(model))
    states = None if optimizers is None else _states(_listed(optimizers), model, found, about)
    chance = None if generators is None else _chance(generators, found)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            tensor.copy_(found[f"model.{name}"])
    if states is not None:
        for optimizer, state in zip(_listed(optimizers), states, strict=True):
            optimizer.load_state_dict(state)
    if chance is not None:
        for name, generator in generators.items():
            generator.set_state(chance[f"generators.{name}"])
    return about["step"]


# what a run consists of


def _listed(optimizers: Optimizer | Sequence[Optimizer]) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _tensors(
    model: nn.Module, optimizers: list[Optimizer], generators: Mapping[str, torch.Generator]
) -> dict[str, Tensor]:
    """Every tensor of the run, by a name that says where it belongs."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for k, optimizer in enumerate(optimizers):
        for name, key, value in _state(optimizer, model):
            if isinstance(value, Tensor):
                tensors[f"optimizers.{k}.{key}.{name}"] = value
    tensors |= {f"generators.{name}": g.get_state() for name, g in generators.items()}
    wrong = [name for name, value in tensors.items() if not isinstance(value, Tensor)]
    require(not wrong, "the model's state must be tensors", wrong=wrong)
    return tensors


def _state(optimizer: Optimizer, model: nn.Module) -> Iterator[tuple[str, str, Any]]:
    """What an optimiser remembers: the parameter's name, the key, the value."""
    names = _names(model)
    for parameter, kept in optimizer.state.items():
        for key, value in kept.items():
            yield names[id(parameter)], key, value


def _description(optimizer: Optimizer, model: nn.Module) -> dict[str, Any]:
    """An optimiser without its tensors, as plain JSON."""
    plain = [
        [name, key, _plain(key, value)]
        for name, key, value in _state(optimizer, model)
        if not isinstance(value, Tensor)
    ]
    groups = [
        {key: _plain(key, value) for key, value in group.items() if key != "params"}
        for group in optimizer.param_groups
    ]
    kind, params = type(optimizer).__name__, _params(optimizer, model)
    return {"kind": kind, "params": params, "groups": groups, "plain": plain}


def _params(optimizer: Optimizer, model: nn.Module) -> list[list[str]]:
    """The names of the parameters of each group."""
    names = _names(model)
    groups = [group["params"] for group in optimizer.param_groups]
    strange = [tuple(p.shape) for group in groups for p in group if id(p) not in names]
    require(not strange, "an optimiser's parameters must be those of the model", strange=strange)
    return [[names[id(p)] for p in group] for group in groups]


def _names(model: nn.Module) -> dict[int, str]:
    return {id(parameter): name for name, parameter in model.named_parameters()}


def _plain(key: str, value: Any) -> Any:
    """A number, a string, None, or a list of them: what JSON gives back as it was."""
    value = list(value) if isinstance(value, tuple) else value
    parts = value if isinstance(value, list) else [value]
    is_plain = all(part is None or isinstance(part, bool | int | float | str) for part in parts)
    require(is_plain, "an optimiser's options must be plain numbers", **{key: value})
    return value


def _tied(model: nn.Module) -> list[list[str]]:
    """The groups of names that stand for one and the same memory."""
    places: dict[tuple, list[str]] = {}
    for name, tensor in model.state_dict().items():
        if tensor.numel() > 0:
            places.setdefault((tensor.data_ptr(), tensor.shape), []).append(name)
    return sorted(names for names in places.values() if len(names) > 1)


# what a file holds


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    require(path.is_file(), "there must be a checkpoint", path=str(path))
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            names = file.keys()
            found = {name: file.get_tensor(name) for name in names}
    except safetensors.SafetensorError as error:
        raise ValueError(f"the file must be whole safetensors; got {error}") from error
    kind = {name: metadata.get(name) for name in ("format", "version")}
    is_ours = kind == {"format": FORMAT, "version": VERSION}
    require(is_ours, f"the file must be {FORMAT}, version {VERSION}", **kind)
    try:
        about = json.loads(metadata.get("checkpoint", ""))
        expected, _ = about["names"], (about["step"], about["tied"], about["optimizers"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError("the file must say what it holds; got no description") from error
    _require_names(expected, found, "the checkpoint must hold what it lists")
    return found, about


def _require_names(expected: Iterable[str], found: Iterable[str], rule: str) -> None:
    missing, extra = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    require(not missing and not extra, rule, missing=missing, extra=extra)


def _require_fit(expected: Mapping[str, Tensor], found: Mapping[str, Tensor], prefix: str) -> None:
    """The same names after ``prefix``, and each tensor of the shape and dtype expected."""
    there = [name for name in found if name.startswith(prefix)]
    _require_names(expected, there, "the checkpoint must fit what it is loaded into")
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
    """What each optimiser's ``load_state_dict`` takes, once all of it is known to fit."""
    saved = about["optimizers"]
    rule = "there must be as many optimisers as in the checkpoint"
    require(len(saved) == len(optimizers), rule, checkpoint=len(saved), given=len(optimizers))
    states = []
    for k, (optimizer, description) in enumerate(zip(optimizers, saved, strict=True)):
        _require_same_optimizer(_description(optimizer, model), description)
        prefix = f"optimizers.{k}."
        tensors = {n.removeprefix(prefix): t for n, t in found.items() if n.startswith(prefix)}
        states.append(_state_dict(optimizer, model, description, tensors))
    return states


def _require_same_optimizer(ours: dict[str, Any], saved: dict[str, Any]) -> None:
    rule = "the optimiser must be of the kind in the checkpoint"
    require(ours["kind"] == saved["kind"], rule, checkpoint=saved["kind"], given=ours["kind"])
    names, others = ([name for group in one["params"] for name in group] for one in (ours, saved))
    _require_names(names, others, "the optimiser must have the parameters of the checkpoint")
    rule = "the optimiser's groups must be those of the checkpoint"
    sizes = [[len(group) for group in one["params"]] for one in (saved, ours)]
    require(ours["params"] == saved["params"], rule, checkpoint=sizes[0], given=sizes[1])
    options = [
        sorted({*group} - {"initial_lr"}) for one in (ours, saved) for group in one["groups"]
    ]
    rule = "the optimiser's options must have the names of the checkpoint"
    require(all(names == options[0] for names in options), rule, options=options)


def _state_dict(
    optimizer: Optimizer, model: nn.Module, saved: dict[str, Any], tensors: dict[str, Tensor]
) -> dict[str, Any]:
    order = [name for group in saved["params"] for name in group]
    number, shapes = {name: i for i, name in enumerate(order)}, dict(model.named_parameters())
    state: dict[int, dict[str, Any]] = {}
    for full_name, tensor in tensors.items():
        key, _, name = full_name.partition(".")
        rule = "what the optimiser remembers must fit its parameter"
        fits = name in number and tensor.shape in ((), shapes[name].shape)
        require(fits, rule, name=full_name, kept=tensor, parameter=shapes.get(name))
        state.setdefault(number[name], {})[key] = tensor
    for name, key, value in saved["plain"]:
        state.setdefault(number[name], {})[key] = value
    groups, first = [], 0
    for names, options, ours in zip(
        saved["params"], saved["groups"], optimizer.param_groups, strict=True
    ):
        tuples = {k: tuple(v) for k, v in options.items() if isinstance(ours.get(k), tuple)}
        groups.append(options | tuples | {"params": list(range(first, first + len(names)))})
        first += len(names)
    return {"state": state, "param_groups": groups}


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
